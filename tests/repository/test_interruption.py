"""`make quick` that is interrupted or killed at any moment is continued by the same command."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROFILE = {
    "seed": 1,
    "datasets": {"train_beta": 4, "test_uniform": 4},
    "notebooks": ["04_materials_surrogate"],
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
# Where, when and with what a result was made differs from run to run.
PASSING = re.compile("provenance|seconds|wall|time|commit|machine|made")


def copy_checkout(folder: Path) -> None:
    """Copy what git does not ignore, with a small profile and the environment in use."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    profile = folder / "notebooks" / "profiles" / "quick.yaml"
    profile.write_text(yaml.safe_dump(PROFILE))
    (folder / "setup.sh").write_text("#!/bin/sh\n")
    (folder / ".environment").write_text(f"hash\n{sys.executable}\n{folder}\n")


def lasting(value):
    """A value of JSON without the entries that differ from run to run."""
    if isinstance(value, dict):
        return {key: lasting(v) for key, v in value.items() if not PASSING.search(key)}
    if isinstance(value, list):
        return [lasting(v) for v in value]
    return value


def results(folder: Path) -> dict[str, object]:
    """Digests of tables, metrics, and the names of pages and pictures."""
    found = {}
    for part in ("data/quick", "figures/quick"):
        for path in (folder / part).rglob("*.*"):
            name = str(path.relative_to(folder))
            if path.name == "dataset.csv":
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.suffix == ".json" and part == "figures/quick":
                found[name] = lasting(json.loads(path.read_text()))
            elif path.suffix in (".html", ".svg", ".png", ".npz"):
                found[name] = path.stat().st_size > 0
    return found


def make_quick(folder: Path, seconds: float | None = None, how: int = signal.SIGINT) -> int | None:
    """Run `make quick`; its exit status, None when it was ended after some seconds."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with (folder.parent / "log").open("ab") as log:
        process = subprocess.Popen(
            ["make", "-s", "quick"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
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
    assert make_quick(folder) == 0, (tmp_path / "log").read_text()[-3000:]
    usual = time.monotonic() - start
    expected = results(folder)
    assert "figures/quick/index.html" in expected
    for part in ("data/quick", "figures/quick", ".doit"):
        shutil.rmtree(folder / part)
    draw = random.Random(0)
    for how in (signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        status = make_quick(folder, draw.uniform(0.0, usual), how)
        assert status in (None, 0), (tmp_path / "log").read_text()[-3000:]
    assert make_quick(folder) == 0, (tmp_path / "log").read_text()[-3000:]
    assert results(folder) == expected
