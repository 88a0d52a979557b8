"""Representative volume elements of fibre composites: simulation, properties and datasets.

`__init__.pyi` lists the public names. Each name is imported when it is first used, so
`from fe_data import Inputs` needs neither dolfinx nor gmsh.
"""

import lazy_loader

__version__ = "1.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
