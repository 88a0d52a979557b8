"""Another user's read-only checkout in an awkward path, and any number of threads."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fe_data.dataset import storage

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
NOBODY = 65534
CELLS = ["-m", "fe_data", "generate", "train_beta", "--count", "2", "--n-fibres", "5"]
CELLS += ["--increments", "30", "--jobs", "2", "--out"]
NETWORKS = """
import hashlib, numpy as np, bnn
X = np.linspace(-1.0, 1.0, 40)[:, None]
network = bnn.Architecture((20, 20))
training = bnn.TrainingSettings(epochs=20)
model = bnn.VanillaEnsemble(
    n_members=6, noise=0.1, network=network, training=training, random_state=0
).fit(X, X[:, 0])
print(hashlib.sha256(model.predict(X).tobytes()).hexdigest())
"""


def run(*arguments, cwd=ROOT, user=None, **environment):
    """What Python prints when it is run with the arguments."""
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
    return done.stdout


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The table of two real cells under ordinary circumstances."""
    folder = tmp_path_factory.mktemp("ordinary")
    run(*CELLS, folder)
    return (folder / storage.TABLE).read_bytes()


def test_another_user_in_a_read_only_checkout(cells):
    """The home folder does not exist either; pytest's own folder is closed to other users."""
    user = None
    if os.geteuid() == 0:
        user = NOBODY
        try:
            run("-c", "import fe_data, torch", user=user)
        except (AssertionError, OSError):
            pytest.skip("another user cannot read this checkout or its environment")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        checkout = folder / "ein 'schöner' Ordner & 空 $HOME"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "fe_data", checkout / "fe_data", ignore=ignored)
        outside = folder / "Ergebnisse"
        outside.mkdir()
        outside.chmod(0o777)
        for path in [checkout, *checkout.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        run(*CELLS, outside / "cells", cwd=checkout, user=user, HOME="/nonexistent")
        assert (outside / "cells" / storage.TABLE).read_bytes() == cells
        for path in [checkout, *checkout.rglob("*")]:
            path.chmod(0o755)


@pytest.mark.parametrize("threads", ["1", "16"])
def test_threads_change_no_bit_of_a_table(tmp_path, cells, threads):
    run(*CELLS, tmp_path, OMP_NUM_THREADS=threads)
    assert (tmp_path / storage.TABLE).read_bytes() == cells


def test_threads_change_no_bit_of_a_prediction():
    printed = {run("-c", NETWORKS, OMP_NUM_THREADS=threads) for threads in ("1", "2", "16")}
    assert len(printed) == 1
