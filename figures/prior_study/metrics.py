"""Numbers of the study of functional priors for a metrics file (section 2.2 of the paper)."""

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

LEADING = 10  # directions of the weights, a tenth of those that 100 networks have
SMALL = 10  # networks of a small ensemble
FACTORISED = ("factorised", "generalised_normal")  # densities without correlations


def variance_table(starts: Sequence[Study]) -> dict[str, dict[str, Interval]]:
    """Table 1: prior → group → variance of the demeaned weights over the starts that it has."""
    return over_repeats(
        [{name: _variances(each) for name, each in s.results.items()} for s in starts]
    )


def distance_table(starts: Sequence[Study]) -> dict[str, dict[str, dict[str, Interval]]]:
    """What is behind Fig. 4: prior → source of functions → measure over the starts that it has."""
    return over_repeats(
        [
            {name: result.comparison.to_dict("index") for name, result in study.results.items()}
            for study in starts
        ]
    )


def weight_table(study: Study) -> dict[str, dict[str, Any]]:
    """Figs. 2, 3 and 5 in numbers, by prior; lists go with the kernels W0 to W4."""
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


def claims(starts: Sequence[Study]) -> list[Claim]:
    """Claims of section 2.2, with means over the initialisations; later ones may lack priors."""
    weights = over_repeats([_of_weights(study) for study in starts])
    variance = {name: row["all"] for name, row in variance_table(starts).items()}
    beta = {name: row["largest_beta"] for name, row in weights.items()}
    unexplained = {name: row["unexplained"] for name, row in weights.items()}
    return [
        Claim(
            "fit",
            "Fig. 1",
            "Networks follow the realisations that they are fitted to: share of "
            "variance left unexplained below 5 %",
            unexplained,
            all_hold(is_below(each, _limit(0.05, each)) for each in unexplained.values()),
        ),
        Claim(
            "variance_grows",
            "Table 1",
            "The variance of the weights grows with the flexibility of the prior, A < B < C",
            variance,
            _grow(variance[name] for name in "ABC"),
        ),
        _anisotropy_claim(starts),
        Claim(
            "heavy_tails",
            "Fig. 2",
            "Weights have heavy tails: the largest β0 of a kernel is below 2",
            beta,
            all_hold(is_below(each, _limit(2, each)) for each in beta.values()),
        ),
        _correlation_claim(weights),
        pattern_claim(weight_table(starts[0])),
        *_singular_value_claims(starts, weights),
        small_ensemble_claim(small_ensembles(starts)),
        *_spread_claims(starts),
        *reconstruction_claims(distance_table(starts)),
    ]


def _variances(result: PriorResult) -> dict[str, float]:
    """Variance of the demeaned weights of one start, by group."""
    groups = map(str, result.statistics.groups)
    return dict(zip(groups, result.statistics.variance.tolist(), strict=True))


def _of_weights(study: Study) -> dict[str, dict[str, Any]]:
    """What the claims about the weights rest on in one start; kernels by their index."""
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
    """A fixed limit beside each value of a number."""
    return Interval((value,) * len(number.values))


def _grow(numbers: Iterable[Interval]) -> bool | None:
    """Whether each number is smaller than the next one, start by start."""
    return all_hold(is_below(first, second) for first, second in pairwise(numbers))


def _anisotropy_claim(starts: Sequence[Study]) -> Claim:
    """Table 1: whether one variance for all kernels of a prior is within their bootstrap errors."""
    ours = over_repeats(
        [{n: _anisotropy(result) for n, result in study.results.items()} for study in starts]
    )
    level = float(chi2.ppf(LEVEL, len(ARCHITECTURE.layers) - 1))
    return Claim(
        "anisotropic",
        "Table 1",
        "The prior is not isotropic: variances of kernels differ by more than "
        f"their bootstrap errors, χ² above its 95 % level of {level:.1f}",
        ours,
        all_hold(is_below(_limit(level, row["χ²"]), row["χ²"]) for row in ours.values()),
    )


def _anisotropy(result: PriorResult) -> dict[str, float]:
    """How far the variances of the kernels of one start lie apart."""
    variance = result.statistics.variance[1:]
    error = result.statistics.variance_error[1:]
    common = np.average(variance, weights=error**-2)
    squares = float(np.sum(((variance - common) / error) ** 2))
    return {"largest / smallest": float(variance.max() / variance.min()), "χ²": squares}


def _correlation_claim(weights: Mapping[str, Mapping[str, Any]]) -> Claim:
    """Fig. 3: correlations of weights against their level without any."""
    pairs = {}
    for name in "BD":
        found = weights[name]["mean_correlation"]
        level = weights[name]["null_correlation"]
        pairs[name] = [*zip(found.values(), level.values(), strict=True)]
    return Claim(
        "correlated",
        "Fig. 3",
        "Weights within every kernel of priors B and D are correlated: mean |r| / "
        "its 95 % level for weights permuted over the networks, W0 to W4",
        {
            name: "; ".join(f"{r.mean:.3f} / {level.mean:.3f}" for r, level in kernels)
            for name, kernels in pairs.items()
        },
        all_hold(is_below(level, r) for kernels in pairs.values() for r, level in kernels),
    )


def pattern_claim(weights: Mapping[str, Mapping[str, Any]]) -> Claim:
    """Fig. 3: whether priors B and D have other correlations, in the start that is shown."""
    B, D = (weights[name] for name in "BD")
    pairs = {name: weights[name]["mean_correlation"] for name in "BD"}
    apart = np.abs(np.subtract(D["mean_correlation"], B["mean_correlation"]))
    return Claim(
        "varying_patterns",
        "Fig. 3",
        "Different priors induce different patterns of correlation: mean |r| of priors B and D "
        "differs in every kernel by more than its level for permuted weights, W0 to W4",
        {name: "; ".join(f"{r:.3f}" for r in values) for name, values in pairs.items()},
        bool(np.all(apart > np.maximum(B["null_correlation"], D["null_correlation"]))),
    )


def small_ensembles(starts: Sequence[Study]) -> dict[str, Interval]:
    """Errors of the widths of prior D with densities of SMALL networks, over the starts."""
    return over_repeats([_small_ensemble(study) for study in starts])


def _small_ensemble(study: Study) -> dict[str, float]:
    """The same of one start, by kind of density."""
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
    """Fig. 5: what the rapid decay for prior D indicates."""
    return Claim(
        "small_ensemble",
        "Fig. 5",
        f"Even a small ensemble encodes the varying uncertainty of prior D: with {SMALL} networks "
        "the multivariate Gaussian has less than half the factorised one's error of the widths",
        errors,
        _is_below_half(errors["low_rank"], errors["factorised"]),
    )


def _singular_value_claims(
    starts: Sequence[Study], weights: Mapping[str, Mapping[str, Interval]]
) -> list[Claim]:
    """Fig. 5: the size of the singular values, and how fast they decay."""
    median = {name: row["median_singular_value"] for name, row in weights.items()}
    leading = {name: row["leading"] for name, row in weights.items()}
    values = over_repeats([_singular_values(study) for study in starts])
    return [
        Claim(
            "singular_values_grow",
            "Fig. 5",
            "Flexible priors have larger singular values, A < B < C at every index: medians",
            median,
            all_hold(_grow(values[name][i] for name in "ABC") for i in values["A"]),
        ),
        Claim(
            "decay_of_D",
            "Fig. 5",
            "Singular values decay fastest for prior D: share of the variance that the "
            f"first {LEADING} directions hold",
            leading,
            all_hold(is_below(leading[name], leading["D"]) for name in "ABC"),
        ),
    ]


def _singular_values(study: Study) -> dict[str, dict[int, float]]:
    """Prior → index → singular value of one start."""
    results = study.results.items()
    return {name: dict(enumerate(each.statistics.singular_values)) for name, each in results}


def _spread_claims(starts: Sequence[Study]) -> list[Claim]:
    """What section 2.2.2 says about widths in Fig. 4 (a) and (b), over starts of all priors.

    The priors of a start share their draws. In (a) each start has an order of its own, since the
    variances of B and D are nearly the same on average.
    """
    complete = [study for study in starts if study.results.keys() == starts[0].results.keys()]
    isotropic = over_repeats([_widths(s, "isotropic", s.results) for s in complete])
    factorised = over_repeats([_widths(s, "factorised", "ABC") for s in complete])
    ordered = [_widths(s, "isotropic", _by_variance(s)).values() for s in complete]
    ranked = over_repeats([dict(enumerate(rows)) for rows in ordered])
    return [
        Claim(
            "wider/isotropic",
            "Fig. 4",
            "(a) A larger isotropic variance widens the functions: root mean square about their "
            "mean, with that of the slope over it; priors in the order that each start gives them",
            isotropic,
            _grow(row["size"] for row in ranked.values()),
        ),
        Claim(
            "wider/factorised",
            "Fig. 4",
            "(b) Functions of the factorised Gaussian widen from A to C: root mean square about "
            "their mean, A < B < C, with that of the slope over it",
            factorised,
            _grow(row["size"] for row in factorised.values()),
        ),
    ]


def _by_variance(study: Study) -> list[str]:
    """The priors by the average variance of their weights in one start."""
    return sorted(study.results, key=lambda name: study.results[name].statistics.variance[0])


def _widths(study: Study, source: str, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Prior → size and relative slope of the functions that a source draws in one start."""
    rows = {}
    for name in names:
        result = study.results[name]
        functions = result.functions[SOURCES.index(source)].astype(float)
        squares = (functions - functions.mean(axis=0)) ** 2
        size = float(np.sqrt(squares.mean(axis=1)).mean())
        rows[name] = {"size": size, "slope / size": float(result.comparison.steepness[source])}
    return rows


def reconstruction_claims(found: Mapping[str, Any]) -> list[Claim]:
    """What section 2.2.2 says of networks drawn from the weight priors, from `distance_table`."""
    mean, width, wasserstein = (
        {
            name: {kind: rows[kind][measure] for kind in WEIGHT_PRIOR_NAMES}
            for name, rows in found.items()
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
            f"the factorised does not: error of the widths, {len(width['D']['low_rank'].values)} "
            "starts",
            width["D"],
            _is_below_half(width["D"]["low_rank"], width["D"]["factorised"]),
        ),
        Claim(
            "similar_tails",
            "Fig. 4",
            "(c) Very similar conclusions with generalised normal weights: they recover the mean "
            "of priors A to C too, and not the varying uncertainty of prior D",
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
        ),
        Claim(
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
                for name in found
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
        ),
        Claim(
            "correlations_over_tails",
            "Fig. 4",
            "Correlations matter more than tails in Wasserstein distance as well: the multivariate "
            "Gaussian is nearer to the functional prior than both factorised densities",
            wasserstein,
            all_hold(
                is_below(row["low_rank"], row[other])
                for row in wasserstein.values()
                for other in FACTORISED
            ),
            of_paper=False,
        ),
        *_closest_claims(wasserstein),
    ]


def _closest_claims(wasserstein: Mapping[str, Mapping[str, Interval]]) -> list[Claim]:
    """Which weight prior is closest to each functional prior; a measure that is not the paper's."""
    others = [*WEIGHT_PRIOR_NAMES][:-1]
    return [
        Claim(
            f"closest/{name}",
            "Fig. 4",
            f"Prior {name}: the multivariate Gaussian is closest to the functional "
            f"prior, Wasserstein distance (starts: {len(row['low_rank'].values)})",
            row,
            all_hold(is_below(row["low_rank"], row[kind]) for kind in others),
            of_paper=False,
        )
        for name, row in wasserstein.items()
    ]


def _is_below_half(first: Interval, second: Interval) -> bool | None:
    """Whether the first number is less than half the second."""
    return is_below(first, second - first)
