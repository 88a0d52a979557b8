"""Prior and noise of data in one, averaged over families of processes: the default of estimators.

Each output has four stages. Families of kernels are fitted under constant noise; this is compared
with input-dependent noise and with heavy tails; the families are fitted again under the noise that
was found; and draws of their hyper-parameters become the components of a mixture. If the noise is
known, there is one fit of the families, under this noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bnn._progress import progress_bar, titled
from bnn._seeding import generator
from bnn._validation import Array, Ints, as_data, check_option, check_outputs_vary, varies
from bnn.gp.conditioning import ProcessPosterior, resolved
from bnn.gp.evidence.families import Family, FamilyDensity
from bnn.gp.evidence.laplace import (
    FamilyFit,
    approximated,
    components,
    most_probable,
    posterior_draws,
    prior_weights,
    some_rows,
    updated,
)
from bnn.gp.evidence.noise import noise_correlation
from bnn.gp.evidence.tails import (
    ODDS,
    TAIL_STEPS,
    OutputNoise,
    averaged_tails,
    student_noise,
)
from bnn.gp.evidence.trend import sorted_inputs, varying_inputs
from bnn.gp.hyperparameters import most_components, threads_for
from bnn.gp.kernels import RBF, Matern32, Matern52
from bnn.gp.means import LinearMean
from bnn.gp.mixture import MixturePrior
from bnn.gp.precision_factors import factors_of
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise, checked_tails, covariance_at
from bnn.noise.given import checked_noise, without_zeros
from bnn.noise.heteroscedastic import StandardBasis
from bnn.noise.student import given_factors

SEARCHED = 1500  # most data in a search; of more, as many are chosen at random
RARE = 10  # further data in a search, of an input or output that is constant in those chosen
# Up to so many data families of plain inputs are tried first, and each search has several starts.
# Families have a trend then, which is overconfident in the gaps of more data.
FEW = 300
# With fewer data for each input the slopes of a trend often cost more than they explain, so that
# one family alone has it.
PER_INPUT = 10
# Largest share of the RBF of more data. It is more accurate on smooth functions, and far too
# confident in a gap that hides a kink.
SMOOTH = 0.5
MIXED_FROM = 10  # a matrix that mixes inputs is tried with so many data for each of its entries
STARTS = 8  # points drawn from the hyperprior; the best of them is a start
# Further starts for the first family where there are few data for each input, since searches end in
# many places then: draws from the hyperprior with a share of its width.
SPARSE_STARTS = 4
NEAR = 0.5
REFIT_STEPS = 20  # of the second search of a family, under the noise that was found
LIKELY = 7.0  # families are averaged whose log evidence is by less than this below the largest
NEGLIGIBLE = 0.05  # noise by input is left out if it is less probable than this
COMPONENTS = 16  # most components of the prior
STAGES = 3  # of the progress of an output, after its families: noise, families again, components
GAUSSIAN = "gaussian"  # noise that is constant or input-dependent, averaged over both
KINDS = (GAUSSIAN, "constant", "heteroscedastic", "student_t")


def fit_kernel_average(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise | str | None = None,
    *,
    random_state: int | None = 0,
) -> tuple[MixturePrior, Noise | StudentNoise]:
    """Estimate prior and noise together, averaged over families of Gaussian processes.

    For each output these families are tried, one after the other:

    - up to 300 data, an RBF of the inputs as they are, and a Matérn kernel of ν = 3/2;
    - a Matérn kernel of ν = 5/2 of warped inputs, see `Warped`;
    - the sum of this kernel and a rougher one of ν = 3/2;
    - from 10 n_in² data on, this sum for inputs that are warped and mixed;
    - above 300 data, an RBF of the inputs as they are.

    From 10 n_in data up to 300 each family also has a linear trend, whose slopes have an unknown
    variance. With fewer data slopes often cost more than they explain: an RBF with a trend is tried
    beside families without one. The hyperprior of length scales is wider then, and its medians
    grow with √n_in.

    Families are averaged if their evidence, by Laplace's approximation, is at least e⁻⁷ times the
    largest. The evidence of their draws then weights them. Hyper-parameters are drawn from the
    posteriors of these families, with weights that are tempered until eight draws count, and a few
    draws become the components of the mixture. Given the data, it has the means and variances of f
    that all draws together have. As for `fit_prior`, the weights of the mixture are posterior
    weights divided by the evidence of each component.

    Of more than 1,500 data, 1,500 are chosen at random for the searches and draws, and up to ten
    more for each input or output that varies in the others alone. The evidence of all data then
    updates the posterior weights of the components, tempered so that as many of them count as
    before, up to eight.

    The noise of an output is averaged over constant noise and noise whose logarithm is linear in
    the inputs, by their evidence. For a single output the noise has heavy tails where these are
    likelier. Constant noise is ten times as probable a priori as noise by input, and Gaussian noise
    ten times as probable as heavy tails. The precision factors of the data, see `StudentNoise`, are
    then found under all components together, with their posterior weights: a `GPRegressor` with
    nothing set takes these factors. With this prior and noise given, it finds factors anew, under
    weights by the evidence, and fewer components may count.

    Noise that is given, or of a given kind, replaces these choices.

    Args:
        X: (N, n_in); inputs that vary by no more than rounding are left out of the kernel.
        y: (N,) or (N, n_out).
        noise: None chooses as described above. "gaussian" does so without heavy tails; "constant",
            "heteroscedastic" and, for a single output, "student_t" are the kind of the noise.
            Known noise is given as standard deviations, Σ_noise or a HeteroscedasticNoise; its
            correlations between outputs are ignored in the search.
        random_state: Seed of draws and starts, and of the data that are chosen.

    Returns:
        The prior, with 16 components, or as many as have covariance matrices of 1 GB together,
        which are fewer from 2,800 data of one output on, and the noise: that which was given, or
        standard deviations (n_out,), a HeteroscedasticNoise or a StudentNoise. That of
        "heteroscedastic" has the correlations between several outputs.

    Raises:
        ValueError: If X and y do not fit each other, no input or an output does not vary, or the
            noise does not fit them.

    Source: Rasmussen & Williams (2006), equations 5.9 and 5.10; Laplace's approximation after
    MacKay (1992), Neural Computation 4; families as in Duvenaud (2014), Automatic model
    construction with Gaussian processes; medians of length scales after Hvarfner, Hellsten & Nardi
    (2024), Vanilla Bayesian optimization performs great in high dimensions.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior, noise = bnn.evidence.fit_kernel_average(X, y)
        >>> len(prior.components)
        16
    """
    return found_mixture(X, y, noise, random_state)[:2]


def found_mixture(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise | str | None = None,
    random_state: int | None = 0,
) -> tuple[MixturePrior, Noise | StudentNoise, Array | None]:
    """Return what `fit_kernel_average` does, and E λ_i, (N,), of a StudentNoise or None."""
    X, y = as_data(X, y)
    kind, given = _kind_or_noise(noise, X, y)
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    n_out = y.shape[1]
    check_outputs_vary(y)
    rows = _searched_rows(X, y, random_state)
    means = y[rows].mean(axis=0)
    spreads = y[rows].var(axis=0)
    varying = sorted_inputs(X[rows], y[rows] - means, varying_inputs(X))
    inputs = X[rows][:, varying]
    low = inputs.min(axis=0)
    width = np.ptp(inputs, axis=0)
    u = (inputs - low) / width
    standard = StandardBasis(X[rows], ())
    basis = standard.values[:, varying]
    most = most_components(COMPONENTS, *y.shape)
    known = None if given is None else _variances(given, X[rows], n_out) / spreads
    noises = []
    kernels = []
    posteriors = []
    steps = n_out * (len(families_for(*u.shape)) + STAGES)
    bar = progress_bar(steps, titled("prior and noise", None), "step")
    with bar, threads_for(len(rows)):
        for j, (values, spread) in enumerate(zip((y[rows] - means).T, spreads, strict=True)):
            column = values / np.sqrt(spread)
            if known is None:
                fits, own = _fit_output(u, column, basis, kind, random_state, bar.update)
            else:
                fits = _likely(_fit_families(u, column, known[:, j], random_state, bar.update))
                own = None
                bar.update(STAGES - 1)  # no noise is searched, and families are fitted once
            draws, *posterior = components(fits, most, random_state)
            if own is not None and own.factors is not None:
                draws, posterior[1], own = averaged_tails(draws, posterior[0], own)
            noises.append(own)
            kernels.append([each.kernel(eta, low, width, float(spread)) for each, eta in draws])
            posteriors.append(posterior)
            bar.update()
    features = None if np.array_equal(varying, range(X.shape[1])) else varying.tolist()
    mean = LinearMean(np.zeros((n_out, X.shape[1])), means)
    # Component s has kernel s of each output.
    priors = [
        GaussianProcessPrior(mean, list(each), n_out, features)
        for each in zip(*kernels, strict=True)
    ]
    prior = MixturePrior(priors, np.column_stack([prior_weights(*each) for each in posteriors]))
    found = [own for own in noises if own is not None]
    factors = found[0].factors if found else None
    joint: Noise | StudentNoise
    if given is not None:
        joint = given
    else:
        joint = _in_units(found, spreads, standard, varying, kind)
        if kind == "heteroscedastic" and n_out > 1:
            assert isinstance(joint, HeteroscedasticNoise)
            joint = replace(joint, correlation=noise_correlation(prior, joint, X[rows], y[rows]))
    if len(rows) < len(X):
        if factors is not None:
            factors = _factors_of_all(prior, joint, factors, rows, X, y)
        prior = _given_all(prior, joint, factors, posteriors, X, y)
    return prior, joint, factors


def _kind_or_noise(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> tuple[str | None, Noise | None]:
    """Return the kind of the noise, None for any that the data may have, or the known noise."""
    n_out = y.shape[1]
    if isinstance(noise, StudentNoise):
        raise ValueError(
            'noise: a StudentNoise is not taken here; pass "student_t", or use fit_prior'
        )
    if noise is None or isinstance(noise, str):
        if noise is not None:
            check_option("noise", noise, KINDS)
        if noise == "student_t" and n_out > 1:
            raise ValueError(
                f'noise = "student_t" with {n_out} outputs: must be one; use fit_prior'
            )
        return (GAUSSIAN if noise is None and n_out > 1 else noise), None
    known = without_zeros(noise, y)
    checked_noise(known, X.shape[1], n_out)
    return None, known


def _variances(noise: Noise, X: Array, n_out: int) -> Array:
    """Return the variances of known noise at X (N, n_in), (N, n_out)."""
    covariances = covariance_at(checked_noise(noise, X.shape[1], n_out), X)
    return np.asarray(np.einsum("...jj->...j", covariances) * np.ones((len(X), 1)))


def _searched_rows(X: Array, y: Array, seed: int | None) -> Ints:
    """Return the numbers of the data of the searches, in which all that varies does so."""
    rows = some_rows(len(X), SEARCHED, seed)
    columns = np.hstack([X, y])
    rare = varies(columns) & ~varies(columns[rows])
    added = [rows]
    for column in columns[:, rare].T:
        # The rows that differ most from the value that the chosen ones have in common.
        away = np.abs(column - column[rows[0]])
        farthest = np.argsort(-away, kind="stable")[:RARE]
        added.append(farthest[away[farthest] > 0.0])
    return np.asarray(np.unique(np.concatenate(added)))


def _factors_of_all(
    prior: MixturePrior,
    noise: Noise | StudentNoise,
    factors: Array,
    rows: Ints,
    X: Array,
    y: Array,
) -> Array:
    """Return E λ_i of all data, (N,), from those of the data with the numbers `rows`."""
    kept = checked_tails(noise, X.shape[1], y.shape[1])
    assert isinstance(kept, StudentNoise)
    kept_factors = np.full(len(X), np.nan)
    kept_factors[rows] = factors
    known = covariance_at(kept, X)
    return factors_of(prior, kept, X, y, known, TAIL_STEPS, kept=kept_factors)[2]


def _given_all(
    prior: MixturePrior,
    noise: Noise | StudentNoise,
    factors: Array | None,
    posteriors: Sequence[Sequence[Array]],
    X: Array,
    y: Array,
) -> MixturePrior:
    """Return a prior that was found by some of the data, with weights by the evidence of all.

    Args:
        prior: The prior.
        noise: The noise.
        factors: E λ_i of all data under a StudentNoise, (N,).
        posteriors: For each output the posterior weights of the components given some of the data,
            (S,), and the log evidence of these data under each component, (S,).
        X: All inputs, (N, n_in).
        y: All outputs, (N, n_out).
    """
    kept = checked_tails(noise, X.shape[1], y.shape[1])
    known = covariance_at(kept, X)
    if isinstance(kept, StudentNoise) and factors is not None:
        known = given_factors(kept, known, factors)
    known = resolved(known, prior.components, X) * np.eye(y.shape[1])
    each = [ProcessPosterior(one, known, X, y).log_evidences for one in prior.components]
    weights = [
        prior_weights(updated(share, of_all - of_some), of_all)
        for (share, of_some), of_all in zip(posteriors, np.transpose(each), strict=True)
    ]
    return replace(prior, weights=np.column_stack(weights))


def _fit_output(
    u: Array,
    y: Array,
    basis: Array,
    kind: str | None,
    seed: int | None,
    step: Callable[[], object],
) -> tuple[list[FamilyFit], OutputNoise]:
    """Return the likely families of one output under the noise that is found, and this noise.

    Args:
        u: Inputs scaled to [0, 1], (N, n).
        y: Output less its mean, in units of its standard deviation, (N,).
        basis: b_i of the noise, (N, p).
        kind: One of KINDS, or None for any.
        seed: Of draws and starts.
        step: Called after each family, after the noise, and after the families under it.
    """
    families = _likely(_fit_families(u, y, None, seed, step))
    best, noise = _gaussian_noise(families, basis, kind, seed)
    if kind in (None, "student_t"):
        best, noise = student_noise(best, noise, always=kind == "student_t")
    step()
    others = [fit for fit in families if fit.density.family != best.density.family]
    again = []
    for fit in [best, *others]:
        density = FamilyDensity(fit.density.family, u, y, None, noise.variances)
        again.append(fit.refitted(density, seed, REFIT_STEPS))
    step()
    return _likely(again), noise


def families_for(n_data: int, n_inputs: int) -> list[Family]:
    """Return the families that are tried, in the order of their searches."""
    few = n_data <= FEW
    sparse = few and n_data < PER_INPUT * n_inputs
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


def _fit_families(
    u: Array, y: Array, known: Array | None, seed: int | None, step: Callable[[], object]
) -> list[FamilyFit]:
    """Fit each family under known variances of the noise, (N,), or, for None, constant noise."""
    fits: list[FamilyFit] = []
    basis = np.zeros((len(u), 0)) if known is None else None
    relative = np.ones(len(u)) if known is None else known
    for family in families_for(*u.shape):
        density = FamilyDensity(family, u, y, basis, relative)
        # A search starts where the search for the last family ended.
        starts = [density.start_from(last.density, last.eta) for last in fits[-1:]]
        if not starts or len(u) <= FEW:
            near = SPARSE_STARTS if family.sparse and not starts else 0
            starts += _further_starts(density, near, seed)
        fits.append(approximated(density, most_probable(density, starts), seed))
        step()
    return fits


def _further_starts(density: FamilyDensity, near: int, seed: int | None) -> list[Array]:
    """Return the hyperprior's median, the best of STARTS draws, and some of these, nearer by."""
    drawn = generator(seed).standard_normal((STARTS, len(density.centre)))
    away = drawn * density.precision**-0.5
    points = np.clip(density.centre + away, *density.limits.T)
    further = density.centre + NEAR * away[:near]
    return [density.centre, max(points, key=density.value), *further]


def _likely(fits: list[FamilyFit]) -> list[FamilyFit]:
    """Return the families whose evidence is large enough to be averaged.

    A family whose share is limited does not rule out another one.
    """
    largest = max(fit.log_evidence for fit in fits if fit.density.family.most == 1.0)
    return [fit for fit in fits if fit.log_evidence > largest - LIKELY]


def _gaussian_noise(
    families: list[FamilyFit], basis: Array, kind: str | None, seed: int | None
) -> tuple[FamilyFit, OutputNoise]:
    """Return the more probable fit and the noise, averaged over constant and input-dependent noise.

    Constant noise is averaged over all families; input-dependent noise is that of the best family
    only. The kind "constant" leaves the second one out, and "heteroscedastic" always keeps it.
    """
    best = max(families, key=lambda fit: fit.log_evidence)
    variances, _ = _average_noise(families, seed)
    slopes = np.zeros(basis.shape[1])
    sloped = best
    share = 0.0
    if kind != "constant":
        constant = best.density
        by_input = FamilyDensity(constant.family, constant.u, constant.y, basis, constant.relative)
        sloped = best.refitted(by_input, seed)
        # P = p(y | slopes) / (p(y | slopes) + odds p(y | constant))
        share = float(expit(sloped.log_evidence - best.log_evidence - np.log(ODDS)))
    if share > NEGLIGIBLE or kind == "heteroscedastic":
        # E σ_i² = P E[σ_i² | slopes] + (1 - P) E[σ² | constant], and likewise E β
        sloped_variances, sloped_slopes = _average_noise([sloped], seed)
        variances = share * sloped_variances + (1.0 - share) * variances
        slopes = share * sloped_slopes
    # log σ_i = level + β·b_i, where b_i have a mean of zero
    level = 0.5 * float(np.log(variances).mean())
    noise = OutputNoise(level, slopes, np.exp(2.0 * (level + basis @ slopes)))
    return sloped if share > 0.5 else best, noise


def _average_noise(fits: list[FamilyFit], seed: int | None) -> tuple[Array, Array]:
    """Return E σ_i² at the data, (N,), and E β, (p,), averaged over families and their draws."""
    draws, logs = posterior_draws(fits, seed)
    weights = np.exp(logs)
    # E σ_i² = Σ_s w_s σ_i²(η_s), and likewise E β
    variances = np.array([density.variances(eta) for density, eta in draws])
    slopes = np.array([eta[density.slopes] for density, eta in draws])
    return np.asarray(weights @ variances), np.asarray(weights @ slopes)


def _in_units(
    noises: Sequence[OutputNoise],
    spreads: Array,
    standard: StandardBasis,
    varying: Ints,
    kind: str | None,
) -> Noise | StudentNoise:
    """Return the noise of all outputs in the units of the data, for outputs of given variances."""
    # log σ = level + ½ log var y
    levels = np.array([noise.level for noise in noises]) + 0.5 * np.log(spreads)
    joint: Noise = np.exp(levels)
    if kind == "heteroscedastic" or any(noise.slopes.any() for noise in noises):
        slopes = np.zeros((standard.values.shape[1], len(noises)))
        slopes[varying] = np.column_stack([noise.slopes for noise in noises])
        joint = standard.noise(levels, slopes)
    freedom = noises[0].freedom
    return joint if freedom is None else StudentNoise(joint, freedom)
