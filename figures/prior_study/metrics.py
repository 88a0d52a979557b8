"""Numbers of the study of functional priors for a metrics file (section 2.2 of the paper)."""

from typing import Any

import pandas as pd

from figures.claims import Claim
from figures.pipeline.processes import side_by_side
from figures.pipeline.settings import PriorStudy
from prior_study import Study, StudyConfig, run
from prior_study.config import BIAS_CORRECTION
from prior_study.reconstruction import WEIGHT_PRIOR_NAMES
from prior_study.statistics import directions, independent_correlation


def run_studies(settings: PriorStudy, seed: int) -> dict[str, Study]:
    """The study with the published optimiser and with proper Adam."""
    sizes = settings.model_dump()
    configs = [(StudyConfig(optimiser=name, seed=seed, **sizes),) for name in BIAS_CORRECTION]
    return dict(zip(BIAS_CORRECTION, side_by_side(run, configs), strict=True))


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
            "beta": result.statistics.beta[1:].tolist(),
            "excess_kurtosis": result.statistics.excess_kurtosis[1:].tolist(),
            "mean_correlation": result.statistics.mean_correlation.tolist(),
            "independent_correlation": independent_correlation(study.config.members),
            "largest_singular_value": float(result.statistics.singular_values[0]),
            "directions": directions(result.statistics.singular_values),
        }
        for name, result in study.results.items()
    }


def claims(study: Study) -> list[Claim]:
    """What section 2.2 says in words of all four priors, with our numbers."""
    weights = weight_table(study)
    variance = {name: row["all"]["value"] for name, row in variance_table(study).items()}
    beta = {name: max(row["beta"]) for name, row in weights.items()}
    held = {name: row["directions"] for name, row in weights.items()}
    unexplained = {name: row["unexplained"] for name, row in weights.items()}
    chance = independent_correlation(study.config.members)
    correlation = {name: min(weights[name]["mean_correlation"]) for name in "BD"}
    return [
        Claim("Fig. 1", "Networks follow the realisations that they are fitted to: share of "
              "variance left unexplained below 5 %",
              unexplained, max(unexplained.values()) < 0.05),
        Claim("Table 1", "The variance of the weights grows with the flexibility of the prior, "
              "A < B < C", variance, variance["A"] < variance["B"] < variance["C"]),
        Claim("Fig. 2", "Weights have heavy tails: the largest β0 of a kernel is below 2",
              beta, max(beta.values()) < 2),
        Claim("Fig. 3", "Weights within a kernel are correlated, priors B and D: smallest mean |r| "
              "of a kernel above 1.5 times that of independent weights",
              correlation | {"independent": chance}, min(correlation.values()) > 1.5 * chance),
        Claim("Fig. 5", "Few directions hold 90 % of the variance for prior D: the fewest of the "
              "priors", held, held["D"] == min(held.values())),
        *_reconstruction_claims(study),
    ]  # fmt: skip


def _reconstruction_claims(study: Study) -> list[Claim]:
    """What section 2.2 says of networks drawn from the weight priors."""
    frames = {n: each.comparison.loc[[*WEIGHT_PRIOR_NAMES]] for n, each in study.results.items()}
    mean, width, wasserstein = (
        {name: frame[measure].to_dict() for name, frame in frames.items()}
        for measure in ("mean", "width", "wasserstein")
    )
    return [
        Claim("Fig. 4", "The factorised Gaussian recovers the mean of priors A to C, the isotropic "
              "does not: relative distance of the mean", mean,
              all(mean[n]["factorised"] < 0.5 * mean[n]["isotropic"] for n in "ABC")),
        Claim("Fig. 4", "The multivariate Gaussian recovers the varying uncertainty of prior D, "
              "the factorised does not: error of the widths", width["D"],
              width["D"]["low_rank"] < 0.5 * width["D"]["factorised"]),
        Claim("Fig. 4", "Correlations matter more than tails: a generalised normal instead of the "
              "factorised Gaussian changes the Wasserstein distance less than the multivariate "
              "Gaussian does", wasserstein,
              all(abs(row["generalised_normal"] - row["factorised"])
                  < abs(row["low_rank"] - row["factorised"]) for row in wasserstein.values())),
        *(Claim("Fig. 4", f"Prior {name}: the multivariate Gaussian is closest to the functional "
                "prior, Wasserstein distance", row, row["low_rank"] == min(row.values()))
          for name, row in wasserstein.items()),
    ]  # fmt: skip
