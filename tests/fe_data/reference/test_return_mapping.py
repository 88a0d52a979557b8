"""The return mapping in NumPy: its equations, and its tangent as a derivative."""

import numpy as np
import pytest

from fe_data.reference.return_mapping import DEVIATORIC, History, Law, plastic_increment, return_map
from fe_data.settings import HardeningTable

MU = 1e5 / 2.6
TABLE = HardeningTable([0.0, 0.002, 0.01, 0.03, 0.2], [400.0, 430.0, 430.0, 600.0, 620.0])
LAWS = [Law(400, 400, 0.4), Law(400, 300, 0.2), Law(400, 0, 0.5), Law(400, 0, 0.5, "voce")]
LAWS += [Law(400, 400, 0.02, "voce"), Law(400, 1e4, 1.0, "voce"), Law(400, 0, 1, TABLE)]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("p_old", [0.0, 1e-6, 0.03])
def test_the_increment_meets_the_yield_stress(law, p_old):
    a, b, c, name = law

    def hardening(p):
        if name is TABLE:
            return np.interp(p, TABLE.plastic_strain, TABLE.stress) - a
        return b * (1 - np.exp(-p / c)) if name == "voce" else b * p**c

    q = a + hardening(p_old) + np.array([1e-3, 0.1, 1.0, 100.0, 1e4])
    found = plastic_increment(q, np.full(5, p_old), np.full(5, MU), law)
    residual = q - 3 * MU * found - a - hardening(p_old + found)
    assert (found > 0).all()
    assert (np.abs(residual) <= 1e-8 * (q - a - hardening(p_old))).all()


@pytest.mark.parametrize("law", [LAWS[0], LAWS[4], LAWS[6]], ids=str)
def test_the_tangent_is_the_derivative_of_the_stress(law):
    rng = np.random.default_rng(0)
    n = 20
    strain = 0.01 * rng.standard_normal((n, 4))
    step = 1e-7
    old = History(1e-3 * rng.standard_normal((n, 4)) @ DEVIATORIC, 0.01 * rng.random(n))
    mu = np.full(n, MU)
    yields = np.arange(n) % 4 > 0  # every fourth point is a fibre
    _, tangent, new = return_map(strain, old, mu, yields, law)
    assert (new.p > old.p).sum() > 10
    assert (new.p[~yields] == old.p[~yields]).all()
    for j, direction in enumerate(np.eye(4)):
        ends = [return_map(strain + s * direction, old, mu, yields, law)[0] for s in (step, -step)]
        difference = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(tangent[:, :, j], difference, atol=1e-5 * MU)
