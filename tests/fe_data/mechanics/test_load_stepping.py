"""What any correct periodic homogenisation satisfies."""

import dataclasses

import numpy as np
import pytest

from fe_data.errors import ConvergenceError
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.loading import Loading
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.properties import effective_properties, elastic_constants, moduli
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings

INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)
ELASTIC = Settings(increments=4, tolerance=1e-11)
SMALL = Settings(n_fibres=10)


@pytest.mark.parametrize("strain", [(0, 0, 1), (0.3, -0.7, 0.4)], ids=str)
def test_fibres_of_the_material_of_the_matrix_are_invisible(strain):
    """Patch test: the stress is uniform, whatever the mesh."""
    settings = dataclasses.replace(ELASTIC, nu_f=0.3, n_fibres=8)
    loading = Loading(tuple(1e-5 * np.array(strain, dtype=float)))
    micro = random_microstructure(0.3, 1, 8)
    rve = solve_rve(
        Inputs(0.3, 100.0, 400.0, 0.4), settings, loading, microstructure=micro, fit=False
    )
    mu, kappa = moduli(1e5, 0.3)
    exx, eyy, exy = loading.strain[-1]
    lam = kappa - 2 * mu / 3
    volumetric = lam * (exx + eyy)
    expected = np.array(
        [volumetric + 2 * mu * exx, volumetric + 2 * mu * eyy, volumetric, 2 * mu * exy]
    )
    for stress in (rve.fields.matrix_stress, *rve.fields.fibre_stress):
        assert np.abs(stress - expected).max() < 1e-8 * np.abs(expected).max()


def test_work_of_the_fields_is_work_of_the_averages():
    """Hill–Mandel condition; the averages are those of the fields."""
    settings = dataclasses.replace(SMALL, tolerance=1e-10, increments=20)
    rve = solve_rve(INPUTS, settings, seed=1, fit=False)
    d = rve.discretisation
    x = rve.path.x
    u = rve.problem.fluctuation(x)
    macro_strain = x[-3:]
    work = 0.0
    mean = np.zeros(4)
    parts = [(d.matrix, rve.fields.matrix_stress)]
    parts += list(zip(d.fibres, rve.fields.fibre_stress, strict=True))
    for e, stress in parts:
        gradient = np.einsum("mqid,mie->mqde", e.gradients, u[e.dofs].reshape(-1, 6, 2))
        exx = gradient[..., 0, 0] + macro_strain[0]
        eyy = gradient[..., 1, 1] + macro_strain[1]
        gxy = gradient[..., 0, 1] + gradient[..., 1, 0] + macro_strain[2]
        density = stress[..., 0] * exx + stress[..., 1] * eyy + stress[..., 3] * gxy
        work += (e.weights * density).sum()
        mean += np.einsum("mq,mqi->i", e.weights, stress)
    stress = rve.history["stress"][-1]
    strain = rve.history["strain"][-1]
    assert work == pytest.approx(stress[0] * strain[0] + stress[1] * strain[1], rel=1e-8)
    assert mean == pytest.approx(stress, rel=1e-7, abs=1e-5)


def _hashin_shtrikman(vf, fibre, matrix):
    """Bounds on the plane-strain bulk and shear modulus of aligned stiff fibres."""

    def bound(v, inclusion, host):
        ki, mi = inclusion
        kh, mh = host
        k = kh + v / (1 / (ki - kh) + (1 - v) / (kh + mh))
        m = mh + v / (1 / (mi - mh) + (1 - v) * (kh + 2 * mh) / (2 * mh * (kh + mh)))
        return k, m

    return bound(vf, fibre, matrix), bound(1 - vf, matrix, fibre)


def _young(k, mu):
    """Young's modulus of an isotropic solid with plane-strain bulk modulus k = K + mu / 3."""
    bulk = k - mu / 3
    return 9 * bulk * mu / (3 * bulk + mu)


@pytest.mark.parametrize(("vf", "E_f"), [(0.05, 600.0), (0.4, 200.0), (0.4, 600.0)])
def test_stiffness_lies_between_the_bounds_of_hashin_and_shtrikman(vf, E_f):
    rve = solve_rve(
        Inputs(vf, E_f, 400.0, 0.4), Settings(increments=5, strain=1e-4), seed=3, fit=False
    )
    history = rve.history
    E, _ = elastic_constants(history["strain"][1:], history["stress"][1:])
    phases = []
    for modulus, nu in ((E_f, 0.25), (100.0, 0.3)):
        mu, kappa = moduli(modulus, nu)
        phases.append((kappa + mu / 3, mu))
    lower, upper = (_young(*b) for b in _hashin_shtrikman(vf, *phases))
    assert 0.995 * lower <= E[-1] / 1e3 <= 1.005 * upper


@pytest.fixture(scope="module")
def plastic_rve():
    return solve_rve(INPUTS, SMALL, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_a_pattern_moved_or_turned_with_its_loading_has_the_same_properties(plastic_rve, turned):
    x, y = plastic_rve.microstructure.centres.T
    centres = [1 - y, x] if turned else [x + 0.37, y + 0.21]
    radius = plastic_rve.microstructure.radii[0]
    moved = Microstructure(np.column_stack(centres) % 1.0, radius)
    strain = (None, SMALL.strain, None) if turned else (SMALL.strain, None, None)
    history = solve_rve(INPUTS, SMALL, Loading(strain), microstructure=moved, fit=False).history
    if turned:
        history = {k: v[:, [1, 0, 2, 3]] if v.ndim == 2 else v for k, v in history.items()}
    a = plastic_rve.effective
    b = effective_properties(history, 400.0, history, 1e5)
    assert b.E_eff_GPa == pytest.approx(a.E_eff_GPa, rel=1e-3)
    assert b.b_eff_MPa == pytest.approx(a.b_eff_MPa, rel=5e-3)
    assert b.c_eff == pytest.approx(a.c_eff, rel=5e-3)


def test_prescribed_stress_finds_the_strain(plastic_rve):
    """Driving the mean stress to where the strain-driven RVE ended gives its strain back."""
    end = plastic_rve.history["stress"][-1]
    loading = Loading((None, None, None), (end[0], 0.0, 0.0))
    again = solve_rve(INPUTS, SMALL, loading, microstructure=plastic_rve.microstructure, fit=False)
    assert again.history["strain"][-1, 0] == pytest.approx(SMALL.strain, rel=0.02)
    assert again.history["stress"][-1][[0, 1, 3]] == pytest.approx(end[[0, 1, 3]], abs=0.05)
    # zz is free in both; the paths differ, so it agrees only nearly.
    assert again.history["stress"][-1, 2] == pytest.approx(end[2], rel=0.01)


def test_steps_are_cut_back_and_grow_again(plastic_rve, monkeypatch):
    """With too few Newton iterations allowed, steps are divided; the path ends the same."""
    few = dataclasses.replace(IncrementalRVE.newton, iterations=3)
    monkeypatch.setattr(IncrementalRVE, "newton", few)
    settings = dataclasses.replace(SMALL, increments=10)
    loading = Loading((settings.strain, None, None))
    micro = plastic_rve.microstructure
    cut = solve_rve(INPUTS, settings, loading, microstructure=micro, fit=False).path
    assert 0 < cut.counts["cutbacks"] < 20
    assert len(cut.history["stress"]) == 11
    end = plastic_rve.history["stress"][-1]
    assert cut.history["stress"][-1, 0] == pytest.approx(end[0], rel=2e-3)


@pytest.mark.parametrize("solver", ["compiled", "dolfinx"])
def test_an_impossible_stress_is_reported(solver):
    inputs = Inputs(0.0, 400.0, 0.0, 0.5)  # perfectly plastic, driven beyond its strength
    beyond = Loading((None, None, None), (900.0, 0.0, 0.0))
    with (
        np.errstate(all="ignore"),
        pytest.raises(ConvergenceError, match="does not converge at load fraction"),
    ):
        solve_rve(inputs, dataclasses.replace(SMALL, resolution=2.0), beyond, seed=1, solver=solver)
