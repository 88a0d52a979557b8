"""The tables and the picture of what every estimator reached."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from bench.peers.problems import CASES
from bench.peers.registry import CELLS, FIELDS, PEERS, REPLICATES, Peer
from figures.knowledge.findings import in_words
from figures.report.summary import markdown, with_blocks
from figures.style import STYLE, WIDTH, save

Found = Mapping[Peer, Mapping[tuple[str, int], Mapping[str, Any]]]  # by training set and draw
SHARED = {"rmse": ("RMSE", 3), "crps": ("CRPS", 3), "coverage": ("coverage (95 %)", 2)}
TIMED = "ind100"  # training set whose times are shown
TIMES = {"fit": 1, "predict": 2}  # decimals of the seconds
FEW = 4  # draws, without which one does not count as the best beside others that have them
LOWEST = -300.0  # of the picture's axis
BY_NAME = {peer.name: peer for peer in PEERS}
CONSTANT_NOISE = BY_NAME["ours.Exact"]  # assumes of the noise what most of the others do
# What the guide recommends for each kind of knowledge; differences are from these.
OURS = {
    CELLS: BY_NAME["ours.ExactByInput"],
    REPLICATES: BY_NAME["ours.ExactReplicates"],
    FIELDS: BY_NAME["ours.ExactFields"],
}


def by_peer(rows: Sequence[Mapping[str, Any]]) -> Found:
    """Results of those that were tried."""
    found = {
        p: {(row["case"], row["draw"]): row for row in rows if row["peer"] == p.name} for p in PEERS
    }
    return {peer: own for peer, own in found.items() if own}


def values(found: Found, peer: Peer, case: str, score: str = "elppd") -> dict[int, float]:
    """A score by draw, of the draws that did not fail."""
    own = found.get(peer, {}).items()
    return {i: row[score] for (name, i), row in own if name == case and score in row}


def error(numbers: Sequence[float]) -> float:
    """The standard error of a mean, 0 of a single number."""
    n = len(numbers)
    return float(np.std(numbers, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def shown(numbers: Sequence[float], digits: int, scatter: bool = False) -> str:
    """The mean, with its standard error on request and where there are two values."""
    if not numbers:
        return "–"
    more = f" ± {error(numbers):.{digits}f}" if scatter and len(numbers) > 1 else ""
    return f"{np.mean(numbers):.{digits}f}{more}".replace("-", "−")


def score_table(found: Found) -> str:
    """A row for each estimator: ELPPD on every training set, the other scores, time and effort."""
    words = [in_words(case) for case in CASES]
    body = []
    header = ["given", "estimator", *(f"ELPPD, {each}" for each in words)]
    header += [f"{name}, {' / '.join(words)}" for name, _ in SHARED.values()]
    header += [f"{name} [s], {in_words(TIMED)}" for name in TIMES]
    for peer, own in found.items():
        errors = [row["error"] for row in own.values() if "error" in row]
        failed = f"; {len(errors)} failed: {', '.join(sorted(set(errors)))}" if errors else ""
        scores = {case: values(found, peer, case) for case in CASES}
        row = [peer.knows, peer.label + failed]
        row += [shown([*each.values()], 0, scatter=True) for each in scores.values()]
        for score, (_, digits) in SHARED.items():
            each = (shown([*values(found, peer, case, score).values()], digits) for case in CASES)
            row.append(" / ".join(each))
        row += [shown([*values(found, peer, TIMED, s).values()], n) for s, n in TIMES.items()]
        body.append([*row, str(peer.lines), " / ".join(str(len(each)) for each in scores.values())])
    return markdown([*header, "lines", "draws"], body)


def verdict_table(found: Found) -> str:
    """On every training set the best of ours against the best of the others, draw by draw."""
    header = ["given", "training set", "best of ours", "best of the others"]
    body = []
    for knows in dict.fromkeys(peer.knows for peer in found):
        first, *_ = tried = [peer for peer in found if peer.knows == knows]
        for case in CASES:
            gains = {p: ahead(found, p, first, case) for p in tried}
            least = min(FEW, max(map(len, gains.values()))) or 1
            means = {p: np.mean(gain) for p, gain in gains.items() if len(gain) >= least}
            sides = ([p for p in means if p.ours == ours] for ours in (True, False))
            best = [max(side, key=means.__getitem__) for side in sides if side]
            gain = ahead(found, *best, case) if len(best) == 2 else []
            if gain:
                row = [knows, in_words(case), *(peer.label for peer in best)]
                alike = ahead(found, CONSTANT_NOISE, best[1], case) if knows == CELLS else []
                body.append(
                    [
                        *row,
                        shown(gain, 0, scatter=True),
                        str(len(gain)),
                        verdict(gain),
                        shown(alike, 0, scatter=True),
                    ]
                )
    ends = ["ours is ahead by", "draws", "ours is", "with one noise for all inputs, ahead by"]
    return markdown([*header, *ends], body)


def ahead(found: Found, first: Peer, second: Peer, case: str) -> list[float]:
    """By how much the ELPPD of the first is larger, on the draws that both have."""
    ours, theirs = (values(found, peer, case) for peer in (first, second))
    return [ours[i] - theirs[i] for i in ours if i in theirs]


def verdict(gain: Sequence[float]) -> str:
    """In words, by two standard errors of a paired difference."""
    if len(gain) < 2:
        return "open"
    mean = np.mean(gain)
    margin = 2 * error(gain)
    return "ahead" if mean > margin else "level" if mean >= -margin else "behind"


@plt.style.context(STYLE)
def picture(found: Found) -> Figure:
    """How far every estimator is from ours with the same knowledge, draw by draw, in ELPPD."""
    shown_peers = [peer for peer in found if peer.knows in OURS and peer != OURS[peer.knows]]
    size = WIDTH, 1.2 + 0.3 * len(shown_peers)
    figure, panels = plt.subplots(1, len(CASES), figsize=size, sharey=True)
    for axes, case in zip(panels, CASES, strict=True):
        axes.axvline(0, color="C1", lw=1.2)
        for i, peer in enumerate(shown_peers):
            gain = ahead(found, peer, OURS[peer.knows], case)
            colour = "C1" if peer.ours else "C0"
            if not gain:
                word = "failed" if any(name == case for name, _ in found[peer]) else "not run"
                axes.text(0.03, i, word, transform=axes.get_yaxis_transform(), va="center")
            elif np.mean(gain) < LOWEST:
                axes.plot(LOWEST, i, "<", color=colour, clip_on=False)
            else:
                margin = 2 * error(gain)
                axes.errorbar(np.mean(gain), i, xerr=margin, fmt="o", ms=4, capsize=2, color=colour)
        axes.set(title=in_words(case), xlabel="ELPPD less ours", xlim=(LOWEST, 60))
        axes.grid(axis="y", lw=0.3)
    labels = [textwrap.fill(_short(peer), 36) for peer in shown_peers]
    panels[0].set_yticks(range(len(labels)), labels, fontsize=7)
    panels[0].invert_yaxis()
    return figure


def _short(peer: Peer) -> str:
    """The label, with what is given beside the training cells."""
    more = "" if peer.knows == CELLS else f" [{peer.knows.removeprefix('and ')}]"
    return f"{peer.label.partition(', the best of its')[0]}{more}"


def publish(rows: Sequence[Mapping[str, Any]], pages: Sequence[Path]) -> None:
    """Write the tables into the pages that have a place for them, the picture beside the first."""
    found = by_peer(rows)
    blocks = {"peers": score_table(found), "peers-verdict": verdict_table(found)}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        here = {name: block for name, block in blocks.items() if f"<!-- {name} -->" in text}
        page.write_text(with_blocks(text, here), encoding="utf-8")
    save(picture(found), pages[0].with_name("peers.png"))
