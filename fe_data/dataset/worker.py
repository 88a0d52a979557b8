"""Code of a worker process: simulate one sample and encode its record."""

import dataclasses
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fe_data.composite.phases import Phases
from fe_data.dataset import record
from fe_data.dataset.design import Sample, retry_seed
from fe_data.errors import SimulationError, memory_errors
from fe_data.geometry.microstructure import Microstructure
from fe_data.loading import Loading
from fe_data.schema import OF_STRENGTH, fitted_outputs, outputs_among
from fe_data.settings import Inputs, Settings

if TYPE_CHECKING:
    from fe_data.mechanics.results import RVEResult

MAX_ATTEMPTS = 2
UNEXPECTED = "unexpected "  # prefix of the reason if an error is not a SimulationError
DIED = "the worker process died"  # reason if the sample killed its worker
UNREACHED = "unreached"  # information of a record: why strengths were not reached
# An RVE of a tenth of a second, which any working machine can simulate
_KNOWN_INPUTS = Inputs(vf=0.2, E_f_GPa=400.0, b_m_MPa=400.0, c_m=0.4)
_KNOWN_SETTINGS = Settings(n_fibres=1, resolution=2.0, increments=10)
# Threads of a Dask worker share a process, but gmsh and PETSc can run only once per process.
_one_sample_at_a_time = threading.RLock()
# Function of inputs, seed or given microstructure, settings and, for a path, loading
Simulator = Callable[..., "RVEResult"]


@dataclass(frozen=True)
class Attempt:
    """An attempt to simulate a sample; `error` is empty if it has all outputs."""

    seed: int
    error: str = ""


@dataclass(frozen=True)
class Task:
    """A sample to simulate, and the attempts that have failed already."""

    sample: Sample
    failed: tuple[Attempt, ...] = ()


@dataclass(frozen=True)
class Job:
    """The common properties of all samples of a dataset, and the function that simulates one."""

    settings: Settings
    config: str  # digest of the configuration
    simulator: Simulator | None = None  # None is the finite-element RVE

    def __call__(self, task: Task) -> tuple[int, bytes]:
        """Simulate a sample, return index and record; failures are repeated with another seed."""
        simulator = self.simulator or _finite_element_rve
        with _one_sample_at_a_time:
            attempts = list(task.failed)
            if task.sample.fields and isinstance(simulator, MaterialSimulator):
                phases = simulator.phases.with_fields(task.sample.fields)
                simulator = dataclasses.replace(simulator, phases=phases)
            result: RVEResult | None = None
            seed = task.sample.seed
            started = time.perf_counter()
            for attempt in range(len(attempts), attempts_at(task.sample)):
                latest_seed = attempt_seed(task.sample, attempt)
                latest, error = self._attempt(simulator, task.sample, latest_seed)
                attempts.append(Attempt(latest_seed, error))
                # The first RVE that lacks a strength is kept, unless the second one is complete.
                if latest is not None and (result is None or not error):
                    result, seed = latest, latest_seed
                if not error:
                    break
            seconds = time.perf_counter() - started
        return encode_result(self, task.sample, seed, attempts, result, seconds)

    def _attempt(
        self, simulator: Simulator, sample: Sample, seed: int
    ) -> "tuple[RVEResult | None, str]":
        """Simulate a sample: its result, and why there is none or why it lacks strengths."""
        try:
            loading = () if sample.loading is None else (sample.loading,)
            microstructure = seed if sample.microstructure is None else sample.microstructure
            with memory_errors():
                result = simulator(sample.inputs, microstructure, self.settings, *loading)
            _require_finite(result, with_outputs=not loading)
            return result, _one_line(str(result.info.get(UNREACHED, "")))
        except (OSError, MemoryError, ImportError):  # caused by the machine, not by the sample
            raise
        except SimulationError as error:
            text = f"{type(error).__name__}: {error}"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.name}, line {place.lineno}"
            text = f"{UNEXPECTED}{type(error).__name__} in {where}: {error}"
        self.require_working()
        return None, _one_line(text)

    def require_working(self, _: object = None) -> None:
        """Raise an OSError if this machine cannot even simulate a known RVE."""
        simulator = self.simulator or _finite_element_rve
        if isinstance(simulator, MaterialSimulator):  # the material may have caused the error
            simulator = _finite_element_rve
        if simulator not in (_finite_element_rve, rve_with_anisotropy):
            return
        try:
            with _one_sample_at_a_time, memory_errors():
                simulator(_KNOWN_INPUTS, 0, _KNOWN_SETTINGS)
        except (OSError, MemoryError, ImportError):
            raise
        except Exception as error:
            raise unusable(f"{type(error).__name__}: {error}") from error


def _finite_element_rve(
    inputs: Inputs,
    microstructure: int | Microstructure,
    settings: Settings,
    loading: Loading | None = None,
) -> "RVEResult":
    """Simulate a finite-element RVE; it has effective properties only without a loading path."""
    # Imported here, so that the command line starts quickly and without dolfinx.
    from fe_data.mechanics.rve import as_arguments, solve_rve

    fibres = as_arguments(microstructure)
    rve = solve_rve(inputs, settings, loading, fit=loading is None, silent=True, **fibres)
    return rve.result()


def rve_with_anisotropy(
    inputs: Inputs, microstructure: int | Microstructure, settings: Settings
) -> "RVEResult":
    """Simulate a finite-element RVE, and find its elastic anisotropy by three more increments."""
    from fe_data.homogenisation.anisotropy import anisotropy
    from fe_data.mechanics.rve import as_arguments, solve_rve

    rve = solve_rve(inputs, settings, silent=True, **as_arguments(microstructure))
    result = rve.result()
    moduli = anisotropy(rve, silent=True)
    further = {"E_spread": moduli.spread, "isotropy_misfit": moduli.misfit}
    return dataclasses.replace(result, effective=result.effective | further)


@dataclass(frozen=True)
class MaterialSimulator:
    """Simulator of RVEs with given phases, by the general solver."""

    phases: Phases
    interphase: float = 0.0  # see `solve_material`
    constants: bool = False  # whether to add all effective constants to the outputs
    strengths: tuple[str, ...] = ()  # names of strengths to add to the outputs

    def __call__(
        self,
        inputs: Inputs,
        microstructure: int | Microstructure,
        settings: Settings,
        loading: Loading | None = None,
    ) -> "RVEResult":
        """Simulate an RVE; it has effective properties only without a loading path."""
        from fe_data.composite.properties import solve_material

        # Effective properties are those of bonded fibres, without damage.
        phases = self.phases.unbreakable() if loading is None else self.phases
        arguments = phases, inputs, microstructure, settings, loading
        rve = solve_material(*arguments, interphase=self.interphase, silent=True)
        result = self._with_strengths(rve.result(), rve.microstructure, settings)
        if not self.constants:
            return result
        from fe_data.composite.constants import effective_constants

        fibres = rve.microstructure
        with warnings.catch_warnings(action="ignore"):  # `generate` warns once
            homogenised = effective_constants(self.phases, fibres, resolution=settings.resolution)
        further = dataclasses.asdict(homogenised.constants)
        further |= {name: getattr(homogenised, name) for name in ("alpha_L_per_K", "alpha_T_per_K")}
        further["transverse_misfit"] = homogenised.misfit
        return dataclasses.replace(result, effective=result.effective | further)

    def _with_strengths(
        self, result: "RVEResult", fibres: Microstructure, settings: Settings
    ) -> "RVEResult":
        """Add strengths, what then has broken, and why others were not reached, to a result."""
        from fe_data.composite.strengths import strength_of

        further = {}
        reasons = []
        for name in self.strengths:
            try:
                strength = strength_of(self.phases, fibres, name, settings)
            except SimulationError as error:
                reasons.append(f"{name}: {error}")
                continue
            further[f"{name}_MPa"] = strength.strength_MPa
            further |= {f"{name}_{field}": getattr(strength, field) for field, *_ in OF_STRENGTH}
        info = dict(result.info)
        if reasons:
            info[UNREACHED] = "; ".join(reasons)
        return dataclasses.replace(result, effective=result.effective | further, info=info)


def _one_line(text: str) -> str:
    """Shorten a text to the length of a reason in a record."""
    return " ".join(text.split())[:500]


def unusable(reason: str) -> OSError:
    """Return the error for a machine on which the solver does not work."""
    return OSError(f"no RVE can be simulated on this machine ({reason:.300})")


def attempts_at(sample: Sample) -> int:
    """Return the number of attempts at a sample: one for given fibres, which would fail again."""
    return MAX_ATTEMPTS if sample.microstructure is None else 1


def attempt_seed(sample: Sample, attempt: int) -> int:
    """Return the seed of the first (0) or second (1) microstructure of a sample."""
    return sample.seed if attempt == 0 else retry_seed(sample.seed)


def encode_result(
    job: Job,
    sample: Sample,
    seed: int,
    attempts: list[Attempt],
    result: "RVEResult | None",
    seconds: float,
) -> tuple[int, bytes]:
    """Return index and record of a sample; `result` is None if every attempt failed."""
    header = {
        "config": job.config,
        "index": sample.index,
        "group": sample.group,
        "seed": seed,
        "status": _status(sample, attempts, result),
        "inputs": vars(sample.inputs),
        "outputs": None,
        "attempts": [vars(attempt) for attempt in attempts],
        "seconds": seconds,
        "provenance": record.provenance(),
    }
    if sample.microstructure_index is not None:
        header["microstructure"] = sample.microstructure_index
    if sample.fields:
        header["fields"] = dict(sample.fields)
    if sample.loading is not None:
        header |= {"path": sample.path, "loading": sample.loading.as_dict()}
    if result is None:
        return sample.index, record.encode(header, {})
    if sample.loading is None:
        header["outputs"] = {name: float(result.effective[name]) for name in _outputs_of(result)}
    header["info"] = result.info
    arrays = {**result.history, "fibre_centres": result.fibre_centres}
    if result.fibre_radii is not None:
        arrays["fibre_radii"] = result.fibre_radii
    return sample.index, record.encode(header, arrays)


def _status(sample: Sample, attempts: list[Attempt], result: "RVEResult | None") -> str:
    """Return the status of a sample, one of `table.STATUSES`."""
    if result is None:
        return "failed"
    if sample.loading is None and (not _is_fitted(result) or UNREACHED in result.info):
        return "unfitted"
    return "ok" if len(attempts) == 1 else "retried"


def _is_fitted(result: "RVEResult") -> bool:
    """Return whether a power law could be fitted to the curve of a sample."""
    return any(name in result.effective for name in fitted_outputs())


def _outputs_of(result: "RVEResult") -> tuple[str, ...]:
    """Return the names of the outputs that a sample must have."""
    return outputs_among(result.effective, fitted=_is_fitted(result))


def _require_finite(result: "RVEResult", *, with_outputs: bool) -> None:
    for name in _outputs_of(result) if with_outputs else ():
        if not np.isfinite(result.effective[name]):
            raise SimulationError(f"{name} = {result.effective[name]} is not finite")
    for name, values in result.history.items():
        if not np.all(np.isfinite(values)):
            raise SimulationError(f"history {name!r} has values that are not finite")
