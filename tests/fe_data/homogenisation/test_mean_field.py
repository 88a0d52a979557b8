"""Mean fields in their limits, against closed forms, and against simulated RVEs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fe_data
from fe_data import FitError, Inputs, Settings, load_table, mean_field, solve_rve
from fe_data.homogenisation.mean_field import RVEs
from fe_data.mechanics.properties import equivalent_strain, fit_power_law, moduli, von_mises

DATASETS = Path(fe_data.__file__).with_name("datasets")
RVE = [0.3, 400.0, 400.0, 0.4]


def rves(vf, E_f, reference=0.0, spread=0.3):
    settings = Settings()
    matrix = moduli(1e5, settings.nu_m)
    fibres = moduli(1e3 * E_f, settings.nu_f)
    values = {"vf": vf, "b": 400.0, "c": 0.4, "reference": reference, "spread": spread}
    values |= {"K_m": matrix.bulk, "G_m": matrix.shear, "K_f": fibres.bulk, "G_f": fibres.shear}
    return RVEs(settings, **{name: np.array([float(value)]) for name, value in values.items()})


def means(name):
    """Inputs of a table and the mean outputs of each over microstructures."""
    table = load_table(DATASETS / f"{name}.csv")
    groups = [table.group == number for number in np.unique(table.group)]
    return (
        np.array([table.inputs[rows][0] for rows in groups]),
        np.array([table.outputs[rows].mean(axis=0) for rows in groups]),
    )


@pytest.mark.parametrize("reference", [0.0, 0.4, 1.0])
def test_an_rve_without_fibres_has_the_properties_of_the_matrix(reference):
    outputs = mean_field([0.0, 400.0, 350.0, 0.3], reference=reference)
    np.testing.assert_allclose(outputs, [350.0, 0.3, 100.0, 0.3, 0.0], rtol=1e-9)


@pytest.mark.parametrize("reference", [0.0, 1.0])
def test_equal_elastic_phases_make_no_composite(reference):
    outputs = mean_field([0.3, 100.0, 350.0, 0.3], Settings(nu_f=0.3), reference=reference)
    np.testing.assert_allclose(outputs[2:4], [100.0, 0.3], rtol=1e-12)


def test_the_matrix_as_reference_gives_the_bounds_of_hashin():
    vf = 0.3
    rve = rves(vf, 400.0)
    G_m = rve.G_m
    G_f = rve.G_f
    k_m = rve.K_m + G_m / 3
    k_f = rve.K_f + G_f / 3
    k, G, *_ = rve.linear(G_m, G_f)
    np.testing.assert_allclose(k, k_m + vf / (1 / (k_f - k_m) + (1 - vf) / (k_m + G_m)))
    shear = vf / (1 / (G_f - G_m) + (1 - vf) * (k_m + 2 * G_m) / (2 * G_m * (k_m + G_m)))
    np.testing.assert_allclose(G, G_m + shear)


def test_the_self_consistent_medium_does_not_know_which_phase_is_the_matrix():
    one = rves(0.3, 200.0, 1.0)
    swapped = replace(one, vf=1 - one.vf, K_m=one.K_f, G_m=one.G_f, K_f=one.K_m, G_f=one.G_m)
    k, G, *_ = one.linear(one.G_m, one.G_f)
    k_swapped, G_swapped, *_ = swapped.linear(one.G_f, one.G_m)
    np.testing.assert_allclose(k, k_swapped, rtol=1e-5)
    np.testing.assert_allclose(G, G_swapped, rtol=1e-5)


@pytest.mark.parametrize("reference", [0.0, 0.5])
def test_mean_squares_are_derivatives_of_the_energy(reference):
    rve = rves(0.3, 400.0, reference)
    dilatation, shear = rve.shape(*rve.linear(rve.G_m, rve.G_f)[:2])

    def energy(G_m, G_f):
        k, G, *_ = rve.linear(G_m, G_f)
        return k * dilatation**2 / 2 + 2 * G * shear**2

    h = 1e-4 * rve.G_m
    matrix = (energy(rve.G_m + h, rve.G_f) - energy(rve.G_m - h, rve.G_f)) / (2 * h)
    fibres = (energy(rve.G_m, rve.G_f + h) - energy(rve.G_m, rve.G_f - h)) / (2 * h)
    np.testing.assert_allclose(rve.rms_strain(rve.G_m) ** 2, matrix / (1.5 * 0.7), rtol=1e-6)
    np.testing.assert_allclose(rve.rms_strain(rve.G_m, True) ** 2, fibres / (1.5 * 0.3), rtol=1e-6)


def test_simulated_rves_have_these_properties():
    """Means over 15 microstructures; the bounds are what the README says."""
    X, simulated = means("noise")
    estimate = mean_field(X)
    relative = estimate[:, :4] / simulated[:, :4] - 1
    bias = relative.mean(axis=0)
    correlation = [np.corrcoef(*pair)[0, 1] for pair in zip(estimate.T, simulated.T, strict=True)]
    np.testing.assert_allclose(bias, [0.041, 0.018, -0.003, 0.001], atol=0.002)
    assert np.all(np.array(correlation) > [0.94, 0.994, 0.999, 0.998, 0.96])
    assert np.sqrt(np.mean((estimate - simulated)[:, 4] ** 2)) < 0.051
    X, simulated = means("test_uniform")  # single RVEs, none of them in the fits
    assert np.sqrt(np.mean((mean_field(X) - simulated)[:, 4] ** 2)) < 0.08


def test_without_fluctuation_the_matrix_yields_at_once():
    """The modified secant method itself: uniform strain at its mean square follows the law."""
    rve = rves(0.3, 400.0, spread=0.0)
    plastic = np.geomspace(1e-6, 0.1, 20)
    mises = 400.0 + 400.0 * plastic**0.4
    strain = plastic + mises / (3 * rve.G_m)
    np.testing.assert_allclose(rve.mises(strain), mises, rtol=1e-10)
    np.testing.assert_allclose(rve.secant(strain)[0], mises / (3 * strain), rtol=1e-10)


def test_a_lognormal_strain_keeps_its_energy():
    rve = rves(0.3, 400.0, spread=0.35)
    strain = 0.02
    draws = np.exp(0.35 * np.random.default_rng(0).standard_normal(400_000) - 0.35**2) * strain
    energy = np.mean(rve.mises(draws) * draws)
    np.testing.assert_allclose(
        rve.secant(np.array([strain]))[0], energy / (3 * strain**2), rtol=3e-3
    )


def test_a_matrix_that_does_not_harden_is_perfectly_plastic():
    """Its stress ends at the yield stress, without fibres that of the RVE too."""
    rve = replace(rves(0.3, 400.0), b=np.array([0.0]))
    strain = np.array([1e-4, 3.9e-3, 0.01, 1.0])
    np.testing.assert_allclose(rve.mises(strain), np.minimum(3 * rve.G_m * strain, 400.0))
    outputs = mean_field([[0.0, 400.0, 0.0, 0.4], [0.0, 400.0, 400.0, 0.4]])
    np.testing.assert_allclose(outputs[0], [0.0, 0.0, 100.0, 0.3, 0.0], atol=1e-9)
    np.testing.assert_allclose(outputs[1], [400.0, 0.4, 100.0, 0.3, 0.0], rtol=1e-9)
    elastic = ["E_eff_GPa", "nu_eff"]
    without, with_hardening = (
        mean_field([0.3, 400.0, b, 0.4], outputs=elastic) for b in (0.0, 400.0)
    )
    assert without.tolist() == with_hardening.tolist()


@pytest.mark.parametrize(("b", "c"), [(400.0, 0.4), (0.0, 0.4), (1.0, 0.1), (5000.0, 0.05)])
@pytest.mark.parametrize("vf", [0.05, 0.4])
def test_the_law_is_fitted_as_to_simulated_curves_beyond_the_measured_range_too(vf, b, c):
    rve = replace(rves(vf, 500.0, spread=0.6 * vf**0.5), b=np.array([b]), c=np.array([c]))
    G_s, reached = rve.increments()
    _, stress, plastic = (reached[..., None] * average for average in rve.averages(G_s))
    expected = fit_power_law(von_mises(stress), equivalent_strain(plastic), 400.0)[:2]
    np.testing.assert_allclose(np.ravel(rve.power_law(G_s, reached)), expected, rtol=1e-5)
    np.testing.assert_allclose(reached[-1], 0.05, rtol=1e-3)
    assert (np.diff(reached) > 0).all()


@pytest.mark.filterwarnings("ignore:.*of the mean-field model are within:UserWarning")
def test_hardening_that_cannot_be_fitted_is_an_error():
    """p^0.01 is a hundredth at p = 1e-200."""
    with pytest.raises(FitError, match="plastic strains are too small"):
        mean_field([0.005, 600.0, 1e5, 0.01], Settings(E_m_GPa=10.0))
    with pytest.raises(FitError, match="fewer than 3 increments"):
        mean_field(RVE, Settings(sigma_y0_MPa=1e5))
    with pytest.raises(ValueError, match=r"hardening = .* is out of range.* at least 50"):
        mean_field([RVE, [0.3, 400.0, 400.0, 0.4]], hardening=0.1, outputs=["c_eff"])


# v_f, b_m, c_m: within the range in which b_eff and c_eff hold, at half of its corners, each two
# ends together once, then beyond it.
HELD = [(0.05, 250.0, 0.2), (0.05, 1000.0, 0.55), (0.4, 250.0, 0.55), (0.4, 1000.0, 0.2)]
HELD += [(0.3, 400.0, 0.4)]
BEYOND = [(0.3, 400.0, 0.05), (0.3, 400.0, 1.0), (0.1, 400.0, 1.0), (0.3, 100.0, 0.1)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*of the mean-field model are within:UserWarning")
@pytest.mark.parametrize(("vf", "b", "c"), [*HELD, *BEYOND])
def test_mean_fields_are_those_of_rves_in_the_measured_range(vf, b, c):
    """Means over three microstructures; the bounds are what docs/validation.md says."""
    inputs = Inputs(vf, 400.0, b, c)
    settings = Settings(resolution=3, tolerance=1e-4)
    rves = [solve_rve(inputs, settings, seed=seed).effective for seed in range(3)]
    b_rve, c_rve, E_rve = (
        np.mean([getattr(rve, name) for rve in rves])
        for name in ("b_eff_MPa", "c_eff", "E_eff_GPa")
    )
    b_found, c_found, E_found = mean_field([vf, 400.0, b, c])[:3]
    stress, stress_rve = (400 + b * 0.02**c for b, c in ((b_found, c_found), (b_rve, c_rve)))
    assert abs(stress / stress_rve - 1) < 0.06
    assert abs(E_found / E_rve - 1) < 0.01
    near = abs(b_found / b_rve - 1) < 0.2 and abs(c_found / c_rve - 1) < 0.2
    assert near == ((vf, b, c) in HELD)


def test_parameters_are_broadcast():
    X = np.array([RVE, [0.1, 300.0, 350.0, 0.3]])
    references = np.array([[0.0], [0.5]])
    factors = np.array([[1.0], [0.9]])
    together = mean_field(X, reference=references, hardening=factors)
    assert together.shape == (2, 2, 5)
    for i in range(2):
        for j in range(2):
            alone = mean_field(X[j], reference=references[i, 0], hardening=factors[i, 0])
            np.testing.assert_allclose(together[i, j], alone, rtol=1e-10)
    assert together[1, 0, 0] != together[0, 0, 0]


def test_many_inputs_are_evaluated_in_chunks_of_limited_memory(monkeypatch):
    inputs = np.random.default_rng(0).uniform([0.05, 200, 300, 0.2], [0.4, 600, 500, 0.55], (24, 4))
    together = mean_field(inputs.reshape(4, 6, 4))
    monkeypatch.setattr("fe_data.homogenisation.mean_field._CHUNK", 7)
    np.testing.assert_array_equal(mean_field(inputs.reshape(4, 6, 4)), together)
    assert mean_field(inputs[:0]).shape == (0, 5)
