"""The study of strength: its inputs, an interrupted run, and what the page says."""

import json

import numpy as np
import pytest
from scipy import stats

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
    simulate,
)
from studies.strength_scatter.summary import Study


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(Results(RESULTS, KEY).rows)


def test_the_page_has_the_tables_of_the_committed_results(study):
    page = PAGE.read_text(encoding="utf-8")
    for name, table in blocks(study).items():
        assert f"<!-- {name} -->\n{table}\n<!-- end {name} -->" in page


def test_every_rve_reached_its_strength(study):
    assert len(study.rows) == N_TRAINING + N_TEST + sum(MICROSTRUCTURES.values())
    assert all("strength_MPa" in row for row in study.rows)


def test_intervals_and_the_quantile_hold_for_new_rves(study):
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
@pytest.mark.parametrize("n_fibres", [15, 30])
def test_an_rve_of_each_size_has_its_committed_strength(study, n_fibres):
    (case,) = (c for c in cases() if c.key == ("size", n_fibres, 0))
    (committed,) = (row for row in study.rows if tuple(row[name] for name in KEY) == case.key)
    assert case.solve()["strength_MPa"] == pytest.approx(committed["strength_MPa"], rel=1e-3)


def test_a_normal_distribution_of_the_errors_is_not_rejected(study):
    assert study.scores()["normality_p"] > 0.05


@pytest.mark.parametrize("problem", ["training", "test"])
def test_inputs_are_in_their_ranges(problem):
    low, high = np.transpose(list(INPUTS.values()))
    X = inputs_of(problem)
    assert ((low <= X) & (high >= X)).all()


def test_no_two_rves_of_the_sets_share_a_microstructure():
    seeds = [case.seed for case in cases() if case.problem != "size"]
    assert len(set(seeds)) == len(seeds) == N_TRAINING + N_TEST


@pytest.mark.slow
def test_a_run_continues_after_an_interruption_with_the_committed_numbers(tmp_path, study):
    path = tmp_path / "results.jsonl"
    simulate(path, most=1)
    first = path.read_text(encoding="utf-8")
    simulate(path, most=1)
    assert path.read_text(encoding="utf-8").startswith(first)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row, committed in zip(rows, study.rows, strict=False):
        assert row["seed"] == committed["seed"]
        assert row["strength_MPa"] == pytest.approx(committed["strength_MPa"], rel=1e-4)
