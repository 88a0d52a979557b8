"""The paper's materials settings."""

import numpy as np
import pytest

from fe_data.schema import INPUT_NAMES
from figures.composite.problem import (
    MEANS,
    OUTPUT_NAMES,
    OUTPUT_SCALING,
    Samples,
    fit_theta,
    functional_prior,
    load_samples,
    noise_std,
    published_tables,
)


def test_noise_is_the_published_coefficient_of_variation_of_the_middle_of_each_range():
    np.testing.assert_allclose(noise_std(), [0.066, 0.0388, 0.0193, 0.0524, 0.25], rtol=3e-3)
    half_percent_of_135_GPa = noise_std()[2] * OUTPUT_SCALING.half_range[2]
    assert half_percent_of_135_GPa == pytest.approx(0.005 * 135)


def test_theta_of_a_linear_set_is_its_slope_and_leaves_orthogonal_residuals(tables):
    X = np.random.default_rng(1).uniform(-1, 1, (20, 4))
    slopes = np.array([0.6, -0.2, 0.9, -0.9, 1.2])
    np.testing.assert_allclose(fit_theta(Samples(X, X[:, :1] * slopes)), slopes)
    samples = load_samples(tables, "train_beta")
    residual = samples.y - samples.X[:, :1] * fit_theta(samples)
    np.testing.assert_allclose(samples.X[:, 0] @ residual, 0, atol=1e-12)


def test_prior_of_an_output_ignores_inputs_outside_its_influential_subset():
    X = np.zeros((2, 4))
    X[1, 3] = 0.7  # c_m, which only c_eff and p_sigma depend on
    values = functional_prior(np.zeros(5)).sample(X, 50, 0)
    difference = np.abs(values[:, 1] - values[:, 0]).max(axis=0)
    np.testing.assert_allclose(difference[[0, 2, 3]], 0, atol=1e-6)
    assert (difference[[1, 4]] > 0.1).all()


def test_prior_has_the_published_variance_and_mean():
    theta = np.array([0.6, -0.2, 0.9, -0.9, 1.2])
    X = np.array([[0.5, 0.0, 0.0, 0.0]])
    values = functional_prior(theta).sample(X, 4000, 0)[:, 0]
    unclipped = [0, 1, 2, 3]
    band = 4 * np.sqrt(0.2 / 4000)
    np.testing.assert_allclose(values.mean(axis=0)[unclipped], 0.5 * theta[unclipped], atol=band)
    np.testing.assert_allclose(values.var(axis=0)[unclipped], 0.2, rtol=0.1)
    low = functional_prior(np.full(5, -3.0)).sample(X, 20, 0)
    assert OUTPUT_SCALING.inverse_transform(low).min() >= 0.01 - 1e-12


@pytest.mark.parametrize("name", MEANS)
def test_published_tables_are_told_by_their_means(tmp_path, tables, name):
    assert published_tables(tables, MEANS) == []
    rows = np.array(MEANS[name]) * (1 + np.array([[1e-3], [-1e-3]]))
    header = ",".join([*INPUT_NAMES, *OUTPUT_NAMES])
    np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header=header, comments="")
    assert published_tables(tmp_path, MEANS) == [name]
