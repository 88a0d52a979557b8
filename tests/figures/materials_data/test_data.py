"""Numbers and pictures of the materials data."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal

from fe_data.dataset.table import Table, load_table
from fe_data.schema import INPUT_NAMES
from figures.composite.problem import FEATURES, OUTPUT_NAMES, load_designs
from figures.materials_data.data import (
    claims,
    coefficients_of_variation,
    information_claim,
    information_over_draws,
    mutual_information,
    noise_by_input,
    noise_table,
    scatter_density,
)
from figures.scores import over_repeats


def table_of(outputs, groups):
    n = len(outputs)
    return Table(
        index=np.arange(n),
        seed=np.zeros(n, int),
        group=np.asarray(groups),
        inputs=np.tile([0.2, 400.0, 400.0, 0.4], (n, 1)),
        outputs=np.asarray(outputs),
        status=np.array(["ok"] * n),
        failed=np.array([], int),
    )


@pytest.fixture
def replicates():
    """A hundred inputs with six RVEs each, scattered by 2 % of the middle of each range."""
    middle = np.array([550.0, 0.33, 135.0, 0.288, 0.4])
    rng = np.random.default_rng(0)
    return table_of(middle * (1 + 0.02 * rng.normal(size=(600, 5))), np.repeat(np.arange(100), 6))


def test_scatter_is_that_within_groups_and_not_between_them():
    values = np.array([[1.0], [3.0], [101.0], [103.0]]) * np.ones(5)
    coefficients = coefficients_of_variation(table_of(values, [0, 0, 1, 1]))
    np.testing.assert_allclose(coefficients.iloc[:, 0], np.sqrt(2) / np.array([2, 102]))


def test_noise_in_percent_of_mid_range_is_recovered(replicates):
    for number in noise_table(replicates).values():
        assert number["mean"] == pytest.approx(2.0, abs=4 * number["std"])
        assert 0.02 < number["std"] < 0.1


def test_mutual_information_of_a_gaussian_pair_is_the_closed_form():
    rng = np.random.default_rng(2)
    rho = 0.8
    n = 4000
    x = rng.normal(size=n)
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)
    information = mutual_information(x[:, None], y[:, None])[0, 0]
    assert information == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.06)


def last_claim(place, designs, influential=()):
    """About a place, where ν_eff has these influential inputs and others those of the paper."""
    names = zip(OUTPUT_NAMES, FEATURES, strict=True)
    paper = {name: [INPUT_NAMES[i] for i in features] for name, features in names}
    information = {"influential": paper | {"nu_eff": influential}, "above_chance": paper}
    return [claim for claim in claims(designs, information) if claim.about == place][-1]


def test_claims_on_subsets_and_noise_follow_the_numbers(tables, replicates):
    """2 % of mid-range is more than the 0.5 and 0.2 % that are assumed for E_eff and ν_eff."""
    designs = load_designs(tables, ["test_uniform", "train_beta"])
    for influential, holds in ((["vf"], True), ([], False), (["vf", "c_m"], False)):
        assert last_claim("Table 2", designs, influential).holds is holds
    middle = replicates.outputs.mean(axis=0)
    little = dataclasses.replace(replicates, outputs=0.99 * middle + 0.01 * replicates.outputs)
    designs |= {"replicates": little, "noise": little}
    claim = last_claim("Fig. 10", designs)
    assert claim.holds
    assert claim.ours["noise"]["p_sigma"] == pytest.approx(0.02 / 25, rel=0.2)
    assert last_claim("Fig. 10", designs | {"noise": replicates}).holds is False


def test_noise_by_input_is_scored_on_other_groups_by_the_density_of_their_deviations():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 6)
    covariances = np.repeat(np.array([np.eye(2) * s for s in (0.5, 1.0, 2.0, 4.0)]), 6, axis=0)
    y = rng.normal(size=(24, 2)) + 5.0 * groups[:, None]
    total = 0.0
    for group in range(4):
        rves = y[groups == group]
        # Deviations of m normal RVEs from their mean: m - 1 contrasts that are independent.
        contrasts = null_space(np.ones((1, 6))).T @ rves
        total += multivariate_normal(np.zeros(2), covariances[6 * group]).logpdf(contrasts).sum()
    assert scatter_density(y, groups, covariances) == pytest.approx(total / 20)


def test_the_farthest_rve_is_left_out_of_one_of_the_two_densities(replicates):
    outputs = replicates.outputs.copy()
    outputs[3, 0] += 100.0 * outputs[:, 0].std()
    odd = dataclasses.replace(replicates, outputs=outputs)
    noise = noise_by_input(odd, replicates)
    assert noise["by_input_without_farthest"] > noise["by_input"] + 5
    assert noise["constant_without_farthest"] > noise["constant"] + 5


def test_subsets_are_decided_by_all_draws(tables):
    """An input is chosen in a draw where its mutual information is positive."""
    names = zip(OUTPUT_NAMES, FEATURES, strict=True)
    chosen = {name: [INPUT_NAMES[i] for i in features] for name, features in names}
    right = {
        n: {i: float(i in chosen_inputs) for i in INPUT_NAMES}
        for n, chosen_inputs in chosen.items()
    }
    wrong = {n: dict.fromkeys(INPUT_NAMES, 0.0) for n in chosen}
    information = {"influential": chosen, "above_chance": chosen}
    for draws, holds in (([right, right], True), ([wrong, wrong], False), ([right, wrong], None)):
        assert information_claim(information, over_repeats(draws)).holds is holds
    table = load_table(tables / "train_beta.csv")
    by_input = information_over_draws(table, 5)["nu_eff"]["vf"]
    parts = [mutual_information(table.inputs[i : i + 5], table.outputs[i : i + 5]) for i in (0, 5)]
    assert by_input.values == pytest.approx([of_draw[0, 3] for of_draw in parts])
