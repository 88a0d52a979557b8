"""What each public function writes: whole or not at all, and never in place of a user's file."""

import functools
import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import bnn
import fe_data
import prior_study.study
from fe_data import Inputs, Settings, solve_rve
from fe_data.cli import rve_folder
from fe_data.statistics.replicates import save_statistics
from figures import style
from figures.scores import write_json
from safe_files.writing import save_picture
from tests.bnn.small import small_of_paths
from tests.limits import killed_at_each_step

X = np.linspace(-1.0, 1.0, 12)[:, None]
Y = np.sin(3.0 * X[:, 0])
RVE = Inputs(0.2, 400.0, 400.0, 0.4)
COARSE = Settings(n_fibres=1, resolution=2.0, increments=10)


@functools.cache
def posterior():
    return bnn.GPRegressor(noise=0.05).fit(X, Y)


@functools.cache
def ensemble():
    brief = bnn.TrainingSettings(epochs=1)
    return bnn.VanillaEnsemble(n_members=2, noise=0.05, training=brief).fit(X, Y)


@functools.cache
def path_ensemble():
    model, *data = small_of_paths()
    return model.fit(*data)


@functools.cache
def rve():
    return solve_rve(RVE, COARSE, seed=0, keep_steps=True)


def curves(path):
    fe_data.save_curves(fe_data.load_curves("fe_data/datasets/test_uniform.csv"), path)


def to_onnx(path):
    pytest.importorskip("onnx")
    bnn.export.to_onnx(ensemble(), path)


def figure():
    drawn = Figure()
    drawn.subplots().plot(X, Y)
    return drawn


def picture(path):
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with plt.rc_context({"svg.hashsalt": "0"}):
        save_picture(figure(), path, metadata=dates.get(path.suffix))


def study(path):
    config = prior_study.study.StudyConfig(priors=("A",))
    prior_study.study.save(prior_study.study.Study(config, {}), path)


WRITERS = {
    "model.npz": lambda path: posterior().save(path),
    "ensemble.npz": lambda path: ensemble().save(path),
    "posterior.c": lambda path: bnn.export.to_c(posterior(), path),
    "ensemble.c": lambda path: bnn.export.to_c(ensemble(), path, include_noise=True),
    "path.c": lambda path: bnn.export.path_to_c(path_ensemble(), path, [0.3, 400.0, 400.0, 0.4]),
    "model.onnx": to_onnx,
    "study.npz": study,
    "fields.xdmf": lambda path: fe_data.save_fields(rve(), path),
    "mesh.msh": lambda path: fe_data.save_mesh(rve(), path),
    "mesh.inp": lambda path: fe_data.save_mesh(rve(), path),
    "mesh.vtk": lambda path: fe_data.save_mesh(rve(), path),
    "curves.csv": curves,
    "picture.png": picture,
    "picture.svg": picture,
    "picture.pdf": picture,
    "figure.svg": lambda path: style.save(figure(), path),
    "figure.png": lambda path: style.save(figure(), path, colours=128),
    "metrics.json": lambda path: write_json(path, {"title": "a title", "rows": [0.5] * 200}),
    "paths.npz": lambda path: fe_data.save_paths(fe_data.load_paths("reference_tension"), path),
    "statistics.csv": lambda path: save_statistics(
        fe_data.load_statistics("fe_data/datasets/reference.csv"), path
    ),
}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", WRITERS)
def test_its_own_file_is_replaced_and_a_file_of_a_user_stays(name, tmp_path):
    """With the same permissions; full disks, kills and links are in tests/safe_files."""
    path = tmp_path / name
    write = functools.partial(WRITERS[name], path)
    write()
    before = contents(tmp_path)
    path.chmod(0o600)
    write()
    assert contents(tmp_path) == before
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("index,seed,group,vf\nmy own numbers", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match="has another format: move it"):
        write()
    assert contents(tmp_path) == before


BEGUN = {"inputs": 0, "seed": 0, "settings": 0}


@pytest.fixture
def write_rve(tmp_path, brief_picture):  # noqa: ARG001
    """How `rve` writes a solved RVE into a folder, where the heading tells the runs apart."""

    def write(run, xdmf=True):
        rve_folder._begin(BEGUN, tmp_path, None)
        rve_folder._write(rve(), BEGUN | {"history": run}, run, tmp_path, xdmf, None)

    return write


@pytest.mark.slow
@pytest.mark.parametrize("xdmf", [False, True])
def test_an_rve_that_is_killed_leaves_whole_files_in_a_folder_of_its_own(write_rve, tmp_path, xdmf):
    names = ["fields.bin", "fields.xdmf", "result.json", "rve.png"]
    write_rve("first")
    first = contents(tmp_path)
    assert sorted(first) == names
    write_rve("other", xdmf)
    other = contents(tmp_path)
    assert sorted(other) == (names if xdmf else names[2:])
    write_rve("first")
    begun = (json.dumps({"status": "running", **BEGUN, "history": {}}, indent=1) + "\n").encode()
    states = set()
    for _ in killed_at_each_step(lambda: write_rve("other", xdmf)):
        left = {name: content for name, content in contents(tmp_path).items() if name[0] != "."}
        assert {"result.json"} <= {*left} <= {*first}
        whole = [first, other, {"result.json": begun}]
        assert all(
            content in [state.get(name) for state in whole] for name, content in left.items()
        )
        states.add(b"".join(left.values()))
        rve_folder._require_own_folder(tmp_path)
        for path in tmp_path.iterdir():
            path.unlink()
        write_rve("first")
    assert b"".join(first.values()) in states
    assert b"".join(other.values()) in states
