"""What knowledge is worth: python -m bench.knowledge prints scores on the shipped tables.

The exact posterior under a prior by evidence with a linear mean, or about mean fields; under the
paper's noise, one covariance, or one that depends on the input, the latter two of replicates.
"""

import numpy as np

import bnn
from fe_data import mean_field
from figures.beyond.scores import LOG_UNITS
from figures.materials.problem import (
    INPUT_SCALING,
    OUTPUT_SCALING,
    Samples,
    load_designs,
    noise_std,
    scaled,
)
from figures.pipeline.paths import ROOT, TEST, TRAINING

CASES = (("train_uniform", 10), ("train_uniform", 25), ("train_uniform", 50),
         ("train_uniform", 100), (TRAINING, 50))  # fmt: skip
REPLICATES = "noise"


def mechanics(X: np.ndarray) -> np.ndarray:
    """Mean fields, scaled."""
    return OUTPUT_SCALING.transform(mean_field(INPUT_SCALING.inverse_transform(X)))


PRIORS = {"linear mean": {}, "mean fields": {"mean": mechanics, "mean_features": ()}}


def means(samples: Samples, groups: np.ndarray) -> Samples:
    """Each input once, with the mean of its outputs over arrangements."""
    first = np.unique(groups, return_index=True)[1]
    return Samples(
        samples.X[first], np.array([samples.y[groups == g].mean(0) for g in groups[first]])
    )


def row(name: str, prediction: np.ndarray, truth: Samples, density: float | None = None) -> None:
    """Print the RMSE of four properties and of the share of stressed fibres, and the ELPPD."""
    squares = (prediction - truth.y) ** 2
    numbers = [f"{np.sqrt(part.mean()):.3f}" for part in (squares[:, :4], squares[:, 4])]
    print(f"| {name} | {' | '.join(numbers)} | {'' if density is None else f'{density:.0f}'} |")


def main() -> None:
    designs = [REPLICATES, TEST, *(design for design, _ in CASES)]
    tables = load_designs(ROOT / "fe_data" / "datasets", designs)
    cells = {name: scaled(table) for name, table in tables.items()}
    repeated, groups, test = cells[REPLICATES], tables[REPLICATES].group, cells[TEST]
    truth = means(repeated, groups)
    noises = {
        "the paper's": noise_std(),
        "one covariance": bnn.noise.replicate_covariance(repeated.y, groups),
        "by input": bnn.HeteroscedasticNoise.from_replicates(
            repeated.X, repeated.y, groups, squares=(0,)
        ),
    }
    row("0 | mean fields |", mechanics(truth.X), truth)
    for design, count in CASES:
        train = cells[design][:count]
        for prior_name, form in PRIORS.items():
            for noise_name, noise in noises.items():
                prior = bnn.evidence.fit_prior(train.X, train.y, noise, **form)
                model = bnn.ExactPosterior(prior, noise=noise).fit(train.X, train.y)
                density = model.elppd(test.X, test.y) - len(test) * LOG_UNITS
                words = f"{count}{', second set' if design == TRAINING else ''}"
                row(
                    f"{words} | {prior_name} | {noise_name}", model.predict(truth.X), truth, density
                )


if __name__ == "__main__":
    main()
