"""Answers in the notebooks that go beyond the paper; sentences.py has most of their numbers."""

import pytest

from docs.prose import cells
from fe_data import load_statistics
from figures.composite import REFERENCE
from figures.pipeline.paths import ROOT, notebooks, study_of
from tests.figures.report.committed import metrics, quoted
from tests.figures.report.sentences import KNOWLEDGE, METHODS

BEYOND = [str(path.relative_to(ROOT)) for path in notebooks() if study_of(path)]
ANSWER = "**Answer.** "


@pytest.mark.parametrize("page", BEYOND)
def test_every_question_has_an_answer_in_at_most_three_sentences_about_the_full_run(page):
    texts = [*cells(ROOT / page)]
    asked = [text for text in texts if text.startswith("## ") and "?" in text.split("\n")[0]]
    answers = [text for text in texts if text.startswith(ANSWER)]
    assert len(asked) == len(answers) > 1
    assert all("the full run" in text.lower() for text in answers)
    assert all(text.removeprefix(ANSWER).removeprefix("Yes. ").count(". ") <= 2 for text in answers)


def test_the_mean_of_the_prior_matters_more_than_its_covariance():
    priors = metrics("04c_ablation").found.priors
    off = {name: priors[name].rmse.mean - priors.published.rmse.mean for name in priors}
    assert off["theta_zero"] > max(abs(off[name]) for name in off if "theta" not in name)


def test_the_evidence_drops_the_inputs_that_the_paper_leaves_out():
    scores = metrics("05_other_methods").subsets.outd
    dropped = f"{len(scores.recovered)} of the {len(scores.left_out)} inputs"
    quoted(METHODS, "in the full run, the evidence drops", dropped)


def test_more_networks_do_not_lower_the_error():
    spans = metrics("05_other_methods").spans
    assert spans["1000"].rmse.mean >= spans["30"].rmse.mean


def test_the_noise_depends_on_the_inputs():
    std = load_statistics(REFERENCE).std
    assert (std.max(axis=0) > 10 * std.min(axis=0)).all()


def test_errors_of_curves():
    curve = metrics("06_prior_knowledge").curve
    names = ("50 RVEs, in distribution", "50 RVEs, out of distribution", "scatter")
    numbers = [f"{100 * curve[method][-1]:.2f} %" for method in names]
    quoted(KNOWLEDGE, "the error at the final strain", *numbers)
