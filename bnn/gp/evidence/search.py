"""The search for kernel families and for the noise of each output, with scaled data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from bnn._validation import Array
from bnn.gp.evidence.families import Family, FamilyDensity
from bnn.gp.evidence.given_kernel import searched
from bnn.gp.evidence.laplace import (
    Draw,
    FamilyFit,
    approximated,
    components,
    further_starts,
    most_probable,
    posterior_draws,
)
from bnn.gp.evidence.scaling import FEW, SearchData, few_for_inputs
from bnn.gp.evidence.tails import ODDS, OutputNoise, averaged_tails, student_noise
from bnn.gp.kernels import RBF, Matern32, Matern52
from bnn.noise import Noise, StudentNoise
from bnn.noise.known import kept_noise

# Largest share of the RBF above FEW data. It is more accurate for smooth functions, but far too
# confident in a gap that hides a kink.
SMOOTH = 0.5
MIXED_FROM = 10  # least number of data per entry of a matrix that mixes inputs
# Further starts for the first family if there are few data per input, because searches then end at
# many different optima.
SPARSE_STARTS = 4
REFIT_STEPS = 20  # most steps of the second search of a family, under the noise that was found
LIKELY = 7.0  # families are averaged if their log evidence is less than this below the largest
NEGLIGIBLE = 0.05  # input-dependent noise of a smaller probability is left out
STAGES = 3  # of the progress of an output, after its families: noise, families again, components


class Search:
    """Fits of families to each output, and its noise.

    Args:
        data: The data.
        families: The families that are tried.
        kind: "gaussian", "constant", "heteroscedastic" or "student_t"; None for any kind, or if
            Gaussian noise is known.
        given: The noise if it is known.
        restarts: Number of random starts of a search.
        step: Function that is called after each family and stage, with the number of new steps.

    Attributes:
        fits: For each output the fits of its likely families.
        noises: The noise of each output; empty under known Gaussian noise.
    """

    def __init__(
        self,
        data: SearchData,
        families: Sequence[Family],
        kind: str | None,
        given: Noise | StudentNoise | None,
        restarts: int,
        step: Callable[[int], object],
    ) -> None:
        self._data = data
        self._families = families
        self._kind = kind
        self._restarts = restarts
        self._step = step
        self._basis = data.basis.values[:, data.varying]
        self._known: Array | None = None  # known variances, relative to those of the outputs
        if given is not None:
            kept = kept_noise(given, data.X.shape[1], len(data.spreads))
            self._known = data.noise_variances(kept)
        self._freedom = given.df if isinstance(given, StudentNoise) else None
        self.fits: list[list[FamilyFit]] = []
        self.noises: list[OutputNoise] = []

    def fit(self) -> None:
        """Fit the families under constant or known noise, then the noise, then families again."""
        outputs = range(len(self._data.spreads))
        seed = self._data.seed
        self.fits = [_likely(self._fit_families(j)) for j in outputs]
        if self._known is None:
            both = [_likely(each + self._with_small_noise(each)) for each in self.fits]
            pairs = [_gaussian_noise(each, self._basis, self._kind, seed) for each in both]
            self.fits = [_one_of_each_family(each) for each in both]
            bests = [best for best, _ in pairs]
            noises = [noise for _, noise in pairs]
        elif self._kind is None:  # the noise is known, so families are fitted only once
            self._step((STAGES - 1) * len(outputs))
            return
        else:
            bests = [max(each, key=_log_evidence) for each in self.fits]
            none = np.zeros(self._basis.shape[1])
            noises = [OutputNoise(0.0, none, known) for known in self._known.T]
        if self._kind in (None, "student_t"):
            always = self._kind is not None
            bests, noises = student_noise(bests, noises, always, self._known, self._freedom)
        self._step(len(outputs))
        triples = zip(bests, self.fits, noises, strict=True)
        self.fits = [self._fitted_again(*each) for each in triples]
        self.noises = noises

    def _fit_families(self, j: int) -> list[FamilyFit]:
        """Fit each family to output j, under known variances of the noise or constant noise."""
        fits: list[FamilyFit] = []
        u = self._data.u
        seed = self._data.seed
        y = np.ascontiguousarray(self._data.columns[:, j])
        basis = np.zeros((len(u), 0)) if self._known is None else None
        relative = self._data.relative if self._known is None else self._known[:, j]
        known = None
        if self._known is None and self._data.variances_known is not None:
            known = self._data.variances_known[:, j]
        given = self._data.given[j]
        for family in self._families:
            density = FamilyDensity(family, u, y, basis, relative, given, known)
            if self._data.prior is not None:
                fits.append(approximated(density, searched(density, self._restarts, seed), seed))
                self._step(1)
                continue
            # A search starts at the result of the previous family.
            starts = [density.start_from(last.density, last.eta) for last in fits[-1:]]
            if not starts or len(u) <= FEW:
                near = SPARSE_STARTS if family.sparse and not starts else 0
                starts += further_starts(density, self._restarts, near, seed)
            fits.append(approximated(density, most_probable(density, starts), seed))
            self._step(1)
        return fits

    def _with_small_noise(self, families: list[FamilyFit]) -> list[FamilyFit]:
        """Return the fits of the smooth families of an output under small noise, or none.

        A rough or warped function explains small noise as well, so that it would be lost.
        There are none if the kind of noise is given, or above FEW data. So many data determine even
        small noise under its usual hyperprior.
        """
        if self._kind not in (None, "gaussian") or len(self._data.u) > FEW:
            return []
        seed = self._data.seed
        found = []
        for fit in (each for each in families if each.density.family.kinds == (RBF,)):
            density = fit.density.with_small_noise()
            start = density.start_from(fit.density, fit.eta)
            smaller = start.copy()
            smaller[density.noise] = density.centre[density.noise]
            found.append(approximated(density, most_probable(density, [start, smaller]), seed))
        return found

    def _fitted_again(
        self, best: FamilyFit, families: list[FamilyFit], noise: OutputNoise
    ) -> list[FamilyFit]:
        """Return the likely families of an output under the noise that was found."""
        others = [fit for fit in families if fit.density.family != best.density.family]
        fits = [best, *others]
        densities = [fit.density.under(noise.variances) for fit in fits]
        pairs = zip(fits, densities, strict=True)
        refits = [fit.refitted(each, self._data.seed, REFIT_STEPS) for fit, each in pairs]
        self._step(1)
        return _likely(refits)

    def likeliest(self) -> list[list[Draw]]:
        """Return the most probable hyper-parameters of each output, as a single component."""
        self._step(len(self.fits))
        bests = [max(each, key=_log_evidence) for each in self.fits]
        return [[(fit.density, fit.eta)] for fit in bests]

    def components(self, most: int, around: float) -> tuple[list[list[Draw]], list[list[Array]]]:
        """Return the components of each output; estimate heavy tails again under all of them.

        Args:
            most: Number of components.
            around: Width of the box in which they represent all draws, relative to the data.

        Returns:
            For each output the draws; and for each output a list of their posterior weights, (S,),
            and log p(y | η), (S,).
        """
        draws = []
        posteriors = []
        for each in self.fits:
            chosen, *posterior = components(each, most, self._data.seed, around)
            draws.append(chosen)
            posteriors.append(posterior)
            self._step(1)
        if self._known is None and self.noises[0].factors is not None:
            shares = [share for share, _ in posteriors]
            draws, evidences, self.noises = averaged_tails(draws, shares, self.noises)
            posteriors = [list(each) for each in zip(shares, evidences, strict=True)]
        return draws, posteriors


def _log_evidence(fit: FamilyFit) -> float:
    return fit.log_evidence


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
    found = [replace(each, trend=few and not sparse, sparse=sparse) for each in families]
    if sparse:
        found.insert(1, replace(found[0], trend=True))
    return found


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


def _gaussian_noise(
    families: list[FamilyFit], basis: Array, kind: str | None, seed: int | None
) -> tuple[FamilyFit, OutputNoise]:
    """Return the more probable fit and the noise, averaged over constant and input-dependent noise.

    Constant noise is averaged over all families, some also under small noise. Input-dependent noise
    is averaged only over draws of the best of these fits. The kind "constant" leaves it out,
    "heteroscedastic" always keeps it.
    """
    best = max(families, key=lambda fit: fit.log_evidence)
    variances, _ = _average_noise(families, seed)
    slopes = np.zeros(basis.shape[1])
    sloped = best
    share = 0.0
    if kind != "constant":
        constant = best.density
        sloped = best.refitted(constant.with_noise(basis, constant.relative), seed)
        # P = p(y | slopes) / (p(y | slopes) + odds p(y | constant))
        share = float(expit(sloped.log_evidence - best.log_evidence - np.log(ODDS)))
    if share > NEGLIGIBLE or kind == "heteroscedastic":
        # E σ_i² = P E[σ_i² | slopes] + (1 - P) E[σ² | constant], and likewise E β
        sloped_variances, sloped_slopes = _average_noise([sloped], seed)
        variances = share * sloped_variances + (1.0 - share) * variances
        slopes = share * sloped_slopes
    # log σ_i = level + β·b_i, where b_i have a mean of zero
    level = 0.5 * float(np.log(variances).mean())
    found = best.density.relative * np.exp(2.0 * (level + basis @ slopes))
    if best.density.known is not None:
        found = found + best.density.known
    noise = OutputNoise(level, slopes, found)
    return sloped if share > 0.5 else best, noise


def _average_noise(fits: list[FamilyFit], seed: int | None) -> tuple[Array, Array]:
    """Return the means over all draws of σ_i² of unknown noise for r = 1, (N,), and of β, (p,)."""
    draws, logs = posterior_draws(fits, seed)
    weights = np.exp(logs)
    # E σ_i² = Σ_s w_s σ_i²(η_s), and likewise E β
    variances = np.array([density.unit_variances(eta) for density, eta in draws])
    slopes = np.array([eta[density.slopes] for density, eta in draws])
    return np.asarray(weights @ variances), np.asarray(weights @ slopes)
