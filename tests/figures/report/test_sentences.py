"""Every sentence that quotes numbers of committed metrics quotes them as they are.

Most numbers stand in the table of sentences.py. Functions below compute the others, each under the
sentences that quote them: a page, and words with which exactly one of its paragraphs is found.
"""

import csv

import numpy as np
import pytest
from scipy import stats

from figures.composite import problem
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile
from figures.report.comparison import DIFFERS, NOT_COMPARABLE, PARTLY, REPRODUCED
from figures.report.tables import RUNS
from figures.scores import Interval, as_interval, written
from tests.figures.report.committed import metrics, ours, quoted
from tests.figures.report.sentences import (
    ABSTRACT,
    ARTICLE,
    CODE,
    FINDINGS,
    README,
    SENTENCES,
    VERDICTS,
    expanded,
    text,
    value,
)
from tests.figures.report.test_findings import EPOCHS, allowed_gain, entries

FULL = "full"
AUTHORS = "full-authors"  # trained on the published tables
UNTRAINED = ("Fig. 9", "Fig. 10", "Table 2", "Fig. 11")  # on the published tables: no simulation
COMPUTED = []  # page, beginning and function of the numbers


def quotes(*places):
    """Enter a function into the table, for places: a page and words of the paragraph."""

    def entered(function):
        COMPUTED.extend((*place, function) for place in places)
        return function

    return entered


@pytest.mark.parametrize(
    ("page", "beginning"), [(page, words) for page, rows in SENTENCES.items() for words in rows]
)
def test_a_sentence_of_the_table_quotes_its_numbers(page, beginning):
    lines = [line for row in SENTENCES[page][beginning] for line in expanded(row)]
    quoted(page, beginning, *map(text, lines))


def half_width(number, decimals):
    """The mean of a number with half the width of its 95 % interval."""
    return written(as_interval(number), decimals)


def all_written(numbers, decimals):
    return [written(number, decimals) for number in numbers]


def percent(share, decimals=0):
    return written(100 * share, decimals) + " %"


def ends(numbers, decimals):
    """The smallest and the largest number, as the ends of a range."""
    return f"{written(min(numbers), decimals)} to {written(max(numbers), decimals)}"


def percents(shares):
    return f"{written(100 * min(shares), 0)} to {percent(max(shares))}"


@quotes(
    (ARTICLE, "On new datasets anchoring is better than the vanilla ensemble"),
    (FINDINGS, "Over 24 datasets anchoring lowers the RMSE"),
)
def probability_of_the_calibration():
    gain = metrics("04b_repeated_datasets").gains.miscalibration.all_outputs.gain
    return [f"Wilcoxon p = {stats.wilcoxon(as_interval(gain).values).pvalue:.2f}"]


def ratios_of_std(run):
    """Mean standard deviations over those of the exact posterior: of all outputs, then of each."""
    with (ROOT / "docs" / "tables" / "deviations.csv").open(encoding="utf-8", newline="") as file:
        rows = {row[1]: row[3:] for row in csv.reader(file) if row[0] == RUNS[run]}
    kinds = ("anchored, published", "anchored, standard", "vanilla, published", "function", "30 s")
    return [row for kind in kinds for name, row in rows.items() if name.startswith(kind)]


@pytest.mark.parametrize("run", [FULL, AUTHORS])
def test_the_standard_deviation_of_p_sigma_is_overestimated_least(run):
    """tests/studies/other_methods tests the file."""
    anchored = ratios_of_std(run)[0]
    assert anchored[-1] == min(anchored)


def range_of_std():
    of_outputs = [float(ratio) for ratio in ratios_of_std(FULL)[0][1:]]
    return f"{min(of_outputs):.1f} to {max(of_outputs):.1f} times"


def all_ratios(run):
    return [f"{float(row[0]):.2f}" for row in ratios_of_std(run)]


@quotes((FINDINGS, "The standard deviations of the anchored ensemble are about"))
def overestimated_std():
    *_, vanilla, function, _ = all_ratios(FULL)
    return "about 1.5 times", range_of_std(), vanilla, function


@quotes((ARTICLE, "The ensemble overestimates the standard deviation."))
def standard_deviations_in_the_article():
    return *all_ratios(FULL), *all_ratios(AUTHORS)[:2], range_of_std()


@quotes((FINDINGS, "A better prior helps more than a better method."))
def better_prior():
    theirs, over = metrics("05_other_methods", AUTHORS).exact, metrics("06_prior_knowledge").rows
    shares = [
        {case: 1 - theirs[case].exact_evidence.rmse / theirs[case].exact.rmse for case in theirs},
        {case: 1 - over[case].evidence.rmse.mean / over[case].paper.rmse.mean for case in theirs},
    ]
    inside = [share for run in shares for case, share in run.items() if case != "outd"]
    return *(percent(run["outd"]) for run in shares), percents(inside)


def gain_of_correlations(case, run=FULL):
    kinds = metrics("05_other_methods", run).exact_noise[case]
    full, diagonal = kinds.replicates, kinds.replicates_diagonal
    return full.exact_evidence.elppd - diagonal.exact_evidence.elppd


@quotes((FINDINGS, "Estimate Σ_noise with correlations"))
def correlated_noise():
    inside = ends([gain_of_correlations(case) for case in ("ind25", "ind50", "ind100")], 0)
    outside = gain_of_correlations("outd"), -gain_of_correlations("outd", AUTHORS)
    return inside, *all_written(outside, 0)


@quotes((FINDINGS, "use function-space anchoring"))
def advice():
    return [
        f"{score.better} of {score.of}" for score in metrics("05_other_methods").advice.values()
    ]


@quotes((FINDINGS, "Out of distribution: 30 %"))
def how_far_out():
    it = metrics("04b_repeated_datasets")
    return map(percent, [sum(it.outside) / it.repeats, min(it.outside), max(it.outside)])


@quotes((FINDINGS, "Noise from replicates raises the ELPPD."))
def worth_of_replicates():
    def gain(more, fewer):
        rows = metrics("06_prior_knowledge").rows.values()
        return ends([models[more].elppd.mean - models[fewer].elppd.mean for models in rows], 0)

    return gain("covariance", "evidence"), gain("by_input", "covariance")


@quotes((FINDINGS, "Both make the model overconfident about f."))
def coverages_of_f():
    models = ("evidence", "by_input", "fields", "default")
    rows = metrics("06_prior_knowledge").rows.values()
    return [percents([row[model].reference_coverage.mean for row in rows]) for model in models]


def coverages_by_input():
    rows = metrics("06_prior_knowledge").rows
    cases = ("ind10", "ind100", "outd")
    return [rows[case].default_by_input.reference_coverage.mean for case in cases]


@quotes(("docs/explanation_gp.md", "the function f without noise, with noise=heteroscedastic"))
def range_of_coverage_by_input():
    rounded = [float(written(100 * coverage, 1)) for coverage in coverages_by_input()]
    return [f"{min(rounded):.0f} to {max(rounded):.0f} %"]


def met_in(run=FULL):
    """Whether each comparison with the paper is met."""
    return [met for entry in entries(run).values() for met in entry.of_paper]


@quotes((README, "The paper is largely reproduced"))
def reproduced():
    met = met_in()
    return f"{met.count(True)} of {len(met)} are met", f"{met.count(False)} differ"


def trained_on_published_tables():
    """Whether each comparison is met that trains networks on the published tables."""
    places = entries(AUTHORS).items()
    return [met for place, e in places if place not in UNTRAINED for met in e.of_paper]


@quotes((ABSTRACT, "anchored ensembling"))
def met_on_published_tables():
    met, trained = met_in(AUTHORS), trained_on_published_tables()
    return (
        f"{met.count(True)} of {len(met)} comparisons are met",
        f"{trained.count(True)} of the {len(trained)} that train networks",
    )


@quotes((README, "The paper is largely reproduced"))
def met_on_published_tables_in_the_readme():
    trained = trained_on_published_tables()
    return [f"{trained.count(True)} of the {len(trained)} comparisons that train networks"]


@quotes(
    (VERDICTS, "On the authors' own tables"),
    (ARTICLE, "@verdicts has the verdict on each figure and table."),
)
def met_on_published_tables_and_others():
    others = len(met_in(AUTHORS)) - len(trained_on_published_tables())
    return *met_on_published_tables(), others


@quotes(
    (VERDICTS, "Over 24 datasets the mutual information"),
    (ARTICLE, "Over 24 datasets the information of b_m differs"),
)
def met_of_table_2():
    met = entries(AUTHORS)["Table 2"].of_paper
    return [f"{len(met)} of {len(met)}"]


@quotes(
    (VERDICTS, "Anchoring raises the RMSE of c_eff"),
    (ARTICLE, "anchoring does not lower the RMSE of every output"),
)
def seeds_that_raise_c_eff():
    gains = metrics("04_materials_surrogate", AUTHORS).improvement.rmse.c_eff["values"]
    return [f"{sum(gain < 0 for gain in gains)} of {len(gains)} seeds"]


def not_judged():
    """The number of comparisons with printed numbers that nothing can judge."""
    printed = [entry for entry in entries().values() if entry.item.printed_in_paper]
    checks = [check for e in printed for row in e.rows.values() for check in row.values()]
    return sum(check.verdict == NOT_COMPARABLE for check in checks)


@quotes((ARTICLE, "@verdicts has the verdict on each figure and table."))
def numbers_of_verdicts():
    met = met_in()
    partly = ", ".join(place for place, e in entries().items() if e.verdict == PARTLY)
    counts = (met.count(True), met.count(None), met.count(False))
    return len(met), *counts, not_judged(), partly.replace(", Fig. 14", " and Fig. 14 are partly")


@quotes((VERDICTS, "Another 30 reported numbers are not counted"), (ARTICLE, "Limitations."))
def not_judged_numbers():
    return [not_judged()]


def variances_of_W1():
    values = metrics("01_prior_study").table_1.published.B.W1["values"]
    return written(Interval(tuple(1000 * value for value in values)), 1), len(values)


def judged_in_table_1():
    rows = entries()["Table 1"].rows.values()
    checks = [check for row in rows for check in row.values()]
    return sum(check.verdict in {REPRODUCED, DIFFERS} for check in checks)


@quotes((VERDICTS, "for prior B the variance of W1"))
def variance_of_W1():
    return *variances_of_W1(), f"One of {judged_in_table_1()}"


@quotes((ARTICLE, "For prior B the variance of W1"))
def variance_of_W1_in_the_article():
    table = metrics("01_prior_study").table_1
    first = [[table[how][p].all["values"][0] for p in "ABCD"] for how in ("proper", "published")]
    smaller = [percent(1 - proper / published) for proper, published in zip(*first, strict=True)]
    return *variances_of_W1(), *smaller, f"one number of {judged_in_table_1()}"


@quotes((CODE, "average variance is"))
def optimisers_of_the_weight_study():
    table = metrics("01_prior_study").table_1
    values = table.published.A.all["values"]
    return ends(values, 4), written(table.proper.A.all.mean, 4)


@quotes((CODE, "what the published code does | effect | here | |---|---|---| | Fig. 7"))
def epochs_of_fig_7():
    return EPOCHS


@quotes((CODE, "Realisations of the prior are clipped"))
def clipped_prior():
    return [problem.LOWEST_OUTPUT]


@quotes((CODE, "Standard deviations have the divisor K"))
def divisor_of_std():
    few = load_profile("full").surrogate.n_members
    return percent(1 - ((few - 1) / few) ** 0.5, 1), few


@quotes((ARTICLE, "correlations matter more than tails for the Wasserstein distance"))
def distances_of_priors_c_and_d():
    it = metrics("01_prior_study")
    C, D = ours(it, "closest/C"), ours(it, "closest/D")
    kinds = ("low_rank", "factorised")
    return *(written(C[kind].mean, 2) for kind in kinds), *(
        half_width(D[kind], 2) for kind in kinds
    )


@quotes((ARTICLE, "With the constrained prior the vanilla ensemble is not more certain"))
def left_side_of_fig_6():
    left = ours(metrics("02_example_1d"), "guided/left")
    sampled = [half_width(number, 3) for number in list(left.values())[1::-1]]
    return *sampled, written(left["exact 0.1"].mean, 3)


@quotes(
    (ARTICLE, "Over 24 datasets the information of b_m differs"),
    (VERDICTS, "Over 24 datasets the mutual information of b_m"),
)
def subsets_of_a_dataset():
    return [ours(metrics("03_materials_data"), "subsets").most_in_a_draw.split(" (")[0]]


@quotes((VERDICTS, "Two of 19 comparisons differ."))
def allowed_difference_of_the_gain():
    return [written(allowed_gain(), 3)]


def nats_from_the_paper():
    """How far the ELPPD of the prior is from the paper's: on its tables, and over datasets."""
    means = (
        value("04@authors rows/published/prior/elppd/mean"),
        value("04b rows/published/prior/elppd/mean"),
    )
    return [mean + 4100 for mean in means]


@quotes((ARTICLE, "the prior has an ELPPD of"))
def table_3_in_the_article():
    rmse = metrics("04b_repeated_datasets").rows.published.ind25_anchored.rmse["values"]
    reach = sum(number >= 0.185 for number in rmse)
    return f"{reach} of {len(rmse)}", *(f"{nats:.0f}" for nats in nats_from_the_paper())


def test_the_verdict_on_table_3_counts_its_comparisons():
    quoted(VERDICTS, f"Two of {len(entries()['Table 3'].of_paper)} comparisons differ.")


@quotes((ARTICLE, "anchoring does not lower the RMSE of every output"))
def datasets_with_a_gain_of_c_eff():
    it = metrics("04b_repeated_datasets")
    return [f"positive in {it.gains.rmse.c_eff.positive} of {it.repeats}"]


@quotes((ARTICLE, "anchoring does not lower the RMSE of every output"))
def baseline_of_c_eff():
    """On the authors' table their vanilla ensemble is worse than ours, with anchoring better."""
    rows = metrics("04_materials_surrogate", AUTHORS).rows.published
    vanilla, anchored = (
        as_interval(rows[f"outd_{name}"].by_output.rmse.c_eff) for name in ("vanilla", "anchored")
    )
    off = (0.153 - vanilla.mean) / (vanilla.std * (1 + 1 / len(vanilla.values)) ** 0.5)
    scores = [f"{rmse.mean:.3f} ± {rmse.std:.3f}" for rmse in (vanilla, anchored)]
    return *scores, "0.153", "0.118", f"{off:.1f} standard deviations"


@quotes(
    (ARTICLE, "In Fig. 14 only the calibration of p_σ is as in the paper."),
    (VERDICTS, "Only the claim about p_σ is met."),
)
def calibration_by_output():
    it = metrics("04b_repeated_datasets")
    pairs = [ours(it, f"calibration/{name}") for name in ("c_eff", "E_eff_GPa")]
    return all_written([number for pair in pairs for number in (pair.anchored, pair.vanilla)], 3)


@quotes((ARTICLE, "In Fig. 14 only the calibration of p_σ is as in the paper."))
def datasets_with_better_calibration_of_E_eff():
    return [f"only {metrics('04b_repeated_datasets').gains.miscalibration.E_eff_GPa.positive}"]


@quotes(
    (FINDINGS, "A part of the difference comes from the authors' inputs."),
    (ARTICLE, "Out of distribution our RVEs at the published inputs"),
    (ABSTRACT, "With our RVEs at the published inputs"),
)
def gain_of_the_published_inputs():
    """Difference of two means, by Welch's test."""
    rebuilt, drawn = (
        as_interval(metrics("04b_repeated_datasets", run).gains.rmse.all_outputs.gain).values
        for run in ("six-rebuilt", FULL)
    )
    per_mean = [np.var(gains, ddof=1) / len(gains) for gains in (rebuilt, drawn)]
    degrees = sum(per_mean) ** 2 / sum(
        variance**2 / (len(gains) - 1)
        for variance, gains in zip(per_mean, (rebuilt, drawn), strict=True)
    )
    margin = stats.t.ppf(0.975, degrees) * sum(per_mean) ** 0.5
    return [f"{written(np.mean(rebuilt) - np.mean(drawn), 3)} ± {written(margin, 3)}"]


@quotes((VERDICTS, "anchored ensembles are affordable"))
def cost_of_an_ensemble():
    it = metrics("04_materials_surrogate")
    trained = len(it.rows) * it.repeats
    minutes = written(it.provenance.wall_time_s / 60, 0)
    return f"{trained} times", f"{minutes} minutes"


@pytest.mark.parametrize(("page", "beginning", "numbers"), COMPUTED)
def test_a_sentence_quotes_computed_numbers(page, beginning, numbers):
    quoted(page, beginning, *numbers())
