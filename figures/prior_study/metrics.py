"""Numbers of the study of functional priors for a metrics file (section 2.2 of the paper)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from figures.claims import Claim
from figures.pipeline.processes import side_by_side
from figures.pipeline.settings import PriorStudy
from prior_study import Study, StudyConfig, run
from prior_study.reconstruction import WEIGHT_PRIOR_NAMES
from prior_study.statistics import WeightStatistics, independent_correlation
from prior_study.study import SOURCES

OPTIMISERS = ("published", "proper")
SHARE = 0.9  # of the variance of the weights, to count singular values


def run_studies(settings: PriorStudy, seed: int) -> dict[str, Study]:
    """The study with the published optimiser and with proper Adam."""
    sizes = settings.model_dump()
    configs = [(StudyConfig(optimiser=name, seed=seed, **sizes),) for name in OPTIMISERS]
    return dict(zip(OPTIMISERS, side_by_side(run, configs), strict=True))


def _statistics(study: Study) -> dict[str, WeightStatistics]:
    return {name: result.statistics for name, result in study.results.items()}


def variance_table(study: Study) -> dict[str, dict[str, dict[str, float]]]:
    """Table 1: prior → group → variance of the demeaned weights and its standard error over K."""
    return {
        name: {
            str(group): {"value": float(each.variance[i]), "error": float(each.variance_error[i])}
            for i, group in enumerate(each.groups)
        }
        for name, each in _statistics(study).items()
    }


def distance_table(study: Study) -> dict[str, dict[str, dict[str, float]]]:
    """Fig. 4 in numbers: prior → source of functions → distances from the functional prior."""
    return {
        name: {
            source: asdict(result.distance(source)) | {"width": result.width_error(source)}
            for source in SOURCES
        }
        for name, result in study.results.items()
    }


def weight_table(study: Study) -> dict[str, dict[str, Any]]:
    """Figs. 2, 3 and 5 in numbers, by prior; lists go with the kernels W0 to W4."""
    return {
        name: {
            "unexplained": study.results[name].unexplained,
            "beta": each.beta[1:].tolist(),
            "excess_kurtosis": each.excess_kurtosis[1:].tolist(),
            "mean_correlation": each.mean_correlation.tolist(),
            "independent_correlation": independent_correlation(study.config.members),
            "largest_singular_value": float(each.singular_values[0]),
            "directions": directions(each.singular_values),
        }
        for name, each in _statistics(study).items()
    }


def directions(singular_values: np.ndarray, share: float = SHARE) -> int:
    """How many leading directions hold a share of the variance of the weights."""
    held = np.cumsum(singular_values**2) / np.sum(singular_values**2)
    return int(np.searchsorted(held, share)) + 1


def claims(study: Study) -> list[Claim]:
    """What section 2.2 says in words of all four priors, with our numbers."""
    statistics = _statistics(study)
    variance = {n: float(each.variance[0]) for n, each in statistics.items()}
    beta = {n: float(each.beta[1:].max()) for n, each in statistics.items()}
    held = {n: directions(each.singular_values) for n, each in statistics.items()}
    unexplained = {n: result.unexplained for n, result in study.results.items()}
    chance = independent_correlation(study.config.members)
    correlation = {n: float(statistics[n].mean_correlation.min()) for n in "BD"}
    found = (
        ("Fig. 1", "Networks follow the realisations that they are fitted to: share of variance "
         "left unexplained below 5 %", unexplained, max(unexplained.values()) < 0.05),
        ("Table 1", "The variance of the weights grows with the flexibility of the prior, "
         "A < B < C", variance, variance["A"] < variance["B"] < variance["C"]),
        ("Fig. 2", "Weights have heavy tails: the largest β0 of a kernel is below 2",
         beta, max(beta.values()) < 2),
        ("Fig. 3", "Weights within a kernel are correlated, priors B and D: smallest mean |r| of a "
         "kernel above 1.5 times that of independent weights",
         correlation | {"independent": chance}, min(correlation.values()) > 1.5 * chance),
        ("Fig. 5", "Few directions hold 90 % of the variance for prior D: the fewest of the priors",
         held, held["D"] == min(held.values())),
    )  # fmt: skip
    return [Claim(*each) for each in found] + _reconstruction_claims(distance_table(study))


def _reconstruction_claims(table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Claim]:
    mean, width, wasserstein = (
        {name: {kind: row[kind][measure] for kind in WEIGHT_PRIOR_NAMES}
         for name, row in table.items()}
        for measure in ("mean", "width", "wasserstein")
    )  # fmt: skip
    found: list[tuple[str, Any, bool]] = [
        ("The factorised Gaussian recovers the mean of priors A to C, the isotropic does not: "
         "relative distance of the mean", mean,
         all(mean[n]["factorised"] < 0.5 * mean[n]["isotropic"] for n in "ABC")),
        ("The multivariate Gaussian recovers the varying uncertainty of prior D, the factorised "
         "does not: error of the widths", width["D"],
         width["D"]["low_rank"] < 0.5 * width["D"]["factorised"]),
        ("Correlations matter more than tails: a generalised normal instead of the factorised "
         "Gaussian changes the Wasserstein distance less than the multivariate Gaussian does",
         wasserstein, all(_tails_matter_less(row) for row in wasserstein.values())),
    ]  # fmt: skip
    found += [
        (f"Prior {name}: the multivariate Gaussian is closest to the functional prior, Wasserstein "
         "distance", row, row["low_rank"] == min(row.values()))
        for name, row in wasserstein.items()
    ]  # fmt: skip
    return [Claim("Fig. 4", *each) for each in found]


def _tails_matter_less(row: Mapping[str, float]) -> bool:
    reference = row["factorised"]
    return abs(row["generalised_normal"] - reference) < abs(row["low_rank"] - reference)
