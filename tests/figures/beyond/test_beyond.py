"""Notebook 05 in small: every method runs, is repeatable, and its findings read its numbers."""

import dataclasses
import json
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml

from bnn.noise import noise_covariance
from figures.beyond import panels as beyond_panels
from figures.beyond.advice import RIVALS, advice
from figures.beyond.example_1d import distances, run_example
from figures.beyond.findings import claims, noise_sentence, paragraphs
from figures.beyond.methods import (
    EXACT_LABELS,
    FUNCTION_LABELS,
    LABELS,
    exact_rows,
    input_files,
    load_problems,
    run_repeats,
    run_spans,
)
from figures.beyond.noise import problems_under_noise, run_noise
from figures.beyond.priors import relevance
from figures.beyond.scores import SCORES
from figures.beyond.tables import Results, tables
from figures.beyond.weights import METHODS
from figures.pipeline.profiles import load_profile
from figures.pipeline.run_notebook import execute, find_notebook
from figures.pipeline.settings import Beyond, ProfileError, validated
from figures.scores import Interval, over_repeats

BRIEF = {
    "cases": {
        "outd": {"design": "train_beta", "count": 10},
        "ind25": {"design": "train_uniform", "count": 4},
    },
    "repeats": 2, "n_members": 3, "n_pretrained": 4, "prior_points": 30, "pretrain_epochs": 3,
    "epochs": 2, "converged_epochs": 4, "spans": [3, 6], "function_pretrain_epochs": 3,
    "function_points": 5, "small_repeats": 1, "noise_repeats": 1, "example_repeats": 1,
    "example_members": 3, "example_pretrained": 4, "example_epochs_scale": 0.01,
}  # fmt: skip


@pytest.fixture(scope="module")
def settings():
    return validated(Beyond, BRIEF, "beyond")


@pytest.fixture(scope="module")
def problems(tables, settings):
    return load_problems(tables, settings)


@pytest.fixture(scope="module")
def repeats(problems, settings):
    return run_repeats(problems, settings, seed=1)


@pytest.fixture(scope="module")
def results(problems, repeats, settings):
    """What the notebook puts together, without noise: the folder has no replicates."""
    example = over_repeats(distances([run_example(1.0, settings, seed=1)]), Interval)
    return Results(
        cases={case: over_repeats(rows, Interval) for case, rows in repeats.items()},
        exact=exact_rows(problems),
        spans=over_repeats(run_spans(problems["outd"], settings, seed=1), Interval),
        example={"L = 1": example},
        relevance={"outd": relevance(problems["outd"].evidence, "θ·vf")},
        noise={},
        exact_noise={},
        sizes={"repeats": 2, "n_members": 3, "n_test": 6, "n_train": {"outd": 10}},
    )


def changed(results, exact=(), sizes=None, **rows):
    """Results of one training set in which some scores are others.

    Args:
        results: To begin with.
        exact: Scores of the exact posterior with the prior by evidence.
        sizes: Of the run.
        rows: Method → score → values.
    """
    cases, closed = dict(results.cases["outd"]), dict(results.exact["outd"])
    for method, numbers in rows.items():
        values = {score: Interval(tuple(each)) for score, each in numbers.items()}
        cases[method] = {**cases[method], **values}
    closed["exact_evidence"] = closed["exact_evidence"] | dict(exact)
    return dataclasses.replace(
        results, cases={"outd": cases}, exact={"outd": closed}, sizes=sizes or results.sizes
    )


def test_designs_that_the_folder_lacks_are_left_out(results):
    assert list(results.cases) == ["outd"]


def test_every_file_that_is_read_is_an_input(tables, settings, tmp_path):
    shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    names = {path.name for path in input_files(tmp_path, settings)}
    assert names == {"train_beta.csv", "test_uniform.csv", "02_example_1d.csv"}
    for design in ("train_uniform", "replicates", "noise"):
        shutil.copy(tables / "train_beta.csv", tmp_path / f"{design}.csv")
    added = {path.name for path in input_files(tmp_path, settings)} - names
    assert added == {"train_uniform.csv", "replicates.csv", "noise.csv"}


def test_every_method_is_there_with_every_number(repeats):
    """The slow one in the first repeat only; diagnostics where there are weights to look at."""
    first, second = repeats["outd"]
    assert set(first) == set(METHODS) | set(FUNCTION_LABELS)
    assert set(first) - set(second) == {"function_small"}
    for numbers in first.values():
        assert {*SCORES, "mean_to_exact", "std_to_exact"} <= set(numbers)
        assert np.isfinite(list(numbers.values())).all()
    assert 0 <= first["low_rank"]["gradient_in_span"] <= 1
    assert first["low_rank"]["dimension"] == pytest.approx(3 / 1465)


def test_repeats_are_paired_and_differ(repeats):
    """The same start and data: two epochs hardly tell whether anything is penalised."""
    first, second = repeats["outd"]
    assert first["none"]["rmse"] == pytest.approx(first["low_rank"]["rmse"], rel=1e-3)
    assert abs(first["none"]["rmse"] - second["none"]["rmse"]) > 1e-3


def test_more_networks_see_more_of_the_gradient(results):
    assert list(results.spans) == ["K = 3", "K = 6"]
    seen = [row["gradient_in_span"].values for row in results.spans.values()]
    assert np.all(np.array(seen[1]) > np.array(seen[0]))


def test_functional_anchoring_comes_as_near_as_exact_draws(results):
    """And every method in weight space stays farther away."""
    away = {name: row["mean"].mean for name, row in results.example["L = 1"].items()}
    assert max(away["function"], away["sampled"]) < 0.2 * min(away[name] for name in METHODS)
    assert away["exact"] == 0


def test_scores_are_labelled_without_a_number_of_cells(results):
    figure = beyond_panels.methods(results.cases["outd"], results.exact["outd"])
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["RMSE (scaled)", "miscalibration", "ELPPD, sum over test cells"]
    plt.close(figure)


def test_tables_hold_each_method_and_fit_their_headers(results):
    found = tables(results)
    for table in found:
        assert all(len(row) == len(table.header) for row in table.rows), table.caption
    labels = [row[0] for row in found[0].rows]
    names = set(METHODS) | set(FUNCTION_LABELS) | set(EXACT_LABELS)
    assert {label.removesuffix(" (1 of 2 seeds)") for label in labels} == {LABELS[n] for n in names}
    assert any(label.endswith("(1 of 2 seeds)") for label in labels)


def test_words_follow_the_numbers(results):
    """A regulariser that does something is said to; one that does nothing, too."""
    for low_rank, alike in (([0.5, 0.6], False), ([1.0, 1.1], True)):
        rmse = {"none": [1.0, 1.1], "low_rank": low_rank, "vanilla": [1.2, 1.3]}
        other = changed(results, **{name: {"rmse": values} for name, values in rmse.items()})
        (found,) = [c for c in claims(other) if c.claim.startswith("RMSE with and without")]
        assert found.holds is alike
        assert "1.050 ± " in paragraphs(other)[0]


def advised(results, exact_elppd=145.0, **elppd):
    """The advice, where the rivals score alike but for the ELPPD that is given."""
    rows = {}
    for name in ("function_evidence", *RIVALS):
        rmse, density = 0.1 if name == "function_evidence" else 0.2, elppd.get(name, 100.0)
        values = {"rmse": rmse, "miscalibration": 0.1, "elppd": density}
        rows[name] = {score: [value, value] for score, value in values.items()}
    return advice(changed(results, {"elppd": exact_elppd}, **rows))


def test_the_advice_says_where_it_loses(results):
    words = advised(results)
    assert words.startswith("What to use: ")
    assert "in 3 of 9 comparisons" in words
    assert words.endswith("the worse one in 0.")
    words = advised(results, function_evidence=-301.0, low_rank=-186.0, vanilla=-84.0)
    assert "the worse one in 3 (" in words
    assert "ELPPD −301 ± 0 against −186 ± 0 of" in words
    assert "−84 ± 0 of" in words
    assert "The posterior itself has an ELPPD of 145" in words


def test_more_members_are_advised_only_where_they_help(results):
    words = advised(results, exact_elppd=-400.0, function_evidence=-301.0)
    assert words.startswith("No method is ahead of all others: ")  # 3 better, 3 worse
    assert "members" not in words


def test_targets_are_judged_at_their_sizes_only(results):
    assert not any("≤" in claim.claim for claim in claims(results))
    sizes = {"repeats": 2, "n_members": 30, "n_test": 50, "n_train": {"outd": 50}}
    for miscalibration, expected in ((0.07, True), (0.09, False)):
        scores = {"rmse": [0.12], "miscalibration": [miscalibration], "elppd": [160.0]}
        sized = changed(results, sizes=sizes, function_evidence=scores)
        judged = [c for c in claims(sized) if "prior by evidence, out of" in c.claim]
        assert [c.holds for c in judged] == [expected]


def test_noise_study_runs_under_each_covariance(problems, settings):
    problem = problems["outd"]
    covariance = noise_covariance(problem.data.noise, 5) + 0.001
    tasks = problems_under_noise({"outd": problem}, covariance)["outd"]
    found = run_noise(tasks, settings, seed=1)
    assert list(found) == ["of the paper", "of replicates, diagonal", "of replicates"]
    assert all(set(rows) == set(found["of the paper"]) for rows in found.values())
    exact = exact_rows(tasks)
    assert list(exact) == list(found)
    assert exact["of the paper"] == exact_rows({"outd": problem})["outd"]
    words = noise_sentence(np.eye(5) - 0.4 * np.eye(5)[::-1], 12)
    assert "12 degrees of freedom" in words
    assert "b_eff_MPa and p_sigma −0.40" in words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"repeats": 0},
            "beyond.repeats = 0 is not allowed: input should be greater than or equal to 1",
        ),
        ({"cases": {}}, "beyond.cases = {} is not allowed: dictionary should have at least 1 item"),
        (
            {"n_members": 5},
            "beyond.n_members = 5 is not allowed: at most the 3 pre-trained networks",
        ),
        ({"wrong": 1}, "beyond: unknown field 'wrong'"),
        (
            {"repeats": None},
            "beyond.repeats = None is not allowed: input should be a valid integer",
        ),
        ({"spans": 3}, "beyond.spans = 3 is not allowed: input should be a valid tuple"),
        (
            {"spans": [3, "x"]},
            "beyond.spans.1 = 'x' is not allowed: input should be a valid integer",
        ),
        ({"cases": [1]}, "beyond.cases"),
        (
            {"cases": {"outd": {"design": "train_beta"}}},
            "beyond.cases.outd: field 'count' is missing",
        ),
        (
            {"example_epochs_scale": 0},
            "beyond.example_epochs_scale = 0.* is not allowed: input should be greater than 0",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(change, message):
    with pytest.raises(ProfileError, match=message):
        validated(Beyond, BRIEF | change, "beyond")


def test_profiles_that_come_with_the_project_are_valid():
    for name in ("quick", "full"):
        assert load_profile(name).beyond.cases
    assert load_profile("full").beyond.repeats >= 20


def test_the_notebook_writes_its_section(tables, profile_content, tmp_path):
    profile = tmp_path / "brief.yaml"
    designs = ["train_beta", "train_uniform", "test_uniform"]
    content = profile_content | {
        "datasets": {"train_beta": 10, "train_uniform": 4, "test_uniform": 6},
        "notebooks": {"05_beyond_the_paper": designs},
        "beyond": BRIEF,
    }
    profile.write_text(yaml.safe_dump(content))
    parameters = {"profile": str(profile), "data_dir": str(tables), "out_dir": str(tmp_path)}
    execute(find_notebook("05_beyond_the_paper"), parameters)
    metrics = json.loads((tmp_path / "05_beyond_the_paper.json").read_text())
    assert metrics["section"]["paragraphs"]
    assert "data/02_example_1d.csv" in metrics["provenance"]["inputs_sha256"]
    assert all(claim["about"] == "Beyond" for claim in metrics["claims"])
    for name in metrics["figures"]:
        assert (tmp_path / name).stat().st_size > 5000
