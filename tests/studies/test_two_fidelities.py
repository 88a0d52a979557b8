"""RVEs of two meshes, in small: the coarse ones cost less, and every method predicts."""

import re
import sys

import pytest

from studies.two_fidelities import __main__ as two_fidelities
from studies.two_fidelities.__main__ import rves


@pytest.mark.parametrize(
    ("options", "refusal"),
    [("--smt", "SMT is not installed"), ("--problems Branin", "invalid choice: 'Branin'")],
)
def test_what_cannot_run_is_refused_before_the_first_fit(options, refusal, monkeypatch, capsys):
    monkeypatch.setattr(two_fidelities, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["two_fidelities", *options.split()])
    with pytest.raises(SystemExit):
        two_fidelities.main()
    assert refusal in capsys.readouterr().err


@pytest.mark.slow
def test_rves(tmp_path, capsys):
    rves(tmp_path, n_coarse=12, n_fine=8, timed=2)
    printed = capsys.readouterr().out
    coarse, fine = re.findall(r"^(?:coarse|fine): ([0-9.]+) s for one RVE$", printed, re.MULTILINE)
    assert float(coarse) < float(fine)
    lines = re.findall(r"^(.*): error ([0-9.]+) .* inside 95 % ([0-9.]+)$", printed, re.MULTILINE)
    assert [name for name, _, _ in lines] == ["both", "fine alone", "coarse alone"]
    assert all(0 < float(error) < 1 for _, error, _ in lines)
    assert all(float(inside) > 0.5 for _, _, inside in lines)
