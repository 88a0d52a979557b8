"""Compare a dataset with a reference table: bias, spread and scatter of every property."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from fe_data.arrays import Floats
from fe_data.dataset.table import Table
from fe_data.settings import INPUT_BOUNDS, OUTPUT_NAMES, require_kind
from fe_data.statistics.replicates import Statistics, replicate_statistics

ABSOLUTE = ("p_sigma",)  # a fraction that may be 0: its differences are not divided by it
SAME_INPUTS = 1e-9  # distance in the unit box of the inputs


@dataclass(frozen=True)
class OutputComparison:
    """One output over all pairs: differences [-], relative to the reference but for p_sigma."""

    output: str
    relative: bool
    bias: float  # mean difference
    standard_error: float | None  # of the bias, from replicates; None where a cell stands alone
    spread: float  # standard deviation of the differences
    worst: float  # difference of the largest size, with its sign
    worst_point: int  # number of that pair in Comparison.pairs
    scatter: float | None  # mean coefficient of variation of our replicates; None without any
    reference_scatter: float | None


@dataclass(frozen=True)
class Comparison:
    """A dataset against a reference.

    Attributes:
        outputs: One entry for each output.
        pairs: Inputs, means and differences of each pair, in the order of the dataset.
        distance: Largest distance of paired inputs, as a fraction of the input box; 0 when equal.
        unpaired: Number of reference inputs that no input of the dataset is paired with.
    """

    outputs: list[OutputComparison]
    pairs: list[dict[str, Any]]
    distance: float
    unpaired: int


def check(ours: Table, reference: Table, tolerance: float) -> tuple[float, list[int]]:
    """Largest difference of two tables row by row, and every index that exceeds the tolerance."""
    _require_samples(ours, reference)
    same_shape = ours.inputs.shape == reference.inputs.shape
    if not same_shape or not np.allclose(ours.inputs, reference.inputs, rtol=1e-12, atol=0):
        raise ValueError("the tables do not hold the same inputs in the same order")
    difference = np.abs(_differences(ours.outputs, reference.outputs)).max(axis=1)
    return float(difference.max()), ours.index[~(difference <= tolerance)].tolist()


def compare(ours: Table, reference: Table) -> Comparison:
    """Pair the points of two tables by their inputs and compare the outputs.

    Replicates are averaged first. Every point of ours is paired with the reference point of equal
    inputs or, when there is none, with the nearest in the unit box of the inputs. A `ValueError`
    tells that a table has no sample with outputs.

    Args:
        ours: A table.
        reference: The table to compare it with.

    Returns:
        Differences of each output, and the pairs.
    """
    require_kind("ours", ours, Table)
    require_kind("reference", reference, Table)
    _require_samples(ours, reference)
    a, b = replicate_statistics(ours), replicate_statistics(reference)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    unit_a, unit_b = ((table.X - low) / (high - low) for table in (a, b))
    distance, nearest = cKDTree(unit_b).query(unit_a)
    matched = Statistics(*(values[nearest] for values in vars(b).values()))
    difference = _differences(a.mean, matched.mean)
    columns = {
        "inputs": a.X,
        "reference_inputs": matched.X,
        "replicates": np.column_stack([a.count, matched.count]),
        "mean": a.mean,
        "reference_mean": matched.mean,
        "difference": difference,
    }
    squares = a.standard_error**2 + matched.standard_error**2  # of the differences, still absolute
    errors = _differences(matched.mean + np.sqrt(squares), matched.mean)
    errors = np.sqrt((errors**2).sum(axis=0)) / len(errors)
    return Comparison(
        outputs=[_compare_output(i, difference[:, i], e, a, matched) for i, e in enumerate(errors)],
        pairs=[{k: v[n].tolist() for k, v in columns.items()} for n in range(len(difference))],
        distance=0.0 if distance.max() < SAME_INPUTS else float(distance.max()),
        unpaired=len(b.X) - len(np.unique(nearest)),
    )


def _require_samples(ours: Table, reference: Table) -> None:
    for name, table in (("dataset", ours), ("reference", reference)):
        if len(table) == 0:
            raise ValueError(f"the {name} has no sample with outputs to compare")


def _differences(ours: Floats, reference: Floats) -> Floats:
    """Differences (n, 5), relative to the reference or, where that is 0, to ours; see ABSOLUTE."""
    scale = np.where(reference == 0, np.abs(ours), np.abs(reference))
    scale[scale == 0] = 1.0  # without hardening b is 0 on both sides
    scale[:, [name in ABSOLUTE for name in OUTPUT_NAMES]] = 1.0
    return np.asarray((ours - reference) / scale)


def format_comparison(comparison: Comparison) -> str:
    """The comparison as a text table."""
    which = f"{len(comparison.pairs)} pairs of equal inputs"
    if comparison.distance:
        apart = f"up to {comparison.distance:.3g} of the box apart"
        which = f"{len(comparison.pairs)} pairs of nearest inputs, {apart}"
    if comparison.unpaired:
        which += f"; {comparison.unpaired} inputs of the reference are not used"
    titles = f"{'output':<10}{'bias':>11}{'spread':>11}{'worst':>11}{'at pair':>9}{'CoV':>9}"
    rows = [_format_output(output) for output in comparison.outputs]
    return "\n".join([which, f"{titles}{'CoV ref':>9}{'se(bias)':>11}", *rows])


def _compare_output(
    column: int, difference: Floats, error: float, ours: Statistics, reference: Statistics
) -> OutputComparison:
    worst = int(np.argmax(np.abs(difference)))
    return OutputComparison(
        output=OUTPUT_NAMES[column],
        relative=OUTPUT_NAMES[column] not in ABSOLUTE,
        bias=float(difference.mean()),
        standard_error=None if np.isnan(error) else float(error),
        spread=float(difference.std(ddof=1)) if len(difference) > 1 else 0.0,
        worst=float(difference[worst]),
        worst_point=worst,
        scatter=_scatter(ours, column),
        reference_scatter=_scatter(reference, column),
    )


def _scatter(table: Statistics, column: int) -> float | None:
    """Mean coefficient of variation over the points with replicates and a mean other than 0."""
    use = (table.count > 1) & (table.mean[:, column] != 0)
    ratios = table.std[use, column] / np.abs(table.mean[use, column])
    return float(np.mean(ratios)) if use.any() else None


def _format_output(output: OutputComparison) -> str:
    scale, unit = (100.0, " %") if output.relative else (1.0, "")
    numbers = [f"{scale * x:+.3f}{unit}" for x in (output.bias, output.spread, output.worst)]
    scatter = (output.scatter, output.reference_scatter)
    a, b = ("-" if x is None else f"{100 * x:.2f} %" for x in scatter)
    error = "-" if (x := output.standard_error) is None else f"{scale * x:.3f}{unit}"
    shown = "".join(f"{text:>11}" for text in numbers)
    return f"{output.output:<10}{shown}{output.worst_point:>9}{a:>9}{b:>9}{error:>11}"
