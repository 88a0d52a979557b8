"""Regression with few data: Gaussian processes, and anchored ensembles with functional priors.

`__init__.pyi` lists the public names. Each name is imported when it is first used, so that
`bnn.GPRegressor` needs no PyTorch.
"""

import lazy_loader

from bnn._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
