"""A short study has the properties that the paper reports, and survives its file."""

from dataclasses import replace

import numpy as np
import pytest

from prior_study import load, run, save
from prior_study.config import StudyConfig
from prior_study.study import pretrain


def test_networks_follow_their_prior_and_multivariate_weights_more_than_isotropic_ones(study):
    variance = [study.results[name].statistics.variance[0] for name in "ABC"]
    assert variance[0] < variance[1] < variance[2]
    assert max(study.results[name].unexplained for name in "AD") < 0.05
    for name in "AB":
        comparison = study.results[name].comparison
        for measure in ("wasserstein", "mean", "width"):
            assert comparison.loc["low_rank", measure] < 0.5 * comparison.loc["isotropic", measure]


def test_the_file_holds_plain_arrays_and_the_same_study(study, tmp_path):
    save(study, tmp_path / "study.npz")
    with np.load(tmp_path / "study.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)
    again = load(tmp_path / "study.npz")
    assert again.config == study.config
    for name, result in study.results.items():
        np.testing.assert_array_equal(again.results[name].weights, result.weights)
        np.testing.assert_array_equal(again.results[name].statistics.beta, result.statistics.beta)
        assert again.results[name].comparison.equals(result.comparison)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="is not a study of format 3"):
        load(tmp_path / "other.npz")


def test_a_kernel_has_its_weights_less_their_mean(study):
    """W1 maps 50 units to 50, after a first layer of 50 weights and 50 biases."""
    result = study.results["B"]
    weights = result.weights[:, 100:2600].astype(float)
    np.testing.assert_array_equal(result.kernel(1), weights - weights.mean(axis=0))


def test_a_network_depends_on_the_seed_and_not_on_the_other_networks(study):
    fewer = replace(study.config, priors=("A",), members=4)
    weights = run(fewer).results["A"].weights
    np.testing.assert_allclose(weights, study.results["A"].weights[:4], atol=1e-6)
    other = run(replace(fewer, seed=4)).results["A"].weights
    assert np.abs(other - weights).max() > 0.1


@pytest.mark.parametrize(
    ("members", "corrected"), [(100, range(0, 56, 7)), (50, range(0, 32, 4)), (3, range(3))]
)
def test_eight_workers_correct_the_bias_of_their_first_networks(members, corrected):
    """Of twice as many networks as the study uses."""
    config = StudyConfig(members=members, optimiser="workers")
    assert config.bias_correction == tuple(corrected)


def test_with_workers_only_their_first_networks_differ(study):
    members = 10  # of twenty, so that each of the first eight has its own worker
    config = replace(study.config, priors=("A",), members=members)
    plain, workers = (
        pretrain("A", replace(config, optimiser=optimiser)).weights
        for optimiser in ("published", "workers")
    )
    differ = (plain != workers).any(axis=1)
    assert np.flatnonzero(differ).tolist() == [*range(8)]


@pytest.mark.slow
def test_workers_hardly_change_table_1():
    """The page on the published code says so of prior A."""
    both = (
        pretrain("A", StudyConfig(priors=("A",), optimiser=optimiser))
        .weights.var(axis=0, ddof=1)
        .mean()
        for optimiser in ("published", "workers")
    )
    plain, workers = both
    assert workers == pytest.approx(plain, rel=0.03)


def test_optimisers_differ(study):
    proper = run(replace(study.config, priors=("A",), optimiser="proper")).results["A"]
    # Without the correction of its bias Adam takes larger steps.
    assert proper.statistics.variance[0] < study.results["A"].statistics.variance[0]
