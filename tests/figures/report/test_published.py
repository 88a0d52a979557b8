"""The committed metrics of the full runs beside the paper, and what is rendered from them."""

import json

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_regression

from fe_data.dataset.table import load_table
from fe_data.published.import_published import import_tables
from figures.claims import SCATTER, load_published
from figures.composite.problem import FEATURES, NOISE_COV
from figures.pipeline.paths import REFERENCE as FULL
from figures.pipeline.paths import ROOT, drawn, repeats_folder
from figures.pipeline.profiles import REPEATED, load_profile
from figures.report import tables as of_paper
from figures.report.comparison import DIFFERS, REPRODUCED, compare, heading
from figures.report.tables import RUNS, with_blocks
from studies import tables as of_studies
from tests.figures.report.committed import quoted, typed_run

PUBLISHED = load_published()
FINDINGS = "docs/findings.md"
VERDICTS = "docs/verdicts.md"
REFERENCE = ROOT.parent / "shared" / "reference" / "published"


@pytest.mark.parametrize("tables", [of_paper, of_studies])
def test_what_is_committed_is_what_is_rendered(tables):
    """Tables of the guides, and the CSV files that they link."""
    remedy = f"git add figures studies, python -m {tables.__name__} --write"
    runs = {name: typed_run(name) for name in RUNS}
    for path, current in tables.blocks(runs).items():
        text = path.read_text()
        assert with_blocks(text, current) == text, remedy
    for path, text in tables.files(runs).items():
        assert path.read_text(encoding="utf-8") == text, remedy


def test_the_scatter_of_each_number_is_that_of_the_committed_metrics():
    """Tolerances are computed, not typed."""
    runs = {name: typed_run(name) for name in RUNS}
    assert SCATTER.read_text(encoding="utf-8") == of_paper.scatter(runs)


def test_every_number_of_the_paper_has_a_scatter_but_the_rows_of_printed_algorithms():
    for place, item in PUBLISHED.items():
        for name, row in item.rows.items():
            assert (row.scatter is None) == name.startswith("proper."), place
            for numbers in filter(None, (row.printed, row.scatter, row.same_tables)):
                assert len(numbers) == len(item.columns), place


@pytest.mark.parametrize("place", PUBLISHED)
def test_the_full_run_has_every_figure_and_table_with_its_cell_and_files(place):
    run = typed_run("full")
    entry = compare(run)[place]
    assert entry.pictures or entry.rows
    assert entry.outcomes or place == "Fig. 8"  # a drawing
    assert heading(entry.item), f"{entry.item.notebook} has no heading for {place}"
    pictures = run[entry.item.notebook].figures
    assert set(entry.files) <= {*pictures, *(f"{name}.json" for name in run)}


def test_the_committed_runs_are_at_the_size_of_the_paper_and_stamped():
    for run in RUNS:
        for name, metrics in typed_run(run).items():
            assert metrics.paper_size is not False, name
            assert {"commit", "config_sha256", "inputs_sha256"} <= set(metrics.provenance)
            assert metrics.provenance["seed"] == 0, name  # as docs/rebuild.md says
    surrogate = typed_run("full")["04_materials_surrogate"]
    assert surrogate.repeats == load_profile("full").with_repeats().surrogate.repeats
    assert surrogate.n_train == {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}


@pytest.mark.parametrize("place", ["Fig. 10", "Table 2", "Table 3"])
def test_on_the_published_tables_every_number_that_can_be_judged_is_met_but_one(place):
    """As the finding on Table 3 says."""
    rows = compare(typed_run("full-authors"))[place].rows
    verdicts = {f"{name}/{c}": v.verdict for name, row in rows.items() for c, v in row.items()}
    assert REPRODUCED in verdicts.values()
    differ = [name for name, verdict in verdicts.items() if verdict == DIFFERS]
    assert differ == (["published.prior/elppd"] if place == "Table 3" else [])


def test_mutual_information_and_slopes_of_the_published_tables_have_the_printed_digits():
    run = typed_run("full-authors")
    for row in compare(run)["Table 2"].rows.values():
        for check in row.values():
            assert check.ours == pytest.approx(float(check.published), abs=0.006)
    theta = run["04_materials_surrogate"].theta
    assert theta == pytest.approx([0.656, -0.191, 0.933, -0.876, 1.195], abs=6e-4)


def test_the_scatter_of_the_microstructure_is_that_of_both_published_studies():
    """Printed numbers and their errors, and the shares in the finding on Fig. 10."""
    studies = typed_run("full-authors")["03_materials_data"].noise_percent
    ratios = []
    for name, row in PUBLISHED["Fig. 10"].rows.items():
        theirs = studies[name].values()
        assert row.printed == [decimals_of_mean(cell) for cell in theirs]
        assert row.scatter == pytest.approx([cell["std"] for cell in theirs], rel=0.03)
        assumed = 100 * np.array(NOISE_COV)
        ratios += list([cell["mean"] for cell in theirs] / assumed)
    words = f"{min(ratios):.2f} to {max(ratios):.2f} of the assumed"
    quoted(VERDICTS, "The paper assumes a larger noise", words)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not here")
def test_the_outlier_of_the_second_published_study_is_the_rve_that_its_finding_names(tmp_path):
    import_tables(REFERENCE, tmp_path)
    table = load_table(tmp_path / "noise.csv")
    b = table.outputs[:, 0]
    (of_outlier,) = table.group[np.isclose(b, 428, atol=0.5) & (table.inputs[:, 0] < 0.1)]
    *others, outlier = np.sort(b[table.group == of_outlier])
    words = f"b_eff = {outlier:.0f} MPa", f"{min(others):.0f} to {max(others):.0f}"
    quoted(FINDINGS, "One outlier reverses the ranking of the noise models", *words)


def test_the_scatter_of_table_1_is_that_of_one_start_over_those_of_the_full_run():
    item = PUBLISHED["Table 1"]
    table = typed_run("full")["01_prior_study"].table_1["published"]
    for prior, groups in table.items():
        scatter = [groups[column]["std"] / item.unit for column in item.columns]
        assert item.rows[f"published.{prior}"].scatter == pytest.approx(scatter, rel=0.005)
    starts = load_profile("full").with_repeats().prior_study
    assert {len(group["values"]) for group in table["C"].values()} == {starts.starts}
    assert {len(group["values"]) for group in table["D"].values()} == {starts.starts_of_d}


def numbers(value, path=()):
    """Yield every mean in a metrics file with its values and place; values of one training too."""
    if isinstance(value, dict) and {"mean", "values"} <= set(value):
        yield path, value["values"]
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from numbers(entry, (*path, name))


@pytest.mark.parametrize("name", REPEATED)
def test_the_numbers_of_one_training_are_bitwise_the_first_of_the_repeats(name):
    single, repeated = (
        dict(numbers(json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))))
        for folder in (FULL, repeats_folder("full"))
    )
    assert single.keys() == repeated.keys()
    assert {len(values) for values in single.values()} == {1}
    for place, values in repeated.items():
        assert single[place][0] == values[0], place


def decimals_of_mean(cell):
    """A mean with three digits, trailing zeros included."""
    digits = 2 - int(np.floor(np.log10(cell["mean"])))
    return f"{cell['mean']:.{digits}f}"


def test_subsets_by_mutual_information_over_draws_are_those_that_the_finding_counts():
    """The rule that the paper states, on the second training set of every draw."""
    table = load_table(drawn(ROOT / "fe_data" / "datasets") / "train_beta.csv")
    used = np.array([[i in features for features in FEATURES] for i in range(4)])
    positive = []
    for number in range(24):
        cells = table.index // 50 == number
        outputs = table.outputs[cells].T
        information = [
            mutual_info_regression(table.inputs[cells], y, random_state=0) for y in outputs
        ]
        positive.append(np.transpose(information) > 0)
    assert max(int((information == used).all(axis=0).sum()) for information in positive) == 2
    quoted(VERDICTS, "Over 24 datasets the mutual information of b_m", "2 of 5")
