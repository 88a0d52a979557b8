"""Priors of the composite from the evidence, around a linear mean or a mean-field model."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import bnn
from fe_data import mean_field
from figures.composite import problem as composite
from figures.pipeline.settings import Estimate, PriorKnowledge


def mean_fields(X: np.ndarray, **parameters: Any) -> np.ndarray:
    """Mean fields at scaled inputs (n, n_in), scaled, (n, n_out).

    The default of `fluctuation` is fitted to b_eff and c_eff of the 20 inputs × 15 RVEs of
    noise.csv; with 0 nothing is fitted but p_sigma. Where an input lies beyond the range in which
    mean fields have been compared with RVEs, as notebook 06 says, there is no warning.
    """
    inputs = composite.INPUT_SCALING.inverse_transform(X)
    with warnings.catch_warnings():
        # The evidence compares settings at places somewhat beyond the data too, in every fit.
        warnings.filterwarnings("ignore", ".*mean fields are within", UserWarning)
        return composite.OUTPUT_SCALING.transform(mean_field(inputs, **parameters))


def compared_fields(settings: PriorKnowledge) -> list[Callable]:
    """Mean fields with every pair of the two parameters that a run compares."""
    return [
        partial(mean_fields, reference=reference, fluctuation=fluctuation)
        for reference in settings.references
        for fluctuation in settings.fluctuations
    ]


# Between Hashin-Shtrikman and nearly self-consistent, with less and more scatter of the strain.
FIELDS = compared_fields(PriorKnowledge())


def linear(train: composite.Samples, noise: Any, estimate: Estimate = "average") -> Any:
    """A prior from the evidence about a linear mean."""
    return bnn.evidence.fit_prior(train.X, train.y, noise, estimate=estimate)


def about_fields(
    train: composite.Samples,
    noise: Any,
    mean: Callable = mean_fields,
    estimate: Estimate = "average",
) -> Any:
    """A prior from the evidence about mean fields, for what the simulation has beyond them."""
    form: dict[str, Any] = {"mean": mean, "mean_features": (), "estimate": estimate}
    return bnn.evidence.fit_prior(train.X, train.y, noise, **form)


def about_fitted_fields(
    train: composite.Samples,
    noise: Any,
    fields: Sequence[Callable] = FIELDS,
    estimate: Estimate = "average",
) -> Any:
    """The same about the mean fields whose two parameters have the largest evidence."""

    def evidence(mean: Callable) -> float:
        prior = bnn.evidence.fit_prior(
            train.X, train.y, noise, mean=mean, mean_features=(), estimate="map"
        )
        return bnn.GPRegressor(prior, noise=noise).fit(train.X, train.y).log_evidence()

    return about_fields(train, noise, max(fields, key=evidence), estimate)
