"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import itertools
from pathlib import Path

import pytest

import fe_data
from fe_data.statistics.replicates import save_statistics
from tests.wrong_arguments import WRONG, complaint

TABLE = Path(__file__).parents[2] / "fe_data" / "datasets" / "test_uniform.csv"
CELL = {"inputs": fe_data.Inputs(0.2, 400.0, 400.0, 0.4), "seed": 0}
CELL |= {"settings": fe_data.Settings(n_fibres=1, resolution=1.0, increments=4)}
SOLVED = {name.replace("seed", "arrangement"): value for name, value in CELL.items()}
TWO = fe_data.Microstructure([[0.2, 0.2], [0.7, 0.7]], [0.1, 0.2])
NEW = itertools.count()


@pytest.fixture
def calls(tmp_path):
    """Function and valid arguments, by the function's name."""
    table = fe_data.load_table(TABLE)
    design = fe_data.named_design("test_uniform", count=1)
    statistics = fe_data.replicate_statistics(fe_data.load_table(TABLE.with_name("noise.csv")))
    save_statistics(statistics, tmp_path / "saved.csv")
    (tmp_path / "path.csv").write_text("strain_xx\n0.01\n")

    def generate(folder, **given):
        """A folder that is no text or path is handed on; any other is one below tmp_path."""
        own = isinstance(folder, str | Path)
        return fe_data.generate(folder=tmp_path / str(next(NEW)) if own else folder, **given)

    settings = {name: getattr(CELL["settings"], name) for name in vars(CELL["settings"])}
    return {
        "Inputs": (fe_data.Inputs, vars(CELL["inputs"])),
        "Settings": (fe_data.Settings, settings),
        "Loading": (
            fe_data.Loading,
            {"strain": (0.01, None, None), "stress": (0.0, 0.0, 0.0), "increments": 4},
        ),
        "named_design": (
            fe_data.named_design,
            {"name": "test_uniform", "seed": 0, "count": 2, "microstructures": 1},
        ),
        "design_from_file": (
            fe_data.design_from_file, {"path": TABLE, "seed": 0, "microstructures": 1}
        ),
        "loadings_from_file": (fe_data.loadings_from_file, {"path": tmp_path / "path.csv"}),
        "load_table": (fe_data.load_table, {"path": TABLE}),
        "load_curves": (fe_data.load_curves, {"path": TABLE}),
        "load_inputs": (fe_data.load_inputs, {"path": TABLE}),
        "verify": (fe_data.verify, {"folder": tmp_path}),
        "compare": (fe_data.compare, {"ours": table, "reference": table}),
        "replicate_statistics": (fe_data.replicate_statistics, {"table": table}),
        "load_statistics": (fe_data.load_statistics, {"path": tmp_path / "saved.csv"}),
        "mean_field": (
            fe_data.mean_field,
            {"inputs": [0.2, 400.0, 400.0, 0.4], "settings": CELL["settings"], "reference": 0.5,
             "hardening": 1.0},
        ),
        "Microstructure": (fe_data.Microstructure, vars(TWO)),
        "anisotropy": (fe_data.anisotropy, {"rve": fe_data.solve_rve(**SOLVED)}),
        "solve_rve": (fe_data.solve_rve, {**SOLVED, "loading": None, "fit": True}),
        "generate": (
            generate,
            {"design": design, "settings": CELL["settings"], "folder": tmp_path, "jobs": 1,
             "loading": None, "shard": (1, 1), "dask": None, "simulator": None,
             "retry_failed": False, "silent": True},
        ),
    }  # fmt: skip


@pytest.mark.parametrize("strain", [("0.01", None, None), ((0.01,), None, None)])
def test_components_of_a_loading_are_numbers(strain):
    with pytest.raises(ValueError, match="strain of the loading must be numbers"):
        fe_data.Loading(strain)


# What messages call an argument, beside its name.
ALSO = {"strain": "loading", "stress": "loading"}


@pytest.mark.parametrize(
    "name",
    ["Inputs", "Settings", "Loading", "named_design", "design_from_file",
     "loadings_from_file", "load_table",
     "load_curves", "load_inputs", "verify", "compare", "replicate_statistics", "load_statistics",
     "mean_field", "solve_rve", "generate", "Microstructure", "anisotropy"],
)  # fmt: skip
def test_a_wrong_argument_is_named(name, calls):
    """A path that leads nowhere is an OSError; cells that cannot be solved have errors too."""
    function, valid = calls[name]
    function(**valid)
    own = OSError, fe_data.SimulationError, fe_data.TableError, fe_data.Stopped
    for argument, value in itertools.product(valid, WRONG):
        given = valid | {argument: value}
        also = ALSO.get(argument, argument)
        said = complaint(function, given, argument, also, *own)
        assert said is None, (argument, value)
