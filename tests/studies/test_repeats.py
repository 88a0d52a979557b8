"""The datasets are simulated and trained on first; then the page of the run shows the results."""

import subprocess

import pytest

from studies.repeats import __main__ as repeats


@pytest.mark.parametrize(
    ("codes", "ran"), [([0, 0], ["repeats", "report equality"]), ([3], ["repeats"])]
)
def test_the_page_is_written_unless_the_comparison_failed(monkeypatch, codes, ran):
    calls = []

    def run(command, **_):
        calls.append(" ".join(command[3:]))
        return subprocess.CompletedProcess(command, codes[len(calls) - 1])

    monkeypatch.setattr(repeats.subprocess, "run", run)
    try:
        repeats.main([])
        code = 0
    except SystemExit as end:
        code = end.code
    assert (calls, code) == (ran, codes[-1])
