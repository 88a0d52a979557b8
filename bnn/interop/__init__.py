"""Fitted estimators as models of other libraries, which are imported when they are used."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from bnn.ensembles.ensemble import EnsembleRegressor

__all__ = ["botorch_model"]


def botorch_model(model: EnsembleRegressor) -> Any:
    """Make a fitted ensemble a model of BoTorch.

    Its inputs and outputs are in the units of the data, in double precision, and its posteriors are
    epistemic. Acquisition functions that condition on future results, such as
    qNegIntegratedPosteriorVariance, use `fantasize` and `condition_on_observations`. These move the
    members as an ensemble Kalman filter does: their covariance C becomes
    C - C(., x) (C(x, x) + Σ(x))⁻¹ C(x, .), as for `bnn.select_runs`. `subset_output` takes some of
    the outputs. Needs the extra `botorch`.

    Args:
        model: A fitted ensemble, with at least 200 members if it is to be conditioned.

    Returns:
        A botorch.models.ensemble.EnsembleModel.

    Raises:
        TypeError: If the model is not an ensemble.
        ImportError: If BoTorch is missing.

    Source: the square root of Andrews (1968), AIAA Journal 6, as in Whitaker & Hamill (2002),
    Monthly Weather Review 130.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> brief = bnn.TrainingSettings(epochs=1)
        >>> model = bnn.VanillaEnsemble(n_members=2, noise=0.05, training=brief).fit(X, y)
        >>> bnn.interop.botorch_model(model).num_outputs  # doctest: +SKIP
    """
    if not isinstance(model, EnsembleRegressor):
        raise TypeError(f"model = {model!r:.60}: must be an ensemble")
    check_is_fitted(model)
    try:
        from bnn.interop.botorch_ensemble import BotorchEnsemble
    except ImportError as error:
        raise ImportError(f"{error}: pip install '.[botorch]' in the checkout adds it") from None
    return BotorchEnsemble(model.fitted_members())
