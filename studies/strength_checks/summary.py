"""What the checks show: ends of paths, effects of mesh and steps, and strengths of a ply."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fe_data.arrays import Floats
from studies.results import Result
from studies.strength_checks.simulation import STRENGTHS


class Study:
    """Rows of the file of results.

    Args:
        rows: Lines of the file.
    """

    def __init__(self, rows: Sequence[Result]) -> None:
        self.rows = list(rows)

    def of(self, problem: str, case: str | None = None) -> list[Result]:
        """Return the rows of a check, by seed."""
        rows = [row for row in self.rows if row["problem"] == problem]
        rows = [row for row in rows if case is None or row["case"] == case]
        return sorted(rows, key=lambda row: row["seed"])

    def ends(self) -> dict[str, dict[str, float]]:
        """Return counts and shares by loading.

        Returns:
            Number of RVEs, of those that fell by the chosen share, of those that came to the end of
            the loading, and of those that ended early; median and largest share of viscous work,
            and of the energy that snaps release.
        """
        table = {}
        for loading in STRENGTHS:
            rows = [row for row in self.of("ends") if row["loading"] == loading]
            ended = [row for row in rows if "reason" not in row]
            viscous, snaps = (
                np.array([row[f"{name}_share"] for row in ended]) for name in ("viscous", "snap")
            )
            fell = [row for row in ended if row["last_strain"] < 0.999 * LAST_STRAINS[loading]]
            table[loading] = {
                "rves": len(rows),
                "fell": len(fell),
                "whole": len(ended) - len(fell),
                "early": len(rows) - len(ended),
                "median_viscous": float(np.median(viscous)),
                "largest_viscous": float(viscous.max()),
                "median_snap": float(np.median(snaps)),
                "largest_snap": float(snaps.max()),
            }
        return table

    def reasons(self) -> Counter[str]:
        """Return how often each reason ended a path early."""
        return Counter(row["reason"] for row in self.of("ends") if "reason" in row)

    def changes(self, case: str, loading: str) -> Floats:
        """Return relative changes of a strength by smaller steps or elements, (n,)."""
        strengths = [
            np.array(
                [
                    row["strength_MPa"]
                    for row in self.of("halves", name)
                    if row["loading"] == loading
                ]
            )
            for name in ("default", case)
        ]
        return np.asarray(strengths[1] / strengths[0] - 1)

    def plies(self) -> dict[str, Floats]:
        """Return the strengths of the RVEs of the ply by loading [MPa]; NaN if not reached."""
        return {
            loading: np.array(
                [
                    row["strength_MPa"] if row["is_reached"] else np.nan
                    for row in self.of("ply", loading)
                ]
            )
            for loading in STRENGTHS[:3]
        }


LAST_STRAINS = dict(zip(STRENGTHS, (0.03, 0.06, 0.05, 0.03), strict=True))
