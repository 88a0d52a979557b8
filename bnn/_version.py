"""Version of the package, which is also written to the files of models."""

__version__ = "1.1.0"
