"""Draw the simulated figures of three guides: python -m docs.pictures."""

import argparse
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fe_data import Inputs, Settings, solve_rve
from fe_data.cli.main import main
from fe_data.mechanics.plots import draw_mises
from safe_files.writing import PICTURE, save_picture, write_atomic

DOCS = Path(__file__).parent


def several_radii() -> Figure:
    """Return RVEs with fibres of several radii, for docs/fe_data.md."""
    laws = [("equal", 0.0), ("uniform", 0.3), ("lognormal", 0.5)]
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    for ax, (law, cov) in zip(axes, laws, strict=True):
        rve = solve_rve(Inputs(0.3, 400.0, 400.0, 0.4), Settings(radii=law, radii_cov=cov), seed=5)
        draw_mises(ax, rve)
        ax.set_title(f"{law} radii, C = {cov:g}: $p_\\sigma$ = {rve.p_sigma:.2f}")
    return figure


def page_code(page: Path) -> str:
    """Return the Python of a page as one script."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))


def own_composite(names: dict[str, Any]) -> Figure:
    """Return what docs/own_composite.md finds.

    Args:
        names: The variables of the page, after its code has run.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for n, ends in zip(names["sizes"], names["study"], strict=True):
        left.plot(np.full(len(ends), n), ends, "C0.")
    mean, half = -names["mean"][0], 1.96 * names["std"][0]
    strain = np.linspace(0.0, 1.0, len(mean) + 1)[1:]  # [%]
    right.fill_between(strain, mean - half, mean + half, alpha=0.3, label="surrogate, 95 % band")
    for number, curve in enumerate(names["check"]):
        label = None if number else f"{len(names['check'])} simulated RVEs"
        right.plot(strain, curve, "k", lw=0.7, label=label)
    left.set(xlabel="number of fibres", ylabel="compressive stress at 1 % [MPa]")
    right.set(xlabel="compressive strain [%]", ylabel="compressive stress [MPa]")
    right.set(xlim=(0.5, 1), ylim=(0.5 * mean[-1], 1.1 * mean[-1]))
    right.legend(loc="lower right")
    return figure


def envelope() -> tuple[bytes, bytes]:
    """Return figure and table that the command of docs/strength.md writes into this folder."""
    page = (DOCS / "strength.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"^python -m fe_data (envelope .+)$", page, re.M)
    main(words.split())
    folder = Path("envelope")
    return (folder / "envelope.png").read_bytes(), (folder / "envelope.csv").read_bytes()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    save_picture(several_radii(), DOCS / "several_radii.png", dpi=70)
    variables: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where the code writes its datasets
        exec(page_code(DOCS / "own_composite.md"), variables)
        save_picture(own_composite(variables), DOCS / "own_composite.png", dpi=90)
        picture, table = envelope()
        write_atomic(DOCS / "envelope.png", picture, PICTURE)
        write_atomic(DOCS / "tables" / "envelope.csv", table, b"angle_deg")
