"""The published ensemble with the prior from the evidence."""

import csv

import numpy as np

from bnn import RBF, GaussianProcessPrior
from figures.composite.scores import MethodScores
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.settings import Case, OtherMethods
from figures.scores import Interval, written
from studies.other_methods import equal_knowledge
from studies.other_methods.equal_knowledge import FILE, METHOD, SCORES, anchored
from studies.other_methods.methods import Repeat
from studies.other_methods.problems import Problem, load_problems
from tests.figures.report.committed import metrics, quoted

BRIEF = OtherMethods(
    cases={"outd": Case(design="train_beta", count=12)},
    n_members=3,
    n_pretrained=4,
    prior_points=30,
    pretrain_epochs=3,
    epochs=2,
)


def test_networks_are_pre_trained_to_the_prior_from_the_evidence(monkeypatch):
    def of_mean(_, mean, *_estimate):
        return GaussianProcessPrior(0.0, RBF(1.0, 1.0 + len(mean)), 5)

    monkeypatch.setattr(Problem, "by_evidence", of_mean)  # a search takes seconds
    problem = load_problems(SHIPPED_TABLES, BRIEF)["outd"]
    priors = []
    plain = Repeat.for_weights

    def for_weights(repeat, prior, *more):
        priors.append(prior)
        return plain(repeat, prior, *more)

    monkeypatch.setattr(Repeat, "for_weights", for_weights)
    row = anchored(problem, Repeat(BRIEF, 1))
    assert priors == [problem.evidence]
    assert np.isfinite([getattr(row, score) for score in SCORES]).all()


def test_the_committed_table_has_each_score_on_both_kinds_of_tables():
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    scores = [(row["tables"], row["method"], row["score"]) for row in rows]
    assert scores == [(t, METHOD, s) for t in ("our tables", "published tables") for s in SCORES]
    assert [*rows[0]] == equal_knowledge.HEADER
    assert {row["seeds"] for row in rows} == {"3"}


def test_the_findings_quote_the_table():
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = {(row["tables"], row["score"]): row for row in csv.DictReader(file)}
    numbers = []
    for tables in ("our tables", "published tables"):
        for score, digits in (("rmse", 3), ("elppd", 0)):
            row = rows[tables, score]
            number = {"mean": float(row["mean"]), "std": float(row["half_width"])}
            numbers.append(written(number, digits))
    double = written(metrics("04c_ablation").found.priors.lengths_double.rmse, 3)
    begin = "With equal knowledge the published ensemble is not as good"
    quoted("docs/findings.md", begin, *numbers[::2], double)  # RMSE
    quoted("article/article.typ", "The exact posterior of the paper's prior", *numbers[:2])


def test_lines_are_means_with_half_widths():
    values = Interval((1.0, 2.0))
    row = MethodScores(values, values, values, values, values)
    first = equal_knowledge.lines("made", row)[0]
    assert first == ["made", METHOD, "2", "rmse", "1.5", f"{values.half_width:.4g}"]
