"""The result of a search, in the units of the user: prior, noise and precision factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, Ints, filled, varies
from bnn.gp.conditioning import ProcessPosterior, resolved
from bnn.gp.evidence.families import FamilyDensity
from bnn.gp.evidence.laplace import Draw, prior_weights, updated
from bnn.gp.evidence.scaling import SearchData
from bnn.gp.evidence.tails import TAIL_STEPS, OutputNoise
from bnn.gp.evidence.trend import GivenCovariance
from bnn.gp.kernels import Linear
from bnn.gp.low_fidelity import MultipleMean, ProcessModel
from bnn.gp.mixture import MixturePosterior, MixturePrior
from bnn.gp.precision_factors import factors_of
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise, checked_tails, covariance_at
from bnn.noise.known import DataNoise, covariances_of_data, kept_noise
from bnn.noise.student import given_factors


def priors_of(data: SearchData, draws: Sequence[Sequence[Draw]]) -> list[GaussianProcessPrior]:
    """Return one prior per component, from the draws that each output has for its components."""
    n_out = data.y.shape[1]
    n_in = data.X.shape[1]
    columns = []
    for each, spread in zip(draws, data.spreads, strict=True):
        kernels = [
            density.kernel(eta, data.low, data.width, float(spread)) for density, eta in each
        ]
        if data.mean_given and data.prior is None:
            of_means = [_bent_mean(*draw, data, float(spread)) for draw in each]
            pairs = zip(kernels, of_means, strict=True)
            kernels = [_of_all_inputs(k, data.varying, n_in, mean) for k, mean in pairs]
        columns.append(kernels)
    # The kernels of families use only the inputs that vary, in the order of the search.
    whole = data.mean_given or np.array_equal(data.varying, range(n_in))
    features = None if whole else data.varying.tolist()
    components = zip(*columns, strict=True)
    if data.prior is not None:
        return [replace(data.prior, kernel=each if n_out > 1 else each[0]) for each in components]
    means: list[Any] = [data.mean] * len(draws[0])
    if isinstance(data.mean, ProcessModel):
        factors = [[_given(density).factor(eta[density.open]) for density, eta in d] for d in draws]
        means = [MultipleMean(data.mean, each) for each in zip(*factors, strict=True)]
    pairs = zip(means, components, strict=True)
    return [GaussianProcessPrior(mean, list(each), n_out, features) for mean, each in pairs]


def _bent_mean(density: FamilyDensity, eta: Array, data: SearchData, spread: float) -> Any:
    """Return the kernel of the mean, whose linear trend also bends beyond the data."""
    kernel = _given(density).kernel(eta[density.open])
    trend = kernel.k1 if isinstance(kernel, sk.Sum) else kernel
    if not isinstance(trend, Linear) or np.min(trend.reach) == np.inf:
        return kernel
    # A trend starts to bend at the edge of the data, BEYOND ranges within its reach.
    points = data.X[data.rows]
    ends = np.abs(points - np.asarray(trend.origin)).max(axis=0)
    bends = np.zeros(len(ends))
    relative = 2.0 * ends[data.varying] / data.width
    bends[data.varying] = density.curvatures(eta) * relative**2 * spread / data.width**2
    ends = np.where(bends > 0.0, ends, 1.0)
    bent = replace(trend, bends=tuple(bends.tolist()), ends=tuple(ends.tolist()))
    return bent + kernel.k2 if isinstance(kernel, sk.Sum) else bent


def _given(density: FamilyDensity) -> GivenCovariance:
    """Return the given covariance of a density, which exists if a mean is given."""
    assert density.given is not None
    return density.given


def _of_all_inputs(
    kernel: sk.Kernel, varying: Ints, n_inputs: int, known_mean: sk.Kernel | None
) -> sk.Kernel:
    """Extend a stationary kernel of some inputs to all inputs, and add the kernel of the mean."""
    lengthscale = np.full(n_inputs, np.inf)
    lengthscale[varying] = kernel.lengthscale
    whole = type(kernel)(kernel.variance, tuple(lengthscale.tolist()))
    return whole if known_mean is None else whole + known_mean


def noise_of(
    data: SearchData, noises: Sequence[OutputNoise], kind: str | None
) -> Noise | StudentNoise:
    """Return the noise of all outputs, without correlations."""
    # log σ = level + ½ log var y
    levels = np.array([noise.level for noise in noises]) + 0.5 * np.log(data.spreads)
    levels = levels + 0.5 * np.log(data.unit)  # for a datum of weight one
    joint: Noise = np.exp(levels)
    if kind == "heteroscedastic" or any(noise.slopes.any() for noise in noises):
        slopes = np.zeros((data.X.shape[1], len(noises)))
        slopes[data.varying] = np.column_stack([noise.slopes for noise in noises])
        joint = data.basis.noise(levels, slopes)
    freedom = noises[0].freedom
    return joint if freedom is None else StudentNoise(joint, freedom)


def noise_correlation(
    prior: MixturePrior,
    noise: HeteroscedasticNoise,
    X: Array,
    y: Array,
    known: DataNoise | None,
) -> Array:
    """Return the correlation matrix of the noise, (n_out, n_out), given its standard deviations.

    It is computed from the expected scatter of (y - f) / σ in the rows without missing outputs. As
    many uncorrelated observations are added as there are outputs that vary.
    """
    covariances = covariances_of_data(noise, X, known)
    given = MixturePosterior(prior, resolved(covariances, prior.components, X, y), X, y)
    complete = ~np.isnan(y).any(axis=1)
    deviations = np.sqrt(np.einsum("njj->nj", covariances))[complete]
    mean, spread = given.moments(X[complete])
    away = (y[complete] - mean) / deviations
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S at each datum
    spread = spread / deviations[:, :, None] / deviations[:, None, :]
    without = np.count_nonzero(varies(filled(y))) * np.eye(y.shape[1])
    scatter = away.T @ away + spread.sum(axis=0) + without
    scale = np.sqrt(np.diag(scatter))
    return np.asarray(scatter / np.outer(scale, scale))


def factors_of_all(
    prior: MixturePrior,
    noise: Noise | StudentNoise,
    factors: Array,
    data: SearchData,
) -> Array:
    """Return E λ_i of all data, (N,), keeping the `factors` (n,) of rows that were searched."""
    X, y = data.X, data.y
    kept = checked_tails(noise, X.shape[1], y.shape[1])
    assert isinstance(kept, StudentNoise)
    kept_factors = np.full(len(X), np.nan)
    kept_factors[data.rows] = factors
    known = covariance_at(kept, X)
    return factors_of(prior, kept, X, y, known, TAIL_STEPS, kept=kept_factors)[2]


def given_all(
    prior: MixturePrior,
    noise: Noise | StudentNoise,
    factors: Array | None,
    posteriors: Sequence[Sequence[Array]],
    data: SearchData,
) -> MixturePrior:
    """Update the weights of a prior, found from some of the data, by the evidence of all data.

    Args:
        prior: The prior.
        noise: The noise.
        factors: E λ_i of all data under a StudentNoise, (N,); None under Gaussian noise.
        posteriors: For each output the posterior weights of the components given some of the data,
            (S,), and the log evidence of these data under each component, (S,).
        data: All data.

    Returns:
        The prior with new weights.
    """
    X, y = data.X, data.y
    kept = kept_noise(noise, X.shape[1], y.shape[1])
    known = covariances_of_data(kept, X, data.noise_known)
    if isinstance(kept, StudentNoise) and factors is not None:
        known = given_factors(kept, known, factors)
    known = resolved(known, prior.components, X) * np.eye(y.shape[1])
    each = [ProcessPosterior(one, known, X, y).log_evidences for one in prior.components]
    weights = [
        prior_weights(updated(share, of_all - of_some), of_all)
        for (share, of_some), of_all in zip(posteriors, np.transpose(each), strict=True)
    ]
    return replace(prior, weights=np.column_stack(weights))
