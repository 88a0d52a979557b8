"""Findings of notebook 08: claims with their numbers, and tables."""

from collections.abc import Mapping
from operator import lt

from figures.claims import Claim, Table
from figures.scores import Interval, written
from studies.strain_paths.study import ALLOWED, LABELS, Members, Rows

ABOUT = "Strain paths"  # subject of the claims
HALF = 0.5  # share of the error of the mean-field model
COVERAGES = {"coverage": "the mean over microstructures", "single": "single RVEs"}


def claims(
    rows: Rows, alone: Mapping[str, float], many: int, members: Mapping[int, Members]
) -> list[Claim]:
    """Return the claims with our numbers.

    Args:
        rows: Errors by set and number of training paths.
        alone: Errors of the mean-field model, by set.
        many: Number of training paths that is compared with the mean-field model.
        members: Comparison of members with the closed form on paths like the training paths, by
            number of training paths.

    Returns:
        The claims.
    """
    removed = shares(rows, alone, many)
    judged = [
        Claim(
            "removed",
            ABOUT,
            f"{many} training paths remove more than half of the mean square error of the "
            "mean-field model on each set",
            {LABELS[name]: share for name, share in removed.items()},
            min(removed.values()) > HALF,
        )
    ]
    for name, errors in rows.items():
        means = {n: scored.error.mean for n, scored in errors.items()}
        falls = all(map(lt, [*means.values()][1:], means.values()))
        words = f"On {LABELS[name]} every larger number of training paths has a smaller mean error"
        judged.append(Claim(f"falls/{name}", ABOUT, words, _by_count(means), falls))
    low, high = ALLOWED
    for score, what in COVERAGES.items():
        for name, errors in rows.items():
            means = {n: getattr(scored, score).mean for n, scored in errors.items()}
            words = (
                f"On {LABELS[name]} 95 % bands contain between {low:.2f} and {high:.2f} of {what} "
                "for every number of training paths"
            )
            holds = all(low <= mean <= high for mean in means.values())
            judged.append(Claim(f"{score}/{name}", ABOUT, words, _by_count(means), holds))
    for n, member in members.items():
        numbers = {
            "error of the mean, in standard errors": member.off,
            "standard deviation over closed form": member.spread,
        }
        words = (
            f"With {n} training paths the mean of the members is within two standard errors of the "
            "closed form (root mean square), and their standard deviation within a fifth of it"
        )
        holds = member.off < 2.0 and abs(member.spread - 1.0) < 0.2
        judged.append(Claim(f"members/{n}", ABOUT, words, numbers, holds))
    return judged


def _by_count(numbers: Mapping[int, float]) -> dict[str, float]:
    return {str(n): number for n, number in numbers.items()}


def shares(rows: Rows, alone: Mapping[str, float], many: int) -> dict[str, float]:
    """Return the share of the mean-field model's error that `many` paths remove, by set."""
    return {name: 1.0 - errors[many].error.mean / alone[name] for name, errors in rows.items()}


def leaving(rows: Rows) -> list[dict[str, str | float]]:
    """Return the mean coverages that are outside the allowed range."""
    low, high = ALLOWED
    return [
        {"score": score, "set": name, "paths": n, "coverage": coverage}
        for score in COVERAGES
        for name, errors in rows.items()
        for n, scored in errors.items()
        if not low <= (coverage := getattr(scored, score).mean) <= high
    ]


def tables(rows: Rows, alone: Mapping[str, float]) -> list[Table]:
    """Return a table of all errors, and a table of all coverages."""
    errors = [["mean-field model alone", "0", *(f"{1e3 * alone[name]:.3g}" for name in rows)]]
    coverages = []
    counts = next(iter(rows.values()))
    for n in counts:
        thousandths = [
            Interval(tuple(1e3 * value for value in rows[name][n].error.values)) for name in rows
        ]
        errors += [["posterior", str(n), *map(_written, thousandths)]]
    for score, what in COVERAGES.items():
        for n in counts:
            numbers = [getattr(rows[name][n], score) for name in rows]
            coverages.append([f"of {what}", str(n), *map(_written, numbers)])
    header = ["", "training paths", *(LABELS[name] for name in rows)]
    ends = (
        "Means over disjoint parts of the random paths ± 95 % confidence half-widths, if there are "
        "several."
    )
    return [
        Table(
            "Mean square error of the mean stress in thousandths of the variance of the component "
            f"in the random paths, mean over components. {ends}",
            header,
            errors,
        ),
        Table(f"Coverage by 95 % bands. {ends}", header, coverages),
    ]


def _written(number: Interval) -> str:
    return written(number, 3)
