"""The command `strengths`: its simulations and its result file."""

from pathlib import Path

from fe_data.cli.options import require_writable
from fe_data.cli.sampling import Sampling
from fe_data.composite.interface import STRENGTHS, strength_loading
from fe_data.composite.strengths import (
    SampledStrength,
    sample_strength,
    strength_rows,
    strength_table,
)
from safe_files.writing import require_own, write_atomic

BEGINNING = b"loading,seed,strength_MPa"  # of a result file, which may be replaced


def write_strengths(
    sampling: Sampling, names: list[str] | None, replicates: int, out: Path | None
) -> tuple[list[SampledStrength], str]:
    """Simulate strengths of random microstructures, and write them to a file.

    Args:
        sampling: Material, microstructures and number of processes.
        names: Names of strengths; None for all.
        replicates: Number of microstructures.
        out: CSV file; None writes none.

    Returns:
        All strengths, and a table of their statistics.
    """
    chosen = list(dict.fromkeys(names or STRENGTHS))
    for name in chosen:
        strength_loading(name)
    sampling.require_valid(replicates)
    if out is not None:
        require_writable(out.parent)
        require_own(out, BEGINNING)
        out.unlink(missing_ok=True)
    samples: list[SampledStrength] = []
    try:
        for sample in sampling.simulated(sample_strength, chosen, replicates, "strengths"):
            samples.append(sample)  # noqa: PERF402 (an interruption keeps what is there)
    finally:
        if out is not None and samples:
            columns, rows = strength_rows(samples)
            text = "\n".join(",".join(row) for row in [columns, *rows])
            write_atomic(out, f"{text}\n".encode(), BEGINNING)
    return samples, strength_table(samples, sampling.phases.measured)
