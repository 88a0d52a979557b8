"""The search for prior and noise by the evidence: a loop over outputs, and what they share.

There are four stages. First, families of kernels are fitted to each output under constant noise.
Second, this noise is compared with small noise, none, input-dependent noise and heavy tails. Third,
the families are fitted again under the noise of the second stage. Fourth, draws of their
hyperparameters become the components of a mixture. Heavy tails are then estimated again under all
components. If only some rows were searched, the weights of the components are updated given all
rows. If the noise is known, the families are fitted once, under this noise.

Outputs share three things: the precision factors of heavy-tailed noise, the correlations of
input-dependent noise, and the number of components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bnn._validation import MOST_RESTARTS, Array, check_count, check_option, filled, varies
from bnn.gp.conditioning import ProcessPosterior, resolved
from bnn.gp.evidence.families import Family
from bnn.gp.evidence.heavy_tails import (
    TAIL_STEPS,
    Tails,
    averaged_tails,
    factors_of,
    student_noise,
)
from bnn.gp.evidence.hyperpriors import warn_of_far
from bnn.gp.evidence.laplace import prior_weights, some_rows, updated
from bnn.gp.evidence.output_data import FEW, SEARCHED, OutputData, beside_mean
from bnn.gp.evidence.prescribed import MeanForm
from bnn.gp.evidence.search import OutputSearch, families_for
from bnn.gp.evidence.unscaled import (
    components_of_prior,
    noise_of,
    noise_with_constants,
    prior_with_constants,
)
from bnn.gp.hyperparameters import AROUND, components_for, most_components, threads_for
from bnn.gp.kernels import RBF
from bnn.gp.low_fidelity import ProcessModel
from bnn.gp.means import ModelMean
from bnn.gp.mixture import MixturePrior, Prior, conditioned
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import (
    HeteroscedasticNoise,
    Noise,
    StudentNoise,
    checked_noise,
    checked_tails,
)
from bnn.noise.models import (
    DataNoise,
    covariances_of_data,
    is_heavy_tailed,
    is_whole,
    kept_noise,
    without_zeros,
)
from safe_files.progress import progress_bar, titled

NOISE_KINDS = ("constant", "heteroscedastic", "student_t")
NOISE_RESTARTS = {"constant": 8, "heteroscedastic": 2}  # random starts of searches for the noise
FORM = Family((RBF,))  # the family if a mean is given


class Model(NamedTuple):
    """Prior and noise of all outputs.

    Attributes:
        prior: The prior. That of an output that does not vary is an unknown constant.
        noise: The noise; the rounding error for an output that does not vary.
        factors: E λ_i of the data, (N,), if heavy tails were estimated.
    """

    prior: Prior
    noise: Noise | StudentNoise
    factors: Array | None


def estimated_model(
    X: Array,
    y: Array,
    noise: Noise | StudentNoise | str | None = None,
    data_noise: DataNoise | None = None,
    *,
    form: MeanForm | None = None,
    prior: GaussianProcessPrior | None = None,
    restarts: int = 1,
    estimate: str = "average",
    most_rows: int | None = None,
    constant_deviation: float | None = None,
    seed: int | None = 0,
) -> Model:
    """Search for prior and noise; outputs may be missing in some rows, or not vary.

    Args:
        X: (N, n_in), checked by the caller.
        y: (N, n_out), NaN for missing outputs.
        noise: As for `fit_kernel_average`.
        data_noise: What is known of the noise of each datum.
        form: Form of the mean; FORM is then the only family. None takes the families of
            `fit_kernel_average`.
        prior: A prior whose open parameters are estimated, in place of `form`. All outputs must
            vary then.
        restarts: Number of random starts of a search.
        estimate: "average", or "map" for the hyperparameters of largest evidence.
        most_rows: Most rows of each output, chosen at random; None takes all.
        constant_deviation: See `prior_with_constants`.
        seed: Seed of all random choices.

    Returns:
        Prior, noise and precision factors.

    Raises:
        ValueError: As `fit_kernel_average`, except that outputs need not vary. Also if a
            StudentNoise is given and an output does not vary or has missing values, or if
            "student_t" noise is to be estimated from missing values.
    """
    check_option("estimate", estimate, ("average", "map"))
    check_count("restarts", restarts, 0, MOST_RESTARTS)
    n_in = X.shape[1]
    outputs = np.flatnonzero(varies(filled(y)))
    away = y if prior is None else beside_mean(prior, X, y)
    if prior is not None or (form is not None and form.model is not None):
        outputs = np.arange(y.shape[1])  # y minus the mean varies, or is refused
    kind, prescribed = _kind_or_noise(noise, n_in, y, data_noise, len(outputs))
    if not len(outputs):
        joint = prior_with_constants(None, outputs, n_in, y, constant_deviation)
        rounding = noise_with_constants(None, outputs, y)
        return Model(joint, rounding if prescribed is None else prescribed, None)
    variances = None
    if prescribed is not None:
        variances = _variances(prescribed, X, y.shape[1], data_noise)[:, outputs]
    options: dict[str, Any] = {"form": form, "prior": prior, "data_noise": data_noise}
    searches = []
    for i, j in enumerate(outputs.tolist()):
        data = OutputData(X, away, j, outputs, most_rows=most_rows, seed=seed, **options)
        of_rows = None if variances is None else variances[data.rows, i] / data.spread
        families = _families(data, flat=estimate == "map")
        searches.append(OutputSearch(data, families, kind, of_rows, restarts))
    n_data = len(X) if most_rows is None else min(len(X), most_rows)
    most = most_components(components_for(n_data), n_data, y.shape[1])
    _fit_all(searches, kind, prescribed, most if estimate == "average" else None)
    for search in searches:
        if prior is not None and search.data.covariance is not None:
            logs = search.weights @ np.array([eta[d.open] for d, eta in search.draws])
            warn_of_far(search.data.covariance, logs, stacklevel=5)
    components = components_of_prior(searches, n_in, prior)
    joint_noise = noise_of(searches, kind) if prescribed is None else prescribed
    if estimate == "map":
        return Model(components[0], joint_noise, None)
    if data_noise is not None and data_noise.std is not None:
        data_noise = replace(data_noise, std=data_noise.std[:, outputs])
    searched = _SearchedOutputs(searches, X, y[:, outputs], data_noise)
    correlated = kind == "heteroscedastic" and len(outputs) > 1
    mixture, joint_noise, factors = searched.averaged(
        components, joint_noise, correlated, variances
    )
    if prescribed is not None:
        factors = None  # they come from one fit, so `factors_of` finds those of all components
    if len(outputs) < y.shape[1]:
        mixture = prior_with_constants(mixture, outputs, n_in, y, constant_deviation)
        if prescribed is None:
            joint_noise = noise_with_constants(joint_noise, outputs, y)
    return Model(mixture, joint_noise, factors)


@dataclass
class _SearchedOutputs:
    """All data of the outputs that were searched, perhaps with only some of the rows.

    Attributes:
        searches: The search for each output.
        X: (N, n_in).
        y: (N, n_out), NaN for missing outputs.
        data_noise: What is known of the noise of each datum.
    """

    searches: Sequence[OutputSearch]
    X: Array
    y: Array
    data_noise: DataNoise | None

    def averaged(
        self,
        components: Sequence[GaussianProcessPrior],
        noise: Any,
        correlated: bool,
        variances: Array | None,
    ) -> tuple[MixturePrior, Any, Array | None]:
        """Return mixture, noise and precision factors.

        `variances` are those of known noise at the data, (N, n_out), or None.
        """
        weights = [prior_weights(search.weights, search.evidences) for search in self.searches]
        mixture = MixturePrior(components, np.column_stack(weights))
        if correlated and (self.data_noise is None or self.data_noise.std is None):
            noise = replace(noise, correlation=self._noise_correlation(mixture, noise))
        tails = self.searches[0].noise.tails
        if not all(search.data.complete for search in self.searches):
            if variances is None:
                variances = _variances(noise, self.X, self.y.shape[1], self.data_noise)
            if tails is not None:
                tails = self._tails_of_all_rows(mixture, noise, tails)
                variances = variances * tails.scale[:, None]
            mixture = self._given_all_rows(mixture, variances)
        return mixture, noise, None if tails is None else tails.factors

    def _noise_correlation(self, prior: MixturePrior, noise: HeteroscedasticNoise) -> Array:
        """Return the correlation matrix of the noise, (n_out, n_out), given its deviations.

        It is computed from the expected scatter of (y - f) / σ in the searched rows without missing
        outputs. As many uncorrelated observations are added as there are outputs that vary.
        """
        rows = np.unique(np.concatenate([search.data.rows for search in self.searches]))
        rows = rows[some_rows(len(rows), SEARCHED, self.searches[0].data.seed)]
        X, y = self.X[rows], self.y[rows]
        data_noise = None if self.data_noise is None else self.data_noise.rows(rows)
        covariances = covariances_of_data(noise, X, data_noise)
        posterior = conditioned(prior, covariances, X, y)
        complete = ~np.isnan(y).any(axis=1)
        if not complete.any():
            return np.eye(y.shape[1])
        deviations = np.sqrt(np.einsum("njj->nj", covariances))[complete]
        mean, spread = posterior.moments(X[complete])
        away = (y[complete] - mean) / deviations
        # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S at each datum
        spread = spread / deviations[:, :, None] / deviations[:, None, :]
        without = y.shape[1] * np.eye(y.shape[1])
        scatter = away.T @ away + spread.sum(axis=0) + without
        scale = np.sqrt(np.diag(scatter))
        return np.asarray(scatter / np.outer(scale, scale))

    def _tails_of_all_rows(self, prior: MixturePrior, noise: StudentNoise, tails: Tails) -> Tails:
        """Return the precision factors of all rows; those of the searched rows are kept."""
        fixed = np.full(len(self.X), np.nan)
        fixed[self.searches[0].data.rows] = tails.factors
        sizes = self.X.shape[1], self.y.shape[1]
        heavy = checked_tails(replace(noise, df=tails.freedom), *sizes)
        assert isinstance(heavy, StudentNoise)
        return factors_of(prior, heavy, self.X, self.y, TAIL_STEPS, fixed=fixed)

    def _given_all_rows(self, prior: MixturePrior, variances: Array) -> MixturePrior:
        """Return a prior that was estimated from some rows, with weights given all rows.

        `variances` are those of the noise at all data, (N, n_out).
        """
        noise = variances[:, :, None] * np.eye(self.y.shape[1])
        noise = resolved(noise, prior.components, self.X, self.y)
        posteriors = (ProcessPosterior(c, noise, self.X, self.y) for c in prior.components)
        of_all = np.array([posterior.log_evidences for posterior in posteriors])
        weights = []
        for search, evidences in zip(self.searches, of_all.T, strict=True):
            gains = evidences - search.evidences
            weights.append(prior_weights(updated(search.weights, gains), evidences))
        return replace(prior, weights=np.column_stack(weights))


def _kind_or_noise(
    noise: Noise | StudentNoise | str | None,
    n_in: int,
    y: Array,
    data_noise: DataNoise | None,
    n_searched: int,
) -> tuple[str | None, Noise | StudentNoise | None]:
    """Return the kind of noise, None for any or for known Gaussian noise, and the known noise."""
    n_out = y.shape[1]
    if isinstance(noise, StudentNoise) and not is_heavy_tailed(noise):
        noise = noise.noise
    constant = isinstance(noise, StudentNoise) and n_searched < n_out
    if is_heavy_tailed(noise) and (constant or np.isnan(y).any()):
        needed = "heavy tails need outputs that vary, and a y without missing outputs"
        raise ValueError(f"noise = {noise!r:.60}: {needed}")
    if isinstance(noise, str):
        check_option("noise", noise, ("gaussian", *NOISE_KINDS))
        return noise, None
    if is_whole(data_noise, noise, n_out):
        return None, np.zeros((n_out, n_out))
    if noise is None:
        return ("gaussian" if n_out > 1 or data_noise is not None else None), None
    if isinstance(noise, StudentNoise):
        checked_noise(noise.noise, n_in, n_out)
        return "student_t", noise
    prescribed = without_zeros(noise, y)
    checked_noise(prescribed, n_in, n_out)
    return None, prescribed


def _variances(
    noise: Noise | StudentNoise, X: Array, n_out: int, data_noise: DataNoise | None
) -> Array:
    """Return the variances of noise at the data, (N, n_out), without heavy tails."""
    covariances = covariances_of_data(kept_noise(noise, X.shape[1], n_out), X, data_noise)
    return np.asarray(np.einsum("...jj->...j", covariances) * np.ones((len(X), 1)))


def _families(data: OutputData, flat: bool) -> list[Family]:
    """Return the families that are tried for an output."""
    if data.kernel_given:
        return [Family((), sparse=data.sparse, flat=flat)]
    return [replace(FORM, flat=flat)] if data.mean_given else families_for(*data.u.shape)


def _fit_all(
    searches: Sequence[OutputSearch],
    kind: str | None,
    prescribed: Noise | StudentNoise | None,
    most: int | None,
) -> None:
    """Go through the stages of the search for all outputs.

    Args:
        searches: The search for each output.
        kind: As for `OutputSearch`.
        prescribed: The noise if it is known.
        most: Number of components; None takes the most probable hyperparameters.
    """
    estimated = prescribed is None
    heavy = kind == "student_t" or (kind is None and estimated)
    steps = sum(search.steps for search in searches)
    most_rows = max(len(search.data.rows) for search in searches)
    with (
        progress_bar(steps, titled("prior and noise", None), "step") as bar,
        threads_for(most_rows),
    ):
        for search in searches:
            search.fit(bar.update)
        if heavy:
            bests = [search.best for search in searches]
            noises = [search.noise for search in searches]
            sizes = None if estimated else [noise.variances for noise in noises]
            freedom = prescribed.df if isinstance(prescribed, StudentNoise) else None
            always = kind is not None
            seed = searches[0].data.seed
            bests, noises = student_noise(bests, noises, always, sizes, freedom, seed)
            for i, search in enumerate(searches):
                search.best, search.noise = bests[i], noises[i]
        for search in searches:
            if estimated or heavy:
                search.fit_again()
            bar.update()
            if most is None:
                search.choose_likeliest()
            else:
                # A low-fidelity model or a custom kernel may be undefined beyond the data.
                inside = search.data.kernel_given or isinstance(search.data.mean, ModelMean)
                search.choose_components(most, 1.0 if inside else AROUND)
            bar.update()
        if estimated and most is not None and searches[0].noise.tails is not None:
            _average_tails(searches)
        size = max(len(search.draws) for search in searches)
        for search in searches:
            search.extend_to(size)
    model = searches[0].data.mean
    if isinstance(model, ProcessModel):
        # One thread of BLAS rounds differently, and a loaded model does not have these values.
        model.forget()


def _average_tails(searches: Sequence[OutputSearch]) -> None:
    """Estimate heavy tails again, under the components of all outputs."""
    draws, evidences, noises = averaged_tails(
        [search.draws for search in searches],
        [search.weights for search in searches],
        [search.noise for search in searches],
    )
    for i, search in enumerate(searches):
        search.draws = draws[i]
        search.evidences = evidences[i]
        search.noise = noises[i]


def noise_beside_prior(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array, data_noise: DataNoise | None
) -> Any:
    """Return the given noise, or estimate noise of the given kind, for a given prior."""
    if isinstance(noise, StudentNoise):
        return noise
    if is_heavy_tailed(noise):
        return StudentNoise(likely_noise("constant", X, y))
    if is_whole(data_noise, noise, y.shape[1]):
        return np.zeros((y.shape[1], y.shape[1]))
    return without_zeros(likely_noise(noise, X, y, data_noise), y)


def likely_noise(
    noise: Noise | str | None, X: Array, y: Array, data_noise: DataNoise | None = None
) -> Noise:
    """Return the given noise, or estimate Gaussian noise from the evidence of data.

    None and "constant" give standard deviations, (n_out,), and "heteroscedastic" gives a
    HeteroscedasticNoise. If the standard deviations of the data are known, None and zero give
    zeros, (n_out, n_out). The estimate uses at most FEW rows, chosen at random.
    """
    if is_whole(data_noise, noise, y.shape[1]):
        return np.zeros((y.shape[1], y.shape[1]))
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, NOISE_RESTARTS)
    restarts = NOISE_RESTARTS[kind]
    estimate = estimated_model(
        X, y, kind, data_noise, form=MeanForm(), restarts=restarts, most_rows=FEW
    ).noise
    assert not isinstance(estimate, StudentNoise)
    return estimate
