"""What catalogues read: in step with tables and results, and accepted by the validators."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from fe_data import load_statistics, load_table
from fe_data.schema import INPUTS, OUTPUTS
from figures.pipeline.paths import (
    ROOT,
    SHIPPED_TABLES,
    all_metrics,
    repeated_metrics,
    repeats_folder,
    tables_below,
)
from figures.report import catalogues
from tests.repository.validators import validate, validators

# Shipped tables have the outputs that every table has.
COLUMNS = (INPUTS, [quantity for quantity in OUTPUTS if quantity.required])
# Values of the input and output columns of every record set.
RECORDS = """
import json, sys, mlcroissant
path, inputs, outputs = sys.argv[1], *map(json.loads, sys.argv[2:])
dataset = mlcroissant.Dataset(path)
values = {}
for table in dataset.metadata.record_sets:
    records = list(dataset.records(table.id))
    take = lambda names: [[record[f"{table.id}/{name}"] for name in names] for record in records]
    values[table.id] = [take(inputs), take(outputs)]
json.dump(values, sys.stdout)
"""


def test_the_files_are_up_to_date_and_describe_every_table_and_column():
    catalogues.main()
    catalogue = json.loads(catalogues.CROISSANT.read_text(encoding="utf-8"))
    files = {entry["contentUrl"] for entry in catalogue["distribution"]}
    assert files == {str(path.relative_to(SHIPPED_TABLES)) for path in tables_below()}
    assert len(catalogue["recordSet"]) == len([name for name in files if ".csv" in name])
    for table in catalogue["recordSet"]:
        (path,) = SHIPPED_TABLES.glob(f"{table['@id']}.csv*")
        assert [entry["name"] for entry in table["field"]] == [*pd.read_csv(path, nrows=1)]


def test_the_manifest_of_a_check_names_all_committed_results_of_the_full_run():
    """As far as the format's rules hold before a check: https://codecheck.org.uk/spec/config/1.0."""
    text = catalogues.CODECHECK.read_text(encoding="utf-8")
    assert text.startswith("---\n")
    manifest = yaml.safe_load(text)["manifest"]
    files = [ROOT / entry["file"] for entry in manifest]
    folders = {path.parent for path in all_metrics()} - {repeats_folder("full")}
    suffixes = {".json", ".svg", ".png"}
    committed = [p for folder in folders for p in folder.glob("*.*") if p.suffix in suffixes]
    committed += repeated_metrics()
    assert sorted(files) == sorted(committed)
    assert all(entry["comment"] for entry in manifest)


@pytest.mark.slow
def test_mlcroissant_accepts_it_and_not_one_without_a_file(tmp_path):
    validate("mlcroissant", "validate", "--jsonld", catalogues.CROISSANT)
    broken = tmp_path / "croissant.json"
    text = catalogues.CROISSANT.read_text(encoding="utf-8")
    broken.write_text(text.replace('"@id": "noise.csv"', '"@id": "other.csv"', 1), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"noise\.csv"):
        validate("mlcroissant", "validate", "--jsonld", broken)


@pytest.mark.slow
def test_mlcroissant_loads_the_numbers_that_fe_data_loads():
    names = [json.dumps([quantity.name for quantity in quantities]) for quantities in COLUMNS]
    command = [validators() / "python", "-c", RECORDS, catalogues.CROISSANT, *names]
    values_by_name = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    reference = load_statistics(SHIPPED_TABLES / "reference.csv")
    expected = {"reference": (reference.X, reference.mean)}
    for name in set(values_by_name) - set(expected):
        (path,) = SHIPPED_TABLES.glob(f"{name}.csv*")
        table = load_table(path)
        expected[name] = (table.inputs, table.outputs)
    assert len(values_by_name) == 10
    for name, values in values_by_name.items():
        for column, right in zip(values, expected[name], strict=True):
            assert np.array_equal(np.array(column), right)
