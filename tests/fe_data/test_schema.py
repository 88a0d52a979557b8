"""One place lists the quantities: a further output reaches tables, and old tables stay readable."""

import dataclasses

import pytest

from fe_data import Inputs, Settings, generate, load_table, schema, verify
from fe_data.dataset.design import named_design
from fe_data.settings.hardening import HARDENING_LAWS
from fe_data.statistics.compare import compare
from fe_data.statistics.replicates import load_statistics, replicate_statistics, save_statistics
from tests.fe_data.analytic_rve import AnalyticRVE

FURTHER = schema.Output(
    name="e_max",
    unit=schema.DIMENSIONLESS,
    meaning="largest strain of the matrix",
    label=r"$\varepsilon_\mathrm{max}$",
    bounds=(0.0, 1.0),
    digits=3,
)


def six(inputs, seed, settings):
    """A simulator that knows the further output too."""
    simulated = AnalyticRVE()(inputs, seed, settings)
    simulated.effective["e_max"] = seed / 2**63
    return simulated


def test_the_schema_has_the_inputs_and_allows_the_hardening_exponents_of_all_laws_and_no_others():
    assert tuple(field.name for field in dataclasses.fields(Inputs)) == schema.INPUT_NAMES
    (c_m,) = (quantity for quantity in schema.INPUTS if quantity.name == "c_m")
    low, high = zip(*(law.c_bounds for law in HARDENING_LAWS.values()), strict=True)
    assert c_m.allowed == (min(low), max(high))


@pytest.fixture
def further(in_this_process, monkeypatch):  # noqa: ARG001
    """The schema with one output more, in the processes of the workers too."""
    monkeypatch.setattr(schema, "OUTPUTS", (*schema.OUTPUTS, FURTHER))


@pytest.fixture
def folders(request, tmp_path):
    """Folders of the same RVEs with and without the further output."""
    request.getfixturevalue("further")
    design = named_design("noise", count=2, replicates=3)
    for name, simulator in {"five": AnalyticRVE(), "six": six}.items():
        summary = generate(design, Settings(), tmp_path / name, simulator=simulator, silent=True)
        assert summary.table_written
        assert verify(tmp_path / name)[0] == []
    return tmp_path


def test_a_further_output_is_written_and_read(folders):
    old = load_table(folders / "five" / "dataset.csv")
    new = load_table(folders / "six" / "dataset.csv")
    assert old.output_names == schema.required_outputs()
    assert new.output_names == (*schema.required_outputs(), "e_max")
    assert (new.outputs[:, -1] == new.seed / 2**63).all()
    assert (new.with_outputs(old.output_names).outputs == old.outputs).all()
    comparison = compare(old, new)  # by what they share
    assert comparison.ours.output_names == schema.required_outputs()
    assert not comparison.difference.any()
    save_statistics(replicate_statistics(new), folders / "statistics.csv")
    assert load_statistics(folders / "statistics.csv").output_names == new.output_names
