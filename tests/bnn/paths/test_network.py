"""Networks of material points along paths of strain."""

import numpy as np
import pytest
import torch

from bnn.paths import (
    MaterialPointBasis,
    PathScatter,
    PhaseProperties,
    PhysicallyRecurrentNetwork,
    StrainPathEnsemble,
    mean_field_stress,
)
from bnn.paths.network import cell_stress
from fe_data import load_paths, mean_field, random_path, strain_concentration

BOUNDS = np.array([[0.05, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.55]])
NETWORK = PhysicallyRecurrentNetwork(BOUNDS, n_matrix=4, n_fibre=2, hidden=3)


def _cells(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(*BOUNDS, (n, 4))
    return X, np.array([random_path(rng, increments=40) for _ in range(n)])


def test_weights_are_volume_fractions_and_the_mean_strain_is_that_of_the_cell():
    X, _ = _cells(5)
    weights = torch.as_tensor(NETWORK.initial_weights(3, random_state=0))
    A, shares, n_fibre = NETWORK.localisation(weights, torch.as_tensor(X))
    assert (shares > 0).all()
    assert shares.sum(-1).numpy() == pytest.approx(1.0)
    assert shares[..., -n_fibre:].sum(-1).numpy() == pytest.approx(np.tile(X[:, 0], (3, 1)))
    mean = torch.einsum("knp,knpij->knij", shares, A)
    assert torch.allclose(mean, torch.eye(3).double().expand(3, 5, 3, 3), atol=1e-12)


def test_the_work_of_the_cell_is_that_of_its_points_and_no_cycle_gains_energy():
    """There and back again: what is put in is not less than what comes out."""
    X, walk = _cells(6)
    back = np.concatenate([walk, walk[:, ::-1], np.zeros((6, 1, 3))], axis=1)
    stress = NETWORK.stress(NETWORK.initial_weights(2, random_state=1), X, back)
    steps = np.diff(back, axis=1, prepend=0.0) * [1.0, 1.0, 2.0]
    # implicit steps dissipate: Σ S(t) : ΔE(t) with the stress at the end is an upper bound
    assert ((stress * steps).sum((2, 3)) > 0).all()


def test_the_tangent_is_symmetric():
    X, walk = _cells(1)
    weights = torch.as_tensor(NETWORK.initial_weights(1, random_state=2))
    inputs = torch.as_tensor(X)
    points = NETWORK.localisation(weights, inputs)

    def last(strain):
        path = torch.cat([torch.as_tensor(walk), strain.reshape(1, 1, 3)], dim=1)
        return cell_stress(points, inputs, path, NETWORK.phases)[0, 0, -1]

    end = torch.as_tensor(walk[0, -1] + [0.002, -0.001, 0.001])
    tangent = torch.autograd.functional.jacobian(last, end) / torch.tensor([1.0, 1.0, 2.0])
    assert torch.allclose(tangent, tangent.T, rtol=1e-9)
    assert (torch.linalg.eigvalsh(tangent) > 0).all()


def test_elastic_cells_about_mean_fields_are_a_little_softer_than_these():
    """Mean strains of the phases leave out the energy of the fluctuations about them."""
    X, _ = _cells(8)
    pull = np.tile([1e-5, 0.0, 0.0], (8, 1, 1))
    C11 = mean_field_stress(strain_concentration(X), X, pull, PhaseProperties())[:, 0, 0] / 1e-5
    E, nu = mean_field(X, outputs=["E_eff_GPa", "nu_eff"]).T
    exact = 1e3 * E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    assert (exact > C11).all()
    assert (0.92 * exact < C11).all()


def test_wrong_inputs_and_arrays_are_named():
    X, walk = _cells(2)
    weights = NETWORK.initial_weights(1, random_state=0)
    A = strain_concentration(X)
    phases = PhaseProperties()
    bank = MaterialPointBasis(strain_concentration, BOUNDS, n_points=2)
    ensemble = StrainPathEnsemble(bank, PathScatter(np.zeros((3, 4))))
    softening = np.where([False, False, True, False], -400.0, BOUNDS)
    for call, message in (
        (lambda: mean_field_stress(A, X + np.eye(4)[0], walk, phases), r"vf = 1\."),
        (lambda: ensemble.fit(X * [1.0, 0.0, 1.0, 1.0], walk, walk), "E_f_GPa = 0:"),
        (lambda: PhysicallyRecurrentNetwork(softening), "b_m_MPa = -400:"),
        (lambda: mean_field_stress(A, X + np.eye(4)[3], walk, phases), r"c_m = 1\."),
        (lambda: NETWORK.stress(weights, X[:, :3], walk), "X has shape"),
        (lambda: NETWORK.stress(weights, X, walk[:1]), "strain has shape"),
        (lambda: NETWORK.stress(weights[:, 1:], X, walk), "weights have shape"),
        (lambda: mean_field_stress(np.eye(3), X, walk, phases), "concentration has"),
        (lambda: mean_field_stress(A, X, 100.0 * walk, phases), "Divide by 100 if"),
        (lambda: PhysicallyRecurrentNetwork(BOUNDS[:, :3]), "bounds"),
        (lambda: PhaseProperties(nu_m=0.5), "nu_m"),
        (lambda: PhaseProperties(hardening="voce"), "hardening = 'voce'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_points_about_mean_fields_follow_simulated_walks():
    """Without training: within 2 % of the variance of the stress, on walks that chose nothing."""
    truth = load_paths("reference_random")
    A = strain_concentration(truth.inputs, softening=0.1)
    found = mean_field_stress(A, truth.inputs, truth.strain, PhaseProperties())
    stress = truth.mean_stress
    error = ((found - stress) ** 2).mean((0, 1)) / stress.var((0, 1))
    print(f"mean squared error over the variance, xx, yy, xy: {error.round(4)}")
    assert (error < 0.02).all()
