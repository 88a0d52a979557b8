"""`python -m studies NAME` runs the program of a study with pinned arithmetic."""

import os

import pytest

from figures.pipeline.arithmetic import pins
from studies.__main__ import COMPARE_TIMES, FOLDER, main, questions

PROGRAMS = [name for name in questions() if not list((FOLDER / name).glob("*.ipynb"))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_arithmetic_of_a_study_is_pinned_unless_it_compares_times(name, monkeypatch):
    called = []
    monkeypatch.setattr(os, "execve", lambda *arguments: called.append(arguments))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    main([name, "--seeds", "1"])
    ((_, command, variables),) = called
    assert command[-3:] == [f"studies.{name}", "--seeds", "1"]
    pinned = pins().items() <= dict(variables).items()
    assert pinned is (name not in COMPARE_TIMES)
