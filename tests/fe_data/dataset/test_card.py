"""The card of the shipped tables says how inputs fill their ranges, and how cells scatter."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fe_data.dataset.design import BETA_SHAPES, NAMED_DESIGNS
from fe_data.dataset.table import load_table
from fe_data.schema import INPUT_BOUNDS, INPUTS, OUTPUTS, required_outputs
from fe_data.statistics.replicates import load_statistics

SHIPPED = Path(__file__).parents[3] / "fe_data" / "datasets"
CARD = SHIPPED / "CARD.md"
REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
PUBLISHED = {  # strata, range of vf and share outside, of the published tables
    "test_uniform": "33, 33, 34, 27 of 50 | 0.078–0.399 | ",
    "train_uniform": "60, 61, 61, 66 of 100 | 0.056–0.396 | 6 %",
    "train_beta": "32, 29, 32, 35 of 50 | 0.081–0.298 | 40 %",
    "replicates": "10, 10, 10, 10 of 10 | 0.084–0.368 | ",
    "noise": "– | – | ",
    "truth": "– | – | ",
}


def strata_occupied(inputs, inputs_of_design):
    """Number of equally probable strata of each input that hold a point, (4,)."""
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    unit = (inputs - low) / (high - low)
    if inputs_of_design == "beta":
        unit = stats.beta.cdf(unit, *np.transpose(BETA_SHAPES))
    return [len(set(np.floor(column * len(inputs)))) for column in unit.T]


def row(path, test_path, design):
    """Strata, range of vf and share of test cells outside, in the form of the card."""
    table = load_table(path)
    vf = load_table(test_path).inputs[:, 0]
    inputs = table.inputs[np.unique(table.group, return_index=True)[1]]
    low = inputs[:, 0].min()
    high = inputs[:, 0].max()
    strata = ", ".join(map(str, strata_occupied(inputs, NAMED_DESIGNS[design].inputs)))
    outside = f"{np.mean((vf < low) | (vf > high)):.0%}".replace("%", " %")
    judged = outside if design.startswith("train") else ""
    return f"{strata} of {len(inputs)} | {low:.3f}–{high:.3f} | {judged}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_card_says_how_inputs_fill_their_ranges(name):
    shipped = row(SHIPPED / f"{name}.csv", SHIPPED / "test_uniform.csv", name)
    line = f"| `{name}` | {shipped} | {PUBLISHED[name]} |".replace("|  |", "| |")
    assert line in CARD.read_text().splitlines()


def test_the_card_says_how_cells_scatter_and_how_well_the_truth_is_known():
    """Smallest, median and largest deviation of cells, median and largest error of means."""
    found = load_statistics(SHIPPED / "truth.csv")
    lines = CARD.read_text().splitlines()
    for name, std, error in zip(
        required_outputs(), found.std.T, found.standard_error.T, strict=True
    ):
        deviations = f"{min(std):.2g}, {np.median(std):.2g}, {max(std):.2g}"
        errors = f"{np.median(error):.2g}, {max(error):.2g}"
        assert f"| `{name}` | {deviations} | {errors} |" in lines


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not here")
@pytest.mark.parametrize("name", ["test_uniform", "train_uniform", "train_beta", "replicates"])
def test_numbers_of_the_published_tables(name):
    path = REFERENCE / ("replicates_10.csv" if name == "replicates" else f"{name}.csv")
    assert row(path, REFERENCE / "test_uniform.csv", name) == PUBLISHED[name]


@pytest.mark.parametrize("quantity", [*INPUTS, *(output for output in OUTPUTS if output.required)])
def test_the_card_lists_the_columns_of_the_schema(quantity):
    ends = ""
    if quantity in INPUTS:
        low, high = quantity.bounds
        ends = f"{low:g}–{high:g} "
    line = f"| `{quantity.name}` | {quantity.unit} | {ends}| {quantity.meaning} |"
    assert line in CARD.read_text(encoding="utf-8").splitlines()
