"""Estimators that train in a moment."""

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
