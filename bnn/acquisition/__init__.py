"""Selection of the next runs: inputs that are expected to reduce the predictive variance most."""
