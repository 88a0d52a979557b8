"""The training sets that every estimator is given, and the scores of its predictions."""

from pathlib import Path

import numpy as np
from scipy.stats import qmc

from bnn import metrics
from figures.beyond.scores import LOG_UNITS
from figures.knowledge.study import mean_fields
from figures.materials.draws import Draw, load_draws
from figures.materials.problem import Samples, load_designs, scaled
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import load_profile
from figures.scores import CONFIDENCE

CASES = ("ind25", "ind50", "ind100", "outd")
LOW = 200  # inputs of mean fields that are given as low fidelity, beside those of the cells
REPEATED = "noise"  # the table of cells with equal inputs


def draws() -> list[Draw]:
    """The draws of notebooks 04 and 06."""
    return load_draws(SHIPPED_TABLES, load_profile("full"))


def write(draw: Draw, case: str, path: Path) -> None:
    """Write a training set, the test cells and what else is known, scaled to [-1, 1]."""
    train = draw.cases[case]
    table = load_designs(SHIPPED_TABLES, [REPEATED])[REPEATED]
    repeated: Samples = scaled(table)
    hypercube = qmc.LatinHypercube(train.X.shape[1], seed=0)
    X_low = np.vstack([train.X, 2 * hypercube.random(LOW) - 1])
    part = path.with_name(f"part-{path.name}")  # a file that was half written would stay
    np.savez(
        part,
        X=train.X,
        y=train.y,
        X_test=draw.test.X,
        y_test=draw.test.y,
        X_repeated=repeated.X,
        y_repeated=repeated.y,
        groups=table.group,
        X_low=X_low,
        y_low=mean_fields(X_low),
    )
    part.replace(path)


def scores(y: np.ndarray, found: dict[str, np.ndarray]) -> dict[str, float]:
    """Scores of a prediction of single cells (n, 5), whose standard deviations include the noise.

    The ELPPD is that of a normal density for each output, in physical units.
    """
    mean = found["mean"]
    std = found["std"]
    units = len(y) * LOG_UNITS
    return {
        "rmse": metrics.rmse(y, mean),
        "elppd": metrics.elppd_gaussian(y, mean, std) - units,
        "crps": metrics.crps_gaussian(y, mean, std),
        "coverage": metrics.coverage(y, mean, std, CONFIDENCE),
        "fit": float(found["fit"]),
        "predict": float(found["predict"]),
    }
