"""Findings stand on ids of claims and on numbers; one that is not borne out stops the build."""

import re

import pytest

from figures.pipeline.paths import REFERENCE
from figures.pipeline.profiles import BEYOND, EXAMPLE, SURROGATE, load_profile
from figures.report import page
from figures.report.comparison import Metrics, compare
from figures.report.findings import RECORDS, found_on, load_records
from figures.report.summary import RUNS, blocks
from tests.figures.report.committed import committed_run

FINDINGS = {each.id: each for each in load_records().findings}


def typed(content):
    return {name: Metrics.model_validate(each) for name, each in content.items()}


@pytest.fixture
def run():
    """The committed run, which a test may change."""
    return committed_run("full")


def claim(run, notebook, identifier):
    (found,) = [each for each in run[notebook]["claims"] if each["id"] == identifier]
    return found


def test_every_finding_has_an_id_of_its_own_and_those_at_the_top_have_all_they_need():
    assert len(FINDINGS) == len(load_records().findings)
    for each in FINDINGS.values():
        parts = [bool(part) for part in (each.title, each.number, each.picture)]
        assert len(set(parts)) == 1, each.id
        assert each.commands or not each.title, each.id
        assert each.text.endswith(".") != bool(each.title), each.id  # a title begins the sentence
        assert not each.title or each.rests_on or each.numbers


@pytest.mark.parametrize(("folder", "tables"), [("full", "ours"), ("full-authors", "published")])
def test_every_id_is_that_of_a_claim_or_number_and_every_text_is_filled(folder, tables):
    found = found_on(typed(committed_run(folder))).all_met()
    assert [*found] == [name for name, each in FINDINGS.items() if each.tables in (tables, "both")]
    for each in found.values():
        assert not re.search(r"[{}]|nan|±\s*\.", each.text), each.text
        if each.number:
            assert len(re.findall(r"[−\d.]*\d", re.sub(r"± [\d.]+", "", each.number))) == 1


def test_all_that_differs_or_stays_open_is_explained_where_it_stands(run):
    for place, entry in compare(typed(run)).items():
        explained = {
            name for each in FINDINGS.values() if each.place == place for name in each.rests_on
        }
        assert {name for name, met in entry.outcomes.items() if not met} <= explained


@pytest.mark.parametrize("path", [RECORDS, *RECORDS.parent.glob("templates/*.md")])
def test_numbers_are_found_by_names_and_not_by_sentences(path):
    """A place of the paper, a name of the metrics, or an ensemble and its length scale."""
    names = re.findall(r'[\w)]\["([^"]+)"', path.read_text())
    plain = r"(Fig\.|Table) \d+|[\w./-]+( [\d.]+)?"
    assert [name for name in names if not re.fullmatch(plain, name)] == []


def test_a_sentence_that_the_metrics_contradict_stops_the_pages():
    runs = {name: typed(committed_run(name)) for name in RUNS}
    runs["full-authors"][SURROGATE].rows["published"]["prior"]["rmse"]["mean"] = 0.0
    with pytest.raises(ValueError, match="do not bear this sentence out: On the published tables"):
        blocks(runs)


@pytest.mark.parametrize("holds", [None, False])
def test_a_claim_that_does_not_hold_stops_what_is_committed_and_is_named_elsewhere(run, holds):
    claim(run, BEYOND, "sees_less")["holds"] = holds
    found = found_on(typed(run))
    with pytest.raises(ValueError, match=rf"not borne out: 'inert' \(sees_less is {holds} instead"):
        found.all_met()
    assert [*found.unmet] == ["inert"]
    assert "inert" not in found.findings


def test_a_number_that_turns_or_is_not_there_and_a_claim_that_is_not_made_stop_it_too(run):
    run[EXAMPLE]["rows"]["exact 1"]["rmse"]["mean"] = 0.0
    claim(run, BEYOND, "alike/elppd")["id"] = "new"
    del run[BEYOND]["advice"]
    with pytest.raises(ValueError, match="'inert'") as caught:
        found_on(typed(run)).all_met()
    for words in ("alike/elppd is not made", "not it.rows[", "not measured: "):
        assert words in str(caught.value)


def test_other_words_in_a_claim_change_no_finding(run):
    before = found_on(typed(run))
    for metrics in run.values():
        for each in metrics.get("claims", []):
            each["claim"] = "in other words"
    assert found_on(typed(run)) == before


def test_findings_need_their_metrics_at_the_size_of_the_paper(run):
    del run[BEYOND]
    run[EXAMPLE]["paper_size"] = False
    titles = {name for name, each in found_on(typed(run)).findings.items() if each.title}
    assert titles == {"draws", "equal_choices", "prior_mean", "mechanics", "chosen", "paths"}


def test_the_page_names_a_finding_that_its_run_does_not_bear_out(run, monkeypatch):
    claim(run, BEYOND, "sees_less")["holds"] = False
    monkeypatch.setattr(page, "read_run", lambda *_: typed(run))
    monkeypatch.setattr(page, "inlined", lambda *_: "")
    text = page.render(load_profile("full"), REFERENCE)["index.html"]
    assert "<li>inert: sees_less is False instead of True</li>" in text
    assert FINDINGS["inert"].title not in text
