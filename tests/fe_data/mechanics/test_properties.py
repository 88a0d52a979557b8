"""Effective properties from curves whose properties are known."""

import dataclasses

import numpy as np
import pytest

from fe_data import FitError, Inputs, Settings, solve_rve
from fe_data.mechanics import properties
from fe_data.mechanics.properties import (
    effective_properties,
    elastic_constants,
    equivalent_strain,
    fit_power_law,
    hooke_misfit,
    transverse_modulus,
    von_mises,
)


def test_equivalents_of_pure_shear():
    """q = √3 τ and, with tr ε = 0, ε = 2 ε_xy / √3: their product is the work 2 τ ε_xy."""
    shear = np.array([0.0, 0.0, 0.0, 1.0])
    assert von_mises(shear) == pytest.approx(np.sqrt(3.0))
    assert equivalent_strain(shear) == pytest.approx(2.0 / np.sqrt(3.0))


def averages(axial, across, nu_axial, nu_across):
    """Mean strain and stress [GPa] of a transversely isotropic solid under stress xx alone."""
    # ε = S σ with fibres along z, and σ_zz from ε_zz = 0
    zz = nu_axial
    strain = [1 / across - nu_axial * zz / axial, -nu_across / across - nu_axial * zz / axial, 0, 0]
    return np.array([strain]), np.array([[1.0, 0.0, zz, 0.0]])


def test_the_misfit_of_hookes_law_is_zero_for_isotropic_solids():
    isotropic = averages(120.0, 120.0, 0.29, 0.29)
    assert hooke_misfit(*isotropic) == pytest.approx(0.0, abs=1e-12)
    assert transverse_modulus(*isotropic, 120.0) == pytest.approx(120.0, rel=1e-12)
    constants = [values[0] for values in elastic_constants(*isotropic)]
    assert constants == pytest.approx([120.0, 0.29], rel=1e-12)


def test_the_misfit_is_the_stress_of_a_direction_that_is_free():
    strain, stress = averages(24.0, 6.3, 0.3, 0.47)  # as epoxy with 30 % of glass
    E, nu = (values[0] for values in elastic_constants(strain, stress))
    lame = E * nu / ((1 + nu) * (1 - 2 * nu))
    yy = lame * strain[0, :2].sum() + E / (1 + nu) * strain[0, 1]
    assert hooke_misfit(strain, stress)[0] == pytest.approx(abs(yy), rel=1e-12)
    assert abs(yy) > 0.02


def test_the_modulus_across_the_fibres_is_found_whatever_the_other_constants_are():
    rng = np.random.default_rng(0)
    for axial, across, nu_axial, nu_across in rng.uniform(
        [20, 3, 0.1, 0.1], [90, 20, 0.4, 0.6], (20, 4)
    ):
        modulus = transverse_modulus(*averages(axial, across, nu_axial, nu_across), axial)
        assert modulus == pytest.approx(across, rel=1e-12)


@pytest.mark.parametrize(
    ("E_m", "nu_m", "nu_f", "E_f", "differs"),
    [(100.0, 0.3, 0.25, 600.0, False), (3.5, 0.35, 0.2, 72.0, True)],
    ids=["the paper's", "glass in epoxy"],
)
def test_an_rve_that_is_not_isotropic_warns(E_m, nu_m, nu_f, E_f, differs):
    phases = Settings(6, resolution=2.0, increments=8, E_m_GPa=E_m, nu_m=nu_m, nu_f=nu_f)
    phases = dataclasses.replace(phases, sigma_y0_MPa=4 * E_m)
    rve = solve_rve(Inputs(0.3, E_f, 400.0, 0.4), phases, seed=0, silent=True)
    assert (rve.effective.elastic_misfit > 0.02) == differs
    assert ("across the fibres" in rve.effective.warning) == differs
    difference = rve.effective.E_eff_GPa / rve.effective.transverse_modulus_GPa - 1
    assert (difference < -0.035) == differs
    assert rve.result().info["elastic_misfit"] == rve.effective.elastic_misfit


@pytest.mark.parametrize(("b", "c"), [(300.0, 0.16), (800.0, 0.5), (450.0, 1.0), (5.0, 0.3)])
def test_power_law_is_recovered(b, c):
    p = np.linspace(0, 0.05, 50)[1:]
    fitted = fit_power_law(400 + b * p**c, p, 400.0)
    assert fitted[:2] == pytest.approx((b, c), rel=1e-7)
    assert fitted[2] < 1e-9


def test_only_points_above_the_yield_stress_count():
    p = np.linspace(0.001, 0.05, 50)
    stress = 400 + 500 * p**0.3
    stress[:5] = 399.0
    assert fit_power_law(stress, p, 400.0)[:2] == pytest.approx((500.0, 0.3), rel=1e-7)


@pytest.mark.parametrize(("knee", "poor"), [(0.0, False), (3e-4, False), (0.02, True)])
def test_an_exponent_that_the_curve_does_not_have_yet_is_reported(knee, poor):
    """A power law that is reached behind a knee: b of the first half of the strains differs."""
    p = np.linspace(0.0, 0.04, 51)
    stress = 400 + 500 * p**0.3 * (1 - np.exp(-p / knee) if knee else 1)
    tensor = np.array([1.0, 0.0, 0.3, 0.0])
    history = {"stress": np.outer(stress, tensor) / von_mises(tensor)}
    history["plastic_strain"] = np.outer(p, [1.0, -0.5, -0.5, 0.0])
    history["strain"] = history["plastic_strain"]
    elastic = {name: values[:2].copy() for name, values in history.items()}
    elastic["yielded_fraction"] = np.zeros(2)
    warning = effective_properties(history, 400.0, elastic, 1e5).warning
    assert ("extrapolated from plastic strains up to 0.04; " in warning) == poor


@pytest.mark.parametrize(
    ("count", "start"),
    [(0, "no increment reaches"), (1, "only 1 increment reaches"), (2, "only 2 increments reach")],
)
def test_too_few_plastic_increments_are_counted_in_words(count, start):
    with pytest.raises(FitError, match=f"^{start} 400 MPa with a plastic strain"):
        fit_power_law(np.full(count, 410.0), np.full(count, 0.001), 400.0)


@pytest.mark.parametrize(
    ("misfit", "across", "texts", "absent"),
    [
        (0.0, 2.0, ["% below the modulus along x,", "use that modulus"], ["errs in"]),
        (0.1, 1.0, ["errs in the stress yy by", "use the modulus along x,"], ["E_eff is"]),
    ],
)
def test_a_warning_on_E_states_only_what_is_above_its_limit(
    misfit, across, texts, absent, monkeypatch
):
    """No sentence says that a fit errs by 0.0 %."""
    monkeypatch.setattr(properties, "hooke_misfit", lambda *_: np.array([misfit]))
    monkeypatch.setattr(properties, "elastic_constants", lambda *_: (np.ones(4), np.ones(4)))
    monkeypatch.setattr(properties, "transverse_modulus", lambda *_: np.array([across]))
    strain = np.linspace(0, 1e-3, 5)[:, None] * [1.0, -0.3, 0.0, 0.0]
    history = {"strain": strain, "stress": 1e5 * strain, "plastic_strain": 0 * strain}
    history["yielded_fraction"] = np.zeros(5)
    warning = properties.effective_properties(history, 400.0, history, 1e5).warning
    assert all(text in warning for text in texts)
    assert not any(text in warning for text in absent)
    assert " 0.0%" not in warning
