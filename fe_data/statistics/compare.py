"""Compare a dataset with a reference table: bias, spread and scatter of each output."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from fe_data.arrays import Floats, keep_copies
from fe_data.dataset.table import Table, require_samples
from fe_data.schema import INPUT_BOUNDS, output
from fe_data.settings import require_kind
from fe_data.statistics.replicates import Statistics, replicate_statistics
from safe_files.text import Short

SAME_INPUTS = 1e-9  # largest distance of equal inputs, which are scaled to the unit box


@dataclass(frozen=True, repr=False)
class Comparison(Short):
    """Comparison of a dataset with a reference, in m pairs of equal or nearest inputs.

    Attributes:
        ours: Statistics of the inputs of the dataset, in its order.
        reference: Statistics of the reference input of each pair.
        difference: Differences of the means (m, n_out), relative to the reference. They are
            absolute for outputs that are `absolute` in the schema.
        distance: Largest distance of paired inputs, which are scaled to the unit box; 0 if equal.
        unpaired: Number of reference inputs without a partner in the dataset.

    Examples:
        >>> from fe_data import compare, load_table
        >>> table = load_table("fe_data/datasets/noise.csv")
        >>> comparison = compare(table, table)
        >>> comparison.difference.shape, comparison.bias.any().item()
        ((20, 5), False)
        >>> comparison.scatter[0, 0].round(3).item()  # of b over the microstructures of an input
        0.015
    """

    ours: Statistics
    reference: Statistics
    difference: Floats
    distance: float
    unpaired: int

    def __post_init__(self) -> None:
        keep_copies(self)

    @property
    def bias(self) -> Floats:
        """Means of the differences, (n_out,)."""
        return np.asarray(self.difference.mean(axis=0))

    @property
    def standard_error(self) -> Floats:
        """Standard errors (n_out,) of the bias from replicates; NaN if an input has one RVE."""
        errors = np.hypot(self.ours.standard_error, self.reference.standard_error)
        relative = _differences(
            self.reference.mean + errors, self.reference.mean, self.ours.output_names
        )
        return np.asarray(np.sqrt((relative**2).sum(axis=0)) / len(relative))

    @property
    def spread(self) -> Floats:
        """Standard deviations of the differences, (n_out,); 0 for one pair."""
        return np.asarray(self.difference.std(axis=0, ddof=min(1, len(self.difference) - 1)))

    @property
    def scatter(self) -> Floats:
        """Mean coefficients of variation over microstructures: dataset, reference; (2, n_out)."""
        return np.array([_scatter(table) for table in (self.ours, self.reference)])


def check(ours: Table, reference: Table, tolerance: float) -> tuple[float, list[int]]:
    """Return the largest difference of two tables, and indices of rows beyond the tolerance."""
    require_samples(ours)
    ours, reference = _of_common_outputs(ours, reference)
    ours_varied, varied = (np.hstack([t.inputs, t.field_values]) for t in (ours, reference))
    same_shape = ours_varied.shape == varied.shape
    if not same_shape or not np.allclose(ours_varied, varied, rtol=1e-12, atol=0):
        raise ValueError("the tables do not hold the same inputs in the same order")
    difference = np.abs(_differences(ours.outputs, reference.outputs, ours.output_names)).max(
        axis=1
    )
    return float(difference.max()), ours.index[~(difference <= tolerance)].tolist()


def compare(ours: Table, reference: Table) -> Comparison:
    """Pair the rows of two tables by their inputs and compare the outputs.

    Replicates are averaged first. Each input of `ours` is paired with the equal or nearest input of
    `reference`. Distances are between inputs scaled to the unit box.

    Args:
        ours: A table.
        reference: The reference table.

    Returns:
        Differences of each output, and the pairs.

    Raises:
        ValueError: If a table has no complete sample, or if the tables have different columns of
            numbers of a material.

    Examples:
        >>> from fe_data import compare, load_table
        >>> ours = load_table("fe_data/datasets/train_beta.csv")
        >>> comparison = compare(ours, load_table("fe_data/datasets/train_uniform.csv"))
        >>> len(comparison.difference), comparison.distance > 0
        (50, True)
    """
    require_kind("ours", ours, Table)
    require_kind("reference", reference, Table)
    ours, reference = _of_common_outputs(ours, reference)
    a = replicate_statistics(ours)
    b = replicate_statistics(reference)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    unit_a, unit_b = ((table.X - low) / (high - low) for table in (a, b))
    if a.fields:
        # Numbers of a material have no fixed range, so that of the reference is used.
        shift, range_b = b.field_values.min(axis=0), np.ptp(b.field_values, axis=0)
        scale = np.where(range_b > 0, range_b, np.maximum(np.abs(shift), np.finfo(float).tiny))
        scaled = [(table.field_values - shift) / scale for table in (a, b)]
        unit_a, unit_b = np.hstack([unit_a, scaled[0]]), np.hstack([unit_b, scaled[1]])
    distance, nearest = cKDTree(unit_b).query(unit_a)
    matched = Statistics(
        group=b.group[nearest],
        X=b.X[nearest],
        mean=b.mean[nearest],
        covariance=b.covariance[nearest],
        count=b.count[nearest],
        output_names=b.output_names,
        fields=b.fields,
        field_values=b.field_values[nearest] if b.fields else b.field_values,
    )
    return Comparison(
        ours=a,
        reference=matched,
        difference=_differences(a.mean, matched.mean, a.output_names),
        distance=0.0 if distance.max() < SAME_INPUTS else float(distance.max()),
        unpaired=len(b.X) - len(np.unique(nearest)),
    )


def _of_common_outputs(ours: Table, reference: Table) -> tuple[Table, Table]:
    """Reduce both tables to their common outputs, with numbers of a material in equal order."""
    if set(ours.fields) != set(reference.fields):
        different = ", ".join(sorted({*ours.fields} ^ {*reference.fields}))
        raise ValueError(f"only one of the tables has the columns {different:.300}")
    order = [reference.fields.index(name) for name in ours.fields]
    values = reference.field_values[:, order]
    reference = replace(reference, fields=ours.fields, field_values=values)
    names = [name for name in ours.output_names if name in reference.output_names]
    return ours.with_outputs(names), reference.with_outputs(names)


def _differences(ours: Floats, reference: Floats, names: tuple[str, ...]) -> Floats:
    """Return differences (n, n_out) as in `Comparison`; relative to ours if the reference is 0."""
    scale = np.where(reference == 0, np.abs(ours), np.abs(reference))
    scale[scale == 0] = 1.0  # both may be 0, such as b without hardening
    scale[:, [output(name).absolute for name in names]] = 1.0
    return np.asarray((ours - reference) / scale)


def _scatter(table: Statistics) -> Floats:
    """Return mean coefficients of variation (n_out,) over replicated inputs with a nonzero mean."""
    scatters = (table.count > 1)[:, None] & (table.mean != 0)
    ratios = np.divide(table.std, np.abs(table.mean), where=scatters, out=np.zeros_like(table.mean))
    number = scatters.sum(axis=0)
    return np.where(number > 0, ratios.sum(axis=0) / np.maximum(number, 1), np.nan)


def format_comparison(comparison: Comparison) -> str:
    """Format a comparison as a text table."""
    difference = comparison.difference
    which = f"{len(difference)} pairs of equal inputs"
    if comparison.distance:
        apart = f"up to {comparison.distance:.3g} of the input range apart"
        which = f"{len(difference)} pairs of nearest inputs, {apart}"
    if comparison.unpaired:
        which += f"; {comparison.unpaired} inputs of the reference are not used"
    titles = "output           bias   se(bias)     spread      worst  at pair      CoV  CoV ref"
    lines = [which, titles]
    worst = np.abs(difference).argmax(axis=0)
    for i, name in enumerate(comparison.ours.output_names):
        absolute = output(name).absolute
        scale = 1.0 if absolute else 100.0
        unit = "" if absolute else " %"
        moments = [moment[i] for moment in (comparison.bias, comparison.standard_error)]
        values = [*moments, comparison.spread[i], difference[worst[i], i]]
        shown = ["-" if np.isnan(x) else f"{scale * x:+.3f}{unit}" for x in values]
        ratios = ["-" if np.isnan(x) else f"{100 * x:.2f} %" for x in comparison.scatter[:, i]]
        line = "".join(f"{text:>11}" for text in shown) + f"{worst[i]:>9}"
        lines.append(f"{name:<10}{line}" + "".join(f"{text:>9}" for text in ratios))
    return "\n".join(lines)
