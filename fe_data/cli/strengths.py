"""The command `strengths`: its simulations and its result file."""

from pathlib import Path

from joblib import Parallel, cpu_count, delayed

from fe_data.cli.options import require_writable
from fe_data.composite.interface import STRENGTHS, strength_loading
from fe_data.composite.phases import Phases
from fe_data.composite.rve import DROPS
from fe_data.composite.strengths import (
    SampledStrength,
    sample_strength,
    strength_rows,
    strength_table,
)
from fe_data.geometry.spacing import require_packable
from fe_data.progress import shown
from fe_data.settings import MAX_SEED, Settings, require_between, require_integer
from safe_files.writing import require_own, write_atomic

BEGINNING = b"loading,seed,strength_MPa"  # of a result file, which may be replaced
_MOST = 100_000  # microstructures


def print_strengths(
    phases: Phases,
    names: list[str] | None,
    vf: float,
    seed: int,
    replicates: int,
    settings: Settings,
    drop: float,
    jobs: int | None,
    out: Path | None,
) -> tuple[list[SampledStrength], str]:
    """Simulate strengths of random microstructures, and write them to a file.

    Args:
        phases: Materials that can break.
        names: Names of strengths; None for all.
        vf: Volume fraction of the fibres.
        seed: Seed of the first microstructure.
        replicates: Number of microstructures.
        settings: Number of fibres, spacing, resolution.
        drop: Share of its peak by which the mean stress falls until a path ends.
        jobs: Number of processes; None for all cores.
        out: CSV file; None writes none.

    Returns:
        All strengths, and a table of their statistics.
    """
    phases.require_breakable()
    chosen = list(dict.fromkeys(names or STRENGTHS))
    for name in chosen:
        strength_loading(name)
    require_integer("replicates", replicates, 1, _MOST)
    require_integer("seed", seed, 0, MAX_SEED - replicates + 1)
    require_between("drop", drop, *DROPS)
    require_packable(vf, settings.n_fibres, settings.min_spacing)
    count = cpu_count() if jobs is None else require_integer("jobs", jobs, 1, 1024)
    if out is not None:
        require_writable(out.parent)
        require_own(out, BEGINNING)
        out.unlink(missing_ok=True)
    tasks = [(name, number) for name in chosen for number in range(seed, seed + replicates)]
    pool = Parallel(n_jobs=min(count, len(tasks)), return_as="generator")
    results = pool(
        delayed(sample_strength)(phases, name, vf, number, settings, drop) for name, number in tasks
    )
    samples: list[SampledStrength] = []
    try:
        for sample in shown(results, "strengths", "RVE", len(tasks)):
            samples.append(sample)  # noqa: PERF402 (an interruption keeps what is there)
    finally:
        if out is not None and samples:
            columns, rows = strength_rows(samples)
            text = "\n".join(",".join(row) for row in [columns, *rows])
            write_atomic(out, f"{text}\n".encode(), BEGINNING)
    return samples, strength_table(samples, phases.measured)
