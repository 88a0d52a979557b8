"""Numbers and claims of the one-dimensional example."""

import dataclasses

import numpy as np
import pytest

from figures.example_1d import ensembles as example_1d
from figures.example_1d.metrics import claims, row, rows


def test_exact_posterior_has_no_distance_from_itself():
    exact = example_1d.exact_posterior(1.0)
    numbers = row("anchored 1", {"anchored 1": exact, "exact 1": exact}).to_exact
    assert max(numbers.values()) == pytest.approx(0, abs=1e-5)


def test_exact_posterior_of_the_constrained_prior_misses_the_data():
    """The residual of a Gaussian process at its data, σ² (K + σ² I)⁻¹ (y − m)."""
    X, y = example_1d.load_data()
    K = np.exp(-0.5 * (X - X.T) ** 2)
    residual = 0.01 * np.linalg.solve(K + 0.01 * np.eye(30), y - 2 * X[:, 0])
    found = row("exact 1", {"exact 1": example_1d.exact_posterior(1.0)}).rmse
    assert found == pytest.approx(np.sqrt(np.mean(residual**2)), abs=1e-5)


@pytest.mark.parametrize("shift", [0.1, 0.3])
def test_the_method_nearer_to_the_exact_posterior_conveys_the_prior_better(repeats, shift):
    """Correlated ensembles lie 0.2 off the exact posterior in mean and twice as wide."""

    def moved(scale, by, stretch):
        exact = example_1d.exact_posterior(scale)
        return dataclasses.replace(
            exact, mean=exact.mean + by, covariance=exact.covariance * stretch**2
        )

    found = dict(repeats[0])
    for scale in example_1d.LENGTHSCALES:
        found[f"anchored {scale:g}"] = moved(scale, 0.2, 2.0)
        found[f"factorised {scale:g}"] = moved(scale, -shift, 1.0 + 5 * shift)
    answers = [c for c in claims(rows([found])) if c.id.startswith("factorised/conveys")]
    assert len(answers) == 4
    assert {c.holds for c in answers} == {shift > 0.2}


def test_the_paper_makes_six_claims_about_the_factorised_prior(repeats):
    """Of the prior as printed; what the published anchors do and what is exact are ours."""
    of_paper = [each for each in claims(rows(repeats)) if each.about == "Fig. 7" and each.of_paper]
    assert len(of_paper) == 6
    assert all(each.id.startswith("factorised/") for each in of_paper)
