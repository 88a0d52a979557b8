"""A run that stops early writes what it reached, and nobody takes it for a whole one."""

import functools
import json
import os
import pickle
import shutil
import signal

import numpy as np
import pytest

from fe_data import (
    ConvergenceError,
    Inputs,
    Isotropic,
    Loading,
    Material,
    MeshError,
    Microstructure,
    Phases,
    Settings,
    TableError,
    load_curves,
    path_following,
    solve_composite,
    solve_rve,
)
from fe_data.__main__ import main

PLASTIC = Inputs(0.3, 400.0, 0.0, 1.0)  # perfectly plastic: the limit load is about 1.2 σ_y
RVE = Settings(n_fibres=2, resolution=2.5, increments=20)
PULL = Loading((None, None, None), (2000.0, 0.0, 0.0))
SMALL = ["--vf", "0.3", "--n-fibres", "2", "--resolution", "2.5", "--increments", "20"]
PAPER = [*SMALL, "--E-f", "400", "--b-m", "0", "--c-m", "1"]
MATERIAL = [*SMALL, "--material", "plastic.yaml"]
TENSION = "--loading=0.002,free,free"
# Options, and a stress far above the limit load; a fifth of it is below the limit load
COMMANDS = {
    "compiled": (PAPER, 2000),
    "dolfinx": ([*PAPER, "--solver", "dolfinx"], 2000),
    "material": (MATERIAL, 300),
}
PLASTIC_MATERIAL = """
phases:
  matrix: {elasticity: {E_GPa: 3.5, nu: 0.35}, law: j2, parameters: {yield_stress: 60.0}}
  fibres: {elasticity: {E_GPa: 70.0, nu: 0.2}}
"""
BELOW = 4  # increments, of 20


@pytest.fixture(autouse=True)
def working_folder(tmp_path_factory, monkeypatch):
    """A folder with a file of a perfectly plastic material."""
    folder = tmp_path_factory.mktemp("material")
    (folder / "plastic.yaml").write_text(PLASTIC_MATERIAL, encoding="utf-8")
    monkeypatch.chdir(folder)


def run(folder, options, *further):
    """Exit code, and the result in the folder."""
    code = main(["rve", *options, *further, "--out", str(folder)])
    return code, json.loads((folder / "result.json").read_text())


# See test_rve.py.
@pytest.mark.filterwarnings("ignore:`product` is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "name",
    ["compiled", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dolfinx", "material"))],
)
def test_at_a_limit_load_the_increments_below_it_are_written(tmp_path, capsys, request, name):
    """They equal those of a path that ends below the limit load."""
    options, above = COMMANDS[name]
    code, stopped = run(tmp_path / "part", options, f"--loading=free:{above},free,free", "--xdmf")
    said = capsys.readouterr().err
    assert code == 1
    assert stopped["status"] == "not converged"
    assert stopped["reason"] in said
    n = len(stopped["history"]["stress"]) - 1
    assert f"has the first {n} of 20 increments" in said
    assert "MPa at the mean strain xx 0." in said
    assert "may be above the limit load: prescribe a strain instead" in said
    assert not stopped.keys() & {"effective", "anisotropy"}
    assert (tmp_path / "part" / "rve.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "part" / "fields.xdmf").read_text().count("<Time ") == n + 1
    request.getfixturevalue("brief_picture")
    whole = [f"--loading=free:{above / 5},free,free", f"--increments={BELOW}"]
    code, complete = run(tmp_path / "whole", options, *whole)
    assert (code, complete["status"]) == (0, "complete")
    for key, values in complete["history"].items():
        size = np.abs(values).max() + 1e-9
        expected = np.array(stopped["history"][key][: BELOW + 1])
        np.testing.assert_allclose(values, expected, atol=1e-3 * size, err_msg=key)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Folder of a complete run."""
    folder = tmp_path_factory.mktemp("earlier")
    code, result = run(folder, PAPER, TENSION, "--xdmf")
    assert (code, result["status"]) == (0, "complete")
    assert len(list(folder.iterdir())) == 4
    return folder


@pytest.mark.slow
def test_a_part_is_not_read_as_a_curve(earlier, tmp_path, capsys):
    """A result without a status was written by an earlier version, which wrote whole curves."""
    result = json.loads((earlier / "result.json").read_text())
    for status in ("running", "not converged", "interrupted", "failed"):
        (tmp_path / "result.json").write_text(json.dumps(result | {"status": status}))
        with pytest.raises(TableError, match=f"not complete, the status of the run is '{status}'"):
            load_curves(tmp_path)
        assert main(["curves", str(tmp_path), "--out", str(tmp_path / "curves.csv")]) == 2
    assert not (tmp_path / "curves.csv").exists()
    del result["status"]
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert load_curves(tmp_path).stress.shape == (1, 20)
    capsys.readouterr()


@pytest.mark.usefixtures("brief_picture")
@pytest.mark.parametrize(
    ("options", "number"),
    [
        (PAPER, signal.SIGTERM),
        (MATERIAL, signal.SIGINT),
        pytest.param(PAPER, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(MATERIAL, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_signal_writes_what_was_reached(tmp_path, capsys, monkeypatch, options, number):
    """The signal comes in the fifth increment, and again while the result is written."""
    follow = path_following.advance
    calls = []

    def advance(*arguments):
        calls.append(arguments)
        if len(calls) == 5:
            os.kill(os.getpid(), number)
        return follow(*arguments)

    def picture(*arguments):
        os.kill(os.getpid(), number)
        return plot_rve(*arguments)

    from fe_data.mechanics.plots import plot_rve

    monkeypatch.setattr(path_following, "advance", advance)
    monkeypatch.setattr("fe_data.mechanics.plots.plot_rve", picture)
    code, result = run(tmp_path, options, TENSION)
    assert code == 130
    assert result["status"] == "interrupted"
    assert np.array(result["history"]["strain"])[:, 0] == pytest.approx([0, 1e-4, 2e-4, 3e-4, 4e-4])
    assert (tmp_path / "rve.png").exists()
    assert "has the first 4 of 20 increments" in capsys.readouterr().err


@pytest.mark.usefixtures("brief_picture")
def test_an_interruption_of_the_fit_keeps_the_curve(tmp_path, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    for name in ("mechanics.rve", "composite.properties"):
        monkeypatch.setattr(f"fe_data.{name}.effective_properties", interrupt)
    for options in (PAPER, MATERIAL):
        code, result = run(tmp_path, options, "--strain=0.002", "--increments=4")
        assert (code, result["status"]) == (130, "interrupted")
        assert len(result["history"]["stress"]) == 5
        assert "effective" not in result
    capsys.readouterr()


FULL = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")


@pytest.mark.parametrize("error", [MeshError("no mesh"), MemoryError(), FULL, KeyboardInterrupt()])
def test_files_of_an_earlier_run_are_gone_when_a_run_fails(
    earlier, tmp_path, capsys, monkeypatch, error
):
    """Whatever ends it before the first increment."""
    shutil.copytree(earlier, tmp_path, dirs_exist_ok=True)

    def fail(*_):
        raise error

    monkeypatch.setattr("fe_data.mechanics.rve.generate_mesh", fail)
    code, result = run(tmp_path, PAPER, TENSION)
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert result["status"] == ("interrupted" if code == 130 else "failed")
    assert result["history"] == {}
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    full = isinstance(error, RuntimeError | MemoryError) and not isinstance(error, MeshError)
    assert ("out of memory" in capsys.readouterr().err) == full


def test_constants_of_an_earlier_run_are_gone_when_a_run_fails(tmp_path, capsys, monkeypatch):
    out = tmp_path / "constants.json"
    words = f"constants --material paper --vf 0.2 --n-fibres 1 --out {out}".split()
    assert main([*words, "--resolution", "2"]) == 0
    assert out.exists()

    def fail(*_):
        raise MeshError("no mesh")

    monkeypatch.setattr("fe_data.composite.rve.generate_mesh", fail)
    assert main(words) == 1
    assert not out.exists()
    capsys.readouterr()


ONE_FIBRE = Microstructure([[0.5, 0.5]], 0.3)
PERFECTLY_PLASTIC = Phases(
    Material(Isotropic(3.5, 0.35), "j2", {"yield_stress": 60.0}), Material(Isotropic(70.0, 0.2))
)
SOLVERS = {
    "fast": lambda **options: solve_rve(PLASTIC, RVE, PULL, seed=0, silent=True, **options),
    "general": lambda **options: solve_composite(
        PERFECTLY_PLASTIC,
        ONE_FIBRE,
        Loading((None, None, None), (300.0, 0.0, 0.0), increments=20),
        resolution=2.0,
        silent=True,
        **options,
    ),
}


@functools.cache
def stopped_by(solver):
    """An RVE whose path ended at its limit load."""
    return SOLVERS[solver](partial=True, keep_steps=True)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_an_error_has_the_history_and_can_be_pickled(solver):
    stopped = stopped_by(solver)
    assert isinstance(stopped.stop, ConvergenceError)
    history = pickle.loads(pickle.dumps(stopped.stop)).history  # noqa: S301
    n = len(history["stress"])
    assert 2 < n < 21
    increment = history["stress"][1, 0]
    assert history["stress"][:, 0] == pytest.approx(increment * np.arange(n), rel=1e-4)
    for name, values in history.items():
        np.testing.assert_array_equal(stopped.history[name], values)


def test_a_run_that_stops_early_is_an_error_unless_a_part_will_do():
    with pytest.raises(ConvergenceError, match="limit load") as caught:
        SOLVERS["fast"]()
    stress = stopped_by("fast").stop.history["stress"]
    np.testing.assert_array_equal(caught.value.history["stress"], stress)


def test_fields_of_a_part_have_its_mean_stress():
    """Also after failed attempts beyond it."""
    stopped = stopped_by("fast")
    assert len(stopped.steps) == len(stopped.history["stress"])
    d = stopped.discretisation
    mean = np.einsum("mq,mqi->i", d.matrix.weights, stopped.fields.matrix_stress)
    for fibre, stress in zip(d.fibres, stopped.fields.fibre_stress, strict=True):
        mean += np.einsum("mq,mqi->i", fibre.weights, stress)
    np.testing.assert_allclose(mean, stopped.history["stress"][-1], atol=1e-2)
    assert stopped.effective is None
    assert stopped.result().effective == {}


def test_without_a_prescribed_stress_other_causes_are_named(monkeypatch):
    monkeypatch.setattr("fe_data.path_following.Follower._newton", lambda *_: None)
    with pytest.raises(ConvergenceError, match="too few increments, and a material that softens"):
        solve_rve(PLASTIC, RVE, seed=0, silent=True)


ELASTIC = """
phases:
  matrix: {elasticity: {E_GPa: 3.0, nu: 0.3}}
  fibres: {elasticity: {E_GPa: 70.0, nu: 0.2}}
"""


@pytest.mark.usefixtures("brief_picture")
@pytest.mark.parametrize(
    ("material", "strain", "expected", "said"),
    [
        ("elastic", "0.002", 0, ""),
        ("glass_epoxy", "0.002", 1, "no b_eff_MPa and c_eff: no increment reaches"),
        ("glass_epoxy", "0.02", 0, ""),
    ],
)
def test_the_exit_code_says_whether_a_power_law_is_missing(
    tmp_path, capsys, material, strain, expected, said
):
    """An elastic matrix has none, so that nothing is missing."""
    if material == "elastic":
        (tmp_path / "elastic.yaml").write_text(ELASTIC, encoding="utf-8")
        material = str(tmp_path / "elastic.yaml")
    options = [*SMALL, "--material", material, "--strain", strain, "--increments", "8"]
    code, result = run(tmp_path / "out", options)
    assert (code, result["status"]) == (expected, "complete")
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("brief_picture")
def test_a_run_that_ends_in_its_first_increment_has_none(tmp_path, capsys):
    options = [*PAPER, "--increments", "4"]
    code, result = run(tmp_path, options, "--loading=free:20000,free,free")
    assert code == 1
    assert len(result["history"]["stress"]) == 1  # the start
    assert "has none of 4 increments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fibres", "message"),
    [
        (1, "the constants of a square array, in which all seeds are equal: for fibres at random"),
        (3, "the constants of one RVE of 3 fibres: compare several --seed, or give --n-fibres 100"),
    ],
)
def test_constants_of_few_fibres_say_so(capsys, fibres, message):
    options = ["--vf", "0.3", "--n-fibres", str(fibres), "--resolution", "3"]
    assert main(["constants", "--material", "paper", *options]) == 0
    assert message in capsys.readouterr().err
