"""What notebook 05 found: claims with their numbers, paragraphs, and advice with what it costs."""

from collections.abc import Mapping

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.beyond.methods import LABELS
from figures.beyond.scores import Distance, Row
from figures.beyond.tables import COMPARED, HEADINGS, Results, written
from figures.claims import Claim
from figures.pipeline.settings import PAPER_COUNTS, PAPER_TEST
from figures.scores import LARGER_IS_BETTER, Interval

ABOUT = "Beyond"  # what the claims are about
Rows = Mapping[str, Row[Interval]]  # by method
ADVISED, RIVALS = "function_evidence", ("low_rank", "vanilla", "function")
REPLICATES = ("of replicates", "of replicates, diagonal")  # kinds of Σ_noise
NEGLIGIBLE = 0.5  # of the standard deviation between seeds, below which two methods are alike
# What functional anchoring is to reach with 30 networks and the paper's numbers of cells, by
# training set: RMSE and miscalibration at most, ELPPD at least.
TARGETS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("outd", "function", {"rmse": 0.18, "miscalibration": 0.075, "elppd": 30}),
    ("outd", "function_evidence", {"rmse": 0.13, "miscalibration": 0.08, "elppd": 150}),
    ("ind25", "function", {"elppd": 0}),
    ("ind25", "function_evidence", {"rmse": 0.16, "elppd": 150}),
    ("ind50", "function", {"elppd": 160}),
    ("ind50", "function_evidence", {"rmse": 0.12, "elppd": 230}),
    ("ind100", "function", {"elppd": 240}),
    ("ind100", "function_evidence", {"rmse": 0.10, "elppd": 280}),
)


def claims(results: Results) -> list[Claim]:
    """Claims with our numbers and whether these bear them out."""
    rows = results.cases[results.first]
    seen, random = results.published.gradient_in_span, results.published.dimension
    in_span = (
        "The published regulariser sees less of the data's gradient than of a random direction"
    )
    ours = {"in span(V)": seen.mean, "of a random direction": random.mean}
    at_size = (results.n_members, results.n_test) == (30, PAPER_TEST)
    return [
        *(_alike(rows, score) for score in COMPARED),
        _compared(rows, "none", "vanilla", "rmse"),
        _compared(rows, "none", "random_low_rank", "rmse"),
        Claim(ABOUT, in_span, ours, seen.mean + seen.margin < random.mean),
        _compared(rows, "function", "low_rank", "elppd"),
        _compared(rows, "function_evidence", "function", "rmse"),
        _compared(rows, "function_evidence", "function", "elppd"),
        *([_noise_claim(results)] if results.noise else []),
        *(
            _reached(results, case, method, limits)
            for case, method, limits in TARGETS
            if at_size and results.n_train.get(case) == PAPER_COUNTS[case]
        ),
    ]


def _compared(rows: Rows, first: str, second: str, score: str) -> Claim:
    """The claim that the first method is better."""
    name, better, worse = HEADINGS[score][0], LABELS[first].capitalize(), LABELS[second]
    ours = {LABELS[method]: getattr(rows[method], score).mean for method in (first, second)}
    holds = rows[first].is_better(rows[second], score)
    return Claim(ABOUT, f"{better} has a better {name} than {worse}", ours, holds)


def _alike(rows: Rows, score: str) -> Claim:
    difference = getattr(rows["low_rank"] - rows["none"], score)
    largest = abs(difference.mean) + difference.margin
    deviation = getattr(rows["low_rank"], score).std
    words = (
        f"{HEADINGS[score][0]} with and without the published regulariser, from the same start, "
        "differs by less than half of the standard deviation between seeds"
    )
    if deviation is None:
        return Claim(ABOUT, words, {"largest difference": largest}, None)
    ours = {"largest difference": largest, "between seeds": deviation}
    return Claim(ABOUT, words, ours, largest < NEGLIGIBLE * deviation)


def _noise_claim(results: Results) -> Claim:
    gains = {}
    for case, kinds in results.exact_noise.items():
        full, diagonal = (kinds[kind]["exact_evidence"].elppd for kind in REPLICATES)
        gains[case] = full - diagonal
    words = "Correlations of the noise raise the ELPPD of the exact posterior, prior by evidence"
    return Claim(ABOUT, words, gains, min(gains.values()) > 0)


def _reached(results: Results, case: str, method: str, limits: Mapping[str, float]) -> Claim:
    """The claim that a method has scores no worse than some limits."""
    prior = method.replace("function", "exact")
    row, exact = results.cases[case][method], results.exact[case][prior]
    words, ours, best, met = [], {}, {}, True
    for score, limit in limits.items():
        name, larger = HEADINGS[score][0], score in LARGER_IS_BETTER
        ours[name], best[name] = getattr(row, score).mean, getattr(exact, score)
        words.append(f"{name} {'≥' if larger else '≤'} {limit:g}")
        met &= ours[name] >= limit if larger else ours[name] <= limit
    claim = f"{LABELS[method].capitalize()}, {results.label(case)}: {', '.join(words)}"
    return Claim(ABOUT, claim, ours | {"exact posterior": best}, met)


def paragraphs(results: Results) -> list[str]:
    """What the paper claims and what was measured."""
    rows, exact = results.cases[results.first], results.exact[results.first]["exact"]
    published, free, evidence = results.published, rows["none"], rows["function_evidence"]
    rmse, miscalibration, elppd = (written(published - free, score) for score in COMPARED)
    (_, fewest), *_, (most_networks, most) = results.spans.items()
    return [
        "The paper claims that the correlated (low-rank) weight prior, learnt from the pre-trained "
        "networks, carries the functional prior into the trained ensemble. Measured: leaving the "
        f"regulariser out changes, with the same start and data, the RMSE by {rmse}, the "
        f"miscalibration by {miscalibration} and the ELPPD by {elppd} (95 % intervals over "
        f"{results.repeats} paired seeds), while the pre-trained start alone changes the RMSE "
        f"from {written(rows['vanilla'], 'rmse')} to {written(free, 'rmse')}. With the "
        f"regulariser but a random start it is {written(rows['random_low_rank'], 'rmse')}.",
        "The reason: the regulariser sees "
        f"{published.gradient_in_span.mean:.1%} of the squared gradient of the data term, where "
        f"a random direction would show it {published.dimension.mean:.1%}; the data are fitted "
        f"along the rest. Its penalty ends at {written(published, 'penalty')}, and at "
        f"{written(free, 'penalty')} when nothing is penalised. More pre-trained networks let it "
        f"see {most.gradient_in_span.mean:.1%} ({most_networks}) and change the ELPPD from "
        f"{written(fewest, 'elppd')} to {written(most, 'elppd')}.",
        "The posterior that the paper's prior and noise define is known in closed form: RMSE "
        f"{written(exact, 'rmse')}, ELPPD {written(exact, 'elppd')}. As published the ensemble "
        f"reaches an ELPPD of {written(published, 'elppd')}; {results.n_members} exact draws reach "
        f"{written(rows['sampled'], 'elppd')}, functional anchoring "
        f"{written(rows['function'], 'elppd')}.",
        "With variance and length scales chosen by the evidence on the training cells, functional "
        f"anchoring reaches RMSE {written(evidence, 'rmse')} and ELPPD "
        f"{written(evidence, 'elppd')}. One dimension, mean and standard deviation: "
        f"{'; '.join(map(_distances, *zip(*results.example.items(), strict=True)))}.",
    ]


def _distances(case: str, rows: Mapping[str, Distance[Interval]]) -> str:
    """Distances to the exact posterior of one dimension, in words."""
    published, function, sampled = (
        f"{rows[method].mean.mean:.3f} and {rows[method].std.mean:.0%}"
        for method in ("low_rank", "function", "sampled")
    )
    draws = f"{sampled} for as many draws from the exact posterior"
    return f"{case}: {published} as published, {function} by functional anchoring, {draws}"


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
        (case, score, rival): rows[ADVISED].is_better(rows[rival], score)
        for case, rows in results.cases.items()
        for score in COMPARED
        for rival in RIVALS
    }
    wins, losses = (list(compared.values()).count(answer) for answer in (True, False))
    ahead: dict[tuple[str, str], list[str]] = {}  # training set and score → rivals that are ahead
    for (case, score, rival), better in compared.items():
        if better is False:
            ahead.setdefault((case, score), []).append(rival)
    details = f" ({'; '.join(_loss(results, *each) for each in ahead.items())})" if ahead else ""
    opening = "What to use" if wins > losses else "No method is ahead of all others"
    return (
        f"{opening}: functional anchoring with a prior by evidence "
        "(FunctionAnchoredEnsemble, bnn.evidence.fit_prior) has the better RMSE, "
        f"miscalibration or ELPPD in {wins} of {len(compared)} comparisons with the published "
        "ensemble, the vanilla one and the paper's prior, and the worse one in "
        f"{losses}{details}.{_remedy(results, ahead)}"
    )


def _loss(results: Results, place: tuple[str, str], rivals: list[str]) -> str:
    """A score in which the advised method is behind rivals, in words."""
    case, score = place
    rows, name = results.cases[case], HEADINGS[score][0]
    against = ", ".join(f"{written(rows[rival], score)} of {LABELS[rival]}" for rival in rivals)
    return f"{results.label(case)}: {name} {written(rows[ADVISED], score)} against {against}"


def _remedy(results: Results, ahead: Mapping[tuple[str, str], list[str]]) -> str:
    """More members, where an ELPPD is lost that the exact posterior would not lose."""
    few = []
    for (case, score), rivals in ahead.items():
        exact, rows = results.exact[case]["exact_evidence"], results.cases[case]
        if score == "elppd" and exact.elppd > max(rows[rival].elppd.mean for rival in rivals):
            few.append(f"{written(exact, 'elppd')} ({results.label(case)})")
    if not few:
        return ""
    return (
        f" The posterior itself has an ELPPD of {', '.join(few)}: there "
        f"{results.n_members} members are too few, and more are needed the "
        "farther predictions leave the data."
    )
