"""Any number of threads gives the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fe_data.dataset import storage

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
RVES = ["-m", "fe_data", "generate", "train_beta", "--count", "2", "--n-fibres", "5"]
RVES += ["--increments", "30", "--jobs", "2", "--out"]
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


def run(threads, *arguments):
    """What Python prints when it is run with the arguments."""
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=True
    ).stdout


def test_threads_change_no_bit_of_a_table(tmp_path):
    for threads in ("1", "16"):
        run(threads, *RVES, tmp_path / threads)
    tables = {(tmp_path / threads / storage.TABLE).read_bytes() for threads in ("1", "16")}
    assert len(tables) == 1


def test_threads_change_no_bit_of_a_prediction():
    assert len({run(threads, "-c", NETWORKS) for threads in ("1", "2", "16")}) == 1
