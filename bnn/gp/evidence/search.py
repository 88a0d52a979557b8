"""The search for kernel families and for the noise of one output, with scaled data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit, logsumexp, softmax

from bnn._validation import Array
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import Family, NoiseForm
from bnn.gp.evidence.heavy_tails import ODDS, OutputNoise
from bnn.gp.evidence.hyperpriors import most_probable_of_kernel
from bnn.gp.evidence.laplace import (
    Draw,
    FamilyFit,
    approximated,
    components,
    further_starts,
    left_out_densities,
    limited,
    most_probable,
    most_probable_of_many,
)
from bnn.gp.evidence.output_data import FEW, OutputData, few_for_inputs
from bnn.gp.kernels import RBF, Matern32, Matern52

# Largest share of the RBF above FEW data. It is more accurate for smooth functions, but far too
# confident in a gap that hides a kink.
SMOOTH = 0.5
MIXED_FROM = 10  # least number of data per entry of a matrix that mixes inputs
# Further starts for the first family if there are few data per input, because searches then end at
# many different optima.
SPARSE_STARTS = 4
REFIT_STEPS = 20  # most steps of the second search of a family, under the noise that was found
LIKELY = 7.0  # families are averaged if their log evidence is less than this below the largest
LEAST_SLOPED = 0.05  # input-dependent noise of a smaller probability is left out
# Data may have no noise if a family finds this variance or less, relative to that of the output.
DOUBTED = 5e-3
NO_NOISE = 1e-12  # variance that stands for no noise at all
CLEAR = 2.5  # least gain without noise in the log density of data left out, in standard errors
LEVELS = np.arange(-3.0, 4.0)  # of noise, in standard deviations around the most probable one
STAGES = 3  # of the progress of an output, after its families: noise, families again, components


class OutputSearch:
    """Fits of families to one output, its noise, and the components of its prior.

    Args:
        data: The data of the output.
        families: The families that are tried.
        kind: "gaussian", "constant", "heteroscedastic" or "student_t"; None for any kind, or if
            Gaussian noise is known.
        noise_variances: Variances of the noise at the data, (n,), relative to that of the output;
            None estimates them.
        restarts: Number of random starts of a search.

    Attributes:
        data: As above.
        steps: Number of families and further stages, for a progress bar.
        fits: The fits of the likely families.
        best: The fit that the estimate of the noise starts from.
        noise: The noise.
        draws: The components; their hyperparameters, and the densities that these belong to.
        weights: Posterior weights of the components, (S,).
        evidences: log p(y | η) of the components, (S,).
    """

    fits: list[FamilyFit]
    best: FamilyFit
    noise: OutputNoise
    draws: list[Draw]
    weights: Array
    evidences: Array

    def __init__(
        self,
        data: OutputData,
        families: Sequence[Family],
        kind: str | None,
        noise_variances: Array | None,
        restarts: int,
    ) -> None:
        self.data = data
        self.steps = len(families) + STAGES
        self._families = families
        self._kind = kind
        self._noise_variances = noise_variances
        self._restarts = restarts
        self._basis = data.basis.values[:, data.inputs]

    def fit(self, step: Callable[[], object]) -> None:
        """Fit families under constant or known noise, then the noise; call `step` after each."""
        self.fits = _likely(self._fit_families(step))
        self._fit_noise()
        step()

    def _fit_noise(self) -> None:
        """Estimate Gaussian noise, unless it is known, under the likely families."""
        if self._noise_variances is not None:
            self.best = max(self.fits, key=_log_evidence)
            self.noise = OutputNoise(0.0, np.zeros(self._basis.shape[1]), self._noise_variances)
            return
        both = _likely(self.fits + self._with_small_noise())
        self._average_gaussian_noise(both)
        self.fits = _one_of_each_family(both)
        if self._kind in (None, "gaussian") and self._may_lack_noise(both):
            level = _likeliest_level(both)
            variances = self.data.relative * np.exp(2.0 * level)
            self.noise = OutputNoise(level, np.zeros(self._basis.shape[1]), variances)

    def _average_gaussian_noise(self, fits: list[FamilyFit]) -> None:
        """Take the more probable fit, and average over constant and input-dependent noise.

        Constant noise is averaged over all fits, some of which are under small noise.
        Input-dependent noise is averaged only over draws of the best of these fits. The kind
        "constant" leaves it out, "heteroscedastic" always keeps it.
        """
        best = max(fits, key=_log_evidence)
        noise = best.density.noise_form
        variances, _ = _average_noise(fits)
        slopes = np.zeros(self._basis.shape[1])
        sloped = best
        share = 0.0
        if self._kind != "constant":
            form = replace(noise, basis=self._basis)
            sloped = best.refitted(best.density.with_noise(form), self.data.seed)
            # P = p(y | slopes) / (p(y | slopes) + odds p(y | constant))
            share = float(expit(sloped.log_evidence - best.log_evidence - np.log(ODDS)))
        if share > LEAST_SLOPED or self._kind == "heteroscedastic":
            # E σ_i² = P E[σ_i² | slopes] + (1 - P) E[σ² | constant], and likewise E β
            sloped_variances, sloped_slopes = _average_noise([sloped])
            variances = share * sloped_variances + (1.0 - share) * variances
            slopes = share * sloped_slopes
        # log σ_i = level + β·b_i, where b_i have a mean of zero
        level = 0.5 * float(np.log(variances).mean())
        total = noise.relative * np.exp(2.0 * (level + self._basis @ slopes)) + noise.fixed
        self.best = sloped if share > 0.5 else best
        self.noise = OutputNoise(level, slopes, total)

    def _fit_families(self, step: Callable[[], object]) -> list[FamilyFit]:
        """Fit each family, under known variances of the noise or constant noise."""
        data = self.data
        seed = data.seed
        fits: list[FamilyFit] = []
        noise = NoiseForm.constant(data.relative, data.known_variances)
        if self._noise_variances is not None:
            noise = NoiseForm.of_variances(self._noise_variances)
        for family in self._families:
            density = FamilyDensity(family, data.u, data.y, noise, data.covariance)
            if data.kernel_given:
                best = most_probable_of_kernel(density, self._restarts, seed)
                fits.append(approximated(density, best, seed))
                step()
                continue
            # A search starts at the result of the previous family.
            starts = [density.start_from(last.density, last.eta) for last in fits[-1:]]
            if not starts or len(data.u) <= FEW:
                near = SPARSE_STARTS if family.sparse and not starts else 0
                starts += further_starts(density, self._restarts, near, seed)
            fits.append(approximated(density, most_probable_of_many(density, starts, seed), seed))
            step()
        return fits

    def _with_small_noise(self) -> list[FamilyFit]:
        """Return the fits of the smooth families under small noise, or none.

        A rough or warped function explains small noise as well, so that it would be lost.
        There are none if the kind of noise is given, or above FEW data. So many data determine even
        small noise under its usual hyperprior.
        """
        if self._kind not in (None, "gaussian") or len(self.data.u) > FEW:
            return []
        seed = self.data.seed
        fits = []
        for fit in self.fits:
            if fit.density.family.kinds != (RBF,):
                continue
            density = fit.density.with_noise(replace(fit.density.noise_form, small=True))
            start = density.start_from(fit.density, fit.eta)
            smaller = start.copy()
            smaller[density.noise_level] = density.centre[density.noise_level]
            fits.append(approximated(density, most_probable(density, [start, smaller]), seed))
        return fits

    def _may_lack_noise(self, noisy: list[FamilyFit]) -> bool:
        """Return whether the output may have no noise, as that of a deterministic simulator.

        The families without noise have to be more probable than those with noise, and to predict
        each datum clearly better from all others. For few noisy data a rough function without noise
        may be more probable, but it does not predict better.
        """
        data = self.data
        levels = [float(fit.eta[fit.density.noise_level][0]) for fit in self.fits]
        if len(data.u) > FEW or data.known_variances.any() or min(levels) > np.log(DOUBTED):
            return False
        none = NoiseForm.of_variances(np.full(len(data.u), NO_NOISE))
        silent: list[FamilyFit] = []
        for fit in sorted(self.fits, key=_log_evidence, reverse=True):
            density = fit.density.with_noise(none)
            starts = [density.start_from(fit.density, fit.eta), density.centre]
            silent.append(approximated(density, most_probable(density, starts), data.seed))
            if _joint_evidence(silent) < _joint_evidence(noisy) - LIKELY:
                return False
        if _joint_evidence(silent) < _joint_evidence(noisy):
            return False
        without, under = (
            left_out_densities(_likely(fits), data.seed) for fits in (silent, self._refits())
        )
        gains = without - under
        return bool(gains.sum() > CLEAR * np.sqrt(len(gains)) * gains.std(ddof=1))

    def fit_again(self) -> None:
        """Fit the likely families again under the noise that was estimated."""
        self.fits = _likely(self._refits())

    def _refits(self) -> list[FamilyFit]:
        """Return the fits of the likely families under the noise, the best one first."""
        others = [fit for fit in self.fits if fit.density.family != self.best.density.family]
        noise = NoiseForm.of_variances(self.noise.variances)
        refits = []
        for fit in [self.best, *others]:
            density = fit.density.with_noise(noise)
            refits.append(fit.refitted(density, self.data.seed, REFIT_STEPS))
        return refits

    def choose_likeliest(self) -> None:
        """Take the most probable hyperparameters as the only component."""
        best = max(self.fits, key=_log_evidence)
        self.draws = [(best.density, best.eta)]
        self.weights = np.ones(1)
        self.evidences = np.zeros(1)

    def choose_components(self, most: int, around: float) -> None:
        """Take a few draws that represent the posteriors of all likely families.

        Args:
            most: Most components.
            around: Width of the box in which they represent all draws, relative to the data.
        """
        self.draws, self.weights, self.evidences = components(
            self.fits, most, self.data.seed, around
        )

    def extend_to(self, size: int) -> None:
        """Repeat components, with weight zero, until there are `size`, as for other outputs."""
        numbers = np.resize(np.arange(len(self.draws)), size)
        self.draws = [self.draws[s] for s in numbers]
        self.evidences = self.evidences[numbers]
        self.weights = np.concatenate([self.weights, np.zeros(size - len(self.weights))])


def _log_evidence(fit: FamilyFit) -> float:
    return fit.log_evidence


def _joint_evidence(fits: Sequence[FamilyFit]) -> float:
    """Return the logarithm of the sum of the evidences of fits."""
    return float(logsumexp([fit.log_evidence for fit in fits]))


def families_for(n_data: int, n_inputs: int) -> list[Family]:
    """Return the families that are tried, in the order of their searches."""
    few = n_data <= FEW
    sparse = few_for_inputs(n_data, n_inputs)
    families = [Family((RBF,)), Family((Matern32,))] if few else []
    families.append(Family((Matern52,), warped=True))
    families.append(Family((Matern52, Matern32), warped=True))
    if n_inputs > 1 and n_data >= MIXED_FROM * n_inputs**2:
        families.append(replace(families[-1], mixed=True))
    if not few:
        families.append(Family((RBF,), most=SMOOTH))
    trend = few and not sparse
    families = [replace(family, trend=trend, sparse=sparse) for family in families]
    if sparse:
        families.insert(1, replace(families[0], trend=True))
    return families


def _likely(fits: list[FamilyFit]) -> list[FamilyFit]:
    """Return the families whose evidence is large enough to be averaged.

    A family whose share is limited does not exclude others, even if its evidence is the largest.
    """
    largest = max(fit.log_evidence for fit in fits if fit.density.family.most == 1.0)
    return [fit for fit in fits if fit.log_evidence > largest - LIKELY]


def _one_of_each_family(fits: list[FamilyFit]) -> list[FamilyFit]:
    """Return the more probable fit of each family, of those under usual and under small noise."""
    likelier = {fit.density.family: fit for fit in sorted(fits, key=_log_evidence)}
    return [fit for fit in fits if likelier[fit.density.family] is fit]


def _average_noise(fits: list[FamilyFit]) -> tuple[Array, Array]:
    """Return the means over families of σ_i² of unknown noise for r = 1, (N,), and of β, (p,).

    The families are weighted by their evidence, by Laplace's approximation.
    """
    averages = [_noise_of_family(fit) for fit in fits]
    evidences = np.concatenate(limited(fits, [np.array([fit.log_evidence]) for fit in fits]))
    weights = softmax(evidences)
    # E σ_i² = Σ_m w_m E[σ_i² | family m], and likewise E β
    variances = weights @ np.array([of_family for of_family, _ in averages])
    slopes = weights @ np.array([of_family for _, of_family in averages])
    return np.asarray(variances), np.asarray(slopes)


def _likeliest_level(fits: list[FamilyFit]) -> float:
    """Return the most probable log σ of constant noise, averaged over families by evidence."""
    weights = softmax([fit.log_evidence for fit in fits])
    levels = np.array([fit.eta[fit.density.noise_level.start] for fit in fits])
    return 0.5 * float(weights @ levels)


def _noise_of_family(fit: FamilyFit) -> tuple[Array, Array]:
    """Return the means of σ_i² of unknown noise for r = 1, (N,), and of β, (p,), of one family.

    Given the level log σ², the other hyperparameters have a normal distribution, by Laplace's
    approximation: its mean is linear in the level, and its covariance is the same for all levels.
    The posterior of the level itself is proportional to the density at these means. A sum over
    LEVELS, in its standard deviations, replaces the integral over it.
    """
    density, best = fit.density, fit.eta
    basis = density.noise_form.basis
    assert basis is not None
    covariance = np.linalg.inv(fit.hessian)
    level = density.noise_level.start
    deviation = np.sqrt(covariance[level, level])
    along = covariance[:, level] / deviation  # change of E η per standard deviation of the level
    points = best + LEVELS[:, None] * along
    weights = softmax([density.value(eta) for eta in points])
    # Cov[β | level] = C_ββ - C_βl C_lβ / C_ll
    left = covariance[density.slopes, density.slopes]
    left = left - np.outer(along[density.slopes], along[density.slopes])
    # E exp(2 β·b) = exp(2 b·E β + 2 bᵀ Cov β b)
    growth = np.exp(2.0 * np.einsum("np,pq,nq->n", basis, left, basis))
    variances = weights @ np.array([density.unit_variances(eta) for eta in points])
    return variances * growth, weights @ points[:, density.slopes]
