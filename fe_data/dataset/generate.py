"""Simulate all samples of a design into a dataset folder; interrupted runs can be continued."""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from fe_data.arrays import number
from fe_data.composite.interface import STRENGTHS
from fe_data.composite.phases import Phases
from fe_data.dataset import collection, executors, record, storage, worker
from fe_data.dataset.design import Design, Sample
from fe_data.dataset.executors import WorkerDied
from fe_data.dataset.requirements import (
    of_material,
    require_elements_for_damage,
    require_no_material,
    require_outputs,
    require_possible,
)
from fe_data.loading import Loading
from fe_data.settings import Settings, require_integer, require_kind, require_path
from fe_data.sparse.solver import chosen_solver
from safe_files.progress import open_streams, progress_bar, titled
from safe_files.text import Short

MAX_JOBS = 4096
MAX_SHARDS = 1_000_000
# An attempt fails after so many deaths of workers that ran only this sample.
DEATHS_OF_A_SAMPLE = 2


class GenerationError(RuntimeError):
    """The run could not continue; every finished sample is kept.

    Examples:
        >>> from fe_data import GenerationError
        >>> issubclass(GenerationError, RuntimeError)
        True
    """


class GenerationInterrupted(KeyboardInterrupt):
    """The user interrupted the run; every finished sample is kept.

    Examples:
        >>> from fe_data import GenerationInterrupted
        >>> issubclass(GenerationInterrupted, KeyboardInterrupt)  # passes `except Exception`
        True
    """


@dataclass(frozen=True, repr=False)
class GenerationSummary(Short):
    """Result of a call of `generate`.

    Attributes:
        simulated: Number of samples that were simulated in this run.
        counts: Number of samples by status. They count all shards if every sample has a record,
            otherwise only this shard. Samples without b_eff and c_eff, or without a strength, are
            "unfitted".
        missing: Samples of other shards without a usable record: index and reason.
        unreadable: Samples of this shard without a usable record: index and reason.
        table_written: Whether the table was written, because all samples are complete.
        warnings: Samples whose effective properties describe their curves poorly, or whose stress
            depends on the mesh: index and reason.

    Examples:
        >>> import tempfile
        >>> import fe_data
        >>> coarse = fe_data.Settings(n_fibres=3, increments=10)
        >>> design = fe_data.named_design("train_beta", seed=0, count=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary = fe_data.generate(design, coarse, folder, jobs=1, silent=True)
        >>> summary.simulated, summary.table_written
        (1, True)
    """

    simulated: int
    counts: dict[str, int]
    missing: dict[int, str]
    unreadable: dict[int, str]
    table_written: bool
    warnings: dict[int, str]


def generate(
    design: Design,
    settings: Settings,
    folder: Path,
    *,
    loading: Loading | Sequence[Loading] | None = None,
    anisotropy: bool = False,
    phases: Phases | None = None,
    interphase: float = 0.0,
    constants: bool = False,
    strengths: Sequence[str] = (),
    jobs: int = 1,
    shard: tuple[int, int] = (1, 1),
    dask: str | None = None,
    simulator: worker.Simulator | None = None,
    retry_failed: bool = False,
    silent: bool = False,
) -> GenerationSummary:
    """Simulate the missing samples of a dataset folder, then write its table.

    The table depends only on design and settings, not on the number of jobs or shards, on
    interruptions or on lost workers.

    Args:
        design: Inputs and seeds of all samples.
        settings: Settings of every simulation.
        folder: Dataset folder, created if missing. Samples in it are kept, except samples that
            failed by an unexpected error or a dead worker. These are simulated again, because the
            machine may have been the cause.
        loading: One path for all samples, or several paths that the samples follow in turn. None is
            the loading of the paper. With paths, the records have the averaged curves and the path,
            and the table has path numbers instead of effective properties.
        anisotropy: Also compute the outputs `E_spread` and `isotropy_misfit` of each sample, in
            three further elastic increments.
        phases: Phases for the general solver. If the design has `fields`, they replace numbers of
            these phases. Only the input `vf` of the design is used; the table takes the other
            inputs from the material. Settings of phases must have their defaults.
        interphase: Thickness of a ring around each fibre, in mean radii of the fibres [-]. The ring
            has the phase "interphase" of the material.
        constants: Also compute all effective elastic constants of each sample as outputs. This
            needs phases.
        strengths: Names of strengths that are further outputs of each sample: "transverse_tension",
            "transverse_compression", "longitudinal_shear" or "transverse_shear". What has broken
            and the energies are outputs too. This needs a material with an interface or damage. The
            other outputs are those of bonded fibres.
        jobs: Number of worker processes on this machine.
        shard: (i, n) simulates only the samples i - 1, i - 1 + n, ...
        dask: Address of a Dask scheduler whose workers are used instead of local processes.
        simulator: Function called as simulator(inputs, seed, settings) in the workers. If the
            design has given microstructures, a `Microstructure` replaces the seed. With `loading`
            the path is a fourth argument. None is the finite-element RVE.
        retry_failed: Simulate failed samples again.
        silent: Show no progress.

    Returns:
        How many samples are complete, and which are missing.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of range, the fibres of a sample cannot be packed, b_m or
            c_m is invalid for the hardening law, the folder has another configuration, someone
            changed its table, or elements are too large for a fracture energy.
        FolderLockedError: If another process writes the same samples.
        GenerationError: If the disk is full, the scheduler is lost, a package is missing or the
            solver does not work on this machine. Repeat the call to finish.
        GenerationInterrupted: If the user interrupts the run. Repeat the call to finish.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import Settings, generate, load_table, named_design
        >>> design = named_design("noise", count=1, replicates=1)
        >>> small = Settings(n_fibres=1, resolution=2, increments=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary = generate(design, small, Path(folder), silent=True)
        ...     table = load_table(Path(folder, "dataset.csv"))
        >>> summary.counts
        {'ok': 1, 'retried': 0, 'failed': 0}
        >>> bool((table.inputs == design.inputs).all())
        True
    """
    open_streams()
    require_kind("design", design, Design)
    require_kind("settings", settings, Settings)
    folder = require_path("folder", folder)
    require_kind("dask", dask, str, NoneType)
    flags = {"anisotropy": anisotropy, "constants": constants}
    flags |= {"retry_failed": retry_failed, "silent": silent}
    for name, value in flags.items():
        require_kind(name, value, bool)
    shard = _checked_shard(shard)
    jobs = require_integer("jobs", jobs, 1, MAX_JOBS)
    interphase = number("interphase", interphase)
    if loading is not None:
        design = _with_paths(design, loading)
    if anisotropy:
        require_outputs(design, simulator)
        simulator = worker.rve_with_anisotropy
    require_kind("phases", phases, Phases, NoneType)
    require_kind("strengths", strengths, list, tuple)
    if phases is None:
        require_no_material(design, interphase, constants, strengths)
    elif simulator is not None:
        what = "anisotropy: use effective_constants" if anisotropy else "another simulator"
        raise ValueError(f"phases cannot be combined with {what}")
    else:
        names = [*map(str, strengths)]
        # Their order does not change the table.
        ordered = (name for name in (*STRENGTHS, *names) if name in names)
        strengths = tuple(dict.fromkeys(ordered))
        simulator = worker.MaterialSimulator(phases, interphase, constants, strengths)
        design = of_material(design, settings, simulator)
    require_possible(design, settings, general=phases is not None)
    if isinstance(simulator, worker.MaterialSimulator) and (strengths or design.loadings):
        require_elements_for_damage(design, settings, simulator)
    chosen_solver()  # raises an error if the solver is unknown
    further = constants, tuple(strengths)
    config = storage.configuration(design, settings, anisotropy, phases, interphase, *further)
    job = worker.Job(settings, config["digest"], simulator)
    indices = range(shard[0] - 1, len(design), shard[1])
    storage.open_folder(folder, config)
    with storage.locked(folder, shard):
        pending = _prepared(folder, indices, job.config, retry_failed)
        _Run(design, folder, job, jobs, dask, len(indices), silent).finish(pending)
        collected = _collected(folder, config, indices, len(design))
        if not collected.problems:
            collection.write_tables(folder, config, collected)
    return _summary(len(pending), collected, indices)


def _prepared(folder: Path, indices: range, digest: str, retry_failed: bool) -> list[int]:
    """Return the samples to simulate, after the folder has been made ready for their records."""
    pending = [i for i in indices if not collection.is_done(folder, i, digest, retry_failed)]
    if pending:
        storage.require_no_link(folder, pending)
        storage.require_unchanged(folder, digest)
    storage.make_places(folder, pending)
    return pending


def _collected(
    folder: Path, config: dict[str, Any], indices: range, n_samples: int
) -> collection.Collection:
    """Read the records of all samples or, if any sample has no record, only of this shard."""
    samples = range(n_samples)
    absent = [i for i in samples if not storage.record_path(folder, i).exists()]
    collected = collection.collect(folder, config, indices if absent else samples)
    collected.problems |= dict.fromkeys(absent, "no record")
    return collected


def _summary(simulated: int, collected: collection.Collection, indices: range) -> GenerationSummary:
    """Summarise a run that simulated samples of the shard with these indices."""
    problems = collected.problems
    return GenerationSummary(
        simulated=simulated,
        counts=collected.counts,
        missing={index: why for index, why in problems.items() if index not in indices},
        unreadable={index: why for index, why in problems.items() if index in indices},
        table_written=not problems,
        warnings=collected.warnings,
    )


def _with_paths(design: Design, loading: Loading | Sequence[Loading]) -> Design:
    """Return the design with loading paths, which the samples follow in turn."""
    paths = tuple(loading) if isinstance(loading, Sequence) else (loading,)
    for path in paths:
        require_kind("loading", path, Loading)
    require_integer("number of paths in loading", len(paths), 1, len(design))
    return dataclasses.replace(design, loadings=paths)


def _checked_shard(shard: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(shard, tuple) or len(shard) != 2:
        raise ValueError(f"shard = {shard!r:.60} must be two integers")
    shards = require_integer("shard", shard[1], 1, MAX_SHARDS)
    return require_integer("shard", shard[0], 1, shards), shards


@dataclass
class _Run:
    """The samples that one call of `generate` simulates, and its workers."""

    design: Design
    folder: Path
    job: worker.Job
    jobs: int
    dask: str | None
    total: int
    silent: bool

    def finish(self, pending: list[int]) -> None:
        """Simulate the given samples and write their records."""
        self.remaining = dict.fromkeys(pending)  # an ordered set
        if not pending:
            return
        title = titled("generate", not self.silent)
        self.progress = progress_bar(self.total, title, "sample", self.total - len(pending))
        if self.dask is None:
            workers = executors.local_workers(self.jobs)
        else:
            workers = executors.dask_workers(self.dask)
        try:
            with self.progress, workers as run:
                self._run_remaining(run)
        except KeyboardInterrupt:
            raise GenerationInterrupted(f"interrupted: {self._finished()}") from None
        except (OSError, MemoryError, ImportError, executors.ClusterError) as error:
            raise GenerationError(f"stopped: {describe(error)}: {self._finished()}") from error

    def _run_remaining(self, run: executors.Runner) -> None:
        while self.remaining:
            try:
                self._run_tasks(run, [worker.Task(self.design.sample(i)) for i in self.remaining])
            except WorkerDied as death:
                if not self.silent:
                    self.progress.write(f"fe_data: {death}", file=sys.stderr)
                for task in death.tasks:
                    self._run_alone(run, task.sample)

    def _run_tasks(self, run: executors.Runner, tasks: list[worker.Task]) -> None:
        for index, data in run(self.job, tasks):
            self._save(index, data)

    def _run_alone(self, run: executors.Runner, sample: Sample) -> None:
        """Simulate a sample that may kill its worker, while no other sample is running."""
        failed: list[worker.Attempt] = []
        for attempt in range(worker.attempts_at(sample)):
            how = ""
            for _ in range(DEATHS_OF_A_SAMPLE):
                try:
                    self._run_tasks(run, [worker.Task(sample, tuple(failed))])
                    return
                except WorkerDied as death:
                    how = death.how
            seed = worker.attempt_seed(sample, attempt)
            failed.append(worker.Attempt(seed, worker.DIED + how))
        try:
            for _ in run(self.job.require_working, [None]):
                pass
        except WorkerDied as death:
            raise worker.unusable(worker.DIED + death.how) from None
        self._save(*worker.encode_result(self.job, sample, sample.seed, failed, None, 0.0))

    def _save(self, index: int, data: bytes) -> None:
        with executors.interrupts_blocked():
            record.write_atomic(storage.record_path(self.folder, index), data)
            del self.remaining[index]
        self.progress.update()

    def _finished(self) -> str:
        done = self.total - len(self.remaining)
        where = f"{self.total} samples are in {self.folder}"
        return f"{done} of {where}; run the same command again to continue"


def describe(error: BaseException) -> str:
    """Describe an error in a few words, as part of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f" ({error.filename})" if error.filename else "")
    if isinstance(error, MemoryError):
        return f"out of memory: {error}".removesuffix(": ")
    return " ".join(str(error).split()) or type(error).__name__
