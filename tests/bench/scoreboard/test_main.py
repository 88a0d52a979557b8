import json
import sys

import pytest

from bench.scoreboard.__main__ import main


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
        "Before\n<!-- scoreboard -->\n| estimator | one, holdout (0) | made, standard (2) |"
    )
    assert (tmp_path / "scoreboard.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--peers", "nobody"], "there are ours.Default"),
        (["--problems", "nothing"], "composite/ind25"),
        (["--data", "nowhere"], "nowhere has no set"),
        (["--cells", "nowhere"], "no table of 'test_uniform'"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_runs(call, capsys, words, message):
    with pytest.raises(SystemExit, match="2"):
        call(*words)
    assert message in capsys.readouterr().err
