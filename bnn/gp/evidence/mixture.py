"""The search for prior and noise by the evidence, averaged over families of Gaussian processes.

There are four stages. First, families of kernels are fitted to each output under constant noise.
Second, this noise is compared with small noise, input-dependent noise and heavy tails. Third, the
families are fitted again under the noise that was found. Fourth, draws of their hyper-parameters
become the components of a mixture. If the noise is known, the families are fitted once, under this
noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from bnn._progress import progress_bar, titled
from bnn._validation import MOST_RESTARTS, Array, as_data, check_count, check_option
from bnn.gp.evidence.answer import factors_of_all, given_all, noise_correlation, noise_of, priors_of
from bnn.gp.evidence.families import Family
from bnn.gp.evidence.given_kernel import warn_of_far
from bnn.gp.evidence.laplace import prior_weights
from bnn.gp.evidence.scaling import SearchData
from bnn.gp.evidence.search import STAGES, Search, families_for
from bnn.gp.hyperparameters import AROUND, most_components, threads_for
from bnn.gp.kernels import RBF
from bnn.gp.means import ModelMean
from bnn.gp.mixture import MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise, checked_noise
from bnn.noise.given import without_zeros
from bnn.noise.known import TAILS_ALONE, no_noise

COMPONENTS = 16  # most components of the prior
GAUSSIAN = "gaussian"  # noise that is constant or input-dependent, averaged over both
KINDS = ("constant", "heteroscedastic", "student_t")
FORM = Family((RBF,))  # the family if a mean is given


def fit_kernel_average(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise | str | None = None,
    *,
    random_state: int | None = 0,
) -> tuple[MixturePrior, Noise | StudentNoise]:
    """Estimate prior and noise together, averaged over families of Gaussian processes.

    For each output these families are tried, one after the other:

    - up to 300 data, an RBF and a Matérn kernel of ν = 3/2, both of unwarped inputs;
    - a Matérn kernel of ν = 5/2 of warped inputs, see `Warped`;
    - the sum of this kernel and a rougher Matérn kernel of ν = 3/2;
    - from 10 n_in² data on, if n_in > 1, this sum for inputs that are warped and mixed;
    - above 300 data, an RBF of unwarped inputs, whose weight is at most one half.

    From 10 n_in data up to 300 each family also has a linear trend, whose slopes have an unknown
    variance. With fewer data slopes often cost more evidence than they gain. Then the families have
    no trend, and an RBF with a trend is tried in addition. The hyperprior of length scales is wider
    then, and its medians grow with √n_in.

    Families are averaged if their evidence, by Laplace's approximation, is at least e⁻⁷ times the
    largest. Hyper-parameters are drawn from the posteriors of these families. The draws have
    importance weights, tempered so that their effective number, 1 / Σ w², is at least eight. The
    evidence of a family is estimated from its draws if these weights are reliable. A few draws
    become the components of the mixture. Given the data, it has about the same means and variances
    of f as all draws together. As for `fit_prior`, the weights of the mixture are posterior weights
    divided by the evidence of each component.

    Of more than 1,500 data, 1,500 are chosen at random for the searches and draws, and up to ten
    more for each input or output that varies only in the rows left out. The evidence of all data
    then updates the posterior weights of the components. They are tempered so that the effective
    number of components stays as large as before, or at least eight.

    The noise of an output is an average, weighted by the evidence, over constant noise and noise
    whose logarithm is linear in the inputs. Up to 300 data the constant noise of
    an RBF is either of usual size or small, as of a deterministic simulator. The medians of its
    variance are exp(-4) and 1e-6 times that of the output, and usual noise is three times as
    probable a priori. The noise of a single output has heavy tails if these are more probable.
    Constant noise is ten times as probable a priori as input-dependent noise, and Gaussian noise
    ten times as probable as heavy tails. The precision factors of the data, see `StudentNoise`, are
    then estimated under all components together, with their posterior weights. A `GPRegressor` with
    default settings takes these factors. If you pass this prior and noise to a GPRegressor, it
    estimates the factors again, with weights from the evidence. Fewer components may then have a
    noticeable weight.

    If you pass noise, or a kind of noise, it replaces these choices.

    Args:
        X: (N, n_in); inputs that vary by no more than rounding are left out of the kernel.
        y: (N,) or (N, n_out).
        noise: None chooses the noise as described above. "gaussian" does so without heavy tails.
            "constant", "heteroscedastic" and "student_t" fix the kind of noise. Known noise is
            given as standard deviations, Σ_noise, a HeteroscedasticNoise or a StudentNoise; its
            correlations between outputs are ignored in the search.
        random_state: Seed of draws and starts, and of the data that are chosen.

    Returns:
        The prior and the noise. The prior has 16 components, or fewer if their covariance matrices
        would take more than 1 GB, for one output from 2,800 data on. The noise is the given noise,
        or standard deviations (n_out,), a HeteroscedasticNoise or a StudentNoise. With
        "heteroscedastic" it includes the correlations between outputs.

    Raises:
        ValueError: If no input varies or an output does not vary, or if the shapes of X, y and the
            noise do not match.

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
    prior, found, _ = found_model(SearchData(*as_data(X, y), seed=random_state), noise)
    assert isinstance(prior, MixturePrior)
    return prior, found


def found_model(
    data: SearchData,
    noise: Noise | StudentNoise | str | None = None,
    *,
    restarts: int = 1,
    estimate: str = "average",
    most: int = COMPONENTS,
) -> tuple[MixturePrior | GaussianProcessPrior, Noise | StudentNoise, Array | None]:
    """Search for prior and noise: the families of `fit_kernel_average`, or FORM for a given mean.

    If the data have a prior with open parameters, its kernels are the only family.

    Args:
        data: The data, and the mean or prior if it is given.
        noise: As for `fit_kernel_average`.
        restarts: Number of random starts of a search.
        estimate: "average", or "map" for the hyper-parameters of largest evidence.
        most: Most components of the prior.

    Returns:
        The prior, the noise, and E λ_i of the data, (N,), if heavy tails were found.

    Raises:
        ValueError: As `fit_kernel_average`.
    """
    check_option("estimate", estimate, ("average", "map"))
    check_count("restarts", restarts, 0, MOST_RESTARTS)
    N, n_out = data.y.shape
    kind, given = _kind_or_noise(noise, data)
    form = [replace(FORM, flat=estimate == "map")]
    if data.prior is not None:
        form = [Family((), sparse=data.sparse, flat=estimate == "map")]
    families = form if data.mean_given else families_for(*data.u.shape)
    bar = progress_bar(n_out * (len(families) + STAGES), titled("prior and noise", None), "step")
    search = Search(data, families, kind, given, restarts, bar.update)
    with bar, threads_for(len(data.rows)):
        search.fit()
        if estimate == "map":
            draws = search.likeliest()
        else:
            # A low-fidelity model or a custom kernel may be undefined beyond the data.
            inside = data.prior is not None or isinstance(data.mean, ModelMean)
            around = 1.0 if inside else AROUND
            draws, posteriors = search.components(most_components(most, N, n_out), around)
    priors = priors_of(data, draws)
    found = given if given is not None else noise_of(data, search.noises, kind)
    if data.prior is not None:
        of_draws = posteriors if estimate == "average" else [(np.ones(1), None)] * n_out
        for given_, each, (shares, _) in zip(data.given, draws, of_draws, strict=True):
            if given_ is not None and given_.open:
                logs = shares @ np.array([eta[density.open] for density, eta in each])
                warn_of_far(given_, logs, stacklevel=6)
    if estimate == "map":
        return priors[0], found, None
    weights = [prior_weights(*each) for each in posteriors]
    prior = MixturePrior(priors, np.column_stack(weights))
    if kind == "heteroscedastic" and n_out > 1 and data.variances_known is None:
        assert isinstance(found, HeteroscedasticNoise)
        rows = data.rows
        known = None if data.noise_known is None else data.noise_known.rows(rows)
        correlation = noise_correlation(prior, found, data.X[rows], data.y[rows], known)
        found = replace(found, correlation=correlation)
    factors = search.noises[0].factors if search.noises else None
    if len(data.rows) < N:
        full = found
        if isinstance(given, StudentNoise):
            full = replace(given, df=search.noises[0].freedom)
        if factors is not None:
            factors = factors_of_all(prior, full, factors, data)
        prior = given_all(prior, full, factors, posteriors, data)
    # Factors under given noise come from one fit, so `factors_of` finds those of all components.
    return prior, found, factors if given is None else None


def _kind_or_noise(
    noise: Noise | StudentNoise | str | None, data: SearchData
) -> tuple[str | None, Noise | StudentNoise | None]:
    """Return the kind of noise, None for any or for known Gaussian noise, and the known noise."""
    n_in = data.X.shape[1]
    n_out = data.y.shape[1]
    if noise is None and data.variances_known is not None:
        noise = np.zeros((n_out, n_out))
    if noise is None:
        return (GAUSSIAN if n_out > 1 or data.noise_known is not None else None), None
    if isinstance(noise, np.ndarray) and data.variances_known is not None and no_noise(noise):
        return None, noise
    if data.noise_known is not None and (noise == "student_t" or isinstance(noise, StudentNoise)):
        raise ValueError(f"noise = {noise!r:.60}: {TAILS_ALONE}")
    if isinstance(noise, str):
        check_option("noise", noise, (GAUSSIAN, *KINDS))
        return noise, None
    if isinstance(noise, StudentNoise):
        checked_noise(noise.noise, n_in, n_out)
        if noise.df != np.inf:
            return "student_t", noise
        noise = noise.noise
    known = without_zeros(noise, data.y)
    checked_noise(known, n_in, n_out)
    return None, known
