"""Priors over the weights, learnt from pre-trained networks."""
