"""The ensembles: functions that do the paper's Algorithms 1 to 3, and estimators on top of them."""
