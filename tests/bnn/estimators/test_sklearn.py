"""The estimators are scikit-learn regressors."""

from dataclasses import replace

import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
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
        network=bnn.Architecture((16,), "silu"),
        pretraining=PRETRAINING,
        anchoring=bnn.FunctionAnchoring(points=10, iterations=10),
        **SMALL,
    ),
    bnn.ExactPosterior(),
    bnn.ComponentRegressor(bnn.ExactPosterior()),
]


@pytest.mark.filterwarnings("ignore::bnn.ConstantInputWarning", "ignore::UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)


def test_pipeline_and_cross_validation(line_data):
    """A pipeline of scaler and ensemble explains most of the variance of held-out data."""
    X, y = line_data
    scores = cross_val_score(make_pipeline(StandardScaler(), ESTIMATORS[0]), X, y, cv=3)
    assert scores.min() > 0.8
