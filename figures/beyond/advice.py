"""What notebook 05 advises: the method that it ends with beside its rivals, wins and losses."""

from collections.abc import Mapping
from typing import Any

from figures.beyond.findings import LABELS, MAIN, case_label, cell, text
from figures.beyond.scores import paired, sign

ADVISED, EXACT = "function_evidence", "exact_evidence"
RIVALS = ("low_rank", "vanilla", "function")
BETTER = {"rmse": -1, "miscalibration": -1, "elppd": 1}


def advice(results: Mapping[str, Any]) -> str:
    """What to use, with every score in which that is behind another method.

    Args:
        results: "cases", "exact" and "sizes", as the notebook puts them together.
    """
    compared = [
        (rival, case, number, sign(paired(table, ADVISED, rival, number)) * BETTER[number])
        for rival in RIVALS
        for case, table in results["cases"].items()
        for number in MAIN
    ]
    wins, losses = (sum(found == side for *_, found in compared) for side in (1, -1))
    opening = "What to use" if wins > losses else "No method is ahead of all others"
    behind = [each[:3] for each in compared if each[3] < 0]
    return (
        f"{opening}: functional anchoring with a prior by evidence (AnchoredEnsemble with "
        'anchoring="function", bnn.evidence.fit_prior, smooth networks) has the better RMSE, '
        f"miscalibration or ELPPD in {wins} of {len(compared)} comparisons with the published "
        "ensemble, the vanilla one and the paper's prior, and the worse one in "
        f"{losses}{_losses(results, behind)}.{_remedy(results, behind)}"
    )


def _losses(results: Mapping[str, Any], behind: list[tuple[str, str, str]]) -> str:
    """The comparisons that are lost, by training set and score."""
    places: dict[tuple[str, str], list[str]] = {}
    for rival, case, number in behind:
        shown = cell(results["cases"][case][rival][number], number)
        places.setdefault((case, number), []).append(f"{shown} of {LABELS[rival]}")
    words = [
        f"{case_label(results, case)}: {MAIN[number]} "
        f"{cell(results['cases'][case][ADVISED][number], number)} against {', '.join(rivals)}"
        for (case, number), rivals in places.items()
    ]
    return f" ({'; '.join(words)})" if words else ""


def _remedy(results: Mapping[str, Any], behind: list[tuple[str, str, str]]) -> str:
    """More members, where an ELPPD is lost that the exact posterior would not lose."""
    exact = {case: scores[EXACT]["elppd"] for case, scores in results["exact"].items()}
    few = [
        f"{text(exact[case], 'elppd')} ({case_label(results, case)})"
        for case in dict.fromkeys(case for _, case, number in behind if number == "elppd")
        if all(
            exact[case] > results["cases"][case][rival]["elppd"]["mean"]
            for rival, place, number in behind
            if (place, number) == (case, "elppd")
        )
    ]
    if not few:
        return ""
    return (
        f" The posterior itself has an ELPPD of {', '.join(few)}: there "
        f"{results['sizes']['n_members']} members are too few, and more are needed the "
        "farther predictions leave the data."
    )
