"""Base of functional priors, which are distributions of functions that can be sampled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from bnn._seeding import RandomState
from bnn._validation import Array, as_points, check_count
from bnn.storage import storable
from safe_files.text import Short


@runtime_checkable
class FunctionalPrior(Protocol):
    """Any object that draws realisations g^[k] of a function."""

    def sample(self, X: Array, n_samples: int, random_state: RandomState = None) -> Array:
        """Return n_samples realisations at X (n, n_in), as an array (n_samples, n, n_out)."""
        ...


class FunctionPrior(Short, ABC):
    """Base class of functional priors, including custom ones: a distribution of functions.

    A subclass implements `_draw(X, n_samples, random_state)`, which `sample` calls after it has
    checked X and n_samples. It returns realisations g^[k](X), (n_samples, n, n_out), at points X
    (n, n_in), both in the units of the data. Use `np.random.default_rng(random_state)`, because
    ensembles pass a SeedSequence.

    Ensembles evaluate the same realisations again at other points, with the same n_samples and
    random state. So draw the random parameters of a function first, in a way that does not depend
    on X. Otherwise the values at other points belong to other functions, and training needs more
    iterations.

    Ensembles, `pretrain` and `check_prior` accept such a prior. A `GPRegressor` does not, because
    it needs the mean and covariance of a Gaussian process.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> class Waves(bnn.FunctionPrior):  # cos(ω x + φ) with uncertain ω and φ
        ...     def _draw(self, X, n_samples, random_state):
        ...         rng = np.random.default_rng(random_state)
        ...         frequency = rng.uniform(1.0, 3.0, (n_samples, 1))
        ...         phase = rng.uniform(0.0, 2.0 * np.pi, (n_samples, 1))
        ...         return np.cos(frequency * X[:, 0] + phase)[:, :, None]
        >>> Waves().sample(np.zeros((5, 1)), n_samples=3, random_state=0).shape
        (3, 5, 1)
    """

    def __init_subclass__(cls) -> None:
        """Allow priors of a subclass to be stored in files, if its fields can be stored."""
        super().__init_subclass__()
        storable(cls)

    def sample(self, X: Array, n_samples: int, random_state: RandomState = None) -> Array:
        """Draw realisations.

        Args:
            X: Points, (n, n_in).
            n_samples: Number of realisations.
            random_state: Seed.

        Returns:
            Realisations, (n_samples, n, n_out).
        """
        check_count("n_samples", n_samples, 1)
        return self._draw(as_points("X", X), n_samples, random_state)

    @abstractmethod
    def _draw(self, X: Array, n_samples: int, random_state: RandomState) -> Array:
        """Draw realisations at checked points X (n, n_in), (n_samples, n, n_out)."""
