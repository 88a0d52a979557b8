"""Independently simulated datasets of the composite: the test and training sets of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from figures.composite.problem import Samples, load_paper_table, scaled
from figures.pipeline.paths import (
    SHIPPED_TABLES,
    TEST,
    drawn,
    require_tables,
    table_path,
    tables_of,
)
from figures.pipeline.profiles import Profile
from figures.pipeline.settings import TRAINING_CASE, Design


@dataclass(frozen=True)
class Draw:
    """One dataset: a test set and all training sets. The paper has one dataset."""

    test: Samples
    cases: Mapping[str, Samples]  # training sets by name

    @property
    def outside(self) -> float:
        """Share of the test RVEs whose v_f lies outside the range of the second training set."""
        vf = self.test.X[:, 0]
        trained = self.cases[TRAINING_CASE].X[:, 0]
        return float(np.mean((vf < trained.min()) | (vf > trained.max())))


def load_draws(data_dir: Path | str, profile: Profile) -> list[Draw]:
    """Load datasets with the sizes of a profile; each has the next rows of every table.

    Raises:
        FileNotFoundError: If a table is missing.
        ValueError: If a table has too few RVEs.
    """
    assert profile.draws
    sizes = profile.datasets
    tables = {}
    for design in [TEST, *(case.design for case in profile.surrogate.cases.values())]:
        require_tables(drawn(data_dir), design)
        path = table_path(drawn(data_dir), design)
        table = load_paper_table(path)
        tables[design] = table
        held = table.n_rows
        needed = profile.draws.count * sizes[design]
        if held < needed:
            raise ValueError(f"{path} has {held} RVEs, but {needed} are needed")
    samples = {design: scaled(table) for design, table in tables.items()}

    def rves(design: Design, number: int) -> Samples:
        return samples[design][tables[design].index // sizes[design] == number]

    cases = profile.surrogate.cases
    return [
        Draw(rves(TEST, i), {name: rves(c.design, i)[: c.count] for name, c in cases.items()})
        for i in range(profile.draws.count)
    ]


def path_of_draws(data_dir: Path | str, design: Design) -> Path | None:
    """Return the table of all draws of a design, of which a folder has the first draw.

    Args:
        data_dir: Folder with the first draw. The draws are in its folder `draws`, otherwise those
            of the package are taken. Their first draw must be the table of the folder, up to
            rounding errors.
        design: Design of the table.

    Returns:
        The file; None if there are no such draws.
    """
    shipped = table_path(drawn(SHIPPED_TABLES), design)
    path = tables_of(drawn(data_dir), [design]).get(design, shipped)
    table = load_paper_table(table_path(data_dir, design))
    draws = load_paper_table(path)
    first = draws.outputs[draws.index < table.n_rows]
    same = first.shape == table.outputs.shape and np.allclose(first, table.outputs, rtol=1e-5)
    return path if same else None


def in_words(case: str) -> str:
    """Return words for a training set."""
    return f"{case.removeprefix('ind')} RVEs" if case.startswith("ind") else "out of distribution"
