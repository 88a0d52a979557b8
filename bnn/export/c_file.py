"""Mean, standard deviation and their gradients as one C file without dependencies."""

import os
from collections.abc import Mapping
from importlib.resources import files

from sklearn.utils.validation import check_is_fitted

from bnn._validation import check_flags, check_integer
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.export.ensemble import chosen_weights, ensemble_tables
from bnn.export.models import check_estimator, check_no_members, log_noise
from bnn.export.names import check_identifier
from bnn.export.posterior import posterior_tables
from bnn.export.tables import Table, filled, write_code
from bnn.gp.regressor import GPRegressor
from bnn.noise.heteroscedastic import LARGEST_LOG

BEGINNING = rb"/\* Mean and standard deviation \("


def to_c(
    model: GPRegressor | EnsembleRegressor,
    path: str | os.PathLike[str],
    *,
    name: str = "surrogate",
    members: int | None = None,
    include_noise: bool = False,
    max_bytes: int = 100_000,
) -> None:
    """Write mean and standard deviation of a fitted estimator as one C99 file.

    The file includes only math.h, and its first comment describes how to call its functions.
    Call NAME_init once. Then NAME computes mean, standard deviation and their gradients with
    respect to the inputs at any number of points, in the units of the data. For an ensemble
    NAME_members computes the values of each network. Several threads may call the functions at the
    same time, and a call needs less than 64 kB of stack. Each weight of a network takes five bytes
    of the file. For a GPRegressor the file contains the data, and NAME_init factorises its
    matrices.

    Args:
        model: A fitted ensemble, or a fitted GPRegressor whose noise is uncorrelated between
            outputs. The prior of a GPRegressor must be a GaussianProcessPrior or a MixturePrior,
            such as `bnn.evidence.fit_kernel_average` returns. Its mean must be a number or a
            LinearMean. Supported kernels are stationary kernels with a `c_code` (all of bnn except
            Periodic), sums of these with at most one Linear, or a Warped with such a kernel.
        path: Path of the file.
        name: Name of the main function, and beginning of the names of the other functions. Names
            that C, C++, their libraries or the file itself use are rejected.
        members: Number of networks to write, the first ones of the ensemble; None writes all.
        include_noise: Whether the standard deviation includes the noise; otherwise it is epistemic.
            That of a constant output of an ensemble is zero; in Python it is the rounding error.
        max_bytes: Largest allowed size of the file.

    Raises:
        TypeError: If the model is neither a GPRegressor nor an ensemble.
        NotFittedError: If the model is not fitted.
        ValueError: If an argument is out of its range, a part of the model cannot be written in C,
            the file would be larger than max_bytes, or a call would need 64 kB of stack or more.
        FileExistsError: If the file exists and was not written by this function.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> import tempfile
        >>> from pathlib import Path
        >>> model = bnn.GPRegressor(noise=0.05).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bnn.export.to_c(model, Path(folder, "surrogate.c"))
        ...     "surrogate_init" in Path(folder, "surrogate.c").read_text()
        True
    """
    check_estimator(model)
    check_identifier(name)
    check_integer("max_bytes", max_bytes, 1)
    check_flags(include_noise=include_noise)
    check_is_fitted(model)
    sources = files("bnn.export")
    if isinstance(model, GPRegressor):
        check_no_members(members)
        tables, correlations = posterior_tables(model)
        estimator = sources.joinpath("posterior.c").read_text(encoding="ascii")
        estimator = estimator.replace("/* CORRELATIONS */\n", correlations)
    else:
        tables = ensemble_tables(*chosen_weights(model, members))
        estimator = sources.joinpath("ensemble.c").read_text(encoding="ascii")
    tables["TOTAL"] = 1 if include_noise else 0
    if include_noise:
        tables["LOG_NOISE"], limits = log_noise(model.noise_, model.n_features_in_)
        tables["NOISE_LOW"], tables["NOISE_HIGH"] = limits
        tables["LARGEST_LOG"] = LARGEST_LOG
    interface = sources.joinpath("interface.c").read_text(encoding="ascii")
    interface = interface.replace("UNCERTAINTY", "with the noise" if include_noise else "epistemic")
    text = filled(interface + estimator, name, tables)
    smaller = "fewer data"
    if isinstance(model, EnsembleRegressor):
        smaller = _smaller_ensemble(tables, len(text) - max_bytes)
    write_code(path, text, BEGINNING, max_bytes, smaller)


def _smaller_ensemble(tables: Mapping[str, Table], excess: int) -> str:
    """Return what makes the file of an ensemble smaller by an excess of bytes."""
    bytes_per_member = 5 * int(tables["WEIGHTS"]) + 8
    fitting = int(tables["K"]) - -(-excess // bytes_per_member)  # rounded down
    return f"members = {fitting}" if fitting >= 2 else "smaller networks"
