"""The version of the package, which files of models name too."""

__version__ = "1.0.0"
