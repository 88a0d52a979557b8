"""The study of functional priors (section 2.2 of the paper): numbers and figures."""
