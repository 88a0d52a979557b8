"""Calls that take more than two seconds show how far they are, on a terminal and nowhere else."""

import pytest

import fe_data
from fe_data.__main__ import main
from fe_data.progress import progress_bar
from tests.terminal import slow_terminal

INPUTS = fe_data.Inputs(0.2, 400.0, 400.0, 0.4)
SMALL = fe_data.Settings(n_fibres=1, resolution=2, increments=4)
CELL = "--vf 0.2 --E-f 400 --b-m 400 --c-m 0.4 --n-fibres 1 --resolution 2 --increments 4"


def test_a_command_shows_its_steps_on_a_terminal_up_to_the_last(tmp_path, capsys, monkeypatch):
    command = ["rve", *CELL.split(), "--xdmf", "--out", str(tmp_path / "cell")]
    assert main(command) == 0
    assert "%|" not in capsys.readouterr().err
    slow_terminal(monkeypatch)
    assert main(command) == 0
    shown = capsys.readouterr().err
    for text in ("RVE: 100%", "9/9", "fields: 100%", "5/5"):
        assert text in shown


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.3, False), (0.7, True)])
def test_a_bar_shows_after_two_seconds(seconds, is_shown, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with progress_bar(3, "RVE", "step") as bar:
        for _ in range(3):
            now[0] += seconds
            bar.update()
    assert ("RVE" in capsys.readouterr().err) == is_shown
