"""Numbers and claims of the study of functional priors (section 2.2 of the paper)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import chi2

from figures.claims import Claim
from figures.scores import Interval, all_hold, is_below, over_repeats
from prior_study import Study
from prior_study.priors import STUDY_PRIORS
from prior_study.reconstruction import (
    ARCHITECTURE,
    WEIGHT_PRIOR_NAMES,
    half_widths,
    sampled_functions,
    width_error,
)
from prior_study.statistics import LEVEL, directions, held
from prior_study.study import SOURCES, TRUE_FUNCTIONS, PriorResult

LEADING = 10  # leading directions of the weights, a tenth of those of 100 networks
SMALL = 10  # number of networks in a small ensemble
FACTORISED = ("factorised", "generalised_normal")  # densities without correlations
# Prior → kind of weight prior → distance of networks drawn from it
Distances = Mapping[str, Mapping[str, Interval]]


def variance_table(studies: Sequence[Study]) -> dict[str, dict[str, Interval]]:
    """Return Table 1: prior → group → variance of the demeaned weights over initialisations."""
    return over_repeats(
        [{name: _variances(result) for name, result in s.results.items()} for s in studies]
    )


def distance_table(studies: Sequence[Study]) -> dict[str, dict[str, dict[str, Interval]]]:
    """Return the numbers for Fig. 4: prior → source of functions → measure over initialisations."""
    return over_repeats(
        [
            {name: result.comparison.to_dict("index") for name, result in study.results.items()}
            for study in studies
        ]
    )


def weight_table(study: Study) -> dict[str, dict[str, Any]]:
    """Return Figs. 2, 3 and 5 in numbers, by prior; lists have one entry per kernel, W0 to W4."""
    return {
        name: {
            "unexplained": result.unexplained,
            "sigma": np.sqrt(result.statistics.variance[1:]).tolist(),
            "alpha": result.statistics.alpha[1:].tolist(),
            "beta": result.statistics.beta[1:].tolist(),
            "excess_kurtosis": result.statistics.excess_kurtosis[1:].tolist(),
            "mean_correlation": result.statistics.mean_correlation.tolist(),
            "null_correlation": result.statistics.null_correlation.tolist(),
            "largest_singular_value": float(result.statistics.singular_values[0]),
            "median_singular_value": float(np.median(result.statistics.singular_values)),
            "leading": float(held(result.statistics.singular_values)[:LEADING][-1]),
            "directions": directions(result.statistics.singular_values),
        }
        for name, result in study.results.items()
    }


def claims(studies: Sequence[Study]) -> list[Claim]:
    """Return the claims of section 2.2, with means over the initialisations.

    Studies after the first may lack some of the priors.
    """
    weights = over_repeats([_of_weights(study) for study in studies])
    variance = {name: row["all"] for name, row in variance_table(studies).items()}
    beta = {name: row["largest_beta"] for name, row in weights.items()}
    unexplained = {name: row["unexplained"] for name, row in weights.items()}
    return [
        Claim(
            "fit",
            "Fig. 1",
            "Networks reproduce the realisations that they are fitted to: less than 5 % of the "
            "variance is unexplained",
            unexplained,
            all_hold(is_below(share, _limit(0.05, share)) for share in unexplained.values()),
        ),
        Claim(
            "variance_grows",
            "Table 1",
            "The variance of the weights grows with the flexibility of the prior, A < B < C",
            variance,
            _grow(variance[name] for name in "ABC"),
        ),
        _anisotropy_claim(studies),
        Claim(
            "heavy_tails",
            "Fig. 2",
            "Weights have heavy tails: the largest shape parameter β0 of all kernels is below 2",
            beta,
            all_hold(is_below(exponent, _limit(2, exponent)) for exponent in beta.values()),
        ),
        _correlation_claim(weights),
        pattern_claim(weight_table(studies[0])),
        *_singular_value_claims(studies, weights),
        small_ensemble_claim(small_ensembles(studies)),
        *_spread_claims(studies),
        *reconstruction_claims(distance_table(studies)),
    ]


def _variances(result: PriorResult) -> dict[str, float]:
    """Return the variance of the demeaned weights, by group."""
    groups = map(str, result.statistics.groups)
    return dict(zip(groups, result.statistics.variance.tolist(), strict=True))


def _of_weights(study: Study) -> dict[str, dict[str, Any]]:
    """Return the numbers of one study for the claims about weights; kernels by their index."""
    return {
        name: {
            "unexplained": row["unexplained"],
            "largest_beta": max(row["beta"]),
            "mean_correlation": dict(enumerate(row["mean_correlation"])),
            "null_correlation": dict(enumerate(row["null_correlation"])),
            "median_singular_value": row["median_singular_value"],
            "leading": row["leading"],
        }
        for name, row in weight_table(study).items()
    }


def _limit(value: float, number: Interval) -> Interval:
    """Return a fixed limit as an interval, with as many values as a number has."""
    return Interval((value,) * len(number.values))


def _grow(numbers: Iterable[Interval]) -> bool | None:
    """Return whether each number is smaller than the next one, in paired comparisons."""
    return all_hold(is_below(first, second) for first, second in pairwise(numbers))


def _anisotropy_claim(studies: Sequence[Study]) -> Claim:
    """Return the claim that variances of kernels differ by more than their errors (Table 1)."""
    ours = over_repeats(
        [{n: _anisotropy(result) for n, result in study.results.items()} for study in studies]
    )
    level = float(chi2.ppf(LEVEL, len(ARCHITECTURE.layers) - 1))
    return Claim(
        "anisotropic",
        "Table 1",
        "The prior is not isotropic: variances of kernels differ by more than "
        f"their bootstrap errors, χ² above its 95 % quantile {level:.1f}",
        ours,
        all_hold(is_below(_limit(level, row["χ²"]), row["χ²"]) for row in ours.values()),
    )


def _anisotropy(result: PriorResult) -> dict[str, float]:
    """Return how much the variances of the kernels differ: their ratio, and χ²."""
    variance = result.statistics.variance[1:]
    error = result.statistics.variance_error[1:]
    common = np.average(variance, weights=error**-2)
    squares = float(np.sum(((variance - common) / error) ** 2))
    return {"largest / smallest": float(variance.max() / variance.min()), "χ²": squares}


def _correlation_claim(weights: Mapping[str, Mapping[str, Any]]) -> Claim:
    """Return the claim that weights are correlated, compared with independent ones (Fig. 3)."""
    pairs = {}
    for name in "BD":
        correlations = weights[name]["mean_correlation"]
        level = weights[name]["null_correlation"]
        pairs[name] = [*zip(correlations.values(), level.values(), strict=True)]
    return Claim(
        "correlated",
        "Fig. 3",
        "Weights within every kernel of priors B and D are correlated: mean |r| / "
        "95 % quantile of mean |r| for weights permuted over the networks, kernels W0 to W4",
        {
            name: "; ".join(f"{r.mean:.3f} / {level.mean:.3f}" for r, level in kernels)
            for name, kernels in pairs.items()
        },
        all_hold(is_below(level, r) for kernels in pairs.values() for r, level in kernels),
    )


def pattern_claim(weights: Mapping[str, Mapping[str, Any]]) -> Claim:
    """Return the claim that correlations of priors B and D differ (Fig. 3), for one study."""
    B, D = (weights[name] for name in "BD")
    pairs = {name: weights[name]["mean_correlation"] for name in "BD"}
    apart = np.abs(np.subtract(D["mean_correlation"], B["mean_correlation"]))
    return Claim(
        "varying_patterns",
        "Fig. 3",
        "Different priors lead to different correlations: mean |r| of priors B and D differs in "
        "every kernel by more than the 95 % quantile for permuted weights, kernels W0 to W4",
        {name: "; ".join(f"{r:.3f}" for r in values) for name, values in pairs.items()},
        bool(np.all(apart > np.maximum(B["null_correlation"], D["null_correlation"]))),
    )


def small_ensembles(studies: Sequence[Study]) -> dict[str, Interval]:
    """Return the width errors for prior D if densities are fitted to SMALL networks."""
    return over_repeats([_small_ensemble(study) for study in studies])


def _small_ensemble(study: Study) -> dict[str, float]:
    """Return the width errors of one study, by kind of density."""
    config = study.config
    weights = study.results["D"].weights[:SMALL]
    true = half_widths(
        STUDY_PRIORS["D"].process.sample(config.grid, TRUE_FUNCTIONS, config.seed + 2)[:, :, 0]
    )
    return {
        kind: width_error(sampled_functions(kind, weights, config), true)
        for kind in ("low_rank", "factorised")
    }


def small_ensemble_claim(errors: Mapping[str, Interval]) -> Claim:
    """Return the claim about the rapid decay for prior D (Fig. 5)."""
    return Claim(
        "small_ensemble",
        "Fig. 5",
        f"Even a small ensemble encodes the varying uncertainty of prior D: with {SMALL} networks "
        "the error of the widths of the multivariate Gaussian is less than half that of the "
        "factorised Gaussian",
        errors,
        _is_below_half(errors["low_rank"], errors["factorised"]),
    )


def _singular_value_claims(
    studies: Sequence[Study], weights: Mapping[str, Mapping[str, Interval]]
) -> list[Claim]:
    """Return the claims about size and decay of the singular values (Fig. 5)."""
    median = {name: row["median_singular_value"] for name, row in weights.items()}
    leading = {name: row["leading"] for name, row in weights.items()}
    values = over_repeats([_singular_values(study) for study in studies])
    return [
        Claim(
            "singular_values_grow",
            "Fig. 5",
            "Flexible priors have larger singular values, A < B < C at every index; medians shown",
            median,
            all_hold(_grow(values[name][i] for name in "ABC") for i in values["A"]),
        ),
        Claim(
            "decay_of_D",
            "Fig. 5",
            "Singular values decay fastest for prior D: share of the variance in the first "
            f"{LEADING} directions",
            leading,
            all_hold(is_below(leading[name], leading["D"]) for name in "ABC"),
        ),
    ]


def _singular_values(study: Study) -> dict[str, dict[int, float]]:
    """Return the singular values of one study: prior → index → value."""
    results = study.results.items()
    return {name: dict(enumerate(result.statistics.singular_values)) for name, result in results}


def _spread_claims(studies: Sequence[Study]) -> list[Claim]:
    """Return the claims of section 2.2.2 about widths in Fig. 4 (a) and (b).

    Only studies with all priors are used. The priors of a study share their random numbers. In (a)
    the order of the priors depends on the study, because the variances of B and D are nearly equal.
    """
    complete = [study for study in studies if study.results.keys() == studies[0].results.keys()]
    isotropic = over_repeats([_widths(s, "isotropic", s.results) for s in complete])
    factorised = over_repeats([_widths(s, "factorised", "ABC") for s in complete])
    ordered = []
    for study in complete:
        variance = {name: r.statistics.variance[0] for name, r in study.results.items()}
        ordered.append(
            _widths(study, "isotropic", sorted(variance, key=variance.__getitem__)).values()
        )
    ranked = over_repeats([dict(enumerate(rows)) for rows in ordered])
    return [
        Claim(
            "wider/isotropic",
            "Fig. 4",
            "(a) A larger isotropic variance widens the functions: root mean square deviation from "
            "their mean (size), and of the slope divided by it; priors in the order of their "
            "variance, which depends on the initial weights",
            isotropic,
            _grow(row["size"] for row in ranked.values()),
        ),
        Claim(
            "wider/factorised",
            "Fig. 4",
            "(b) Functions of the factorised Gaussian widen from A to C: root mean square "
            "deviation from their mean (size), A < B < C, and of the slope divided by it",
            factorised,
            _grow(row["size"] for row in factorised.values()),
        ),
    ]


def _widths(study: Study, source: str, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return size and relative slope of the functions from a source in one study, by prior."""
    rows = {}
    for name in names:
        result = study.results[name]
        functions = result.functions[SOURCES.index(source)].astype(float)
        squares = (functions - functions.mean(axis=0)) ** 2
        size = float(np.sqrt(squares.mean(axis=1)).mean())
        rows[name] = {"size": size, "slope / size": float(result.comparison.steepness[source])}
    return rows


def reconstruction_claims(distances: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of section 2.2.2 about networks drawn from the weight priors.

    Args:
        distances: Result of `distance_table`.

    Returns:
        The claims.
    """
    mean, width, wasserstein = (
        {
            name: {kind: rows[kind][measure] for kind in WEIGHT_PRIOR_NAMES}
            for name, rows in distances.items()
        }
        for measure in ("mean", "width", "wasserstein")
    )
    return [
        Claim(
            "recovered_mean",
            "Fig. 4",
            "The factorised Gaussian recovers the mean of priors A to C, the isotropic "
            "does not: relative distance of the mean",
            mean,
            all_hold(_is_below_half(mean[n]["factorised"], mean[n]["isotropic"]) for n in "ABC"),
        ),
        Claim(
            "recovered_widths",
            "Fig. 4",
            "The multivariate Gaussian recovers the varying uncertainty of prior D, "
            "the factorised does not: error of the widths, "
            f"{len(width['D']['low_rank'].values)} sets of initial weights",
            width["D"],
            _is_below_half(width["D"]["low_rank"], width["D"]["factorised"]),
        ),
        _tails_claim(mean, width),
        _correlations_over_tails_claim(mean, width),
        _nearer_claim(wasserstein),
        *_closest_claims(wasserstein),
    ]


def _tails_claim(mean: Distances, width: Distances) -> Claim:
    """Return the claim about tails, (c)."""
    return Claim(
        "similar_tails",
        "Fig. 4",
        "(c) Generalised normal weights lead to very similar conclusions: they also recover "
        "the mean of priors A to C, but not the varying uncertainty of prior D",
        {
            "mean": {name: mean[name]["generalised_normal"] for name in "ABC"},
            "width": {"D": width["D"]["generalised_normal"]},
        },
        all_hold(
            [
                *(
                    _is_below_half(mean[n]["generalised_normal"], mean[n]["isotropic"])
                    for n in "ABC"
                ),
                _is_below_half(width["D"]["low_rank"], width["D"]["generalised_normal"]),
            ]
        ),
    )


def _correlations_over_tails_claim(mean: Distances, width: Distances) -> Claim:
    """Return the claim about correlations, (d)."""
    return Claim(
        "recovered",
        "Fig. 4",
        "(d) Correlations matter more than tails: the multivariate Gaussian recovers mean and "
        "uncertainty. For every prior the error of the widths is smaller than with both "
        "factorised densities, and the distance of the mean is below one half",
        {
            name: {
                "mean": mean[name]["low_rank"],
                **{f"width, {kind}": width[name][kind] for kind in (*FACTORISED, "low_rank")},
            }
            for name in mean
        },
        all_hold(
            [
                *(
                    is_below(row["low_rank"], row[other])
                    for row in width.values()
                    for other in FACTORISED
                ),
                *(is_below(r["low_rank"], _limit(0.5, r["low_rank"])) for r in mean.values()),
            ]
        ),
    )


def _nearer_claim(wasserstein: Distances) -> Claim:
    """Return our claim about correlations and tails in Wasserstein distance."""
    return Claim(
        "correlations_over_tails",
        "Fig. 4",
        "Correlations also matter more than tails in Wasserstein distance: the multivariate "
        "Gaussian is nearer to the functional prior than both factorised densities",
        wasserstein,
        all_hold(
            is_below(row["low_rank"], row[other])
            for row in wasserstein.values()
            for other in FACTORISED
        ),
        of_paper=False,
    )


def _closest_claims(wasserstein: Distances) -> list[Claim]:
    """Return our claims about which weight prior is closest to each functional prior."""
    others = [*WEIGHT_PRIOR_NAMES][:-1]
    return [
        Claim(
            f"closest/{name}",
            "Fig. 4",
            f"Prior {name}: the multivariate Gaussian is closest to the functional "
            f"prior, Wasserstein distance ({len(row['low_rank'].values)} sets of initial weights)",
            row,
            all_hold(is_below(row["low_rank"], row[kind]) for kind in others),
            of_paper=False,
        )
        for name, row in wasserstein.items()
    ]


def _is_below_half(first: Interval, second: Interval) -> bool | None:
    """Return whether the first number is less than half the second."""
    return is_below(first, second - first)
