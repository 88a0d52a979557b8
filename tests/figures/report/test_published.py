"""The committed metrics of the full run beside the paper."""

import dataclasses
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_regression

from fe_data.dataset.table import load_table
from figures.claims import load_published
from figures.materials.problem import FEATURES, NOISE_COV
from figures.pipeline.paths import ROOT, drawn
from figures.report.comparison import (
    DIFFERS,
    OPEN,
    PARTLY,
    REPRODUCED,
    Metrics,
    compare,
    heading,
)
from figures.report.findings import contradicted
from figures.report.summary import RUNS, blocks, with_blocks
from figures.report.words import filled
from tests.figures.report.committed import committed_files, committed_run

README = ROOT / "README.md"
PUBLISHED = load_published()
NUMERIC = ("Table 1", "Fig. 10", "Table 2", "Table 3", "Table 4")


def load_run(name):
    return committed_run(name, ROOT)


def typed_run(name):
    return {name: Metrics.model_validate(content) for name, content in load_run(name).items()}


@pytest.fixture(scope="module")
def ours():
    return {entry.item.place: entry for entry in compare(typed_run("full"))}


@pytest.fixture(scope="module")
def on_published_tables():
    return {entry.item.place: entry for entry in compare(typed_run("full-authors"))}


def test_the_paper_has_fourteen_figures_and_four_tables():
    assert sorted(PUBLISHED) == sorted(
        [f"Fig. {n}" for n in range(1, 15)] + [f"Table {n}" for n in range(1, 5)]
    )


def test_every_scatter_is_argued_for():
    assert tuple(place for place, item in PUBLISHED.items() if item.rows) == NUMERIC
    lines = (ROOT / "figures" / "published.yaml").read_text().splitlines()
    numbers = [i for i, line in enumerate(lines) if line.startswith("  ours:")]
    assert len(numbers) == len(NUMERIC)
    assert all(lines[i - 1].startswith("  #") for i in numbers)


def test_every_printed_number_has_a_scatter_but_those_beside_adam_proper():
    for place, item in PUBLISHED.items():
        for name, row in item.rows.items():
            assert len(row.printed) == len(item.columns), place
            assert (row.scatter is None) == name.startswith("proper."), place
            for scatters in filter(None, (row.scatter, row.same_tables)):
                assert len(scatters) == len(item.columns), place


@pytest.mark.parametrize("place", PUBLISHED)
def test_the_full_run_has_every_figure_and_table(ours, place):
    entry = ours[place]
    assert entry.pictures or entry.checks
    assert entry.verdicts or entry.item.note, f"{place} is neither checked nor said to be a drawing"


@pytest.mark.parametrize("place", PUBLISHED)
def test_what_differs_has_its_reason_and_what_is_met_has_none(ours, on_published_tables, place):
    entries = ours[place], on_published_tables[place]
    if {DIFFERS, PARTLY} & {entry.verdict for entry in entries}:
        assert PUBLISHED[place].reason
    elif not any(OPEN in entry.verdicts for entry in entries):
        assert not PUBLISHED[place].reason


def reason_of(place):
    return " ".join((PUBLISHED[place].reason + PUBLISHED[place].note).split())


def test_what_differs_in_table_3_is_met_on_the_published_tables(on_published_tables):
    assert "on the published tables meet every number" in reason_of("Table 3")
    verdicts = {check.verdict for check in on_published_tables["Table 3"].checks}
    assert REPRODUCED in verdicts
    assert not {DIFFERS, OPEN} & verdicts


def test_subsets_by_mutual_information_over_draws_are_those_that_the_reason_counts():
    """The rule that the paper states, on the second training set of every draw."""
    table = load_table(drawn(ROOT / "fe_data" / "datasets") / "train_beta.csv")
    used = np.array([[i in features for features in FEATURES] for i in range(4)])
    positive = []
    for number in range(24):
        cells = table.index // 50 == number
        outputs = table.outputs[cells].T
        found = [mutual_info_regression(table.inputs[cells], y, random_state=0) for y in outputs]
        positive.append(np.transpose(found) > 0)
    subsets = [int((found == used).all(axis=0).sum()) for found in positive]
    assert len(table) == 24 * 50
    assert max(subsets) == 2
    shares = [np.mean([found[where] for found in positive]) for where in (used, ~used)]
    words = "{:.0%} of the inputs in the subsets and for {:.0%} of the others".format(*shares)
    assert words.replace("%", " %") in reason_of("Table 2")


def test_published_scatter_is_that_of_the_published_replicates():
    theirs = load_run("full-authors")["03_materials_data"]["noise_percent"]["replicates"].values()
    for row in PUBLISHED["Fig. 10"].rows.values():
        assert row.printed == [f"{cell['mean']:.3g}" for cell in theirs]
    assumed = 100 * np.array(NOISE_COV)
    assert "{:g}, {:g}, {:g}, {:g} and {:g} %".format(*assumed) in reason_of("Fig. 10")
    ratios = [cell["mean"] for cell in theirs] / assumed
    assert f"{min(ratios):.2f} to {max(ratios):.2f} of what is assumed" in reason_of("Fig. 10")


def test_scatter_of_the_scatter_is_the_error_of_the_published_one():
    theirs = load_run("full-authors")["03_materials_data"]["noise_percent"]["replicates"].values()
    errors = np.array([cell["std"] for cell in theirs])
    for row, part in zip(PUBLISHED["Fig. 10"].rows.values(), (1.0, np.sqrt(3 / 4)), strict=True):
        assert row.scatter == pytest.approx(part * errors, rel=0.02)


def test_the_full_run_is_at_the_size_of_the_paper():
    for name, metrics in load_run("full").items():
        if "paper_size" in metrics:
            assert metrics["paper_size"], name
    surrogate = load_run("full")["04_materials_surrogate"]
    assert surrogate["repeats"] >= 20
    assert surrogate["n_train"] == {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}
    assert surrogate["n_test"] == 50


def test_all_metrics_come_from_one_seed_and_are_stamped():
    for run in RUNS:
        for metrics in load_run(run).values():
            assert {"commit", "config_sha256", "inputs_sha256"} <= set(metrics["provenance"])


@pytest.mark.parametrize("method", ["anchored", "vanilla"])
@pytest.mark.parametrize("score", ["rmse", "miscalibration"])
def test_out_of_distribution_rows_are_met_on_the_published_tables(
    on_published_tables, method, score
):
    check = on_published_tables["Table 3"].rows[f"OutD (N = 50), {method}"][score]
    assert check.deviation is not None
    assert check.verdict == REPRODUCED


def test_mutual_information_of_the_published_table_has_the_printed_digits(on_published_tables):
    checks = on_published_tables["Table 2"].checks
    assert len(checks) == 20
    for check in checks:
        assert check.ours == pytest.approx(float(check.published), abs=0.006)


def test_the_slopes_of_the_prior_mean_are_the_published_ones():
    theta = load_run("full-authors")["04_materials_surrogate"]["theta"]
    assert theta == pytest.approx([0.656, -0.191, 0.933, -0.876, 1.195], abs=6e-4)


def test_improvements_are_those_of_the_rows():
    metrics = load_run("full")["04_materials_surrogate"]
    rows = metrics["rows"][metrics["training"]]
    for score, by_output in metrics["improvement"].items():
        for name, gain in by_output.items():
            vanilla, anchored = (
                rows[f"outd_{m}"]["by_output"][score][name]["values"]
                for m in ("vanilla", "anchored")
            )
            expected = [1 - a / v for a, v in zip(anchored, vanilla, strict=True)]
            assert gain["values"] == pytest.approx(expected)


def test_every_figure_and_table_of_the_map_has_its_cell_and_file(ours):
    for place, entry in ours.items():
        item = entry.item
        assert heading(item), f"{item.notebook} has no heading for {place}"
        run = load_run("full")
        figures = run[item.notebook]["figures"]
        metrics = {f"{name}.json" for name in run}
        assert set(entry.files) <= {*figures, *metrics}


def test_what_is_committed_is_what_is_rendered():
    """README and guides; `make article` reads the same records when it is set."""
    runs = {name: typed_run(name) for name in RUNS}
    for path, current in blocks(runs).items():
        text = path.read_text()
        assert with_blocks(text, current) == text, (
            "git add figures, python -m figures.report.summary --write"
        )


@pytest.mark.parametrize("name", RUNS)
def test_notes_and_reasons_rest_on_claims_that_there_are(name):
    run = typed_run(name)
    for entry in compare(run):
        if entry.metrics.title:
            text = filled(entry.item.note + entry.item.reason, run=run, entry=entry)
            assert not re.search(r"[{}]|nan|±\s*\.", text), text
            if entry.item.reason and {DIFFERS, OPEN} & set(entry.verdicts):
                assert not contradicted(entry.item.rests_on, entry.claims), entry.item.place


def test_a_reason_that_a_claim_contradicts_is_named(ours):
    claims = [dataclasses.replace(each, holds=None) for each in ours["Fig. 4"].claims]
    (words,) = contradicted(PUBLISHED["Fig. 4"].rests_on, claims)
    assert words.startswith("claim closest/C is open (")


def test_readme_names_files_and_targets_that_exist():
    text = README.read_text()
    for name in re.findall(r"\]\(((?:figures|fe_data|bnn|notebooks)[^)#]*)\)", text):
        assert (ROOT / name).is_file(), name
        assert (ROOT / name).stat().st_size
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z]+)", text):
        assert re.search(rf"^([a-z ]* )?{target}( [a-z ]*)?:", makefile, re.MULTILINE), target


def test_every_picture_of_the_full_run_is_committed_in_seven_megabytes():
    named = {name for metrics in load_run("full").values() for name in metrics["figures"]}
    paths = committed_files("full", ROOT, ".svg", ".png")
    assert {path.name for path in paths} == named
    sizes = {path.name: path.stat().st_size for path in paths}
    assert sum(sizes.values()) < 7e6
    assert sum(size for name, size in sizes.items() if not name.startswith("knowledge")) < 6e6
    shown = re.findall(r"!\[[^\]]+\]\(figures/([^)]+)\)", README.read_text())
    assert shown
    assert {f"full/{name}" for name in named} >= set(shown)


@pytest.mark.parametrize("repository", [True, False])
def test_a_run_that_came_after_the_commit_changes_no_comparison(tmp_path, repository):
    """Without a repository the files are all there is."""
    if repository and not shutil.which("git"):
        pytest.skip("no git here")
    path = tmp_path / "figures" / "full" / "n.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"wall_time_s": 1}))
    if repository:
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
    path.write_text(json.dumps({"wall_time_s": 2}))
    assert committed_run("full", tmp_path) == {"n": {"wall_time_s": 1 if repository else 2}}
