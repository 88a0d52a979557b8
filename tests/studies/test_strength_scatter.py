"""The study of strength: its inputs, and what the page says."""

import numpy as np
import pytest
from scipy import stats

from bnn import HeteroscedasticNoise
from studies.results import Results
from studies.strength_scatter.__main__ import PAGE, RESULTS, blocks
from studies.strength_scatter.simulation import (
    INPUTS,
    KEY,
    MICROSTRUCTURES,
    N_TEST,
    N_TRAINING,
    cases,
    inputs_of,
)
from studies.strength_scatter.summary import Study


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(Results(RESULTS, KEY).rows)


@pytest.mark.slow
def test_the_page_has_the_tables_of_the_committed_results(study):
    page = PAGE.read_text(encoding="utf-8")
    for name, table in blocks(study).items():
        assert f"<!-- {name} -->\n{table}\n<!-- end {name} -->" in page


def test_every_rve_reached_its_strength(study):
    assert len(study.rows) == N_TRAINING + N_TEST + sum(MICROSTRUCTURES.values())
    assert all("strength_MPa" in row for row in study.rows)


@pytest.mark.slow
def test_intervals_and_the_quantile_hold_for_new_rves(study):
    assert isinstance(study.model.noise_, HeteroscedasticNoise)
    scores = study.scores()
    for level in (0.5, 0.9, 0.95):  # binomial, three standard errors
        error = 3 * np.sqrt(level * (1 - level) / N_TEST)
        assert scores[f"coverage_{level:g}"] == pytest.approx(level, abs=error)
    assert scores["below_quantile"] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / N_TEST)
    low, high = stats.binom.ppf([0.05, 0.95], N_TEST, 0.1)
    outside = N_TEST * (1 - scores["coverage_0.9"])
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{low:.0f} to {high:.0f} of {N_TEST} RVEs are outside intervals of 90 %" in page
    assert f"; here {outside:.0f} are." in page


def test_larger_rves_are_weaker_and_do_not_scatter_less(study):
    small, large = study.by_size()[15], study.by_size()[60]
    assert stats.ttest_ind(small, large, equal_var=False).pvalue < 0.05
    assert large.mean() < small.mean()
    assert large.std(ddof=1) > small.std(ddof=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "rel"),
    [(("size", 15, 0), 1e-3), (("size", 30, 0), 1e-3), (next(cases()).key, 1e-4)],
)
def test_an_rve_of_a_set_and_of_each_size_has_its_committed_strength(study, key, rel):
    (case,) = (c for c in cases() if c.key == key)
    (committed,) = (row for row in study.rows if tuple(row[name] for name in KEY) == key)
    assert case.solve()["strength_MPa"] == pytest.approx(committed["strength_MPa"], rel=rel)


@pytest.mark.slow
def test_a_normal_distribution_of_the_errors_is_not_rejected(study):
    assert study.scores()["normality_p"] > 0.05
    assert f"(p = {study.scores()['normality_p']:.3f})" in PAGE.read_text(encoding="utf-8")
    strongest = np.argsort(study.standardised)[-2:]
    others = np.delete(study.standardised, strongest)
    assert study.standardised[strongest].min() > 3
    assert stats.shapiro(others).pvalue > 0.05


@pytest.mark.parametrize("problem", ["training", "test"])
def test_inputs_are_in_their_ranges(problem):
    low, high = np.transpose(list(INPUTS.values()))
    X = inputs_of(problem)
    assert ((low <= X) & (high >= X)).all()


def test_no_two_rves_of_the_sets_share_a_microstructure():
    seeds = [case.seed for case in cases() if case.problem != "size"]
    assert len(set(seeds)) == len(seeds) == N_TRAINING + N_TEST
