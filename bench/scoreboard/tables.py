"""The tables of the guides, in Markdown, and the pages that have a place for them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.scoreboard.comparison import JUDGED, SCORES, Board, Gap, Rival, between, mark, title
from bench.scoreboard.picture import picture, rows_of_panels
from bench.scoreboard.problems import CASES, FRESH, is_composite
from bench.scoreboard.public import HOLDOUT
from bench.scoreboard.registry import CELLS, EQUAL_NOISE, OURS, PEERS, Peer
from fe_data.files.writing import write_atomic
from figures.composite.draws import in_words
from figures.markdown import markdown, with_blocks
from figures.style import save

CELLS_OF_A_TEST = 50  # whose log-likelihoods the ELPPD adds
TIMED = "ind100"  # training set whose times are shown
TIMES = {"fit": 1, "predict": 2}  # decimals of the seconds
SIGNS = {"ahead": "+", "level": "=", "behind": "−", "open": "?", "–": "·"}
LATE = "×"  # the fit took too long
# Columns of the table that one decides by; its rows stand in the order of the first.
DECIDING = (("loglik", "ind50"), ("loglik", "outd"), ("coverage", "outd"))
FEW = 4  # splits, without which one does not count as the strongest of the others


def plain(text: str) -> str:
    """A name or an error of others, which Markdown and HTML show as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|&#$~])", r"\\\1", " ".join(text.split()))


def heading(problem: str) -> str:
    """What a problem is called in Markdown."""
    return plain(title(problem))


def named(rival: Rival) -> str:
    """What a rival is called in Markdown; names of published methods come from elsewhere."""
    return rival.label if rival.peer else plain(rival.label)


def digits(number: float, decimals: int) -> str:
    """A number with a minus sign of its own; a dash for none."""
    if not np.isfinite(number):
        return "–"
    text = f"{number:.{decimals}f}".replace("-", "−")
    return text if text.strip("−0.") else text.lstrip("−")


def shown(gap: Gap | None, decimals: int, factor: float = 1.0) -> str:
    """A mean with two standard errors, where there are two values."""
    if gap is None:
        return "–"
    error = 2 * abs(factor) * gap.error
    more = f" ± {error:.{decimals}f}" if np.isfinite(error) else ""
    return digits(factor * gap.mean, decimals) + more


def label(board: Board, problems: Sequence[str], rival: Rival) -> str:
    """What a rival is called on problems: with what it knows, how it failed and what is older."""
    if rival.peer is None:
        return named(rival)
    text = rival.label if rival.knows == CELLS else f"{rival.label} [{rival.knows}]"
    if any(board.is_older(problem, rival.peer) for problem in problems):
        text += " (older version)"
    errors = [plain(error) for problem in problems for error in board.errors(problem, rival.peer)]
    return f"{text}; {len(errors)} failed: {', '.join(sorted(set(errors)))}" if errors else text


def public_pairs(board: Board) -> list[str]:
    """Problems that ranks are over: all sets with several splits but the composite."""
    return [
        name
        for name in board.problems
        if not is_composite(name) and name.partition("/")[2] != HOLDOUT
    ]


def overview(board: Board) -> str:
    """A row for each estimator: mean log-likelihood on every public set, mean rank, time."""
    problems = [name for name in board.problems if not is_composite(name)]
    if not problems:
        return "No public set has been run."
    rivals = {rival.name: rival for name in problems for rival in board.rivals(name)}
    pairs = public_pairs(board)
    unmarked = [name for name in pairs if not mark(name)]
    means = {"mean rank": board.ranks(pairs), "without marks": board.ranks(unmarked)}
    body = []
    for rival in rivals.values():
        cells = [_of_all_splits(board, problem, rival) for problem in problems]
        if not set(cells) - {"–"}:
            continue  # other scores of it are published
        each = [digits(found.get(rival.name, np.nan), 1) for found in means.values()]
        body.append([named(rival), *cells, *each, _median_seconds(board, problems, rival)])
    body.sort(key=lambda row: float(row[-3]) if row[-3] != "–" else np.inf)
    counts = [len(board.values(problem, OURS[CELLS])) for problem in problems]
    columns = [
        f"{heading(name)}{mark(name)} ({count})"
        for name, count in zip(problems, counts, strict=True)
    ]
    return markdown(["estimator", *columns, *means, "fit [s], median"], body)


def _median_seconds(board: Board, problems: Sequence[str], rival: Rival) -> str:
    """Of all its fits."""
    if rival.peer is None:
        return "–"
    times = [board.values(problem, rival.peer, "fit").values() for problem in problems]
    seconds = [number for each in times for number in each]
    return digits(float(np.median(seconds)) if seconds else np.nan, 1)


def coverage_table(board: Board) -> str:
    """A row for each estimator that ran: mean coverage of 95 % intervals on every public set."""
    problems = [name for name in board.problems if not is_composite(name)]
    rivals = {rival: None for name in problems for rival in board.rivals(name) if rival.peer}
    body = [
        [rival.label, *(_of_all_splits(board, name, rival, "coverage") for name in problems)]
        for rival in sorted(rivals, key=lambda rival: PEERS.index(rival.peer))
    ]
    return markdown(["estimator", *map(heading, problems)], body)


def _of_all_splits(board: Board, problem: str, rival: Rival, score: str = "loglik") -> str:
    """The mean score; with fewer splits than ours that of ours plus the difference, and how many.

    Splits are not equally hard, and the mean of few is not to stand beside that of all.
    """
    decimals = SCORES[score][1]
    mean = board.mean(problem, rival, score)
    if rival.peer is None or not np.isfinite(mean):
        errors = board.errors(problem, rival.peer) if rival.peer else []
        return plain(errors[0]) if errors else digits(mean, decimals)
    ours = board.values(problem, OURS[CELLS], score)
    gap = board.gap(problem, rival, score)
    count = len(board.values(problem, rival.peer, score))
    if gap is None or count == len(ours):
        return digits(mean, decimals)
    return f"{digits(float(np.mean(list(ours.values()))) + gap.mean, decimals)} ({count})"


def differences(board: Board) -> str:
    """For every problem, ours in absolute numbers and all others as differences from it."""
    names = [name for name, _, _ in SCORES.values()]
    judged = " / ".join(SCORES[score][0] for score in JUDGED)
    header = ["estimator", *names, f"ours is, by {judged}"]
    header += ["as a normal density", "fit [s]", "splits"]
    parts = []
    for problem in board.problems:
        body = []
        for rival in board.rivals(problem):
            own = rival.peer == OURS[rival.knows]
            if own:
                cells = [_absolute(board, problem, rival.peer, score) for score in SCORES]
                words = "–"
            else:
                gaps = {score: board.gap(problem, rival, score) for score in SCORES}
                cells = [shown(gap, SCORES[score][1]) for score, gap in gaps.items()]
                words = " / ".join(board.verdict(problem, rival, score) for score in JUDGED)
            name = label(board, [problem], rival)
            name = f"**{name}**" if own else name
            body.append([name, *cells, words, *_ends(board, problem, rival)])
        parts.append(f"**{heading(problem)}**\n\n{markdown(header, body)}")
    return "\n\n".join(parts)


def _absolute(board: Board, problem: str, peer: Peer, score: str) -> str:
    numbers = list(board.values(problem, peer, score).values())
    return shown(between(numbers), SCORES[score][1])


def _ends(board: Board, problem: str, rival: Rival) -> list[str]:
    """Log-likelihood of the normal density with its moments, seconds, number of splits."""
    if rival.peer is None:
        return ["–", "–", "all"]
    own = board.values(problem, rival.peer)
    # Rows whose density is normal may lack its score.
    normal = own | board.values(problem, rival.peer, "normal")
    seconds = list(board.values(problem, rival.peer, "fit").values())
    is_normal = np.allclose(list(normal.values()), list(own.values()))
    density = np.nan if is_normal else float(np.mean(list(normal.values())))
    time = float(np.mean(seconds)) if seconds else np.nan
    return [digits(density, 2), digits(time, 1), str(len(own))]


def standing(board: Board) -> str:
    """Verdicts by the three scores side by side, a row for each of the others; and their number."""
    problems = board.problems
    rivals = {rival: None for problem in problems for rival in board.rivals(problem)}
    body = []
    words: dict[str, list[str]] = {}
    for rival in rivals:
        if rival.knows != CELLS or (rival.peer is not None and rival.peer.ours):
            continue
        cells = []
        for problem in problems:
            verdicts = [board.verdict(problem, rival, score) for score in JUDGED]
            words.setdefault(_group(problem, rival), []).extend(verdicts)
            late = rival.peer is not None and board.is_late(problem, rival.peer)
            cells.append(" ".join(LATE if late else SIGNS[word] for word in verdicts))
        body.append([named(rival), *cells])
    names = [word for word in SIGNS if word != "–"]
    counts = [
        [group, *(str(found.count(word)) for word in names)]
        for group, found in words.items()
        if set(found) != {"–"}
    ]
    verdicts = markdown(["", *(f"{heading(name)}{mark(name)}" for name in problems)], body)
    return f"{verdicts}\n\n{markdown(['how often ours is', *names], sorted(counts))}"


def _group(problem: str, rival: Rival) -> str:
    """Of what kind a comparison is."""
    others = "libraries" if rival.peer else "published scores"
    if is_composite(problem):
        return f"beside {others}, composite"
    return f"beside {others}, sets {'with' if mark(problem) else 'without'} a mark"


def noise_table(board: Board) -> str:
    """Parts of a lead: lead = equal noise models + what ours finds by default."""
    header = ["problem", "estimator", "its noise", "ours less it", "with equal noise models"]
    body = []
    for problem in board.problems:
        for rival in board.rivals(problem):
            peer = rival.peer
            if peer is None or peer.ours or peer.knows != CELLS or peer.noise not in EQUAL_NOISE:
                continue
            whole = board.values(problem, OURS[CELLS])
            equal = board.values(problem, EQUAL_NOISE[peer.noise])
            theirs = board.values(problem, peer)
            common = [i for i in theirs if i in whole and i in equal]
            if common:
                parts = (
                    between([whole[i] - theirs[i] for i in common]),
                    between([equal[i] - theirs[i] for i in common]),
                    between([whole[i] - equal[i] for i in common]),
                )
                row = [heading(problem), label(board, [problem], rival), peer.noise]
                body.append([*row, *(shown(part, 2) for part in parts), str(len(common))])
    return markdown([*header, "of noise and families found", "splits"], body)


def on_cells(board: Board, case: str) -> str:
    """A training set of the composite as a problem, of the draws that are shown."""
    return f"{board.cells}/{case}"


def draws(board: Board) -> str:
    """A sentence on the draws that the tables are of."""
    if board.cells == FRESH:
        return "Of fresh draws, which were never used before the default was fixed:"
    return "Of the draws of the shipped tables, which the default may have been chosen by:"


def score_table(board: Board) -> str:
    """The composite: what one decides by, a table for each kind of knowledge, most ELPPD first."""
    header = ["estimator", *(f"{_score(score)}, {in_words(case)}" for score, case in DECIDING)]
    header.append("fit [s]")
    parts = [draws(board)]
    for knows, rivals in _by_knowledge(board).items():
        body = {}
        for rival in rivals:
            cells = [_mean(board, case, rival, score) for score, case in DECIDING]
            if set(cells) != {"–"}:
                seconds = _mean_seconds(board, rival, "fit")
                body[rival] = [_name(board, rival), *cells, seconds]
        first = on_cells(board, DECIDING[0][1])
        means = {rival: np.nan_to_num(board.mean(first, rival), nan=-np.inf) for rival in body}
        rows = [body[rival] for rival in sorted(body, key=lambda rival: -means[rival])]
        if rows:
            parts.append(f"**{_given(knows)}**\n\n{markdown(header, rows)}")
    return "\n\n".join(parts)


def wide_table(board: Board) -> str:
    """The composite: a table for each score with every training set, then time and effort."""
    names = {
        (knows, rival): _name(board, rival)
        for knows, rivals in _by_knowledge(board).items()
        for rival in rivals
    }
    parts = [draws(board)]
    for score in SCORES:
        rows = [
            [knows, name, *(_mean(board, case, rival, score) for case in CASES)]
            for (knows, rival), name in names.items()
        ]
        header = ["given", "estimator", *map(in_words, CASES)]
        parts.append(f"**{_score(score)}**\n\n{markdown(header, rows)}")
    rows = []
    for (knows, rival), name in names.items():
        seconds = [_mean_seconds(board, rival, score) for score in TIMES]
        counts = [len(board.values(on_cells(board, case), rival.peer)) for case in CASES]
        rows.append([knows, name, *seconds, str(rival.peer.lines), *map(str, counts)])
    header = ["given", "estimator", *(f"{name} [s]" for name in TIMES), "lines"]
    header += [f"draws, {in_words(case)}" for case in CASES]
    parts.append(f"**Time, with {in_words(TIMED)}, and effort**\n\n{markdown(header, rows)}")
    return "\n\n".join(parts)


def _by_knowledge(board: Board) -> dict[str, list[Rival]]:
    """What estimators are given → those that ran on the composite, in the order of the registry."""
    found: dict[str, list[Rival]] = {}
    for peer in PEERS:
        if any((on_cells(board, case), peer.name) in board.found for case in CASES):
            rival = Rival(peer.name, peer.label, CELLS, peer)  # what it knows stands elsewhere
            found.setdefault(peer.knows, []).append(rival)
    return found


def _name(board: Board, rival: Rival) -> str:
    """What a rival is called on the composite."""
    return label(board, [on_cells(board, case) for case in CASES], rival)


def _score(score: str) -> str:
    """What a score is called on the composite."""
    return "ELPPD" if score == "loglik" else SCORES[score][0]


def _mean(board: Board, case: str, rival: Rival, score: str) -> str:
    """A score on a training set of the composite, with two standard errors over its draws."""
    assert rival.peer is not None
    numbers = list(board.values(on_cells(board, case), rival.peer, score).values())
    return _scaled(between(numbers), score)


def _mean_seconds(board: Board, rival: Rival, score: str) -> str:
    return digits(board.mean(on_cells(board, TIMED), rival, score), TIMES[score])


def _scaled(gap: Gap | None, score: str, factor: float = 1.0) -> str:
    """A mean score of the composite, or a difference of two, in the units of its tables."""
    if score == "loglik":
        return shown(gap, 0, factor * CELLS_OF_A_TEST)
    return shown(gap, SCORES[score][1], factor)


def _given(knows: str) -> str:
    return f"Given {CELLS}" if knows == CELLS else f"Given {CELLS} {knows}"


@dataclass(frozen=True)
class _Comparison:
    """Ours on a training set of the composite beside the strongest of the others by a score."""

    knows: str
    case: str
    problem: str
    score: str
    rival: Rival


def _comparisons(board: Board) -> list[_Comparison]:
    """For each kind of knowledge, training set and score, where both have run as they are."""
    found = []
    for knows, case, score in product(OURS, CASES, JUDGED):
        problem = on_cells(board, case)
        rival = _strongest(board, problem, knows, score)
        if rival and not board.is_older(problem, OURS[knows]):
            found.append(_Comparison(knows, case, problem, score, rival))
    return found


def _strongest(board: Board, problem: str, knows: str, score: str) -> Rival | None:
    """Who of the others has the best mean relative to ours, among those with draws enough."""
    gaps = {
        rival: board.gap(problem, rival, score)
        for rival in board.rivals(problem)
        if rival.knows == knows and rival.peer and not rival.peer.ours
        if not board.is_older(problem, rival.peer)
    }
    least = min(FEW, max((gap.splits for gap in gaps.values() if gap), default=0))
    sign = 1 if SCORES[score][2] else -1
    able = {rival: sign * gap.mean for rival, gap in gaps.items() if gap and gap.splits >= least}
    return max(able, key=able.__getitem__, default=None)


def verdict_table(board: Board) -> str:
    """On the composite, what ours is beside the strongest of the others by each score."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for each in _comparisons(board):
        words = rows.setdefault((each.knows, in_words(each.case)), {})
        words[each.score] = board.verdict(each.problem, each.rival, each.score)
    header = ["given", "training set", *(f"by {_score(score)}" for score in JUDGED)]
    body = [[*key, *map(words.__getitem__, JUDGED)] for key, words in rows.items()]
    return f"{draws(board)}\n\n{markdown(header, body)}"


def wide_verdict_table(board: Board) -> str:
    """The same with the names of both, the difference and the draws."""
    rows: dict[str, list[list[str]]] = {}
    for each in _comparisons(board):
        gap = board.gap(each.problem, each.rival, each.score)
        row = [
            in_words(each.case),
            _score(each.score),
            board.verdict(each.problem, each.rival, each.score),
            _scaled(gap, each.score, -1.0),
            label(board, [each.problem], replace(each.rival, knows=CELLS)),
            str(gap.splits if gap else 0),
        ]
        rows.setdefault(each.knows, []).append(row)
    header = [
        "training set",
        "score",
        "ours is",
        "ours less it",
        "strongest of the others",
        "draws",
    ]
    parts = [draws(board)]
    for knows, body in rows.items():
        peer = OURS[knows]
        ours = _name(board, Rival(peer.name, peer.label, CELLS, peer))
        parts.append(f"**{_given(knows)}: {ours}**\n\n{markdown(header, body)}")
    return "\n\n".join(parts)


# Mark of a place in a page → what is written there.
BLOCKS = {
    "scoreboard": overview,
    "scoreboard-coverage": coverage_table,
    "scoreboard-standing": standing,
    "scoreboard-differences": differences,
    "scoreboard-noise": noise_table,
    "peers": score_table,
    "peers-verdict": verdict_table,
    "peers-wide": wide_table,
    "peers-verdict-wide": wide_verdict_table,
}


def publish(rows: Sequence[dict[str, Any]], pages: Sequence[Path]) -> None:
    """Write the tables into the pages that have a place for them, the picture beside the first."""
    board = Board(rows)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        here = {name: of(board) for name, of in BLOCKS.items() if f"<!-- {name} -->\n" in text}
        write_atomic(page, with_blocks(text, here).encode(), None)  # it has places for tables
    if pages and rows_of_panels(board):
        save(picture(board), pages[0].with_name("scoreboard.png"))
