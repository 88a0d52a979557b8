import csv

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from studies.scoreboard import runs, tables
from studies.scoreboard.__main__ import PAGES, RESULTS
from studies.scoreboard.comparison import Board, between, survive
from studies.scoreboard.problems import is_composite
from studies.scoreboard.registry import BY_NAME, FIELDS
from tests.figures.report.committed import quoted

OUTD = "composite/outd"


def of(board, estimator):
    """The row of an estimator, whose name has these words, in the CSV of all scores."""
    rows = csv.DictReader(tables.all_scores(board).splitlines())
    (row,) = [row for row in rows if estimator in row["estimator"]]
    return row


@pytest.fixture
def current(result):
    """A row of our default as it is now."""
    version = tables.OURS[tables.DATA].version

    def current(problem, split, loglik, **more):
        return result("ours.Default", problem, split, loglik, version=version, **more)

    return current


def late(row):
    """The same row of a fit that took too long."""
    return {name: row[name] for name in row if name != "loglik"} | {"error": "late", "limit": 600}


def test_differences_are_paired_over_the_splits_that_both_have(result, current):
    lead = [0.8, 1.2, 1.0, 1.0]  # splits differ much more than estimators do
    ours = [current(OUTD, i, 2.0 * i) for i in range(5)]
    theirs = [result("smt.Kriging", OUTD, i, 2.0 * i + lead[i]) for i in range(4)]
    board = Board([*ours, *theirs, late(result("smt.Kriging", OUTD, 4, 0.0))])
    row = of(board, "SMT")
    assert (row["loglik_less_ours"], row["ours_is_by_loglik"]) == ("1", "worse")
    half_width = float(row["loglik_less_ours_half_width"])
    low, high = ttest_1samp(lead, 0.0).confidence_interval(0.95)
    assert half_width == pytest.approx((high - low) / 2, rel=1e-4)
    assert (row["ours_is_by_crps"], row["splits"], row["failures"]) == ("tied", "4", "late")
    (first, *_) = csv.DictReader(tables.strongest(board).splitlines())
    assert (first["ours_is"], first["ours_less_it"], first["draws"]) == ("worse", "-1", "4")


@pytest.mark.parametrize(
    ("gains", "word"),
    [([3.0, 4.0], "tied"), ([3.0, 3.1], "more"), ([1.0, 4.0], "tied"), ([-4.0, 3.0], "tied"),
     ([-3.0, -3.1], "less"), ([3.0, 4.0, 3.5, 3.2], "more"), ([1.0], "undecided")],
)  # fmt: skip
def test_verdicts_are_by_student_s_t(gains, word):
    assert between(gains).word == word
    if len(gains) > 1:
        assert (word == "tied") == (ttest_1samp(gains, 0.0).pvalue > 0.05)


def test_errors_and_probabilities():
    assert between([3.0, 5.0]).error == pytest.approx(1.0)
    sample = [1.0, 4.0, 2.5, 3.0]
    assert between(sample).probability == pytest.approx(ttest_1samp(sample, 0.0).pvalue)
    assert [between([d, d]).probability for d in (0.0, 1.0)] == [1.0, 0.0]


def test_holm_stops_at_the_first_probability_above_its_share_of_the_level():
    # 0.05 / 4, / 3, / 2: the third is too large, and so the last one does not count either.
    assert survive([0.03, 0.01, 0.04, 0.016]) == [False, True, False, True]
    assert survive([]) == []
    assert between([]) is None


def published(problem, method, mean, std):
    return {"problem": problem, "published": method, "loglik": [mean, std], "splits": 4}


def test_published_scores_have_the_error_of_two_independent_means(current):
    ours = [current("made/gap", i, number) for i, number in enumerate([1.0, 3.0])]
    board = Board([*ours, published("made/gap", "Ensemble", 7.0, 0.6)])
    gap = board.gap("made/gap", board.rivals("made/gap")[1])
    assert gap.mean == 5.0
    # Var of a mean of two, and of a mean of four
    assert gap.error == pytest.approx(np.sqrt(2.0 / 2 + 0.6**2 / 4))


def test_ranks_are_over_those_with_results_everywhere_by_paired_differences(result, current):
    problems = ["a/gap", "b/gap", "concrete/gap"]
    ours = [current(name, i, 1.0 + i) for name in problems for i in range(2)]
    best = [result("botorch.SingleTask", name, 0, 1.5) for name in problems]
    slow = [result("botorch.Saas", name, 0, 5.0) for name in problems]
    # Neither our other estimators nor published scores are ranked.
    by_input = {"version": BY_NAME["ours.ExactByInput"].version}
    others = [result("ours.ExactByInput", name, 0, 7.0, **by_input) for name in problems]
    others += [published(name, "Ensemble", 7.0, 0.6) for name in problems]
    others.append(result("smt.Kriging", "a/gap", 0, 9.0))
    board = Board([*ours, *best, late(slow[0]), *slow[1:], *others])
    assert board.ranks(problems) == {"ours.Default": 2.0, "botorch.SingleTask": 1.0}


@pytest.mark.slow
def test_guides_show_the_committed_results(tmp_path):
    copies = [tmp_path / page.name for page in PAGES]
    for page, copy in zip(PAGES, copies, strict=True):
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    tables.publish(runs.load(RESULTS).rows, copies)
    for page, copy in zip(PAGES, copies, strict=True):
        assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    for name in tables.FILES:
        committed = PAGES[0].parent / name
        assert (tmp_path / name).read_text(encoding="utf-8") == committed.read_text(
            encoding="utf-8"
        )
    assert (tmp_path / "scoreboard.png").stat().st_size > 10_000


def test_sentences_of_the_guides_quote_the_committed_results():
    board = Board(runs.load(RESULTS).rows)
    default = tables.OURS[tables.DATA]
    by_input = rival_of(BY_NAME["ours.ExactByInput"])  # with the same kernel and noise
    fields = rival_of(tables.OURS[FIELDS])
    for case in ("fresh/ind25", "fresh/outd"):
        more = tables.RVES_OF_A_TEST * (board.mean(case, fields) - board.mean(case, by_input))
        quoted("docs/which_estimator.md", "Use a low-fidelity model", f"{more:.0f}")
    gap, standard = (board.values(f"energy/{kind}", default) for kind in ("gap", "standard"))
    covered = board.values("energy/gap", default, "coverage")
    numbers = [min(gap.values()), min(standard.values())]
    numbers += [min(covered.values()), board.values("airfoil/holdout", default)[0]]
    texts = [tables.digits(number, 2) for number in numbers]
    texts.append(f"{board.values('airfoil/holdout', default, 'rmse')[0]:.3f}")
    for name in ("concrete", "yacht"):
        less = board.gap(f"{name}/gap", rival_of(BY_NAME["ours.FunctionAnchored"]))
        texts.append(f"{-less.mean:.2f} ± {less.half_width:.2f}")
    more = board.gap("fresh/outd", by_input)
    texts.append(tables.shown(more, 0, tables.RVES_OF_A_TEST))
    quoted("docs/benchmarks.md", "| weakness | measured", *texts)
    restarted, warped = (BY_NAME[name] for name in ("scikit_learn.Restarted", "botorch.Warped"))
    for peer, fewest in ((restarted, 2), (warped, 1)):
        splits = [len(board.values(number, peer)) for number in tables.public_pairs(board)]
        assert (sorted(splits)[1], max(splits)) == (fewest, 6)
        assert board.is_late("wine/standard", peer)
    worse = [("fresh/ind25", "botorch.Saas", "rmse"), ("fresh/ind50", "botorch.Saas", "rmse")]
    for problem, name, score in worse:
        assert board.verdict(problem, rival_of(BY_NAME[name]), score) == "worse"
    function = rival_of(BY_NAME["ours.FunctionAnchored"])
    public = [name for name in board.problems if not is_composite(name)]
    gaps = [gap for name in public if (gap := board.gap(name, function))]
    assert [gap.mean < 0 for gap in gaps] == [True] * 9  # "lower on all nine"
    assert [gap.word for gap in gaps].count("less") == 5


def test_how_much_of_the_lead_equal_noise_models_leave():
    with (PAGES[0].parent / "tables" / "benchmarks_noise.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    left = [
        float(row["with_equal_noise_models"]) / float(row["ours_less_it"])
        for row in rows
        if row["its_noise"] == "constant" and not row["estimator"].startswith("laplace")
        if row["problem"].endswith(("standard", " 50 RVEs", "100 RVEs"))
    ]
    quoted("docs/benchmarks.md", "Against Gaussian processes with", f"{100 * max(left):.0f} %")


def rival_of(peer):
    return tables.Rival(peer.name, peer.label, peer.knows, peer)
