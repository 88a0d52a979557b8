"""Which models can be exported: checks of the arguments that all exports share."""

from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.gp.regressor import GPRegressor


def check_estimator(model: object) -> None:
    """Raise TypeError unless model is a GPRegressor or an ensemble."""
    if not isinstance(model, GPRegressor | EnsembleRegressor):
        what = f"model is an instance of {type(model).__name__}"
        raise TypeError(f"{what}: must be a GPRegressor or an ensemble")


def check_no_members(members: object) -> None:
    """Raise ValueError unless members is None, because a GPRegressor has no members."""
    if members is not None:
        needed = "must be None, a GPRegressor has no members"
        raise ValueError(f"members = {members!r:.60}: {needed}")
