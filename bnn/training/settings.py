"""Settings of the training loop."""

from dataclasses import dataclass
from typing import Literal

from bnn._settings import Settings
from bnn._validation import (
    check_count,
    check_flags,
    check_fraction,
    check_integer,
    check_option,
    check_positive,
)
from bnn.storage import storable


@storable
@dataclass(repr=False)
class Convergence(Settings):
    """When the training of a member ends early; tested every `window` epochs.

    Attributes:
        residual_variance: End when the mean loss of a window is at most this fraction of the
            variance of the targets.
        improvement: End when the mean loss fell by at most this fraction since the last window.
        window: Number of epochs between tests.

    Examples:
        >>> import bnn
        >>> bnn.TrainingSettings(epochs=3000, convergence=bnn.Convergence(window=20)).convergence
        Convergence(residual_variance=0.001, improvement=0.01, window=20)
    """

    residual_variance: float = 1e-3
    improvement: float = 0.01
    window: int = 50

    def __post_init__(self) -> None:
        check_fraction(residual_variance=self.residual_variance, improvement=self.improvement)
        check_count("window", self.window, 1)


@storable
@dataclass(repr=False)
class TrainingSettings(Settings):
    """Settings of Adam and of the training loop.

    Attributes:
        epochs: Largest number of epochs.
        batch_size: Number of points per step; None takes all.
        learning_rate: Learning rate of Adam.
        beta1: Decay rate of the first moment.
        beta2: Decay rate of the second moment.
        epsilon: Added to the root of the second moment.
        bias_correction: Whether Adam corrects the bias of its moments. "first" corrects it only for
            the first member, as one optimiser does that trains all members in turn, and a tuple
            only for the members of these indices, as one optimiser in each worker process does.
        batch_sums: Whether the loss of a step is the sum over its b points plus the whole penalty,
            as in the runs of the paper, instead of N/b times this sum plus the penalty.
        convergence: When to end the training of members early; None trains for all epochs.
        members_at_once: Number of members trained together; None takes as many as fit the cache of
            a CPU, or all on a GPU.
        progress: Whether to show a progress bar; None shows one on a terminal after two
            seconds, and lines elsewhere after thirty.

    Examples:
        >>> import bnn
        >>> bnn.TrainingSettings(epochs=300, batch_size=None).epochs
        300
        >>> bnn.TrainingSettings(learning_rate=-1.0)
        Traceback (most recent call last):
            ...
        ValueError: learning_rate = -1.0: must be > 0, and at most 1e+100
    """

    epochs: int = 1000
    batch_size: int | None = 32
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7
    bias_correction: bool | Literal["first"] | tuple[int, ...] = True
    batch_sums: bool = False
    convergence: Convergence | None = None
    members_at_once: int | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "members_at_once"):
            if getattr(self, name) is not None or name == "epochs":
                check_count(name, getattr(self, name), 1)
        check_positive(learning_rate=self.learning_rate, epsilon=self.epsilon)
        check_fraction(beta1=self.beta1, beta2=self.beta2)
        if not isinstance(self.convergence, Convergence | None):
            raise ValueError(
                f"convergence = {self.convergence!r:.60}: must be a Convergence or None"
            )
        if isinstance(self.bias_correction, tuple):
            _check_members(self.bias_correction)
        else:
            check_option("bias_correction", self.bias_correction, (True, False, "first"))
        check_flags(batch_sums=self.batch_sums)
        if self.progress is not None:
            check_flags(progress=self.progress)

    @property
    def corrected_members(self) -> tuple[int, ...]:
        """Members with bias correction, if only some have it."""
        if self.bias_correction == "first":
            return (0,)
        return self.bias_correction if isinstance(self.bias_correction, tuple) else ()


def _check_members(members: tuple[int, ...]) -> None:
    """Raise ValueError unless members are different integers >= 0, and at least one."""
    if not members or len(set(members)) < len(members):
        raise ValueError(f"bias_correction = {members}: must be at least one index, each once")
    for member in members:
        check_integer("bias_correction", member, 0)
