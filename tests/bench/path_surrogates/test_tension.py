"""Random paths beside curves in tension."""

import re
import sys

import pytest

from bench.path_surrogates import tension


@pytest.mark.slow
def test_paths_and_curves_follow_tension_to_a_percent(monkeypatch, capsys):
    monkeypatch.setattr(tension, "SIZES", (25,))
    monkeypatch.setattr(sys, "argv", ["tension"])
    tension.main()
    found = re.findall(r"25 ([\w ]+): error (\S+) %, coverage (\S+)", capsys.readouterr().out)
    assert [kind for kind, *_ in found] == ["random paths", "curves"]
    for _, error, coverage in found:
        assert 0.1 < float(error) < 1.0
        assert float(coverage) > 0.9
