"""The one search for prior and noise by the evidence, averaged over families of processes.

There are four stages. First, families of kernels are fitted to each output under constant noise.
Second, this noise is compared with input-dependent noise and with heavy tails. Third, the families
are fitted again under the noise that was found. Fourth, draws of their hyper-parameters become the
components of a mixture. If the noise is known, the families are fitted once, under this noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.gaussian_process import kernels as sk

from bnn._progress import progress_bar, titled
from bnn._seeding import generator
from bnn._validation import (
    MOST_RESTARTS,
    Array,
    Ints,
    as_data,
    check_count,
    check_option,
    check_outputs_vary,
    varies,
)
from bnn.gp.conditioning import ProcessPosterior, resolved
from bnn.gp.evidence.families import Family, FamilyDensity
from bnn.gp.evidence.laplace import (
    Draw,
    FamilyFit,
    approximated,
    components,
    most_probable,
    posterior_draws,
    prior_weights,
    some_rows,
    updated,
)
from bnn.gp.evidence.tails import (
    ODDS,
    TAIL_STEPS,
    OutputNoise,
    averaged_tails,
    student_noise,
)
from bnn.gp.evidence.trend import KnownTrend, detrended, sorted_inputs, varying_inputs
from bnn.gp.hyperparameters import AROUND, most_components, threads_for
from bnn.gp.kernels import RBF, Matern32, Matern52
from bnn.gp.means import LinearMean, ModelMean
from bnn.gp.mixture import MixturePosterior, MixturePrior
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
STARTS = 8  # points drawn from the hyperprior for a random start, which is the best of them
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
FORM = Family((RBF,))  # of a process beside a mean that is given


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
    the inputs, by their evidence. The noise of a single output has heavy tails if these are
    likelier. Constant noise is ten times as probable a priori as noise by input, and Gaussian noise
    ten times as probable as heavy tails. The precision factors of the data, see `StudentNoise`, are
    then found under all components together, with their posterior weights: a `GPRegressor` with
    default settings takes these factors. With this prior and noise given, it finds factors anew,
    under weights by the evidence, and fewer components may count.

    Noise that is given, or of a given kind, replaces these choices.

    Args:
        X: (N, n_in); inputs that vary by no more than rounding are left out of the kernel.
        y: (N,) or (N, n_out).
        noise: None chooses as described above. "gaussian" does so without heavy tails; "constant",
            "heteroscedastic" and "student_t" are the kind of the noise. Known noise is given as
            standard deviations, Σ_noise, a HeteroscedasticNoise or a StudentNoise; its correlations
            between outputs are ignored in the search.
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
    prior, found, _ = found_model(*as_data(X, y), noise, random_state)
    assert isinstance(prior, MixturePrior)
    return prior, found


@dataclass(frozen=True)
class _Search:
    """What the searches of all outputs have in common.

    Attributes:
        u: Inputs scaled to [0, 1], (N, n).
        columns: Outputs less their means, in units of their standard deviations, (N, n_out).
        families: The families that are tried.
        trends: For each output a mean of known prior variances, or None.
        basis: b_i of input-dependent noise, (N, p).
        kind: One of KINDS, or None for any; None for known Gaussian noise too.
        known: Variances of the noise if they are known, relative to those of y, (N, n_out).
        freedom: ν of heavy tails if it is known.
        restarts: Number of random starts of a search.
        seed: Of draws and starts.
        step: Called after each family and stage, with the number of outputs that have passed it.
    """

    u: Array
    columns: Array
    families: Sequence[Family]
    trends: Sequence[KnownTrend | None]
    basis: Array
    kind: str | None
    known: Array | None
    freedom: float | None
    restarts: int
    seed: int | None
    step: Callable[[int], object]


def found_model(
    X: Array,
    y: Array,
    noise: Noise | StudentNoise | str | None = None,
    random_state: int | None = 0,
    *,
    form: Mapping[str, Any] | None = None,
    restarts: int = 1,
    estimate: str = "average",
) -> tuple[MixturePrior | GaussianProcessPrior, Noise | StudentNoise, Array | None]:
    """Search for prior and noise: the families of `fit_kernel_average`, or FORM beside a mean.

    Args:
        X: (N, n_in), which `as_data` has checked.
        y: (N, n_out).
        noise: As for `fit_kernel_average`.
        random_state: As for `fit_kernel_average`.
        form: Arguments of `detrended`, which describe the mean beside FORM; None takes families.
        restarts: Number of random starts of a search.
        estimate: "average", or "map" for the hyper-parameters of largest evidence.

    Returns:
        The prior, the noise, and E λ_i of the data, (N,), if heavy tails were found.

    Raises:
        ValueError: As `fit_kernel_average`, or if the mean does not fit the data.
    """
    check_option("estimate", estimate, ("average", "map"))
    check_count("restarts", restarts, 0, MOST_RESTARTS)
    kind, given = _kind_or_noise(noise, X, y)
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    n_out = y.shape[1]
    rows = _searched_rows(X, y, random_state)
    known_means: list[sk.Kernel | None] = [None] * n_out
    if form is None:
        check_outputs_vary(y)
        means = y[rows].mean(axis=0)
        mean: LinearMean | ModelMean | float = LinearMean(np.zeros((n_out, X.shape[1])), means)
        columns = y[rows] - means
        spreads = y[rows].var(axis=0)
    else:
        columns, known_means, mean = detrended(X[rows], y[rows], **form)
        spreads = columns.var(axis=0)
    varying = sorted_inputs(X[rows], columns, varying_inputs(X))
    inputs = X[rows][:, varying]
    low = inputs.min(axis=0)
    width = np.ptp(inputs, axis=0)
    standard = StandardBasis(X[rows], ())
    families = (
        families_for(*inputs.shape) if form is None else [replace(FORM, flat=estimate == "map")]
    )
    steps = n_out * (len(families) + STAGES)
    bar = progress_bar(steps, titled("prior and noise", None), "step")
    scaled = low, width
    search = _Search(
        u=(inputs - low) / width,
        columns=columns / np.sqrt(spreads),
        families=families,
        trends=[
            None if form is None else KnownTrend(each, X[rows], varying, *scaled, float(spread))
            for each, spread in zip(known_means, spreads, strict=True)
        ],
        basis=standard.values[:, varying],
        kind=kind,
        known=None if given is None else _variances(given, X[rows], n_out) / spreads,
        freedom=given.freedom if isinstance(given, StudentNoise) else None,
        restarts=restarts,
        seed=random_state,
        step=bar.update,
    )

    def kernels_of(draws: Sequence[Sequence[Draw]]) -> list[list[sk.Kernel]]:
        """Return the kernels of the outputs, in their units, for each component."""
        found = []
        for each, known_mean, spread in zip(draws, known_means, spreads, strict=True):
            kernels = [density.kernel(eta, *scaled, float(spread)) for density, eta in each]
            if form is not None:
                kernels = [_of_all_inputs(k, varying, X.shape[1], known_mean) for k in kernels]
            found.append(kernels)
        return [list(each) for each in zip(*found, strict=True)]

    # The kernels of families are those of the inputs that vary, in the order of the search.
    whole = form is not None or np.array_equal(varying, range(X.shape[1]))
    features = None if whole else varying.tolist()
    with bar, threads_for(len(rows)):
        fits, noises = _fitted(search)
        if estimate == "map":
            likeliest = [max(each, key=lambda fit: fit.log_evidence) for each in fits]
            (kernels,) = kernels_of([[(fit.density, fit.eta)] for fit in likeliest])
            bar.update(n_out)
            found = (
                given if given is not None else _in_units(noises, spreads, standard, varying, kind)
            )
            return GaussianProcessPrior(mean, kernels, n_out, features), found, None
        most = most_components(COMPONENTS, *y.shape)
        # A low-fidelity model may have no values beyond the data.
        around = 1.0 if isinstance(mean, ModelMean) else AROUND
        draws = []
        posteriors = []
        for each in fits:
            chosen, *posterior = components(each, most, random_state, around)
            draws.append(chosen)
            posteriors.append(posterior)
            bar.update()
        if given is None and noises[0].factors is not None:
            shares = [share for share, _ in posteriors]
            draws, evidences, noises = averaged_tails(draws, shares, noises)
            posteriors = [list(each) for each in zip(shares, evidences, strict=True)]
    priors = [GaussianProcessPrior(mean, each, n_out, features) for each in kernels_of(draws)]
    prior = MixturePrior(priors, np.column_stack([prior_weights(*each) for each in posteriors]))
    factors = noises[0].factors if noises else None
    joint: Noise | StudentNoise
    if given is None:
        joint = _in_units(noises, spreads, standard, varying, kind)
        if kind == "heteroscedastic" and n_out > 1:
            assert isinstance(joint, HeteroscedasticNoise)
            joint = replace(joint, correlation=noise_correlation(prior, joint, X[rows], y[rows]))
    else:
        joint = given
        if isinstance(given, StudentNoise):
            joint = replace(given, freedom=noises[0].freedom)
    if len(rows) < len(X):
        if factors is not None:
            factors = _factors_of_all(prior, joint, factors, rows, X, y)
        prior = _given_all(prior, joint, factors, posteriors, X, y)
    # Factors under known noise belong to one fit: `factors_of` finds those under all components.
    return (prior, joint, factors) if given is None else (prior, given, None)


def _of_all_inputs(
    kernel: sk.Kernel, varying: Ints, n_inputs: int, known_mean: sk.Kernel | None
) -> sk.Kernel:
    """Return a stationary kernel of chosen inputs as one of all inputs, with that of the mean."""
    lengthscale = np.full(n_inputs, np.inf)
    lengthscale[varying] = kernel.lengthscale
    whole = type(kernel)(kernel.variance, tuple(lengthscale.tolist()))
    return whole if known_mean is None else whole + known_mean


def noise_correlation(
    prior: MixturePrior, noise: HeteroscedasticNoise, X: Array, y: Array
) -> Array:
    """Return the correlation of the noise of the outputs, given its standard deviations.

    It is that of the expected scatter of (y - f) / σ, and of n_out observations without any.
    """
    covariances = noise(X)
    given = MixturePosterior(prior, resolved(covariances, prior.components, X), X, y)
    deviations = np.sqrt(np.einsum("njj->nj", covariances))
    away = (y - given.mean(X)) / deviations
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S at each datum
    spread = given.covariances(X) / deviations[:, :, None] / deviations[:, None, :]
    scatter = away.T @ away + spread.sum(axis=0) + y.shape[1] * np.eye(y.shape[1])
    scale = np.sqrt(np.diag(scatter))
    return np.asarray(scatter / np.outer(scale, scale))


def _kind_or_noise(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> tuple[str | None, Noise | StudentNoise | None]:
    """Return the kind of the noise, None for any that the data may have, and the known noise."""
    n_out = y.shape[1]
    if noise is None:
        return (GAUSSIAN if n_out > 1 else None), None
    if isinstance(noise, str):
        check_option("noise", noise, KINDS)
        return noise, None
    if isinstance(noise, StudentNoise):
        checked_noise(noise.noise, X.shape[1], n_out)
        if noise.freedom != np.inf:
            return "student_t", noise
        noise = noise.noise
    known = without_zeros(noise, y)
    checked_noise(known, X.shape[1], n_out)
    return None, known


def _variances(noise: Noise | StudentNoise, X: Array, n_out: int) -> Array:
    """Return the variances of known noise at X (N, n_in), (N, n_out)."""
    covariances = covariance_at(checked_tails(noise, X.shape[1], n_out), X)
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


def _fitted(search: _Search) -> tuple[list[list[FamilyFit]], list[OutputNoise]]:
    """Return the likely families of each output, and the noise of each unless it is known."""
    outputs = range(search.columns.shape[1])
    families = [_likely(_fit_families(search, j)) for j in outputs]
    if search.known is None:
        pairs = [_gaussian_noise(f, search.basis, search.kind, search.seed) for f in families]
        bests = [best for best, _ in pairs]
        noises = [noise for _, noise in pairs]
    elif search.kind is None:  # no noise is searched, and families are fitted once
        search.step((STAGES - 1) * len(outputs))
        return families, []
    else:
        bests = [max(each, key=lambda fit: fit.log_evidence) for each in families]
        none = np.zeros(search.basis.shape[1])
        noises = [OutputNoise(0.0, none, known) for known in search.known.T]
    if search.kind in (None, "student_t"):
        always = search.kind is not None
        bests, noises = student_noise(bests, noises, always, search.known, search.freedom)
    search.step(len(outputs))
    again = []
    for best, each, noise in zip(bests, families, noises, strict=True):
        others = [fit for fit in each if fit.density.family != best.density.family]
        fits = [best, *others]
        densities = [fit.density.under(noise.variances) for fit in fits]
        pairs_again = zip(fits, densities, strict=True)
        refits = [fit.refitted(d, search.seed, REFIT_STEPS) for fit, d in pairs_again]
        again.append(_likely(refits))
        search.step(1)
    return again, noises


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


def _fit_families(search: _Search, j: int) -> list[FamilyFit]:
    """Fit each family to output j, under known variances of the noise or else constant noise."""
    fits: list[FamilyFit] = []
    u = search.u
    y = np.ascontiguousarray(search.columns[:, j])
    basis = np.zeros((len(u), 0)) if search.known is None else None
    relative = np.ones(len(u)) if search.known is None else search.known[:, j]
    for family in search.families:
        density = FamilyDensity(family, u, y, basis, relative, search.trends[j])
        # A search starts where the search for the last family ended.
        starts = [density.start_from(last.density, last.eta) for last in fits[-1:]]
        if not starts or len(u) <= FEW:
            near = SPARSE_STARTS if family.sparse and not starts else 0
            starts += _further_starts(density, search.restarts, near, search.seed)
        fits.append(approximated(density, most_probable(density, starts), search.seed))
        search.step(1)
    return fits


def _further_starts(
    density: FamilyDensity, restarts: int, near: int, seed: int | None
) -> list[Array]:
    """Return the hyperprior's median, and draws from the hyperprior.

    These are the best of STARTS draws for each restart, and `near` of the draws, nearer by.
    """
    drawn = generator(seed).standard_normal((restarts * STARTS, len(density.centre)))
    away = drawn * density.deviations
    points = np.clip(density.centre + away, *density.limits.T)
    groups = points.reshape(restarts, STARTS, len(density.centre))
    further = density.centre + NEAR * away[:near]
    return [density.centre, *(max(each, key=density.value) for each in groups), *further]


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
