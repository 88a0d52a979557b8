"""Scatter of the RVE stress between microstructures along a strain path.

Stress component j varies between microstructures with equal inputs on the same path. Its variance
depends on the fibres and on the plastic strain of the matrix:

    σ_j² = u² exp(c_j0 + c_j1 ln v_f + c_j2 ln E_f + c_j3 ln(p + 0.001)),

with the equivalent plastic strain p of the matrix in the mean-field model. The utilisation u of the
matrix is its von Mises stress divided by its initial yield stress, and 1 after it has yielded. Thus
the scatter of an elastic RVE is proportional to its strain, and is zero at rest. The coefficients
c_j come from a Gamma regression of the sample variances divided by u² (McCullagh & Nelder,
Generalized Linear Models, 1989, chapter 8). The scatter is correlated along the path, as an
Ornstein–Uhlenbeck process. The correlation of two steps is exp(-Δl / L), where Δl is the strain
travelled between the steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import GammaRegressor
from sklearn.preprocessing import StandardScaler

from bnn._validation import Array, as_finite, check_positive
from bnn.paths.basis import MaterialPointBasis
from bnn.paths.phases import (
    INPUTS,
    checked_inputs,
    checked_names,
    checked_paths,
    column,
)
from bnn.storage import storable
from safe_files.text import Short

_NO_FLOW = 1e-3  # added to the plastic strain, so that its logarithm is finite at zero
_SHRINKAGE = 0.1  # ridge penalty of the coefficients of standardised regressors
_AT_REST = 0.01  # utilisation below which the solver's tolerance is as large as the scatter
_LEAST_VARIANCE = 1e-6  # MPa², added so that variances are positive if microstructures agree


@storable
@dataclass(frozen=True, eq=False, repr=False)
class PathScatter(Short):
    """Scatter of the stress between microstructures.

    Attributes:
        coefficients: (3, 4), c_j0 to c_j3 of the components xx, yy, xy, for variances in MPa².
        length: Strain L over which the correlation of the scatter decays.
        inputs: Names of the inputs, as of the basis.

    Raises:
        ValueError: If coefficients do not have the shape (3, 4) or are not finite, or if the length
            or the names are not allowed.

    Examples:
        >>> import numpy as np
        >>> from bnn.paths import PathScatter
        >>> scatter = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
        >>> X = [[0.3, 400.0, 400.0, 0.4]]
        >>> print(scatter.std(X, plastic_strain=[[0.0, 0.0]], utilisation=[[0.5, 1.0]]).round(1))
        [[[1. 1. 1.]
          [2. 2. 2.]]]
    """

    coefficients: Array
    length: float = 0.03
    inputs: tuple[str, ...] = INPUTS

    def __post_init__(self) -> None:
        coefficients = as_finite("coefficients", self.coefficients)
        if coefficients.shape != (3, 4):
            raise ValueError(f"coefficients have shape {coefficients.shape}: must be (3, 4)")
        check_positive(length=self.length)
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "inputs", checked_names(self.inputs))

    def std(self, X: ArrayLike, plastic_strain: ArrayLike, utilisation: ArrayLike) -> Array:
        """Return the standard deviation between microstructures.

        Args:
            X: Inputs (n, n_in).
            plastic_strain: (n, T) p of the matrix in the mean-field model, from
                `MaterialPointBasis.features`.
            utilisation: (n, T) u of the matrix in the mean-field model, also from `features`.

        Returns:
            σ (n, T, 3) of xx, yy, xy [MPa].

        Raises:
            ValueError: If shapes do not match, a number is not finite, an input is out of its
                range, or an RVE has no fibres.
        """
        X = checked_inputs(X, self.inputs)
        p = as_finite("plastic_strain", plastic_strain)
        if p.ndim != 2 or len(p) != len(X):
            raise ValueError(f"plastic_strain has shape {p.shape}: must be ({len(X)}, T)")
        u = as_finite("utilisation", utilisation)
        if u.shape != p.shape:
            raise ValueError(f"utilisation has shape {u.shape}: must be {p.shape}")
        # σ = u exp(½ Σ_k c_k r_k) with the regressors r
        logs = 0.5 * _regressors(X, p, self.inputs) @ self.coefficients.T
        return np.asarray(u[..., None] * np.exp(logs))


def fit_scatter(
    basis: MaterialPointBasis,
    X: ArrayLike,
    strain: ArrayLike,
    stress: ArrayLike,
    *,
    length: float = 0.03,
) -> PathScatter:
    """Fit the scatter to RVEs that were simulated with several microstructures.

    Args:
        basis: Basis, for the plastic strain and the utilisation in the mean-field model.
        X: Inputs (n, n_in).
        strain: Paths (n, T, 3), the tensor xx, yy, xy at each step after rest [-].
        stress: (n, R, T, 3) [MPa], of R >= 2 microstructures for each row of X.
        length: Strain L over which the correlation of the scatter decays.

    Returns:
        The scatter.

    Raises:
        ValueError: If shapes do not match, a number is not finite, an input is out of its range, an
            RVE has no fibres, or all paths stay at rest.

    Examples:
        >>> import numpy as np
        >>> from bnn.paths import MaterialPointBasis, fit_scatter
        >>> rng = np.random.default_rng(0)
        >>> bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
        >>> strained = lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1))
        >>> basis = MaterialPointBasis(strained, bounds, n_points=2)
        >>> X = rng.uniform(bounds[0] + 0.1, bounds[1], (6, 4))
        >>> strain = rng.normal(0.0, 0.01, (6, 5, 3))
        >>> stress = rng.normal(0.0, 2.0, (6, 9, 5, 3))
        >>> scatter = fit_scatter(basis, X, strain, stress)
        >>> bool(abs(scatter.std(X, np.zeros((6, 5)), np.ones((6, 5))) - 2.0).max() < 1.0)
        True
    """
    X, strain = checked_paths(X, strain, basis.inputs)
    stress = as_finite("stress", stress)
    if stress.ndim != 4 or stress.shape[1] < 2 or stress[:, 0].shape != strain.shape:
        wanted = f"({len(X)}, R >= 2, {strain.shape[1]}, 3)"
        raise ValueError(f"stress has shape {stress.shape}: must be {wanted}")
    features = basis.features(X, strain)
    # Steps at rest are left out, because their variance is divided by u² = 0.
    loaded = features.utilisation.reshape(-1) > _AT_REST
    if not loaded.any():
        raise ValueError("strain: must have a path with loading, stress at rest has no scatter")
    regressors = _regressors(X, features.plastic_strain, basis.inputs)
    regressors = regressors.reshape(-1, 4)[loaded, 1:]
    squares = np.square(features.utilisation).reshape(-1, 1)[loaded]
    variances = stress.var(axis=1, ddof=1).reshape(-1, 3)[loaded] / squares + _LEAST_VARIANCE
    return PathScatter(_gamma_regression(regressors, variances), length, basis.inputs)


def _gamma_regression(regressors: Array, variances: Array) -> Array:
    """Regress the logarithm of each column of variances (m, 3) on regressors (m, 3), (3, 4)."""
    scaler = StandardScaler().fit(regressors)
    coefficients = []
    for j in range(3):
        model = GammaRegressor(alpha=_SHRINKAGE, max_iter=1000)
        model.fit(scaler.transform(regressors), variances[:, j])
        slopes = model.coef_ / scaler.scale_
        constant = model.intercept_ - slopes @ scaler.mean_
        coefficients.append([constant, *slopes])
    return np.array(coefficients)


def _regressors(X: Array, p: Array, names: tuple[str, ...]) -> Array:
    """Return 1, ln v_f, ln E_f and ln(p + 0.001), (n, T, 4)."""
    fibres = np.stack([column(X, names, name) for name in ("vf", "E_f_GPa")], axis=-1)
    if not (fibres[:, 0] > 0.0).all():
        raise ValueError("X: vf must be positive, because an RVE without fibres has no scatter")
    constant = np.ones(p.shape)
    of_inputs = np.log(fibres)[:, None] + np.zeros((*p.shape, 2))
    flow = np.log(np.maximum(p, 0.0) + _NO_FLOW)
    return np.concatenate([constant[..., None], of_inputs, flow[..., None]], axis=-1)


def travelled(strain: Array) -> Array:
    """Return the strain travelled along paths (n, T, 3): the sum of norms of increments, (n, T)."""
    # |ΔE|² = Δε_xx² + Δε_yy² + 2 Δε_xy²
    from_rest = np.concatenate([np.zeros_like(strain[:, :1]), strain], axis=1)
    increments = np.diff(from_rest, axis=1) * np.array([1.0, 1.0, np.sqrt(2.0)])
    lengths: Array = np.cumsum(np.linalg.norm(increments, axis=2), axis=1)
    return lengths


def whitened(values: Array, lengths: Array, L: float) -> Array:
    """Return the innovations of an Ornstein–Uhlenbeck process of unit variance.

    Args:
        values: Values of the process, (n, T, ...).
        lengths: (n, T) strain travelled.
        L: Strain over which the correlation decays.

    Returns:
        Uncorrelated values of unit variance, (n, T, ...).
    """
    # (v_t - a v_(t-1)) / √(1 - a²)   with a = exp(-Δl / L)
    steps = np.abs(np.diff(lengths, axis=1))
    a = np.exp(-steps / L).reshape(*steps.shape, *[1] * (values.ndim - 2))
    root = np.sqrt(np.maximum(1.0 - a**2, 1e-6))  # positive at Δl = 0
    innovations = values.copy()
    innovations[:, 1:] = (values[:, 1:] - a * values[:, :-1]) / root
    return innovations
