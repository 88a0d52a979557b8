"""Energy of closed cycles: of laws for which it is known, and of a fitted `StrainPathEnsemble`."""

import numpy as np
import pytest

from bnn.paths import MaterialPointBasis
from studies.path_surrogates import data
from studies.path_surrogates.energy import AMPLITUDES, PRELOAD, cycled, cycles, gains
from studies.path_surrogates.estimators import fitted
from studies.strain_paths.study import subset

ENDS = np.array([[0.003, -0.001, 0.002], [0.0, 0.0, 0.004]])
ABOUT = np.array([[0.02, 0.0, 0.0], [0.0, 0.01, 0.01]])


@pytest.mark.parametrize("middles", [np.zeros((2, 3)), ABOUT], ids=["rest", "preloaded"])
def test_a_cycle_is_closed_from_its_first_end_on(middles):
    strain, first = cycles(ENDS, middles)
    np.testing.assert_allclose(strain[:, first], middles + ENDS, atol=1e-15)
    np.testing.assert_allclose(strain[:, first + 40], middles - ENDS, atol=1e-15)
    np.testing.assert_allclose(strain[:, -1], strain[:, first], atol=1e-15)


def test_a_spring_gains_nothing_a_damped_one_loses_and_its_negative_gains():
    """Stress C E + η (E - E before): the work of a closed cycle is that of the second part."""
    strain, first = cycles(ENDS, np.zeros((2, 3)))
    elastic = 1e5 * strain
    viscous = 1e5 * np.diff(strain, axis=1, prepend=0.0)
    stress = np.array([elastic, elastic + viscous, elastic - viscous])
    energy = gains(stress, strain, first)
    np.testing.assert_array_equal(energy > 0.0, [2 * [False]] * 2 + [2 * [True]])
    # In units of an end: 78 of 80 steps of 1/20 give their square, as both turns change the sign.
    np.testing.assert_allclose(energy[2], 78 * 0.05**2 / (0.5 * 0.95**2), rtol=1e-9)
    # In shear alone, where the work of xy counts twice.
    of_shear = gains((elastic - viscous * [0.0, 0.0, 1.0])[None], strain, first)[0]
    normal, shear = np.sum(ENDS[:, :2] ** 2, axis=1), 2.0 * ENDS[:, 2] ** 2
    gained = 78 * 0.05**2 * shear / (0.5 * 0.95**2 * shear + 0.5 * normal)
    np.testing.assert_allclose(of_shear, gained, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("preload", [0.0, PRELOAD])
def test_mean_fields_which_are_plasticity_never_gain(preload):
    rng = np.random.default_rng(0)
    X = rng.uniform(*data.BOUNDS, (30, 4))
    ends, middles = rng.standard_normal((2, 30, 3))
    basis = MaterialPointBasis(data.concentration, data.BOUNDS, n_points=1)
    for amplitude in AMPLITUDES:
        strain, first = cycles(0.5 * amplitude * ends, 0.5 * preload * middles)
        assert (gains(basis.features(X, strain).mean_fields[None], strain, first) == 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 100])
def test_no_mean_and_less_than_a_hundredth_of_the_members_gain_at_any_amplitude(n):
    sets = data.load()
    model = fitted(subset(sets.random_paths, n, 0), sets.repeated_random, 0)
    for amplitude in AMPLITUDES:
        means, members = cycled(model, amplitude)
        assert (means == 0.0).all()
        assert (members > 0.0).mean() < 0.01
