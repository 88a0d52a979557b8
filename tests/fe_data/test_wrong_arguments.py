"""Calls with one wrong argument work, or say in ValueError or TypeError which argument it is."""

import itertools
from pathlib import Path

import numpy as np
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
    "microstructure": 0,
    "centres": [[0.2, 0.2], [0.7, 0.7]],
    "count": 2,
    "design": fe_data.named_design("test_uniform", count=1),
    "fit": True,
    "inputs": INPUTS,
    "replicates": 1,
    "name": "test_uniform",
    "ours": fe_data.load_table(TABLE),
    "path": TABLE,
    "radii": [0.1, 0.2],
    "reference": fe_data.load_table(TABLE),
    "settings": SETTINGS,
    "silent": True,
    "table": fe_data.load_table(TABLE),
}
ONE_FIBRE = fe_data.Microstructure([[0.5, 0.5]], 0.2)
NEW = itertools.count()
PATHS = fe_data.load_paths("repeated_random")
SHIPPED_CURVES = fe_data.load_curves(TABLE)
CURVES = fe_data.Curves(SHIPPED_CURVES.histories[:3], np.ones((3, 50)), np.arange(3))


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


def microstructures(folder):
    (folder / "fibres.csv").write_text("x,y,radius\n0.5,0.5,0.2\n")
    return folder / "fibres.csv"


def followed(folder):
    """A folder of one cell that followed a path."""
    given = VALUES["design"], fe_data.Settings(increments=4), folder / "followed"
    path = fe_data.Loading(strain=(0.01, None, None))
    fe_data.generate(*given, loading=path, simulator=AnalyticCell(), silent=True)
    return folder / "followed"


def record_in(folder):
    (path,) = (followed(folder) / "records").glob("*/*.npz")
    return path.read_bytes()


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
    "HardeningTable.yield_stress": lambda _: of(
        fe_data.HardeningTable([0.0, 1.0], [400.0, 500.0]).yield_stress, p=0.5
    ),
    "Loading": lambda _: of(fe_data.Loading, strain=(0.01, None, None)),
    "Design": lambda folder: of(
        fe_data.Design,
        **vars(fe_data.design_from_file(rows(folder), microstructures=[ONE_FIBRE] * 2)),
    ),
    "random_path": lambda _: of(
        fe_data.random_path, rng=np.random.default_rng(0), length=1.0, increments=3
    ),
    "cycle": lambda _: of(fe_data.cycle, rng=np.random.default_rng(0)),
    "path_design": lambda _: of(fe_data.path_design, name="random"),
    "named_design": lambda _: of(fe_data.named_design),
    "design_from_file": lambda _: of(fe_data.design_from_file),
    "loadings_from_file": lambda folder: of(fe_data.loadings_from_file, path=loadings(folder)),
    "design_from_file_with_fibres": lambda folder: of(
        fe_data.design_from_file,
        path=rows(folder),
        microstructures=[ONE_FIBRE],
        seed=0,
    ),
    "microstructures_from_file": lambda folder: of(
        fe_data.microstructures_from_file, path=microstructures(folder)
    ),
    "Table": lambda _: of(fe_data.Table, **vars(VALUES["table"]) | {"failed": [99]}),
    "Table.with_outputs": lambda _: of(VALUES["table"].with_outputs, names=["nu_eff"]),
    "Table.from_pandas": lambda _: of(fe_data.Table.from_pandas, frame=VALUES["table"].to_pandas()),
    "load_table": lambda _: of(fe_data.load_table),
    "Curves": lambda _: of(fe_data.Curves, **vars(CURVES)),
    "Curves.from_pandas": lambda _: of(fe_data.Curves.from_pandas, frame=CURVES.to_pandas()),
    "load_curves": lambda _: of(fe_data.load_curves),
    "save_curves": lambda folder: of(
        fe_data.save_curves, curves=fe_data.load_curves(TABLE), path=folder / "curves.csv"
    ),
    "Paths": lambda _: of(fe_data.Paths, **vars(PATHS)),
    "load_paths": lambda _: of(fe_data.load_paths, source="repeated_random"),
    "save_paths": lambda folder: of(fe_data.save_paths, paths=PATHS, path=folder / "paths.npz"),
    "collect_paths": lambda folder: of(fe_data.collect_paths, folder=followed(folder)),
    "decode_arrays": lambda folder: of(fe_data.decode_arrays, data=record_in(folder)),
    "load_inputs": lambda _: of(fe_data.load_inputs),
    "verify": lambda folder: of(fe_data.verify, folder=folder),
    "compare": lambda _: of(fe_data.compare),
    "replicate_statistics": lambda _: of(fe_data.replicate_statistics),
    "load_statistics": lambda folder: of(fe_data.load_statistics, path=saved(folder)),
    "mean_field": lambda _: of(
        fe_data.mean_field, inputs=[*vars(INPUTS).values()], reference=0.5, hardening=1.0
    ),
    "strain_concentration": lambda _: of(
        fe_data.strain_concentration,
        inputs=[*vars(INPUTS).values()],
        reference=0.5,
        softening=0.5,
    ),
    "Microstructure": lambda _: of(fe_data.Microstructure),
    "anisotropy": lambda _: of(fe_data.anisotropy, rve=fe_data.solve_rve(INPUTS, 0, SETTINGS)),
    "save_fields": lambda folder: of(
        fe_data.save_fields,
        rve=fe_data.solve_rve(INPUTS, 0, SETTINGS),
        path=folder / "rve.xdmf",
    ),
    "solve_rve": lambda _: of(fe_data.solve_rve),
    "MaterialPoint": lambda _: of(fe_data.MaterialPoint),
    "MaterialPoint.respond": lambda _: of(
        fe_data.MaterialPoint(INPUTS, 0, SETTINGS).respond, strain=[1e-4, 0.0, 0.0]
    ),
    "generate": generated,
}


# What messages call an argument, beside its name.
ALSO = {"strain": "loading", "stress": "loading", "centres": "fibres"}


# Each call of `generate` starts workers or simulates a cell.
SLOW = pytest.param("generate", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [*(name for name in CALLS if name != "generate"), SLOW])
def test_a_wrong_argument_is_named(name, tmp_path):
    """A path that leads nowhere is an OSError; cells that cannot be solved have errors too."""
    function, valid = CALLS[name](tmp_path)
    function(**valid)
    own = OSError, fe_data.SimulationError, fe_data.TableError, fe_data.GenerationError
    own += (fe_data.CorruptRecordError,)
    gradients = torch.ones((8, 2)).requires_grad_()
    for argument, value in itertools.product(valid, [*WRONG, gradients]):
        given = valid | {argument: value}
        also = ALSO.get(argument, argument)
        said = complaint(function, given, argument, also, *own)
        assert said is None, (argument, value)


# What the solver makes, which nobody gives.
RESULTS = {
    "Anisotropy",
    "Comparison",
    "LoadStep",
    "RVEResult",
    "RVESolution",
    "Statistics",
    "GenerationSummary",
}


def test_every_public_name_is_called_here():
    public = {name: getattr(fe_data, name) for name in fe_data.__all__}
    errors = {
        name
        for name, each in public.items()
        if isinstance(each, type) and issubclass(each, BaseException)
    }
    called = {name.split(".")[0].removesuffix("_with_fibres") for name in CALLS}
    assert {name for name, each in public.items() if callable(each)} == called | RESULTS | errors


# Arguments that are numbers or arrays of numbers, with all that NumPy or Python read as a number.
NUMBERS = {
    "Inputs": ["vf", "E_f_GPa", "b_m_MPa", "c_m"],
    "Settings": [name for name in vars(SETTINGS) if name not in ("hardening", "radii")],
    "HardeningTable": ["plastic_strain", "stress"],
    "HardeningTable.yield_stress": ["p"],
    "Loading": ["strain", "stress", "increments"],
    "Design": ["seed", "inputs", "groups", "microstructures"],
    "Table": ["index", "seed", "group", "inputs", "outputs", "failed"],
    "Curves": ["std", "index"],
    "Paths": ["inputs", "strain", "stress"],
    "Microstructure": ["centres", "radii"],
    "mean_field": ["inputs", "reference", "hardening", "fluctuation"],
    "strain_concentration": ["inputs", "reference", "softening"],
    "random_path": ["amplitude", "dilatation", "length", "increments"],
    "cycle": ["amplitude"],
    "MaterialPoint.respond": ["strain"],
}


@pytest.mark.parametrize(
    ("name", "argument"), [(n, a) for n, each in NUMBERS.items() for a in each]
)
def test_truth_values_imaginary_parts_durations_and_masks_are_no_numbers(name, argument, tmp_path):
    function, valid = CALLS[name](tmp_path)
    given = np.asarray(valid[argument])
    if given.dtype == object:  # None where a strain is free, or for a default
        given = np.full(given.shape, 1)
    true = given.astype(bool)
    imaginary = given + 1j
    hidden = np.ma.masked_array(given, np.ones(given.shape))
    duration = given.astype(int).astype("m8[s]")
    for wrong in (true, true.tolist(), imaginary, imaginary.tolist(), hidden, duration):
        with pytest.raises((ValueError, TypeError), match=rf"\b{argument}\b"):
            function(**valid | {argument: wrong})


WITH_PATHS = [
    ("generate", "folder"),
    ("save_curves", "path"),
    ("save_paths", "path"),
    ("save_fields", "path"),
    ("load_table", "path"),
    ("load_paths", "source"),
    ("collect_paths", "folder"),
]


@pytest.mark.parametrize(("name", "argument"), WITH_PATHS)
def test_an_empty_path_is_not_the_current_folder(name, argument, tmp_path, monkeypatch):
    _, valid = CALLS[name](tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ValueError, match=f"{argument} = '' is empty"):
        getattr(fe_data, name)(**valid | {argument: ""})
    assert not list(Path().iterdir())
