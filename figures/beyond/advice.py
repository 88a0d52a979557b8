"""What notebook 05 advises: the method that it ends with beside its rivals, wins and losses."""

from figures.beyond.methods import LABELS
from figures.beyond.tables import COMPARED, HEADINGS, Results, written
from figures.scores import is_better

ADVISED, EXACT = "function_evidence", "exact_evidence"
RIVALS = ("low_rank", "vanilla", "function")


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
    best: dict[str, float] = {}  # training set → best ELPPD of the rivals that are ahead there
    for rival, case, score in behind:
        if score == "elppd":
            mean = results.cases[case][rival]["elppd"].mean
            best[case] = max(mean, best.get(case, mean))
    exact = {case: results.exact[case][EXACT]["elppd"] for case in best}
    few = [
        f"{written(exact[case], 'elppd')} ({results.label(case)})"
        for case in best
        if exact[case] > best[case]
    ]
    if not few:
        return ""
    return (
        f" The posterior itself has an ELPPD of {', '.join(few)}: there "
        f"{results.sizes['n_members']} members are too few, and more are needed the "
        "farther predictions leave the data."
    )
