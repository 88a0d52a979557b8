"""What the strengths show: a surrogate of mean and scatter, the size effect, the distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from bnn import GPRegressor
from bnn.evaluation.metrics import coverage, elppd_gaussian, rmse
from fe_data.arrays import Floats
from studies.results import Result
from studies.strength_scatter.simulation import INPUTS

LEVELS = (0.5, 0.9, 0.95)  # of the intervals whose coverage is counted
QUANTILE = 0.05


@dataclass(frozen=True)
class Prediction:
    """Mean and standard deviation of the strength of one RVE, noise included, at the test inputs.

    Attributes:
        mean: Mean strength [MPa], (n,).
        std: Standard deviation of the strength of one RVE [MPa], (n,).
    """

    mean: Floats
    std: Floats

    @property
    def low(self) -> Floats:
        """5 % quantile of a normal distribution [MPa], (n,)."""
        return self.mean + stats.norm.ppf(QUANTILE) * self.std


class Study:
    """Strengths of the file of results.

    Args:
        rows: Lines of the file.
    """

    def __init__(self, rows: Sequence[Result]) -> None:
        self.rows = list(rows)

    def reached(self, problem: str) -> list[Result]:
        """Return the rows of a set whose strength was reached."""
        return [row for row in self.rows if row["problem"] == problem and "strength_MPa" in row]

    def data(self, problem: str) -> tuple[Floats, Floats]:
        """Return inputs (n, n_in) and strengths [MPa] (n,) of a set."""
        rows = self.reached(problem)
        X = np.array([[row[name] for name in INPUTS] for row in rows])
        return X, np.array([row["strength_MPa"] for row in rows])

    def fitted(self, noise: str | None = None) -> GPRegressor:
        """Return the default estimator, or one with this kind of noise, fitted."""
        model = GPRegressor() if noise is None else GPRegressor(noise=noise)
        return model.fit(*self.data("training"))

    def predicted(self, model: GPRegressor) -> Prediction:
        """Return the strengths that a model predicts at the inputs of the test set."""
        X, _ = self.data("test")
        return Prediction(*model.predict(X, return_std=True, include_noise=True))

    @cached_property
    def model(self) -> GPRegressor:
        """The default estimator."""
        return self.fitted()

    @cached_property
    def prediction(self) -> Prediction:
        """Its prediction of the test set."""
        return self.predicted(self.model)

    @cached_property
    def with_constant_noise(self) -> Prediction:
        """The prediction of an estimator with constant noise."""
        return self.predicted(self.fitted("constant"))

    @cached_property
    def standardised(self) -> Floats:
        """Errors at the test inputs over predicted standard deviations, (n,)."""
        _, strength = self.data("test")
        return (strength - self.prediction.mean) / self.prediction.std

    def scores(self) -> dict[str, float]:
        """Return errors, coverages and the shape of the distribution, over the test set."""
        _, strength = self.data("test")
        at = self.prediction
        constant = self.with_constant_noise
        inside = {
            f"coverage_{level:g}": coverage(strength, at.mean, at.std, level) for level in LEVELS
        }
        return inside | {
            "rmse_MPa": rmse(strength, at.mean),
            "std_least_MPa": at.std.min(),
            "std_largest_MPa": at.std.max(),
            "below_quantile": float(np.mean(strength < at.low)),
            "log_density": elppd_gaussian(strength, at.mean, at.std) / len(strength),
            "log_density_constant_noise": (
                elppd_gaussian(strength, constant.mean, constant.std) / len(strength)
            ),
            "skewness": float(stats.skew(self.standardised)),
            "excess_kurtosis": float(stats.kurtosis(self.standardised)),
            "normality_p": float(stats.shapiro(self.standardised).pvalue),
        }

    def by_size(self) -> dict[int, Floats]:
        """Return strengths [MPa] of RVEs with equal inputs, by their number of fibres."""
        rows = self.reached("size")
        sizes = sorted({row["n_fibres"] for row in rows})
        return {
            size: np.array([row["strength_MPa"] for row in rows if row["n_fibres"] == size])
            for size in sizes
        }
