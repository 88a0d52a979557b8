"""Estimators with scikit-learn's interface, and the functions underneath them."""
