"""Notebook 05 in small: what it writes, and the settings that it refuses."""

import json

import pytest
import yaml

from figures.pipeline.profiles import ProfileError, load_profile


@pytest.fixture
def brief_profile(profile_content, brief):
    return profile_content | {
        "datasets": {"train_beta": 10, "train_uniform": 4, "test_uniform": 6},
        "notebooks": ["05_beyond_the_paper"],
        "beyond": brief,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"repeats": 0},
            "beyond.repeats = 0 is not allowed: input should be greater than 0",
        ),
        ({"cases": {}}, "beyond.cases = {} is not allowed: dictionary should have at least 1 item"),
        (
            {"n_members": 5},
            "beyond: n_members = 5 is not allowed: at most the 3 pre-trained networks",
        ),
        ({"wrong": 1}, "beyond.wrong: extra inputs are not permitted"),
        (
            {"repeats": None},
            "beyond.repeats = None is not allowed: input should be a valid integer",
        ),
        ({"spans": 3}, "beyond.spans = 3 is not allowed: input should be a valid tuple"),
        (
            {"spans": [3, "x"]},
            "beyond.spans.1 = 'x' is not allowed: input should be a valid integer",
        ),
        ({"cases": [1]}, "beyond.cases"),
        (
            {"cases": {"outd": {"design": "train_beta"}}},
            "beyond.cases.outd.count: field required",
        ),
        (
            {"example_epochs_scale": 0},
            "beyond.example_epochs_scale = 0.* is not allowed: input should be greater than 0",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(brief_profile, brief, tmp_path, change, message):
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(brief_profile | {"beyond": brief | change}))
    with pytest.raises(ProfileError, match=message):
        load_profile(path)


def test_profiles_that_come_with_the_project_are_valid():
    for name in ("quick", "full"):
        assert load_profile(name).beyond.cases
    assert load_profile("full").beyond.repeats >= 8


@pytest.mark.slow
def test_the_notebook_writes_its_tables(run_cells, tables, brief_profile, tmp_path):
    profile = tmp_path / "brief.yaml"
    profile.write_text(yaml.safe_dump(brief_profile))
    parameters = {"profile": str(profile), "data_dir": str(tables), "out_dir": str(tmp_path)}
    run_cells("05_beyond_the_paper", parameters)
    metrics = json.loads((tmp_path / "05_beyond_the_paper.json").read_text())
    assert metrics["tables"]
    assert "data/02_example_1d.csv" in metrics["provenance"]["inputs_sha256"]
    assert all(claim["about"] == "Beyond" for claim in metrics["claims"])
    for name in metrics["figures"]:
        assert (tmp_path / name).stat().st_size > 5000
