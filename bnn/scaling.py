"""Linear scaling of inputs and outputs, from their bounds to [-1, 1]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from bnn._settings import Settings
from bnn._validation import (
    LARGEST,
    Array,
    Floats,
    as_array,
    as_finite,
    as_points,
    check_option,
    own_copy,
    varies,
)
from bnn.storage import register, storable
from safe_files.help_page import ExplainedWarning
from safe_files.text import Short

# None (no scaling), "data" (range of the data), (low, high), one such pair per column, or Bounds.
Bounds: TypeAlias = ArrayLike | optimize.Bounds | None
register(optimize.Bounds, lambda bounds: {"lb": bounds.lb, "ub": bounds.ub}, optimize.Bounds)

# Data beyond this distance from the middle of the bounds, in half ranges, give a warning.
# Standardised data without bounds reach about 4, so they give none.
_FAR_SCALED = 5.0


class BoundsWarning(ExplainedWarning):
    """Data lie far outside the bounds that scale them."""


@storable
@dataclass(frozen=True, repr=False)
class BoundsScaler(Short):
    """Linear map of [low, high] to [-1, 1], column by column.

    Attributes:
        low: Lower bounds, (n,).
        high: Upper bounds, (n,).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> scaler = bnn.BoundsScaler([0.0, 200.0], [1.0, 600.0])
        >>> scaler.transform(np.array([[0.5, 600.0]]))
        array([[0., 1.]])
    """

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        low, high = (np.atleast_1d(as_array(name, getattr(self, name))) for name in ("low", "high"))
        if low.shape != high.shape or low.ndim != 1 or not low.size:
            shapes = f"{low.shape} and {high.shape}"
            raise ValueError(f"bounds have shapes {shapes}: low and high must be (n,) each")
        small = (np.abs(low) <= LARGEST) & (np.abs(high) <= LARGEST)  # false for NaN
        bad = np.flatnonzero(~(small & (low < high)))
        if bad.size:
            raise ValueError(
                f"bounds of column {bad[0]} are {low[bad[0]]} and {high[bad[0]]}: "
                f"must be finite and increasing, and at most {LARGEST:g} in size"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def fit(cls, values: Floats) -> Self:
        """Use the range of the data as bounds.

        Args:
            values: Data, (N, n). A column with a constant value c, up to rounding, gets the bounds
                c ± |c| / 2, or ± 1 if c = 0.

        Returns:
            The scaler.

        Raises:
            ValueError: If values are not (N, n) finite numbers.
        """
        values = as_points("values", values)
        low = values.min(axis=0)
        high = values.max(axis=0)
        room = np.where(varies(values), 0.0, np.where(low == 0.0, 1.0, 0.5 * np.abs(low)))
        return cls(low - room, high + room)

    @property
    def centre(self) -> Floats:
        """Middle of the bounds, (n,)."""
        return 0.5 * (self.low + self.high)

    @property
    def half_range(self) -> Floats:
        """Half the distance between the bounds, (n,)."""
        return 0.5 * (self.high - self.low)

    def transform(self, values: Floats) -> Floats:
        """Scale values to [-1, 1].

        Args:
            values: Values, (..., n), in their original units.

        Returns:
            Scaled values, (..., n).

        Raises:
            ValueError: If values are not (..., n) finite numbers.
        """
        return (self._checked(values) - self.centre) / self.half_range

    def inverse_transform(self, values: Floats) -> Floats:
        """Undo the scaling.

        Args:
            values: Scaled values, (..., n).

        Returns:
            Values in their original units, (..., n).

        Raises:
            ValueError: If values are not (..., n) finite numbers.
        """
        return self._checked(values) * self.half_range + self.centre

    def transform_covariance(self, covariance: Floats) -> Floats:
        """Convert a covariance to the scaled units.

        Args:
            covariance: Covariance, (..., n, n), in the original units.

        Returns:
            Covariance of the scaled values, (..., n, n).

        Raises:
            ValueError: If the covariance is not (..., n, n) finite numbers.
        """
        array = as_finite("covariance", covariance, LARGEST**2)
        n = len(self.low)
        if array.shape[-2:] != (n, n):
            raise ValueError(f"covariance has shape {array.shape}: must be (..., {n}, {n})")
        return array / np.outer(self.half_range, self.half_range)

    def _checked(self, values: Floats) -> Array:
        """Return values as float64; ValueError unless they are (..., n) finite numbers."""
        array = as_finite("values", values)
        n = len(self.low)
        if array.shape[-1:] != (n,):
            raise ValueError(f"values has shape {array.shape}: must be (..., {n})")
        return array


@storable
@dataclass(eq=False, repr=False)
class Scaling(Settings):
    """Bounds by which inputs and outputs are scaled to [-1, 1] for the networks.

    Args:
        inputs: (low, high) for all columns of X, one such pair per column, or SciPy's Bounds.
            "data" takes the range of the data; None leaves X unscaled.
        outputs: The same for y.

    Examples:
        >>> import bnn
        >>> bnn.Scaling(inputs=[(0.1, 0.4), (200.0, 600.0)], outputs="data").inputs
        [(0.1, 0.4), (200.0, 600.0)]
    """

    inputs: Bounds = "data"
    outputs: Bounds = "data"

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            bounds = getattr(self, name)
            if isinstance(bounds, str):
                check_option(name, bounds, ("data",))
            elif bounds is not None and not isinstance(bounds, optimize.Bounds):
                pairs = as_array(name, bounds)
                if pairs.ndim == 0 or pairs.shape[-1] != 2 or pairs.ndim > 2:
                    needed = "None, 'data', (low, high) or a sequence of such pairs"
                    raise ValueError(f"{name} has shape {pairs.shape}: must be {needed}")
            setattr(self, name, own_copy(bounds))


def scaler_of(name: str, bounds: Bounds, values: Floats | None, n: int) -> BoundsScaler:
    """Return the scaler of n columns; "data" takes the range of values (N, n) as bounds."""
    if bounds is None:
        return BoundsScaler(-np.ones(n), np.ones(n))
    if isinstance(bounds, str):
        check_option(name, bounds, ("data",))
        if values is None:
            raise ValueError(
                f"{name} = 'data' needs data, which pretrain does not have: give (low, high) or X"
            )
        return BoundsScaler.fit(values.reshape(-1, n))
    if isinstance(bounds, optimize.Bounds):
        bounds = np.stack(np.broadcast_arrays(bounds.lb, bounds.ub), axis=-1).squeeze()
    pairs = as_array(name, bounds)
    if pairs.shape not in ((2,), (n, 2)):
        needed = f"None, 'data', (low, high) or a sequence of {n} such pairs, one for each column"
        raise ValueError(f"{name} has shape {pairs.shape}: must be {needed}")
    try:
        return BoundsScaler(*np.broadcast_to(pairs, (n, 2)).T)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def warn_far(name: str, scaler: BoundsScaler, values: Floats) -> None:
    """Warn if a column of data (N, n) reaches far outside the bounds of the parameter `name`."""
    distance = np.abs(scaler.transform(values))
    i, j = np.unravel_index(distance.argmax(), distance.shape)
    if distance[i, j] > _FAR_SCALED:
        bounds = f"the bounds {scaler.low[j]:.3g} and {scaler.high[j]:.3g}"
        message = f"{name}: {values[i, j]:.3g} in column {j} lies far outside {bounds}"
        warnings.warn(message, BoundsWarning, stacklevel=7)
