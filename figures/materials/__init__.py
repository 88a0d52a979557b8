"""The materials example (section 3.2 of the paper): data, surrogates, claims, figures."""
