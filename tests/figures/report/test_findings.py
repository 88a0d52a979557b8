"""Findings are filled from the metrics, and left out where these are missing or say otherwise."""

import copy
import re

import numpy as np
import pytest

from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND, DRAWS, EXAMPLE
from figures.report.comparison import Metrics
from figures.report.findings import findings, load_findings
from figures.report.summary import RUNS
from figures.scores import written
from tests.figures.report.committed import committed_run

TITLES = [each.title for each in load_findings().findings]
INERT, BETTER, START, NO_DEFECT = TITLES[:4]


def texts(**changed):
    """Findings of the committed run by title, with some of its notebooks changed."""
    content = committed_run("full", ROOT) | changed
    run = {name: Metrics.model_validate(each) for name, each in content.items() if each}
    return {each.title: each.text for each in findings({"our tables": run})}


@pytest.fixture
def drawn():
    gain = {"mean": 0.056, "std": 0.028, "values": [0.03, 0.056, 0.08]}
    cell = {"all outputs": {"gain": gain, "positive": 3}}
    words = "Out of distribution, anchored is better than vanilla"
    claims = [
        {"about": "Table 3", "claim": f"{words}: {score}", "ours": {}, "holds": True}
        for score in ("RMSE", "ELPPD")
    ]
    return {"gains": {"rmse": cell, "elppd": cell}, "paper_size": True, "claims": claims}


def test_every_finding_that_has_its_metrics_is_borne_out_by_a_committed_run():
    runs = {
        folder: {
            name: Metrics.model_validate(each) for name, each in committed_run(folder, ROOT).items()
        }
        for folder in RUNS
    }
    missing = set() if DRAWS in runs["full"] else {BETTER}
    assert set(TITLES) - {each.title for each in findings(runs)} == missing


def test_numbers_are_those_of_the_metrics():
    rows = committed_run("full", ROOT)[BEYOND]["rows"]["outd"]
    seen, low_rank, none = (
        np.mean(values)
        for values in (
            rows["low_rank"]["gradient_in_span"]["values"],
            rows["low_rank"]["elppd"]["values"],
            rows["none"]["elppd"]["values"],
        )
    )
    text = texts()[INERT]
    assert f"sees {100 * seen:.1f} % of the squared gradient" in text
    assert f"the ELPPD by {none - low_rank:.1f}".replace("-", "−") in text


def test_what_the_draws_gain_is_said_once_they_are_there(drawn):
    cells = [{"rmse": {"mean": mean, "half_width": 0.01}} for mean in (0.2, 0.15, 0.15)]
    beyond = {"rows": {"outd": dict(zip(("vanilla", "none", "low_rank"), cells, strict=True))}}
    claims = committed_run("full", ROOT)[BEYOND]["claims"]
    beyond["claims"] = [each for each in claims if not each["claim"].startswith("The published")]
    found = texts(**{DRAWS: None, BEYOND: beyond})
    assert BETTER not in found
    assert "0.200 ± 0.010, vanilla, to 0.150 ± 0.010 by that start" in found[START]
    text = texts(**{DRAWS: drawn, BEYOND: beyond})[BETTER]
    assert "over 3 independent draws it gains 0.056 ± 0.028 in RMSE" in text
    drawn["claims"][1]["holds"] = None
    assert BETTER not in texts(**{DRAWS: drawn, BEYOND: beyond})


@pytest.mark.parametrize(
    ("title", "notebook", "words"),
    [
        (INERT, BEYOND, "RMSE with and without the published regulariser"),
        (INERT, BEYOND, "sees less of the data's gradient"),
        (START, BEYOND, "Pre-trained start, no regulariser has a better RMSE than vanilla"),
        (NO_DEFECT, EXAMPLE, "own anchors): the imperfect fit is a defect"),
    ],
)
def test_a_finding_goes_with_the_claims_that_bear_it_out(title, notebook, words):
    metrics = copy.deepcopy(committed_run("full", ROOT)[notebook])
    (claim,) = [each for each in metrics["claims"] if words in each["claim"]]
    assert title in texts()
    claim["holds"] = None
    assert title not in texts(**{notebook: metrics})


def test_findings_need_their_metrics_and_the_size_of_the_paper(drawn):
    assert INERT not in texts(**{BEYOND: None})
    assert not texts(**{DRAWS: drawn | {"paper_size": False}})


def test_numbers_have_their_scatter_and_a_real_minus():
    assert written({"mean": -0.7, "half_width": 2.4}, 1) == "−0.7 ± 2.4"
    assert written({"mean": 0.5, "std": 0.25, "values": []}, 2) == "0.50 ± 0.25"
    assert written({"mean": 0.5, "std": None, "values": []}, 2) == "0.50"
    with pytest.raises(TypeError):
        written({"values": [1.0]}["values"], 2)


def test_the_top_of_the_page_has_one_number_for_each_finding():
    run = {n: Metrics.model_validate(each) for n, each in committed_run("full", ROOT).items()}
    found = findings({"our tables": run})
    assert found
    for each in found:
        assert len(re.findall(r"[−\d.]*\d", re.sub(r"± [\d.]+", "", each.number))) == 1, each.number
