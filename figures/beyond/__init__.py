"""Other methods on the same problems (notebook 05): scores, findings, figures."""
