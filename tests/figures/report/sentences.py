"""Sentences of the pages and the article that quote numbers of committed metrics, as a table.

Each entry has a page, words with which exactly one of its paragraphs is found, and the numbers that
the paragraph must quote. A number is a line

    NOTEBOOK[@RUN] path/to/the/number [- path/of/another] [FORMAT]

or, after "=", a text. A second path is subtracted, repeat by repeat. Words in braces are
alternatives, of which each gives a number; a star after them is the same word. Formats are

- `.2`: two decimals, with the margin that the file has
- `±2`: with half the width of the 95 % interval
- `m2`: the mean of a difference, without a margin
- `%1`: in per cent
- `‰2`: in thousandths

Numbers that must be computed stand in test_sentences.py.
"""

import re
from collections.abc import Iterator
from typing import Any

from figures.pipeline.paths import ROOT
from figures.scores import as_interval, written
from tests.figures.report.committed import metrics

README = "README.md"
FINDINGS = "docs/findings.md"
VERDICTS = "docs/verdicts.md"
CODE = "docs/published_code.md"
ARTICLE = "article/article.typ"
ABSTRACT = "article/metadata.yaml"
ABLATION = "studies/ablation/04c_ablation.ipynb"
METHODS = "studies/other_methods/05_other_methods.ipynb"
KNOWLEDGE = "studies/prior_knowledge/06_prior_knowledge.ipynb"
SELECTED = "studies/active_learning/07_active_learning.ipynb"
PATHS = "studies/strain_paths/08_strain_paths.ipynb"
RUNS = {"": "full", "authors": "full-authors", "rebuilt": "six-rebuilt"}
FORMAT = re.compile(r"[.±m%‰]\d")
UNTUNED = "bootstrap_bounds,likelihood_bounds,bootstrap_data,likelihood_data"
GAINS_OF_CHOICES = [
    f"04c rows/outd/vanilla_{{{UNTUNED},tuned,tuned_start}}/rmse - rows/outd/anchored_*/rmse .3",
    f"04c rows/outd/anchored_{{{UNTUNED},tuned,tuned_start}}/elppd - rows/outd/vanilla_*/elppd .0",
    f"04c rows/outd/anchored_{{{UNTUNED},tuned,tuned_start}}/elppd_normal"
    " - rows/outd/vanilla_*/elppd_normal .0",
]
# Gains in RMSE with 25 RVEs
IN_DISTRIBUTION = [
    "04c rows/ind25/vanilla_bootstrap_bounds/rmse - rows/ind25/anchored_bootstrap_bounds/rmse .3",
    "05@authors rows/ind25/low_rank/rmse - rows/ind25/vanilla/rmse .3",
    "05@authors repeats",
]
GAINS_OVER_DATASETS = [
    "04b repeats",
    "04b gains/{rmse,elppd,miscalibration}/all_outputs/positive",
    "04b gains/{rmse,miscalibration}/all_outputs/gain ±3",
    "04b gains/{rmse,miscalibration}/all_outputs/printed .2",
    "04b gains/elppd/all_outputs/gain ±0",
]

SENTENCES = {
    README: {
        "Anchoring helps out of distribution": [
            "04b gains/rmse/all_outputs/gain ±3",
            "04b@rebuilt gains/rmse/all_outputs/gain ±3",
            "= 0.076",
        ],
        "Settings matter.": [
            "04c rows/outd/vanilla_bootstrap_bounds/rmse"
            " - rows/outd/anchored_bootstrap_bounds/rmse .3",
            "04c rows/outd/vanilla_{bootstrap_data,likelihood_data,tuned}/rmse"
            " - rows/outd/anchored_*/rmse m3",
        ],
        "RMSEs of scaled outputs": ["04c draws"],
    },
    ABSTRACT: {
        "anchored ensembling": [
            "04b repeats",
            "04b gains/rmse/all_outputs/positive",
            "04b gains/rmse/all_outputs/gain ±3",
            "04b gains/rmse/all_outputs/printed .2",
            "04c rows/outd/vanilla_{bootstrap_bounds,likelihood_data,tuned,tuned_start}/rmse"
            " - rows/outd/anchored_*/rmse .3",
        ],
    },
    FINDINGS: {
        "Without the correlated regulariser": [
            "= less than 0.001",
        ],
        "The published regulariser changes nothing.": [
            "05 rows/outd/low_rank/gradient_in_span/mean %1",
            "05 spans/1000/gradient_in_span/mean %0",
        ],
        "Pre-trained initial weights alone give the full gain in RMSE.": [
            "05{,@authors} rows/outd/{vanilla,none,low_rank}/rmse .3",
        ],
        "If both ensembles use likelihood resampling": [
            *GAINS_OF_CHOICES[:2],
            "04c draws",
            "04c chosen/outd/anchored/start_random",
        ],
        "The prior mean sets the error": [
            "04c experiments",
            "04c found/priors/{published,theta_reversed}/rmse .3",
            "04c found/epochs/vanilla/600/rmse .3",
            "04c found/starts/{mean_alone,spread_alone}/rmse .3",
        ],
        "In one dimension the exact posterior fits the data even less closely": [
            "02 rows/{exact,factorised,anchored} 1/rmse/mean .3",
            "02 rows/{factorised,anchored} 1/to_exact/mean/mean .2",
        ],
        "The paper shows no vanilla ensemble in distribution.": [
            "04c draws",
            "04c rows/{ind50,ind100}/vanilla_bootstrap_bounds/elppd"
            " - rows/*/anchored_bootstrap_bounds/elppd .0",
            *IN_DISTRIBUTION,
        ],
        "Over 24 datasets anchoring lowers the RMSE": [
            *GAINS_OVER_DATASETS,
            "= {0.24,0.16}",
            "= {0.076,0.074}",
        ],
        "All datasets keep the authors' subsets": [
            "04c experiments",
            "04c found/priors/{inputs_all,published}/elppd m0",
        ],
        "Thirty samples score far below the exact posterior": [
            "05{,@authors} rows/outd/sampled/elppd .0",
            "05{,@authors} exact/outd/exact/elppd .0",
        ],
        "With 10 training RVEs a mean-field prior lowers the RMSE": [
            "06 draws",
            "06 rows/ind10/{fitted,by_input}/reference_rmse_fields .3",
            "06 cells/{10,50}",
            "06 rows/{ind10,ind50,outd}/fitted/elppd - rows/*/by_input/elppd .0",
            "06 rows/{ind10,ind50,outd}/by_input/elppd - rows/*/evidence/elppd .0",
        ],
        "One outlier reverses the ranking of the noise models": [
            "03@authors n/noise",
            "03@authors scatter_density/noise/{by_input,constant} .2",
            "03@authors scatter_density/noise/{by_input,constant}_without_farthest .2",
        ],
        "The vanilla ensemble is overconfident about the mean response": [
            "04c {draws,repeats}",
            "04c rows/outd/{vanilla,anchored}_bootstrap_bounds/reference_coverage .2",
        ],
        "The number of networks changes the ELPPD, not the gain": [
            "04c experiments",
            "04c found/sizes/vanilla/members_{10,100}/rmse"
            " - found/sizes/anchored/members_*/rmse .3",
        ],
        "With a prior from the marginal likelihood (evidence)": [
            "06 rows/outd/{paper,evidence}/rmse .3",
            "04c rows/outd/anchored_bootstrap_bounds/rmse .3",
        ],
        "use function-space anchoring": ["05 advice/miscalibration/worse"],
        "A mean-field model needs fewer training RVEs.": [
            "06 mean_fields_alone/{rmse_fields,rmse_fields_textbook} .3",
        ],
        "comes from the authors' inputs. Six": [
            "04b@rebuilt gains/rmse/all_outputs/gain ±3",
            "04b gains/rmse/all_outputs/below_printed",
        ],
    },
    ARTICLE: {
        "The correlated regulariser is inert.": [
            "05{,@authors} rows/outd/low_rank/{gradient_in_span,dimension}/mean %1",
            "05{,@authors} differences_from_published/outd/none/rmse .4",
            "05{,@authors} differences_from_published/outd/none/elppd .1",
        ],
        "On new datasets anchoring is better than the vanilla ensemble": [
            *GAINS_OVER_DATASETS,
            "04c experiments",
            "04c found/priors/{inputs_all,published}/rmse .3",
            "04c found/priors/{inputs_all,published}/elppd .0",
            "04c found/priors/inputs_all/rmse - found/priors/published/rmse .3",
            "= {0.076,0.074}",
        ],
        # The article has the others in a table.
        "The gain of anchoring comes from the pre-trained initial weights.": [
            "05 rows/outd/{vanilla,none,low_rank,random_low_rank}/rmse .3",
        ],
        "Most of the gain disappears when both ensembles are resampled by the likelihood": [
            *GAINS_OF_CHOICES,
            "04c draws",
            "04c chosen/outd/{anchored,vanilla}/start_random",
            "04c rows/outd/vanilla_likelihood_data/rmse .3",
            "04c rows/outd/vanilla_likelihood_data/rmse"
            " - rows/outd/anchored_bootstrap_bounds/rmse .3",
            "04c rows/ind25/vanilla_tuned/rmse - rows/ind25/anchored_tuned/rmse .4",
            "04c rows/ind25/{vanilla,anchored}_tuned/elppd_normal .0",
        ],
        "In distribution the vanilla ensemble as published": [
            "04c rows/{ind25,ind50,ind100}/vanilla_bootstrap_bounds/elppd"
            " - rows/*/anchored_bootstrap_bounds/elppd .0",
            *IN_DISTRIBUTION,
            "04c rows/{ind50,ind100}/vanilla_likelihood_bounds/rmse"
            " - rows/*/anchored_likelihood_bounds/rmse .4",
        ],
        "The initial weights carry above all the mean of the prior": [
            "04c experiments",
            "04c found/priors/{published,theta_zero,theta_reversed}/rmse .3",
            "04c found/priors/{lengths_double,subsets_exchanged}/rmse .3",
            "04c found/epochs/vanilla/600/rmse .3",
            "04c found/starts/{mean_alone,spread_alone}/rmse .3",
            "04c found/epochs/vanilla/600/rmse - found/epochs/anchored/600/rmse .3",
            "04c found/epochs/vanilla/10000/rmse - found/epochs/anchored/10000/rmse .3",
            "04c found/priors/{lengths_double,published}/elppd .0",
        ],
        "The exact posterior of the paper's prior has a better ELPPD": [
            "06 rows/outd/{paper,evidence}/rmse .3",
        ],
        "Why is the gain half as large?": [
            "04b@rebuilt gains/rmse/all_outputs/gain ±3",
            "04@authors rows/published/outd_vanilla/rmse - rows/published/outd_anchored/rmse .3",
        ],
        "the prior has an ELPPD of": [
            "04@authors rows/published/{ind25,ind50,ind100}_anchored/rmse/mean .3",
            "04b@rebuilt rows/published/{ind25,ind50,ind100}_anchored/rmse/mean .3",
            "04b rows/published/prior/elppd ±0",
            "04b rows/published/ind25_anchored/rmse ±3",
            "04@authors rows/published/prior/elppd ±0",
        ],
        "The claims on the weights are met": [
            "01 distances/published/A/{generalised_normal,factorised,low_rank}/wasserstein/mean .2",
        ],
        "correlations matter more than tails for the Wasserstein distance": [
            "01 distances/published/{C,D}/{low_rank,factorised}/width/mean .2",
        ],
        "With the constrained prior the vanilla ensemble is not more certain": [
            "02 rows/{vanilla,anchored 1}/std/{gap,right} ±3",
            "02 rows/{anchored 0.1,vanilla}/drift ±2",
            "02 rows/exact 0.1/drift/mean .2",
            "02 rows/{anchored 0.1,vanilla,exact 0.1}/std/{left,right}/mean .2",
        ],
        "With correct anchors it does not have less uncertainty": [
            "02 rows/anchored {0.1,1}/drift ±1",
        ],
        "With either anchors it fits the data": ["02 rows/exact 1/rmse/mean .3"],
        "Over 24 datasets the information of b_m differs": [
            "03 table_2/value/{b_eff_MPa,c_eff}/b_m_MPa ±2",
        ],
        "anchoring does not lower the RMSE of every output": [
            "04@authors improvement/rmse/c_eff ±2",
            "04b improvement/rmse/c_eff ±2",
            "04b improvement/rmse/E_eff_GPa - improvement/rmse/b_eff_MPa .2",
            "= {0.153,0.118}",
        ],
        "In Fig. 14 only the calibration of p_σ is as in the paper.": [
            "04b rows/published/outd_anchored/coverage ±3",
        ],
    },
    VERDICTS: {
        "Correlations matter more than tails for priors A, B and D": [
            "01 distances/published/C/{low_rank,factorised}/width/mean .2",
        ],
        "Three of nine comparisons differ.": [],
        "Four of six claims are met with the paper's code": [],
        "Over 24 datasets the mutual information of b_m": [
            "03 table_2/value/{b_eff_MPa,c_eff}/b_m_MPa ±2",
        ],
        "Two of 19 comparisons differ.": [
            "04@authors rows/published/prior/elppd ±0",
        ],
        "Anchoring raises the RMSE of c_eff": [
            "04@authors rows/published/outd_vanilla/by_output/rmse/c_eff m3",
            "= 0.153",
            "04b improvement/rmse/E_eff_GPa - improvement/rmse/b_eff_MPa .2",
        ],
        "The paper's miscalibration falls with more training RVEs. Ours does not": [],
        "The vanilla ensemble is overconfident": [
            "04b rows/published/outd_anchored/coverage ±3",
        ],
    },
    "docs/active_learning.md": {
        "The accuracy is the RMSE against the reference data": [
            "07 seeds",
            "07 rows/chosen/35/rmse .4",
            "07 cells/chosen/rmse",
        ],
        "Scores are means over": [
            "07 seeds",
            "07 rows/hypercube/{35,50}/rmse - rows/chosen/35/rmse .4",
            "07 rows/chosen/35/rmse - rows/hypercube/100/rmse .4",
        ],
    },
    "docs/paths.md": {
        "The table averages over the three stresses": [
            "08 mean_fields_alone/reference_tension ‰2",
            "08 rows/reference_tension/100/error/mean ‰2",
        ],
    },
    # The answers in the notebooks beyond the paper
    ABLATION: {
        "anchoring still gains": [
            "04c rows/outd/vanilla_{bootstrap_bounds,likelihood_data}/rmse"
            " - rows/outd/anchored_*/rmse .3",
        ],
        "it is the mean of the prior": ["04c found/priors/{published,theta_reversed}/rmse .3"],
    },
    METHODS: {
        "in the full run, the evidence drops": ["05 exact/outd/{exact,exact_evidence}/rmse .3"],
        "its mean differs from the exact mean": [
            "05 rows/outd/function_evidence/mean_to_exact/mean .4",
            "05 rows/outd/{sampled_evidence,low_rank}/mean_to_exact/mean .3",
        ],
        "the pre-trained initial weights lower the RMSE": ["05 rows/outd/{vanilla,none}/rmse .3"],
        "It acts on more directions": ["05 spans/1000/gradient_in_span/mean %0"],
        "The mean of the published ensemble is": [
            "05 example/L = 1/low_rank/mean/mean .2",
            "05 example/L = 1/function/mean/mean .3",
        ],
        "the correlation of b and ν": [
            "05 replicates/strongest_correlations/b_eff_MPa|nu_eff .2",
            "05 exact_noise/outd/replicates/exact_evidence/elppd"
            " - exact_noise/outd/replicates_diagonal/exact_evidence/elppd m0",
        ],
    },
    KNOWLEDGE: {
        "its scaled RMSE of b, c, E and ν": [
            "06 mean_fields_alone/{rmse_fields,rmse_fields_textbook} .3",
        ],
        "with a mean-field prior are as accurate": ["06 cells/{10,25,50}"],
        "Standard deviations vary more than tenfold": ["06 noise_off/median %0"],
        "contain 86 % of the reference means": [
            "06 ensembles/outd/{vanilla,low_rank}/reference_coverage/mean %0",
        ],
    },
    SELECTED: {
        "35 RVEs selected for the whole box are as accurate": ["07 cells/chosen/rmse"],
        "In the tenth of the inputs where it is largest": [
            "07 known/{chosen_for_worst/35,hypercube/100}/worst_std/mean .4",
        ],
    },
    PATHS: {
        "thousandths of the variance of the stress": [
            "08 mean_fields_alone/reference_{random,cycles} ‰2",
        ],
        "its bands are too wide": [
            "08 mean_fields_alone/reference_cycles ‰2",
            "08 rows/reference_cycles/100/error/mean ‰2",
            "08 rows/reference_cycles/100/coverage/mean %1",
        ],
        "within sampling error": ["08 members/100/{off,spread} .2"],
    },
}


def expanded(line: str) -> Iterator[str]:
    """Yield a line for each combination of alternatives."""
    if "{" not in line:
        yield line
        return
    before, words, after = re.split(r"\{(.*?)\}", line, maxsplit=1)
    for word in words.split(","):
        yield from expanded(before + word + after.replace("*", word))


def value(line: str) -> Any:
    """Return the number of a line without a format; a difference is an interval."""
    notebook, _, places = line.partition(" ")
    prefix, _, run = notebook.partition("@")
    content = metrics(_stem(prefix), RUNS[run])
    first, *others = (_at(content, place) for place in places.split(" - "))
    return as_interval(first) - as_interval(*others) if others else first


def text(line: str) -> str:
    """Return the number of a line as the page writes it."""
    if line.startswith("= "):
        return line.removeprefix("= ")
    if not FORMAT.fullmatch(line[-2:]):
        return str(value(line))
    number = value(line[:-3])
    kind, decimals = line[-2], int(line[-1])
    if kind == "%":
        return written(100 * number, decimals) + " %"
    if kind == "‰":
        return written(1000 * number, decimals)
    if kind == "m":  # of a difference
        return written(number.mean, decimals)
    return written(as_interval(number) if kind == "±" else number, decimals)


def _stem(prefix: str) -> str:
    """Name of the notebook with a number, such as 04b."""
    folders = (ROOT / "notebooks", *(ROOT / "studies").glob("*/"))
    (stem,) = {path.stem for folder in folders for path in folder.glob(f"{prefix}_*.ipynb")}
    return stem


def _at(content: Any, place: str) -> Any:
    """Return what stands at a place; a bar is a slash in a key."""
    for key in place.split("/"):
        content = content[key.replace("|", "/")]
    return content
