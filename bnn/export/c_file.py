"""Mean, standard deviation and their gradients as one C file without dependencies."""

import os
from importlib.resources import files

from sklearn.utils.validation import check_is_fitted

from bnn._validation import check_flags, check_integer
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.export.ensemble import chosen_weights, ensemble_tables
from bnn.export.names import check_identifier
from bnn.export.noise import log_noise
from bnn.export.posterior import posterior_tables
from bnn.export.tables import filled
from bnn.gp.regressor import GPRegressor
from bnn.noise.heteroscedastic import LARGEST_LOG
from bnn.storage.reading import as_path
from safe_files.writing import write_atomic

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
    if not isinstance(model, GPRegressor | EnsembleRegressor):
        given = f"model is an instance of {type(model).__name__}"
        raise TypeError(f"{given}: must be a GPRegressor or an ensemble")
    check_identifier(name)
    check_integer("max_bytes", max_bytes, 1)
    check_flags(include_noise=include_noise)
    check_is_fitted(model)
    correlations = ""
    if isinstance(model, GPRegressor):
        if members is not None:
            raise ValueError(
                f"members = {members!r:.60}: must be None, a GPRegressor has no members"
            )
        kind = "posterior.c"
        tables, correlations = posterior_tables(model)
        fewer = "fewer data"
    else:
        found, weights = chosen_weights(model, members)
        kind = "ensemble.c"
        tables = ensemble_tables(found, weights)
        fewer = "smaller networks"
        each = 5 * weights.shape[1] + 8  # bytes per member
    tables["TOTAL"] = 1 if include_noise else 0
    if include_noise:
        tables["LOG_NOISE"], limits = log_noise(model.noise_, model.n_features_in_)
        tables["NOISE_LOW"], tables["NOISE_HIGH"] = limits
        tables["LARGEST_LOG"] = LARGEST_LOG
    sources = files("bnn.export")
    interface = sources.joinpath("interface.c").read_text(encoding="ascii")
    interface = interface.replace("UNCERTAINTY", "with the noise" if include_noise else "epistemic")
    estimator = sources.joinpath(kind).read_text(encoding="ascii")
    estimator = estimator.replace("/* CORRELATIONS */\n", correlations)
    text = filled(interface + estimator, name, tables)
    if len(text) > max_bytes:
        if isinstance(model, EnsembleRegressor):
            superfluous = -(-(len(text) - max_bytes) // each)  # rounded up
            room = len(weights) - superfluous
            if room >= 2:
                fewer = f"members = {room}"
        given = f"the file would have {len(text)} bytes, more than max_bytes = {max_bytes}"
        raise ValueError(f"{given}: take {fewer} or a larger max_bytes")
    write_atomic(as_path(path), text.encode("ascii"), BEGINNING)
