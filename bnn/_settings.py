"""Base of the groups of settings that estimators have, which scikit-learn reaches by name."""

import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

from bnn._text import Short


class Settings(Short, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Base of dataclasses of settings, which are nested parameters of the estimators.

    An entry of a group is reached by the name of the group, as in
    `set_params(training__epochs=100)`, also by `GridSearchCV`. Values are checked when a group is
    made and when `set_params` changes it.
    """

    def __post_init__(self) -> None:
        """Raise ValueError unless each field is admissible."""

    def set_params(self, **params: Any) -> Self:
        """Change settings. If a value is not admissible, none is changed.

        Args:
            params: Values by name; `group__name` is an entry of a group within this one.

        Returns:
            self.

        Raises:
            ValueError: If there is no such setting, or a value is not admissible.
        """
        before = copy.deepcopy(vars(self))
        try:
            super().set_params(**params)
            self.__post_init__()
        except ValueError:
            for name, value in before.items():
                setattr(self, name, value)
            raise
        return self

    def __sklearn_clone__(self) -> Self:
        """Return a copy for an estimator of its own."""
        return copy.deepcopy(self)
