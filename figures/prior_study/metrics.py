"""Numbers of the study of functional priors for a metrics file (section 2.2 of the paper)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from figures.claims import Claim
from figures.scores import Interval, all_hold, is_below, over_repeats
from prior_study import Study
from prior_study.reconstruction import WEIGHT_PRIOR_NAMES
from prior_study.statistics import LEVEL, directions, held
from prior_study.study import SOURCES, PriorResult

LEADING = 10  # directions of the weights, a tenth of those that 100 networks have


def variance_table(study: Study) -> dict[str, dict[str, dict[str, float]]]:
    """Table 1: prior → group → variance of the demeaned weights and its standard error over K."""
    tables = {}
    for name, result in study.results.items():
        columns = {"value": result.statistics.variance, "error": result.statistics.variance_error}
        tables[name] = pd.DataFrame(columns, result.statistics.groups).to_dict("index")
    return tables


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
    """What section 2.2 says in words, with our numbers; further starts may lack priors."""
    study = starts[0]
    weights = weight_table(study)
    variance = {name: row["all"]["value"] for name, row in variance_table(study).items()}
    beta = {name: max(row["beta"]) for name, row in weights.items()}
    unexplained = {name: row["unexplained"] for name, row in weights.items()}
    return [
        Claim(
            "fit",
            "Fig. 1",
            "Networks follow the realisations that they are fitted to: share of "
            "variance left unexplained below 5 %",
            unexplained,
            max(unexplained.values()) < 0.05,
        ),
        Claim(
            "variance_grows",
            "Table 1",
            "The variance of the weights grows with the flexibility of the prior, A < B < C",
            variance,
            variance["A"] < variance["B"] < variance["C"],
        ),
        _anisotropy_claim(study),
        Claim(
            "heavy_tails",
            "Fig. 2",
            "Weights have heavy tails: the largest β0 of a kernel is below 2",
            beta,
            max(beta.values()) < 2,
        ),
        _correlation_claim(weights),
        *_singular_value_claims(starts),
        *_spread_claims(study),
        *_reconstruction_claims(starts),
    ]


def _anisotropy_claim(study: Study) -> Claim:
    """Table 1: whether one variance for all kernels of a prior is within their bootstrap errors."""
    ours = {}
    for name, result in study.results.items():
        variance = result.statistics.variance[1:]
        error = result.statistics.variance_error[1:]
        common = np.average(variance, weights=error**-2)
        squares = float(np.sum(((variance - common) / error) ** 2))
        ours[name] = {"largest / smallest": float(variance.max() / variance.min()), "χ²": squares}
    level = float(chi2.ppf(LEVEL, len(variance) - 1))
    return Claim(
        "anisotropic",
        "Table 1",
        "The prior is not isotropic: variances of kernels differ by more than "
        f"their bootstrap errors, χ² above its 95 % level of {level:.1f}",
        ours,
        all(row["χ²"] > level for row in ours.values()),
    )


def _correlation_claim(weights: Mapping[str, Mapping[str, Any]]) -> Claim:
    """Fig. 3: correlations of weights against their level without any; from `weight_table`."""
    pairs = {
        n: [*zip(weights[n]["mean_correlation"], weights[n]["null_correlation"], strict=True)]
        for n in "BD"
    }
    return Claim(
        "correlated",
        "Fig. 3",
        "Weights within every kernel of priors B and D are correlated: mean |r| / "
        "its 95 % level for weights permuted over the networks, W0 to W4",
        {
            name: "; ".join(f"{r:.3f} / {level:.3f}" for r, level in kernels)
            for name, kernels in pairs.items()
        },
        all(r > level for kernels in pairs.values() for r, level in kernels),
    )


def _singular_value_claims(starts: Sequence[Study]) -> list[Claim]:
    """Fig. 5: the size of the singular values, and how fast they decay."""
    weights = weight_table(starts[0])
    median = {name: row["median_singular_value"] for name, row in weights.items()}
    values = [starts[0].results[name].statistics.singular_values for name in "ABC"]
    leading = {name: row["leading"] for name, row in weights.items()}
    leading["D"] = min(weight_table(each)["D"]["leading"] for each in starts)
    return [
        Claim(
            "singular_values_grow",
            "Fig. 5",
            "Flexible priors have larger singular values, A < B < C at every index: medians",
            median,
            bool(np.all(np.diff(values, axis=0) > 0)),
        ),
        Claim(
            "decay_of_D",
            "Fig. 5",
            "Singular values decay fastest for prior D: share of the variance that the "
            f"first {LEADING} directions hold, for D in the least of its {len(starts)} starts",
            leading,
            leading["D"] == max(leading.values()),
        ),
    ]


def _spread_claims(study: Study) -> list[Claim]:
    """What section 2.2.2 says about widths in Fig. 4 (a) and (b); all priors share their draws."""
    growing = sorted(study.results, key=lambda name: study.results[name].statistics.variance[0])
    claims = []
    for source, names, words in (
        ("isotropic", growing, "(a) A larger isotropic variance widens the functions"),
        ("factorised", [*"ABC"], "(b) Functions of the factorised Gaussian widen from A to C"),
    ):
        sizes = {name: _deviations(study.results[name], source) for name in names}
        slopes = {name: study.results[name].comparison.steepness[source] for name in names}
        ours = {n: {"size": sizes[n].mean, "slope / size": float(slopes[n])} for n in names}
        claims.append(
            Claim(
                f"wider/{source}",
                "Fig. 4",
                f"{words}: root mean square about their mean, {' < '.join(names)}, with that "
                "of the slope over it",
                ours,
                all_hold(is_below(a, b) for a, b in pairwise(sizes.values())),
            )
        )
    return claims


def _deviations(result: PriorResult, source: str) -> Interval:
    """Root mean square over the grid of each drawn function's deviation from their mean."""
    functions = result.functions[SOURCES.index(source)].astype(float)
    squares = (functions - functions.mean(axis=0)) ** 2
    return Interval(tuple(np.sqrt(squares.mean(axis=1)).tolist()))


def _reconstruction_claims(starts: Sequence[Study]) -> list[Claim]:
    """What section 2.2.2 says of networks drawn from the weight priors."""
    kinds = [*WEIGHT_PRIOR_NAMES]
    found = over_repeats(
        [
            {name: result.comparison.loc[kinds].to_dict() for name, result in study.results.items()}
            for study in starts
        ]
    )
    mean, width, wasserstein = (
        {name: row[measure] for name, row in found.items()}
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
            f"the factorised does not: error of the widths, {len(starts)} starts",
            width["D"],
            _is_below_half(width["D"]["low_rank"], width["D"]["factorised"]),
        ),
        Claim(
            "correlations_over_tails",
            "Fig. 4",
            "Correlations matter more than tails: the multivariate Gaussian brings the functions "
            "nearer to the functional prior than the factorised one, in Wasserstein distance, and "
            "by more than a generalised normal does",
            wasserstein,
            all_hold(
                is_below(row["low_rank"], row[other])
                for row in wasserstein.values()
                for other in ("factorised", "generalised_normal")
            ),
        ),
        *_closest_claims(wasserstein),
    ]


def _closest_claims(wasserstein: Mapping[str, Mapping[str, Interval]]) -> list[Claim]:
    """Which weight prior conveys each functional prior best, by Wasserstein distances."""
    others = [*WEIGHT_PRIOR_NAMES][:-1]
    return [
        Claim(
            f"closest/{name}",
            "Fig. 4",
            f"Prior {name}: the multivariate Gaussian is closest to the functional "
            f"prior, Wasserstein distance (starts: {len(row['low_rank'].values)})",
            row,
            all_hold(is_below(row["low_rank"], row[kind]) for kind in others),
        )
        for name, row in wasserstein.items()
    ]


def _is_below_half(first: Interval, second: Interval) -> bool | None:
    """Whether the first number is less than half the second."""
    return is_below(first, second - first)
