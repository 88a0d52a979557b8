"""Posteriors judged by sets of paths, on a small basis."""

from types import SimpleNamespace

import numpy as np
import pytest

from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble
from fe_data import Paths, random_path
from studies.strain_paths.study import (
    BOUNDS,
    HALF_WIDTH,
    LABELS,
    TENSION,
    Study,
    compare,
    load_study,
    spread_of_theta,
    subset,
    with_error,
)

SCATTER = 2.0  # MPa


def alike(X):
    """Matrix and fibres strain as the RVE does."""
    return np.tile(np.eye(3), (len(X), 2, 1, 1))


def rves(n, microstructures, seed, basis):
    """Stress of mean fields, 3 % more of it, and the scatter of microstructures."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(BOUNDS[0] + [0.1, 0, 0, 0], BOUNDS[1], (n, 4))
    strain = np.array([random_path(rng, increments=30) for _ in range(n)])
    stress = 1.03 * basis.features(X, strain).mean_fields
    shifts = SCATTER * rng.standard_normal((n, microstructures, 1, 3))
    return Paths(X, strain, stress[:, None] + shifts)


@pytest.fixture(scope="module")
def study():
    basis = MaterialPointBasis(alike, BOUNDS, n_points=4)
    log_variance = 2.0 * np.log(SCATTER)
    scatter = PathScatter(np.tile([log_variance, 0.0, 0.0, 0.0], (3, 1)))
    references = {name: rves(4, 6, seed, basis) for seed, name in enumerate(LABELS)}
    return Study(basis, scatter, rves(7, 1, 10, basis), references)


def test_errors_and_coverages_are_those_of_the_prediction(study):
    """A prediction 5 MPa off in xx alone, whose bands are as wide as the argument says."""
    off = np.array([5.0, 0.0, 0.0])
    means = {
        reference.inputs[0, 0]: reference.mean_stress for reference in study.references.values()
    }

    def model(std):
        def predict(X, strain, *, return_std, include_noise=False):
            assert return_std
            return means[X[0, 0]] + off, np.full(strain.shape, 100.0 if include_noise else std)

        return SimpleNamespace(predict=predict)

    errors = study.errors(model(1e-6))
    assert errors["reference_random"].error == pytest.approx(25.0 / study.variance[0] / 3)
    assert errors[TENSION].error == pytest.approx(25.0 / study.variance[0])
    assert errors["reference_cycles"].coverage == pytest.approx(2 / 3)
    assert errors[TENSION].coverage == 0.0
    assert {reference.single for reference in errors.values()} == {1.0}
    wide = study.errors(model(5.1 / HALF_WIDTH))
    assert {reference.coverage for reference in wide.values()} == {1.0}


def test_the_error_of_the_mean_over_microstructures_widens_a_band(study):
    reference = study.references["reference_random"]
    expected = 9.0 + reference.stress.var(axis=1, ddof=1) / 6
    score = with_error(np.full(reference.strain.shape, 3.0), reference)
    np.testing.assert_allclose(score**2, expected)


def test_members_scatter_as_theta_alone_does(study):
    random_paths = study.random_paths
    model = StrainPathEnsemble(study.basis, study.scatter, n_members=4000, random_state=0)
    model.fit(random_paths.inputs, random_paths.strain, random_paths.stress[:, 0])
    members = study.members(model, "reference_random")
    assert members.spread == pytest.approx(1.0, abs=0.05)
    assert members.off < 3.0
    assert members.theta < members.full
    reference = study.references["reference_random"]
    _, std = model.predict(reference.inputs, reference.strain, return_std=True)
    curves = model.predict_members(reference.inputs, reference.strain)
    ratio = curves.std(axis=0) / spread_of_theta(model, reference, std)
    assert np.median(ratio) == pytest.approx(1.0, abs=0.05)


def test_there_are_as_many_draws_as_the_walks_have_parts_without_a_walk_in_common(study):
    subsets = [subset(study.random_paths, 3, number).inputs for number in range(2)]
    np.testing.assert_array_equal(np.concatenate(subsets), study.random_paths.inputs[:6])
    rows = compare(study, [2, 5], draws=3, seed=0)
    assert [*rows] == [*LABELS]
    for errors in rows.values():
        assert [len(errors_of_count.error.values) for errors_of_count in errors.values()] == [3, 1]
    first = study.errors(study.posterior(subset(study.random_paths, 2, 0), 0))["reference_random"]
    assert rows["reference_random"][2].error.values[0] == pytest.approx(first.error)


def test_no_rve_that_judges_has_the_inputs_of_one_to_learn_from(study):
    shipped = load_study(study.basis, study.scatter, 15)
    learnt = {tuple(x) for x in shipped.random_paths.inputs}
    for reference in shipped.references.values():
        assert reference.stress.shape[:2] == (15, 20)
        assert not learnt & {tuple(x) for x in reference.inputs}
