"""Estimators that train in a moment."""

import numpy as np

from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble

BRIEF = {
    "n_members": 3,
    "network__hidden": (4,),
    "pretraining__n_networks": 4,
    "pretraining__n_points": 8,
    "pretraining__training__epochs": 2,
    "training__epochs": 2,
    "anchoring__n_points": 5,
    "anchoring__tol": 1e9,
    "random_state": 0,
}


def small(kind, *prior, noise=0.1, **changes):
    """Return an estimator with changes, else of three networks of four units and two epochs."""
    model = kind(*prior, noise=noise)
    names = model.get_params()
    for name, value in BRIEF.items():
        if name in names and name.partition("__")[0] not in changes:
            model.set_params(**{name: value})
    return model.set_params(**changes)


def small_of_paths():
    """Return an ensemble for strain paths, and inputs, strains and stresses to fit it to."""
    bounds = np.array([[0.0, 200.0, 300.0, 0.2], [0.4, 600.0, 500.0, 0.6]])
    basis = MaterialPointBasis(lambda X: np.tile(np.eye(3), (len(X), 2, 1, 1)), bounds, n_points=3)
    rng = np.random.default_rng(0)
    inputs = rng.uniform(bounds[0] + 0.1, bounds[1], (4, 4))
    strain = np.cumsum(rng.normal(0.0, 0.001, (4, 30, 3)), axis=1)
    stress = basis.features(inputs, strain).mean_fields + 1.0
    scatter = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))
    model = StrainPathEnsemble(basis, scatter, n_members=5, random_state=0)
    return model, inputs, strain, stress
