"""Networks in a published file give the scores of those networks, and nothing in it is run."""

import itertools
import os
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

from fe_data.schema import INPUT_BOUNDS, INPUT_NAMES
from figures.materials.problem import MEANS, NOISE_COV, OUTPUT_BOUNDS, OUTPUT_NAMES
from figures.published_networks import USED, main
from tests.fe_data.published.test_import_authors import published_bytes

WIDTHS = (4, 20, 20, 20, 20, 5)
LOW, HIGH = np.transpose(list(OUTPUT_BOUNDS.values()))


@pytest.fixture
def folder(tmp_path):
    """A folder with a test table that has the means of the published one."""
    shift = np.random.default_rng(0).normal(0, 0.02, (6, 9))
    rows = np.array(MEANS["test_uniform"]) * (1 + shift - shift.mean(axis=0))
    header = ",".join([*INPUT_NAMES, *OUTPUT_NAMES])
    np.savetxt(tmp_path / "test_uniform.csv", rows, delimiter=",", header=header, comments="")
    return tmp_path


def networks(count, seed=1):
    rng = np.random.default_rng(seed)
    shapes = [s for n, m in itertools.pairwise(WIDTHS) for s in ((n, m), (m,))]
    return [[rng.normal(0, 0.3, s).astype(np.float32) for s in shapes] for _ in range(count)]


def write(path, content, dump=pickle.dumps):
    path.write_bytes(dump(content))
    return path


def content_of(members):
    return {"init_weights": members[0], "prior_0": (members, [[0.5, 0.25]] * len(members))}


def outputs(network, X):
    for kernel, bias in zip(network[::2], network[1::2], strict=True):
        z = X @ kernel.astype(float) + bias
        X = np.where(z > 0, z, 0.01 * z)
    return z


@pytest.mark.parametrize("dump", [pickle.dumps, published_bytes])
def test_printed_scores_are_those_of_the_first_thirty_networks(folder, capsys, dump):
    members = networks(USED + 2)
    path = write(folder / "networks.pkl", content_of(members), dump)
    main(path, folder)
    printed = dict(line.split(" (")[0].split(": ") for line in capsys.readouterr().out.splitlines())
    table = np.loadtxt(folder / "test_uniform.csv", delimiter=",", skiprows=1)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    X = 2 * (table[:, :4] - low) / (high - low) - 1
    y = table[:, 4:]
    scaled = np.array([outputs(each, X) for each in members[:USED]])
    predicted = LOW + (scaled + 1) / 2 * (HIGH - LOW)
    error = (predicted.mean(axis=0) - y) / (HIGH - LOW) * 2
    assert float(printed["rmse"]) == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-6)
    std = np.array(NOISE_COV) * (LOW + HIGH) / 2
    log_density = -0.5 * ((predicted - y) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
    joint = logsumexp(log_density.sum(axis=2), axis=0) - np.log(USED)
    assert float(printed["elppd"]) == pytest.approx(joint.sum(), abs=2e-3)
    assert set(printed) == {"rmse", "miscalibration", "elppd"}


class Harmful:
    """Would write a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


def refused(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(*arguments)
    error = str(exit_info.value)
    assert error.startswith("error: ")
    assert "\n" not in error
    return error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"prior": 1}, "no networks 4-20-20-20-20-5 under 'prior_0' in a dict of 1 (prior: int)"),
        ([1], "no networks 4-20-20-20-20-5 under 'prior_0' in a list of 1 (int)"),
        (
            {"prior_0": (networks(1), [], 0)},
            "under 'prior_0' in a dict of 1 (prior_0: a tuple of 3",
        ),
        ({"prior_0": ([networks(1)[0][::-1]], [])}, "no networks 4-20-20-20-20-5 under"),
        ({"prior_0": (networks(2), [])}, "2 networks, at least 30 finite ones are needed"),
        ({"prior_0": ([[a + np.nan for a in networks(1)[0]]] * 30, [])}, "30 finite ones are"),
    ],
)
def test_a_file_without_the_networks_is_refused(folder, content, message):
    assert message in refused(write(folder / "networks.pkl", content), folder)


def test_nothing_in_a_file_is_run(folder):
    path = write(folder / "networks.pkl", content_of(networks(30)) | {"x": Harmful(folder / "ran")})
    assert "system' is not admitted" in refused(path, folder)
    assert not (folder / "ran").exists()


def test_scores_need_the_published_test_table(tables, tmp_path):
    path = write(tmp_path / "networks.pkl", content_of(networks(30)))
    for folder in (tables, tmp_path):
        assert f"{folder} has no published table test_uniform.csv" in refused(path, folder)
    assert "No such file" in refused(tmp_path / "missing.pkl", tables)
