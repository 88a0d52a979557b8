"""Noise with heavy tails: Student's t, or Gaussian noise with a random scale per row."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from bnn._validation import Array, as_array, check_above, own_copy
from bnn.noise.covariances import noise_covariance
from bnn.noise.heteroscedastic import HeteroscedasticNoise, Noise
from bnn.storage import storable
from safe_files.text import Short

QUADRATURE_NODES = 64  # of the integral over λ
TAIL_PROBABILITY = 1e-16  # probability of λ beyond each end of the range of integration
GAUSSIAN = 1e8  # degrees of freedom from which on the noise is Gaussian up to rounding errors


@storable
@dataclass(frozen=True, eq=False, repr=False)
class StudentNoise(Short):
    """Noise with heavy tails: multivariate Student's t with covariance Σ_noise or Σ(x).

    Given a precision factor λ ~ Gamma(ν/2, ν/2), the noise of a row is Gaussian with the covariance
    (1 - 2/ν) Σ(x) / λ. All outputs of a row share one λ, so that whole rows are outliers.

    `GPRegressor`, `evidence.fit_prior` and `metrics.elppd` accept this noise; ensembles do not,
    because they are trained by least squares. The posterior of `GPRegressor` is variational, q(f)
    Π_i q(λ_i), and too narrow. For a known prior and 30 data its standard deviations of f are too
    small by 13 % (ν = 5) to 21 % (ν = 2.5). Its 95 % intervals contain 82 to 89 % of f.

    With noise="student_t" the factors, ν and the size of the noise are estimated for all components
    of the average together. The weights of the components do not change.

    Attributes:
        noise: Covariance of the noise: standard deviations, Σ_noise or a HeteroscedasticNoise.
        df: Degrees of freedom ν > 2; infinity is Gaussian noise, and 1e8 or more counts as
            infinity. None: `GPRegressor` estimates them.

    Source: Lange, Little & Taylor (1989), Journal of the American Statistical Association 84.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> y[3] = 9.0  # an outlier
        >>> model = bnn.GPRegressor(noise=bnn.StudentNoise(0.1, df=3.0)).fit(X, y)
        >>> int(model.factors_.argmin())
        3
    """

    noise: Noise
    df: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.noise, HeteroscedasticNoise):
            values = as_array("noise", self.noise)
            n_out, n_points = (values.shape[-1], len(values)) if values.ndim else (1, None)
            noise_covariance(values, n_out, n_points)
        object.__setattr__(self, "noise", own_copy(self.noise))
        if self.df is None or (isinstance(self.df, float) and self.df == np.inf):
            return
        check_above(2.0, df=self.df)  # with fewer degrees of freedom the variance is infinite
        if self.df >= GAUSSIAN:
            object.__setattr__(self, "df", np.inf)

    @property
    def degrees(self) -> float:
        """Return ν; ValueError if it has not been estimated."""
        if self.df is None:
            raise ValueError("df = None: must be a number, such as the estimate in noise_")
        return self.df


def scaled(noise: StudentNoise, covariances: Array) -> Array:
    """Return the scale matrices (1 - 2/ν) Σ."""
    return np.asarray((1.0 - 2.0 / noise.degrees) * covariances)


def given_factors(noise: StudentNoise, covariances: Array, factors: Array) -> Array:
    """Return the covariances (1 - 2/ν) Σ_i / E λ_i of rows, (n, n_out, n_out).

    Args:
        noise: Noise with a known ν.
        covariances: Covariance Σ, (n_out, n_out), or Σ_i of each row, (n, n_out, n_out).
        factors: Mean precision factors E λ_i, (n,).
    """
    return scaled(noise, covariances) / factors[:, None, None]


def nodes(freedom: float, squares: Array, n_out: int) -> tuple[Array, Array]:
    """Return nodes λ and log weights of an integral over λ, (QUADRATURE_NODES, n) each.

    `squares` are the squared distances of rows from f, in the metric of the scale matrix, (n,).
    """
    # Trapezoidal rule in log λ, on a range that contains the prior of λ and its posterior given f
    # and the row.
    low = np.log(chi2.ppf(TAIL_PROBABILITY, freedom) / (freedom + squares))
    high = np.log(chi2.isf(TAIL_PROBABILITY, freedom + n_out) / freedom)
    half = 0.5 * freedom
    logs = np.linspace(low, high, QUADRATURE_NODES)
    # log p(log λ) = ν/2 (log λ + log ν/2 - λ) - log Γ(ν/2)
    weights = half * (logs + np.log(half) - np.exp(logs)) - gammaln(half)
    return np.exp(logs), weights + np.log((high - low) / (QUADRATURE_NODES - 1))
