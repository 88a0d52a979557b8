"""What notebook 05 found: claims with their numbers, paragraphs, and advice with what it costs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.beyond.methods import LABELS
from figures.beyond.tables import COMPARED, HEADINGS, Results, written
from figures.claims import Claim
from figures.scores import LARGER_IS_BETTER, Interval, is_better

ADVISED, RIVALS = "function_evidence", ("low_rank", "vanilla", "function")
REPLICATES = ("of replicates", "of replicates, diagonal")  # kinds of Σ_noise
Rows = Mapping[str, Mapping[str, Interval]]  # method → number → interval
NEGLIGIBLE = 0.5  # of the standard deviation between seeds, below which two methods are alike
# What functional anchoring is to reach with 30 networks and 50 test cells, by training set and
# number of training cells: RMSE and miscalibration at most, ELPPD at least.
TARGETS: dict[tuple[str, int], dict[str, dict[str, float]]] = {
    ("outd", 50): {
        "function": {"rmse": 0.18, "miscalibration": 0.075, "elppd": 30},
        "function_evidence": {"rmse": 0.13, "miscalibration": 0.08, "elppd": 150},
    },
    ("ind25", 25): {"function": {"elppd": 0}, "function_evidence": {"rmse": 0.16, "elppd": 150}},
    ("ind50", 50): {"function": {"elppd": 160}, "function_evidence": {"rmse": 0.12, "elppd": 230}},
    ("ind100", 100): {
        "function": {"elppd": 240}, "function_evidence": {"rmse": 0.10, "elppd": 280},
    },
}  # fmt: skip


def claims(results: Results) -> list[Claim]:
    """Claims with our numbers and whether these bear them out."""
    rows = results.cases[results.first]
    seen, random = (rows["low_rank"][name] for name in ("gradient_in_span", "dimension"))
    in_span = _claim(
        "The published regulariser sees less of the data's gradient than of a random direction",
        {"in span(V)": seen.mean, "of a random direction": random.mean},
        seen.mean + seen.margin < random.mean,
    )
    return [
        *(_alike(rows, score) for score in COMPARED),
        _compared(rows, "none", "vanilla", "rmse"),
        _compared(rows, "none", "random_low_rank", "rmse"),
        in_span,
        _compared(rows, "function", "low_rank", "elppd"),
        _compared(rows, "function_evidence", "function", "rmse"),
        _compared(rows, "function_evidence", "function", "elppd"),
        *([_noise_claim(results)] if results.noise else []),
        *_targets(results),
    ]


def _claim(words: str, ours: Mapping[str, Any], holds: bool | None) -> Claim:
    return Claim("Beyond", words, ours, holds)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _compared(rows: Rows, first: str, second: str, score: str) -> Claim:
    """The claim that the first method is better."""
    return _claim(
        f"{_capital(LABELS[first])} has a better {HEADINGS[score][0]} than {LABELS[second]}",
        {LABELS[method]: rows[method][score].mean for method in (first, second)},
        is_better(rows[first][score], rows[second][score], score),
    )


def _alike(rows: Rows, score: str) -> Claim:
    difference = rows["low_rank"][score] - rows["none"][score]
    largest, deviation = abs(difference.mean) + difference.margin, rows["low_rank"][score].std
    return _claim(
        f"{HEADINGS[score][0]} with and without the published regulariser, from the same start, "
        "differs by less than half of the standard deviation between seeds",
        {"largest difference": largest} | ({"between seeds": deviation} if deviation else {}),
        None if deviation is None else largest < NEGLIGIBLE * deviation,
    )


def _noise_claim(results: Results) -> Claim:
    elppd = {
        case: [kinds[kind]["exact_evidence"]["elppd"] for kind in REPLICATES]
        for case, kinds in results.exact_noise.items()
    }
    return _claim(
        "Correlations of the noise raise the ELPPD of the exact posterior, prior by evidence",
        {case: full - diagonal for case, (full, diagonal) in elppd.items()},
        all(full > diagonal for full, diagonal in elppd.values()),
    )


def _targets(results: Results) -> list[Claim]:
    """Claims that targets are met; none where the sizes are not those of the targets."""
    sizes = results.sizes
    if (sizes["n_members"], sizes["n_test"]) != (30, 50):
        return []
    return [
        _reached(results, case, method, targets)
        for (case, count), methods in TARGETS.items()
        if sizes["n_train"].get(case) == count
        for method, targets in methods.items()
    ]


def _reached(results: Results, case: str, method: str, targets: Mapping[str, float]) -> Claim:
    """The claim that a method has scores no worse than the targets."""
    row = results.cases[case][method]
    exact = results.exact[case][method.replace("function", "exact")]
    words = ", ".join(
        f"{HEADINGS[score][0]} {'≥' if score in LARGER_IS_BETTER else '≤'} {limit:g}"
        for score, limit in targets.items()
    )
    met = (
        (row[score].mean >= limit) if score in LARGER_IS_BETTER else (row[score].mean <= limit)
        for score, limit in targets.items()
    )
    ours: dict[str, Any] = {HEADINGS[score][0]: row[score].mean for score in targets}
    ours["exact posterior"] = {HEADINGS[score][0]: exact[score] for score in targets}
    return _claim(f"{_capital(LABELS[method])}, {results.label(case)}: {words}", ours, all(met))


def paragraphs(results: Results) -> list[str]:
    """What the paper claims and what was measured."""
    rows, exact = results.cases[results.first], results.exact[results.first]["exact"]
    sizes, published = results.sizes, rows["low_rank"]
    (_, fewest), *_, (most_networks, most) = results.spans.items()

    def number(method: str, name: str) -> str:
        return written(rows[method][name], name)

    rmse, miscalibration, elppd = (
        written(published[score] - rows["none"][score], score) for score in COMPARED
    )
    return [
        "The paper claims that the correlated (low-rank) weight prior, learnt from the pre-trained "
        "networks, carries the functional prior into the trained ensemble. Measured: leaving the "
        f"regulariser out changes, with the same start and data, the RMSE by {rmse}, the "
        f"miscalibration by {miscalibration} and the ELPPD by {elppd} (95 % intervals over "
        f"{sizes['repeats']} paired seeds), while the pre-trained start alone changes the RMSE "
        f"from {number('vanilla', 'rmse')} to {number('none', 'rmse')}. With the regulariser but a "
        f"random start it is {number('random_low_rank', 'rmse')}.",
        "The reason: the regulariser sees "
        f"{published['gradient_in_span'].mean:.1%} of the squared gradient of the data term, where "
        f"a random direction would show it {published['dimension'].mean:.1%}; the data are fitted "
        f"along the rest. Its penalty ends at {number('low_rank', 'penalty')}, and at "
        f"{number('none', 'penalty')} when nothing is penalised. More pre-trained networks let it "
        f"see {most['gradient_in_span'].mean:.1%} ({most_networks}) and change the ELPPD from "
        f"{written(fewest['elppd'], 'elppd')} to {written(most['elppd'], 'elppd')}.",
        "The posterior that the paper's prior and noise define is known in closed form: RMSE "
        f"{written(exact['rmse'], 'rmse')}, ELPPD {written(exact['elppd'], 'elppd')}. "
        f"As published the ensemble reaches an ELPPD of {number('low_rank', 'elppd')}; "
        f"{sizes['n_members']} exact draws reach {number('sampled', 'elppd')}, functional "
        f"anchoring {number('function', 'elppd')}.",
        "With variance and length scales chosen by the evidence on the training cells, functional "
        f"anchoring reaches RMSE {number('function_evidence', 'rmse')} and ELPPD "
        f"{number('function_evidence', 'elppd')}. One dimension, mean and standard deviation: "
        f"{'; '.join(map(_distances, *zip(*results.example.items(), strict=True)))}.",
    ]


def _distances(case: str, rows: Mapping[str, Mapping[str, Interval]]) -> str:
    """Distances to the exact posterior of one dimension, in words."""
    published, function, sampled = (
        f"{written(rows[method]['mean'].mean, 'mean')} and {rows[method]['std'].mean:.0%}"
        for method in ("low_rank", "function", "sampled")
    )
    return (
        f"{case}: {published} as published, {function} by functional anchoring, {sampled} for as "
        "many draws from the exact posterior"
    )


def noise_sentence(correlation: np.ndarray, freedom: int) -> str:
    """Words on the correlations (5, 5) within groups of replicates, with degrees of freedom."""
    rows, columns = np.triu_indices(len(OUTPUT_NAMES), 1)
    pairs = sorted(zip(rows, columns, strict=True), key=lambda pair: -abs(correlation[pair]))
    strongest = ", ".join(
        f"{OUTPUT_NAMES[i]} and {OUTPUT_NAMES[j]} {correlation[i, j]:.2f}" for i, j in pairs[:3]
    )
    return (
        "The paper takes the noise of the outputs as independent. Within groups of replicates "
        f"({freedom} degrees of freedom) they are not: strongest correlations "
        f"{strongest.replace('-', '−')}."
    )


def advice(results: Results) -> str:
    """What to use, with every score in which that is behind another method."""
    compared = {
        (rival, case, score): is_better(rows[ADVISED][score], rows[rival][score], score)
        for rival in RIVALS
        for case, rows in results.cases.items()
        for score in COMPARED
    }
    wins, losses = (list(compared.values()).count(answer) for answer in (True, False))
    behind = [place for place, better in compared.items() if better is False]
    opening = "What to use" if wins > losses else "No method is ahead of all others"
    return (
        f"{opening}: functional anchoring with a prior by evidence "
        "(FunctionAnchoredEnsemble, bnn.evidence.fit_prior) has the better RMSE, "
        f"miscalibration or ELPPD in {wins} of {len(compared)} comparisons with the published "
        "ensemble, the vanilla one and the paper's prior, and the worse one in "
        f"{losses}{_losses(results, behind)}.{_remedy(results, behind)}"
    )


def _losses(results: Results, behind: list[tuple[str, str, str]]) -> str:
    """The comparisons that are lost, by training set and score."""
    rivals: dict[tuple[str, str], list[str]] = {}
    for rival, case, score in behind:
        shown = written(results.cases[case][rival][score], score)
        rivals.setdefault((case, score), []).append(f"{shown} of {LABELS[rival]}")
    words = [
        f"{results.label(case)}: {HEADINGS[score][0]} "
        f"{written(results.cases[case][ADVISED][score], score)} against {', '.join(others)}"
        for (case, score), others in rivals.items()
    ]
    return f" ({'; '.join(words)})" if words else ""


def _remedy(results: Results, behind: list[tuple[str, str, str]]) -> str:
    """More members, where an ELPPD is lost that the exact posterior would not lose."""
    few = []
    for case, rows in results.cases.items():
        ahead = [rows[rival]["elppd"].mean for rival, *lost in behind if lost == [case, "elppd"]]
        exact = results.exact[case]["exact_evidence"]["elppd"]
        if ahead and exact > max(ahead):
            few.append(f"{written(exact, 'elppd')} ({results.label(case)})")
    if not few:
        return ""
    return (
        f" The posterior itself has an ELPPD of {', '.join(few)}: there "
        f"{results.sizes['n_members']} members are too few, and more are needed the "
        "farther predictions leave the data."
    )
