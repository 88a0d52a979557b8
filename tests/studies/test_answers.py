"""Answers in the notebooks that go beyond the paper: each test computes the numbers of one."""

import pytest

from docs.prose import cells
from fe_data import load_statistics
from figures.composite import REFERENCE
from figures.pipeline.paths import ROOT, notebooks, study_of
from figures.scores import as_interval, written
from tests.figures.report.committed import metrics, quoted, verdicts

BEYOND = [str(path.relative_to(ROOT)) for path in notebooks() if study_of(path)]
ABLATION, METHODS, KNOWLEDGE, SELECTED, PATHS = BEYOND
ANSWER = "**Answer.** "


@pytest.mark.parametrize("page", BEYOND)
def test_every_question_has_an_answer_in_at_most_three_sentences_about_the_full_run(page):
    texts = [*cells(ROOT / page)]
    asked = [text for text in texts if text.startswith("## ") and "?" in text.split("\n")[0]]
    answers = [text for text in texts if text.startswith(ANSWER)]
    assert len(asked) == len(answers) > 1
    assert all("the full run" in text.lower() for text in answers)
    assert all(text.removeprefix(ANSWER).removeprefix("Yes. ").count(". ") <= 2 for text in answers)


def test_ablation():
    it = metrics("04c_ablation")
    rows = it.rows.outd
    gains = [
        as_interval(rows[f"vanilla_{method}"].rmse) - as_interval(rows[f"anchored_{method}"].rmse)
        for method in ("bootstrap_bounds", "likelihood_data")
    ]
    assert gains[1].sign == 1
    quoted(ABLATION, "anchoring still gains", *(written(gain, 3) for gain in gains))
    priors = it.found.priors
    rmse = [priors[method].rmse for method in ("published", "theta_reversed")]
    quoted(ABLATION, "it is the mean of the prior", *(written(method, 3) for method in rmse))
    others = [
        abs(priors[method].rmse.mean - rmse[0].mean) for method in priors if "theta" not in method
    ]
    assert priors.theta_zero.rmse.mean - rmse[0].mean > max(others)
    starts = it.found.starts
    assert starts.mean_alone.rmse.mean < starts.spread_alone.rmse.mean


def test_chosen_prior():
    it = metrics("05_other_methods")
    scores, exact = it.subsets.outd, it.exact.outd
    rmse = [written(exact[method].rmse, 3) for method in ("exact", "exact_evidence")]
    dropped = f"{len(scores.recovered)} of the {len(scores.left_out)} inputs"
    quoted(METHODS, "in the full run, the evidence drops", dropped, *rmse)


def test_reach_of_function_space():
    rows = metrics("05_other_methods").rows.outd
    methods = {"function_evidence": 4, "sampled_evidence": 3, "low_rank": 3}
    off = [f"{rows[method].mean_to_exact.mean:.{digits}f}" for method, digits in methods.items()]
    quoted(METHODS, "its mean differs from the exact mean", *off)


def test_parts_of_the_published_method():
    it = metrics("05_other_methods")
    rmse = [written(it.rows.outd[method].rmse, 3) for method in ("vanilla", "none")]
    quoted(METHODS, "the pre-trained initial weights lower the RMSE", *rmse)
    change = as_interval(it.differences_from_published.outd.none.rmse)
    assert abs(change.mean) + change.margin < 0.001


def test_more_networks():
    it = metrics("05_other_methods")
    many = it.spans["1000"]
    share = f"{100 * many.gradient_in_span.mean:.0f} % with 1000 networks"
    quoted(METHODS, "It acts on more directions", share)
    assert many.rmse.mean >= it.spans["30"].rmse.mean


def test_one_dimension():
    rows = metrics("05_other_methods").example["L = 1"]
    off = rows.low_rank["mean"].mean, rows.function["mean"].mean
    numbers = written(off[0], 2), written(off[1], 3)
    quoted(METHODS, "The mean of the published ensemble is", *numbers)


def test_correlated_noise():
    it = metrics("05_other_methods")
    kinds = it.exact_noise.outd
    rise = kinds.replicates.exact_evidence.elppd - kinds.replicates_diagonal.exact_evidence.elppd
    correlation = it.replicates.strongest_correlations["b_eff_MPa/nu_eff"]
    numbers = written(correlation, 2), written(rise, 0)
    quoted(METHODS, "the correlation of b and ν", *numbers)


def test_mean_field_model():
    it = metrics("06_prior_knowledge")
    alone = it.mean_fields_alone
    numbers = written(alone.rmse_fields, 3), written(alone.rmse_fields_textbook, 3)
    quoted(KNOWLEDGE, "its scaled RMSE of b, c, E and ν", *numbers)
    worth = [f"{few} and {it.cells[few]}" for few in ("25", "50")]
    quoted(KNOWLEDGE, "with a mean-field prior are as accurate", it.cells["10"], *worth)


def test_noise_by_input():
    std = load_statistics(REFERENCE).std
    assert (std.max(axis=0) > 10 * std.min(axis=0)).all()
    off = metrics("06_prior_knowledge").noise_off.median
    quoted(KNOWLEDGE, "Standard deviations vary more than tenfold", f"{100 * off:.0f} %")


def test_ensembles():
    rows = metrics("06_prior_knowledge").ensembles.outd
    inside = [
        f"{100 * rows[method].reference_coverage.mean:.0f} %" for method in ("vanilla", "low_rank")
    ]
    quoted(KNOWLEDGE, "contain 86 % of the reference means", *inside)


def test_curves():
    curve = metrics("06_prior_knowledge").curve
    names = ("50 RVEs, in distribution", "50 RVEs, out of distribution", "scatter")
    numbers = [f"{100 * curve[method][-1]:.2f} %" for method in names]
    quoted(KNOWLEDGE, "the error at the final strain", *numbers)


def test_selected():
    it = metrics("07_active_learning")
    quoted(SELECTED, "35 RVEs selected for the whole box are as accurate", it.cells.chosen.rmse)
    at_known = it.known
    std = at_known.chosen_for_worst["35"].worst_std.mean, at_known.hypercube["100"].worst_std.mean
    quoted(
        SELECTED,
        "In the tenth of the inputs where it is largest",
        *(written(value, 4) for value in std),
    )


def test_strain_paths():
    it = metrics("08_strain_paths")
    alone = it.mean_fields_alone
    fields = [
        written(1000 * alone[f"reference_{reference}"], 2) for reference in ("random", "cycles")
    ]
    quoted(PATHS, "thousandths of the variance of the stress", *fields)
    learnt = it.rows.reference_cycles["100"]
    error = written(1000 * learnt.error.mean, 2)
    quoted(PATHS, "its bands are too wide", fields[1], error, f"{100 * learnt.coverage.mean:.1f} %")
    assert verdicts(it, "coverage/reference_cycles") == [False]
    members = it.members["100"]
    numbers = written(members.off, 2), written(members.spread, 2)
    quoted(PATHS, "within sampling error", *numbers)
