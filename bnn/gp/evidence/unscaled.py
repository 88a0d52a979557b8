"""Prior and noise in the units of the data, from the searches for all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, Ints, filled
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.output_data import OutputData
from bnn.gp.evidence.prescribed import PrescribedCovariance
from bnn.gp.evidence.search import OutputSearch
from bnn.gp.kernels import RBF, Linear
from bnn.gp.low_fidelity import MultipleMean, ProcessModel
from bnn.gp.means import ModelMean
from bnn.gp.mixture import MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise
from bnn.noise.models import rounding_of


def components_of_prior(
    searches: Sequence[OutputSearch], n_in: int, prior: GaussianProcessPrior | None
) -> list[GaussianProcessPrior]:
    """Return the components of the prior of all outputs that were searched.

    `prior` is the one whose open parameters were estimated, or None.
    """
    components = list(zip(*(_kernels(search, n_in) for search in searches), strict=True))
    n_out = len(searches)
    if prior is not None:
        kernels = [of_outputs if n_out > 1 else of_outputs[0] for of_outputs in components]
        return [replace(prior, kernel=kernel) for kernel in kernels]
    # The known mean of all outputs: a low-fidelity model, or constants
    first = searches[0].data.mean
    mean = first if isinstance(first, ModelMean) else [search.data.mean for search in searches]
    means: Sequence[Any] = [mean] * len(components)
    if isinstance(mean, ProcessModel):
        factors = [[_prescribed(d).factor(eta[d.open]) for d, eta in s.draws] for s in searches]
        means = [MultipleMean(mean, row) for row in zip(*factors, strict=True)]
    features = _features(searches, n_in)
    pairs = zip(means, components, strict=True)
    return [GaussianProcessPrior(m, list(kernels), n_out, features) for m, kernels in pairs]


def _features(searches: Sequence[OutputSearch], n_in: int) -> Any:
    """Return the inputs of the kernels of families: those that vary, in the order of the search."""
    if searches[0].data.mean_given:  # these kernels use all inputs
        return None
    features = [search.data.inputs.tolist() for search in searches]
    if any(indices != features[0] for indices in features):
        return features
    return None if features[0] == list(range(n_in)) else features[0]


def _kernels(search: OutputSearch, n_in: int) -> list[sk.Kernel]:
    """Return the kernel of an output in each component."""
    data = search.data
    kernels = []
    for density, eta in search.draws:
        kernel = density.kernel(eta, data.low, data.width, data.spread)
        if data.mean_given and not data.kernel_given:
            lengthscale = np.full(n_in, np.inf)
            lengthscale[data.inputs] = kernel.lengthscale
            kernel = type(kernel)(kernel.variance, tuple(lengthscale.tolist()))
            mean = _bent_mean(density, eta, data)
            kernel = kernel if mean is None else kernel + mean
        kernels.append(kernel)
    return kernels


def _bent_mean(density: FamilyDensity, eta: Array, data: OutputData) -> Any:
    """Return the kernel of the mean, whose linear trend also bends beyond the data."""
    kernel = _prescribed(density).kernel(eta[density.open])
    trend = kernel.k1 if isinstance(kernel, sk.Sum) else kernel
    if not isinstance(trend, Linear) or np.min(trend.reach) == np.inf:
        return kernel
    # A trend starts to bend at the edge of the data, BEYOND ranges within its reach.
    ends = np.abs(data.X - np.asarray(trend.origin)).max(axis=0)
    bends = np.zeros(len(ends))
    relative = 2.0 * ends[data.inputs] / data.width
    bends[data.inputs] = density.curvatures(eta) * relative**2 * data.spread / data.width**2
    ends = np.where(bends > 0.0, ends, 1.0)
    bent = replace(trend, bends=tuple(bends.tolist()), ends=tuple(ends.tolist()))
    return bent + kernel.k2 if isinstance(kernel, sk.Sum) else bent


def _prescribed(density: FamilyDensity) -> PrescribedCovariance:
    """Return the prescribed covariance of a density, which exists if a mean is given."""
    assert density.covariance is not None
    return density.covariance


def noise_of(searches: Sequence[OutputSearch], kind: str | None) -> Noise | StudentNoise:
    """Return the estimated noise of all outputs, without correlations."""
    datas = [search.data for search in searches]
    noises = [search.noise for search in searches]
    # log σ = level + ½ log var y, for a datum of weight one
    levels = np.array([noise.level for noise in noises])
    levels = levels + 0.5 * np.log([data.spread for data in datas])
    levels = levels + 0.5 * np.log([data.unit for data in datas])
    joint: Noise = np.exp(levels)
    if kind == "heteroscedastic" or any(noise.slopes.any() for noise in noises):
        models = []
        for level, noise, data in zip(levels, noises, datas, strict=True):
            slopes = np.zeros((data.X.shape[1], 1))
            slopes[data.inputs, 0] = noise.slopes
            models.append(data.basis.noise(np.array([level]), slopes))
        joint = HeteroscedasticNoise(
            np.hstack([model.coefficients for model in models]),
            None,
            (),
            _bounds(np.stack([model.limits for model in models], axis=2)),
        )
    tails = noises[0].tails
    return joint if tails is None else StudentNoise(joint, tails.freedom)


def _bounds(limits: Array) -> tuple[Array, Array]:
    """Return limits (2, n_in, n_out) as a pair, (n_in,) each if all outputs have the same."""
    low, high = limits[:, :, 0] if np.all(limits == limits[:, :, :1]) else limits
    return low, high


def prior_with_constants(
    prior: MixturePrior | None, outputs: Ints, n_in: int, y: Array, deviation: float | None
) -> MixturePrior:
    """Return a prior of all outputs; one that does not vary is an unknown constant.

    The prior given is that of the outputs that vary, None if none does. A constant is near its
    value, with this standard deviation relative to it, or the rounding error for None.
    """
    n_out = y.shape[1]
    relative = 1.0 if deviation is None else deviation / np.finfo(float).eps
    spreads = relative * rounding_of(y)
    values = filled(y)[0].copy()
    components = [None] if prior is None else prior.components
    weights = np.full((len(components), n_out), 1.0 / len(components))
    if prior is not None:
        weights[:, outputs] = prior.shares
        values[outputs] = prior.components[0].mean
    priors = []
    for component in components:
        # A constant has infinite length scales.
        kernels: list[sk.Kernel] = [RBF(float(s) ** 2, (np.inf,) * n_in) for s in spreads]
        features = [list(range(n_in))] * n_out
        if component is not None:
            for i, j in enumerate(outputs.tolist()):
                kernels[j] = component.kernels[i]
                features[j] = component.active_dims_of(i, n_in)
        priors.append(GaussianProcessPrior(values.tolist(), kernels, n_out, features))
    return MixturePrior(priors, weights)


def noise_with_constants(
    noise: Noise | StudentNoise | None, outputs: Ints, y: Array
) -> Noise | StudentNoise:
    """Return the noise of all outputs: estimated noise, or the rounding error of a constant."""
    rounding = rounding_of(y)
    if isinstance(noise, StudentNoise):
        gaussian: Any = noise_with_constants(noise.noise, outputs, y)
        return replace(noise, noise=gaussian)
    if not isinstance(noise, HeteroscedasticNoise):
        deviations = rounding.copy()
        deviations[outputs] = 0.0 if noise is None else noise
        return deviations
    n_out = len(rounding)
    coefficients = np.zeros((len(noise.coefficients), n_out))
    coefficients[0] = np.log(rounding)
    coefficients[:, outputs] = noise.coefficients
    correlation = np.eye(n_out)
    correlation[np.ix_(outputs, outputs)] = noise.correlation
    of_outputs = noise.limits.reshape(2, noise.n_inputs, -1)
    limits = np.repeat(of_outputs[:, :, :1], n_out, axis=2)
    limits[:, :, outputs] = of_outputs
    return HeteroscedasticNoise(coefficients, correlation, (), _bounds(limits))
