"""Scaling to [-1, 1] by bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnn._validation import Floats, check_option
from bnn.storage import storable

# None (no scaling), "data" (the range of the data) or (low, high), numbers or one for each column.
Bounds = None | str | Sequence[float | Sequence[float] | Floats] | Floats


@storable
@dataclass(frozen=True)
class BoundsScaler:
    """Linear map of [low, high] to [-1, 1], column by column.

    Attributes:
        low: Lower bounds, (n,).
        high: Upper bounds, (n,).
    """

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        """Raise ValueError unless the bounds are finite, increasing and (n,) each."""
        low, high = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (self.low, self.high))
        if low.shape != high.shape or low.ndim != 1:
            raise ValueError(f"bounds have shapes {low.shape} and {high.shape}: must be (n,) each")
        bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low < high)))
        if bad.size:
            raise ValueError(
                f"bounds of column {bad[0]} are {low[bad[0]]} and {high[bad[0]]}: "
                "must be finite and increasing"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def fit(cls, values: Floats) -> BoundsScaler:
        """Take the range of the data (N, n) as bounds.

        Args:
            values: (N, n).

        Returns:
            The scaler.

        Raises:
            ValueError: If a column is constant.
        """
        values = np.asarray(values, dtype=float)
        constant = np.flatnonzero(values.min(axis=0) == values.max(axis=0))
        if constant.size:
            raise ValueError(f"column {constant[0]} is constant: its range gives no bounds")
        return cls(values.min(axis=0), values.max(axis=0))

    @property
    def centre(self) -> Floats:
        """Middle of the bounds, (n,)."""
        return 0.5 * (self.low + self.high)

    @property
    def half_range(self) -> Floats:
        """Half the distance of the bounds, (n,)."""
        return 0.5 * (self.high - self.low)

    def transform(self, values: Floats) -> Floats:
        """Scale values to [-1, 1].

        Args:
            values: (..., n), in their units.

        Returns:
            Scaled values, (..., n).
        """
        return (np.asarray(values, dtype=float) - self.centre) / self.half_range

    def inverse_transform(self, values: Floats) -> Floats:
        """Undo the scaling.

        Args:
            values: Scaled values, (..., n).

        Returns:
            Values in their units, (..., n).
        """
        return np.asarray(values, dtype=float) * self.half_range + self.centre

    def transform_covariance(self, covariance: Floats) -> Floats:
        """Scale a covariance.

        Args:
            covariance: (n, n), in the units of the values.

        Returns:
            Covariance of the scaled values, (n, n).
        """
        return covariance / np.outer(self.half_range, self.half_range)


def scaler_of(name: str, bounds: Bounds, values: Floats | None, n: int) -> BoundsScaler:
    """Build the scaler of n columns that parameter `name` asks for; values (N, n) are the data."""
    if bounds is None:
        return BoundsScaler(-np.ones(n), np.ones(n))
    if isinstance(bounds, str):
        check_option(name, bounds, ("data",))
        if values is None:
            raise ValueError(f"{name} = 'data': pretrain has no data, give (low, high) or call fit")
        return BoundsScaler.fit(values)
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise ValueError(f"{name} = {bounds}: must be None, 'data' or (low, high)")
    low, high = (np.asarray(bound, dtype=float) for bound in bounds)
    scaler = BoundsScaler(*(np.broadcast_to(b, (n,)) if b.ndim == 0 else b for b in (low, high)))
    if len(scaler.low) != n:
        raise ValueError(f"{name} has {len(scaler.low)} columns: must be {n}")
    return scaler
