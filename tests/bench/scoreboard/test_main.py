import json
import sys

import pytest

from bench.scoreboard import __main__ as program
from bench.scoreboard.__main__ import main


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Call the program with results and environments in a separate folder."""

    def call(*words):
        files = ["--results", tmp_path / "results.jsonl", "--envs", tmp_path / "envs"]
        monkeypatch.setattr(sys, "argv", ["scoreboard", *map(str, files), *map(str, words)])
        main()
        text = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return call


@pytest.mark.slow
def test_it_runs_a_folder_and_prints_or_publishes_the_differences(
    call, folder, tmp_path, monkeypatch, capsys
):
    words = ("--data", folder, "--peers", "ours.Default", "--problems", "made/standard")
    rows = call(*words)
    ran = {(row["problem"], row["split"]) for row in rows if "peer" in row and "error" not in row}
    assert ran == {("made/standard", 0), ("made/standard", 1)}
    assert all("normal" in row for row in rows if "peer" in row)  # ours has its own density
    assert {row["published"] for row in rows if "published" in row} == {"Ensemble", "bde", "trees"}
    assert "**made, standard**\n\n| estimator | log-likelihood |" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- scoreboard -->\n<!-- end scoreboard -->\n", encoding="utf-8")
    monkeypatch.setattr(program, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(program, "PAGES", [page])
    monkeypatch.setattr(program.public, "SETS", {"made"})
    call(*words)
    start = "Before\n<!-- scoreboard -->\n| compared with | better | tied | worse | no verdict |"
    assert page.read_text(encoding="utf-8").startswith(start)
    assert (tmp_path / "scoreboard.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--peers", "nobody"], "there are ours.Default"),
        (["--problems", "nothing"], "composite/ind25"),
        (["--data", "nowhere"], "nowhere: there is no such folder"),
        (["--splits", "0"], "--splits 0: must be 1 or more"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_runs(call, capsys, words, message):
    with pytest.raises(SystemExit, match="2"):
        call(*words)
    assert message in capsys.readouterr().err
