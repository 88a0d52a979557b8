"""What notebook 05 found, in words, claims and tables computed from its numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.beyond.methods import EXACT_LABELS, FUNCTION_LABELS
from figures.beyond.priors import Relevance
from figures.beyond.scores import largest, paired, sign
from figures.beyond.weights import METHODS
from figures.claims import Claim

LABELS = {name: method.label for name, method in METHODS.items()} | FUNCTION_LABELS | EXACT_LABELS
NEGLIGIBLE = 0.5  # of the standard deviation between seeds, below which two methods are alike
MAIN = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
DECIMALS = {"rmse": 3, "miscalibration": 3, "elppd": 0, "crps": 3, "coverage": 2,
            "penalty": 2, "gradient_in_span": 3, "dimension": 3,
            "mean_to_exact": 3, "std_to_exact": 2, "mean": 3, "std": 2}  # fmt: skip
HEADINGS = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD", "crps": "CRPS",
            "coverage": "coverage (95 %)", "penalty": "low-rank penalty",
            "gradient_in_span": "gradient in span(V)", "dimension": "(K−1)/d",
            "mean_to_exact": "|mean − exact|", "std_to_exact": "|std / exact − 1|",
            "mean": "|mean − exact|", "std": "|std / exact − 1|"}  # fmt: skip
CASES = {"outd": "out of distribution", "ind": "in distribution"}
# What functional anchoring is to reach with 30 networks and 50 test cells, by training set and
# number of training cells: RMSE and miscalibration at most, ELPPD at least.
TARGETS: dict[tuple[str, int], dict[str, tuple[float | None, ...]]] = {
    ("outd", 50): {"function": (0.18, 0.075, 30), "function_evidence": (0.13, 0.08, 150)},
    ("ind25", 25): {"function": (None, None, 0), "function_evidence": (0.16, None, 150)},
    ("ind50", 50): {"function": (None, None, 160), "function_evidence": (0.12, None, 230)},
    ("ind100", 100): {"function": (None, None, 240), "function_evidence": (0.10, None, 280)},
}


def case_label(results: Mapping[str, Any], case: str) -> str:
    """Words for a training set."""
    words = CASES.get(case.rstrip("0123456789"), case)
    return f"{words}, {results['sizes']['n_train'][case]} training cells"


def text(value: float, number: str) -> str:
    """A number with its usual decimals and a real minus sign."""
    return f"{value:.{DECIMALS[number]}f}".replace("-", "−")


def cell(entry: Any, number: str) -> str:
    """Mean ± half width of an interval, or a single number."""
    if not isinstance(entry, Mapping):
        return text(entry, number)
    shown = text(entry["mean"], number)
    half = entry["half_width"]
    return shown if half is None else f"{shown} ± {text(half, number)}"


def _table(caption: str, numbers: Sequence[str], rows: Mapping[str, Mapping]) -> dict[str, Any]:
    """Table of methods and numbers; a number that a method does not have is left empty."""
    return {
        "caption": caption,
        "header": ["", *(HEADINGS[n] for n in numbers)],
        "rows": [
            [label, *(cell(row[n], n) if n in row else "" for n in numbers)]
            for label, row in rows.items()
        ],
    }


def tables(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of the report.

    Args:
        results: "cases", "exact", "spans", "example", "relevance", "noise", "exact_noise" and
            "sizes", as the notebook puts them together.
    """
    first = next(iter(results["cases"]))
    scores = ["rmse", "miscalibration", "elppd", "crps", "coverage"]
    found = [
        _table(
            f"Every method, {case_label(results, first)}. Means over {results['sizes']['repeats']} "
            "seeds with the half width of their 95 % interval; exact posteriors in closed form. "
            "Gradient in span(V): part of the squared gradient of the data term, before training, "
            "along the directions that the low-rank regulariser sees.",
            [*scores, "penalty", "gradient_in_span"],
            labelled(results["cases"][first] | results["exact"][first]),
        ),
        _table(
            "Low-rank regulariser with more pre-trained networks behind it, all of one start.",
            [*scores[:3], "penalty", "gradient_in_span", "dimension"],
            results["spans"],
        ),
    ]
    for case in list(results["cases"])[1:]:
        rows = labelled(results["cases"][case] | results["exact"][case])
        found.append(_table(f"The main methods, {case_label(results, case)}.", scores, rows))
    for case, rows in results["example"].items():
        found.append(
            _table(
                f"Distance to the exact posterior of the one-dimensional example, {case}, averaged "
                "over [−1, 1].",
                ["mean", "std"],
                labelled(rows),
            )
        )
    found += [
        relevance_table(case_label(results, case), rows)
        for case, rows in results["relevance"].items()
    ]
    if results["noise"]:
        found += _noise_tables(results)
    return found


def labelled(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Rows by label, which says so when a method has fewer seeds than the first."""
    counts = {name: _count(row) for name, row in rows.items()}
    most = max(counts.values())
    return {
        LABELS[name]
        + (f" ({counts[name]} of {most} seeds)" if 0 < counts[name] < most else ""): row
        for name, row in rows.items()
    }


def _count(row: Mapping[str, Any]) -> int:
    """Seeds behind a row; 0 for a closed form."""
    entry = next(iter(row.values()))
    return len(entry["values"]) if isinstance(entry, Mapping) else 0


def relevance_table(label: str, rows: Sequence[Relevance]) -> dict[str, Any]:
    """Inputs of each output in the paper and by the evidence."""
    return {
        "caption": f"Inputs that matter, {label}: by the evidence those of the "
        "mean (vf) and those whose length scale is below 10 (scaled units, in which the range "
        "of an input is 2).",
        "header": ["output", "paper", "by evidence", "length scales"],
        "rows": [
            [
                r.output,
                ", ".join(r.paper),
                ", ".join(r.chosen),
                ", ".join(f"{scale:.1f}" for scale in r.lengthscales),
            ]
            for r in rows
        ],
    }


def _noise_tables(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    scores = ["rmse", "miscalibration", "elppd", "crps", "coverage"]
    ensembles = {
        f"{LABELS[method]}; Σ_noise {kind}": row
        for method in next(iter(results["noise"].values()))
        for kind, row in ((kind, table[method]) for kind, table in results["noise"].items())
    }
    exact = {
        f"{case_label(results, case)}; Σ_noise {kind}": table["exact_evidence"]
        for case, kinds in results["exact_noise"].items()
        for kind, table in kinds.items()
    }
    first = next(iter(results["cases"]))
    caption = "What Σ_noise does, each ELPPD being that of the method's own predictive density:"
    return [
        _table(f"{caption} ensembles, {case_label(results, first)}.", scores, ensembles),
        _table(f"{caption} {LABELS['exact_evidence']}.", scores, exact),
    ]


def _claim(claim: str, ours: Mapping[str, Any], holds: bool | None) -> Claim:
    return Claim("Beyond", claim, ours, holds)


def _compared(table, first: str, second: str, number: str, better: int) -> Claim:
    """The claim that the first method is better; better is 1 where more is, else -1."""
    found = sign(paired(table, first, second, number)) * better
    verdict = {1: True, -1: False, 0: None}[found]
    ours = {LABELS[name]: table[name][number]["mean"] for name in (first, second)}
    claim = f"{LABELS[first]} has a better {MAIN[number]} than {LABELS[second]}"
    return _claim(claim[0].upper() + claim[1:], ours, verdict)


def claims(results: Mapping[str, Any]) -> list[Claim]:
    """Statements with our numbers and whether these bear them out; None where seeds leave it open.

    Args:
        results: See `tables`.
    """
    first = next(iter(results["cases"]))
    table = results["cases"][first]
    found = [_alike(table, number) for number in MAIN]
    found += [
        _compared(table, "none", "vanilla", "rmse", -1),
        _compared(table, "none", "random_low_rank", "rmse", -1),
        _in_span(table["low_rank"]),
        _compared(table, "function", "low_rank", "elppd", 1),
        _compared(table, "function_evidence", "function", "rmse", -1),
        _compared(table, "function_evidence", "function", "elppd", 1),
    ]
    if results["noise"]:
        found.append(_noise_claim(results["exact_noise"]))
    return found + _targets(results)


def _noise_claim(kinds: Mapping[str, Any]) -> Claim:
    gains = {
        case: table["of replicates"]["exact_evidence"]["elppd"]
        - table["of replicates, diagonal"]["exact_evidence"]["elppd"]
        for case, table in kinds.items()
    }
    return _claim(
        "Correlations of the noise raise the ELPPD of the exact posterior, prior by evidence",
        gains,
        all(gain > 0 for gain in gains.values()),
    )


def _targets(results: Mapping[str, Any]) -> list[Claim]:
    """Claims that targets are met; none where the sizes are not those of the targets."""
    sizes = results["sizes"]
    if (sizes["n_members"], sizes["n_test"]) != (30, 50):
        return []
    return [
        _reached(results, case, method, limits)
        for (case, count), methods in TARGETS.items()
        if sizes["n_train"].get(case) == count
        for method, limits in methods.items()
    ]


def _alike(table, number: str) -> Claim:
    size = largest(paired(table, "low_rank", "none", number))
    values = table["low_rank"][number]["values"]
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    words = {"largest difference": size} | ({"between seeds": deviation} if deviation else {})
    return _claim(
        f"{MAIN[number]} with and without the published regulariser, from the same start, differs "
        "by less than half of the standard deviation between seeds",
        words,
        None if deviation is None else size < NEGLIGIBLE * deviation,
    )


def _in_span(row) -> Claim:
    seen, random = row["gradient_in_span"], row["dimension"]["mean"]
    return _claim(
        "The published regulariser sees less of the data's gradient than of a random direction",
        {"in span(V)": seen["mean"], "of a random direction": random},
        seen["mean"] + (seen["half_width"] or 0.0) < random,
    )


def _reached(results: Mapping[str, Any], case: str, method: str, bounds) -> Claim:
    row, exact = results["cases"][case][method], "exact" + method.removeprefix("function")
    wanted = {n: limit for n, limit in zip(MAIN, bounds, strict=True) if limit is not None}
    holds = all(
        row[n]["mean"] >= limit if n == "elppd" else row[n]["mean"] <= limit
        for n, limit in wanted.items()
    )
    words = ", ".join(
        f"{MAIN[n]} {'≥' if n == 'elppd' else '≤'} {limit:g}" for n, limit in wanted.items()
    )
    ours = {MAIN[n]: row[n]["mean"] for n in wanted}
    ours["exact posterior"] = {MAIN[n]: results["exact"][case][exact][n] for n in wanted}
    claim = f"{LABELS[method]}, {case_label(results, case)}: {words}"
    return _claim(claim[0].upper() + claim[1:], ours, holds)


def paragraphs(results: Mapping[str, Any]) -> list[str]:
    """What the paper claims and what was measured."""
    first = next(iter(results["cases"]))
    table, exact = results["cases"][first], results["exact"][first]
    row = table["low_rank"]
    change = {n: paired(table, "low_rank", "none", n) for n in MAIN}
    spans = list(results["spans"].values())
    example = results["example"]
    closest = "; ".join(
        f"{case}: {_away(rows['low_rank'])} as published, {_away(rows['function'])} by functional "
        f"anchoring, {_away(rows['sampled'])} for as many draws from the exact posterior"
        for case, rows in example.items()
    )
    return [
        "The paper claims that the correlated (low-rank) weight prior, learnt from the pre-trained "
        "networks, carries the functional prior into the trained ensemble. Measured: leaving the "
        "regulariser out changes, with the same start and data, the RMSE by "
        f"{cell(change['rmse'], 'rmse')}, the miscalibration by "
        f"{cell(change['miscalibration'], 'miscalibration')} and the ELPPD by "
        f"{cell(change['elppd'], 'elppd')} (95 % intervals over {results['sizes']['repeats']} "
        "paired seeds), while the pre-trained start alone changes the RMSE from "
        f"{cell(table['vanilla']['rmse'], 'rmse')} to {cell(table['none']['rmse'], 'rmse')}. With "
        "the regulariser but a random start it is "
        f"{cell(table['random_low_rank']['rmse'], 'rmse')}.",
        f"The reason: the regulariser sees {row['gradient_in_span']['mean']:.1%} of the squared "
        f"gradient of the data term, where a random direction would show it "
        f"{row['dimension']['mean']:.1%}; the data are fitted along the rest. Its penalty ends at "
        f"{cell(row['penalty'], 'penalty')}, and at {cell(table['none']['penalty'], 'penalty')} "
        "when nothing is penalised. More pre-trained networks let it see "
        f"{spans[-1]['gradient_in_span']['mean']:.1%} ({list(results['spans'])[-1]}) and change "
        f"the ELPPD from {cell(spans[0]['elppd'], 'elppd')} to "
        f"{cell(spans[-1]['elppd'], 'elppd')}.",
        "The posterior that the paper's prior and noise define is known in closed form: RMSE "
        f"{text(exact['exact']['rmse'], 'rmse')}, ELPPD {text(exact['exact']['elppd'], 'elppd')}. "
        f"As published the ensemble reaches an ELPPD of {cell(row['elppd'], 'elppd')}; "
        f"{results['sizes']['n_members']} exact draws reach "
        f"{cell(table['sampled']['elppd'], 'elppd')}, functional anchoring "
        f"{cell(table['function']['elppd'], 'elppd')}.",
        "With variance and length scales chosen by the evidence on the training cells, functional "
        f"anchoring reaches RMSE {cell(table['function_evidence']['rmse'], 'rmse')} and ELPPD "
        f"{cell(table['function_evidence']['elppd'], 'elppd')}. "
        f"One dimension, mean and standard deviation: {closest}.",
    ]


def _away(row: Mapping[str, Any]) -> str:
    return f"{text(row['mean']['mean'], 'mean')} and {row['std']['mean']:.0%}"


def noise_sentence(correlation: Any, freedom: int) -> str:
    """Words on the correlations of the replicates.

    Args:
        correlation: Of the outputs within groups, (5, 5).
        freedom: Degrees of freedom behind it.
    """
    pairs = [
        (abs(correlation[i][j]), f"{a} and {b} {correlation[i][j]:.2f}".replace("-", "−"))
        for i, a in enumerate(OUTPUT_NAMES)
        for j, b in enumerate(OUTPUT_NAMES)
        if i < j
    ]
    strongest = ", ".join(words for _, words in sorted(pairs, reverse=True)[:3])
    return (
        "The paper takes the noise of the outputs as independent. Within groups of replicates "
        f"({freedom} degrees of freedom) they are not: strongest correlations {strongest}."
    )
