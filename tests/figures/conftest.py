"""A small world for the notebook side: tables made from smooth functions, and a short profile."""

import csv

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

from fe_data.schema import INPUT_BOUNDS, INPUT_NAMES
from figures.composite.problem import OUTPUT_NAMES, OUTPUT_SCALING
from figures.pipeline import processes
from figures.pipeline.run_notebook import find_notebook, parameters


@pytest.fixture(scope="session", autouse=True)
def one_process():
    """Trainings of the notebooks and examples run in this process: others import for seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "cpu_count", lambda: 1)
        yield


@pytest.fixture(scope="session")
def run_cells():
    """Runs the code of a notebook in this process; `make quick` runs it in a kernel of its own."""

    def run(name, values):
        path = find_notebook(name)
        names = parameters(path, values)
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
                exec(compile(cell.source, path.name, "exec"), names)
        plt.close("all")

    return run


def write_table(path, count, seed):
    """Inputs uniform in the box, outputs smooth in them and inside their bounds."""
    unit = np.random.default_rng(seed).uniform(size=(count, 4))
    low, high = np.array(list(INPUT_BOUNDS.values())).T
    X = 2 * unit - 1
    y = 0.6 * np.column_stack(
        [X[:, 0] + 0.4 * X[:, 2], X[:, 3] - 0.3 * X[:, 0], X[:, 0], -X[:, 0], X.mean(axis=1)]
    )
    values = np.hstack([low + unit * (high - low), OUTPUT_SCALING.inverse_transform(y)])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", "seed", "group", *INPUT_NAMES, *OUTPUT_NAMES, "status"])
        writer.writerows([i, i, i, *map(repr, row.tolist()), "ok"] for i, row in enumerate(values))


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """Folder with the tables of two designs."""
    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "train_beta.csv", 10, seed=1)
    write_table(folder / "test_uniform.csv", 6, seed=2)
    return folder


@pytest.fixture(scope="session")
def profile_content():
    """The networks of the paper, trained briefly."""
    return {
        "seed": 3,
        "datasets": {"train_beta": 10, "test_uniform": 6},
        "materials_data": {"rve": {"vf": 0.2}, "shuffles": 20},
        "notebooks": ["03_materials_data", "04_materials_surrogate"],
        "surrogate": {
            "cases": {"outd": {"design": "train_beta", "count": 10}},
            "repeats": 2,
            "n_pretrained": 4,
            "n_members": 3,
            "prior_points": 40,
            "pretrain_epochs": 3,
            "epochs": 3,
        },
    }
