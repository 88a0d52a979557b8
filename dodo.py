"""The tasks behind `make`: datasets → notebooks → report, for one profile.

Each task names the source files, parameters and tables it depends on; doit compares their
contents and runs what is out of date. PROFILE, DATA, SEED and JOBS come from the environment.
"""

import os
import sys
from pathlib import Path

from doit.tools import config_changed

from fe_data.dataset.executors import available_cores
from figures.pipeline.actions import (
    Reporter,
    ResultsUnchanged,
    key_of,
    make_state,
    positive_integer,
    run_program,
    simulate,
    title,
)
from figures.pipeline.dependencies import data_files, notebook_sources, sources
from figures.pipeline.paths import (
    NOTEBOOKS,
    ROOT,
    is_complete,
    require_tables,
    run_name,
    table_path,
    tables_of,
)
from figures.pipeline.profiles import BEYOND, load_profile
from figures.pipeline.settings import DESIGNS

DOIT_CONFIG = {"reporter": Reporter}

GIVEN_PROFILE = os.environ.get("PROFILE") or "quick"  # name or file
try:
    PROFILE = load_profile(GIVEN_PROFILE)
    JOBS = positive_integer("JOBS", os.environ.get("JOBS") or str(available_cores()))
    SEED = positive_integer("SEED", os.environ.get("SEED") or str(PROFILE.seed), 0)
    OWN_DATA = ROOT / "data" / PROFILE.name
    DATA = Path(os.environ.get("DATA") or OWN_DATA).resolve()
    if OWN_DATA.resolve() == DATA:
        DATA = OWN_DATA
    else:
        require_tables(DATA)
    RUN = run_name(PROFILE.name, DATA if DATA != OWN_DATA else None)
    make_state()
except ValueError as error:
    sys.exit(f"make: {error}")

OUT = ROOT / "figures" / RUN
STYLE = ROOT / "figures" / "paper.mplstyle"
PUBLISHED = ROOT / "figures" / "published.yaml"
TEMPLATE = ROOT / "figures" / "report" / "page.html"
SHIPPED_TOLERANCE = "1e-6"  # relative, on the dolfinx that the shipped tables were made with
PRESENTATION = ("plots.py", "progress.py")  # a sample does not depend on these


def task_dataset():
    """Simulate the designs of the profile."""
    files = [f for f in sources(["fe_data.dataset.generate"]) if f.name not in PRESENTATION]
    for design, count in PROFILE.datasets.items():
        folder = OWN_DATA / design
        arguments = [design, "--count", str(count), "--seed", str(PROFILE.seed)]
        yield {
            "name": f"{PROFILE.name}:{design}",
            "doc": f"simulate {design}, {count} inputs",
            "title": title,
            "actions": [(simulate, [arguments, folder, key_of(arguments, files), JOBS])],
            "file_dep": files,
            "uptodate": [config_changed({"arguments": arguments})],
            "targets": [folder / "dataset.csv"],
        }


def task_shipped():
    """Compare the full profile's tables with the ones that come with the package."""
    if PROFILE.name != "full" or DATA != OWN_DATA:
        return
    for design in PROFILE.datasets:
        table = table_path(OWN_DATA, design)
        shipped = ROOT / "fe_data" / "datasets" / f"{design}.csv"
        command = ["-m", "fe_data", "compare", str(table), str(shipped)]
        yield {
            "name": design,
            "doc": f"compare {design} with the shipped table",
            "title": title,
            "actions": [(run_program, [[*command, "--tolerance", SHIPPED_TOLERANCE]])],
            "file_dep": [table, shipped],
        }


def _own_datasets(designs):
    """The dataset tasks that a notebook waits for, in their order; none with tables from DATA."""
    return [f"dataset:{PROFILE.name}:{design}" for design in designs] if DATA == OWN_DATA else []


def _tables(designs):
    """Tables that a notebook reads: those it lists of our own, all that there are in DATA."""
    if DATA == OWN_DATA:
        return [table_path(DATA, design) for design in designs]
    return list(tables_of(DATA, DESIGNS if designs else ()).values())


def _has_pictures(task, values, metrics):  # noqa: ARG001, doit's signature
    """Whether the pictures of a notebook are all there; doit itself looks at targets only."""
    return is_complete(metrics)


def task_notebook():
    """Execute the notebooks of the profile."""
    for name, designs in PROFILE.notebooks.items():
        parameters = {
            "profile": GIVEN_PROFILE,
            "seed": SEED,
            "data_dir": str(DATA),
            "out_dir": str(OUT),
        }
        options = [text for key, value in parameters.items() for text in ("-p", key, str(value))]
        path = NOTEBOOKS / f"{name}.ipynb"
        metrics = OUT / f"{name}.json"
        code = [path, *notebook_sources(path), *sources(["figures.pipeline.run_notebook"])]
        read = [*data_files(code, NOTEBOOKS / "data"), *_tables(designs)]
        yield {
            "name": f"{RUN}:{name}",
            "doc": f"execute notebook {name}",
            "task_dep": _own_datasets(designs),
            "title": title,
            "actions": [(run_program, [["-m", "figures.pipeline.run_notebook", name, *options]])],
            "file_dep": sorted({*code, STYLE, *read}),
            "uptodate": [
                config_changed(parameters | {"settings": repr(PROFILE.settings_of(name))}),
                (_has_pictures, [metrics]),
            ],
            "targets": [metrics, OUT / "notebooks" / f"{name}.html"],
        }


def task_beyond():
    """Execute the comparison with other methods, which takes long and may be apart."""
    names = [name for name in PROFILE.notebooks if name == BEYOND]
    return {"actions": None, "task_dep": [f"notebook:{RUN}:{name}" for name in names]}


def task_report():
    """Write the page of the profile."""
    metrics = [OUT / f"{name}.json" for name in PROFILE.at_once]
    apart = [OUT / f"{name}.json" for name in PROFILE.apart]
    code = sources(["figures.report.page"])
    data = [TEMPLATE, PUBLISHED]
    yield {
        "name": RUN,
        "doc": f"write figures/{RUN}/index.html",
        "title": title,
        "actions": [(run_program, [["-m", "figures.report.page", GIVEN_PROFILE, str(OUT)]])],
        "file_dep": [*metrics, *code, *data],
        "uptodate": [ResultsUnchanged(apart)],
        "targets": [OUT / "index.html"],
    }
