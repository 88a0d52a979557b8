"""Which runs come next: the inputs that are expected to reduce the predictive variance most."""
