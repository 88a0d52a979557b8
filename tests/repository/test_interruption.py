"""`make quick` that is interrupted or killed at any moment is continued by the same command."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "04_materials_surrogate"
PROFILE = {
    "seed": 1,
    "datasets": {"train_beta": 4, "test_uniform": 4},
    "notebooks": [NOTEBOOK],
    "surrogate": {
        "cases": {"outd": {"design": "train_beta", "count": 3}},
        "repeats": 2,
        "n_pretrained": 4,
        "prior_points": 40,
        "pretrain_epochs": 3,
        "n_members": 3,
        "epochs": 3,
    },
}


def copy_checkout(folder: Path) -> None:
    """Copy what git does not ignore, with a small profile and the environment in use."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "notebooks" / "profiles" / "quick.yaml").write_text(
        yaml.safe_dump(PROFILE), encoding="utf-8"
    )
    for sizes in folder.glob("studies/*/sizes.yaml"):  # of larger datasets than this profile has
        sizes.unlink()
    (folder / "setup.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / ".environment").write_text(f"hash\n{sys.executable}\n{folder}\n", encoding="utf-8")


def results(folder: Path) -> list[object]:
    """Tables and numbers, and which pages and pictures there are."""
    out = folder / "figures" / "quick"
    metrics = json.loads((out / f"{NOTEBOOK}.json").read_text(encoding="utf-8"))
    tables = [(folder / "data/quick" / name / "dataset.csv") for name in PROFILE["datasets"]]
    names = sorted(path.name for path in out.rglob("*") if path.is_file() and path.stat().st_size)
    return [metrics["rows"], metrics["claims"], names, *(path.read_bytes() for path in tables)]


def make_quick(folder: Path, seconds: float | None = None, how: int = signal.SIGINT) -> int | None:
    """Run `make quick`; its exit status, None when it was ended after some seconds."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = ["make", "-s", "quick"]
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, how)
        process.wait()
        return None


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_make_quick_ends_right_after_interruptions_at_random_moments(tmp_path):
    """Ctrl-C and kills reach the whole process group; each run continues the one before."""
    folder = tmp_path / "checkout"
    copy_checkout(folder)
    start = time.monotonic()
    assert make_quick(folder) == 0
    usual = time.monotonic() - start
    expected = results(folder)
    assert "index.html" in expected[2]
    for written in ("data/quick", "figures/quick", ".doit"):
        shutil.rmtree(folder / written)
    draw = random.Random(1)  # once early and once late
    for how in (signal.SIGINT, signal.SIGKILL):
        assert make_quick(folder, draw.uniform(0.0, usual), how) in (None, 0)
    assert make_quick(folder) == 0
    assert results(folder) == expected
