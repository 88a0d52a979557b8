"""The commit of a provenance is marked if the code differs from it, but not for results."""

import shutil
import subprocess

import pytest

from fe_data.dataset import record


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize(
    ("changed", "marked"),
    [
        (None, False),
        ("code.py", True),
        ("figures/quick/01.json", True),
        ("figures/full/01.json", False),
        ("figures/full-authors/01.json", False),
        ("studies/paths/results/full/notebooks/08.ipynb", False),
        ("studies/repeats/results/six-rebuilt/04.json", False),
        ("studies/paths/study.py", True),
    ],
)
def test_only_results_of_full_runs_may_differ(changed, marked, tmp_path, monkeypatch):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True)

    names = ["code.py", "figures/quick/01.json", "figures/full/01.json", "studies/paths/study.py"]
    names += ["studies/repeats/results/six-rebuilt/04.json", "figures/full-authors/01.json"]
    names += ["studies/paths/results/full/notebooks/08.ipynb"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    if changed:
        (tmp_path / changed).write_text("after")
    monkeypatch.setattr(record, "__file__", str(tmp_path / "code.py"))
    assert record._commit().endswith("-dirty") == marked
