"""The version of the package, which files of models name too."""

__version__ = "0.1.0"
