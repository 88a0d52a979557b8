import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import bnn
from bench.defaults.parts import PARTS, ExtendedDensity
from bench.defaults.studies import logarithm, parts, points
from bench.scoreboard import public
from bnn.priors.evidence.families import Family, FamilyDensity


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sets of 60 rows: a sum of functions of one input each, its exponential; and one of 10."""
    home = tmp_path_factory.mktemp("public")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = 2.0 * np.sin(9.0 * X[:, 0]) + np.cos(7.0 * X[:, 1]) + np.abs(X[:, 2] - 0.5)
    y += 0.05 * rng.standard_normal(60)
    splits = json.dumps([list(range(20)), list(range(20, 40))])
    write(home / "sum", np.column_stack([X, y]), splits)
    write(home / "exponential", np.column_stack([X, np.exp(y)]), splits)
    with (home / "single.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "y"], *rng.standard_normal((10, 2))])
    return home


def write(folder, rows, splits):
    folder.mkdir()
    with (folder / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "y"], *rows])
    (folder / "standard.json").write_text(splits)


@pytest.fixture
def density():
    rng = np.random.default_rng(0)
    family = Family((bnn.Matern52, bnn.Matern32), trend=True, warped=True, mixed=True)
    u, y = rng.uniform(size=(30, 3)), rng.standard_normal(30)
    return FamilyDensity(family, u, y, None, np.full(30, 0.05))


def problem(folder, name):
    return {each.name: each for each in public.problems(folder)}[name]


def test_without_a_part_it_is_the_density_of_the_family(density):
    eta = density.centre + 0.3 * np.random.default_rng(1).standard_normal(len(density.centre))
    given = torch.tensor(eta, requires_grad=True)
    value = ExtendedDensity(density)(given)
    value.backward()
    expected, gradient = density(eta)
    np.testing.assert_allclose(value.item(), expected, rtol=1e-10)
    np.testing.assert_allclose(given.grad.numpy(), gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_a_kernel_that_a_variance_of_nearly_zero_switches_off(density, part):
    extended = ExtendedDensity(density, part)
    eta = torch.tensor(extended.centre)
    u = torch.rand(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    own = len(density.centre)
    without = ExtendedDensity(density).covariance(eta[:own], u, u)
    added = extended.covariance(eta, u, u) - without
    assert torch.linalg.eigvalsh(added).min() > -1e-8 * added.diagonal().max()
    assert added.diagonal().min() > 0.05
    eta[own : own + extended.variances] = -40.0
    torch.testing.assert_close(extended.covariance(eta, u, u), without)


def test_the_arc_cosine_part_is_the_covariance_of_many_rectified_units(density):
    """(2 k / n) Σ relu(w·ž) relu(w·ž'), w standard normal."""
    extended = ExtendedDensity(density, "arc-cosine")
    eta = torch.tensor(extended.centre)
    own = len(density.centre)
    u = torch.tensor([[0.1, 0.2, 0.9], [0.8, 0.5, 0.3]], dtype=torch.float64)
    added = extended.covariance(eta, u, u) - ExtendedDensity(density).covariance(eta[:own], u, u)
    # At its centre a family neither warps nor mixes, and length scales are 1.
    inputs = np.column_stack([np.ones(2), u.numpy() - 0.5])
    units = np.maximum(inputs @ np.random.default_rng(0).standard_normal((4, 10**6)), 0.0)
    np.testing.assert_allclose(added.numpy(), 0.1 * 2.0 * units @ units.T / 10**6, rtol=0.01)


def test_an_unknown_part_is_refused(density):
    with pytest.raises(ValueError, match="part = 'cubic': must be one of additive, arc-cosine"):
        ExtendedDensity(density, "cubic")


def test_a_sum_of_functions_of_one_input_gains_by_the_additive_part(folder):
    found = parts(problem(folder, "sum/standard"), 0)
    assert set(found) == set(PARTS)
    assert found["additive"]["log density"] > 0.0
    assert all(np.isfinite(list(change.values())).all() for change in found.values())


def test_the_exponential_of_a_smooth_function_gains_by_the_logarithm(folder):
    found = logarithm(folder, problem(folder, "exponential/standard"), 0)["log y"]
    assert found["log evidence"] > 10.0
    assert found["log-likelihood"] > 0.0


def test_a_set_without_logarithm_is_refused(folder):
    with pytest.raises(ValueError, match=r"sum/standard: a y is -.*, and has no logarithm"):
        logarithm(folder, problem(folder, "sum/standard"), 0)
    with pytest.raises(ValueError, match="single/holdout: must have a folder with splits"):
        logarithm(folder, problem(folder, "single/holdout"), 0)


def test_anchored_networks_are_near_the_posterior_at_points_that_are_asked_for(folder):
    found = points(problem(folder, "sum/standard"), 0)
    assert list(found) == ["points of the box", "points that are asked for"]
    assert all(set(change) == {"log-likelihood", "RMSE", "coverage"} for change in found.values())
    assert abs(found["points that are asked for"]["RMSE"]) < 0.1


def test_the_program_prints_means_over_splits(folder):
    program = [sys.executable, "-m", "bench.defaults", "logarithm", "--data", str(folder)]
    done = subprocess.run(
        [*program, "--problems", "exponential/standard"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("exponential/standard, 2 splits, log y: log evidence +")
    assert done.stdout.count(" ± ") == 3
    wrong = subprocess.run([*program, "--problems", "other"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "no other: there are exponential/standard, sum/standard, single/holdout" in wrong.stderr
