"""Simulate further datasets, and the published inputs with other microstructures."""

from pathlib import Path

from fe_data.cli.main import main as run_command
from figures.pipeline.paths import TEST, TRAINING, drawn, require_tables, table_path
from figures.pipeline.profiles import PROFILE_DIR, load_profile
from figures.pipeline.simulation import simulate
from safe_files.writing import write_atomic

FURTHER = {36: 24, 60: 12}  # seed → number of datasets
COPIES = 6  # simulations of each published input
SEEDS = {TEST: 1, TRAINING: 2, "train_uniform": 3}  # of the published inputs
DRAWS = "draws: {count: 24, repeats: 3}"  # in the full profile
SIX = f"draws: {{count: {COPIES}, repeats: 1}}"


def simulate_further(folder: Path, jobs: int) -> list[Path]:
    """Simulate the further datasets, each seed into a folder; existing samples are kept.

    Raises:
        RuntimeError: If a simulation fails.
    """
    sizes = load_profile("full").datasets
    folders = []
    for seed, count in FURTHER.items():
        out = folder / f"seed{seed}"
        designs = {design: (count * sizes[design],) for design in (TEST, TRAINING)}
        _require(simulate(drawn(out), designs, seed, jobs), out)
        folders.append(out)
    return folders


def simulate_published(published: Path, out: Path, jobs: int) -> Path:
    """Simulate the inputs of the published tables six times, with different microstructures.

    Args:
        published: Folder with the published tables, as `import-published` writes them.
        out: Folder for the six datasets (`out/draws/DESIGN`), for the first of them
            (`out/DESIGN.csv`), and for the profile of their notebook.
        jobs: Number of worker processes.

    Returns:
        The profile, with six datasets and one training on each.

    Raises:
        FileNotFoundError: If a published table is missing.
        RuntimeError: If a simulation fails.
    """
    require_tables(published, *SEEDS)
    for design, seed in SEEDS.items():
        header, *rows = table_path(published, design).read_text(encoding="utf-8").splitlines()
        inputs = out / "inputs" / f"{design}.csv"
        inputs.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(inputs, _lines(header, rows * COPIES), None)
        folder = drawn(out) / design
        arguments = ["--inputs", str(inputs), "--seed", str(seed), "--jobs", str(jobs)]
        _require(run_command(["generate", *arguments, "--out", str(folder)]), folder)
        header, *simulated = (folder / "dataset.csv").read_text(encoding="utf-8").splitlines()
        write_atomic(out / f"{design}.csv", _lines(header, simulated[: len(rows)]), None)
    profile = (PROFILE_DIR / "full.yaml").read_text(encoding="utf-8")
    assert DRAWS in profile
    path = out / "six.yaml"
    write_atomic(path, profile.replace(DRAWS, SIX).encode(), None)
    return path


def _lines(header: str, rows: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (header, *rows)).encode()


def _require(code: int, out: Path) -> None:
    if code:
        raise RuntimeError(f"the simulation into {out} ended with exit code {code}")
