"""Committed claims and advice follow from the committed numbers."""

import pytest
from pydantic import TypeAdapter

from figures.composite.scores import MethodScores, WeightSpaceScores
from figures.example_1d import metrics as example_1d
from figures.materials_surrogate import surrogate
from figures.scores import Interval
from studies.ablation import claims as ablation
from studies.ablation.ensembles import EnsembleScores
from studies.ablation.reasons import Experiments
from studies.active_learning import findings as active_learning
from studies.active_learning.study import Errors
from studies.other_methods import findings as other_methods
from studies.other_methods.tables import Results
from studies.prior_knowledge import findings as prior_knowledge
from studies.prior_knowledge.study import ReferenceScores
from studies.strain_paths import findings as strain_paths
from studies.strain_paths.study import Errors as PathErrors
from studies.strain_paths.study import Members
from tests.figures.report.committed import committed_run

RUNS = [
    (run, name)
    for run, names in (("full", "02 04 04b 04c 05 06 07 08"), ("full-authors", "04 05"))
    for name in names.split()
]


def of(kind, content):
    """Scores of the metrics file as objects of their class, by as many names as `kind` has."""
    return TypeAdapter(kind).validate_python(content)


def made_again(name, metrics):
    """Claims from the numbers of a metrics file."""
    rows = metrics["rows"]
    if name == "02":
        return example_1d.claims(of(dict[str, example_1d.RegionMetrics[Interval]], rows))
    if name in ("04", "04b"):
        rows = of(dict[str, surrogate.OutputScores[Interval]], rows["published"])
        if name == "04b":
            return surrogate.comparison_claims(rows, metrics["n_train"])
        seed = metrics["provenance"]["seed"]
        claims_again = surrogate.claims(rows, metrics["prior_mean"], metrics["n_train"])
        return [*claims_again, *surrogate.prior_function_claims(metrics["theta"], seed)]
    if name == "04c":
        one = dict[str, EnsembleScores[Interval]]
        claims_again = dict(metrics["found"])
        for claim in set(claims_again) - {"evidence"}:
            two = claim in ("epochs", "sizes")
            claims_again[claim] = of(dict[str, one] if two else one, claims_again[claim])
        return ablation(of(dict[str, one], rows), Experiments(**claims_again))
    if name == "05":
        return other_methods.claims(results(metrics))
    if name == "06":
        alone, off = metrics["mean_fields_alone"]["rmse_fields"], metrics["noise_off"]
        scores = of(dict[str, dict[str, ReferenceScores[Interval]]], rows)
        return prior_knowledge.claims(scores, alone, off["median"], off["corners"])
    if name == "07":
        kind = dict[str, dict[int, Errors[Interval]]]
        return active_learning.claims(of(kind, rows), of(kind, metrics["known"]))
    scores = of(dict[str, dict[int, PathErrors[Interval]]], rows)
    members = of(dict[int, Members], metrics["members"])
    return strain_paths.claims(scores, metrics["mean_fields_alone"], max(members), members)


def results(metrics):
    rows = {
        case: {
            name: of((WeightSpaceScores if "penalty" in row else MethodScores)[Interval], row)
            for name, row in methods.items()
        }
        for case, methods in metrics["rows"].items()
    }
    sizes = {name: metrics[name] for name in ("repeats", "n_members", "n_test", "n_train")}
    exact = of(dict[str, dict[str, MethodScores[float]]], metrics["exact"])
    exact_noise = of(dict[str, dict[str, dict[str, MethodScores[float]]]], metrics["exact_noise"])
    return Results(rows, exact, {}, {}, {}, metrics["noise"], exact_noise, **sizes)


@pytest.mark.parametrize(("run", "name"), RUNS)
def test_claims_follow_from_the_numbers(run, name):
    (metrics,) = [m for notebook, m in committed_run(run).items() if notebook.split("_")[0] == name]
    by_id = {notebook.id: notebook.holds for notebook in made_again(name, metrics)}
    assert by_id == {notebook["id"]: notebook["holds"] for notebook in metrics["claims"]}


def test_rves_that_are_worth_as_much_and_the_advice_follow_from_the_numbers():
    run = committed_run("full")
    it = run["06_prior_knowledge"]
    rows = of(dict[str, dict[str, ReferenceScores[Interval]]], it["rows"])
    assert prior_knowledge.equivalents(rows, it["mean_fields_alone"]["rmse_fields"]) == it["cells"]
    it = run["07_active_learning"]
    rows = of(dict[str, dict[int, Errors[Interval]]], it["rows"])
    assert active_learning.equivalents(rows) == it["cells"]
    it = run["08_strain_paths"]
    rows = of(dict[str, dict[int, PathErrors[Interval]]], it["rows"])
    assert strain_paths.leaving(rows) == it["outside"]
    it = run["05_other_methods"]
    assert other_methods.advice(results(it).cases) == it["advice"]
