"""The committed standard deviations of ensembles over those of the exact posterior."""

import csv

import pytest

from bnn import GPRegressor
from fe_data.published.import_published import import_tables
from figures.composite.problem import noise_std
from figures.pipeline.paths import ROOT, SHIPPED_TABLES
from figures.pipeline.profiles import SURROGATE, load_profile
from figures.report.tables import RUNS
from studies.other_methods.deviations import ENSEMBLES, FILE, exact_deviations, lines, of_ensembles
from studies.other_methods.problems import load_problems
from tests.figures.report.committed import typed_run

PUBLISHED = ROOT.parent / "shared" / "reference" / "published"


def problem(folder):
    return load_problems(folder, load_profile("full").other_methods)["outd"]


def committed(run):
    with FILE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row[0] == RUNS[run]]


def computed(run, folder):
    methods = of_ensembles(typed_run(run)[SURROGATE])
    return lines(RUNS[run], exact_deviations(problem(folder)), methods)


def test_ratios_of_the_ensembles_follow_from_committed_metrics():
    assert computed("full", SHIPPED_TABLES) == committed("full")[: len(ENSEMBLES)]


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published tables are not here")
def test_ratios_on_the_published_tables(tmp_path):
    import_tables(PUBLISHED, tmp_path)
    assert computed("full-authors", tmp_path) == committed("full-authors")[: len(ENSEMBLES)]


def test_exact_deviations_are_those_of_a_gaussian_process_and_leave_the_outputs_out():
    here = problem(SHIPPED_TABLES)
    other = GPRegressor(here.paper, noise=noise_std()).fit(here.X, here.y + 1.0)
    _, std = other.predict(here.test.X, return_std=True)
    assert exact_deviations(here) == pytest.approx(std)
