"""A small run of a study is laid beside the committed results."""

import json
from typing import get_args

import pytest

from figures.pipeline.paths import STUDIES
from figures.pipeline.profiles import SETTINGS, StudyNotebook, load_profile
from studies.comparison import agreement

SECONDS = {"values": [9.0, 9.5, 10.0]}  # are not compared
FULL = {"rows": {"outd": {"rmse": {"values": [1.0, 2.0, 3.0]}, "seconds": SECONDS}}}
LINES = [
    {"problem": "a", "n": 1, "vf": 0.5, "nmse": 1.0, "fit": 3.0, "processor": "one", "blas": "A"},
    {"problem": "b", "n": 1, "vf": 0.5, "nmse": 2.0, "fit": 3.0, "processor": "one", "blas": "A"},
    {"problem": "b", "n": 2, "vf": 0.6, "nmse": 3.0, "fit": 3.0, "processor": "one", "blas": "A"},
]


def write(path, content):
    text = json.dumps(content) if path.suffix == ".json" else "\n".join(map(json.dumps, content))
    path.write_text(text, encoding="utf-8")
    return path


def metrics(*values):
    return {"rows": {"outd": {"rmse": {"values": list(values)}, "seconds": {"values": [1.0]}}}}


def line(case, **changes):
    return LINES[case] | {"fit": 9.0, "processor": "other", "blas": "B"} | changes


@pytest.mark.parametrize(
    ("small", "count", "equal", "largest"),
    [
        (metrics(1.0), 1, 1, 0.0),
        (metrics(1.0, 2.5), 2, 1, 0.5),  # the committed scores have a standard deviation of 1
        (metrics(-1.0, 2.5, 3.0), 3, 1, 2.0),
        ([line(1)], 1, 1, 0.0),  # times and machines are no difference
        ([line(0), line(2, nmse=0.0)], 2, 1, 3.0),
    ],
)
def test_scores_are_compared_with_those_of_the_same_case(tmp_path, small, count, equal, largest):
    suffix, full = ("jsonl", LINES) if isinstance(small, list) else ("json", FULL)
    compared = agreement(
        write(tmp_path / f"small.{suffix}", small), write(tmp_path / f"full.{suffix}", full)
    )
    assert (compared.count, compared.equal) == (count, equal)
    assert compared.largest == pytest.approx(largest)


def test_scores_that_do_not_scatter_have_no_ratio(tmp_path):
    """Means of equal numbers differ in their last digit."""
    committed = write(tmp_path / "full.json", metrics(0.1 + 0.2, 0.3, 0.3))
    small = write(tmp_path / "small.json", metrics(0.3 + 1e-12, 0.3))
    compared = agreement(small, committed)
    assert (compared.count, compared.equal, compared.constant) == (2, 1, 1)
    assert "1 differ from committed ones that do not scatter" in str(compared)


def test_files_of_different_studies_are_refused(tmp_path):
    small = write(tmp_path / "small.json", {"rows": {"ind25": {"rmse": {"values": [1.0]}}}})
    with pytest.raises(ValueError, match="no score in common"):
        agreement(small, write(tmp_path / "full.json", FULL))


@pytest.mark.parametrize("notebook", get_args(StudyNotebook))
def test_a_small_run_has_the_sizes_of_the_full_one_and_fewer_datasets(notebook):
    small, full = load_profile(STUDIES / "check.yaml"), load_profile("full")
    assert small.refusal(notebook) == ""
    section = SETTINGS[notebook]
    sizes = getattr(small, section).model_dump()
    counts = {"draws", "seeds", "experiments", "repeats"}
    fewer = {
        name for name, value in getattr(full, section).model_dump().items() if sizes[name] != value
    }
    assert fewer
    assert all(name in counts or name.endswith("_repeats") for name in fewer)
