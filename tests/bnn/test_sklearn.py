"""The estimators are scikit-learn regressors."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import bnn

SMALL = {"noise": 0.1, "n_members": 3, "random_state": 0}
NETWORK = bnn.Architecture((16,))
TRAINING = bnn.TrainingSettings(epochs=60, batch_size=64, learning_rate=0.02)
PRETRAINING = bnn.Pretraining(3, 32, training=replace(TRAINING, epochs=10))
ESTIMATORS = [
    bnn.VanillaEnsemble(network=NETWORK, training=TRAINING, **SMALL),
    bnn.AnchoredEnsemble(network=NETWORK, pretraining=PRETRAINING, training=TRAINING, **SMALL),
    bnn.FunctionAnchoredEnsemble(
        network=bnn.Architecture((8,), "silu"),
        pretraining=PRETRAINING,
        anchoring=bnn.FunctionAnchoring(n_points=5, max_iter=5),
        **SMALL,
    ),
    bnn.GPRegressor(noise="constant"),
    bnn.GPRegressor(),
]
ESTIMATORS.append(bnn.PCARegressor(ESTIMATORS[0]))
# With noise and prior that are given, tests/bnn/noise/test_models.py shows that they are.
WHY = "resampling draws rows, and a search sees that equal rows have equal values"
REPEATED = {"check_sample_weight_equivalence_on_dense_data": WHY}


@pytest.mark.filterwarnings("ignore::bnn.ConstantInputWarning", "ignore::UserWarning")
@pytest.mark.usefixtures("one_family")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: REPEATED)
def test_estimator_check(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("one_family")
def test_moments_of_logarithms_in_the_units_of_y():
    """The lines of the guide, against draws of the logarithm."""
    guide = Path(bnn.__file__).parents[1] / "docs" / "bnn.md"
    (lines,) = re.findall(
        r"\n((?:    [^\n]*\n)+)\n`model.predict\(X_new\)` is", guide.read_text(encoding="utf-8")
    )
    rng = np.random.default_rng(0)
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    y = np.exp(2.0 * np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(20))
    X_new = np.array([[-0.5], [0.2], [0.9]])
    names = {"TransformedTargetRegressor": TransformedTargetRegressor, "bnn": bnn, "np": np}
    names |= {"X": X, "y": y, "X_new": X_new}
    exec(re.sub("(?m)^    ", "", lines), names)
    fitted = names["model"].regressor_
    f = fitted.sample(X_new, n_samples=400_000, random_state=0)[:, :, 0]
    drawn = np.exp(f + np.sqrt(fitted.noise_[0, 0]) * rng.standard_normal(f.shape))
    np.testing.assert_allclose(names["mean"], drawn.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(names["std"], drawn.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(names["interval"][1], np.quantile(drawn, 0.975, axis=0), rtol=0.03)
    np.testing.assert_allclose(names["model"].predict(X_new), np.exp(names["m"]), rtol=1e-12)
