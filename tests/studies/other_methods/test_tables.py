"""Committed tables of notebook 05 have the measures that its code has."""

import json

import pytest

from figures.pipeline.paths import results_folder
from studies.other_methods.tables import HEADINGS


@pytest.mark.parametrize("run", ["full", "full-authors"])
def test_distances_from_the_exact_posterior_are_those_of_means(run):
    """Mean |std / exact − 1| explodes where the exact deviation is small, so no table has it."""
    path = results_folder("05_other_methods", run) / "05_other_methods.json"
    metrics = json.loads(path.read_text(encoding="utf-8"))
    headings = {heading for heading, _ in HEADINGS.values()}
    distances = [t["header"] for t in metrics["tables"] if t["caption"].startswith("Distance")]
    assert distances == [["", HEADINGS["mean"][0]]] * 2
    scored = [t["header"][1:] for t in metrics["tables"] if "RMSE" in t["header"]]
    assert {name for header in scored for name in header} <= headings
    distance = [row for rows in metrics["example"].values() for row in rows.values()]
    assert all(set(row) == {"mean"} for row in distance)
