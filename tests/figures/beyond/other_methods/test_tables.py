"""Tables of notebook 05."""

from figures.beyond.other_methods.methods import EXACT_LABELS, FUNCTION_LABELS, LABELS
from figures.beyond.other_methods.tables import tables
from figures.beyond.other_methods.weights import METHODS


def test_tables_hold_each_method_and_fit_their_headers(results):
    found = tables(results)
    for table in found:
        assert all(len(row) == len(table.header) for row in table.rows), table.caption
    labels = [row[0] for row in found[0].rows]
    names = set(METHODS) | set(FUNCTION_LABELS) | set(EXACT_LABELS)
    assert {label.removesuffix(" (1 of 2 seeds)") for label in labels} == {LABELS[n] for n in names}
    assert any(label.endswith("(1 of 2 seeds)") for label in labels)
