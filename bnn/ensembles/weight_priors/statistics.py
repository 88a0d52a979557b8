"""Statistics of the weights of pre-trained networks, layer by layer."""

from __future__ import annotations

from numpy.typing import ArrayLike
from scipy.stats import kurtosis

from bnn.ensembles.weight_priors.density import checked_ensemble, unbiased_variance
from bnn.ensembles.weight_priors.generalised_normal import fit_generalised_normal
from bnn.networks.mlp import MLP


def layer_statistics(weights: ArrayLike, architecture: MLP) -> dict[str, dict[str, float]]:
    """Describe the distribution of the centred weights of each kernel and bias.

    Args:
        weights: Weights ω0 of K pre-trained networks, (K, d).
        architecture: The networks, which define the layers.

    Returns:
        For each group, W0, b0, ... and "all", a dictionary of variance, excess_kurtosis, and alpha
        and beta of the fitted generalised normal density.

    Source: Table 1 and the histograms of the weights in the paper.
    """
    weights = checked_ensemble(weights, architecture)
    centred = weights - weights.mean(axis=0)
    statistics = {}
    for name, columns in {**architecture.groups, "all": slice(None)}.items():
        values = centred[:, columns]
        alpha, beta = fit_generalised_normal(values)
        statistics[name] = {
            "variance": unbiased_variance(values),
            "excess_kurtosis": float(kurtosis(values.ravel())),
            "alpha": alpha,
            "beta": beta,
        }
    return statistics
