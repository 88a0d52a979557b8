"""Tools for notebooks: the profile and folder of a run, metrics with provenance, and verdicts."""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import pandas as pd
from pandas.io.formats.style import Styler

from figures.claims import Claim, Table
from figures.pipeline.profiles import ProfileError, load_profile
from figures.pipeline.provenance import describe
from figures.report.comparison import SIGNS, Comparison, Metrics, compare, judging, read
from figures.report.labels import brief, column_decimals, label, power
from figures.scores import write_json, written

COLUMNS = ["what", "paper", "ours", "verdict"]
CELLS = {"text-align": "left", "vertical-align": "top", "white-space": "pre-line"}
LEFT = [{"selector": "th, td", "props": "text-align: left; white-space: pre-line"}]
VERDICTS = {True: "✓ holds", False: "✗ does not hold", None: "○ undecided"}


class Record:
    """The run of one notebook. Its time is measured from the creation of this object.

    Args:
        notebook: Name of the notebook.
        profile: Name or file of the profile.
        seed: Seed of the run.
        out_dir: Folder of the results.
        with_repeats: Whether the notebook trains as often as the study `repeats` has it.

    Raises:
        ProfileError: If the notebook cannot run with the profile.
    """

    def __init__(
        self, notebook: str, profile: str, seed: int, out_dir: str, with_repeats: bool = False
    ) -> None:
        self.started = time.perf_counter()
        self.seed = seed
        self.profile_name = profile
        loaded = load_profile(profile)
        self.profile = loaded.with_repeats() if with_repeats else loaded
        if refusal := self.profile.refusal(notebook):
            raise ProfileError(refusal)
        self.out = Path(out_dir)
        self.out.mkdir(parents=True, exist_ok=True)
        self.metrics = self.out / f"{notebook}.json"
        plt.ion()  # cells show their figures

    def keep(
        self,
        metrics: Mapping[str, Any],
        config: Mapping[str, Any],
        inputs: Iterable[Path] = (),
        scatter: Literal["std", "half_width"] = "std",
    ) -> None:
        """Write the metrics, with the configuration, input files and time in their provenance."""
        elapsed = time.perf_counter() - self.started
        provenance = describe(dict(config), inputs, self.seed, elapsed)
        write_json(self.metrics, {**metrics, "provenance": provenance}, scatter=scatter)

    def verdicts(self, *places: str) -> Styler:
        """Return numbers and claims of places of the paper, next to ours, with verdicts."""
        return verdict_table(self.metrics, *places)


def claims_table(claims: Iterable[Claim]) -> Styler:
    """Return a table of claims that are not in the paper, with our numbers and verdicts."""
    rows = [[label(claim.claim), brief(claim.ours), VERDICTS[claim.holds]] for claim in claims]
    table = pd.DataFrame(rows, columns=["claim", "ours", "verdict"])
    return table.style.hide(axis="index").set_table_styles(LEFT)


def shown_table(table: Table) -> pd.DataFrame:
    """Return a table of the report as a notebook shows it."""
    frame = pd.DataFrame(table.rows, columns=table.header).set_index("")
    return frame.rename(index=label).rename_axis(None)


def verdict_table(metrics: Path, *places: str) -> Styler:
    """Return numbers and claims of places of the paper ("Fig. 1", "Table 1") next to ours.

    If other metrics judge the run, as `judging` says, their numbers are shown next to those of the
    run.
    """
    run = read([metrics])
    table = _table(run, places)
    judges = judging(run, metrics.parent)
    small = run[metrics.stem].paper_size is False
    if small or judges[metrics.stem] is not run[metrics.stem]:
        judged = _table(judges, places)
        both = pd.concat([judged, table["ours"].rename("ours, this run")], axis=1)
        table = both.fillna(table[["what", "paper"]]).fillna("")
        table.insert(2, "ours, this run", table.pop("ours, this run"))
        committed = "full run" if small else "several trainings"
        names = {"ours": f"{committed}, committed", "verdict": f"verdict on {committed}"}
        table = table.rename(columns=names)
    left = [{"selector": "th", "props": "text-align: left"}]
    styled = table.style.format(escape="html").set_properties(**CELLS)
    return styled.set_table_styles(left).hide(axis="index")


def _table(run: Mapping[str, Metrics], places: tuple[str, ...]) -> pd.DataFrame:
    """Return the verdict table of some places; its index is the same for runs of any size."""
    entries = compare(run)
    rows = dict(row for place in places for row in _rows(entries[place]))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)
    return table.assign(verdict=[f"{SIGNS.get(v, '')} {v}".strip() for v in table["verdict"]])


def _rows(entry: Comparison) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """Yield name, subject, the paper's number, ours and the verdict of each number and claim."""
    place = entry.item.place
    unit = entry.item.unit
    digits = column_decimals(entry.rows)
    for name, checks in entry.rows.items():
        for column, check in checks.items():
            if check.verdict:
                what = f"{place}: {label(entry.label(name))}, {label(column)}"
                ours = written({"mean": check.ours, "std": check.deviation}, digits[column])
                subject = what if unit == 1 else f"{what} [{power(unit)}]"
                paper = check.published.replace("-", "−")
                yield f"{place} {name} {column}", (subject, paper, ours, check.verdict)
    for claim in entry.claims:
        ours = brief(claim.ours, entry.judged.n_train)
        verdict = entry.claim_verdicts[claim.holds]
        yield claim.id, (place, label(claim.claim), ours, verdict)
