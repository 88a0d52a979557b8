"""The ensembles, and loading either kind from disk."""

from __future__ import annotations

import os

from bnn.ensembles.anchored import REGULARISERS, AnchoredEnsemble
from bnn.ensembles.base import EnsembleRegressor
from bnn.ensembles.storage import damaged, read, shortened
from bnn.ensembles.vanilla import VanillaEnsemble

__all__ = ["REGULARISERS", "AnchoredEnsemble", "VanillaEnsemble", "load"]

ENSEMBLES = {kind.__name__: kind for kind in (VanillaEnsemble, AnchoredEnsemble)}


def load(path: str | os.PathLike) -> EnsembleRegressor:
    """Load an ensemble of either kind.

    Args:
        path: What save wrote.

    Returns:
        The ensemble. A functional prior is not stored: prior is None, and the pre-trained
        networks that stand for it are there.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is damaged, foreign or of another version.
    """
    arrays, header = read(path)
    name = header["class"]
    if not isinstance(name, str) or name not in ENSEMBLES:
        raise ValueError(
            f"{path}: holds a {shortened(name)}, must be one of {', '.join(ENSEMBLES)}"
        )
    try:
        return ENSEMBLES[name].from_stored(arrays, header)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise damaged(path, error) from None
