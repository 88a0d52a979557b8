import shutil

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from studies.path_surrogates import tables
from studies.path_surrogates.__main__ import PAGE, RESULTS
from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.study import load
from studies.path_surrogates.summary import COVERED, OURS, Summary, joint_half_width
from tests.figures.report.committed import quoted


def test_goals_are_judged_by_the_committed_results():
    summary = Summary(load(RESULTS).rows)
    ours = {n: means(summary, OURS, n, "nmse") for n in (5, 50, 100)}
    rival = {n: means(summary, "gru", n, "nmse") for n in (50, 100, 500)}
    for n in (100, 500):  # trained twice as long, too
        rival[n] = np.minimum(rival[n], means(summary, "gru_long", n, "nmse"))
    assert np.divide(ours[100], rival[100]).max() < 0.25
    error_with_mean_fields = means(summary, "gru_mean_fields", 100, "nmse")
    shares = [f"{share:.2f}" for share in np.divide(ours[100], error_with_mean_fields)]
    quoted("docs/paths.md", "Baselines with equal knowledge", *shares)
    tenth = [np.divide(ours[few], rival[many]).max() for few, many in ((5, 50), (50, 500))]
    assert tenth[0] < tenth[1] < 1.0
    ran_once = {"gru_mean_fields", "prn_chosen"}
    for name in ("gru", "gru_long", "prn", *ran_once):
        sizes = summary.sizes(name)
        assert (sizes == [100]) == (name in ran_once)
        for n in sizes:
            smaller = np.less(means(summary, OURS, n, "nmse"), means(summary, name, n, "nmse"))
            assert smaller.all()
    covered = np.array([means(summary, OURS, n, "coverage") for n in summary.sizes(OURS)])
    met = ((covered >= COVERED[0]) & (covered <= COVERED[1])).all(axis=0)
    assert list(met) == [False, True, False, False]  # 500 random paths cover 98.1 %
    words = [
        f"{100 * columns.min():.1f} to {100 * columns.max():.1f} %"
        for columns in (covered[:, :2], covered[:, 2:])
    ]
    quoted("docs/paths.md", "On cycles and in tension they are too wide", *words)


def means(summary, estimator, n, score):
    """A mean for each set."""
    return [summary.mean(name, estimator, n, score).mean for name in REFERENCES]


@pytest.mark.slow
def test_the_page_shows_the_committed_results(tmp_path):
    copy = tmp_path / PAGE.name
    shutil.copy(PAGE, copy)
    tables.publish(load(RESULTS).rows, copy)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    assert (tmp_path / "paths.png").is_file()
    committed = PAGE.parent / tables.FILE
    assert (tmp_path / tables.FILE).read_text(encoding="utf-8") == committed.read_text(
        encoding="utf-8"
    )


def test_an_error_has_the_variances_of_draws_and_of_the_rves_of_a_set():
    key = {"problem": REFERENCES[0], "estimator": OURS, "n": 5}
    rows = [
        key | {"draw": 0, "nmse": 2.0, "nmse_of_rves": [1.0, 2.0, 3.0]},
        key | {"draw": 1, "nmse": 4.0, "nmse_of_rves": [2.0, 4.0, 6.0]},
    ]
    value = Summary(rows).mean(REFERENCES[0], OURS, 5, "nmse")
    assert value.mean == 3.0
    # draws: s² / D = 2 / 2; RVEs with means 1.5, 3, 4.5: s² / n = 2.25 / 3
    # Satterthwaite's degrees of freedom, of 1 and 2
    freedom = 1.75**2 / (1.0**2 / 1 + 0.75**2 / 2)
    assert value.half_width == pytest.approx(student.ppf(0.975, freedom) * np.sqrt(1.75))


def test_without_scatter_between_rves_the_half_width_is_that_of_a_t_test():
    values = np.array([1.0, 2.0, 4.0, 4.5])
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert joint_half_width([values]) == pytest.approx((high - low) / 2)
    assert joint_half_width([values, np.ones(3)]) == pytest.approx((high - low) / 2)
    assert joint_half_width([np.ones(3)]) == 0.0
