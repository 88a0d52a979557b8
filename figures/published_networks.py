"""Score the pre-trained networks that the authors published: the prior row of Table 3.

Usage: `python -m figures.published_networks FILE [DATA]`. FILE has the networks, and the folder
DATA has the published test table.
"""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from typer import Argument

from bnn import MLP
from fe_data.published.import_published import describe, load_content
from fe_data.schema import INPUT_NAMES
from figures.claims import load_published
from figures.composite.problem import OUTPUT_NAMES, load_samples, published_tables
from figures.materials_surrogate.surrogate import HIDDEN, OutputScores, Prediction
from figures.pipeline.paths import TEST

ARCHITECTURE = MLP((len(INPUT_NAMES), *HIDDEN, len(OUTPUT_NAMES)))
USED = 30  # number of published networks that are scored, as in the paper: the first ones
KEY = "prior_0"  # name of (networks, losses); a network is a list of kernels and biases


def load_networks(path: Path) -> np.ndarray:
    """Read the weights (K, d) of the published networks, without executing code in the pickle."""
    content = load_content(path)
    layers = ARCHITECTURE.layers
    shapes = [shape for layer in layers for shape in ((layer.n_in, layer.n_out), (layer.n_out,))]
    try:
        networks, _ = content[KEY]
        if any([np.shape(array) for array in network] != shapes for network in networks):
            raise ValueError
        flat = [np.concatenate([np.ravel(array) for array in network]) for network in networks]
        weights = np.array(flat, dtype=float)
    except (IndexError, KeyError, TypeError, ValueError):
        reason = f"no networks 4-20-20-20-20-5 under {KEY!r} in {describe(content)}"
        raise ValueError(f"{path}: {reason}") from None
    if len(weights) < USED or not np.isfinite(weights).all():
        raise ValueError(f"{path}: {len(weights)} networks, at least {USED} finite ones are needed")
    return weights


def prior_scores(weights: np.ndarray, data_dir: Path) -> OutputScores[float]:
    """Return the scores of the first networks on the published test table in a folder."""
    if not published_tables(data_dir, [TEST]):
        remedy = f"python -m fe_data import-published PATH {data_dir}"
        raise ValueError(f"{data_dir} has no published table {TEST}.csv: make it by {remedy}")
    test = load_samples(data_dir, TEST)
    return Prediction(ARCHITECTURE.forward(weights[:USED], test.X), test.y).scores()


def main(file: Path, data: Annotated[Path, Argument()] = Path("authors")) -> None:
    """Compare the scores of published networks with those printed in the paper."""
    try:
        ours = prior_scores(load_networks(file), data)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    table = load_published()["Table 3"]
    for score, printed in zip(table.columns, table.rows["published.prior"].printed, strict=True):
        digits = 3 if score == "elppd" else 6
        print(f"{score}: {getattr(ours, score):.{digits}f} (the paper prints {printed})")


if __name__ == "__main__":
    typer.run(main)
