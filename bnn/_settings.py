"""Base of groups of settings, which scikit-learn treats as nested parameters of estimators."""

import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

from safe_files.text import Short


class Settings(Short, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Base of dataclasses of settings, which are nested parameters of the estimators.

    Address an entry by the name of its group, as in `estimator.set_params(training__epochs=100)`;
    `GridSearchCV` accepts such names too. Values are checked when a group is created and when
    `set_params` changes it.
    """

    def __post_init__(self) -> None:
        """Raise ValueError if a field is invalid."""

    def set_params(self, **params: Any) -> Self:
        """Change settings. If any value is invalid, no setting changes.

        Args:
            params: Values by name; `group__name` is an entry of a nested group.

        Returns:
            self.

        Raises:
            ValueError: If there is no such setting, or a value is invalid.
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
        """Return a deep copy, so that a cloned estimator shares no settings."""
        return copy.deepcopy(self)
