"""The tables of the guides in Markdown, every score as CSV, and the pages that show them."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from figures.composite.draws import in_words
from figures.markdown import comma_separated, markdown, with_blocks
from figures.style import save
from safe_files.writing import write_atomic
from studies.scoreboard.comparison import (
    JUDGED,
    SCORES,
    Board,
    Gap,
    Rival,
    between,
    seen,
    survive,
    title,
)
from studies.scoreboard.picture import picture, rows_of_panels
from studies.scoreboard.problems import CASES, is_composite
from studies.scoreboard.public import HOLDOUT
from studies.scoreboard.registry import DATA, EQUAL_NOISE, OURS, PEERS

RVES_OF_A_TEST = 50  # test RVEs, whose log-likelihoods are summed in the ELPPD
TIMED = "ind100"  # training set whose times are shown
# Columns of the table for choosing an estimator; its rows are sorted by the first column.
DECIDING = (("loglik", "ind50"), ("loglik", "outd"), ("coverage", "outd"))
SHOWN = (  # estimators in this table; the CSV has all
    "ours.Default",
    "ours.ExactByInput",
    "scikit_learn.GaussianProcess",
    "botorch.SingleTask",
    "ours.Anchored",
    "ours.ExactReplicates",
    "ours.ExactFields",
)
FEW = 4  # least number of splits of the strongest of the others
WORDS = ("better", "tied", "worse", "undecided")


def plain(text: str) -> str:
    """Escape a text from elsewhere, so that Markdown and HTML show it unchanged on one line."""
    return re.sub(r"([\\`*_\[\]<>|&#$~])", r"\\\1", " ".join(text.split()))


def heading(problem: str) -> str:
    """Return the name of a problem in Markdown."""
    return plain(title(problem))


def named(rival: Rival) -> str:
    """Return the name of a rival in Markdown; names of published methods are escaped."""
    return rival.label if rival.peer else plain(rival.label)


def digits(number: float, decimals: int) -> str:
    """Format a number with a true minus sign, or a dash if it is not finite."""
    if not np.isfinite(number):
        return "–"
    text = f"{number:.{decimals}f}".replace("-", "−")
    return text if text.strip("−0.") else text.lstrip("−")


def shown(gap: Gap | None, decimals: int, factor: float = 1.0) -> str:
    """Format a mean, with its 95 % half-width if there are at least two values."""
    if gap is None:
        return "–"
    error = abs(factor) * gap.half_width
    more = f" ± {error:.{decimals}f}" if np.isfinite(error) else ""
    return digits(factor * gap.mean, decimals) + more


def label(board: Board, problems: Sequence[str], rival: Rival) -> str:
    """Return the name of a rival, with the number of failures."""
    if rival.peer is None:
        return named(rival)
    count = sum(len(board.errors(problem, rival.peer)) for problem in problems)
    return f"{rival.label} ({count} failed)" if count else rival.label


def public_pairs(board: Board) -> list[str]:
    """Return the problems for ranks: all public sets with several splits."""
    return [
        name
        for name in board.problems
        if not is_composite(name) and name.partition("/")[2] != HOLDOUT
    ]


def shared(board: Board) -> list[str]:
    """Return the problems of `public_pairs` for which all libraries have results."""
    needed = {peer.name for peer in PEERS if peer.public and not peer.ours}
    return [
        name
        for name in public_pairs(board)
        if needed <= {rival.name for rival in board.rivals(name) if board.gap(name, rival)}
    ]


def standing(board: Board) -> str:
    """Return the table of how often ours has the larger log-likelihood, by library, with ranks.

    The mean rank is over the problems for which all libraries have results. Published scores are
    only in the CSV files.
    """
    if not board.problems:
        return "Nothing has been run."
    repeated = [name for name in board.problems if name.partition("/")[2] != HOLDOUT]
    common = shared(board)
    ranks = board.ranks(common)
    rivals = {rival: None for problem in repeated for rival in board.rivals(problem)}
    body = []
    for rival in rivals:
        if rival.peer and _is_compared(rival):
            late = sum(board.is_late(name, rival.peer) for name in repeated)
            place = digits(ranks.get(rival.name, np.nan), 1)
            *counts, undecided = _counts(board, repeated, rival, JUDGED[:1])
            open_ = str(int(undecided) + late)
            body.append([named(rival), *counts, open_, place, _median_seconds(board, rival)])
    reference = OURS[DATA]
    ours = Rival(reference.name, reference.label, DATA, reference)
    place = digits(ranks.get(reference.name, np.nan), 1)
    body.append([f"**{reference.label}**", *["–"] * 4, place, _median_seconds(board, ours)])
    header = ["compared with", *WORDS[:3], "no verdict", "mean rank", "fit [s]"]
    names = "; ".join(heading(name) for name in common)
    return f"{markdown(header, body)}\n\nAll libraries with a rank ran on {names or 'no set'}."


def kinds(board: Board) -> str:
    """Return verdicts by kind of problem and of rival, for all judged scores, as CSV.

    The scores are log-likelihood, CRPS and RMSE. Holm's procedure treats all comparisons with
    libraries as one family, and all comparisons with published scores as another.
    """
    words_of: dict[str, list[str]] = {}
    for ran_here in (True, False):
        judged = [
            (_group(problem, rival), board.verdict(problem, rival, score), gap.probability)
            for problem in board.problems
            for rival in filter(_is_compared, board.rivals(problem))
            for score in JUDGED
            if bool(rival.peer) == ran_here and (gap := board.gap(problem, rival, score))
        ]
        for group, word, _ in judged:
            if word in WORDS:
                words_of.setdefault(group, []).append(word)
        tested = [verdict for verdict in judged if verdict[1] in WORDS[:3]]
        survived = survive([probability for _, _, probability in tested])
        for (group, word, _), yes in zip(tested, survived, strict=True):
            words_of[group] += [f"{word}, Holm"] * yes
    columns = ["better", "better, Holm", "tied", "worse", "worse, Holm", "undecided"]
    body = [
        [group, *(str(words.count(word)) for word in columns)]
        for group, words in sorted(words_of.items())
    ]
    header = [column.replace(", Holm", "_by_holm") for column in columns[:-1]]
    return comma_separated(["compared_with", *header, "no_verdict"], body)


def _is_compared(rival: Rival) -> bool:
    """Return whether a rival is not ours, and is given the same data as our default."""
    return rival.knows == DATA and not (rival.peer and rival.peer.ours)


def _counts(
    board: Board, problems: Sequence[str], rival: Rival, scores: Sequence[str]
) -> list[str]:
    """Return how often ours is better, tied, worse and undecided, as texts."""
    verdicts = [board.verdict(problem, rival, score) for problem in problems for score in scores]
    return [str(verdicts.count(word)) for word in WORDS]


def _group(problem: str, rival: Rival) -> str:
    """Return the kind of a comparison, which is a row of `kinds`."""
    others = "libraries" if rival.peer else "published scores"
    if is_composite(problem):
        return f"{others}, on the composite ({seen(problem)})"
    return f"{others}, on public sets {seen(problem)}"


def _median_seconds(board: Board, rival: Rival) -> str:
    """Format the median processor time of all fits of a rival."""
    if rival.peer is None:
        return "–"
    times = [board.values(problem, rival.peer, "fit").values() for problem in board.problems]
    seconds = [number for times_of in times for number in times_of]
    return digits(float(np.median(seconds)) if seconds else np.nan, 1)


def differences(board: Board) -> str:
    """Return a table per problem, with the scores of ours and the differences of all others."""
    names = [name for name, _, _ in SCORES.values()]
    judged = " / ".join(SCORES[score][0] for score in JUDGED)
    header = ["estimator", *names, f"ours is, by {judged}", "fit [s]", "splits"]
    parts = []
    for problem in board.problems:
        body = []
        for rival in board.rivals(problem):
            is_reference = rival.peer == OURS[rival.knows]
            if is_reference:
                cells = [shown(_absolute(board, problem, rival, s), SCORES[s][1]) for s in SCORES]
                words = "–"
            else:
                gaps = {score: board.gap(problem, rival, score) for score in SCORES}
                cells = [shown(gap, SCORES[score][1]) for score, gap in gaps.items()]
                words = " / ".join(board.verdict(problem, rival, score) for score in JUDGED)
            name = label(board, [problem], rival)
            name = f"**{name}**" if is_reference else name
            seconds = digits(board.mean(problem, rival, "fit"), 1)
            splits = len(board.values(problem, rival.peer)) if rival.peer else "all"
            body.append([name, *cells, words, seconds, str(splits)])
        parts.append(f"**{heading(problem)}**\n\n{markdown(header, body)}")
    return "\n\n".join(parts)


def _absolute(board: Board, problem: str, rival: Rival, score: str) -> Gap | None:
    """Return the mean score over splits with its standard error."""
    if rival.peer is None:
        mean = board.mean(problem, rival, score)
        return Gap(mean, np.nan, 0) if np.isfinite(mean) else None
    return between(list(board.values(problem, rival.peer, score).values()))


def on_rves(board: Board, case: str) -> str:
    """Return the problem of a training set of the composite, for the shown draws."""
    return f"{board.rves}/{case}"


def score_table(board: Board) -> str:
    """Return the table of the composite: our estimators and the best-known Gaussian processes."""
    sizes = {case: in_words(case) for case in CASES}
    columns = [
        f"{'ELPPD' if score == 'loglik' else SCORES[score][0]}, {sizes[case]}"
        for score, case in DECIDING
    ]
    header = ["given", "estimator", *columns, "fit [s]"]
    first = on_rves(board, DECIDING[0][1])
    rows = []
    for peer in PEERS:
        rival = Rival(peer.name, peer.label, peer.knows, peer)
        cells = [_mean(board, case, rival, score) for score, case in DECIDING]
        if peer.name in SHOWN:
            seconds = digits(board.mean(on_rves(board, TIMED), rival, "fit"), 1)
            name = label(board, [on_rves(board, case) for case in CASES], rival)
            order = (
                list(OURS).index(peer.knows),
                -np.nan_to_num(board.mean(first, rival), nan=-np.inf),
            )
            rows.append((order, [peer.knows, name, *cells, seconds]))
    return markdown(header, [row for _, row in sorted(rows)])


def _mean(board: Board, case: str, rival: Rival, score: str) -> str:
    """Format a score on a training set of the composite, with its 95 % half-width over draws."""
    gap = _absolute(board, on_rves(board, case), rival, score)
    if score == "loglik":
        return shown(gap, 0, RVES_OF_A_TEST)
    return shown(gap, SCORES[score][1])


def _strongest(board: Board, problem: str, knows: str, score: str) -> Rival | None:
    """Return which of the others has the best mean difference from ours, with enough splits."""
    gaps = {
        rival: board.gap(problem, rival, score)
        for rival in board.rivals(problem)
        if rival.knows == knows and rival.peer and not rival.peer.ours
    }
    least = min(FEW, max((gap.splits for gap in gaps.values() if gap), default=0))
    sign = 1 if SCORES[score][2] else -1
    able = {rival: sign * gap.mean for rival, gap in gaps.items() if gap and gap.splits >= least}
    return max(able, key=able.__getitem__, default=None)


# Name of a place in a page → function that returns its table
BLOCKS = {"scoreboard": standing, "peers": score_table}


def all_scores(board: Board) -> str:
    """Return scores, differences from ours, verdicts and times as CSV, by problem and estimator."""
    header = ["problem", "seen", "given", "estimator", "splits"]
    for score, (_, _, more) in SCORES.items():
        header += [
            score,
            f"{score}_half_width",
            f"{score}_less_ours",
            f"{score}_less_ours_half_width",
        ]
        header += [] if more is None else [f"ours_is_by_{score}"]
    header += ["loglik_of_normal", "fit_s", "predict_s", "lines", "failures"]
    return comma_separated(header, _score_rows(board))


def _score_rows(board: Board) -> Iterator[list[str]]:
    for problem in board.problems:
        for rival in board.rivals(problem):
            peer = rival.peer
            splits = str(len(board.values(problem, peer))) if peer else ""
            row = [title(problem), seen(problem), rival.knows, rival.label, splits]
            for score, (_, _, more) in SCORES.items():
                is_reference = rival.peer == OURS[rival.knows]
                row += _numbers(_absolute(board, problem, rival, score))
                row += _numbers(None if is_reference else board.gap(problem, rival, score))
                if more is not None:
                    row.append(
                        "" if is_reference else board.verdict(problem, rival, score).strip("–")
                    )
            row += _numbers(_absolute(board, problem, rival, "normal"))[:1] if peer else [""]
            row += [_number(board.mean(problem, rival, step)) for step in ("fit", "predict")]
            row.append(str(peer.lines) if peer else "")
            errors = board.errors(problem, peer) if peer else []
            yield [*row, "; ".join(" ".join(error.split()) for error in errors)]


def _numbers(gap: Gap | None) -> list[str]:
    """Format a mean and its 95 % half-width; missing numbers become empty texts."""
    return ["", ""] if gap is None else [_number(gap.mean), _number(gap.half_width)]


def _number(value: float) -> str:
    return f"{value:.5g}" if np.isfinite(value) else ""


def strongest(board: Board) -> str:
    """Return the differences from the strongest of the others on the composite, as CSV."""
    rows = []
    for knows, case, score in product(OURS, CASES, JUDGED):
        problem = on_rves(board, case)
        rival = _strongest(board, problem, knows, score)
        gap = rival and board.gap(problem, rival, score)
        if rival and gap:
            less = Gap(-gap.mean, gap.error, gap.splits)
            row = [knows, in_words(case), score, board.verdict(problem, rival, score)]
            rows.append([*row, *_numbers(less), rival.label, str(gap.splits)])
    header = [
        "given",
        "training_set",
        "score",
        "ours_is",
        "ours_less_it",
        "ours_less_it_half_width",
    ]
    return comma_separated([*header, "strongest_of_the_others", "draws"], rows)


def noise_table(board: Board) -> str:
    """Return the parts of our lead in log-likelihood, as CSV.

    The lead is the sum of two parts: the lead with the same noise model as the rival, and the gain
    from the noise and the kernel families that our default estimates.
    """
    rows = []
    for problem in board.problems:
        for rival in board.rivals(problem):
            peer = rival.peer
            if peer is None or peer.ours or peer.knows != DATA or peer.noise not in EQUAL_NOISE:
                continue
            whole = board.values(problem, OURS[DATA])
            equal = board.values(problem, EQUAL_NOISE[peer.noise])
            theirs = board.values(problem, peer)
            common = [i for i in theirs if i in whole and i in equal]
            if common:
                parts = (
                    between([whole[i] - theirs[i] for i in common]),
                    between([equal[i] - theirs[i] for i in common]),
                    between([whole[i] - equal[i] for i in common]),
                )
                row = [title(problem), rival.label, peer.noise, str(len(common))]
                rows.append(row + [text for number in parts for text in _numbers(number)])
    names = ("ours_less_it", "with_equal_noise_models", "of_noise_and_families_found")
    columns = [column for name in names for column in (name, f"{name}_half_width")]
    return comma_separated(["problem", "estimator", "its_noise", "splits", *columns], rows)


# File next to the first page → function that returns its content
FILES = {
    "tables/benchmarks.csv": all_scores,
    "tables/benchmarks_strongest.csv": strongest,
    "tables/benchmarks_noise.csv": noise_table,
    "tables/benchmarks_kinds.csv": kinds,
}


def publish(rows: Sequence[dict[str, Any]], pages: Sequence[Path]) -> None:
    """Write the tables into the pages, and the CSV files and the figure next to the first page."""
    board = Board(rows)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        here = {name: of(board) for name, of in BLOCKS.items() if f"<!-- {name} -->\n" in text}
        write_atomic(page, with_blocks(text, here).encode(), None)  # only its tables change
    if pages and rows_of_panels(board):
        save(picture(board), pages[0].with_name("scoreboard.png"))
        for name, of in FILES.items():
            path = pages[0].parent / name
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, of(board).encode(), None)
