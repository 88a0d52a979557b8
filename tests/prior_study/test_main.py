"""The command line: what it writes, and one sentence for what it refuses."""

import pytest

from prior_study import StudyConfig, load
from prior_study.__main__ import main
from prior_study.config import PRIORS
from prior_study.priors import STUDY_PRIORS
from prior_study.reconstruction import ARCHITECTURE

BRIEF = ["--priors", "A", "--members", "3", "--epochs-scale", "0.02"]


@pytest.mark.slow
def test_the_command_writes_a_study_and_prints_its_tables(tmp_path, capsys):
    out = tmp_path / "study.npz"
    assert main([*BRIEF, "--out", str(out), "--optimiser", "proper", "--seed", "5"]) == 0
    study = load(out)
    assert (study.config.members, study.config.seed, study.config.optimiser) == (3, 5, "proper")
    assert study.config.epochs("A") == 2
    variance = 1e3 * study.results["A"].statistics.variance[0]
    assert f"{variance:8.2f}" in capsys.readouterr().out


REFUSED = [
    (["--priors", "A", "E"], "priors = 'E': must be one of A, B, C, D"),
    (["--members", "1"], "members = 1: must be an integer >= 2"),
    (["--epochs-scale", "nan"], "epochs_scale = nan: must be > 0"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_not_allowed_is_refused_in_one_sentence(arguments, message, tmp_path, capsys):
    out = tmp_path / "study.npz"
    assert main([*BRIEF, "--out", str(out), *arguments]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"
    assert not out.exists()


@pytest.mark.parametrize("name", ["study.csv", "absent/study.npz"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(name, tmp_path, capsys):
    assert main([*BRIEF, "--out", str(tmp_path / name)]) == 1
    assert "must be a .npz file in a folder that exists" in capsys.readouterr().err


def test_defaults_are_the_published_sizes():
    config = StudyConfig()
    assert (config.members, config.prior_points) == (100, 400)
    assert ARCHITECTURE.n_weights == 7801
    assert tuple(STUDY_PRIORS) == PRIORS
    assert [config.epochs(name) for name in config.priors] == [100, 200, 2000, 250]
