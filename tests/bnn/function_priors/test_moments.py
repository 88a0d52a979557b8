"""Covariances that are estimated from realisations."""

import numpy as np

from bnn import RBF, GaussianProcessPrior, TablePrior
from bnn.function_priors.moments import prior_covariance, sample_covariance


def test_sample_covariance_knows_the_units_of_the_outputs():
    """Shrinking towards one variance for both would blow the small output up by 1e8."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 3, 2)) * [1e3, 1e-2]
    deviations = np.sqrt(np.diag(sample_covariance(values)[0]))
    np.testing.assert_allclose(deviations, np.repeat([1e3, 1e-2], 3), rtol=0.1)


def test_a_table_counts_its_rows_once():
    """Repeated rows are no new information: as much shrinkage as for the rows themselves."""
    points = np.linspace(-1.0, 1.0, 12)[:, None]
    values = GaussianProcessPrior(0.0, RBF(0.5, 0.8)).sample(points, 5, 0)
    table = TablePrior(points, values, "linear")
    found = prior_covariance(table, points, 1000, 0)
    np.testing.assert_allclose(found, sample_covariance(values), rtol=1e-10)
