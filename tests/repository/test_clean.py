"""make clean removes results of every profile, and nothing that is committed."""

import shutil
import subprocess

import pytest

from figures.pipeline.paths import ROOT

KEPT = ("figures/report/__init__.py", "figures/full/01.json", "figures/full/fig01.svg")
REMOVED = (
    "data/my/train_beta/dataset.csv",
    "figures/my/notebooks/01.html",
    "figures/full/index.html",
    ".doit/state.db",
)


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("repository", [True, False])
def test_results_are_removed_and_nothing_that_is_committed(tmp_path, repository):
    for name in ("Makefile", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    for name in (*KEPT, *REMOVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    if repository:
        for command in (["init", "-q"], ["add", "-f", "Makefile", *KEPT]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True)
    assert all((tmp_path / name).exists() for name in KEPT)
    assert not [name for name in REMOVED if (tmp_path / name).exists()]
