"""Notebook 05 in small: what it writes."""

import json

import pytest
import yaml


@pytest.mark.slow
def test_the_notebook_writes_its_tables(run_cells, tables, profile_content, brief, tmp_path):
    profile = tmp_path / "brief.yaml"
    content = profile_content | {
        "datasets": {"train_beta": 10, "train_uniform": 4, "test_uniform": 6},
        "notebooks": ["05_other_methods"],
        "other_methods": brief,
    }
    profile.write_text(yaml.safe_dump(content))
    parameters = {"profile": str(profile), "data_dir": str(tables), "out_dir": str(tmp_path)}
    run_cells("05_other_methods", parameters)
    metrics = json.loads((tmp_path / "05_other_methods.json").read_text())
    assert metrics["tables"]
    assert "data/02_example_1d.csv" in metrics["provenance"]["inputs_sha256"]
    assert all(claim["about"] == "Beyond" for claim in metrics["claims"])
    for name in metrics["figures"]:
        assert (tmp_path / name).stat().st_size > 5000
