"""Export of the stress and tangent of an RVE along arbitrary strain paths, as one C file."""

import os
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from bnn._validation import (
    SAME_VALUE,
    Array,
    as_finite,
    check_integer,
)
from bnn.export.names import check_identifier
from bnn.export.tables import Table, filled, write_code
from bnn.paths import StrainPathEnsemble
from bnn.paths.basis import ELASTIC, IMAGES, MaterialPointBasis, stiffness_basis
from bnn.paths.phases import check_order, column, moduli

BEGINNING = rb"/\* Stress of an RVE along any strain path"


def path_to_c(
    model: StrainPathEnsemble,
    path: str | os.PathLike[str],
    X: ArrayLike,
    *,
    name: str = "rve",
    members: int | None = None,
    max_bytes: int = 200_000,
) -> None:
    """Write the stress of one RVE along arbitrary strain paths as one C99 file.

    The file includes only math.h, and its first comment describes how to call its functions. NAME
    computes one step of a member or of the posterior mean. From the old state and the strain at the
    end of the step it computes stress, new state and consistent tangent (symmetric). A state has
    NAME_STATE numbers; zeros are the state at rest. Several threads may call the functions at the
    same time. The spread of the members is the uncertainty of the weights that remains after
    training, without the scatter between microstructures and without model error.

    Args:
        model: A fitted ensemble.
        path: Path of the file.
        X: Inputs (n_in,) of the RVE, in the order of `model.basis.inputs`.
        name: Name of the main function, and beginning of the names of the other functions. Names
            that C, C++, their libraries or the file itself use are rejected.
        members: Number of members to write, the first ones of the ensemble; None writes all.
        max_bytes: Largest allowed size of the file.

    Raises:
        TypeError: If the model is not a StrainPathEnsemble.
        NotFittedError: If the ensemble is not fitted.
        ValueError: If an argument is out of its range, the RVE is outside the bounds of the basis,
            or the file would be larger than max_bytes.
        FileExistsError: If the file exists and was not written by this function.

    Examples:
        >>> import numpy as np
        >>> import bnn
        >>> from bnn.paths import StrainPathEnsemble, PathScatter, MaterialPointBasis
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
        >>> strained = lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1))
        >>> basis = MaterialPointBasis(strained, bounds, n_points=3)
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(bounds[0] + 0.1, bounds[1], (4, 4))
        >>> strain = np.cumsum(rng.normal(0.0, 0.001, (4, 30, 3)), axis=1)
        >>> stress = basis.features(X, strain).mean_fields + 1.0
        >>> scatter = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
        >>> model = StrainPathEnsemble(basis, scatter, n_members=5, random_state=0)
        >>> model = model.fit(X, strain, stress)
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bnn.export.path_to_c(model, Path(folder, "rve.c"), [0.3, 400.0, 400.0, 0.4])
        ...     "int rve(int member" in Path(folder, "rve.c").read_text()
        True
    """
    if not isinstance(model, StrainPathEnsemble):
        kind = type(model).__name__
        raise TypeError(f"model is an instance of {kind}: must be a bnn.paths.StrainPathEnsemble")
    check_identifier(name)
    check_integer("max_bytes", max_bytes, 1)
    if model.hyperparameters_ is None:
        raise NotFittedError("this StrainPathEnsemble is not fitted: call fit first")
    K = len(model.members_)
    if members is not None:
        check_integer("members", members, 1)
        if members > K:
            raise ValueError(f"members = {members}: the ensemble has {K}")
    inputs = _inputs_of_rve(X, model.basis)
    weights = _weights(model, inputs, members)
    code = files("bnn.export").joinpath("path.c").read_text(encoding="ascii")
    values = zip(model.basis.inputs, inputs[0], strict=True)
    words = ", ".join(f"{key} = {value:g}" for key, value in values)
    text = filled(code.replace("INPUTS", words), name, _tables(model, inputs, weights))
    write_code(path, text, BEGINNING, max_bytes, "fewer members, a smaller basis")


def _inputs_of_rve(X: ArrayLike, basis: MaterialPointBasis) -> Array:
    """Check that the inputs lie within the bounds of the basis, and return them as (1, n_in)."""
    names = basis.inputs
    check_order(X, names)
    inputs = as_finite("X", X)
    if inputs.shape != (len(names),):
        wanted = f"must be ({len(names)},), {', '.join(names)}"
        raise ValueError(f"X has shape {inputs.shape}: {wanted}")
    for key, value, low, high in zip(names, inputs, *basis.bounds, strict=True):
        room = SAME_VALUE * abs(value)
        if not low - room <= value <= high + room:
            raise ValueError(f"{key} = {value:g}: the bounds of the basis are {low:g} and {high:g}")
    return inputs[None]


def _weights(model: StrainPathEnsemble, inputs: Array, members: int | None) -> Array:
    """Return the weights v_f θ(x) of the posterior mean and of the members, (1 + K, R + 3)."""
    of_mean = model.mean_.reshape(model.basis.n_features, -1) @ model.basis.factors(inputs)[0]
    return np.vstack([of_mean, model.rve_weights(inputs)[:members, 0]])


def _tables(model: StrainPathEnsemble, inputs: Array, weights: Array) -> dict[str, Table]:
    """Return the constants of path.c by name."""
    basis = model.basis
    A = basis.concentrations(inputs)
    points = basis.points(inputs, A)
    _, mu = moduli(1e3 * basis.phases.E_m_GPa, basis.phases.nu_m)
    # S = C₀ E + (1 - v_f) A_mᵀ s + v_f Σ_r θ_r ψ_r, where the last three ψ are elastic, and the
    # others are means over mirror images
    of_points = weights[:, :-ELASTIC] / len(IMAGES)
    of_matrix = np.full((len(weights), 1), 1.0 - column(inputs, basis.inputs, "vf")[0])
    corrections = np.einsum("ke,eij->kij", weights[:, -ELASTIC:], stiffness_basis())
    return {
        "MEMBERS": len(weights) - 1,
        "POINTS": len(points.yield_stress),
        "IMAGES": len(IMAGES),
        "SHEAR": float(mu),
        "EXPONENT": float(column(inputs, basis.inputs, "c_m")[0]),
        "LOCAL": points.B[0],
        "LAW": np.column_stack([points.yield_stress, points.hardening[0]])[:: len(IMAGES)],
        "WEIGHT": np.hstack([of_matrix, of_points]).T,
        "ELASTIC": basis.linear_stiffness(inputs, A) + corrections,
    }
