"""Priors over functions: the base class, and priors that are defined by sampling."""
