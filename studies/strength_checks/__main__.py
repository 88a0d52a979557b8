"""Whether strengths can be trusted: python -m studies.strength_checks.

RVEs with interfaces and a matrix that break follow their paths; ten of each loading are repeated
with smaller elements and steps; and the strengths of a measured ply are simulated. Existing results
are not computed again, so that the same command continues an interrupted run. Then the tables are
printed and, without a custom --results file, written into docs/strength.md and docs/validation.md.
"""

import argparse
from pathlib import Path

import numpy as np

from fe_data import named_phases
from fe_data.composite.interface import STRENGTHS
from figures.markdown import markdown
from figures.pipeline.paths import ROOT
from figures.report.tables import publish
from studies.results import Results, stopping_in_words
from studies.strength_checks.simulation import CHECKS, KEY, PLY, cases
from studies.strength_checks.summary import Study

RESULTS = Path(__file__).with_name("results.jsonl")
PAGES = {
    ROOT / "docs" / "strength.md": ("strength-ends",),
    ROOT / "docs" / "validation.md": ("ply-strengths", "ply-cooled"),
}
CHANGES = {"step": "half the steps [%]", "mesh": "half the elements [%]"}  # mean; largest size
# Strengths that rve2d-fibre publishes for this ply, with 15 fibres [MPa]
PEER = {"transverse_tension": 37.2, "transverse_compression": 135.1, "longitudinal_shear": 55.6}


def ends(study: Study) -> str:
    """Return the table of the ends of the paths."""
    rows = []
    for loading, row in study.ends().items():
        shares = [
            f"{100 * row[f'median_{name}']:.{digits}f}; {100 * row[f'largest_{name}']:.{digits}f}"
            for name, digits in (("viscous", 2), ("snap", 1))
        ]
        rows.append([loading.replace("_", " "), f"{row['fell']} of {row['rves']}", *shares])
    header = ["loading", "fell by 20 %", "viscous share [%]", "snap share [%]"]
    return markdown(header, rows)


def halves(study: Study) -> str:
    """Return the table of the changes of strengths by smaller steps and elements."""
    rows = []
    for loading in STRENGTHS:
        shown = []
        for case in CHANGES:
            changes = 100 * study.changes(case, loading)
            mean = f"{changes.mean():+.2f}".replace("-", "−")
            shown.append(f"{mean}; {np.abs(changes).max():.2f}")
        rows.append([loading.replace("_", " "), *shown])
    return markdown(["loading", *CHANGES.values()], rows)


def plies(study: Study) -> str:
    """Return the table of the strengths of the measured ply."""
    measured = named_phases(PLY).measured
    assert measured is not None
    rows = []
    for loading, strengths in study.plies().items():
        value = dict(measured)[f"{loading}_MPa"]
        mean, std = np.nanmean(strengths), np.nanstd(strengths, ddof=1)
        reached = int(np.isfinite(strengths).sum())
        left_out = f" ({reached} of {len(strengths)} reached)" if reached < len(strengths) else ""
        rows.append(
            [
                loading.replace("_", " "),
                f"{value:.0f}",
                f"{mean:.1f} ± {std:.1f}{left_out}",
                f"{100 * (mean / value - 1):+.0f} %".replace("-", "−"),
                f"{PEER[loading]}",
            ]
        )
    return markdown(["strength [MPa]", "measured", "RVEs", "difference", "rve2d-fibre"], rows)


def cooled(study: Study) -> str:
    """Return the strength in transverse tension after cooling, beside that without it."""
    (row,) = study.of("cooled")
    same = study.of("ply", row["case"])[row["seed"]]
    return f"{row['strength_MPa']:.1f} instead of {same['strength_MPa']:.1f} MPa"


def blocks(study: Study) -> dict[str, str]:
    """Return the tables by the names of their places in the pages."""
    return {
        "strength-ends": ends(study),
        "ply-strengths": plies(study),
        "ply-cooled": cooled(study),
    }


def main() -> None:
    """Simulate the missing RVEs, then write the tables."""
    parser = argparse.ArgumentParser("python -m studies.strength_checks", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results")
    parser.add_argument("--jobs", type=int, default=1, help="number of worker processes")
    parser.add_argument("--most", type=int, help="simulate at most this number of RVEs")
    parser.add_argument("--check", choices=CHECKS, help="simulate only one check")
    parser.add_argument("--pages", action="store_true", help="only write the tables")
    options = parser.parse_args()
    checks = tuple(CHECKS) if options.check is None else (options.check,)
    with stopping_in_words(options.results):
        results = Results(options.results, KEY)
        if not options.pages:
            results.solve_missing(cases(checks), options.jobs, options.most)
        study = Study(results.rows)
    early = sum(study.reasons().values())
    print(f"{len(study.rows)} RVEs, {early} ended early: {options.results}")
    if options.check is not None or options.most is not None:
        return
    tables = blocks(study)
    print(halves(study), *tables.values(), sep="\n\n")
    if options.results == RESULTS:
        pages = {page: {name: tables[name] for name in names} for page, names in PAGES.items()}
        publish({}, pages, write=True, program="studies.strength_checks")


if __name__ == "__main__":
    main()
