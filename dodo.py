"""The tasks behind `make`: datasets → notebooks → report, for one profile.

Each task names the source files, parameters and tables it depends on; doit compares their
contents and runs what is out of date. PROFILE, DATA, SEED and JOBS come from the environment.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import get_args

from doit.exceptions import TaskFailed
from doit.tools import config_changed
from joblib import cpu_count

from figures.pipeline import actions, paths
from figures.pipeline.dependencies import (
    data_files,
    notebook_sources,
    simulation_sources,
    sources,
)
from figures.pipeline.paths import NOTEBOOKS, ROOT, TEST, TRAINING
from figures.pipeline.profiles import (
    ABLATION,
    ACTIVE_LEARNING,
    DRAWS,
    PRIOR_KNOWLEDGE,
    REPEATED,
    STRAIN_PATHS,
    SURROGATE,
    StudyNotebook,
    load_profile,
)
from figures.pipeline.profiles import DATA as MATERIALS_DATA
from figures.pipeline.provenance import file_digest
from figures.pipeline.settings import Design

AT_ONCE = 2  # tasks: one uses the cores where another has work for a single one; each takes memory
FULL_RUN = {  # processor seconds without AVX-512; with AVX-512 trainings take four fifths
    "dataset": 300,
    "00_method": 20,
    "01_prior_study": 300,
    "02_example_1d": 100,
    "03_materials_data": 30,
    "04_materials_surrogate": 80,
}
REPEATS = {"01_prior_study": 1840, "02_example_1d": 1960, "04_materials_surrogate": 480}
OF_SHIPPED_TABLES = (MATERIALS_DATA, ABLATION, PRIOR_KNOWLEDGE, ACTIVE_LEARNING)
LONGEST = (SURROGATE,)  # notebooks, in a small run

GIVEN_PROFILE = os.environ.get("PROFILE") or "quick"  # name or file
try:
    PROFILE = load_profile(GIVEN_PROFILE)
    JOBS = actions.integer_parameter("JOBS", cpu_count(), low=1)
    SEED = actions.integer_parameter("SEED", PROFILE.seed, low=0)
    OWN_DATA = ROOT / "data" / PROFILE.name
    DATA = Path(os.environ.get("DATA") or OWN_DATA).resolve()
    if OWN_DATA.resolve() == DATA:
        DATA = OWN_DATA
    else:
        paths.require_tables(DATA, TRAINING, TEST)
    RUN = paths.run_name(PROFILE.name, DATA if DATA != OWN_DATA else None)
    HAS_DRAWS = DATA == OWN_DATA or paths.tables_of(paths.drawn(DATA), PROFILE.designs_of(DRAWS))
    actions.make_state()
except (ValueError, OSError) as error:
    sys.exit(f"make: {error}")

OUT = ROOT / "figures" / RUN
SECONDS, SECONDS_OF_REPEATS = (
    (FULL_RUN, REPEATS) if PROFILE.name == paths.REFERENCE.name else ({}, {})
)
DOIT_CONFIG = {
    "reporter": actions.Reporter,
    "check_file_uptodate": actions.Contents,
    "num_process": min(AT_ONCE, JOBS),
    "par_type": "thread",
}


def _simulation(designs, folder):
    """Simulate designs, name → number of inputs, into a folder."""
    repeats = {design: f"x{count}" for design, count in PROFILE.microstructures.items()}
    parts = [f"{name}={count}{repeats.get(name, '')}" for name, count in designs.items()]
    further = ["--seed", str(PROFILE.seed), "--jobs", str(JOBS)]
    command = ["-m", "figures.pipeline.simulation", str(folder), *parts, *further]
    return {
        "name": PROFILE.name,
        "doc": f"simulate {', '.join(designs)}, {sum(designs.values())} inputs",
        "actions": [(actions.run_program, [command])],
        "file_dep": simulation_sources(),
        "uptodate": [config_changed({"designs": parts, "seed": PROFILE.seed})],
        "targets": [folder / design / "dataset.csv" for design in designs],
    }


def _comparison(design, name):
    """Compare a simulated table with one of those that come with the package."""
    table = paths.table_path(OWN_DATA, design)
    shipped = paths.SHIPPED_TABLES / name
    # The tolerance holds on the dolfinx that the shipped tables were made with.
    command = ["-m", "fe_data", "compare", str(table), str(shipped), "--tolerance", "1e-6"]
    return {
        "name": design,
        "doc": f"compare {design} with the shipped table",
        "actions": [(actions.run_program, [command])],
        "file_dep": [table, shipped],
    }


def task_dataset():
    """Simulate the designs of the profile."""
    yield _simulation(PROFILE.datasets, OWN_DATA) | {"meta": {"seconds": SECONDS.get("dataset")}}


def task_draws():
    """Simulate the tables of all datasets; the first dataset is the one of the profile."""
    if PROFILE.draws:
        sizes = {design: PROFILE.datasets[design] for design in PROFILE.designs_of(DRAWS)}
        counts = {design: PROFILE.draws.count * size for design, size in sizes.items()}
        yield _simulation(counts, paths.drawn(OWN_DATA))


def task_shipped():
    """Compare the full profile's tables with the ones that come with the package."""
    if PROFILE.name != "full" or DATA != OWN_DATA:
        return
    for design in PROFILE.datasets:
        yield _comparison(design, f"{design}.csv")


def task_reference_table():
    """Simulate the reference table in more than an hour, and compare it with the shipped one."""
    yield _simulation({"reference": 200}, OWN_DATA)
    yield _comparison("reference", "reference_rves.csv.gz")


def _has_pictures(task, values, metrics):  # noqa: ARG001, doit's signature
    """Return whether all pictures of a notebook exist; doit itself checks targets only."""
    return paths.is_complete(metrics)


def _execution(name, with_repeats=False):
    """Execute a notebook of the paper or of a study; with repeats for the study `repeats`."""
    out = paths.repeats_folder(RUN) if with_repeats else paths.results_folder(name, RUN)
    profile = PROFILE.with_repeats() if with_repeats else PROFILE
    folder = DATA
    simulated = "dataset"
    if name == DRAWS:
        folder = paths.drawn(DATA)
        simulated = "draws"
    parameters = {
        "profile": GIVEN_PROFILE,
        "seed": SEED,
        "data_dir": str(DATA),
        "out_dir": str(out),
    }
    if with_repeats:
        parameters["with_repeats"] = "true"
    command = ["-m", "figures.pipeline.run_notebook", name]
    for key, value in parameters.items():
        command += ["-p", key, str(value)]
    designs = PROFILE.designs_of(name)
    awaited = designs
    tables = [paths.table_path(folder, design) for design in designs]
    if DATA != OWN_DATA:  # all tables that there are
        awaited = []
        drawn = get_args(Design) if designs else ()
        tables = paths.tables_of(folder, drawn).values()
    path = paths.notebook_path(name)
    metrics = out / f"{name}.json"
    code = [path, *notebook_sources(path), *sources(["figures.pipeline.run_notebook"])]
    # published.yaml and the full run are left out: otherwise editing a verdict's wording would
    # rerun notebooks.
    read = [*data_files(code, NOTEBOOKS / "data"), *tables]
    if name == MATERIALS_DATA:  # its Table 2 is averaged over all draws that there are
        read += paths.tables_of(paths.drawn(DATA), [TRAINING]).values()
    read += paths.tables_below() if name in OF_SHIPPED_TABLES else []
    read += paths.tables_below(paths.SHIPPED_TABLES / "paths") if name == STRAIN_PATHS else []
    return {
        "name": f"{RUN}:{name}",
        "doc": f"execute notebook {name}",
        "task_dep": [f"{simulated}:{PROFILE.name}"] if awaited else [],
        "actions": [(actions.run_program, [command])],
        "file_dep": sorted({*code, *read, ROOT / "figures" / "paper.mplstyle"}),
        "uptodate": [
            config_changed(parameters | {"settings": repr(profile.settings_of(name))}),
            (_has_pictures, [metrics]),
        ],
        "targets": [metrics, out / "notebooks" / f"{name}.html"],
        "meta": {"seconds": (SECONDS_OF_REPEATS if with_repeats else SECONDS).get(name)},
    }


def task_notebook():
    """Execute the notebooks of the profile."""
    for name in PROFILE.notebooks:
        if name != DRAWS or HAS_DRAWS:
            yield _execution(name)


def task_study():
    """Execute the notebook of a study, write its page, and compare it with committed results."""
    for notebook in get_args(StudyNotebook):
        task = _execution(notebook) | {"name": paths.study_of(paths.notebook_path(notebook))}
        refusal = PROFILE.refusal(notebook)
        if DATA != OWN_DATA and not PROFILE.designs_of(notebook):
            refusal = f"DATA = {DATA}: must be left out, {notebook} reads the shipped tables"
        if refusal:
            refused = [partial(TaskFailed, refusal)]
            yield {"name": task["name"], "doc": task["doc"], "actions": refused}
            continue
        out = paths.results_folder(notebook, RUN)
        for program in (
            ["-m", "figures.report.page", GIVEN_PROFILE, str(out), "--notebook", notebook],
            ["-m", "figures.report.equality", str(out)],
        ):
            task["actions"].append((actions.run_program, [program]))
        yield task


def task_repeats():
    """Execute notebooks with several trainings, and the one over independent datasets."""
    # Others do not read the tables: their repeats are those of the run without custom tables.
    repeated = REPEATED if DATA == OWN_DATA else (SURROGATE,)
    for name in repeated:
        task = _execution(name, with_repeats=True)
        program = ["-m", "figures.report.equality", str(paths.repeats_folder(RUN))]
        task["actions"].append((actions.run_program, [program]))
        yield task | {"doc": f"execute notebook {name} with repeats"}
    if DRAWS in PROFILE.notebooks and HAS_DRAWS:
        yield {"name": DRAWS, "actions": None, "task_dep": [f"notebook:{RUN}:{DRAWS}"]}


def task_report():
    """Write the page of the profile."""
    metrics = [OUT / f"{name}.json" for name in PROFILE.at_once]
    # Of notebooks that run on request only; as dependencies they would be made to run.
    apart = [path for name in PROFILE.apart if paths.is_complete(path := OUT / f"{name}.json")]
    results = {str(path): file_digest(path) for path in [*apart, *paths.repeated_metrics(RUN)]}
    command = ["-m", "figures.report.page", GIVEN_PROFILE, str(OUT)]
    files = [*(ROOT / "figures" / "report" / "templates").iterdir()]
    files += [ROOT / "figures" / "published.yaml", *paths.tables_below()]
    if OUT != paths.REFERENCE:  # its verdicts stand on the page of a smaller run
        files += paths.committed_metrics()
    # In the order in which they begin: first the tables, then notebooks that do not wait for them,
    # of each kind the longest first, so that both tasks at once have work until the end.
    first = [f"dataset:{PROFILE.name}"] if DATA == OWN_DATA else []
    notebooks = sorted(
        PROFILE.at_once, key=lambda name: (bool(PROFILE.designs_of(name)), name not in LONGEST)
    )
    yield {
        "name": RUN,
        "doc": f"write figures/{RUN}/index.html",
        "task_dep": [*first, *(f"notebook:{RUN}:{name}" for name in notebooks)],
        "actions": [(actions.run_program, [command])],
        "file_dep": [*metrics, *sources(["figures.report.page"]), *files],
        "uptodate": [config_changed(results)],
        "targets": [OUT / "index.html"],
    }


def task_equality():
    """Count the numbers of the run that are equal to the committed numbers."""
    if PROFILE.name == paths.REFERENCE.name:
        command = ["-m", "figures.report.equality", str(OUT)]
        yield {
            "name": RUN,
            "doc": "compare with the committed results",
            "task_dep": [f"report:{RUN}"],
            "actions": [(actions.run_program, [command])],
            "meta": {"silent": True},
        }
