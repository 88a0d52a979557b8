"""Ensemble anchored by its weights, Algorithms 2 and 3, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from bnn._validation import check_option
from bnn.ensembles.anchoring import anchor, check_anchoring
from bnn.ensembles.pretrained import PretrainedEnsemble
from bnn.noise import RESAMPLINGS
from bnn.storage import storable


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class AnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior, whose members are anchored by their weights.

    Each member is held near its pre-trained weights by a prior over the weights, which is learnt
    from all pre-trained networks; see `bnn.pretrain` and `bnn.anchor`.

    Args:
        prior: Functional prior p(g), see bnn.function_priors; None is a zero-mean Gaussian process
            with an RBF kernel of variance 1 and length scale 1. A bnn.Pretrained is taken as it
            is, and the hyper-parameters of pre-training are not used.
        n_members: Networks trained to data, K.
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        init: Initial weights, "glorot" or "he".
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step; None takes all.
        learning_rate: Of Adam.
        bias_correction: Whether Adam corrects the bias of its moments; False as in the published
            Table 1.
        members_at_once: Members trained together; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
        n_pretrained: Networks pre-trained, from which the weight prior is learnt; the first
            n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs of pre-training, at most.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
        regulariser: "low_rank", "probabilistic_pca", "factorised", "generalised_normal",
            "isotropic" or "none".
        anchors: "pretrained" (ω0^[k] themselves) or "sampled" (drawn from the weight prior).
        optimiser: "adam" for `epochs`, as published, or "gauss_newton", which goes to the optimum;
            the latter needs a proper Gaussian: "probabilistic_pca", "factorised" or "isotropic".
        resampling: How each member gets its own version of the data: "bootstrap" (rows with
            replacement), "likelihood" (noise is added to y) or "none".
        epochs: Training epochs.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.

    Source: Algorithms 2 and 3 of the paper.
    """

    regulariser: str = "low_rank"
    anchors: str = "pretrained"
    optimiser: str = "adam"
    resampling: str = "bootstrap"
    epochs: int = 600

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("resampling", self.resampling, RESAMPLINGS)
        check_anchoring(self.regulariser, self.anchors, self.optimiser, self._most_members)
        self._settings(self.epochs)

    def fit(self, X: ArrayLike, y: ArrayLike) -> AnchoredEnsemble:
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
            DivergenceError: If fewer than two members stayed finite.

        Warns:
            ConvergenceWarning: If Gauss-Newton did not bring all members to their optimum.
        """
        X, y = self._check_data(X, y)
        self.members_ = anchor(
            self._pretrained_for(X, y),
            X,
            y,
            noise=self.noise,
            n_members=self.n_members,
            regulariser=self.regulariser,
            anchors=self.anchors,
            optimiser=self.optimiser,
            resampling=self.resampling,
            settings=self._settings(self.epochs),
            device=self.device,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self
