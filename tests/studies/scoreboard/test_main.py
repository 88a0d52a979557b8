import sys

import pytest

from studies.scoreboard.__main__ import main


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--peers", "nobody"], "allowed are ours.Default"),
        (["--problems", "nothing"], "composite/ind25"),
        (["--data", "nowhere"], "nowhere: must be a folder"),
        (["--splits", "0"], "--splits 0: must be 1 or more"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_runs(
    monkeypatch, tmp_path, capsys, words, message
):
    files = ["--results", str(tmp_path / "results.jsonl"), "--envs", str(tmp_path / "envs")]
    monkeypatch.setattr(sys, "argv", ["scoreboard", *files, *words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert message in capsys.readouterr().err
