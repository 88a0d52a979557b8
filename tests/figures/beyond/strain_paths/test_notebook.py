"""Notebook 08 in small: what it writes."""

import json

import yaml

from figures.beyond.strain_paths.study import LABELS


def test_the_notebook_writes_its_errors_and_pictures(run_cells, profile_content, tmp_path):
    brief = {"counts": [1, 2], "few": 1, "many": 2, "draws": 1, "reference_rves": 2}
    profile = tmp_path / "brief.yaml"
    profile.write_text(yaml.safe_dump({**profile_content, "strain_paths": brief}))
    given = {"profile": str(profile), "seed": 0, "out_dir": str(tmp_path)}
    run_cells("08_strain_paths", given)
    metrics = json.loads((tmp_path / "08_strain_paths.json").read_text())
    assert set(metrics["rows"]) == set(LABELS)
    assert all(set(errors) == {"1", "2"} for errors in metrics["rows"].values())
    assert len(metrics["figures"]) == 5
    assert all((tmp_path / name).stat().st_size for name in metrics["figures"])
