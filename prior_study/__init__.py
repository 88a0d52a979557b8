"""Functional priors in the space of the weights, and back to functions (section 2.2 of the paper).

`__init__.pyi` lists the public names. Each name is imported when it is first used, so that
`python -m prior_study --help` does not load PyTorch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
