"""Material constants of an RVE, and checks of its inputs and strain paths.

Strains [-] and stresses [MPa] are tensors xx, yy, xy under plane strain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from bnn._validation import (
    LARGEST,
    SAME_VALUE,
    Array,
    as_finite,
    check_positive,
    is_row,
)
from bnn.storage import storable
from safe_files.text import Short


class Allowed(NamedTuple):
    """Allowed values of an input."""

    low: float
    high: float
    words: str


# Inputs that the laws of the phases need, with their physically admissible values
ALLOWED = {
    "vf": Allowed(0.0, np.nextafter(1.0, 0.0), "in [0, 1)"),
    "E_f_GPa": Allowed(np.nextafter(0.0, 1.0), LARGEST, "above 0"),
    "b_m_MPa": Allowed(0.0, LARGEST, "at least 0"),
    "c_m": Allowed(np.nextafter(0.0, 1.0), 1.0, "above 0 and at most 1"),
}
INPUTS = tuple(ALLOWED)  # the inputs of the paper, in its order
ANY = Allowed(-LARGEST, LARGEST, f"at most {LARGEST:g} in size")  # of any other input
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
LARGEST_STRAIN = 0.5  # limit of each component, because the points assume small strains
HARDENING = "power"  # name of the hardening law a + b p^c in fe_data
Modulus = TypeVar("Modulus", Tensor, Array, float)
ENGINEERING = np.array([1.0, 1.0, 2.0])  # from the tensor xx, yy, xy to engineering shear strain


@storable
@dataclass(frozen=True, repr=False)
class PhaseProperties(Short):
    """Material constants of all RVEs: elasticity, initial yield stress and hardening law.

    `PhaseProperties(**paths.phases)` takes the constants from strain paths simulated by `fe_data`.

    Attributes:
        E_m_GPa: Young's modulus of the matrix [GPa].
        nu_m: Poisson's ratio of the matrix [-].
        nu_f: Poisson's ratio of the fibres [-].
        sigma_y0_MPa: Initial yield stress of the matrix [MPa].
        hardening: Name of the hardening law of the matrix; only "power", a + b p^c, is supported.

    Raises:
        ValueError: If a number is not positive, a ratio is not below 1/2, or the law is not
            "power".

    Examples:
        >>> from bnn.paths import PhaseProperties
        >>> PhaseProperties(sigma_y0_MPa=300.0)
        PhaseProperties(E_m_GPa=100.0, nu_m=0.3, nu_f=0.25, sigma_y0_MPa=300.0, hardening='power')
    """

    E_m_GPa: float = 100.0
    nu_m: float = 0.3
    nu_f: float = 0.25
    sigma_y0_MPa: float = 400.0
    hardening: str = HARDENING

    def __post_init__(self) -> None:
        names = ("E_m_GPa", "nu_m", "nu_f", "sigma_y0_MPa")
        check_positive(**{name: getattr(self, name) for name in names})
        if not isinstance(self.hardening, str) or self.hardening != HARDENING:
            allowed = f"must be {HARDENING!r}, a + b p^c, the only law of the material points"
            raise ValueError(f"hardening = {self.hardening!r:.60}: {allowed}")
        for name in ("nu_m", "nu_f"):
            if getattr(self, name) >= 0.5:
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be below 0.5")


PHASES = PhaseProperties()  # values of the paper


def checked_names(names: object) -> tuple[str, ...]:
    """Check the names of the inputs of a basis.

    Args:
        names: Names of the inputs, in the order of the columns of X.

    Returns:
        The names.

    Raises:
        ValueError: If a name is not of ASCII letters, digits and _, one occurs twice, or one of vf,
            E_f_GPa, b_m_MPa and c_m is missing.
    """
    if not is_row(names) or not all(isinstance(n, str) and _NAME.fullmatch(n) for n in names):
        raise ValueError(f"inputs = {names!r:.60}: must be names of letters, digits and _")
    for name in INPUTS:
        if name not in names:
            raise ValueError(f"inputs = {names!r:.60}: must contain {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"inputs = {names!r:.60}: must have each name only once")
    return tuple(names)


def column(X: Array, names: Sequence[str], name: str) -> Array:
    """Return the values (n,) of one input from X (n, n_in), whose columns have these names."""
    values: Array = X[:, names.index(name)]
    return values


def checked_bounds(bounds: ArrayLike, names: Sequence[str]) -> Array:
    """Check bounds of the inputs.

    Args:
        bounds: (2, n_in), lower bounds first; both bounds of a fixed input are equal.
        names: Names of the inputs, (n_in,).

    Returns:
        The bounds as finite numbers.

    Raises:
        ValueError: If the shape is not (2, n_in), a bound is outside the allowed range of its
            input, or a lower bound exceeds the upper bound.
    """
    limits = as_finite("bounds", bounds)
    if limits.shape != (2, len(names)):
        wanted = f"must be (2, {len(names)}), {', '.join(names)}"
        raise ValueError(f"bounds have shape {limits.shape}: {wanted}")
    _check_allowed("bounds", limits, names)
    for name, low, high in zip(names, *limits, strict=True):
        if low > high:
            what = f"bounds of {name} = {low:g}, {high:g}"
            raise ValueError(f"{what}: the lower bound must not be above the upper bound")
    return limits


def scaled(X: Array, bounds: Array, names: Sequence[str]) -> Array:
    """Scale inputs from their bounds to [-1, 1].

    Args:
        X: Inputs (n, n_in).
        bounds: (2, n_in), lower bounds first.
        names: Names of the inputs, (n_in,).

    Returns:
        Scaled inputs (n, n_in). An input whose bounds are equal is 0.

    Raises:
        ValueError: If an input with equal bounds has another value.
    """
    low, high = bounds
    ranges = high - low
    fixed = ranges == 0.0
    others = fixed & ~np.isclose(X, low, rtol=SAME_VALUE, atol=0.0)
    if others.any():
        i, j = np.argwhere(others)[0]
        what = f"X[{i}, {j}] = {X[i, j]:g}"
        raise ValueError(f"{what}: both bounds of {names[j]} are {low[j]:g}")
    # x = 2 (X - low) / (high - low) - 1
    x: Array = 2.0 * (X - low) / np.where(fixed, 1.0, ranges) - ~fixed
    return np.where(fixed, 0.0, x)


def checked_inputs(X: ArrayLike, names: Sequence[str]) -> Array:
    """Check inputs of RVEs.

    Args:
        X: Inputs (N, n_in).
        names: Names of the inputs, (n_in,).

    Returns:
        The inputs as finite numbers.

    Raises:
        ValueError: If X does not have the shape (N, n_in), an input is out of its range, or a data
            frame has these columns in another order.
    """
    check_order(X, names)
    inputs = as_finite("X", X)
    if inputs.ndim != 2 or inputs.shape[1] != len(names):
        wanted = f"must be (N, {len(names)}), {', '.join(names)}"
        raise ValueError(f"X has shape {inputs.shape}: {wanted}")
    _check_allowed("X", inputs, names)
    return inputs


def check_order(X: ArrayLike, names: Sequence[str]) -> None:
    """Raise ValueError if a data frame or series labels the inputs in another order."""
    for i, label in enumerate(X.keys() if hasattr(X, "keys") else ()):
        if label in names and names.index(label) != i:
            raise ValueError(f"X has {label} at place {i}: the order must be {', '.join(names)}")


def _check_allowed(argument: str, inputs: Array, names: Sequence[str]) -> None:
    """Raise ValueError, with the first input out of its range, if there is one."""
    allowed = [ALLOWED.get(name, ANY) for name in names]
    low, high = np.transpose([limits[:2] for limits in allowed])
    for i, j in np.argwhere(~((low <= inputs) & (inputs <= high)))[:1]:
        what = f"{argument}[{i}, {j}], {names[j]} = {inputs[i, j]:g}"
        raise ValueError(f"{what}: must be {allowed[j].words}")


def checked_paths(
    X: ArrayLike,
    strain: ArrayLike,
    names: Sequence[str],
    rows: Sequence[int] | None = None,
) -> tuple[Array, Array]:
    """Check inputs and strain paths.

    Args:
        X: Inputs (N, n_in).
        strain: Paths (N, T, 3).
        names: Names of the inputs, (n_in,).
        rows: Row numbers of the paths for error messages, (N,); None means 0 to N - 1.

    Returns:
        Inputs and paths as finite numbers.

    Raises:
        ValueError: If shapes do not match, a number is not finite, an input is out of its range, or
            a strain is above 0.5.
    """
    inputs = checked_inputs(X, names)
    path = as_finite("strain", strain)
    if path.ndim != 3 or len(path) != len(inputs) or path.shape[2] != 3:
        raise ValueError(f"strain has shape {path.shape}: must be ({len(inputs)}, T, 3)")
    for i, t, j in np.argwhere(np.abs(path) > LARGEST_STRAIN)[:1]:
        place = f"{i if rows is None else rows[i]}, {t}, {j}"
        needed = f"must be at most {LARGEST_STRAIN:g}, the limit of small strains"
        raise ValueError(
            f"strain[{place}] = {path[i, t, j]:g}: {needed}. "
            "Divide by 100 if the strains are in percent"
        )
    return inputs, path


def moduli(E: Modulus, nu: float) -> tuple[Modulus, Modulus]:
    """Return bulk and shear modulus, of the same type as Young's modulus E."""
    return E / (3.0 * (1.0 - 2.0 * nu)), E / (2.0 * (1.0 + nu))
