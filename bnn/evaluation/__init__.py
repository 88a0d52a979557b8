"""Metrics and plots of predictions and their uncertainty, prior checks and sensitivity analysis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["metrics", "plots"])
