import csv
import re

import numpy as np
import pytest

from bench.scoreboard import runs, tables
from bench.scoreboard.__main__ import PAGES, RESULTS
from bench.scoreboard.comparison import Board, between
from bench.scoreboard.picture import picture, rows_of_panels
from bench.scoreboard.problems import CASES

OUTD = "composite/outd"


def read(text):
    """The rows of a CSV, as dictionaries."""
    return list(csv.DictReader(text.splitlines()))


def of(board, estimator, problem=None):
    """The row of an estimator, whose name has these words, in the CSV of all scores."""
    rows = [row for row in read(tables.all_scores(board)) if estimator in row["estimator"]]
    (row,) = [row for row in rows if problem in (None, row["problem"])]
    return row


@pytest.fixture
def current(result):
    """A row of our default as it is now."""
    version = tables.OURS[tables.CELLS].version

    def current(problem, split, loglik, **more):
        return result("ours.Default", problem, split, loglik, version=version, **more)

    return current


def test_differences_are_paired_over_the_splits_that_both_have(result, current):
    lead = [0.8, 1.2, 1.0, 1.0]  # splits differ much more than estimators do
    ours = [current(OUTD, i, 2.0 * i) for i in range(5)]
    theirs = [result("smt.Kriging", OUTD, i, 2.0 * i + lead[i]) for i in range(4)]
    failed = {**result("smt.Kriging", OUTD, 4, 0.0), "error": "singular"}
    del failed["loglik"]
    board = Board([*ours, *theirs, failed])
    table = tables.score_table(board)
    assert "| the training RVEs | SMT, KRG (1 failed) | – | 200 ± 132 | 0.50 ± 0.00 |" in table
    row = of(board, "SMT")
    assert (row["loglik_less_ours"], row["ours_is_by_loglik"]) == ("1", "worse")
    assert float(row["loglik_less_ours_2se"]) == pytest.approx(
        2 * np.std(lead, ddof=1) / 2, rel=1e-4
    )
    assert (row["ours_is_by_crps"], row["ours_is_by_rmse"]) == ("tied", "tied")
    assert (row["splits"], row["failures"]) == ("4", "singular")
    first = read(tables.strongest(board))[0]
    assert first["strongest_of_the_others"] == "SMT, KRG"
    assert (first["ours_is"], first["ours_less_it"], first["draws"]) == ("worse", "-1", "4")
    row = "1.00 ± 0.16 | 0.000 ± 0.000 | 0.000 ± 0.000 | 0.00 ± 0.00 | worse / tied / tied"
    assert row in tables.differences(board)
    assert "| SMT, KRG | 0 | 0 | 1 | 0 | 0 |" in tables.standing(board)
    assert "| libraries, on the composite | 0 | 2 | 1 | 0 |" in tables.kinds(board)


def test_verdicts_are_by_two_standard_errors():
    words = ["more", "tied", "tied", "less", "undecided"]
    gains = ([3.0, 4.0], [1.0, 4.0], [-4.0, 3.0], [-3.0, -4.0], [1.0])
    assert [between(each).word for each in gains] == words
    assert between([3.0, 5.0]).error == pytest.approx(1.0)
    assert between([]) is None


def test_less_crps_and_rmse_are_better(result, current):
    ours = [current(OUTD, i, 1.0, crps=0.2, rmse=0.7) for i in range(2)]
    theirs = [result("smt.Kriging", OUTD, i, 1.0) for i in range(2)]
    row = of(Board([*ours, *theirs]), "SMT")
    words = [row[f"ours_is_by_{score}"] for score in ("loglik", "crps", "rmse")]
    assert words == ["tied", "better", "worse"]


def test_results_of_an_older_version_count_until_it_has_run_again(result, current):
    old = [result("ours.Default", OUTD, i, 1.0) for i in range(3)]
    assert of(Board(old), "default settings")["older_version"] == "yes"
    board = Board([*old, current(OUTD, 0, 5.0)])
    assert board.values(OUTD, tables.OURS[tables.CELLS]) == {0: 5.0}
    assert of(board, "default settings")["older_version"] == ""


def test_no_verdict_rests_on_results_of_an_older_version(result, current):
    """Neither of a rival, which is then not the strongest, nor of ours."""
    ours = [current(OUTD, i, 2.0) for i in range(4)]
    former = [result("smt.Kriging", OUTD, i, 9.0 + 0.1 * i, version=0) for i in range(4)]
    theirs = [result("botorch.Saas", OUTD, i, 1.0 + 0.1 * i) for i in range(4)]
    board = Board([*ours, *former, *theirs])
    assert of(board, "SMT")["ours_is_by_loglik"] == ""
    found = {row["strongest_of_the_others"] for row in read(tables.strongest(board))}
    assert found == {"BoTorch, SAAS by NUTS"}
    assert "SMT, KRG (older version)" in tables.score_table(board)
    old = Board([*(row | {"version": 0} for row in ours), *theirs])
    assert of(old, "SAAS")["ours_is_by_loglik"] == ""
    assert read(tables.strongest(old)) == []


def test_fresh_draws_take_the_place_of_the_shipped_ones_once_ours_has_all(result, current):
    shipped = [current(OUTD, i, 1.0) for i in range(2)]
    fresh = [current(f"fresh/{case}", i, 3.0) for case in CASES for i in range(2)]
    theirs = [result("smt.Kriging", "fresh/outd", i, 2.0) for i in range(2)]
    assert Board([*shipped, *fresh[:-2], *theirs]).cells == "composite"
    board = Board([*shipped, *fresh, *theirs])
    assert board.cells == "fresh"
    assert "default settings | 150 ± 0 | 150 ± 0 |" in tables.score_table(board)
    assert "| SMT, KRG | 1 | 0 | 0 | 0 | 0 |" in tables.standing(board)
    problems = [row["problem"] for row in read(tables.all_scores(board))]
    assert len(problems) == len(CASES) + 1
    assert all(problem.startswith("composite, ") for problem in problems)


def test_the_table_to_decide_by_has_the_strongest_first_and_ours_with_further_data(result, current):
    """The CSV has everything."""
    ours = [current(f"composite/{case}", i, 1.0) for case in ("ind50", "outd") for i in range(2)]
    best = [result("smt.Kriging", "composite/ind50", i, 2.0, coverage=0.9) for i in range(2)]
    told = [result(f"{each}", "composite/outd", 0, 1.0) for each in REPLICATED]
    early = [result("botorch.Saas", "composite/ind25", 0, 3.0)]
    board = Board([*ours, *best, *told, *early])
    table = tables.score_table(board)
    order = ["SMT", "default settings", "| and replicates | bnn"]
    assert [table.index(text) for text in order] == sorted(table.index(text) for text in order)
    assert "SAAS" not in table
    assert "hetGP" not in table
    assert of(board, "SAAS")["loglik"] == "3"
    assert of(board, "hetGP")["given"] == "and replicates"


REPLICATED = ("ours.ExactReplicates", "hetgpy.WithReplicates")


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_a_cell_of_a_guide_holds_one_number(page):
    """With its error; a line of numbers between slashes cannot be read on a phone."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert [row for row in rows if re.search(r"\d\)? / ", row)] == []


def published(problem, method, mean, std):
    return {"problem": problem, "published": method, "loglik": [mean, std], "splits": 4}


def test_published_scores_are_rows_of_the_same_tables(current):
    numbers = [1.0, 3.0]
    ours = [current("made/gap", i, number) for i, number in enumerate(numbers)]
    board = Board([*ours, published("made/gap", "Ensemble", 7.0, 0.6)])
    gap = board.gap("made/gap", board.rivals("made/gap")[1])
    assert gap.mean == 5.0
    # Var of a mean of two, and of a mean of four
    assert gap.error == pytest.approx(np.sqrt(2.0 / 2 + 0.6**2 / 4))
    assert "| Ensemble (published) | 0 | 0 | 1 | 0 | 0 | 1.0 | – |" in tables.standing(board)
    row = of(board, "Ensemble")
    assert (row["loglik"], row["loglik_2se"], row["crps"], row["splits"]) == ("7", "", "", "")
    assert float(row["loglik_less_ours_2se"]) == pytest.approx(2 * gap.error, rel=1e-4)


def test_ranks_are_over_those_with_results_everywhere_by_paired_differences(result, current):
    problems = ["a/gap", "b/gap", "concrete/gap"]
    ours = [current(name, i, 1.0 + i) for name in problems for i in range(2)]
    best = [result("botorch.SingleTask", name, 0, 1.5) for name in problems]
    late = {**result("botorch.Saas", "a/gap", 0, 0.0), "error": "more than 600 s", "limit": 600}
    del late["loglik"]
    slow = [late, *(result("botorch.Saas", name, 0, 5.0) for name in problems[1:])]
    board = Board([*ours, *best, *slow, result("smt.Kriging", "a/gap", 0, 9.0)])
    assert board.ranks(problems) == {"ours.Default": 2.0, "botorch.SingleTask": 1.0}
    text = tables.standing(board)
    assert "| BoTorch, SingleTaskGP | 0 | 0 | 0 | 3 | 0 | 1.0 |" in text
    assert "| BoTorch, SAAS by NUTS | 0 | 0 | 0 | 2 | 1 | – |" in text


def test_kinds_of_problems_say_what_the_default_has_seen(result, current):
    problems = ["yacht/gap", "energy/gap", "wine/standard", "energy/standard"]
    ours = [current(name, i, 1.0) for name in problems for i in range(2)]
    theirs = [result("pytorch.DeepEnsemble", name, i, -i) for name in problems for i in range(2)]
    board = Board([*ours, *theirs])
    text = tables.kinds(board)
    assert "| libraries, on public sets used during development | 3 | 6 | 0 | 0 |" in text
    assert "| libraries, on public sets not used before | 1 | 2 | 0 | 0 |" in text
    marks = {row["problem"]: row["marked"] for row in read(tables.all_scores(board))}
    assert marks == {
        "energy, gap": "†",
        "yacht, gap": "*",
        "energy, standard": "",
        "wine, standard": "‡",
    }


def test_a_lead_is_the_sum_of_equal_noise_models_and_the_noise_model(result, current):
    ours = [current(OUTD, i, 4.0 + i) for i in range(3)]
    equal = [result("ours.ExactConstant", OUTD, i, 1.5 + i, version=2) for i in range(3)]
    theirs = [result("smt.Kriging", OUTD, i, 1.0 + i) for i in range(3)]
    (row,) = read(tables.noise_table(Board([*ours, *equal, *theirs])))
    parts = ("ours_less_it", "with_equal_noise_models", "of_noise_and_families_found")
    assert [row[part] for part in parts] == ["3", "0.5", "2.5"]
    assert (row["its_noise"], row["splits"]) == ("constant", "3")


def test_the_picture_shows_every_difference(result, current):
    problems = ["a/gap", "b/gap", "a/standard", OUTD]
    ours = [current(name, i, 1.0) for name in problems for i in range(3)]
    theirs = [result("botorch.SingleTask", name, i, 0.5) for name in problems for i in range(3)]
    far = [result("pytorch.DeepEnsemble", "a/gap", i, -900.0) for i in range(3)]
    slow = {**result("botorch.Saas", "a/gap", 0, 0.0), "error": "more than 600 s", "limit": 600}
    del slow["loglik"]
    board = Board([*ours, *theirs, *far, slow, published("a/standard", "Ensemble", 7.0, 0.6)])
    assert rows_of_panels(board) == [["a/gap", "b/gap"], ["a/standard"], [OUTD]]
    figure = picture(board)
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == [tables.title(name) for name in problems]
    points = {line.get_xdata()[0] for line in shown[0].lines if len(line.get_xdata()) == 1}
    assert points == {-0.5, -30.0}  # and an arrow at the end of the axis
    assert {"too slow"} == {text.get_text() for text in shown[0].texts}
    assert {"not run"} == {text.get_text() for text in shown[1].texts}
    labels = [text.get_text() for text in shown[2].get_yticklabels()]
    assert labels == ["BoTorch, SingleTaskGP", "Ensemble (published)"]


def test_a_page_without_results_says_so(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- scoreboard -->\n<!-- end scoreboard -->\n", encoding="utf-8")
    tables.publish([], [page])
    assert "Nothing has been run." in page.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [page]


def test_guides_show_the_committed_results(tmp_path):
    copies = [tmp_path / page.name for page in PAGES]
    for page, copy in zip(PAGES, copies, strict=True):
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    tables.publish(runs.load(RESULTS).rows, copies)
    for page, copy in zip(PAGES, copies, strict=True):
        assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    for name in tables.FILES:
        kept = PAGES[0].parent / name
        assert (tmp_path / name).read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")
    assert (tmp_path / "scoreboard.png").stat().st_size > 10_000


def test_names_and_errors_of_others_are_shown_as_they_are(result, current, tmp_path):
    """They neither end a cell or a table, nor become marks or formulas."""
    strange = "a|b\n<!-- end scoreboard --><b>*c*</b> $x_$ [d](e) `f`"
    said = {"problem": "x|y/gap", "published": strange, "source": "a paper", "splits": 2}
    failed = {**result("smt.Kriging", "x|y/gap", 1, 0.0), "error": strange}
    del failed["loglik"]
    ours = [current("x|y/gap", i, float(i)) for i in range(2)]
    board = Board([*ours, failed, said | {"loglik": [0.5, 0.1]}])
    page = "\n\n".join(of(board) for of in (*tables.BLOCKS.values(), tables.differences))
    for part in page.split("\n\n"):
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert len({len(re.split(r"(?<!\\)\|", row)) for row in rows}) <= 1
    assert r"a\|b \<!-- end scoreboard --\>\<b\>\*c\*\</b\> \$x\_\$ \[d\](e) \`f\`" in page
    assert "<" not in page.replace(r"\<", "")
    assert of(board, "a|b")["loglik"] == "0.5"
    assert of(board, "SMT")["failures"] == " ".join(strange.split())
    picture(board).savefig(tmp_path / "strange.svg")
