"""Our RVEs compared with a published direct simulation: python -m studies.direct_simulation FOLDER.

The published curves are those of Z. Liu, M. A. Bessa & W. K. Liu (2016), Computer Methods in
Applied Mechanics and Engineering 306, 319-341. FOLDER contains them as uniaxial_tension.csv and
pure_shear.csv, from the CRATE project (github.com/bessagroup/CRATE).

The study simulates fifty microstructures under both loads, plots them in
docs/direct_simulation.png, and prints the differences of the means. To find possible reasons for
the differences, it also simulates larger RVEs and RVEs with a smaller least distance of fibres, and
solves the same RVEs with other elements. An interrupted run continues with the missing RVEs.
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.figure import Figure

from fe_data import Curves, Design, HardeningTable, Inputs, Loading, Settings, generate, load_curves
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.rve import RVESolution, solve_rve
from fe_data.path_following import EquilibriumPath, follow
from figures.markdown import table_lines
from safe_files.writing import save_picture
from studies.direct_simulation.pixel_rve import ELEMENTS, PixelRVE

OUT = Path("data/direct_simulation")
PICTURE = Path("docs/direct_simulation.png")
# The published stresses are in units of a hundredth of the modulus of the matrix, which is GPa for
# our matrix of 100 GPa.
GPA = 1e3
TABLE = HardeningTable([0.0, 0.04, 2.0], [500.0, 700.0, 700.0 + 2000.0 * 1.96])
SETTINGS = Settings(nu_f=0.19, hardening=TABLE)
INPUTS = Inputs(vf=0.3, E_f_GPa=500.0, b_m_MPa=0.0, c_m=1.0)
MICROSTRUCTURES = 50
STRAINS = np.array([0.01, 0.02, 0.03, 0.04, 0.05])
# File, loading, column of strain and stress in a history, factor to engineering strain.
LOADINGS = {
    "tension": ("uniaxial_tension.csv", Loading((0.05, None, None)), 0, 1.0),
    "shear": ("pure_shear.csv", Loading((None, None, 0.025)), 3, 2.0),
}
FEW = 10  # increments with other elements, which are slow
# Other RVEs: name, number of microstructures, settings.
OTHERS: list[tuple[str, int, dict[str, Any]]] = [
    ("300 discs", 2, {"n_fibres": 300}),
    ("least distance 1.02", 8, {"min_spacing": 1.02}),
]
# The discretisation of CRATE has 50 discs on 600 x 600 pixels, with 52 pixels across a disc. The
# same resolution is obtained with 8 discs on 240 x 240 pixels.
DISCS = 8
PIXELS = 240
SEEDS = range(2)


def published(folder: Path, loading: str) -> tuple[np.ndarray, np.ndarray]:
    """Return strain [-] and stress [MPa] of a published curve."""
    strain, stress = np.loadtxt(folder / LOADINGS[loading][0], delimiter=",", skiprows=1).T
    return strain, GPA * stress


def simulate(name: str, loading: str, count: int, settings: Settings) -> Curves:
    """Simulate `count` microstructures, which are the same for each loading."""
    folder = OUT / name.replace(" ", "_") / loading
    rows = np.tile([*vars(INPUTS).values()], (count, 1))
    design = Design("inputs", 0, rows, np.zeros(count, int))
    generate(design, settings, folder, loading=LOADINGS[loading][1])
    return load_curves(folder / "dataset.csv")


def curves(simulated: Curves, loading: str) -> tuple[np.ndarray, np.ndarray]:
    """Return strain (n,) and stresses (microstructures, n) in the direction of a loading."""
    _, _, column, factor = LOADINGS[loading]
    strain = factor * simulated.histories[0]["strain"][:, column]
    return strain, np.array([history["stress"][:, column] for history in simulated.histories])


def differences(simulated: Curves, loading: str, folder: Path) -> np.ndarray:
    """Return the relative difference of each stress from the published one at STRAINS [%]."""
    strain, stresses = curves(simulated, loading)
    ours = np.array([np.interp(STRAINS, strain, stress) for stress in stresses])
    return 100 * (ours / np.interp(STRAINS, *published(folder, loading)) - 1)


def row(name: str, loading: str, relative: np.ndarray) -> list[str]:
    """Return a row of the table: mean differences, standard error at the last strain, and range."""
    error = relative[:, -1].std(ddof=1) / len(relative) ** 0.5 if len(relative) > 1 else np.nan
    span = f"{relative.min():+.1f} to {relative.max():+.1f}"
    return [name, loading, *signed(relative.mean(axis=0)), f"{error:.2f}", span]


def signed(percent: np.ndarray) -> list[str]:
    """Format numbers with signs."""
    return [f"{value:+.2f}" for value in percent]


def other_elements() -> Iterator[list[str]]:
    """Yield rows with the differences in stress between other elements and ours, same RVEs [%]."""
    microstructures = [random_microstructure(INPUTS.vf, seed, DISCS) for seed in SEEDS]
    ours = {
        name: [
            stresses(solve_rve(INPUTS, SETTINGS, path(name), microstructure=c), name)
            for c in microstructures
        ]
        for name in LOADINGS
    }
    for name in LOADINGS:
        standard = [
            solve_rve(INPUTS, SETTINGS, path(name), microstructure=c, element="P2")
            for c in microstructures
        ]
        theirs = [stresses(solved, name) for solved in standard]
        yield ["standard P2, our mesh", "", name, *stiffer(theirs, ours[name])]
    across = f"{2 * microstructures[0].radii[0] * PIXELS:.0f}"
    for element, name in itertools.product(ELEMENTS, LOADINGS):
        grids = [PixelRVE(PIXELS, c, INPUTS, SETTINGS, element) for c in microstructures]
        paths = [
            follow(IncrementalRVE(cast(RVEProblem, grid)), path(name), FEW, SETTINGS.tolerance)
            for grid in grids
        ]
        theirs = [stresses(solved, name) for solved in paths]
        yield [element, across, name, *stiffer(theirs, ours[name])]


def path(loading: str) -> Loading:
    """Return a loading with few increments."""
    return replace(LOADINGS[loading][1], increments=FEW)


def stresses(solved: RVESolution | EquilibriumPath, loading: str) -> np.ndarray:
    """Return the mean stress of an RVE at STRAINS [MPa]."""
    _, _, column, factor = LOADINGS[loading]
    strain = factor * solved.history["strain"][:, column]
    return np.interp(STRAINS, strain, solved.history["stress"][:, column])


def stiffer(theirs: list[np.ndarray], ours: list[np.ndarray]) -> list[str]:
    """Return the relative differences of stresses from ours [%], averaged over RVEs, as text."""
    return signed(100 * (np.array(theirs) / np.array(ours) - 1).mean(axis=0))


def draw(folder: Path, simulated: dict[str, Curves]) -> Figure:
    """Plot both published curves as points over our band and mean, and the differences below."""
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col", height_ratios=[2.0, 1.0])
    axes[1, 0].sharey(axes[1, 1])
    symbols = {"tension": (r"\varepsilon_{xx}", "xx"), "shear": (r"\gamma_{xy}", "xy")}
    titles = {"tension": "Uniaxial tension, mean stress zero otherwise", "shear": "Pure shear"}
    for (upper, lower), (loading, all_curves) in zip(axes.T, simulated.items(), strict=True):
        strain, stresses = curves(all_curves, loading)
        low = stresses.min(axis=0)
        high = stresses.max(axis=0)
        label = f"ours, all of {len(stresses)} microstructures"
        upper.fill_between(100 * strain, low, high, color="tab:blue", alpha=0.3, lw=0, label=label)
        upper.plot(100 * strain, stresses.mean(axis=0), color="tab:blue", label="ours, mean")
        their_strain, their_stress = published(folder, loading)
        every = np.searchsorted(their_strain, np.arange(0.001, their_strain[-1], 0.002))
        points = 100 * their_strain[every], their_stress[every]
        upper.plot(*points, "o", ms=3, color="black", label="Liu, Bessa & Liu (2016)")
        percent = differences(all_curves, loading, folder)
        lower.axhline(0.0, color="black", lw=0.8)
        spread = (
            percent.mean(axis=0) - percent.min(axis=0),
            percent.max(axis=0) - percent.mean(axis=0),
        )
        lower.errorbar(100 * STRAINS, percent.mean(axis=0), spread, fmt="o", capsize=3)
        name, component = symbols[loading]
        upper.set_title(titles[loading])
        upper.set_ylabel(rf"mean $\sigma_{{{component}}}$ [MPa]")
        lower.set_ylabel("ours over theirs [%]")
        lower.set_xlabel(rf"mean ${name}$ [%]")
        upper.set_ylim(0.0, None)
    axes[0, 0].legend(loc="lower right")
    return figure


def main() -> None:
    """Draw the figure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the published curves")
    folder = parser.parse_args().folder
    strains = [f"{strain:.0%}" for strain in STRAINS]
    simulated = {name: simulate("30 discs", name, MICROSTRUCTURES, SETTINGS) for name in LOADINGS}
    save_picture(draw(folder, simulated), PICTURE, dpi=150)
    print(f"wrote {PICTURE}")

    def rows() -> Iterator[list[str]]:
        for loading, ours in simulated.items():
            yield row("30 discs", loading, differences(ours, loading, folder))
        for (name, count, changes), loading in itertools.product(OTHERS, LOADINGS):
            ours = simulate(name, loading, count, replace(SETTINGS, **changes))
            yield row(name, loading, differences(ours, loading, folder))

    spans = ["error of the last", "over microstructures and strains"]
    for line in table_lines(["RVEs", "loading", *strains, *spans], rows()):
        print(line, flush=True)
    print()
    header = ["element", "pixels across a disc", "loading", *strains]
    for line in table_lines(header, other_elements()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
