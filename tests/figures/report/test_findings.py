"""Findings stand on ids of claims and on numbers; one that is not borne out stops the build."""

import copy
import re

import pytest

from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND, EXAMPLE
from figures.report.comparison import Metrics
from figures.report.findings import findings, found_on, load_records
from tests.figures.report.committed import committed_run

RECORDS = load_records()
ALL = [*RECORDS.findings, *RECORDS.paragraphs]


def typed(content):
    return {name: Metrics.model_validate(each) for name, each in content.items()}


@pytest.fixture
def run():
    """The committed run, which a test may change."""
    return copy.deepcopy(committed_run("full", ROOT))


def claim(run, notebook, identifier):
    (found,) = [each for each in run[notebook]["claims"] if each["id"] == identifier]
    return found


def test_every_statement_has_a_condition_and_an_id_of_its_own():
    assert all(each.holds or each.fails or each.numbers for each in ALL)
    assert len({each.id for each in ALL}) == len(ALL)


def test_paragraphs_are_filled_and_one_that_is_not_borne_out_stops_the_build(run):
    found = found_on(typed(run), "our tables", RECORDS.paragraphs)
    assert [each.finding for each in found] == RECORDS.paragraphs
    for each in found:
        assert each.text
        assert not re.search(r"[{}]|nan|±\s*\.", each.text), each.text
    run[BEYOND]["advice"]["rmse"]["worse"] = 1
    with pytest.raises(
        ValueError, match=r"'advice' is not borne out on our tables: it\.advice\.rmse"
    ):
        findings({"our tables": typed(run)})


@pytest.mark.parametrize("each", RECORDS.findings, ids=lambda each: each.id)
def test_every_finding_has_one_number_at_the_top_of_the_page(each, run):
    (found,) = [
        f for f in found_on(typed(run), "our tables", RECORDS.findings) if f.finding is each
    ]
    assert len(re.findall(r"[−\d.]*\d", re.sub(r"± [\d.]+", "", found.number))) == 1


@pytest.mark.parametrize("holds", [None, False])
def test_a_claim_that_does_not_hold_stops_the_build_and_is_named_on_the_page(run, holds):
    claim(run, BEYOND, "sees_less")["holds"] = holds
    words = {None: "is open", False: "does not hold"}[holds]
    with pytest.raises(ValueError, match=rf"'inert' is not .* our tables: claim sees_less {words}"):
        findings({"our tables": typed(run)})
    (found,) = [each for each in found_on(typed(run), "our tables", RECORDS.findings) if each.unmet]
    assert found.finding.id == "inert"
    assert not found.text
    assert "in span(V): " in found.unmet[0]  # what is measured


def test_a_number_that_turns_or_a_claim_that_is_not_made_stops_it_too(run):
    run[EXAMPLE]["rows"]["exact 1"]["rmse"]["mean"] = 0.0
    claim(run, BEYOND, "alike/elppd")["id"] = "new"
    unmet = {
        each.finding.id: each.unmet
        for each in found_on(typed(run), "", RECORDS.findings)
        if each.unmet
    }
    assert unmet["inert"] == ["claim alike/elppd is not made"]
    assert 'rows["exact 1"].rmse.mean > ' in unmet["no_defect"][0]


def test_a_run_without_a_number_of_a_finding_is_named(run):
    del run[BEYOND]["differences_from_published"]
    (found,) = [each for each in found_on(typed(run), "our tables", RECORDS.findings) if each.unmet]
    assert found.unmet[0].startswith("not measured: ")


def test_other_words_in_a_claim_change_no_finding(run):
    before = findings({"our tables": typed(run)})
    for metrics in run.values():
        for each in metrics.get("claims", []):
            each["claim"] = "in other words"
    assert findings({"our tables": typed(run)}) == before


def test_findings_need_their_metrics_at_the_size_of_the_paper(run):
    del run[BEYOND]
    run[EXAMPLE]["paper_size"] = False
    found = {each.finding.id for each in found_on(typed(run), "our tables", RECORDS.findings)}
    assert found == {"draws", "mechanics", "chosen"}
