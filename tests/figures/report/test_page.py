"""The pages of a run."""

import json
import shutil

import pytest

from figures.pipeline.paths import REFERENCE, ROOT, SHIPPED_TABLES, committed_metrics
from figures.pipeline.profiles import PRIORS, SURROGATE, load_profile
from figures.pipeline.provenance import file_digest
from figures.report.comparison import compare, read
from figures.report.labels import column_decimals
from figures.report.page import foreign_tables, main, read_run, render
from figures.scores import written
from tests.figures.report.committed import committed_files

PROFILE = load_profile("full")


@pytest.fixture
def out_dir(tmp_path):
    """A copy of the committed full run."""
    (tmp_path / "out").mkdir()
    for path in committed_files("full", ".json", ".svg", ".png"):
        shutil.copy(path, tmp_path / "out")
    return tmp_path / "out"


def change(out_dir, name, **content):
    path = out_dir / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | content))


def test_a_run_of_repeats_alone_has_a_page(tmp_path):
    main(str(ROOT / "studies" / "check.yaml"), tmp_path / "new")
    assert "0 notebooks" in (tmp_path / "new" / "index.html").read_text(encoding="utf-8")


def test_what_a_page_would_show_and_is_not_there_is_named(out_dir):
    picture = out_dir / "fig14_calibration.svg"
    for content in (b"", None):
        picture.write_bytes(content) if content is not None else picture.unlink()
        with pytest.raises(ValueError, match=r"fig14_calibration\.svg is missing or empty"):
            render(PROFILE, out_dir)
    figures = json.loads((out_dir / f"{SURROGATE}.json").read_text())["figures"]
    change(out_dir, SURROGATE, figures={n: t for n, t in figures.items() if n != picture.name})
    with pytest.raises(ValueError, match=rf"Fig\. 14 is missing: {SURROGATE} lists no picture"):
        render(PROFILE, out_dir)
    with pytest.raises(SystemExit, match="is missing: run the notebooks first"):
        main("full", out_dir / "empty")


@pytest.mark.parametrize(("notebook", "place"), [(PRIORS, "Table 1"), (SURROGATE, "Table 3")])
def test_beside_each_number_of_the_full_run_stands_its_committed_scatter(notebook, place):
    page = render(PROFILE, REFERENCE)[f"{notebook}.html"]
    rows = compare(read(committed_metrics()))[place].rows
    digits = column_decimals(rows)
    for checks in rows.values():
        for column, check in checks.items():
            repeats = {"mean": check.ours, "std": check.deviation}
            assert f"repeats {written(repeats, digits[column])}" in page, (place, column)


def test_tables_that_do_not_come_with_the_package_are_named(out_dir):
    provenance = json.loads((REFERENCE / f"{SURROGATE}.json").read_text())["provenance"]
    shipped = {"train_beta.csv": file_digest(SHIPPED_TABLES / "train_beta.csv")}
    for others, expected in (({}, set()), ({"mine.csv": "0"}, {"mine.csv"})):
        change(out_dir, SURROGATE, provenance=provenance | {"inputs_sha256": shipped | others})
        tables = set(foreign_tables(read_run(PROFILE, out_dir)))
        assert tables & {"train_beta.csv", "mine.csv"} == expected
