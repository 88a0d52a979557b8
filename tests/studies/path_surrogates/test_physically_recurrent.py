"""Physically recurrent networks along paths of strain."""

import numpy as np
import pytest
import torch

from studies.path_surrogates.physically_recurrent import PhysicallyRecurrentNetwork
from studies.path_surrogates.rve_stress import rve_stress
from tests.bnn.paths.test_phases import BOUNDS, rves_on_paths

NETWORK = PhysicallyRecurrentNetwork(BOUNDS, n_matrix=4, n_fibre=2, hidden=3)


def test_weights_are_volume_fractions_and_the_mean_strain_is_that_of_the_rve():
    X, _ = rves_on_paths(5)
    weights = torch.as_tensor(NETWORK.initial_weights(3, random_state=0))
    A, shares, n_fibre = NETWORK.localisation(weights, torch.as_tensor(X))
    assert (shares > 0).all()
    assert shares.sum(-1).numpy() == pytest.approx(1.0)
    assert shares[..., -n_fibre:].sum(-1).numpy() == pytest.approx(np.tile(X[:, 0], (3, 1)))
    mean = torch.einsum("knp,knpij->knij", shares, A)
    assert torch.allclose(mean, torch.eye(3).double().expand(3, 5, 3, 3), atol=1e-12)


def test_the_work_of_the_rve_is_that_of_its_points_and_no_cycle_gains_energy():
    """There and back again: what is put in is not less than what comes out."""
    X, walk = rves_on_paths(6)
    back = np.concatenate([walk, walk[:, ::-1], np.zeros((6, 1, 3))], axis=1)
    stress = NETWORK.stress(NETWORK.initial_weights(2, random_state=1), X, back)
    steps = np.diff(back, axis=1, prepend=0.0) * [1.0, 1.0, 2.0]
    # implicit steps dissipate: Σ S(t) : ΔE(t) with the stress at the end is an upper bound
    assert ((stress * steps).sum((2, 3)) > 0).all()


def test_the_tangent_is_symmetric():
    X, walk = rves_on_paths(1)
    weights = torch.as_tensor(NETWORK.initial_weights(1, random_state=2))
    inputs = torch.as_tensor(X)
    points = NETWORK.localisation(weights, inputs)

    def last(strain):
        path = torch.cat([torch.as_tensor(walk), strain.reshape(1, 1, 3)], dim=1)
        return rve_stress(points, inputs, path, NETWORK.phases)[0, 0, -1]

    end = torch.as_tensor(walk[0, -1] + [0.002, -0.001, 0.001])
    tangent = torch.autograd.functional.jacobian(last, end) / torch.tensor([1.0, 1.0, 2.0])
    assert torch.allclose(tangent, tangent.T, rtol=1e-9)
    assert (torch.linalg.eigvalsh(tangent) > 0).all()
