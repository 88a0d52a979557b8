"""Differences from ours, verdicts and ranks, from the rows of results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t as student

from figures.composite.draws import in_words
from figures.scores import student_factor
from studies.scoreboard.problems import CASES, COMPOSITE, FRESH, is_composite
from studies.scoreboard.registry import DATA, OURS, PEERS, Peer

# Score → name, decimals, and whether larger is better; None if neither is.
SCORES = {
    "loglik": ("log-likelihood", 2, True),
    "crps": ("CRPS", 3, False),
    "rmse": ("RMSE", 3, False),
    "coverage": ("coverage (95 %)", 2, None),
}
# Problems used during development: sets with which the default settings were chosen, and problems
# whose results were known before the defaults were fixed, as were those of the composite. And
# problems whose results depend on duplicated rows (docs/benchmarks.md).
CHOSEN_BY = ("concrete", "yacht")
LOOKED_AT = ("energy/gap", "energy/standard", "airfoil/holdout")
OF_COPIES = ("wine/standard",)
JUDGED = [score for score, (_, _, more) in SCORES.items() if more is not None]
LEVEL = 0.05  # family-wise error rate of a family of comparisons


@dataclass(frozen=True)
class Rival:
    """An estimator that ran here, or a method with published scores."""

    name: str
    label: str
    knows: str = DATA
    peer: Peer | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Gap:
    """A mean difference, with its standard error over splits, which is NaN for one split."""

    mean: float
    error: float
    splits: int

    @property
    def half_width(self) -> float:
        """95 % confidence half-width of the mean, by Student's t; NaN for one split."""
        if self.splits < 2:
            return np.nan
        return student_factor(self.splits - 1) * self.error

    @property
    def word(self) -> str:
        """Sign of the mean: "more", "less", "tied" within its interval, or "undecided"."""
        if not np.isfinite(self.half_width):
            return "undecided"
        if abs(self.mean) <= self.half_width:
            return "tied"
        return "more" if self.mean > 0 else "less"

    @property
    def probability(self) -> float:
        """p-value of the difference in a two-sided t test; NaN for one split."""
        if self.error == 0.0:
            return float(self.mean == 0.0)
        return float(2.0 * student.sf(abs(self.mean / self.error), self.splits - 1))


def survive(probabilities: Sequence[float]) -> list[bool]:
    """Return which differences are significant, by the procedure of Holm (1979)."""
    significant = [False] * len(probabilities)
    for tried, i in enumerate(np.argsort(probabilities)):
        if probabilities[i] > LEVEL / (len(significant) - tried):
            break
        significant[i] = True
    return significant


@dataclass(frozen=True)
class Board:
    """All results of the present versions of the estimators."""

    rows: Sequence[Mapping[str, Any]]

    @cached_property
    def results(self) -> dict[tuple[str, str], dict[int, Mapping[str, Any]]]:
        """Rows by (problem, estimator), then by split."""
        versions = {peer.name: peer.version for peer in PEERS}
        results: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
        for row in self.rows:
            if "peer" in row and row["version"] == versions.get(row["peer"]):
                results.setdefault((row["problem"], row["peer"]), {})[row["split"]] = row
        return results

    @cached_property
    def published(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Published rows by (problem, method)."""
        rows = (row for row in self.rows if "published" in row)
        return {(row["problem"], row["published"]): row for row in rows}

    @cached_property
    def rves(self) -> str:
        """Name of the composite's draws: the fresh ones if ours has run on all of them."""
        ran = all((f"{FRESH}/{case}", OURS[DATA].name) in self.results for case in CASES)
        return FRESH if ran else COMPOSITE

    @property
    def problems(self) -> list[str]:
        """Names of problems: public sets by kind of split, then the composite's training sets."""
        names = {problem for problem, _ in [*self.results, *self.published]}
        other = {FRESH, COMPOSITE} - {self.rves}  # draws of the composite that are not shown
        shown = [n for n in names if not (is_composite(n) and n.partition("/")[0] in other)]
        return sorted(shown, key=_place)

    def rivals(self, problem: str) -> list[Rival]:
        """Return the rivals with results on a problem, in the order of the registry."""
        ran = [
            Rival(peer.name, peer.label, peer.knows, peer)
            for peer in PEERS
            if (problem, peer.name) in self.results
        ]
        methods = [method for name, method in self.published if name == problem]
        return ran + [Rival(method, f"{method} (published)") for method in methods]

    def values(self, problem: str, peer: Peer, score: str = "loglik") -> dict[int, float]:
        """Return a score by split, without failed splits."""
        rows = self.results.get((problem, peer.name), {})
        return {i: row[score] for i, row in sorted(rows.items()) if score in row}

    def mean(self, problem: str, rival: Rival, score: str = "loglik") -> float:
        """Return the mean of a rival's score over its splits, or NaN without results."""
        if rival.peer is None:
            return self.published.get((problem, rival.name), {}).get(score, [np.nan])[0]
        numbers = list(self.values(problem, rival.peer, score).values())
        return float(np.mean(numbers)) if numbers else np.nan

    def errors(self, problem: str, peer: Peer) -> list[str]:
        """Return the error texts of failed splits."""
        rows = self.results.get((problem, peer.name), {}).values()
        return [row["error"] for row in rows if "error" in row]

    def is_late(self, problem: str, peer: Peer) -> bool:
        """Return whether all results of an estimator on a problem are that it was too slow."""
        rows = self.results.get((problem, peer.name), {}).values()
        return bool(rows) and all("limit" in row for row in rows)

    def gap(self, problem: str, rival: Rival, score: str = "loglik") -> Gap | None:
        """Return the score of a rival minus ours with the same data, or None without scores.

        Differences are paired over the splits that both have. For published scores only mean and
        standard deviation over splits are known. Their error is therefore that of two independent
        means, which is too large, because the splits are the same.
        """
        ours = self.values(problem, OURS[rival.knows], score)
        if rival.peer is not None:
            theirs = self.values(problem, rival.peer, score)
            return between([theirs[i] - ours[i] for i in theirs if i in ours])
        row = self.published.get((problem, rival.name), {})
        if score not in row or not ours:
            return None
        mean, std = row[score]
        numbers = list(ours.values())
        error = np.nan
        if std is not None and len(numbers) > 1:
            error = np.sqrt(np.var(numbers, ddof=1) / len(numbers) + std**2 / row["splits"])
        return Gap(float(mean - np.mean(numbers)), float(error), len(numbers))

    def verdict(self, problem: str, rival: Rival, score: str) -> str:
        """Return whether ours is "better", "tied", "worse" or "undecided", or "–"."""
        gap = self.gap(problem, rival, score)
        if gap is None:
            return "–"
        theirs = "more" if SCORES[score][2] else "less"  # word if the rival's score is better
        words = {"tied": "tied", "undecided": "undecided", theirs: "worse"}
        return words.get(gap.word, "better")

    def ranks(self, problems: Sequence[str]) -> dict[str, float]:
        """Return mean ranks by log-likelihood over problems, for those with results on them all.

        Ranked are the estimators of other libraries and our default, which know only the data.
        Ranks are computed from the paired differences from ours.
        """
        gaps_of = []
        for problem in problems:
            ranked = filter(_is_ranked, self.rivals(problem))
            gaps = {rival.name: self.gap(problem, rival) for rival in ranked}
            gaps_of.append({name: gap.mean for name, gap in gaps.items() if gap})
        everywhere = [
            name for name in (gaps_of or [{}])[0] if all(name in means for means in gaps_of)
        ]
        ranks: dict[str, list[int]] = {name: [] for name in everywhere}
        for every in gaps_of:
            means = {name: every[name] for name in everywhere}
            for name in everywhere:
                ranks[name].append(1 + sum(means[name] < other for other in means.values()))
        return {name: float(np.mean(places)) for name, places in ranks.items()}


def _is_ranked(rival: Rival) -> bool:
    """Return whether a rival is our default, or ran here with the same data and is not ours."""
    peer = rival.peer
    if peer is None or rival.knows != DATA:
        return False
    return not peer.ours or peer.name == OURS[DATA].name


def title(problem: str) -> str:
    """Return the name of a problem in tables and figures."""
    name, _, kind = problem.partition("/")
    if name == FRESH:
        name = "composite"
    return f"{name}, {in_words(kind) if is_composite(problem) else kind}"


def seen(problem: str) -> str:
    """Return whether a problem was seen in development, or has rows twice, in words."""
    if problem.partition("/")[0] in CHOSEN_BY:
        return "used to choose the default"
    if problem in LOOKED_AT or is_composite(problem):
        return "seen in development"
    return "with doubled rows" if problem in OF_COPIES else "not seen"


def _place(problem: str) -> tuple:
    """Return the sort key of a problem."""
    name, _, kind = problem.partition("/")
    if is_composite(problem):
        return True, name, CASES.index(kind)
    return False, kind, name


def between(differences: Sequence[float]) -> Gap | None:
    """Return the mean of paired differences with its error, or None without differences."""
    n = len(differences)
    if not n:
        return None
    error = np.std(differences, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Gap(float(np.mean(differences)), float(error), n)
