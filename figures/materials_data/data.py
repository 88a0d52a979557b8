"""Numbers and claims about the materials data (section 3.2.1 and Table 2 of the paper)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy
from sklearn.feature_selection import mutual_info_regression

import bnn
from fe_data.dataset.table import Table
from fe_data.schema import INPUT_NAMES
from figures.claims import Claim
from figures.composite.problem import (
    FEATURES,
    NOISE_COV,
    OUTPUT_NAMES,
    OUTPUT_SCALING,
    by_output,
    columns,
    scaled,
)
from figures.composite.scores import LOG_UNITS
from figures.pipeline.paths import REPLICATES, TEST, TRAINING
from figures.scores import Interval, over_repeats

UNIFORM = "train_uniform"
SETS = {
    TEST: "test set (uniform)",
    UNIFORM: "1st training set (uniform)",
    TRAINING: "2nd training set (beta)",
}


def _groups(table: Table) -> DataFrameGroupBy:
    """Group the outputs of RVEs by equal inputs."""
    return columns(table)[[*OUTPUT_NAMES]].groupby(table.group)


def coefficients_of_variation(table: Table) -> pd.DataFrame:
    """Return standard deviation / mean of RVEs with the same inputs, (n_groups, n_out)."""
    return _groups(table).std() / _groups(table).mean()


def noise_table(table: Table) -> dict[str, dict[str, float]]:
    """Return pooled standard deviations within groups, with errors, by output [% of mid-range]."""
    groups = _groups(table)
    variances = groups.var()
    deviation = np.sqrt(np.average(variances, axis=0, weights=groups.size() - 1))
    error = variances.sem() / (2 * deviation)
    percent = 100 / OUTPUT_SCALING.centre
    return pd.DataFrame({"mean": deviation * percent, "std": error * percent}).to_dict("index")


def noise_by_input(replicates: Table, estimated_from: Table) -> dict[str, float]:
    """Return the log density of the scatter in groups, under noise estimated from other groups.

    Args:
        replicates: Groups of RVEs with equal inputs.
        estimated_from: Other groups of RVEs, from which both kinds of noise are estimated.

    Returns:
        "constant" for a constant covariance and "by_input" for Σ(x), in nats per degree of freedom
        and in physical units. The names with "_without_farthest" are without the RVE that lies
        farthest from its group.
    """
    estimation = scaled(estimated_from)
    new = scaled(replicates)
    groups = replicates.group
    constant = bnn.noise.replicate_covariance(estimation.y, estimated_from.group)
    by_input = bnn.HeteroscedasticNoise.from_replicates(
        estimation.X, estimation.y, estimated_from.group, squares=[0]
    )
    kinds = {
        "constant": np.broadcast_to(constant, (len(new), *constant.shape)),
        "by_input": by_input(new.X),
    }
    means = pd.DataFrame(new.y).groupby(groups).transform("mean").to_numpy()
    deviations = new.y - means
    whitened = np.linalg.solve(kinds["by_input"], deviations[:, :, None])[:, :, 0]
    farthest = np.argmax(np.sum(deviations * whitened, axis=1))
    rest = np.arange(len(new)) != farthest
    densities = {}
    for name, covariances in kinds.items():
        densities[name] = scatter_density(new.y, groups, covariances) - LOG_UNITS
        without = scatter_density(new.y[rest], groups[rest], covariances[rest]) - LOG_UNITS
        densities[f"{name}_without_farthest"] = without
    return densities


def scatter_density(y: np.ndarray, groups: np.ndarray, covariances: np.ndarray) -> float:
    """Return the mean log density of deviations from group means, per degree of freedom.

    Args:
        y: Outputs, (N, n_out).
        groups: Labels of the groups, (N,).
        covariances: Σ at each RVE, equal within a group, (N, n_out, n_out).

    Returns:
        The log density [nats], in the units of y.
    """
    total = 0.0
    freedom = 0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        deviations = y[rows] - y[rows].mean(axis=0)
        covariance = covariances[rows[0]]
        # m RVEs about their own mean have m - 1 degrees of freedom:
        # log p = -1/2 [(m - 1) log det(2π Σ) + Σ_i dᵢᵀ Σ⁻¹ dᵢ], up to the Jacobian of the mean
        degrees = len(rows) - 1
        _, determinant = np.linalg.slogdet(2 * np.pi * covariance)
        squares = np.sum(deviations * np.linalg.solve(covariance, deviations.T).T)
        total -= 0.5 * (degrees * determinant + squares)
        freedom += degrees
    return float(total / freedom)


def mutual_information(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Estimate mutual information of inputs and outputs, (n_in, n_out) [nats].

    The estimator is that of Kraskov et al. (2004).
    """
    # scikit-learn adds a little noise, with this seed, to break ties.
    return np.transpose([mutual_info_regression(inputs, y, random_state=0) for y in outputs.T])


def chance_level(inputs: np.ndarray, outputs: np.ndarray, shuffles: int, seed: int) -> np.ndarray:
    """Return the 95 % quantile of the mutual information of shuffled pairs, (n_in, n_out)."""
    rng = np.random.default_rng(seed)
    shuffled = [mutual_information(inputs, rng.permutation(outputs)) for _ in range(shuffles)]
    return np.quantile(shuffled, 0.95, axis=0)


def share_outside(test: Table, training: Table) -> float:
    """Return the fraction of test RVEs with an output outside the range of training outputs."""
    low = training.outputs.min(axis=0)
    high = training.outputs.max(axis=0)
    return float(np.mean(np.any((test.outputs < low) | (test.outputs > high), axis=1)))


def information_table(table: Table, shuffles: int, seed: int) -> dict[str, Any]:
    """Return Table 2: mutual information, chance level, and inputs above zero and above chance."""
    information = mutual_information(table.inputs, table.outputs)
    level = chance_level(table.inputs, table.outputs, shuffles, seed)
    value, chance = (
        pd.DataFrame(matrix, INPUT_NAMES, OUTPUT_NAMES) for matrix in (information, level)
    )
    levels = {"influential": 0 * chance, "above_chance": chance}  # influential: the paper's rule
    inputs = {
        rule: {output: value.index[value[output] > level[output]].to_list() for output in value}
        for rule, level in levels.items()
    }
    return {"value": value.to_dict(), "chance": chance.to_dict(), **inputs}


def information_over_draws(table: Table, size: int) -> dict[str, dict[str, Interval]]:
    """Return Table 2 over datasets of `size` rows: output → input → mutual information [nats]."""
    draws = []
    for number in range(len(table) // size):
        rows = table.index // size == number
        information = mutual_information(table.inputs[rows], table.outputs[rows])
        draws.append(pd.DataFrame(information, INPUT_NAMES, OUTPUT_NAMES).to_dict())
    return over_repeats(draws)


def scatter_table(table: Table) -> dict[str, dict[str, Any]]:
    """Return Fig. 10 in numbers: output → mean coefficient of variation, with its error."""
    values = coefficients_of_variation(table)
    described = {"mean": values.mean(), "std": values.sem(), "n_groups": len(values)}
    return pd.DataFrame(described).to_dict("index")


def claims(
    designs: Mapping[str, Table],
    information: Mapping[str, Any],
    drawn: Mapping[str, Mapping[str, Interval]] | None = None,
) -> list[Claim]:
    """Return the claims of section 3.2.1 that the available tables can decide."""
    training = [name for name in (TRAINING, UNIFORM) if name in designs]
    outside = {name: share_outside(designs[TEST], designs[name]) for name in training}
    replicates = {name: designs[name] for name in REPLICATES if name in designs}
    return [
        Claim(
            "supports",
            "Fig. 9",
            "Test and second training set have different supports: share of test RVEs "
            "with an output outside the training range",
            outside,
            outside[TRAINING] > outside.get(UNIFORM, 0.0),
        ),
        *(_scatter_claims(replicates) if replicates else []),
        information_claim(information, drawn),
    ]


def information_claim(
    information: Mapping[str, Any], drawn: Mapping[str, Mapping[str, Interval]] | None
) -> Claim:
    """Return the claim of Table 2 by the paper's rule: inputs with a positive estimate.

    Args:
        information: Mutual information of one table, from `information_table`.
        drawn: Mutual information of independent datasets, from `information_over_draws`. If given,
            these datasets decide.

    Returns:
        The claim.
    """
    paper = {
        output: [INPUT_NAMES[i] for i in features]
        for output, features in zip(OUTPUT_NAMES, FEATURES, strict=True)
    }
    influential = information["influential"]
    above = information["above_chance"]
    same = [output for output in paper if influential[output] == paper[output]]
    agreeing = [len(same)]
    if drawn:
        agreeing = [
            sum(
                all(
                    (drawn[output][name].values[i] > 0) == (name in paper[output])
                    for name in values
                )
                for output, values in drawn.items()
            )
            for i in range(len(next(iter(drawn[OUTPUT_NAMES[0]].values())).values))
        ]
    below = [name for output in paper for name in paper[output] if name not in above[output]]
    ours = {
        "subsets_as_in_paper": f"{len(same)} of {len(paper)}",
        "inputs_below_chance": f"{len(below)} of {sum(map(len, FEATURES))}",
    }
    if drawn:
        ours["most_in_a_draw"] = f"{max(agreeing)} of {len(paper)} ({len(agreeing)} datasets)"
    decided = {count == len(paper) for count in agreeing}
    return Claim(
        "subsets",
        "Table 2",
        "The inputs with positive mutual information are the influential "
        "subsets of the paper (chance: the value that shuffled outputs exceed in 5 % of cases)",
        ours | {output: ", ".join(names) for output, names in influential.items()},
        decided.pop() if len(decided) == 1 else None,
    )


def _scatter_claims(replicates: Mapping[str, Table]) -> list[Claim]:
    mean = {name: c["mean"] for name, c in scatter_table(next(iter(replicates.values()))).items()}
    assumed = by_output(100 * np.array(NOISE_COV))
    ratios = {
        design: {name: row["mean"] / assumed[name] for name, row in noise_table(table).items()}
        for design, table in replicates.items()
    }
    return [
        Claim(
            "scatter",
            "Fig. 10",
            "The random microstructure hardly changes E_eff, but strongly changes p_σ: "
            "coefficients of variation below 1 % and above 20 %",
            mean,
            mean["E_eff_GPa"] < 0.01 and mean["p_sigma"] > 0.2,
        ),
        Claim(
            "assumed_noise",
            "Fig. 10",
            "The noise that the paper assumes (3, 2, 0.5, 0.2 and 25 % of mid-range) "
            "is larger than the scatter: standard deviation within groups / assumed one",
            ratios,
            all(ratio < 1 for row in ratios.values() for ratio in row.values()),
            of_paper=False,
        ),
    ]
