"""Inputs have the names and the order that the basis gives them."""

import re

import numpy as np
import pandas as pd
import pytest

import bnn
from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble, fit_scatter
from bnn.paths.ensemble import _design
from bnn.paths.phases import INPUTS
from tests.bnn.paths.test_basis import BOUNDS, MEAN_FIELDS, cells
from tests.bnn.small import small_of_paths

COEFFICIENTS = np.tile([8.0, 3.0, 0.0, 0.3], (3, 1))


def ensemble(names, order):
    """An ensemble whose inputs have another order; the mean-field model takes that of the paper."""
    back = np.argsort(order)[:4]
    low_high = np.column_stack([BOUNDS, [[-1.0], [1.0]]])[:, order]
    basis = MaterialPointBasis(
        lambda X: MEAN_FIELDS(X[:, back]), low_high, n_points=4, inputs=names
    )
    return StrainPathEnsemble(
        basis, PathScatter(COEFFICIENTS, inputs=names), n_members=2, random_state=0
    )


def test_the_order_of_the_inputs_does_not_count(tmp_path):
    """Also for a saved model, and for the constants of an exported RVE."""
    X, strain = cells(5)
    X = np.column_stack([X, np.linspace(-1.0, 1.0, 5)])
    names = np.array([*INPUTS, "cov_radius"])
    features = []
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        model = ensemble(tuple(names[order].tolist()), order)
        stress = 1.1 * model.basis.features(X[:, order], strain).mean_fields
        model.fit(X[:, order], strain, stress)
        model.save(tmp_path / "model.npz")
        model = StrainPathEnsemble.load(tmp_path / "model.npz", model.basis.concentration)
        bnn.export.path_to_c(model, tmp_path / "rve.c", X[0, order])
        code = (tmp_path / "rve.c").read_text()
        assert all(f"{name} = {value:g}" in code for name, value in zip(names, X[0], strict=True))
        features.append([*model.predict(X[:, order], strain, return_std=True), _numbers(code)])
    for first, second in zip(*features, strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-4, atol=1e-4 * np.abs(first).max())


def _numbers(code):
    """Shear modulus, exponent and weights of the posterior mean in a C file."""
    exponent = re.search(r"EXPONENT[^\d]*([\d.e+-]+)", code)[1]
    return np.array([float(exponent)])


def test_a_further_input_acts_on_the_stress():
    """Only it changes the weights of the points: between RVEs that are equal otherwise."""
    names = (*INPUTS, "cov_radius")
    model = ensemble(names, [0, 1, 2, 3, 4])
    basis = model.basis
    theta = np.zeros((basis.n_features, 6))
    theta[: basis.n_points, 5] = [1.0, -1.0, 0.5, 2.0]

    def stress(X, strain):
        features = basis.features(X, strain)
        corrections = _design(features.points, basis.factors(X)) @ theta.reshape(-1)
        return features.mean_fields + corrections.reshape(strain.shape)

    X, strain = cells(12)
    X = np.column_stack([X, np.tile([-1.0, 1.0], 6)])
    model.fit(X, strain, stress(X, strain))
    new, path = cells(1, seed=5)
    new = np.column_stack([np.tile(new, (2, 1)), [-1.0, 1.0]])
    path = np.tile(path, (2, 1, 1))
    exact = stress(new, path)
    mean, std = model.predict(new, path, return_std=True)
    assert np.abs(exact[1] - exact[0]).max() > 3.0 * std.max()
    assert np.all(np.abs(mean - exact) < 4.0 * std)


def test_a_fitted_scatter_has_the_inputs_of_its_basis():
    names = ("E_f_GPa", "vf", "b_m_MPa", "c_m")
    order = [1, 0, 2, 3]
    basis = MaterialPointBasis(
        lambda X: MEAN_FIELDS(X[:, order]), BOUNDS[:, order], n_points=2, inputs=names
    )
    plain = MaterialPointBasis(MEAN_FIELDS, BOUNDS, n_points=2)
    X, strain = cells(4)
    stress = np.random.default_rng(0).normal(0.0, 2.0, (4, 5, *strain.shape[1:]))
    scatter = fit_scatter(basis, X[:, order], strain, stress)
    assert scatter.inputs == names
    np.testing.assert_allclose(
        scatter.coefficients, fit_scatter(plain, X, strain, stress).coefficients
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("vf", "E_f_GPa", "b_m_MPa"), r"inputs = .*: must contain 'c_m'"),
        ((*INPUTS, "vf"), "inputs = .*: must have each name only once"),
        ((*INPUTS, "*/"), "inputs = .*: must be names of letters, digits and _"),
        ("vf", "inputs = 'vf': must be names of letters, digits and _"),
        ((*INPUTS, "cov_radius"), r"bounds have shape \(2, 4\): must be \(2, 5\), vf, .*radius"),
    ],
)
def test_wrong_names_are_rejected(names, message):
    with pytest.raises(ValueError, match=message):
        MaterialPointBasis(MEAN_FIELDS, BOUNDS, inputs=names)


def test_scatter_and_basis_must_have_the_same_inputs():
    names = ("E_f_GPa", "vf", "b_m_MPa", "c_m")
    basis = MaterialPointBasis(MEAN_FIELDS, BOUNDS)
    with pytest.raises(ValueError, match=r"scatter\.inputs = .*: must be those of the basis"):
        StrainPathEnsemble(basis, PathScatter(COEFFICIENTS, inputs=names))


def test_columns_in_another_order_are_rejected(tmp_path):
    """Of a data frame or a series. Labels that name no input may be anywhere."""
    model, X, strain, stress = small_of_paths()
    frame = pd.DataFrame(X, columns=INPUTS)
    units = frame.rename(columns={"E_f_GPa": "E_f [GPa]"})
    model.fit(frame, strain, stress)
    np.testing.assert_array_equal(model.predict(units, strain), model.predict(X, strain))
    bnn.export.path_to_c(model, tmp_path / "rve.c", frame.iloc[0])
    other = frame[[*INPUTS[:2], "c_m", "b_m_MPa"]]
    replicates = np.stack([stress, 1.1 * stress], axis=1)
    for call in (
        lambda: model.fit(other, strain, stress),
        lambda: model.predict(other, strain),
        lambda: model.predict_members(other, strain),
        lambda: model.rve_weights(other),
        lambda: model.basis.features(other, strain),
        lambda: fit_scatter(model.basis, other, strain, replicates),
        lambda: bnn.export.path_to_c(model, tmp_path / "rve.c", other.iloc[0]),
    ):
        with pytest.raises(ValueError, match=r"X has c_m at place 2: the order must be vf, E_f"):
            call()
