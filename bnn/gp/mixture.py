"""Mixtures of Gaussian process priors, for example with several settings of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from bnn._seeding import RandomState, generator, seed_sequence, spawn
from bnn._validation import Array, Ints, as_finite, is_row, own_copy
from bnn.gp.conditioning import JointColumns, ProcessPosterior, resolved
from bnn.gp.coupling import ENOUGH_DRAWS, combinations_of
from bnn.gp.hyperparameters import most_components
from bnn.gp.process import GaussianProcessPrior
from bnn.noise.covariances import is_diagonal
from bnn.priors.function_prior import FunctionPrior
from bnn.storage.values import same
from safe_files.help_page import see
from safe_files.progress import counted
from safe_files.text import Short

TINY = 1e-300  # replaces a weight of zero in logarithms and divisions
# If correlated noise couples the outputs, at most COMBINATIONS of their components are mixed, or as
# many as fit in memory, but at least FEWEST_COMBINATIONS.
COMBINATIONS = 64
FEWEST_COMBINATIONS = 16


@dataclass(frozen=True, repr=False)
class MixturePrior(FunctionPrior):
    """A mixture of Gaussian processes: each output is drawn from one of several components.

    The components of the outputs are drawn independently of each other.

    Attributes:
        components: S priors that differ only in their kernels, and in means if these are nonlinear
            functions.
        weights: Probabilities of the components, (S,), or (S, n_out) for each output separately.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> components = [bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, L)) for L in (0.3, 1.0)]
        >>> prior = bnn.MixturePrior(components, weights=[0.5, 0.5])
        >>> prior.sample(np.zeros((3, 1)), n_samples=4, random_state=0).shape
        (4, 3, 1)
    """

    components: Sequence[GaussianProcessPrior]
    weights: ArrayLike

    def __post_init__(self) -> None:
        if not (
            is_row(self.components)
            and len(self.components)
            and all(isinstance(component, GaussianProcessPrior) for component in self.components)
        ):
            raise ValueError("components: must be a sequence of GaussianProcessPriors")
        weights = as_finite("weights", self.weights)
        object.__setattr__(self, "components", own_copy(self.components))
        object.__setattr__(self, "weights", own_copy(self.weights))
        S = len(self.components)
        n_out = self.components[0].n_outputs
        if weights.shape not in {(S,), (S, n_out)}:
            shape = weights.shape
            raise ValueError(f"weights have shape {shape}: must be ({S},) or ({S}, {n_out})")
        if (weights < 0.0).any():
            raise ValueError(f"weights = {weights.min()}: must be >= 0 and sum to 1")
        total = np.sum(weights, axis=0)
        if not np.allclose(total, 1.0):
            raise ValueError(f"weights sum to {total}: must be >= 0 and sum to 1")
        for component in self.components:
            component.check_set()
        for name in ("mean", "n_outputs", "active_dims", "bounds"):
            values = [getattr(component, name) for component in self.components]
            free = name == "mean" and all(map(_is_curved, values))
            if not free and not all(same(value, values[0]) for value in values):
                raise ValueError(f"components: must not differ in {name}")

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.components[0].n_outputs

    @property
    def shares(self) -> Array:
        """The weights for each output, (S, n_out)."""
        weights = np.asarray(self.weights, dtype=float).reshape(len(self.components), -1)
        return np.broadcast_to(weights, (len(weights), self.n_outputs))

    def _draw(self, X: Array, n_samples: int, random_state: RandomState) -> Array:
        """Draw realisations, with a separate draw of the component for each output."""
        seeds = seed_sequence(random_state)
        numbers = allocate_components(self.shares, n_samples, spawn(seeds, 0))
        return assembled(
            numbers, lambda s: self.components[s].sample(X, n_samples, spawn(seeds, 1))
        )


def combination(mixture: MixturePrior, numbers: Ints) -> GaussianProcessPrior:
    """Return the prior whose output j comes from component numbers[j]."""
    chosen = [mixture.components[s] for s in numbers]
    kernels = [component.kernels[j] for j, component in enumerate(chosen)]
    first = chosen[0].mean
    same_mean = all(component.mean is first for component in chosen)
    mean: Any = first if same_mean or not _is_curved(first) else _MeanByOutput(chosen)
    prior: GaussianProcessPrior = replace(chosen[0], kernel=kernels, mean=mean)
    return prior


def _is_curved(mean: object) -> bool:
    """Return whether a mean is a function that is not linear."""
    return callable(mean) and not hasattr(mean, "linear")


@dataclass(frozen=True, repr=False)
class _MeanByOutput(Short):
    """The mean whose output j comes from priors[j]."""

    priors: Sequence[GaussianProcessPrior]

    def __call__(self, X: Array) -> Array:
        """Return the mean at X (n, n_in), (n, n_out)."""
        return np.column_stack([p.mean_values(X)[:, j] for j, p in enumerate(self.priors)])

    def gradient(self, X: Array) -> Array:
        """Return the gradient of the mean at X (n, n_in), (n, n_out, n_in)."""
        slopes = [prior.mean_slopes(X)[:, j] for j, prior in enumerate(self.priors)]
        return np.stack(slopes, axis=1)


def allocate_components(shares: Array, n: int, random_state: RandomState) -> Ints:
    """Return a component for each of n draws of each output, (n, n_out), by shares (S, n_out)."""
    rng = generator(random_state)
    columns = []
    for share in shares.T:
        # Systematic sampling: each component gets its share of the draws, rounded up or down.
        places = (np.arange(n) + rng.uniform()) / n
        drawn = np.searchsorted(np.cumsum(share)[:-1], places, side="right")
        columns.append(rng.permutation(drawn))
    return np.column_stack(columns)


def assembled(numbers: Ints, draw: Callable[[int], Array]) -> Array:
    """Return draws (K, n, n_out); output j of draw k comes from component numbers[k, j]."""
    values: Array = np.zeros(1)
    for s in counted(np.unique(numbers).tolist(), "realisations", "component"):
        values = np.where(numbers[:, None] == s, draw(s), values)
    return values


class MixturePosterior(Short):
    """A mixture given data: posteriors of components, weighted by prior weights times evidence.

    The outputs of a mixture are independent under diagonal noise. Correlated noise couples the
    components of different outputs. Then combinations of components are mixed, with weights
    proportional to prior weights times p(y | combination). Up to 64 combinations are all mixed; of
    more, 64 are drawn, or fewer if their matrices would take more than 2 GB. The evidence is exact
    if there are at most 64 combinations of all outputs but the last. Otherwise combinations of the
    outputs before are drawn, too, see `coupling`.

    Attributes:
        noise: Σ_noise, (n_out, n_out), or one for each datum, (N, n_out, n_out).
        posteriors: Posteriors that are mixed: of the S components or of combinations of them.
        weights: Their weights for each output, (len(posteriors), n_out).
        shares: Posterior weights of the components of each output, (S, n_out).
        log_evidences: Log evidence of each output, (n_out,); a single number for all outputs if the
            noise is correlated.
        independent: Whether the outputs are independent, under diagonal noise.
        effective: Effective number of draws of combinations; infinite if none had to be drawn.
    """

    def __init__(self, prior: MixturePrior, noise: Array, X: Array, y: Array) -> None:
        size = len(prior.components)
        # Twice the memory that a search allows, so that its mixture can be fitted to more data.
        most = most_components(size, len(X), prior.n_outputs, room=2.0)
        if size > most:
            data = f"{len(X)} data of {prior.n_outputs} output(s)"
            needed = f"must have at most {most}, so that all covariance matrices fit into 2 GB"
            what = f"a mixture of {size} components for {data}"
            raise ValueError(f"prior: {what}: {needed}; use fewer components or data")
        self.noise = noise
        self.independent = is_diagonal(noise)
        self.effective = np.inf
        if not self.independent:
            self._couple(prior, noise, X, y)
            return
        components = counted(prior.components, "conditioning", "component")
        self.posteriors = [ProcessPosterior(component, noise, X, y) for component in components]
        # Posterior weights π_s p(y | s) / p(y), and the evidence p(y) = Σ_s π_s p(y | s)
        logs = np.array([posterior.log_evidences for posterior in self.posteriors])
        logs += np.log(np.maximum(prior.shares, TINY))
        self.shares = softmax(logs, axis=0)
        self.weights = self.shares
        self.log_evidences = logsumexp(logs, axis=0)

    def _couple(self, prior: MixturePrior, noise: Array, X: Array, y: Array) -> None:
        """Mix combinations of components, because correlated noise couples the outputs."""
        n_out = y.shape[1]
        most = max(most_components(COMBINATIONS, y.size, 1, room=2.0), FEWEST_COMBINATIONS)
        combinations = combinations_of(prior.components, prior.shares, noise, X, y, most)
        self._combinations = combinations.numbers
        self.effective = combinations.effective
        self.log_evidences = np.array(combinations.log_evidence)
        self.weights = np.tile(combinations.weights[:, None], n_out)
        self.shares = np.zeros(prior.shares.shape)
        np.add.at(self.shares, (combinations.numbers, np.arange(n_out)), self.weights)
        priors = [combination(prior, numbers) for numbers in combinations.numbers]
        with_bar = counted(priors, "conditioning", "combination")
        self.posteriors = [ProcessPosterior(joint, noise, X, y) for joint in with_bar]

    def allocate(self, n: int, random_state: RandomState) -> Ints:
        """Draw components for n draws of the outputs, (n, n_out), with posterior weights."""
        if self.independent:
            return allocate_components(self.weights, n, random_state)
        drawn = allocate_components(self.weights[:, :1], n, random_state)[:, 0]
        return np.asarray(self._combinations[drawn])

    def batches(self, n: int) -> list[slice]:
        """Split n points into batches, see `ProcessPosterior.batches`."""
        return self.posteriors[0].batches(n)

    def _counted(self, title: str) -> Iterator[ProcessPosterior]:
        """Yield the posteriors, with a progress bar on a terminal."""
        return counted(self.posteriors, title, "component")

    def mean(self, X: Array) -> Array:
        """Return the mean at X (n, n_in), (n, n_out)."""
        # E f = Σ_s w_s m_s
        pairs = zip(self.weights, self._counted("means"), strict=True)
        return np.asarray(np.sum([w * posterior.mean(X) for w, posterior in pairs], axis=0))

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return mean (n, n_out) and covariance (n, n_out, n_out) at X, see `ProcessPosterior`."""
        moments = [posterior.moments(X) for posterior in self._counted("predictions")]
        # E f = Σ_s w_s m_s
        mean = np.sum([w * m for w, (m, _) in zip(self.weights, moments, strict=True)], axis=0)
        # Cov f = Σ_s w_s (S_s + (m_s - m) (m_s - m)ᵀ), with √w_sj √w_sk between outputs j and k
        total = np.zeros((*mean.shape, mean.shape[1]))
        for root, (of_component, covariance) in zip(np.sqrt(self.weights), moments, strict=True):
            away = root * (of_component - mean)
            total += np.outer(root, root) * covariance
            total += away[:, :, None] * away[:, None, :]
        return mean, total * np.eye(mean.shape[1]) if self.independent else total

    def between(self, A: Array, B: Array) -> Array:
        """Return the covariance of each output, (n_out, n, m), between A (n, n_in), B (m, n_in)."""
        # m_s - m at A and at B, (S, n, n_out) and (S, m, n_out)
        away = [np.array([posterior.mean(X) for posterior in self.posteriors]) for X in (A, B)]
        away = [means - np.einsum("sj,snj->nj", self.weights, means) for means in away]
        total: Array = np.zeros(1)
        # Σ_s w_s (S_s(A, B) + (m_s - m)(A) (m_s - m)(B)ᵀ)
        for weights, left, right, posterior in zip(
            self.weights, *away, self.posteriors, strict=True
        ):
            covariance = posterior.between(A, B) + left.T[:, :, None] * right.T[:, None]
            total = total + weights[:, None, None] * covariance
        return total

    def joint_moments(self, X: Array) -> tuple[Array, Array]:
        """Return the mean, (n, n_out), and the covariance at all points, (n_out n, n_out n)."""
        mean, _, columns = self.joint_columns(X)
        return mean, block_diag(*columns(np.arange(len(X))))

    def joint_columns(self, X: Array) -> JointColumns:
        """Prepare the joint covariance at X, some of whose columns are computed at a time."""
        parts = [posterior.joint_columns(X) for posterior in self._counted("covariances")]
        means, spreads, columns = zip(*parts, strict=True)
        roots = np.sqrt(self.weights)[:, None]  # (S, 1, n_out)
        mean = np.sum(roots**2 * means, axis=0)
        away = roots * (means - mean)
        # Cov f(x) = Σ_s w_s (S_s(x) + (m_s - m)(x) (m_s - m)(x)ᵀ)
        at_points = np.einsum("snj,snk->njk", away, away, optimize=True)
        for root, covariance in zip(roots, spreads, strict=True):
            at_points += root.T * covariance * root
        if self.independent:
            at_points *= np.eye(len(roots.T))

        def at(rows: Ints) -> Array:
            """Return the columns of X[rows], in a block per output if outputs are independent."""
            total: Array = np.zeros(1)
            for root, shift, columns_of in zip(roots, away, columns, strict=True):
                blocks = columns_of(rows)
                shape = len(blocks), -1  # by blocks, like the columns
                # √w_j S √w_k + √w_j (m_s - m)_j √w_k (m_s - m)_k
                blocks *= np.repeat(root, len(X)).reshape(shape)[:, :, None]
                blocks *= np.repeat(root, len(rows)).reshape(shape)[:, None]
                left = shift.T.reshape(shape)
                right = shift[rows].T.reshape(shape)
                blocks += left[:, :, None] * right[:, None]
                total = total + blocks
            return total

        return mean, at_points, at

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Return functions at X, (n_samples, n, n_out), with a component drawn for each output.

        If the outputs are coupled, one combination of components is drawn for all of them.
        """
        shares = self.weights if self.independent else self.weights[:, :1]
        numbers = allocate_components(shares, n_samples, rng)
        return assembled(numbers, lambda s: self.posteriors[s].sample(X, n_samples, rng))

    def log_density(self, X: Array, y: Array, noise: Array) -> Array:
        """Return log p(y_i | x_i, data), see `ProcessPosterior.log_density`."""
        # log Σ_s w_s p_s(y_i | x_i)
        weights = np.log(np.maximum(self.weights, TINY))
        terms = [posterior.log_density(X, y, noise) for posterior in self._counted("densities")]
        terms = [log + w[: log.shape[-1]] for log, w in zip(terms, weights, strict=True)]
        return np.asarray(logsumexp(terms, axis=0))


def warn_of_few_draws(posterior: MixturePosterior, stacklevel: int) -> None:
    """Warn if the combinations of components that were drawn do not represent all of them."""
    if posterior.effective < ENOUGH_DRAWS:
        S, n_out = posterior.shares.shape
        message = (
            f"prior: the draws of the {S}^{n_out} combinations of components count like "
            f"{posterior.effective:.1f} independent draws, so means may be wrong by about "
            f"{posterior.effective**-0.5:.1g} standard deviations: use fewer components; "
            f"{see('warnings')}"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


Prior: TypeAlias = GaussianProcessPrior | MixturePrior
Posterior: TypeAlias = ProcessPosterior | MixturePosterior


def components_of(prior: Prior) -> Sequence[GaussianProcessPrior]:
    """Return the components of a mixture, or the single prior."""
    return prior.components if isinstance(prior, MixturePrior) else [prior]


def mixed(posterior: Posterior) -> tuple[list[ProcessPosterior], Array]:
    """Return the posteriors that are mixed, and their weights; a single one has the weight 1."""
    if isinstance(posterior, MixturePosterior):
        return posterior.posteriors, posterior.weights
    return [posterior], np.ones((1, posterior.prior.n_outputs))


def conditioned(prior: Prior, noise: Array, X: Array, y: Array) -> Posterior:
    """Return the posterior of a prior given data y (N, n_out), NaN if missing, at X (N, n_in).

    The noise is Σ_noise, (n_out, n_out), or a covariance for each datum, (N, n_out, n_out). The
    noise of the posterior includes a nugget if double precision needs one, see `resolved`.
    """
    noise = resolved(noise, components_of(prior), X, y)
    if isinstance(prior, MixturePrior):
        return MixturePosterior(prior, noise, X, y)
    return ProcessPosterior(prior, noise, X, y)
