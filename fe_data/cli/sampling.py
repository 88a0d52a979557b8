"""What `strengths` and `envelope` share: random microstructures of a material that can break."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import fe_data
from fe_data.cli import options
from fe_data.cli.hints import say_mesh_dependences, say_units
from fe_data.cli.messages import INCOMPLETE, OK, say, show
from fe_data.cli.options import CommandWithOptions, Integer
from fe_data.settings import MAX_SEED, Settings, VolumeFraction, require_between, require_integer

if TYPE_CHECKING:
    from fe_data.composite.strengths import EnvelopePoint, SampledStrength

_MOST = 100_000  # microstructures
T = TypeVar("T")


@dataclass(frozen=True)
class Sampling:
    """The options of random microstructures, and of how they are loaded.

    Attributes:
        phases: Materials that can break.
        vf: Volume fraction of the fibres.
        seed: Seed of the first microstructure.
        settings: Number of fibres, spacing, resolution.
        drop: Share of its peak by which the mean stress falls until a path ends.
        jobs: Number of processes; None for all cores.
    """

    phases: "fe_data.Phases"
    vf: float
    seed: int
    settings: Settings
    drop: float
    jobs: int | None

    def require_valid(self, replicates: int) -> None:
        """Raise a ValueError if an option is out of range, or an element of the first RVE."""
        from fe_data.composite.properties import require_fine_elements
        from fe_data.composite.rve import DROPS
        from fe_data.geometry.spacing import require_packable

        self.phases.require_breakable(self.vf)
        require_integer("replicates", replicates, 1, _MOST)
        options.require_random(self.settings.n_fibres, replicates)
        require_integer("seed", self.seed, 0, MAX_SEED - replicates + 1)
        require_between("drop", self.drop, *DROPS)
        require_packable(self.vf, self.settings.n_fibres, self.settings.min_spacing)
        if self.jobs is not None:
            require_integer("jobs", self.jobs, 1, 1024)
        require_fine_elements(self.phases, VolumeFraction(self.vf), self.seed, self.settings)

    def simulate(
        self,
        function: Callable[..., T],
        cases: Sequence[Any],
        replicates: int,
        title: str,
        write: Callable[[list[T]], None],
    ) -> list[T]:
        """Load each microstructure in several ways, in parallel, and show the progress.

        Args:
            function: Function of phases, case, volume fraction, seed, settings and drop.
            cases: Loadings, in the form that `function` takes.
            replicates: Number of microstructures per case.
            title: Title of the progress bar.
            write: Function that writes the results; after an interruption the finished ones.

        Returns:
            Results, one case after the other.

        Raises:
            GenerationError: If a worker process died.
        """
        from joblib import Parallel, cpu_count, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        from fe_data.dataset.executors import WorkerDied
        from safe_files.progress import counted

        seeds = range(self.seed, self.seed + replicates)
        tasks = [
            (self.phases, case, self.vf, seed, self.settings, self.drop)
            for case in cases
            for seed in seeds
        ]
        count = cpu_count() if self.jobs is None else self.jobs
        pool = Parallel(n_jobs=min(count, len(tasks)), return_as="generator")
        results = pool(delayed(function)(*task) for task in tasks)
        finished: list[T] = []
        try:
            for result in counted(results, title, "RVE", len(tasks)):
                finished.append(result)  # noqa: PERF402 (an interruption keeps what is there)
        except BrokenProcessPool as error:
            raise fe_data.GenerationError(str(WorkerDied([], error))) from None
        finally:
            if finished:
                write(finished)
        return finished


def sampling(
    material: options.NeededMaterial,
    vf: Annotated[float, options.of_input("vf")],
    seed: Annotated[int, Integer(help="seed of the first microstructure")] = 0,
    n_fibres: options.NFibres = Settings.n_fibres,
    min_spacing: options.MinSpacing = Settings.min_spacing,
    resolution: options.Resolution = Settings.resolution,
    drop: options.Drop = 0.2,
    jobs: options.Jobs = None,
) -> Sampling:
    """Make the sampling from the options of a command."""
    from fe_data.composite.phases import inclusions_of

    settings = Settings(n_fibres=n_fibres, min_spacing=min_spacing, resolution=resolution)
    phases = options.phases(material)
    say_units(Settings(), 0.0, phases)
    say_mesh_dependences(phases, inclusions_of(vf))
    return Sampling(phases, vf, seed, settings, drop, jobs)


class CommandWithSampling(CommandWithOptions):
    """A command with the options of `sampling` after its own."""

    shared = staticmethod(sampling)


def report(
    table: str, samples: "Sequence[SampledStrength] | Sequence[EnvelopePoint]", out: object
) -> int:
    """Print a table, why some microstructures did not break, and what was written.

    Args:
        table: Statistics.
        samples: Results of all microstructures.
        out: Written file or folder; None if nothing was written.

    Returns:
        The exit code.
    """
    show(table)
    unreached: dict[tuple[str, str], list[int]] = {}
    for sample in samples:
        if not sample.is_reached:
            unreached.setdefault((sample.case, sample.reason), []).append(sample.seed)
    for (case, reason), seeds in unreached.items():
        what = "seed" if len(seeds) == 1 else "seeds"
        say(f"{case}, {what} {', '.join(map(str, seeds))}: {reason}", OK)
    if out is not None:
        show(f"wrote {out}")
    return INCOMPLETE if unreached else OK
