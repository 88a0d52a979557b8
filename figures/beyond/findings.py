"""What notebook 05 found: claims with their numbers, and paragraphs."""

from collections.abc import Mapping

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.beyond.methods import LABELS
from figures.beyond.tables import COMPARED, HEADINGS, Results, written
from figures.claims import Claim
from figures.scores import LARGER_IS_BETTER, Spread, is_better

NEGLIGIBLE = 0.5  # of the standard deviation between seeds, below which two methods are alike
# What functional anchoring is to reach with 30 networks and 50 test cells, by training set and
# number of training cells: RMSE and miscalibration at most, ELPPD at least.
TARGETS: dict[tuple[str, int], dict[str, dict[str, float]]] = {
    ("outd", 50): {
        "function": {"rmse": 0.18, "miscalibration": 0.075, "elppd": 30},
        "function_evidence": {"rmse": 0.13, "miscalibration": 0.08, "elppd": 150},
    },
    ("ind25", 25): {
        "function": {"elppd": 0},
        "function_evidence": {"rmse": 0.16, "elppd": 150},
    },
    ("ind50", 50): {
        "function": {"elppd": 160},
        "function_evidence": {"rmse": 0.12, "elppd": 230},
    },
    ("ind100", 100): {
        "function": {"elppd": 240},
        "function_evidence": {"rmse": 0.10, "elppd": 280},
    },
}


def claims(results: Results) -> list[Claim]:
    """Claims with our numbers and whether these bear them out."""
    rows = results.cases[results.first]
    found = [_alike(rows, score) for score in COMPARED]
    found += [
        _compared(rows, "none", "vanilla", "rmse"),
        _compared(rows, "none", "random_low_rank", "rmse"),
        _in_span(rows["low_rank"]),
        _compared(rows, "function", "low_rank", "elppd"),
        _compared(rows, "function_evidence", "function", "rmse"),
        _compared(rows, "function_evidence", "function", "elppd"),
    ]
    if results.noise:
        found.append(_noise_claim(results))
    return found + _targets(results)


def _compared(
    rows: Mapping[str, Mapping[str, Spread]], first: str, second: str, score: str
) -> Claim:
    """The claim that the first method is better."""
    one, other = rows[first][score], rows[second][score]
    return Claim(
        "Beyond",
        _capitalised(f"{LABELS[first]} has a better {HEADINGS[score][0]} than {LABELS[second]}"),
        {LABELS[first]: one.mean, LABELS[second]: other.mean},
        is_better(one, other, score),
    )


def _capitalised(words: str) -> str:
    return words[0].upper() + words[1:]


def _alike(rows: Mapping[str, Mapping[str, Spread]], score: str) -> Claim:
    difference = rows["low_rank"][score] - rows["none"][score]
    largest, deviation = abs(difference.mean) + difference.margin, rows["low_rank"][score].std
    return Claim(
        "Beyond",
        f"{HEADINGS[score][0]} with and without the published regulariser, from the same start, "
        "differs by less than half of the standard deviation between seeds",
        {"largest difference": largest} | ({"between seeds": deviation} if deviation else {}),
        None if deviation is None else largest < NEGLIGIBLE * deviation,
    )


def _in_span(row: Mapping[str, Spread]) -> Claim:
    seen, random = row["gradient_in_span"], row["dimension"].mean
    return Claim(
        "Beyond",
        "The published regulariser sees less of the data's gradient than of a random direction",
        {"in span(V)": seen.mean, "of a random direction": random},
        seen.mean + seen.margin < random,
    )


def _noise_claim(results: Results) -> Claim:
    gains = {
        case: kinds["of replicates"]["exact_evidence"]["elppd"]
        - kinds["of replicates, diagonal"]["exact_evidence"]["elppd"]
        for case, kinds in results.exact_noise.items()
    }
    return Claim(
        "Beyond",
        "Correlations of the noise raise the ELPPD of the exact posterior, prior by evidence",
        gains,
        all(gain > 0 for gain in gains.values()),
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
    means = {score: results.cases[case][method][score].mean for score in targets}
    exact = results.exact[case][method.replace("function", "exact")]
    words = ", ".join(
        f"{HEADINGS[score][0]} {'≥' if score in LARGER_IS_BETTER else '≤'} {limit:g}"
        for score, limit in targets.items()
    )
    return Claim(
        "Beyond",
        _capitalised(f"{LABELS[method]}, {results.label(case)}: {words}"),
        {HEADINGS[score][0]: mean for score, mean in means.items()}
        | {"exact posterior": {HEADINGS[score][0]: exact[score] for score in targets}},
        all(
            means[score] >= limit if score in LARGER_IS_BETTER else means[score] <= limit
            for score, limit in targets.items()
        ),
    )


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


def _distances(case: str, rows: Mapping[str, Mapping[str, Spread]]) -> str:
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
    """Words on the correlations of the replicates.

    Args:
        correlation: Of the outputs within groups, (5, 5).
        freedom: Degrees of freedom behind it.
    """
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
