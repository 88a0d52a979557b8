"""How functional priors look in the space of the weights, and back (section 2.2 of the paper).

`__init__.pyi` lists what this package offers; each name is imported when it is first used, so that
`python -m prior_study --help` needs no PyTorch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
