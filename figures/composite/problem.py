"""The paper's materials example: tables, scaling, functional prior and noise (section 3.2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnn import RBF, GaussianProcessPrior, LinearMean
from bnn.scaling import BoundsScaler
from fe_data import schema
from fe_data.dataset.table import Table, load_table
from fe_data.schema import INPUT_BOUNDS, INPUT_NAMES
from figures.pipeline.paths import TEST, TRAINING, require_tables, table_path, tables_of
from figures.pipeline.settings import TRAINING_CASE, Case

# The outputs of the paper; tables may have further outputs.
OUTPUTS = [output for output in schema.OUTPUTS if output.required]
OUTPUT_NAMES = tuple(output.name for output in OUTPUTS)
# Columns of the effective properties b, c, E and ν, which come before p_sigma.
EFFECTIVE = slice(OUTPUT_NAMES.index("p_sigma"))
# Physical ranges that are scaled to [-1, 1].
OUTPUT_BOUNDS = {output.name: output.bounds for output in OUTPUTS}
# Standard deviation of the noise divided by the mid-range of each output (section 3.2.1).
NOISE_COV = tuple(output.noise for output in OUTPUTS if output.noise is not None)
# Inputs that the prior of each output depends on: the "influential subset" of Table 2.
FEATURES = ((0, 1, 2), (0, 2, 3), (0, 1), (0,), (0, 1, 2, 3))
VARIANCE = 0.2
LENGTHSCALE = 0.8
KERNEL = RBF(VARIANCE, LENGTHSCALE)
ALONG = np.linspace(-1, 1, 81)  # scaled values of each input at which Fig. 11 b plots the prior
LOWEST_OUTPUT = 0.01  # physical; the prior's samples are clipped there, so that y > 0
INPUT_LABELS = {quantity.name: quantity.label_with_unit for quantity in schema.INPUTS}
LABELS = {output.name: output.label_with_unit for output in OUTPUTS}
INPUT_SCALING = BoundsScaler(*np.transpose(list(INPUT_BOUNDS.values())))
OUTPUT_SCALING = BoundsScaler(*np.transpose(list(OUTPUT_BOUNDS.values())))

# Means of the columns of the tables that the authors published, inputs then outputs.
MEANS = {
    TRAINING: (0.16787, 477.301, 400.525, 0.375054, 461.01, 0.344676, 121.672, 0.291417, 0.144302),
    "train_uniform": (
        0.221902, 405.126, 408.514, 0.369854, 509.234, 0.332559, 128.159, 0.288779, 0.264696,
    ),
    TEST: (0.251644, 407.971, 400.77, 0.354054, 512.377, 0.316804, 131.87, 0.287322, 0.305258),
    "replicates": (
        0.23695, 395.58, 396.469, 0.379749, 489.684, 0.330887, 129.087, 0.288092, 0.237529,
    ),
    "noise": (
        0.228701, 399.682, 400.235, 0.376853, 499.999, 0.332891, 127.967, 0.288498, 0.24568,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """A table of simulated RVEs, scaled."""

    X: np.ndarray  # inputs, (n, n_in)
    y: np.ndarray  # outputs, (n, n_out)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice | np.ndarray) -> "Samples":
        return Samples(self.X[rows], self.y[rows])


def load_samples(data_dir: Path | str, design: str, count: int | None = None) -> Samples:
    """Load the scaled samples of a design, all or the first `count`, without failed simulations."""
    require_tables(data_dir, design)
    return scaled(load_paper_table(table_path(data_dir, design)))[:count]


def load_paper_table(path: Path) -> Table:
    """Load a table with only the outputs of the paper."""
    return load_table(path).with_outputs(OUTPUT_NAMES)


def scaled(table: Table) -> Samples:
    """Return the RVEs of a table, scaled."""
    X = INPUT_SCALING.transform(table.inputs)
    y = OUTPUT_SCALING.transform(table.outputs)
    return Samples(X, y)


def load_cases(data_dir: Path | str, cases: Mapping[str, Case]) -> dict[str, Samples]:
    """Load training sets by name; all tables but that of TRAINING_CASE may be missing."""
    return {
        name: load_samples(data_dir, case.design, case.count)
        for name, case in cases.items()
        if name == TRAINING_CASE or table_path(data_dir, case.design).is_file()
    }


def load_designs(data_dir: Path | str, designs: Iterable[str]) -> dict[str, Table]:
    """Load the tables of the designs that a folder has, by name."""
    return {design: load_paper_table(path) for design, path in tables_of(data_dir, designs).items()}


def published_tables(data_dir: Path | str, designs: Iterable[str]) -> list[str]:
    """Return the designs whose table in a folder has the column means of the published table."""
    tables = load_designs(data_dir, [design for design in designs if design in MEANS])
    means = {name: columns(table).mean() for name, table in tables.items()}
    return [name for name in means if np.allclose(means[name], MEANS[name], rtol=1e-4, atol=0)]


def columns(table: Table) -> pd.DataFrame:
    """Return the physical inputs and outputs of the RVEs of a table, by name."""
    names = [*INPUT_NAMES, *OUTPUT_NAMES]
    return pd.DataFrame(np.hstack([table.inputs, table.outputs]), columns=names)


def by_output(values: np.ndarray) -> dict[str, float]:
    """Return one value per output, (n_out,), by its name."""
    return dict(zip(OUTPUT_NAMES, values.tolist(), strict=True))


def noise_std() -> np.ndarray:
    """Return the scaled noise standard deviations, (n_out,): roots of the diagonal of Σ_noise."""
    return np.array(NOISE_COV) * OUTPUT_SCALING.centre / OUTPUT_SCALING.half_range


def fit_theta(samples: Samples) -> np.ndarray:
    """Fit the slopes of the prior mean m(x) = θ x[0] by least squares, (n_out,)."""
    slope = samples.X[:, 0]
    return slope @ samples.y / (slope @ slope)


def functional_prior(theta: np.ndarray) -> GaussianProcessPrior:
    """Return the prior p(g) of section 3.2.2 with slopes θ of the mean, (n_out,), and y > 0."""
    mean = LinearMean(np.asarray(theta))
    n = len(OUTPUT_NAMES)
    bounds = OUTPUT_SCALING.transform(np.full(n, LOWEST_OUTPUT)), None
    return GaussianProcessPrior(mean, KERNEL, n_outputs=n, active_dims=FEATURES, bounds=bounds)


def along_inputs() -> dict[str, np.ndarray]:
    """Return scaled inputs that vary along one input, (81, n_in), the others at mid-range."""
    axes = np.eye(len(INPUT_NAMES))
    return {name: np.outer(ALONG, axis) for name, axis in zip(INPUT_NAMES, axes, strict=True)}


def prior_along_inputs(theta: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Draw realisations of the prior along each input, (400, 81, n_out), others at mid-range."""
    prior = functional_prior(theta)
    lines = enumerate(along_inputs().items())
    return {name: prior.sample(X, 400, seed + i) for i, (name, X) in lines}
