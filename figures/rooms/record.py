"""What a notebook is given and what it keeps: profile, folder, metrics with their provenance."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import pandas as pd
from pandas.io.formats.style import Styler

from figures.claims import Claim, Table
from figures.pipeline.profiles import load_profile
from figures.pipeline.provenance import describe
from figures.report.verdicts import verdict_table
from figures.report.words import brief, label
from figures.scores import write_json

LEFT = [{"selector": "th, td", "props": "text-align: left; white-space: pre-line"}]
VERDICTS = {True: "✓ holds", False: "✗ does not hold", None: "○ open"}


class Record:
    """The run of one notebook, from its first cell on, which is when the time begins to count."""

    def __init__(self, notebook: str, profile: str, seed: int, out_dir: str) -> None:
        self.started = time.perf_counter()
        self.seed = seed
        self.profile_name = profile
        self.profile = load_profile(profile)
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
        """Write the metrics with the configuration, the input files and the time behind them."""
        elapsed = time.perf_counter() - self.started
        provenance = describe(dict(config), inputs, self.seed, elapsed)
        write_json(self.metrics, {**metrics, "provenance": provenance}, scatter=scatter)

    def verdicts(self, *places: str) -> Styler:
        """Judged numbers and claims of places of the paper beside ours."""
        return verdict_table(self.metrics, *places)


def claims_table(claims: Iterable[Claim]) -> Styler:
    """Claims that are not the paper's, with our numbers."""
    rows = [[label(each.claim), brief(each.ours), VERDICTS[each.holds]] for each in claims]
    table = pd.DataFrame(rows, columns=["claim", "ours", "verdict"])
    return table.style.hide(axis="index").set_table_styles(LEFT)


def shown_table(table: Table) -> pd.DataFrame:
    """A table of the report as a notebook shows it."""
    frame = pd.DataFrame(table.rows, columns=table.header).set_index("")
    return frame.rename(index=label).rename_axis(None)
