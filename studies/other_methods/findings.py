"""Findings of notebook 05: claims with their numbers, and the counts for its advice."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from figures.claims import Claim
from figures.composite.problem import OUTPUT_NAMES
from figures.composite.scores import MethodScores
from figures.pipeline.settings import PAPER_COUNTS, PAPER_TEST
from figures.scores import LARGER_IS_BETTER, Interval
from studies.other_methods.methods import LABELS
from studies.other_methods.priors import correlation
from studies.other_methods.tables import COMPARED, HEADINGS, Results

ABOUT = "Other methods"  # subject of the claims
Rows = Mapping[str, MethodScores[Interval]]  # by method
ADVISED = "function_evidence"
RIVALS = ("low_rank", "vanilla", "function")
REPLICATES = ("replicates", "replicates_diagonal")  # kinds of Σ_noise
ALIKE = 0.5  # two methods are alike below this share of the standard deviation between seeds
# Targets of functional anchoring with 30 networks and the paper's numbers of RVEs, by training set:
# largest RMSE and miscalibration, smallest ELPPD.
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
    """Return the claims with our numbers and whether these support them."""
    rows = results.cases[results.first]
    seen = results.published.gradient_in_span
    random = results.published.dimension
    words = (
        "The directions of the published regulariser contain less of the data's gradient than of a "
        "random vector"
    )
    ours = {"share of the gradient": seen.mean, "of a random vector": random.mean}
    at_size = (results.n_members, results.n_test) == (30, PAPER_TEST)
    return [
        *(_alike(rows, score) for score in COMPARED),
        _compared(rows, "none", "vanilla", "rmse"),
        _compared(rows, "none", "random_low_rank", "rmse"),
        Claim("sees_less", ABOUT, words, ours, seen.mean + seen.margin < random.mean),
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
    """Return the claim that the first method is better."""
    name = HEADINGS[score][0]
    better = LABELS[first].capitalize()
    worse = LABELS[second]
    ours = {LABELS[method]: getattr(rows[method], score).mean for method in (first, second)}
    holds = rows[first].is_better(rows[second], score)
    words = f"{better} has a better {name} than {worse}"
    return Claim(f"better/{first}/{second}/{score}", ABOUT, words, ours, holds)


def _alike(rows: Rows, score: str) -> Claim:
    difference = getattr(rows["low_rank"] - rows["none"], score)
    largest = abs(difference.mean) + difference.margin
    deviation = getattr(rows["low_rank"], score).std
    ours = {"upper limit of the difference": largest}
    holds = None
    if deviation is not None:
        ours["standard deviation between seeds"] = deviation
        holds = largest < ALIKE * deviation
    words = (
        f"{HEADINGS[score][0]} with and without the published regulariser, from the same initial "
        "weights, differs by less than half of the standard deviation between seeds"
    )
    return Claim(f"alike/{score}", ABOUT, words, ours, holds)


def _noise_claim(results: Results) -> Claim:
    gains = {}
    for case, kinds in results.exact_noise.items():
        full, diagonal = (kinds[kind]["exact_evidence"].elppd for kind in REPLICATES)
        gains[case] = full - diagonal
    words = (
        "Correlated noise raises the ELPPD of the exact posterior with the prior from the evidence"
    )
    return Claim("correlated_noise", ABOUT, words, gains, min(gains.values()) > 0)


def _reached(results: Results, case: str, method: str, limits: Mapping[str, float]) -> Claim:
    """Return the claim that a method reaches its targets."""
    prior = method.replace("function", "exact")
    row = results.cases[case][method]
    exact = results.exact[case][prior]
    words = []
    ours = {}
    best = {}
    met = True
    for score, limit in limits.items():
        name = HEADINGS[score][0]
        larger = score in LARGER_IS_BETTER
        ours[name] = getattr(row, score).mean
        best[name] = getattr(exact, score)
        words.append(f"{name} {'≥' if larger else '≤'} {limit:g}")
        met &= ours[name] >= limit if larger else ours[name] <= limit
    claim = f"{LABELS[method].capitalize()}, {results.label(case)}: {', '.join(words)}"
    identifier = f"target/{case}/{method}"
    return Claim(identifier, ABOUT, claim, ours | {"exact posterior": best}, met)


def advice(cases: Mapping[str, Rows]) -> dict[str, dict[str, int]]:
    """Count how often the advised method is better and worse than its rivals, by score."""
    counts = {}
    for score in COMPARED:
        answers = [
            rows[ADVISED].is_better(rows[rival], score)
            for rows in cases.values()
            for rival in RIVALS
        ]
        counts[score] = {
            "better": answers.count(True),
            "worse": answers.count(False),
            "of": len(answers),
        }
    return counts


def noise_of_replicates(covariance: np.ndarray, degrees_of_freedom: int) -> dict[str, Any]:
    """Return the three strongest correlations between outputs, from their covariance."""
    matrix = correlation(covariance)
    pairs = combinations(range(len(OUTPUT_NAMES)), 2)
    strongest = sorted(pairs, key=lambda pair: -abs(matrix[pair]))[:3]
    return {
        "degrees_of_freedom": degrees_of_freedom,
        "strongest_correlations": {
            f"{OUTPUT_NAMES[i]}/{OUTPUT_NAMES[j]}": round(matrix[i, j], 2) for i, j in strongest
        },
    }
