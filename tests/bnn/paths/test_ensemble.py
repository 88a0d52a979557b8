"""The posterior of paths, its members, and the scatter of microstructures."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bnn
from bnn.paths import (
    MaterialPointBasis,
    PathScatter,
    PhaseProperties,
    StrainPathEnsemble,
    fit_scatter,
)
from bnn.paths.ensemble import MEDIANS, _design, _learnt_steps
from bnn.paths.scatter import travelled, whitened
from tests.bnn.paths.test_basis import BOUNDS, MEAN_FIELDS, cells
from tests.bnn.small import small_of_paths

BANK = MaterialPointBasis(MEAN_FIELDS, BOUNDS, n_points=4)
SCATTER = PathScatter(np.tile([8.0, 3.0, 0.0, 0.3], (3, 1)))


def fitted(X, strain, stress, n_members=1):
    model = StrainPathEnsemble(BANK, SCATTER, n_members=n_members, random_state=0)
    return model.fit(X, strain, stress)


def draw(X, strain, seed, tau=MEDIANS[0], lam=MEDIANS[1]):
    """Stress of a draw from the prior."""
    rng = np.random.default_rng(seed)
    features = BANK.features(X, strain)
    n = BANK.n_features
    deviations = np.tile(tau / np.sqrt(n) * np.array([1, *4 * [lam]]), n)
    theta = deviations * rng.standard_normal(BANK.n_weights)
    theta = (BANK.mixing @ theta.reshape(n, 5)).reshape(-1)
    Psi = _design(features.points, BANK.factors(X))
    return features.mean_fields + (Psi @ theta).reshape(strain.shape)


def model_error(X, features):
    """Standard deviation of δ over σ, (n, T, 1)."""
    return 1.3 / np.sqrt(X[:, :1, None] * features.utilisation[..., None])


def correlated(strain, rng):
    """Ornstein–Uhlenbeck processes of unit variance along paths."""
    steps = np.diff(travelled(strain), axis=1)
    values = rng.standard_normal(strain.shape)
    for t in range(1, strain.shape[1]):
        a = np.exp(-steps[:, t - 1] / SCATTER.length)[:, None]
        values[:, t] = a * values[:, t - 1] + np.sqrt(1.0 - a**2) * values[:, t]
    return values


def test_whitened_processes_are_independent():
    _, strain = cells(300)
    process = correlated(strain, np.random.default_rng(1))
    white = whitened(process, travelled(strain), SCATTER.length)
    assert (process[:, 1:] * process[:, :-1]).mean() > 0.8
    assert abs((white[:, 1:] * white[:, :-1]).mean()) < 0.02
    assert white.var() == pytest.approx(1.0, abs=0.03)


def test_members_are_draws_of_the_posterior():
    """Mean and covariance of 2,000 anchored members against the closed form."""
    X, strain = cells(6)
    stress = draw(X, strain, 3)
    model = fitted(X, strain, stress, 2000)
    covariance = model.root_ @ model.root_.T
    deviations = np.sqrt(np.diag(covariance))
    distance = (model.members_.mean(axis=0) - model.mean_) / deviations
    assert abs(distance).max() < 4.0 / np.sqrt(2000)
    shares = np.linalg.solve(model.root_, (model.members_ - model.mean_).T)
    np.testing.assert_allclose(np.cov(shares), np.eye(len(shares)), atol=0.15)


def test_the_closed_form_is_that_of_a_gaussian_process():
    """By the covariance of the data, which the weights are not asked for."""
    X, strain = cells(2)
    stress = draw(X, strain, 3)
    model = fitted(X, strain, stress)
    new, path = cells(1, seed=9)
    tau, lam = model.hyperparameters_
    n_features = BANK.n_features
    of_one = tau**2 / n_features * np.diag([1.0, *4 * [lam**2]])
    D = np.kron(BANK.mixing @ BANK.mixing, of_one)
    steps = _learnt_steps(100)
    features = BANK.features(X, strain)
    Psi = _design(features.points[:, steps], BANK.factors(X))
    new_features = BANK.features(new, path)
    new_Psi = _design(new_features.points, BANK.factors(new))
    # Covariance of δ + ε: σ_s σ_t exp(-|l_s - l_t| / L) of a component of a path
    sigma = SCATTER.std(X, features.plastic_strain, features.utilisation)
    sigma = (sigma * np.sqrt(1.0 + model_error(X, features) ** 2))[:, steps]
    lengths = travelled(strain)[:, steps]
    n, T, _ = sigma.shape
    noise = np.zeros((n, T, 3, n, T, 3))
    for i in range(n):
        C = np.exp(-abs(lengths[i][:, None] - lengths[i]) / SCATTER.length)
        for j in range(3):
            noise[i, :, j, i, :, j] = np.outer(sigma[i, :, j], sigma[i, :, j]) * C
    K = Psi @ D @ Psi.T + noise.reshape(3 * n * T, -1)
    gain = np.linalg.solve(K, Psi @ D @ new_Psi.T).T
    residual = (stress - features.mean_fields)[:, steps].reshape(-1)
    expected = new_features.mean_fields.reshape(-1) + gain @ residual
    prior = np.einsum("ij,jk,ik->i", new_Psi, D, new_Psi)
    variance = prior - np.einsum("ij,ji->i", gain, Psi @ D @ new_Psi.T)
    of_error = SCATTER.std(new, new_features.plastic_strain, new_features.utilisation)
    of_error *= model_error(new, new_features)
    mean, std = model.predict(new, path, return_std=True)
    np.testing.assert_allclose(mean.reshape(-1), expected, rtol=1e-6, atol=1e-4)
    total = variance + np.square(of_error).reshape(-1)
    np.testing.assert_allclose(np.square(std).reshape(-1), total, rtol=1e-5)


def test_paths_may_have_unequal_lengths():
    """A list of paths of one length equals their array; each path is predicted as if alone."""
    X, strain = cells(6)
    stress = draw(X, strain, 3)
    alike = fitted(X, strain, stress, 2)
    listed = fitted(X, list(strain), list(stress), 2)
    np.testing.assert_array_equal(listed.members_, alike.members_)
    ends = (100, 40, 100, 73, 40, 100)
    paths = [path[:end] for path, end in zip(strain, ends, strict=True)]
    model = fitted(
        X, paths, [path_stress[:end] for path_stress, end in zip(stress, ends, strict=True)], 2
    )
    mean, std = model.predict(X, paths, return_std=True)
    members = model.predict_members(X, paths)
    for i, path in enumerate(paths):
        own_mean, own_std = model.predict(X[[i]], path[None], return_std=True)
        np.testing.assert_allclose(mean[i], own_mean[0], rtol=1e-9)
        np.testing.assert_allclose(std[i], own_std[0], rtol=1e-9)
        of_path = model.predict_members(X[[i]], path[None])
        np.testing.assert_allclose(members[i], of_path[:, 0], rtol=1e-9)


def test_a_file_holds_a_model_but_for_the_function_of_mean_fields(tmp_path):
    X, strain = cells(4)
    stress = draw(X, strain, 3)
    model = fitted(X, strain, stress, 3)
    file = tmp_path / "paths.npz"
    model.n_members = 100  # of the next fit
    model.save(file)
    again = StrainPathEnsemble.load(file, BANK.concentration)
    for method in ("predict", "predict_members"):
        loaded, expected = (getattr(m, method)(X, strain) for m in (again, model))
        np.testing.assert_array_equal(loaded, expected)
    with pytest.raises(ValueError, match="must be the function of the saved model"):
        StrainPathEnsemble.load(file, partial(MEAN_FIELDS, softening=0.2))
    with pytest.raises(ValueError, match="a function, which files do not contain"):
        bnn.load(file).predict(X, strain)


def test_a_strain_beyond_those_of_training_is_warned_of():
    X, strain = cells(4)
    strain *= 0.02 / abs(strain).max()
    stress = draw(X, strain, 3)
    model = fitted(X, strain, stress)
    model.predict(X, 1.49 * strain)
    with pytest.warns(UserWarning, match=r"0\.0302 is more than 1\.5 times .* of training, 0\.02"):
        model.predict(X, 1.51 * strain)


def test_the_scatter_of_replicates_is_found():
    """Its dependence on the volume fraction, from cells whose scatter is known."""
    X, strain = cells(20)
    rng = np.random.default_rng(5)
    features = BANK.features(X, strain)
    state = features.plastic_strain, features.utilisation
    sigma = SCATTER.std(X, *state)
    noise = np.stack([correlated(strain, rng) for _ in range(6)], axis=1)
    scatter = fit_scatter(BANK, X, strain, 100.0 + sigma[:, None] * noise)
    assert np.median(abs(np.log(scatter.std(X, *state) / sigma))) < 0.2
    assert scatter.coefficients[:, 1] == pytest.approx(3.0, abs=0.6)


def test_a_path_that_begins_with_rest_teaches_as_much_as_without():
    X, strain = cells(4)
    strain = strain[:, 3::4]  # of 25 and of 26 steps all are learnt from
    stress = draw(X, strain, 3)
    waits = np.zeros((4, 1, 3))
    longer = np.hstack([waits, strain]), np.hstack([waits, stress])
    models = fitted(X, strain, stress), fitted(X, *longer)
    one, other = (model.predict(X, strain, return_std=True) for model in models)
    np.testing.assert_allclose(other[0], one[0], atol=1e-4 * one[1].max())
    np.testing.assert_allclose(other[1], one[1], rtol=1e-4)


def test_paths_of_another_matrix_than_that_of_the_basis_are_warned_of():
    """Yield stresses of 250 instead of 400 MPa."""
    X, strain = cells(6)
    softer = replace(BANK, phases=PhaseProperties(sigma_y0_MPa=250.0))
    with pytest.warns(UserWarning, match="phases and the hardening law of the basis"):
        fitted(X, strain, softer.features(X, strain).mean_fields)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(X, strain, BANK.features(X, strain).mean_fields)


@pytest.mark.parametrize("unit", [1e3, 1e6, 1e9])
def test_stresses_in_another_unit_are_warned_of(unit):
    """Such as kPa, Pa or mPa instead of MPa: the basis explains none of them."""
    model, X, strain, stress = small_of_paths()
    with pytest.warns(UserWarning, match="were the paths simulated with the phases"):
        model.fit(X, strain, unit * stress)
    assert np.isfinite(model.predict(X, strain, return_std=True)).all()


def test_what_a_model_of_paths_cannot_use_is_refused():
    X, strain = cells(4)
    strain *= 0.02 / abs(strain).max()
    stress = draw(X, strain, 3)
    model = StrainPathEnsemble(BANK, SCATTER, n_members=1, random_state=0)
    for call in (lambda: model.predict(X, strain), lambda: model.rve_weights(X)):
        with pytest.raises(NotFittedError, match="call fit first"):
            call()
    model.fit(X, strain, stress)
    flat = X * [0.0, 1.0, 1.0, 1.0]
    for call, message in (
        (lambda: model.predict(X, 26.0 * strain), r"at most 0\.5, .* Divide by 100 if"),
        (lambda: model.predict(X, [*strain[:3], 1e4 * strain[3, :5]]), r"strain\[3, "),
        (lambda: model.predict(X, list(strain[:3])), "strain has 3 paths: must be .4, T, 3"),
        (lambda: model.predict(X, [*strain[:3], strain[3, 0]]), r"strain\[3\] has shape \(3,\)"),
        (lambda: model.rve_weights(flat + 1.5 * np.eye(4)[0]), r"vf = 1\.5: must be in"),
        (lambda: model.fit(X, strain, stress[:, 1:]), r"stress\[0\] has shape \(99, 3\)"),
        (lambda: model.fit(flat, strain, stress), "vf must be positive"),
        (lambda: model.fit(X[:0], strain[:0], stress[:0]), r"\(0, 4\): must have at least one row"),
        (lambda: model.predict(X[:0], []), r"X has shape \(0, 4\): must have at least one row"),
        (lambda: fit_scatter(BANK, X, strain, stress[:, None]), "R >= 2"),
        (
            lambda: fit_scatter(BANK, X, 0.0 * strain, np.stack([stress] * 2, 1)),
            "must have a path with loading",
        ),
        (lambda: PathScatter(np.eye(3)), "coefficients"),
        (lambda: SCATTER.std(X, strain, strain), "plastic_strain has shape"),
        (lambda: SCATTER.std(X, strain[..., 0], strain[:, 1:, 0]), "utilisation has shape"),
        (lambda: StrainPathEnsemble(BANK, SCATTER, model_error=-1.0), "model_error"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
