import numpy as np
import pytest

from fe_data import Paths
from studies.path_surrogates.data import BOUNDS
from studies.path_surrogates.estimators import Predicted
from studies.path_surrogates.scores import floor, scores
from studies.strain_paths.study import sampling_variance


@pytest.fixture
def reference():
    """Standard normal stresses of 40 microstructures."""
    stress = np.random.default_rng(1).normal(0.0, 1.0, (30, 40, 20, 3))
    return Paths(np.tile(BOUNDS[0], (30, 1)), np.zeros((30, 20, 3)), stress)


def test_errors_are_over_the_variance_of_each_component(reference):
    off = reference.mean_stress + np.array([1.0, 2.0, 0.0])
    measured = scores(reference, Predicted(off), np.array([1.0, 16.0, 9.0]))
    expected = pytest.approx((1.0 + 0.25 + 0.0) / 3.0)
    assert measured == {"nmse": expected, "nmse_of_rves": [expected] * 30}


def test_the_sampling_error_of_the_reference_means_covers_a_surrogate_that_is_right(reference):
    zero = np.zeros(reference.strain.shape)
    measured = scores(reference, Predicted(zero, zero, zero + 1.0), np.ones(3))
    assert measured["coverage"] == pytest.approx(0.95, abs=0.02)
    assert measured["cells"] == pytest.approx(0.95, abs=0.01)
    # E ln N(m; 0, v) with m of the variance v = 1 / 40
    assert measured["elppd"] == pytest.approx(-0.5 * (np.log(2.0 * np.pi / 40.0) + 1.0), abs=0.1)
    assert measured["nmse"] == pytest.approx(floor(reference, np.ones(3)), rel=0.1)
    assert sampling_variance(reference).mean() == pytest.approx(1.0 / 40.0, rel=0.02)
