"""Calls that take more than two seconds show how far they are, on a terminal and nowhere else."""

import numpy as np
import pytest

import fe_data
from fe_data.__main__ import main
from fe_data.dataset import worker
from fe_data.progress import progress_bar
from tests.fe_data.analytic_cell import AnalyticCell
from tests.terminal import slow_terminal

INPUTS = fe_data.Inputs(0.2, 400.0, 400.0, 0.4)
SMALL = fe_data.Settings(n_fibres=1, resolution=2, increments=4)
CELL = "--vf 0.2 --E-f 400 --b-m 400 --c-m 0.4 --n-fibres 1 --resolution 2 --increments 4"


def dataset(folder):
    """A dataset of analytic cells, two of each input."""
    design = fe_data.named_design("noise", count=4, replicates=2)
    fe_data.generate(design, SMALL, folder, simulator=AnalyticCell(), silent=True)
    return folder


def rve(tmp_path):
    assert main(["rve", *CELL.split(), "--xdmf", "--out", str(tmp_path / "cell")]) == 0


def anisotropy(_):
    fe_data.anisotropy(fe_data.solve_rve(INPUTS, 1, SMALL, silent=True))


def curves(tmp_path):
    table = str(dataset(tmp_path / "cells"))
    assert main(["curves", table, "--out", str(tmp_path / "curves.csv")]) == 0


SHOWN = {  # the last state of each bar
    rve: ["RVE: 100%", "9/9", "fields: 100%", "5/5"],
    anisotropy: ["anisotropy: 100%", "3/3"],
    curves: ["records: 100%", "curves: 100%", "8/8"],
}


@pytest.mark.parametrize("call", SHOWN, ids=lambda call: call.__name__)
def test_a_call_shows_its_steps_on_a_terminal_up_to_the_last(call, tmp_path, capsys, monkeypatch):
    call(tmp_path / "elsewhere")
    assert "%|" not in capsys.readouterr().err
    slow_terminal(monkeypatch)
    call(tmp_path)
    shown = capsys.readouterr().err
    assert [text for text in SHOWN[call] if text not in shown] == []


def test_a_cell_in_a_worker_shows_nothing(capsys, monkeypatch):
    """Workers have the terminal of the bar that counts their cells."""
    slow_terminal(monkeypatch)
    assert worker.rve_with_anisotropy(INPUTS, 1, SMALL).effective["E_spread"] > 0
    design = fe_data.Design("one", 0, np.array([[*vars(INPUTS).values()]]), np.zeros(1, int))
    worker.Job(SMALL, "configuration")(worker.Task(design.sample(0)))
    assert "|" not in capsys.readouterr().err


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
