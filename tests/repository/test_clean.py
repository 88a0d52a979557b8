"""make clean removes results of every profile, and nothing that is committed."""

import shutil
import subprocess

import pytest

from figures.pipeline.paths import ROOT

DATASET = '{"inputs_sha256": "0"}'
CAMPAIGN = '{"format": "bnn campaign"}'
MINE = ("data/mine/dataset.csv", "data/mine/config.json", "data/my/notes.txt")
KEPT = (
    "figures/report/__init__.py",
    "figures/full/01.json",
    "figures/full/fig01.svg",
    "figures/full/notebooks/01.ipynb",
)
REMOVED = (
    "data/my/train_beta/dataset.csv",
    "data/my/train_beta/records/0000/0000000.npz",
    "data/my/train_beta/.lock-1-of-2",
    "data/my/train_beta.key",
    "data/loop/00/design.csv",
    "data/loop/history.csv",
    "figures/my/notebooks/01.html",
    "figures/full/index.html",
    "figures/full/notebooks/01.html",
    ".doit/state.db",
)


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("repository", [True, False])
def test_results_are_removed_and_nothing_that_is_committed(tmp_path, repository):
    for name in ("Makefile", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    contents = dict.fromkeys((*KEPT, *MINE, *REMOVED), "x")
    contents |= {f"data/{name}/config.json": DATASET for name in ("my/train_beta", "loop/00")}
    contents["data/loop/campaign.json"] = CAMPAIGN
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    if repository:
        for command in (["init", "-q"], ["add", "-f", "Makefile", *KEPT]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True)
    assert all((tmp_path / name).exists() for name in KEPT)
    assert not [name for name in REMOVED if (tmp_path / name).exists()]
    left = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "data").rglob("*.*")}
    assert left == {*MINE}
