"""Settings of the training loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnn._validation import check_integer


@dataclass(frozen=True)
class Convergence:
    """When a member counts as trained, looked at every `window` epochs.

    Attributes:
        unexplained: Done when the loss is below this fraction of the variance of its targets.
        improvement: Done when the mean loss of a window fell by less than this fraction.
        window: Epochs a window.
    """

    unexplained: float = 1e-3
    improvement: float = 0.01
    window: int = 50

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is out of range.
        """
        for name in ("unexplained", "improvement"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} = {getattr(self, name)}: must be in [0, 1)")
        check_integer("window", self.window, 1)


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of Adam and of the loop around it.

    Attributes:
        epochs: Budget.
        batch_size: Points a step; None takes all.
        learning_rate: Adam's step.
        beta1: Decay of the first moment.
        beta2: Decay of the second moment.
        epsilon: Added to the root of the second moment.
        bias_correction: Adam as published; False leaves the moments biased towards zero.
        convergence: Ends members early; None runs the whole budget.
        chunk_size: Members trained together; None chooses what fits the cache.
    """

    epochs: int = 1000
    batch_size: int | None = 32
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7
    bias_correction: bool = True
    convergence: Convergence | None = None
    chunk_size: int | None = None

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is out of range.
        """
        for name in ("epochs", "batch_size", "chunk_size"):
            if getattr(self, name) is not None or name == "epochs":
                check_integer(name, getattr(self, name), 1)
        for name in ("learning_rate", "epsilon"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be > 0")
        for name in ("beta1", "beta2"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be in [0, 1)")


@dataclass(frozen=True)
class FunctionAnchoring:
    """How an ensemble is anchored in function space, see AnchoredEnsemble.

    Attributes:
        points: Measurement points beside the training inputs: a number of them, in a Latin
            hypercube of the input bounds; where pretrain was given points, or the prior is a
            table, at most so many of these.
        nugget: Standard deviation δ of what a network may miss everywhere, in the networks' units;
            less than a third of the prior's.
        closeness: A member ends when its mean squared distance to the posterior realisation is
            below this fraction of the posterior variance, direction by direction.
        iterations: Budget of Gauss-Newton iterations a member.
        realisations: Drawn for the covariance of a prior without a kernel.
        centred: Whether a Gaussian process's realisations and the perturbations of the data are
            shifted to have, over the members, their exact means. The mean of the ensemble then has
            no sampling error; the covariance (with K-1) stays unbiased.
    """

    points: int = 200
    nugget: float = 0.01
    closeness: float = 0.1
    iterations: int = 100
    realisations: int = 1000
    centred: bool = True

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is out of range.
        """
        for name, least in (("points", 1), ("iterations", 1), ("realisations", 2)):
            check_integer(name, getattr(self, name), least)
        for name in ("nugget", "closeness"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be > 0")
