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
    """Evaluate the mean-field model at scaled inputs (n, n_in); return scaled outputs (n, n_out).

    The default of `fluctuation` is fitted to b_eff and c_eff of the 20 inputs × 15 RVEs in
    noise.csv; with 0 only p_sigma is fitted. There is no warning for inputs outside the range in
    which the model has been compared with RVEs (notebook 06).
    """
    inputs = composite.INPUT_SCALING.inverse_transform(X)
    with warnings.catch_warnings():
        # Every fit of the evidence also evaluates the model somewhat beyond the data.
        warnings.filterwarnings("ignore", ".*mean-field model are within", UserWarning)
        return composite.OUTPUT_SCALING.transform(mean_field(inputs, **parameters))


def compared_fields(settings: PriorKnowledge) -> list[Callable]:
    """Return the mean-field models with every pair of the two parameters in the settings."""
    return [
        partial(mean_fields, reference=reference, fluctuation=fluctuation)
        for reference in settings.references
        for fluctuation in settings.fluctuations
    ]


# From Hashin-Shtrikman to nearly self-consistent, with different fluctuations of the strain.
FIELDS = compared_fields(PriorKnowledge())


def linear(train: composite.Samples, noise: Any, estimate: Estimate = "average") -> Any:
    """Fit a prior with a linear mean to the evidence."""
    return bnn.evidence.fit_prior(train.X, train.y, noise, estimate=estimate)


def about_fields(
    train: composite.Samples,
    noise: Any,
    mean: Callable = mean_fields,
    estimate: Estimate = "average",
) -> Any:
    """Fit a prior to the evidence for the difference between simulation and mean-field model."""
    form: dict[str, Any] = {"mean": mean, "mean_features": (), "estimate": estimate}
    return bnn.evidence.fit_prior(train.X, train.y, noise, **form)


def about_fitted_fields(
    train: composite.Samples,
    noise: Any,
    fields: Sequence[Callable] = FIELDS,
    estimate: Estimate = "average",
) -> Any:
    """Fit the same prior for the mean-field model with the largest evidence among `fields`."""

    def evidence(mean: Callable) -> float:
        prior = bnn.evidence.fit_prior(
            train.X, train.y, noise, mean=mean, mean_features=(), estimate="map"
        )
        return bnn.GPRegressor(prior, noise=noise).fit(train.X, train.y).log_evidence()

    return about_fields(train, noise, max(fields, key=evidence), estimate)
