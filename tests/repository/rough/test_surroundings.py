"""Another user, a read-only checkout, an awkward path, thread settings, no room, a wrong clock."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from fe_data.dataset import generate, storage
from fe_data.dataset.design import named_design
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell

ROOT = Path(__file__).parents[3]
PACKAGES = ("bnn", "fe_data", "prior_study")
NOBODY = 65534
CELLS = ["generate", "train_beta", "--count", "2", "--n-fibres", "5", "--increments", "30",
         "--jobs", "2", "--out"]  # fmt: skip
STUDY = ["-m", "prior_study", "--priors", "A", "--members", "3", "--epochs-scale", "0.02", "--out"]
NETWORKS = """
import hashlib, numpy as np, bnn
X = np.linspace(-1.0, 1.0, 40)[:, None]
network, training = bnn.Architecture((20, 20)), bnn.TrainingSettings(epochs=20)
model = bnn.VanillaEnsemble(
    n_members=6, noise=0.1, network=network, training=training, random_state=0
).fit(X, X[:, 0])
print(hashlib.sha256(model.predict(X).tobytes()).hexdigest())
"""


def run(*arguments, cwd=ROOT, user=None, **environment):
    """Run Python with arguments; what it printed, or its complaint as a failure."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def table(folder: Path) -> bytes:
    return (folder / storage.TABLE).read_bytes()


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The table of two real cells under ordinary circumstances."""
    folder = tmp_path_factory.mktemp("ordinary")
    run("-m", "fe_data", *CELLS, folder)
    return table(folder)


@pytest.fixture(scope="module")
def another_user():
    """A user who is not root and can run this Python."""
    if os.geteuid() != 0:
        return None
    try:
        run("-c", "import fe_data, torch", user=NOBODY)
    except (AssertionError, OSError):
        pytest.skip("another user cannot read this checkout or its environment")
    return NOBODY


@pytest.fixture(scope="module")
def public():
    """A folder that everybody may enter: pytest's own is closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def read_only(public):
    """A copy of the packages that nobody may write, in a path that no shell likes."""
    checkout = public / "ein 'schöner' Ordner & 空 $HOME"
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
    for path in [checkout, *checkout.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield checkout
    for path in [checkout, *checkout.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["own", "none"])
def test_another_user_in_a_read_only_checkout(public, cells, another_user, read_only, home):
    outside = public / f"Ergebnisse, {home}"
    outside.mkdir()
    outside.chmod(0o777)
    options = {"HOME": str(outside) if home == "own" else "/nonexistent"}
    common = {"cwd": read_only, "user": another_user, **options}
    run("-m", "fe_data", *CELLS, outside / "cells", **common)
    assert table(outside / "cells") == cells
    if home == "own":
        run(*STUDY, outside / "study.npz", **common)
        assert (outside / "study.npz").exists()


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "16"])
def test_threads_change_no_bit_of_a_table(tmp_path, cells, threads):
    run("-m", "fe_data", *CELLS, tmp_path / "cells", OMP_NUM_THREADS=threads)
    assert table(tmp_path / "cells") == cells


@pytest.mark.slow
def test_threads_change_no_bit_of_a_prediction():
    printed = {run("-c", NETWORKS, OMP_NUM_THREADS=threads).stdout for threads in ("1", "2", "16")}
    assert len(printed) == 1


@pytest.mark.slow
def test_no_room_in_shared_memory(tmp_path, cells):
    """The kernel's shared memory is full, as in containers that are given none."""
    prepare = "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/full"
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, prepare], capture_output=True).returncode
    ):
        pytest.skip("mounting a small /dev/shm needs root")
    command = f'{prepare}; exec "$@"'
    arguments = [sys.executable, "-m", "fe_data", *CELLS, str(tmp_path / "cells")]
    done = subprocess.run(
        [*unshare, command, "sh", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "no room in /dev/shm: one sample at a time, in this process" in done.stderr
    assert table(tmp_path / "cells") == cells


def make(folder, shard=(1, 1)):
    design = named_design("train_beta", 3, count=8)
    return generate.generate(
        design, Settings(increments=4), folder,
        jobs=2, shard=shard, simulator=AnalyticCell(), silent=True,
    )  # fmt: skip


def test_a_clock_that_was_set_back(tmp_path, monkeypatch):
    """Half of the records come from the future, and time runs backwards afterwards."""
    make(tmp_path / "ordinary")
    folder = tmp_path / "future"
    make(folder, shard=(1, 2))
    later = time.time() + 1e8
    for path in folder.rglob("*"):
        os.utime(path, (later, later))
    ticks = iter(range(10**6))
    monkeypatch.setattr(time, "time", lambda: 1e9 - next(ticks))
    summary = make(folder)
    assert summary.simulated == 4
    assert table(folder) == table(tmp_path / "ordinary")
