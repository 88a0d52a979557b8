"""Compare RVEs with measured plies and closed formulas: python -m studies.measured_plies.

Every RVE has 30 fibres at least 1.03 diameters apart, at the volume fraction of the measured ply.
With --write the study updates docs/tables/measured_plies.csv; with --check it only compares the
closed formulas with this file. Otherwise it prints two tables.
"""

import argparse
import csv
import dataclasses
import math

import numpy as np

from fe_data import effective_constants, named_phases
from fe_data.composite.formulas import FORMULAS
from fe_data.geometry.microstructure import random_microstructure
from figures.markdown import comma_separated, markdown
from figures.pipeline.paths import ROOT
from figures.report.tables import publish
from safe_files.progress import counted

CSV = ROOT / "docs/tables/measured_plies.csv"
PLIES = {
    "carbon_epoxy": "AS4/3501-6",
    "carbon_epoxy_t300": "T300/BSL914C",
    "glass_epoxy_ly556": "E-glass/LY556",
    "glass_epoxy": "E-glass/MY750",
}
VARIED = "glass_epoxy_ly556"
SEEDS = 4
FIBRES = 30
SPACING = 1.03
# Header of the table, unit and number of digits of each constant.
COLUMNS = {
    "E_L_GPa": ("E_L [GPa]", 1.0, 1),
    "E_T_GPa": ("E_T [GPa]", 1.0, 2),
    "G_LT_GPa": ("G_LT [GPa]", 1.0, 2),
    "nu_LT": ("ν_LT", 1.0, 3),
    "nu_TT": ("ν_TT", 1.0, 3),
    "alpha_L_per_K": ("α_L [10⁻⁶/K]", 1e6, 2),
    "alpha_T_per_K": ("α_T [10⁻⁶/K]", 1e6, 1),
}
HEADER = ["ply", "source", "constant", "value", "standard_deviation"]
FINE = 17.8  # elements per fibre diameter at v_f = 1: twice the default, which grows with √v_f
Values = dict[str, tuple[float, float | None]]  # value and standard deviation by constant
Constants = dict[tuple[str, str], Values]  # by material and source
# Other RVEs of one ply: number of fibres, least spacing, and whether the mesh is twice as fine
VARIATIONS = {
    "twice as fine a mesh": (FIBRES, SPACING, True),
    "100 fibres instead of 30": (100, SPACING, False),
    "a spacing of 1.05 instead of 1.03": (FIBRES, 1.05, False),
}
SHOWN = ("E_T_GPa", "G_LT_GPa")  # constants whose variation is shown


def solve(material: str, n_fibres: int, spacing: float, fine: bool) -> list[dict[str, float]]:
    """Return the constants of RVEs with several seeds."""
    phases = named_phases(material)
    assert phases.measured is not None
    vf = phases.measured.vf
    resolution = FINE * math.sqrt(vf) if fine else None
    rows = []
    for seed in range(SEEDS):
        fibres = random_microstructure(vf, seed, n_fibres, spacing)
        solved = effective_constants(phases, fibres, resolution=resolution)
        expansion = {name: getattr(solved, name) for name in ("alpha_L_per_K", "alpha_T_per_K")}
        rows.append(dataclasses.asdict(solved.constants) | expansion)
    return rows


def mean_of(rows: list[dict[str, float]]) -> Values:
    """Return mean and standard deviation between RVEs of each constant in the table."""
    columns = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
    return {name: (float(x.mean()), float(x.std(ddof=1))) for name, x in columns.items()}


def simulated() -> Constants:
    """Return values of all sources, which takes minutes."""
    constants: Constants = {}
    cases = [(name, f"RVEs of {FIBRES} fibres", (FIBRES, SPACING, False)) for name in PLIES]
    cases += [(VARIED, label, case) for label, case in VARIATIONS.items()]
    for name, label, case in counted(cases, "RVEs", "case"):
        constants[name, label] = mean_of(solve(name, *case))
    return constants


def without_simulation() -> Constants:
    """Return measured values and those of formulas."""
    constants: Constants = {}
    for name in PLIES:
        phases = named_phases(name)
        assert phases.measured is not None
        sources = {"measured": dict(phases.measured)}
        sources |= {label: of(phases, phases.measured.vf) for label, of in FORMULAS.items()}
        for label, values in sources.items():
            without_std: Values = {key: (values[key], None) for key in COLUMNS if key in values}
            constants[name, label] = without_std
    return constants


def rows_of(constants: Constants) -> list[list[str]]:
    """Return the rows of the CSV file."""
    return [
        [name, source, constant, f"{value:.6g}", "" if std is None else f"{std:.3g}"]
        for (name, source), values in constants.items()
        for constant, (value, std) in values.items()
    ]


def stored() -> Constants:
    """Return the values in the CSV file."""
    constants: Constants = {}
    with CSV.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            std = float(row["standard_deviation"]) if row["standard_deviation"] else None
            values = constants.setdefault((row["ply"], row["source"]), {})
            values[row["constant"]] = float(row["value"]), std
    return constants


def plies(constants: Constants) -> str:
    """Return the table of measured and simulated constants of all plies."""
    rows = []
    for name, title in PLIES.items():
        phases = named_phases(name)
        assert phases.measured is not None
        ply = f"{title}, v_f {phases.measured.vf:.2f}"
        for label in ("measured", f"RVEs of {FIBRES} fibres"):
            row = [ply, label]
            for constant, (_, factor, digits) in COLUMNS.items():
                value, _ = constants[name, label].get(constant, (None, None))
                text = "–" if value is None else f"{factor * value:.{digits}f}"
                row.append(text.replace("-", "−"))
            rows.append(row)
            ply = ""
    return markdown(["ply", "source", *(title for title, _, _ in COLUMNS.values())], rows)


def variations(constants: Constants) -> str:
    """Return the table of differences from the RVEs of one ply, in per cent."""
    usual = constants[VARIED, f"RVEs of {FIBRES} fibres"]

    def row(label: str, values: Values) -> list[str]:
        changes = []
        for name in SHOWN:
            # Standard error of the difference of two means
            first, second = values[name], usual[name]
            assert first[1] is not None
            assert second[1] is not None
            error = math.hypot(first[1], second[1]) / math.sqrt(SEEDS)
            change = f"{100 * (first[0] / second[0] - 1):+.1f}".replace("-", "−")
            is_same = label in VARIATIONS and VARIATIONS[label][:2] == (FIBRES, SPACING)
            changes.append(change if is_same else f"{change} ± {100 * error / second[0]:.1f}")
        return [label, *changes]

    rows = [row(label, constants[VARIED, label]) for label in VARIATIONS]
    rows.append(
        row("measured", {k: (v, 0.0) for k, (v, _) in constants[VARIED, "measured"].items()})
    )
    return markdown(["change", *(f"{COLUMNS[name][0].split()[0]} [%]" for name in SHOWN)], rows)


def main() -> None:
    """Print the tables, or update or check the CSV file."""
    parser = argparse.ArgumentParser(description=__doc__)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", action="store_true", help="simulate, and update the CSV file")
    group.add_argument(
        "--check", action="store_true", help="compare the formulas with the CSV file"
    )
    parser.add_argument("--stored", action="store_true", help="take RVEs from the CSV file")
    options = parser.parse_args()
    constants = without_simulation()
    if options.check or options.stored:
        constants |= {key: values for key, values in stored().items() if key not in constants}
    else:
        constants |= simulated()
    if options.write or options.check:
        texts = {CSV: comma_separated(HEADER, rows_of(constants))}
        publish(texts, {}, options.write, "studies.measured_plies")
    else:
        print(f"{plies(constants)}\n\n{variations(constants)}")


if __name__ == "__main__":
    main()
