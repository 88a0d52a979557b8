"""Each notebook in small: it draws every figure, and its metrics have the form of those committed.

Findings name what stands in the committed metrics, so that a run has to write the same names.
"""

import json

import pytest
import yaml

from figures.pipeline.paths import SHIPPED_TABLES, notebooks
from figures.pipeline.profiles import PROFILE_DIR, load_profile, study_sizes
from tests.figures.report.committed import committed_run

NAMES = [path.stem for path in notebooks()]
TRAINED = {"repeats": 1, "n_members": 3, "n_pretrained": 4, "prior_points": 30}
BRIEFLY = TRAINED | {"pretrain_epochs": 3, "epochs": 2}
# What is smaller than in the quick profile.
SMALLER = {
    "method": {"n_members": 4, "epochs": 3},
    "prior_study": {"members": 8, "epochs_scale": 0.01},
    "example_1d": TRAINED | {"pretrain_epochs_scale": 0.01},
    "surrogate": BRIEFLY,
    "draws": {"count": 8, "repeats": 1},
    "ablation": {"pretrain_epochs": 3, "epochs": 3, "tuned": [2, 3], "path": [2, 3]},
    "other_methods": BRIEFLY
    | {"converged_epochs": 4, "function_pretrain_epochs": 3, "function_points": 5},
    "active_learning": {"start": 3, "chosen": 1, "n_fibres": 3, "candidates": 60, "known": 20},
    "strain_paths": {"counts": [5, 100], "many": 100, "reference_rves": 2},
}


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    content = yaml.safe_load((PROFILE_DIR / "quick.yaml").read_text(encoding="utf-8"))
    content |= study_sizes("quick")
    for section, values in SMALLER.items():
        content[section] = content.get(section, {}) | values
    path = tmp_path_factory.mktemp("profile") / "small.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_a_notebook_in_small(name, run_cells, profile, tmp_path):
    folders = {"data_dir": str(SHIPPED_TABLES), "out_dir": str(tmp_path)}
    run_cells(name, {"profile": profile, "seed": 1} | folders)
    metrics = json.loads((tmp_path / f"{name}.json").read_text())
    assert all((tmp_path / entry).stat().st_size > 5000 for entry in metrics["figures"])
    committed = committed_run("full")[name]
    assert set(metrics) == set(committed)
    assert set(metrics["provenance"]) >= set(committed["provenance"])  # newer code records more
    for section in set(committed) - {"provenance"}:
        theirs = committed[section]
        if isinstance(theirs, dict) and not sizes(theirs):
            assert set(metrics[section]) == set(theirs), section
    ids, committed_ids = (
        {entry["id"] for entry in m.get("claims", [])} for m in (metrics, committed)
    )
    assert ids <= committed_ids
    assert all(
        entry.startswith("target/") for entry in committed_ids - ids
    )  # judged at their sizes alone
    assert metrics["provenance"]["seed"] == 1


@pytest.mark.slow
def test_a_notebook_with_repeats_trains_as_often_as_the_profile_says(run_cells, profile, tmp_path):
    parameters = {"profile": profile, "seed": 1, "out_dir": str(tmp_path), "with_repeats": "true"}
    run_cells("02_example_1d", parameters)
    metrics = json.loads((tmp_path / "02_example_1d.json").read_text())
    count = load_profile(profile).repeats.example_1d
    assert count == metrics["repeats"] == len(metrics["rows"]["vanilla"]["rmse"]["values"]) > 1


def sizes(section):
    """Whether the names of a part are numbers or training sets, which depend on the profile."""
    return any(key.isdigit() or key.startswith("ind") for key in section)
