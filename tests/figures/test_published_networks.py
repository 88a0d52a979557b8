"""Networks in a published file give the scores of those networks."""

import itertools
import pickle

import numpy as np
import pytest

from fe_data.schema import INPUT_NAMES
from figures.composite.problem import INPUT_SCALING, MEANS, OUTPUT_NAMES, OUTPUT_SCALING
from figures.materials_surrogate.surrogate import Prediction
from figures.published_networks import USED, main

WIDTHS = (4, 20, 20, 20, 20, 5)


@pytest.fixture
def folder(tmp_path):
    """A folder with a test table that has the means of the published one."""
    shift = np.random.default_rng(0).normal(0, 0.02, (6, 9))
    rows = np.array(MEANS["test_uniform"]) * (1 + shift - shift.mean(axis=0))
    header = ",".join([*INPUT_NAMES, *OUTPUT_NAMES])
    np.savetxt(tmp_path / "test_uniform.csv", rows, delimiter=",", header=header, comments="")
    return tmp_path


def networks(count):
    rng = np.random.default_rng(1)
    shapes = [s for n, m in itertools.pairwise(WIDTHS) for s in ((n, m), (m,))]
    return [[rng.normal(0, 0.3, s).astype(np.float32) for s in shapes] for _ in range(count)]


def write(path, content):
    path.write_bytes(pickle.dumps(content))
    return path


def outputs(network, X):
    for kernel, bias in zip(network[::2], network[1::2], strict=True):
        z = X @ kernel.astype(float) + bias
        X = np.where(z > 0, z, 0.01 * z)
    return z


def test_printed_scores_are_those_of_the_first_thirty_networks(folder, capsys):
    members = networks(USED + 2)
    main(write(folder / "networks.pkl", {"prior_0": (members, [])}), folder)
    printed = dict(line.split(" (")[0].split(": ") for line in capsys.readouterr().out.splitlines())
    table = np.loadtxt(folder / "test_uniform.csv", delimiter=",", skiprows=1)
    X = INPUT_SCALING.transform(table[:, :4])
    y = table[:, 4:]
    scaled = np.array([outputs(member, X) for member in members[:USED]])
    wanted = Prediction(scaled, OUTPUT_SCALING.transform(y)).scores()
    for name, digits in (("rmse", 1e-6), ("miscalibration", 1e-6), ("elppd", 2e-3)):
        assert float(printed[name]) == pytest.approx(getattr(wanted, name), abs=digits)
