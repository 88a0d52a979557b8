"""Sets of paths: from a dataset folder to a file and back, and those that come with the package."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fe_data import (
    HardeningTable,
    Loading,
    Paths,
    Settings,
    TableError,
    collect_paths,
    generate,
    load_curves,
    load_paths,
    named_design,
    path_design,
    save_paths,
)
from fe_data.dataset.design import retry_seed
from fe_data.dataset.record import encode
from fe_data.dataset.storage import record_path
from fe_data.paths.__main__ import largest_difference, main
from fe_data.paths.design import PATH_SETS
from tests.fe_data.analytic_rve import AnalyticRVE

SETTINGS = Settings(increments=4)
DESIGN = named_design("noise", 3, count=2, replicates=3)
RAMP = Loading((0.01, None, None))
SMALL = Paths(
    [[0.3, 400.0, 400.0, 0.4]] * 2, np.ones((2, 5, 3)), np.arange(90.0).reshape(2, 3, 5, 3)
)
ARRAYS = {name: getattr(SMALL, name) for name in ("inputs", "strain", "stress")}


def make(folder, loading=RAMP, design=DESIGN, **rve):
    rves = {"simulator": AnalyticRVE(**rve), "silent": True}
    return generate(design, SETTINGS, folder, loading=loading, **rves)


def test_a_folder_gives_the_curves_of_each_input_and_microstructure_without_rest(tmp_path):
    make(tmp_path)
    paths = collect_paths(tmp_path)
    histories = load_curves(tmp_path).histories
    assert paths.stress.shape == (2, 3, 4, 3)
    assert (paths.inputs == DESIGN.inputs[::3]).all()
    for number, history in enumerate(histories):
        stress = paths.stress[divmod(number, 3)]
        assert (stress == history["stress"][1:, [0, 1, 3]]).all()
    np.testing.assert_allclose(paths.strain[1], histories[3]["strain"][1:, [0, 1, 3]], rtol=1e-12)
    np.testing.assert_allclose(paths.mean_stress[0, -1], 1e5 * paths.strain[0, -1], rtol=1e-12)


def test_a_free_strain_is_the_mean_over_microstructures(tmp_path):
    make(tmp_path)
    file = record_path(tmp_path, 1)
    with np.load(file) as record:
        header = json.loads(record["record"].item())
    strain = np.zeros((5, 4))
    strain[:, 1] = 1.0
    file.write_bytes(encode(header, {"strain": strain, "stress": strain}))
    before = load_curves(tmp_path).histories
    mean = np.mean([history["strain"][1:, 1] for history in before[:3]], axis=0)
    np.testing.assert_allclose(collect_paths(tmp_path).strain[0, :, 1], mean)


def test_a_sample_that_failed_is_missing_or_damaged_is_named(tmp_path):
    seed = DESIGN.sample(4).seed
    make(tmp_path, failing=frozenset([seed, retry_seed(seed)]))
    with pytest.raises(TableError, match=r"sample 4: its simulation failed, so that its group"):
        collect_paths(tmp_path)
    record_path(tmp_path, 2).write_bytes(b"PK\x03\x04")
    with pytest.raises(TableError, match=r"sample 2: checksum does not match"):
        collect_paths(tmp_path)
    record_path(tmp_path, 1).unlink()
    with pytest.raises(TableError, match=r"sample 1: no record"):
        collect_paths(tmp_path)


@pytest.mark.parametrize(
    ("loading", "message"),
    [
        (None, "sample 0: it was simulated without a loading"),
        (
            [RAMP, Loading((0.02, None, None))],
            "sample 1: its inputs or path differ from those of its",
        ),
    ],
)
def test_what_is_no_set_of_paths_is_refused(tmp_path, loading, message):
    make(tmp_path, loading)
    with pytest.raises(TableError, match=message):
        collect_paths(tmp_path)


def test_every_input_needs_as_many_microstructures(tmp_path):
    make(tmp_path, design=replace(DESIGN, groups=np.array([0, 0, 0, 1, 1, 2])))
    with pytest.raises(TableError, match="group 1 has 2 samples: must have 3"):
        collect_paths(tmp_path)


def test_a_file_keeps_inputs_to_the_last_bit_and_the_rest_to_seven_digits(tmp_path):
    rng = np.random.default_rng(0)
    inputs = SMALL.inputs * rng.uniform(0.9, 1.1, (2, 4))
    paths = Paths(inputs, *(rng.normal(size=shape) for shape in ((2, 5, 3), (2, 3, 5, 3))))
    save_paths(paths, tmp_path / "some.npz")
    again = load_paths(tmp_path / "some.npz")
    assert (again.inputs == paths.inputs).all()
    np.testing.assert_allclose(again.strain, paths.strain, rtol=1e-7)
    np.testing.assert_allclose(again.stress, paths.stress, rtol=1e-7)


TABLE = HardeningTable(plastic_strain=(0.0, 0.1), stress=(300.0, 500.0))


@pytest.mark.parametrize("hardening", ["voce", TABLE], ids=str)
def test_paths_keep_the_settings_that_they_were_simulated_with(tmp_path, hardening):
    """From the folder to a file and back, and so the phases for which a surrogate is made."""
    settings = Settings(increments=4, nu_f=0.2, hardening=hardening)
    inputs = DESIGN.inputs.copy()
    inputs[:, 2:] = (0.0, 1.0) if hardening is TABLE else (400.0, 0.02)
    design = replace(DESIGN, inputs=inputs)
    folder = tmp_path / "folder"
    generate(design, settings, folder, loading=RAMP, simulator=AnalyticRVE(), silent=True)
    paths = collect_paths(folder)
    settings = replace(settings, min_spacing=1.14)  # the default in sparse microstructures
    assert paths.settings == settings
    save_paths(paths, tmp_path / "some.npz")
    again = load_paths(tmp_path / "some.npz")
    assert again.settings == settings
    phases = {"E_m_GPa": 100.0, "nu_m": 0.3, "nu_f": 0.2, "hardening": hardening}
    assert again.phases == phases | {"sigma_y0_MPa": settings.sigma_y0_MPa}


@pytest.mark.parametrize(
    "wrong",
    [
        {"stress": np.ones((2, 3, 4, 3))},
        {"strain": np.full((2, 5, 3), [[[0]], [[np.nan]]])},
        {"settings": np.array('{"E_m_GPa": -3}')},
        {"settings": np.array("[" * 100_000)},
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, wrong):
    (name,) = wrong
    with pytest.raises((ValueError, TypeError), match=name):
        replace(SMALL, **wrong)
    np.savez(tmp_path / "wrong.npz", **ARRAYS | wrong)
    with pytest.raises(TableError, match=r"wrong\.npz contains no set of paths"):
        load_paths(tmp_path / "wrong.npz")


def test_other_files_and_names_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"'walk' is neither a file nor a shipped set: .*ran"):
        load_paths("walk")
    assert main(["random", "walk", "--out", str(tmp_path / "new")]) == 1
    assert not (tmp_path / "new").exists()
    np.savez(tmp_path / "old.npz", **ARRAYS)  # as files were before they had settings
    old = load_paths(tmp_path / "old.npz")
    assert old.settings is None
    with pytest.raises(ValueError, match="must be the settings of the simulations"):
        old.phases  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("name", PATH_SETS)
def test_a_shipped_set_is_of_its_design(name):
    """With the kernel's condition of 1e8, strains of 0.02 are those of any LAPACK to 2e-9."""
    paths = load_paths(name)
    chosen = PATH_SETS[name]
    design = path_design(name)
    assert paths.stress.shape == (chosen.count, chosen.replicates, 100, 3)
    assert (paths.inputs == design.inputs[:: chosen.replicates]).all()
    for loading, strain in zip(design.loadings[:: chosen.replicates], paths.strain, strict=True):
        ends = np.cumsum(loading.increments) - 1
        prescribed, _ = loading.vertices
        single = prescribed.astype(np.float32)
        is_prescribed = ~np.isnan(prescribed)
        np.testing.assert_allclose(
            strain[ends][is_prescribed], single[is_prescribed], rtol=3e-7, atol=2e-9
        )


def test_the_difference_is_over_the_spread_and_only_of_the_same_inputs():
    others = replace(SMALL, stress=SMALL.stress + np.array([0.0, 0.1, 0.0]))
    spread = SMALL.stress[..., 0].std()  # alike in all components
    assert largest_difference(others, SMALL) == pytest.approx(0.1 / spread)
    with pytest.raises(ValueError, match="differ from the shipped set"):
        largest_difference(replace(SMALL, inputs=0.9 * SMALL.inputs), SMALL)


@pytest.mark.slow
def test_the_first_rves_of_a_set_are_simulated_again(tmp_path, capsys):
    arguments = ["random", "--out", str(tmp_path), "--jobs", "2", "--count", "2"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith("random, 2 inputs, 1 microstructures each: stresses differ by up to ")
    assert main(arguments) == 0  # nothing is left to simulate
    assert capsys.readouterr().out == said
