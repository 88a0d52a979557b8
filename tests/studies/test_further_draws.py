import csv
import json
import math
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from figures.composite.problem import OUTPUT_NAMES
from figures.markdown import comma_separated
from figures.materials_surrogate.surrogate import SCORES
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile
from figures.scores import as_interval, written
from studies.further_draws import __main__ as further_draws
from studies.further_draws import simulation
from studies.further_draws.__main__ import table
from tests.figures.report.committed import Numbers, content_of, metrics, quoted, verdicts

FILE = ROOT / "docs" / "tables" / "further_draws.csv"
SCORES_FILE = ROOT / "studies" / "further_draws" / "results.json"


def committed():
    """The lines of the committed table over 60 datasets, by their first column."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {line[0]: line[1:] for line in csv.reader(file)}


def number(text):
    return float(text.replace("−", "-"))


def intervals(row):
    """The scores of a method as intervals over datasets."""
    scores = {score: as_interval(row[score]) for score in SCORES}
    by_output = {
        score: {name: as_interval(number) for name, number in numbers.items()}
        for score, numbers in row.by_output.items()
    }
    return SimpleNamespace(**scores, by_output=by_output)


@pytest.mark.parametrize("out", ["rebuilt", "my rebuilt", "./authors/"])
def test_published_tables_are_kept_and_the_command_to_train_has_quotes(
    out, monkeypatch, capsys, tmp_path
):
    """Simulated tables have the names of the published ones, which they would replace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(further_draws, "simulate_published", lambda _, out, __: out / "six.yaml")
    monkeypatch.setattr(sys, "argv", ["further_draws", "--published", "authors", "--out", out])
    if "authors" in out:
        with pytest.raises(SystemExit):
            further_draws.main()
        assert "must be another folder" in capsys.readouterr().err
        return
    further_draws.main()
    words = shlex.split(capsys.readouterr().out.removeprefix("train with: "))
    expected = ["env", f"PROFILE={out}/six.yaml", f"DATA={out}", sys.executable]
    assert words == [*expected, "-m", "doit", "repeats"]


def test_the_table_of_the_notebook_is_the_table_over_its_datasets():
    it = metrics("04b_repeated_datasets")
    rows = {name: intervals(row) for name, row in it.rows.published.items()}
    header, lines = table(rows, it.outside)
    assert [line[:-1] for line in lines[:-1]] == it.tables[0].rows
    assert set(committed()) == {header[0], *(line[0] for line in lines)}
    assert [line[-1] != "" for line in lines[:7]] == [True, *[False] * 5, True]


def scores_of_datasets():
    """The committed scores: the shares of test RVEs outside, and the rows of the methods."""
    return json.loads(content_of(SCORES_FILE), object_hook=Numbers)


def test_the_table_is_that_of_the_committed_scores():
    it = scores_of_datasets()
    rows = {name: intervals(row) for name, row in it.rows.items()}
    assert FILE.read_text(encoding="utf-8") == comma_separated(*table(rows, it.outside))


def test_the_first_datasets_are_those_of_the_notebook():
    it = metrics("04b_repeated_datasets")
    rows = scores_of_datasets().rows
    assert scores_of_datasets().outside[: it.repeats] == it.outside
    for method, row in rows.items():
        of_notebook = it.rows.published[method]
        assert row.rmse["values"][: it.repeats] == of_notebook.rmse["values"]


def test_verdicts_over_60_datasets_are_those_of_the_package_except_one():
    """Intervals of the mean change of the calibration, by output, as in Fig. 14's claims."""
    lines = committed()
    it = metrics("04b_repeated_datasets")
    rows = scores_of_datasets().rows
    changes = {}
    for name in OUTPUT_NAMES:
        anchored, vanilla = (
            as_interval(getattr(rows[f"outd_{method}"].by_output.miscalibration, name))
            for method in ("anchored", "vanilla")
        )
        changes[name] = change = anchored - vanilla
        sign = 0 if abs(change.mean) < change.half_width else math.copysign(1, change.mean)
        (holds,) = verdicts(it, f"calibration/{name}")
        over_60 = {0: None, 1: False, -1: True}[sign]
        assert (over_60, holds) == (None, False) if name == "E_eff_GPa" else over_60 is holds
    gain = lines["miscalibration, E_eff_GPa"][0]
    change = written(changes["E_eff_GPa"], 3)
    quoted("article/article.typ", "In Fig. 14 only the calibration", gain, change)
    quoted("docs/verdicts.md", "Only the claim about p_σ", change)
    second = lines["RMSE, gain of E_eff less gain of b_eff"][0].split(" ± ")
    rounded = " ± ".join(f"{float(number):.2f}" for number in second)
    quoted("article/article.typ", "Contrary to the paper", rounded)


def test_pages_quote_the_gains_over_60_datasets():
    lines = committed()
    gain, better = lines["RMSE, all outputs"][:2]
    calibrated, count = lines["miscalibration, all outputs"][:2]
    numbers = [gain, better, calibrated, count.partition(" ")[0], "p = 0.0008"]
    quoted("docs/findings.md", "With 36 further datasets", better)
    quoted("article/article.typ", "On new datasets anchoring is better", *numbers)
    assert round(float(lines["miscalibration, all outputs"][-1]), 4) == 0.0008


@pytest.fixture
def simulated(monkeypatch):
    """Commands of a simulation that copies the inputs, and gives each row a number."""
    commands = []

    def run(arguments):
        commands.append(arguments)
        options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
        header, *rows = Path(options["--inputs"]).read_text(encoding="utf-8").splitlines()
        out = Path(options["--out"])
        out.mkdir(parents=True)
        lines = [f"index,{header}", *(f"{i},{row}" for i, row in enumerate(rows))]
        (out / "dataset.csv").write_text("".join(f"{line}\n" for line in lines))
        return 0

    monkeypatch.setattr(simulation, "run_command", run)
    return commands


def test_published_inputs_are_simulated_six_times(simulated, tmp_path):
    published = tmp_path / "authors"
    published.mkdir()
    for design in simulation.SEEDS:
        (published / f"{design}.csv").write_text("vf\n0.1\n0.2\n")
    out = tmp_path / "rebuilt"
    profile = load_profile(simulation.simulate_published(published, out, 1))
    assert (profile.draws.count, profile.draws.repeats) == (6, 1)
    assert [command[4] for command in simulated] == ["1", "2", "3"]  # the seeds
    for design in simulation.SEEDS:
        _, *rows = (out / "draws" / design / "dataset.csv").read_text().splitlines()
        assert [row.split(",")[1] for row in rows] == ["0.1", "0.2"] * 6
        assert (out / f"{design}.csv").read_text() == "index,vf\n0,0.1\n1,0.2\n"


def test_further_datasets_are_simulated_with_their_seeds(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(simulation, "simulate", lambda *arguments: calls.append(arguments) or 0)
    folders = simulation.simulate_further(tmp_path, 2)
    assert [call[2] for call in calls] == [36, 60]
    assert calls[0][1] == {"test_uniform": (1200,), "train_beta": (1200,)}
    assert calls[1][1] == {"test_uniform": (600,), "train_beta": (600,)}
    assert folders == [call[0].parent for call in calls]
    monkeypatch.setattr(simulation, "simulate", lambda *_: 1)
    with pytest.raises(RuntimeError, match="exit code 1"):
        simulation.simulate_further(tmp_path, 2)
