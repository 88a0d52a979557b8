"""The return mapping along paths, beside the compiled one of fe_data, and its gradient."""

import numpy as np
import pytest
import torch

from bnn.paths.return_mapping import Matrix
from fe_data.mechanics.elements import Elements
from fe_data.mechanics.plasticity import HistoryVariables, j2_law, return_map
from studies.path_surrogates.data import default_basis
from studies.path_surrogates.estimators import mean_fields
from studies.path_surrogates.rve_stress import deviatoric_stress
from tests.bnn.paths.test_phases import rves_on_paths

MU = 1e5 / 2.6
LAWS = [(400.0, 0.4), (300.0, 0.2), (500.0, 1.0), (0.0, 0.5), (1e-3, 0.9), (1e5, 0.1)]


def _walks(points, steps):
    """Deviators (steps, points, 3) that turn often, of some yield strains."""
    rng = np.random.default_rng(0)
    return np.cumsum(0.004 * rng.standard_normal((steps, points, 3)), axis=0)


def _compiled(deviators, b, c):
    """Stress of one point along its path (steps, 3), by fe_data."""
    law = j2_law(MU, 0.0, 400.0, b, c)
    nothing = np.zeros((1, 1, 6, 2))
    elements = Elements(np.zeros((1, 12), np.int32), nothing, np.ones((1, 1)), *3 * [nothing])
    old, new = (
        HistoryVariables(np.zeros((1, 1, 3)), np.zeros((1, 1)), np.zeros((1, 1))) for _ in range(2)
    )
    stress = []
    for xx, yy, xy in deviators:
        # the strain with this deviator and no strain zz: its dilatation is 3 (e_xx + e_yy)
        volume = 3.0 * (xx + yy)
        strain = np.array([xx + volume / 3.0, yy + volume / 3.0, 2.0 * xy])
        integrals = np.zeros(8)
        tangent = np.zeros((1, 1, 6))
        return_map(np.zeros(12), strain, elements, law, old, new, tangent, np.zeros(12), integrals)
        stress.append(integrals[[0, 1, 3]])
        old, new = new, old
    return np.array(stress)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_stress_along_a_path_is_that_of_the_compiled_solver(law):
    deviators = _walks(points=4, steps=60)
    stress = deviatoric_stress(torch.as_tensor(deviators), Matrix(MU, 400.0, *law)).numpy()
    compiled = np.stack([_compiled(deviators[:, i], *law) for i in range(4)], axis=1)
    assert np.abs(stress).max() > 150.0
    assert np.abs(stress - compiled).max() < 1e-9 * np.abs(compiled).max()


def test_points_with_laws_of_their_own_are_those_of_single_ones():
    deviators = torch.as_tensor(_walks(points=len(LAWS), steps=20))
    b, c = torch.as_tensor(np.transpose(LAWS))
    together = deviatoric_stress(deviators, Matrix(MU, 400.0, b, c))
    for i, law in enumerate(LAWS):
        alone = deviatoric_stress(deviators[:, i : i + 1], Matrix(MU, 400.0, *law))
        assert torch.allclose(together[:, i], alone[:, 0], rtol=1e-12, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("law", [LAWS[0], LAWS[3]], ids=str)
def test_the_gradient_is_that_of_finite_differences(law):
    deviators = torch.as_tensor(_walks(points=2, steps=8)).requires_grad_()

    def scaled(e):
        return deviatoric_stress(e, Matrix(MU, 400.0, *law)) / MU

    assert torch.autograd.gradcheck(scaled, (deviators,), eps=1e-7, atol=1e-5, rtol=1e-5)


def test_a_point_at_rest_has_no_stress_and_a_gradient():
    rest = torch.zeros(3, 1, 3, dtype=torch.float64, requires_grad=True)
    stress = deviatoric_stress(rest, Matrix(MU, 400.0, 400.0, 0.4))
    assert (stress == 0.0).all()
    stress[-1, 0, 0].backward()
    assert rest.grad[-1, 0, 0] == pytest.approx(2.0 * MU)


def test_one_point_in_each_phase_has_the_mean_field_stress_of_the_basis():
    X, strain = rves_on_paths(3)
    expected = mean_fields(X, strain)
    np.testing.assert_allclose(default_basis().features(X, strain).mean_fields, expected, atol=1e-8)
