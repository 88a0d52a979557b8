"""The one-dimensional example (section 3.1 of the paper): ensembles, numbers, figures."""
