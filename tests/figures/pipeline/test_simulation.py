"""Designs are simulated one after the other; samples of other arguments or sources go."""

import json

import pytest

import fe_data
from fe_data.dataset.storage import configuration
from figures.pipeline import simulation
from figures.pipeline.simulation import main, simulate


def made_by(command):
    """The configuration that `generate` writes for these arguments."""
    numbers = dict(zip(command[1::2], map(int, command[2::2]), strict=False))
    design = fe_data.named_design(command[0], numbers["--seed"], count=numbers["--count"])
    return configuration(design, fe_data.Settings())


@pytest.fixture
def commands(monkeypatch):
    """Commands of fe_data, which here only leave a sample; the solver is not compiled."""
    run = []

    def command(arguments):
        folder = simulation.Path(arguments[arguments.index("--out") + 1])
        folder.mkdir(exist_ok=True)
        options = arguments[1 : arguments.index("--out")]
        run.append((options, sorted(path.name for path in folder.iterdir())))
        (folder / "dataset.csv").touch()
        (folder / "config.json").write_text(json.dumps(made_by(options)))
        return 1 if "noise" in arguments else 0

    monkeypatch.setattr(simulation, "run_command", command)
    monkeypatch.setattr(simulation, "solve_tiny_rve", abs)
    return run


def test_designs_follow_each_other_until_one_does_not_succeed(tmp_path, commands):
    designs = ["train_beta=3", "replicates=2x4", "noise=2", "test_uniform=1"]
    assert main([str(tmp_path), *designs, "--seed", "0", "--jobs", "1"]) == 1
    assert commands[0][0] == ["train_beta", "--count", "3", "--seed", "0"]
    assert commands[1][0] == ["replicates", "--count", "2", "--seed", "0", "--replicates=4"]
    assert [arguments[0] for arguments, _ in commands] == ["train_beta", "replicates", "noise"]


def test_samples_of_the_same_arguments_and_sources_alone_are_kept(tmp_path, commands, monkeypatch):
    source = tmp_path / "source.py"
    monkeypatch.setattr(simulation, "simulation_sources", lambda: [source])
    for text, count in (("x = 1", 3), ("x = 1", 3), ("x = 1", 4), ("x = 2", 4)):
        source.write_text(text, encoding="utf-8")
        simulate(tmp_path / "data", {"train_beta": [count]}, seed=0, jobs=1)
    assert [files for _, files in commands] == [[], ["config.json", "dataset.csv"], [], []]


MINE = {
    "dataset.csv": "train_beta is not the dataset that make wrote",
    "records/notes.txt": "notes.txt is not a file of a dataset: move it away",
}


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", MINE)
def test_a_file_of_a_user_in_an_earlier_dataset_stays(tmp_path, capsys, name):
    sizes = [str(tmp_path), "--seed", "0", "--jobs", "1"]
    assert main([*sizes, "train_beta=3"]) == 0
    folder = tmp_path / "train_beta"
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine")
    if name == "dataset.csv":
        mine = made_by(["train_beta", "--count", "9", "--seed", "5"])
        (folder / "config.json").write_text(json.dumps(mine))
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    assert main([*sizes, "train_beta=4"]) == 1
    assert MINE[name] in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
