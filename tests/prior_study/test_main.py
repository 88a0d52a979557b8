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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--priors", "A", "E"], "priors = 'E': must be one of A, B, C, D"),
        (["--members", "1"], "members = 1: must be an integer >= 2"),
        (["--epochs-scale", "nan"], "epochs_scale = nan: must be > 0"),
        (["--out", "absent/study.npz"], "must be a .npz file in a folder that exists"),
    ],
)
def test_what_is_not_allowed_is_one_sentence_before_any_work(arguments, message, tmp_path, capsys):
    out = tmp_path / "study.npz"
    assert main([*BRIEF, "--out", str(out), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_defaults_are_the_published_sizes():
    config = StudyConfig()
    assert (config.members, config.prior_points) == (100, 400)
    assert ARCHITECTURE.n_weights == 7801
    assert tuple(STUDY_PRIORS) == PRIORS
    assert [config.epochs(name) for name in config.priors] == [100, 200, 2000, 250]
