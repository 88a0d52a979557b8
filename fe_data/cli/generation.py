"""The report of `generate` on a dataset folder."""

from pathlib import Path

import fe_data
from fe_data.cli.messages import INCOMPLETE, OK, counted, say, several, show
from fe_data.dataset.storage import FAILURES, TABLE
from fe_data.dataset.table import LACKED


def report(summary: fe_data.GenerationSummary, out: Path) -> int:
    """Print what a run of `generate` did and what is missing, and return the exit code."""
    show(f"{out}: {counted(summary.counts)}; {summary.simulated} simulated in this run")
    if summary.table_written:
        show(f"wrote {out / TABLE}")
    elif summary.unreadable:
        index, reason = next(iter(summary.unreadable.items()))
        number = several(len(summary.unreadable), "record", "records")
        return say(f"{number} cannot be read back (sample {index}: {reason})", INCOMPLETE)
    else:
        shown = ", ".join(map(str, list(summary.missing)[:10]))
        words = ("sample of other shards is", "samples of other shards are")
        show(f"no table yet: {several(len(summary.missing), *words)} missing (first: {shown})")
    if summary.warnings:
        index, warning = next(iter(summary.warnings.items()))
        number = several(len(summary.warnings), "sample has", "samples have")
        show(f"{number} a warning (first: sample {index}, {warning})")
    if unfitted := summary.counts.get("unfitted", 0):
        number = several(unfitted, "sample lacks", "samples lack")
        where = f": status unfitted in {out / TABLE}" if summary.table_written else ""
        say(f"{number} {LACKED}{where}", INCOMPLETE)
    if failed := summary.counts["failed"]:
        what = several(failed, "sample", "samples")
        where = f": see {out / FAILURES}" if summary.table_written else ""
        return say(f"{what} failed{where}", INCOMPLETE)
    return INCOMPLETE if unfitted else OK
