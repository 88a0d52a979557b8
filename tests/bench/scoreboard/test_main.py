import json
import os
import subprocess
import sys

import pytest

from bench.scoreboard.__main__ import main
from figures.pipeline.paths import ROOT


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Call the program with results and environments in a folder of its own."""

    def call(*words):
        files = ["--results", tmp_path / "results.jsonl", "--envs", tmp_path / "envs", "--pages"]
        monkeypatch.setattr(sys, "argv", ["scoreboard", *map(str, files), *map(str, words)])
        main()
        text = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return call


@pytest.mark.slow
def test_it_runs_a_folder_and_writes_its_pages(call, folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- scoreboard -->\n<!-- end scoreboard -->\n", encoding="utf-8")
    rows = call(page, "--data", folder, "--peers", "ours.Default", "--problems", "made/standard")
    ran = {(row["problem"], row["split"]) for row in rows if "peer" in row and "error" not in row}
    assert ran == {("made/standard", 0), ("made/standard", 1)}
    assert {row["published"] for row in rows if "published" in row} == {"Ensemble", "bde", "trees"}
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "Before\n<!-- scoreboard -->\n| compared with | better | tied | worse | undecided |"
    )
    assert (tmp_path / "scoreboard.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--peers", "nobody"], "there are ours.Default"),
        (["--problems", "nothing"], "composite/ind25"),
        (["--data", "nowhere"], "nowhere: there is no such folder"),
        (["--peers", "ours.Default", "nobody"], "no estimator of --peers begins with 'nobody'"),
        (["--splits", "0"], "--splits 0: must be 1 or more"),
        (["nowhere.md"], "--pages nowhere.md: must be a file with a line as <!-- scoreboard -->"),
        (["--cells", "nowhere"], "no table of 'test_uniform'"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_runs(call, capsys, words, message):
    with pytest.raises(SystemExit, match="2"):
        call(*words)
    assert message in capsys.readouterr().err


def test_help_is_printed_in_any_locale():
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "bench.scoreboard", "--help"]
    ended = subprocess.run(command, env=os.environ | ascii_only, cwd=ROOT, capture_output=True)
    assert ended.returncode == 0
    assert rb"Problems \xd7 estimators" in ended.stdout


def test_own_sets_are_kept_from_the_guides(monkeypatch, folder, capsys):
    words = ["--data", str(folder), "--problems", "made", "--peers", "ours.Default"]
    monkeypatch.setattr(sys, "argv", ["scoreboard", *words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "made: the guides have other sets: name a file of yours" in capsys.readouterr().err


def test_differences_are_printed_where_there_is_no_page(monkeypatch, folder, tmp_path, capsys):
    files = ["--results", str(tmp_path / "results.jsonl"), "--envs", str(tmp_path / "envs")]
    words = ["--data", str(folder), "--problems", "made/gap", "--peers", "ours.Default"]
    monkeypatch.setattr(sys, "argv", ["scoreboard", *words, *files])
    main()
    assert "**made, gap**\n\n| estimator | log-likelihood |" in capsys.readouterr().out


def test_a_file_that_holds_no_results_is_named(call, tmp_path, capsys):
    (tmp_path / "results.jsonl").write_text("a text\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        call("--peers", "ours.Default", "--problems", "composite/ind25")
    assert "results.jsonl, line 1: must be JSON" in capsys.readouterr().err
    assert (tmp_path / "results.jsonl").read_text(encoding="utf-8") == "a text\n"
