"""The tables of the guides, in Markdown, and the pages that have a place for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.scoreboard.comparison import JUDGED, SCORES, Board, Gap, Rival, between
from bench.scoreboard.picture import picture, rows_of_panels
from bench.scoreboard.problems import CASES, COMPOSITE, is_composite
from bench.scoreboard.public import HOLDOUT
from bench.scoreboard.registry import CELLS, EQUAL_NOISE, OURS, PEERS, Peer
from figures.knowledge.findings import in_words
from figures.report.summary import markdown, with_blocks
from figures.style import save

CELLS_OF_A_TEST = 50  # whose log-likelihoods the ELPPD adds
TIMED = f"{COMPOSITE}/ind100"  # problem whose times are shown
TIMES = {"fit": 1, "predict": 2}  # decimals of the seconds
SIGNS = {"ahead": "+", "level": "=", "behind": "−", "open": "?", "–": "·"}
FEW = 4  # splits, without which one does not count as the strongest of the others


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


def title(problem: str) -> str:
    """What a problem is called."""
    name, _, kind = problem.partition("/")
    return f"{name}, {in_words(kind) if is_composite(problem) else kind}"


def label(board: Board, problems: Sequence[str], rival: Rival) -> str:
    """What a rival is called on problems: with what it knows, how it failed and what is older."""
    if rival.peer is None:
        return rival.label
    text = rival.label if rival.knows == CELLS else f"{rival.label} [{rival.knows}]"
    if any(board.is_older(problem, rival.peer) for problem in problems):
        text += " (older version)"
    errors = [error for problem in problems for error in board.errors(problem, rival.peer)]
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
    ranks = board.ranks(public_pairs(board))
    body = []
    for rival in rivals.values():
        cells = [_of_all_splits(board, problem, rival) for problem in problems]
        if not set(cells) - {"–"}:
            continue  # other scores of it are published
        rank = digits(ranks.get(rival.name, np.nan), 1)
        body.append([rival.label, *cells, rank, _median_seconds(board, problems, rival)])
    body.sort(key=lambda row: float(row[-2]) if row[-2] != "–" else np.inf)
    counts = [len(board.values(problem, OURS[CELLS])) for problem in problems]
    columns = [f"{title(name)} ({count})" for name, count in zip(problems, counts, strict=True)]
    return markdown(["estimator", *columns, "mean rank", "fit [s], median"], body)


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
        [rival.label, *(digits(board.mean(name, rival, "coverage"), 2) for name in problems)]
        for rival in sorted(rivals, key=lambda rival: PEERS.index(rival.peer))
    ]
    return markdown(["estimator", *map(title, problems)], body)


def _of_all_splits(board: Board, problem: str, rival: Rival) -> str:
    """The mean log-likelihood, with the number of splits where ours has more of them."""
    mean = digits(board.mean(problem, rival), SCORES["loglik"][1])
    if rival.peer is None or mean == "–":
        errors = board.errors(problem, rival.peer) if rival.peer else []
        return errors[0] if errors else mean
    count = len(board.values(problem, rival.peer))
    return mean if count == len(board.values(problem, OURS[CELLS])) else f"{mean} ({count})"


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
        parts.append(f"**{title(problem)}**\n\n{markdown(header, body)}")
    return "\n\n".join(parts)


def _absolute(board: Board, problem: str, peer: Peer, score: str) -> str:
    numbers = list(board.values(problem, peer, score).values())
    return shown(between(numbers), SCORES[score][1])


def _ends(board: Board, problem: str, rival: Rival) -> list[str]:
    """Log-likelihood of the normal density with its moments, seconds, number of splits."""
    if rival.peer is None:
        return ["–", "–", "all"]
    normal = list(board.values(problem, rival.peer, "normal").values())
    seconds = list(board.values(problem, rival.peer, "fit").values())
    count = len(board.values(problem, rival.peer))
    density = digits(float(np.mean(normal)) if normal else np.nan, 2)
    return [density, digits(float(np.mean(seconds)) if seconds else np.nan, 1), str(count)]


def standing(board: Board) -> str:
    """Verdicts by the three scores side by side, a row for each of the others; and their number."""
    problems = board.problems
    rivals = {rival: None for problem in problems for rival in board.rivals(problem)}
    body = []
    words = []
    for rival in rivals:
        if rival.knows != CELLS or (rival.peer is not None and rival.peer.ours):
            continue
        each = [[board.verdict(name, rival, score) for score in JUDGED] for name in problems]
        words += [word for cell in each for word in cell]
        body.append([rival.label, *(" ".join(SIGNS[word] for word in cell) for cell in each)])
    counts = (f"{word} in {words.count(word)}" for word in SIGNS if word != "–")
    return f"{markdown(['', *map(title, problems)], body)}\n\nOurs is {', '.join(counts)}."


def noise_table(board: Board) -> str:
    """What part of a lead is the noise model: lead = equal noise models + the noise model."""
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
                row = [title(problem), label(board, [problem], rival), peer.noise]
                body.append([*row, *(shown(part, 2) for part in parts), str(len(common))])
    return markdown([*header, "of the noise model", "splits"], body)


def score_table(board: Board) -> str:
    """The composite: ELPPD on every training set, the other scores, time and effort."""
    words = [in_words(case) for case in CASES]
    body = []
    header = ["given", "estimator", *(f"ELPPD, {each}" for each in words)]
    rest = [score for score in SCORES if score != "loglik"]
    header += [f"{SCORES[score][0]}, {' / '.join(words)}" for score in rest]
    header += [f"{name} [s], {in_words('ind100')}" for name in TIMES]
    problems = [f"{COMPOSITE}/{case}" for case in CASES]
    for peer in PEERS:
        if not any((problem, peer.name) in board.found for problem in problems):
            continue
        rival = Rival(peer.name, peer.label, CELLS, peer)  # what it knows has a column of its own
        row = [peer.knows, label(board, problems, rival)]
        for problem in problems:
            numbers = list(board.values(problem, peer).values())
            row.append(shown(between(numbers), 0, CELLS_OF_A_TEST))
        for score in rest:
            means = [board.mean(problem, rival, score) for problem in problems]
            row.append(" / ".join(digits(mean, SCORES[score][1]) for mean in means))
        for score, decimals in TIMES.items():
            row.append(digits(board.mean(TIMED, rival, score), decimals))
        counts = " / ".join(str(len(board.values(problem, peer))) for problem in problems)
        body.append([*row, str(peer.lines), counts])
    return markdown([*header, "lines", "draws"], body)


def verdict_table(board: Board) -> str:
    """On the composite, ours against the strongest of the others by each score."""
    header = ["given", "training set", "ours"]
    header += [f"by {'ELPPD' if score == 'loglik' else SCORES[score][0]}" for score in JUDGED]
    body = []
    for knows, ours in OURS.items():
        for case in CASES:
            problem = f"{COMPOSITE}/{case}"
            others = [
                rival
                for rival in board.rivals(problem)
                if rival.knows == knows and rival.peer and not rival.peer.ours
            ]
            if others and board.values(problem, ours):
                cells = [_against_strongest(board, problem, others, score) for score in JUDGED]
                name = label(board, [problem], Rival(ours.name, ours.label, CELLS, ours))
                body.append([knows, in_words(case), name, *cells])
    return markdown(header, body)


def _against_strongest(board: Board, problem: str, others: Sequence[Rival], score: str) -> str:
    """The verdict against the best mean of the others, the difference and the draws."""
    gaps = {rival: board.gap(problem, rival, score) for rival in others}
    least = min(FEW, max((gap.splits for gap in gaps.values() if gap), default=0))
    sign = 1 if SCORES[score][2] else -1
    able = {rival: gap for rival, gap in gaps.items() if gap and gap.splits >= least}
    if not able:
        return "–"
    best = max(able, key=lambda rival: sign * able[rival].mean)
    scale = CELLS_OF_A_TEST if score == "loglik" else 1
    difference = shown(able[best], 0 if score == "loglik" else 3, -scale)
    word = board.verdict(problem, best, score)
    name = label(board, [problem], Rival(best.name, best.label, CELLS, best.peer))
    return f"{word} ({difference}): {name}, {able[best].splits} draws"


def publish(rows: Sequence[dict[str, Any]], pages: Sequence[Path]) -> None:
    """Write the tables into the pages that have a place for them, the picture beside the first."""
    board = Board(rows)
    blocks = {
        "scoreboard": overview,
        "scoreboard-coverage": coverage_table,
        "scoreboard-standing": standing,
        "scoreboard-differences": differences,
        "scoreboard-noise": noise_table,
        "peers": score_table,
        "peers-verdict": verdict_table,
    }
    for page in pages:
        text = page.read_text(encoding="utf-8")
        here = {name: of(board) for name, of in blocks.items() if f"<!-- {name} -->\n" in text}
        page.write_text(with_blocks(text, here), encoding="utf-8")
    if pages and rows_of_panels(board):
        save(picture(board), pages[0].with_name("scoreboard.png"))
