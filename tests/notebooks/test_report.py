"""The page of a profile."""

import base64
import dataclasses
import json
import re
import shutil

import pytest

from figures.profiles import load_profile
from figures.published import compare_scores, load_published, verdict
from figures.report import OUTPUTS, ReportError, number, plus_minus, render

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def profile(profile_file):
    return load_profile(profile_file)


@pytest.fixture
def data_dir(tmp_path, profile):
    folder = tmp_path / "data" / "cells" / profile.cells[0].name
    folder.mkdir(parents=True)
    (folder / "rve.png").write_bytes(PIXEL)
    (folder / "result.json").write_text(json.dumps({"effective": dict.fromkeys(OUTPUTS, 0.5)}))
    return tmp_path / "data"


@pytest.fixture
def out_dir(tmp_path, executed):
    return shutil.copytree(executed, tmp_path / "out")


def test_page_holds_every_picture_and_refers_to_no_other_file(profile, data_dir, out_dir):
    page = render(profile, data_dir, out_dir)
    sources = re.findall(r'<img src="([^"]{0,40})', page)
    listed = json.loads((out_dir / "04_materials_surrogate.json").read_text())["figures"]
    assert len(sources) == len(profile.cells) + len(listed)
    assert all(source.startswith("data:image/") for source in sources)
    assert "http" not in re.sub(r'src="data:[^"]*"', "", page)


def test_page_shows_paper_and_ours_and_the_provenance(profile, data_dir, out_dir):
    page = render(profile, data_dir, out_dir)
    assert "OutD (N = 50), anchored" in page
    assert "not comparable" in page
    assert "config sha256" in page


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_a_missing_or_empty_picture_is_refused(profile, data_dir, out_dir, content):
    (out_dir / "calibration.svg").unlink()
    if content is not None:
        (out_dir / "calibration.svg").write_bytes(content)
    with pytest.raises(ReportError, match=r"calibration\.svg is missing or empty"):
        render(profile, data_dir, out_dir)


def test_missing_metrics_are_refused(profile, data_dir, tmp_path):
    with pytest.raises(ReportError, match="run the notebooks first"):
        render(profile, data_dir, tmp_path)


def test_verdict_needs_equal_sizes_and_a_tolerance():
    assert verdict(0.16, 0.17, 0.02, comparable=True) == "reproduced"
    assert verdict(0.16, 0.19, 0.02, comparable=True) == "not reproduced"
    assert verdict(0.16, 0.16, 0.02, comparable=False) == "not comparable"
    assert verdict(0.16, 0.16, None, comparable=True) == ""


def test_elppd_is_compared_per_test_cell(executed):
    metrics = json.loads((executed / "04_materials_surrogate.json").read_text())
    row = compare_scores(metrics)["OutD (N = 50), vanilla"]["elppd"]
    assert row.published == pytest.approx(-459 / 50)
    assert row.ours == pytest.approx(metrics["rows"]["outd_vanilla"]["elppd"]["mean"] / 6)


def test_published_rows_are_complete():
    table = load_published()["table_3"]
    assert all(set(table["columns"]) <= set(row) for row in table["rows"].values())


def test_a_run_of_the_published_size_gets_a_verdict(executed):
    metrics = json.loads((executed / "04_materials_surrogate.json").read_text())
    metrics |= {"n_train": {"outd": 50}, "n_test": 50}
    rows = compare_scores(metrics)
    assert rows["OutD (N = 50), anchored"]["rmse"].verdict == "not reproduced"
    assert rows["OutD (N = 50), anchored"]["elppd"].verdict == ""


def test_numbers_have_a_minus_sign_and_fixed_decimals():
    assert number(-2.283, 1) == "−2.3"
    assert plus_minus(0.1666, 0.01, 3) == "0.167 ± 0.010"
    assert plus_minus(0.1666, None, 3) == "0.167"


def test_a_profile_without_cells_has_no_cell_pictures(profile, out_dir, tmp_path):
    page = render(dataclasses.replace(profile, cells=()), tmp_path, out_dir)
    assert "Cell with volume fraction" not in page
