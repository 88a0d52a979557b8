"""Ensemble anchored in function space, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from bnn.ensembles.function_anchoring import FunctionAnchoring, anchor_functions
from bnn.ensembles.pretrained import PretrainedEnsemble
from bnn.storage import storable


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class FunctionAnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior, whose members are anchored in function space.

    Each member is held near its own prior realisation and follows that realisation conditioned on
    perturbed data. For a Gaussian process and networks wide enough the members are draws from the
    exact posterior; see `bnn.pretrain` and `bnn.anchor_functions`.

    Args:
        prior: Functional prior p(g), see bnn.function_priors; None is a zero-mean Gaussian process
            with an RBF kernel of variance 1 and length scale 1. A bnn.Pretrained is taken as it
            is, and the hyper-parameters of pre-training are not used.
        n_members: Networks trained to data, K.
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS; smooth
            networks follow the prior's realisations best.
        init: Initial weights, "glorot" or "he".
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step of pre-training; None takes all.
        learning_rate: Of Adam in pre-training.
        bias_correction: Whether Adam corrects the bias of its moments.
        members_at_once: Members pre-trained together; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
        n_pretrained: Networks pre-trained; the first n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs of pre-training, at most.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
        points: Measurement points beside the training inputs: a number of them, in a Latin
            hypercube of the input bounds; where pre-training was given points, or the prior is a
            table, at most so many of these.
        nugget: Standard deviation of what a network may miss everywhere, in the networks' units;
            less than a third of the prior's.
        tolerance: A member ends when its mean squared distance to the posterior realisation is
            below this fraction of the posterior variance, direction by direction.
        iterations: Largest number of Gauss-Newton iterations per member.
        realisations: Drawn for the covariance of a prior without a kernel.
        centred: Whether a Gaussian process's realisations and the perturbations of the data are
            shifted to have, over the members, their exact means.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.
    """

    hidden: Sequence[int] = (50, 50, 50)
    activation: str = "silu"
    n_pretrained: int = 30
    pretrain_epochs: int = 500
    points: int = FunctionAnchoring.points
    nugget: float = FunctionAnchoring.nugget
    tolerance: float = FunctionAnchoring.tolerance
    iterations: int = FunctionAnchoring.iterations
    realisations: int = FunctionAnchoring.realisations
    centred: bool = FunctionAnchoring.centred

    def _anchoring(self) -> FunctionAnchoring:
        names = FunctionAnchoring.__dataclass_fields__
        return FunctionAnchoring(**{name: getattr(self, name) for name in names})

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._anchoring()

    def fit(self, X: ArrayLike, y: ArrayLike) -> FunctionAnchoredEnsemble:
        """Train the members to data, after pre-training where that is missing.

        Hyper-parameters that shape the pre-training, changed since, make it run again.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out).

        Returns:
            self.

        Raises:
            ValueError: If the data or a hyper-parameter is not admissible, or the data do not have
                the inputs and outputs of the prior.
            DivergenceError: If fewer than two pre-trained networks stayed finite.

        Warns:
            ConvergenceWarning: If some members did not arrive within the budget.
        """
        X, y = self._check_data(X, y)
        self.members_ = anchor_functions(
            self._pretrained_for(X, y),
            X,
            y,
            noise=self.noise,
            n_members=self.n_members,
            settings=self._anchoring(),
            device=self.device,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self
