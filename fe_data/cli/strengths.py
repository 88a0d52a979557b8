"""The command `strengths`: its simulations and its result file."""

from pathlib import Path

from fe_data.cli.options import remove_earlier
from fe_data.cli.sampling import Sampling
from fe_data.composite.interface import STRENGTHS, strength_loading
from fe_data.composite.strengths import (
    SampledStrength,
    sample_strength,
    strength_rows,
    strength_table,
)
from safe_files.writing import write_atomic

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
        remove_earlier(out.parent, {out.name: BEGINNING})

    def write(samples: list[SampledStrength]) -> None:
        if out is not None:
            columns, rows = strength_rows(samples)
            text = "\n".join(",".join(row) for row in [columns, *rows])
            write_atomic(out, f"{text}\n".encode(), BEGINNING)

    samples = sampling.simulate(sample_strength, chosen, replicates, "strengths", write)
    return samples, strength_table(samples, sampling.phases.measured)
