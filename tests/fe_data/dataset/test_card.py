"""The card says how inputs fill their ranges, and how cells scatter: run this to write it."""

import argparse
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fe_data.dataset.design import BETA_SHAPES, NAMED_DESIGNS
from fe_data.dataset.table import load_table
from fe_data.schema import INPUT_BOUNDS, required_outputs
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


def inputs():
    """Table of how the inputs fill their ranges."""
    lines = [
        "| | shipped: strata of `vf`, `E_f`, `b_m`, `c_m` | range of `vf` | `vf` outside "
        "| published: strata | range of `vf` | `vf` outside |",
        "|---" * 7 + "|",
    ]
    for name, published in PUBLISHED.items():
        shipped = row(SHIPPED / f"{name}.csv", SHIPPED / "test_uniform.csv", name)
        lines.append(f"| `{name}` | {shipped} | {published} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def scatter():
    """Table of how the cells of the truth scatter, and of how well it is known."""
    found = load_statistics(SHIPPED / "truth.csv")
    lines = [
        "| | standard deviation of cells: smallest, median, largest | standard error of means: "
        "median, largest |",
        "|---" * 3 + "|",
    ]
    for name, std, error in zip(
        required_outputs(), found.std.T, found.standard_error.T, strict=True
    ):
        numbers = (min(std), np.median(std), max(std)), (np.median(error), max(error))
        shown = (", ".join(f"{value:.2g}" for value in each) for each in numbers)
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


BLOCKS = {"inputs": inputs, "scatter": scatter}


def written(text):
    """The text of the card with its tables made again."""
    for name, table in BLOCKS.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end {name} -->")
        assert start
        assert end
        text = before + start + table() + end + after
    return text


def test_card_describes_the_shipped_tables():
    text = CARD.read_text()
    assert written(text) == text, "python -m tests.fe_data.dataset.test_card"


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not here")
@pytest.mark.parametrize("name", ["test_uniform", "train_uniform", "train_beta", "replicates"])
def test_numbers_of_the_published_tables(name):
    path = REFERENCE / ("replicates_10.csv" if name == "replicates" else f"{name}.csv")
    assert row(path, REFERENCE / "test_uniform.csv", name) == PUBLISHED[name]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    CARD.write_text(written(CARD.read_text()))
