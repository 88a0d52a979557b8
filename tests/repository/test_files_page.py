"""The reference of files shows the fields of the schema, and its examples are files that work."""

import dataclasses
import re

import pytest

from docs import file_tables
from fe_data import (
    Material,
    design_from_file,
    load_phases,
    load_table,
    loadings_from_file,
    microstructures_from_file,
)
from fe_data.cli.options import hardening
from fe_data.dataset.table import PATH_COLUMNS, table_columns

PAGE = file_tables.PAGE.read_text(encoding="utf-8")
READERS = {
    "Material": load_phases,
    "Loading": loadings_from_file,
    "Microstructure": microstructures_from_file,
    "Hardening table": lambda path: hardening(f"table:{path}"),
    "Design": design_from_file,
    "Dataset": load_table,
}


def example(section):
    text = PAGE.partition(f"\n## {section}\n")[2]
    return re.search(r"```\w*\n(.*?)```", text, re.DOTALL)[1]


@pytest.mark.parametrize("name", file_tables.blocks())
def test_each_table_is_that_of_the_schema(name):
    """If it fails, run `python -m docs.file_tables`."""
    assert f"<!-- {name} -->\n{file_tables.blocks()[name]}\n<!-- end {name} -->" in PAGE


@pytest.mark.parametrize("section", READERS)
def test_each_example_is_a_file_that_is_read(section, tmp_path):
    path = tmp_path / ("file.yaml" if section == "Material" else "file.csv")
    path.write_text(example(section), encoding="utf-8")
    assert READERS[section](path)


def test_the_examples_mean_what_the_page_says(tmp_path):
    path = tmp_path / "file"
    path.write_text(example("Material"), encoding="utf-8")
    phases = load_phases(path)
    assert phases.fibres.elasticity.nu_TT == pytest.approx(15.0 / (2 * 7.0) - 1)
    assert phases.measured.transverse_tension_MPa == 48.0
    path.write_text(example("Loading"), encoding="utf-8")
    cycle, shear = loadings_from_file(path)
    assert [len(loading.strain) for loading in (cycle, shear)] == [3, 1]
    path.write_text(example("Microstructure"), encoding="utf-8")
    assert [len(micro.radii) for micro in microstructures_from_file(path)] == [2, 1]


def test_the_page_names_every_field_of_a_phase():
    names = {field.name for field in dataclasses.fields(Material)}
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_the_columns_of_a_dataset_are_all_there():
    rows = list(file_tables.dataset())
    names = [row[0].strip("`") for row in rows]
    endings = tuple(name.removeprefix("NAME") for name in names if name.startswith("NAME"))
    columns = {*table_columns(), *PATH_COLUMNS}
    assert {name for name in columns - {*names} if not name.endswith(endings)} == set()
    written = dict(zip(names, (row[2] for row in rows), strict=True))
    # Given fibres have a number in place of a seed.
    assert written["seed"] == written["microstructure"].replace("with", "unless")


@pytest.mark.parametrize(
    ("value", "text"), [(1e-6, "1e-6"), (1e5, "1e5"), (0.4999, "0.4999"), (0.0, "0"), (350, "350")]
)
def test_numbers_of_a_range_are_short(value, text):
    assert file_tables.plain(value) == text


def test_every_field_of_the_tables_has_words():
    for name, block in file_tables.blocks().items():
        rows = [line.split(" | ") for line in block.splitlines()[2:]]
        assert all(row[-1].rstrip(" |") for row in rows), name
