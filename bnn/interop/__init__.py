"""Conversion of fitted estimators to models of other libraries, which are imported on use."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.gp.regressor import GPRegressor
from safe_files.text import short

__all__ = ["botorch_model"]


def botorch_model(model: GPRegressor | EnsembleRegressor) -> Any:
    """Convert a fitted Gaussian process or ensemble to a model of BoTorch.

    Inputs and outputs of the model are in the units of the data, in double precision. Its
    posteriors are epistemic, joint over points and outputs, and differentiable. The posterior of a
    mixture of Gaussian processes is the normal distribution with the mean and the covariance of the
    mixture.

    `fantasize` and `condition_on_observations` condition the model on new results, as acquisition
    functions such as qNegIntegratedPosteriorVariance require. The covariance C becomes
    C - C(., x) (C(x, x) + Σ(x))⁻¹ C(x, .), as for `bnn.select_runs`; for an ensemble C is the
    covariance of its members. `subset_output` selects some of the outputs. Needs the extra
    `botorch`.

    Args:
        model: A fitted GPRegressor without `mean=`, whose prior `predict_gradient` supports, or a
            fitted ensemble. Conditioning an ensemble requires at least 200 members.

    Returns:
        A botorch.models.model.Model; for an ensemble a botorch.models.ensemble.EnsembleModel.

    Raises:
        TypeError: If the model is neither a GPRegressor nor an ensemble.
        NotFittedError: If the model is not fitted.
        ValueError: If a kernel has no gradient, or the mean of the prior is a function.
        ImportError: If BoTorch is missing.

    Source: for conditioning ensembles, the square-root update of Andrews (1968), AIAA Journal 6, as
    in Whitaker & Hamill (2002), Monthly Weather Review 130.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.GPRegressor(bnn.GaussianProcessPrior(), noise=0.05).fit(X, y)
        >>> bnn.interop.botorch_model(model).num_outputs  # doctest: +SKIP
    """
    if not isinstance(model, GPRegressor | EnsembleRegressor):
        raise TypeError(f"model = {short(model)}: must be a GPRegressor or an ensemble")
    check_is_fitted(model)
    try:
        from bnn.interop.botorch_ensemble import BotorchEnsemble
        from bnn.interop.botorch_process import BotorchProcess
    except ImportError as error:
        raise ImportError(f"{error}: add it by pip install '.[botorch]' in the checkout") from None
    if isinstance(model, GPRegressor):
        return BotorchProcess(model)
    return BotorchEnsemble(model.fitted_members())
