"""Unloading, reversal and paths that turn: a material point, balance of energy."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq

from fe_data.geometry.microstructure import random_microstructure
from fe_data.loading import Loading
from fe_data.mechanics.properties import moduli
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import HardeningTable, Inputs, Settings

MATRIX = Inputs(0.0, 400.0, 400.0, 0.4)  # no fibres: every point is loaded like the RVE
MU, KAPPA = moduli(1e5, 0.3)
A = 400.0
B = 400.0
C = 0.4
SETTINGS = Settings(n_fibres=3, resolution=2.0, tolerance=1e-9)
INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)


def _yield_stress(p):
    return A + B * p**C


def _integrate(strains, yield_stress):
    """Stress and plastic strain (n, 4) of a material point along mean strains, root by root."""
    plastic = np.zeros((3, 3))
    p = 0.0
    states = []
    for xx, yy, zz, xy in strains:
        e = np.array([[xx, xy, 0.0], [xy, yy, 0.0], [0.0, 0.0, zz]])
        trial = 2 * MU * (e - np.trace(e) / 3 * np.eye(3) - plastic)
        q = np.sqrt(1.5 * np.sum(trial**2))
        if q > yield_stress(p):
            excess = lambda dp: q - 3 * MU * dp - yield_stress(p + dp)  # noqa: E731, B023
            dp = brentq(excess, 0.0, q / (3 * MU), xtol=1e-18, rtol=1e-14)
            plastic = plastic + 1.5 * dp / q * trial
            p += dp
            trial *= 1 - 3 * MU * dp / q
        s = trial + KAPPA * np.trace(e) * np.eye(3)
        states.append([[x[0, 0], x[1, 1], x[2, 2], x[0, 1]] for x in (s, plastic)])
    return np.array(states).transpose(1, 0, 2)


def _voce(p):
    return A + B * (1 - np.exp(-p / C))


TABLE = HardeningTable([0.0, 0.01, 0.02, 0.08], [400.0, 450.0, 620.0, 650.0])


def _tabulated(p):
    return np.interp(p, TABLE.plastic_strain, TABLE.stress)


@pytest.mark.parametrize(
    ("hardening", "law"),
    [("power", _yield_stress), ("voce", _voce), (TABLE, _tabulated)],
    ids=["power", "voce", "table"],
)
@pytest.mark.parametrize("free", [False, True])
def test_a_path_that_turns_is_that_of_a_material_point(free, hardening, law):
    """Strains, strains beside stresses, and components that change from one to the other."""
    xx, yy, xy = np.random.default_rng(0).uniform(-0.02, 0.02, (3, 6))
    vertices = [
        (x, None if free and n % 2 else y, s)
        for n, (x, y, s) in enumerate(zip(xx, yy, xy, strict=True))
    ]
    loading = Loading(vertices, (0.0, 0.0, 0.0), increments=5)
    settings = dataclasses.replace(SETTINGS, hardening=hardening)
    inputs = Inputs(0.0, 400.0, 0.0, 1.0) if hardening is TABLE else MATRIX
    history = solve_rve(inputs, settings, loading, seed=1).history
    assert len(history["stress"]) == 31
    stress, plastic = _integrate(history["strain"], law)
    assert history["stress"] == pytest.approx(stress, abs=1e-5)
    assert history["plastic_strain"] == pytest.approx(plastic, abs=1e-10)
    if free:
        assert abs(history["stress"][[10, 20, 30], 1]).max() < 1e-5
    assert history["strain"][5::5, 0] == pytest.approx(xx)


@pytest.fixture(scope="module")
def cycle():
    """Tension, unloading to no stress, compression, unloading."""
    none = (None, None, None)
    loading = Loading([(0.02, None, None), none, (-0.01, None, None), none], increments=20)
    return solve_rve(INPUTS, SETTINGS, loading, seed=1)


def test_unloading_is_elastic_and_ends_without_stress(cycle):
    strain = cycle.history["strain"]
    stress = cycle.history["stress"]
    slopes = np.diff(stress[:, 0]) / np.diff(strain[:, 0])
    assert slopes[[20, 21, 60, 61]] == pytest.approx(slopes[0], rel=1e-3)
    assert slopes[19] < 0.2 * slopes[0]
    assert abs(stress[[40, 80]][:, [0, 1, 3]]).max() < 1e-5
    assert strain[40, 0] > 0.01
    assert abs(stress[40, 2]) > 1.0  # plane strain keeps a stress along the fibres
    assert cycle.path.counts["cutbacks"] == 0
    assert cycle.path.counts["newton_iterations"] < 4 * 80
    assert cycle.effective is None


def test_work_of_a_cycle_is_stored_or_dissipated(cycle):
    """Work of the averages = elastic energy of the fields + the integral of a + b p^c by p."""
    d = cycle.discretisation
    fields = cycle.fields
    work = sum(
        trapezoid(cycle.history["stress"][:, i], factor * cycle.history["strain"][:, i])
        for i, factor in ((0, 1.0), (1, 1.0), (3, 2.0))
    )
    elastic = 0.0
    parts = [(d.matrix, fields.matrix_stress, (MU, KAPPA))]
    fibre = moduli(4e5, SETTINGS.nu_f)
    parts += [(e, s, fibre) for e, s in zip(d.fibres, fields.fibre_stress, strict=True)]
    for elements, stress, (mu, kappa) in parts:
        trace = stress[..., :3].sum(axis=-1)
        square = (stress[..., :3] ** 2).sum(axis=-1) + 2 * stress[..., 3] ** 2 - trace**2 / 3
        elastic += (elements.weights * (square / (4 * mu) + trace**2 / (18 * kappa))).sum()
    p = fields.plastic_strain
    dissipated = (d.matrix.weights * (A * p + B / (C + 1) * p ** (C + 1))).sum()
    assert work == pytest.approx(elastic + dissipated, rel=0.01)
    assert elastic > 0.0


def test_vertices_along_a_line_change_nothing():
    micro = random_microstructure(0.3, 1, 3)
    whole, parts = (
        solve_rve(INPUTS, SETTINGS, loading, microstructure=micro, fit=False)
        for loading in (
            Loading((0.02, None, 0.01), increments=20),
            Loading([(0.005, None, 0.0025), (0.02, None, 0.01)], increments=(5, 15)),
        )
    )
    for name, values in whole.history.items():
        assert parts.history[name] == pytest.approx(values, abs=1e-6 * abs(values).max())
    assert parts.path.counts["newton_iterations"] <= whole.path.counts["newton_iterations"] + 1
