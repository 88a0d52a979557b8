"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import itertools
from pathlib import Path

import pytest
import torch

import fe_data
from fe_data.statistics.replicates import save_statistics
from tests.fe_data.analytic_cell import AnalyticCell
from tests.wrong_arguments import WRONG, arguments, complaint

TABLE = Path(__file__).parents[2] / "fe_data" / "datasets" / "test_uniform.csv"
SETTINGS = fe_data.Settings(n_fibres=1, resolution=1.0, increments=4)
INPUTS = fe_data.Inputs(0.2, 400.0, 400.0, 0.4)
# What a parameter of this name gets, unless a call says otherwise.
VALUES = {
    **vars(INPUTS),
    **vars(SETTINGS),
    "arrangement": 0,
    "centres": [[0.2, 0.2], [0.7, 0.7]],
    "count": 2,
    "design": fe_data.named_design("test_uniform", count=1),
    "fit": True,
    "inputs": INPUTS,
    "microstructures": 1,
    "name": "test_uniform",
    "ours": fe_data.load_table(TABLE),
    "path": TABLE,
    "radii": [0.1, 0.2],
    "reference": fe_data.load_table(TABLE),
    "settings": SETTINGS,
    "silent": True,
    "table": fe_data.load_table(TABLE),
}
NEW = itertools.count()
PATHS = fe_data.load_paths("repeated_walks")


def of(function, **own):
    """A function and values of its parameters: its own, those by name, or the defaults."""
    return function, arguments(function, VALUES) | own


def saved(folder):
    statistics = fe_data.replicate_statistics(fe_data.load_table(TABLE.with_name("noise.csv")))
    save_statistics(statistics, folder / "saved.csv")
    return folder / "saved.csv"


def loadings(folder):
    (folder / "path.csv").write_text("strain_xx\n0.01\n")
    return folder / "path.csv"


def arrangements(folder):
    (folder / "fibres.csv").write_text("x,y,radius\n0.5,0.5,0.2\n")
    return folder / "fibres.csv"


def followed(folder):
    """A folder of one cell that followed a path."""
    given = VALUES["design"], fe_data.Settings(increments=4), folder / "followed"
    path = fe_data.Loading(strain=(0.01, None, None))
    fe_data.generate(*given, loading=path, simulator=AnalyticCell(), silent=True)
    return folder / "followed"


def rows(folder):
    (folder / "rows.csv").write_text("E_f_GPa,b_m_MPa,c_m\n400,400,0.4\n")
    return folder / "rows.csv"


def generated(below):
    """A folder that is no text or path is handed on; any other is one below another."""

    def generate(folder, **given):
        own = isinstance(folder, str | Path)
        return fe_data.generate(folder=below / str(next(NEW)) if own else folder, **given)

    return generate, of(fe_data.generate, folder=below)[1]


# Function and valid arguments, for a folder to write in.
CALLS = {
    "Inputs": lambda _: of(fe_data.Inputs),
    "Settings": lambda _: of(fe_data.Settings, radii="equal"),
    "HardeningTable": lambda _: of(
        fe_data.HardeningTable, plastic_strain=[0.0, 1.0], stress=[400.0, 500.0]
    ),
    "Loading": lambda _: of(fe_data.Loading, strain=(0.01, None, None)),
    "named_design": lambda _: of(fe_data.named_design),
    "design_from_file": lambda _: of(fe_data.design_from_file),
    "loadings_from_file": lambda folder: of(fe_data.loadings_from_file, path=loadings(folder)),
    "design_from_file_with_fibres": lambda folder: of(
        fe_data.design_from_file,
        path=rows(folder),
        fibres=[fe_data.Microstructure([[0.5, 0.5]], 0.2)],
        seed=0,
    ),
    "arrangements_from_file": lambda folder: of(
        fe_data.arrangements_from_file, path=arrangements(folder)
    ),
    "load_table": lambda _: of(fe_data.load_table),
    "load_curves": lambda _: of(fe_data.load_curves),
    "save_curves": lambda folder: of(
        fe_data.save_curves, curves=fe_data.load_curves(TABLE), path=folder / "curves.csv"
    ),
    "Paths": lambda _: of(fe_data.Paths, **vars(PATHS)),
    "load_paths": lambda _: of(fe_data.load_paths, source="repeated_walks"),
    "save_paths": lambda folder: of(fe_data.save_paths, paths=PATHS, path=folder / "paths.npz"),
    "collect_paths": lambda folder: of(fe_data.collect_paths, folder=followed(folder)),
    "load_inputs": lambda _: of(fe_data.load_inputs),
    "verify": lambda folder: of(fe_data.verify, folder=folder),
    "compare": lambda _: of(fe_data.compare),
    "replicate_statistics": lambda _: of(fe_data.replicate_statistics),
    "load_statistics": lambda folder: of(fe_data.load_statistics, path=saved(folder)),
    "mean_field": lambda _: of(
        fe_data.mean_field, inputs=[*vars(INPUTS).values()], reference=0.5, hardening=1.0
    ),
    "Microstructure": lambda _: of(fe_data.Microstructure),
    "anisotropy": lambda _: of(fe_data.anisotropy, rve=fe_data.solve_rve(INPUTS, 0, SETTINGS)),
    "save_fields": lambda folder: of(
        fe_data.save_fields,
        rve=fe_data.solve_rve(INPUTS, 0, SETTINGS),
        path=folder / "cell.xdmf",
    ),
    "solve_rve": lambda _: of(fe_data.solve_rve),
    "generate": generated,
}


# What messages call an argument, beside its name.
ALSO = {"strain": "loading", "stress": "loading"}


# Each call of `generate` starts workers or simulates a cell.
SLOW = pytest.param("generate", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [*(name for name in CALLS if name != "generate"), SLOW])
def test_a_wrong_argument_is_named(name, tmp_path):
    """A path that leads nowhere is an OSError; cells that cannot be solved have errors too."""
    function, valid = CALLS[name](tmp_path)
    function(**valid)
    own = OSError, fe_data.SimulationError, fe_data.TableError, fe_data.Stopped
    gradients = torch.ones((8, 2)).requires_grad_()
    for argument, value in itertools.product(valid, [*WRONG, gradients]):
        given = valid | {argument: value}
        also = ALSO.get(argument, argument)
        said = complaint(function, given, argument, also, *own)
        assert said is None, (argument, value)
