"""Tables of notebook 08: their ± is the 95 % confidence half-width of Student's t."""

import json
from dataclasses import asdict

from figures.pipeline.paths import results_folder
from figures.scores import Interval, as_interval
from studies.strain_paths.findings import tables
from studies.strain_paths.study import TENSION, Errors

COMMITTED = results_folder("08_strain_paths", "full") / "08_strain_paths.json"


def test_margins_are_half_widths_of_students_t():
    """Means of 1, 2 and 3 thousandths: 2 ± 4.303 · 1/√3, where 4.303 is for two degrees."""
    errors = Interval((0.001, 0.002, 0.003))
    coverage = Interval((0.95,))  # a single draw has no half-width
    row = Errors(error=errors, coverage=coverage, single=coverage)
    table, covered = tables({TENSION: {5: row}}, {TENSION: 0.01})
    assert table.rows[1] == ["posterior", "5", "2.000 ± 2.484"]
    assert covered.rows[0][-1] == "0.950"


def test_committed_tables_are_those_of_the_committed_numbers():
    metrics = json.loads(COMMITTED.read_text(encoding="utf-8"))
    rows = {
        name: {
            int(n): Errors(**{score: as_interval(number) for score, number in errors.items()})
            for n, errors in counts.items()
        }
        for name, counts in metrics["rows"].items()
    }
    rows_of_tables = [asdict(table) for table in tables(rows, metrics["mean_fields_alone"])]
    assert rows_of_tables == metrics["tables"]
