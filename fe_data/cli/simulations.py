"""The commands that simulate: generate and rve.

Commands import what they need when they run: --help answers at once, also without dolfinx.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from fe_data.cli import INCOMPLETE, OK, options, say
from fe_data.cli.options import File, Integer, Number, counted, with_settings
from fe_data.settings import Inputs, Settings

if TYPE_CHECKING:
    from fe_data.dataset.design import Design
    from fe_data.dataset.generate import Summary

DESIGNS = "test_uniform, train_uniform, train_beta, replicates or noise"
Out = Annotated[Path, File(metavar="DIR", help="folder for all results, made when missing")]


@with_settings
def generate(
    context: typer.Context,
    settings: Settings,
    out: Out,
    name: Annotated[str | None, Argument(metavar="NAME", help=DESIGNS)] = None,
    inputs: Annotated[Path | None, File(help="CSV file with inputs, instead of NAME")] = None,
    count: Annotated[int | None, Integer(help="number of different inputs")] = None,
    microstructures: Annotated[int | None, Integer(help="fibre arrangements per input")] = None,
    seed: Annotated[int, Integer(help="seed of the design and of all fibre arrangements")] = 0,
    jobs: Annotated[
        int | None, Integer(help="number of worker processes", show_default="all cores")
    ] = None,
    shard: Annotated[
        Any,
        Option(parser=options.shard, metavar="i/n", help="only the i-th of n parts, i = 1 ... n"),
    ] = "1/1",
    dask: Annotated[
        str | None, Option(metavar="ADDRESS", help="use the workers of this Dask scheduler")
    ] = None,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="simulate failed samples again")
    ] = False,
) -> int:
    """Simulate a design into a dataset folder. Samples that are there already are kept."""
    from fe_data.dataset.executors import available_cores
    from fe_data.dataset.generate import Stopped
    from fe_data.dataset.generate import generate as simulate
    from fe_data.dataset.storage import FolderInUse

    design = _design(name, inputs, out, seed, count, microstructures)
    if dask is not None and jobs is not None:
        raise ValueError("--jobs counts local processes: it does not go with --dask")
    try:
        with _terminated_like_interrupted():
            summary = simulate(
                design,
                settings,
                out,
                jobs=available_cores() if jobs is None else jobs,
                shard=shard,
                dask=dask,
                simulator=context.obj,
                retry_failed=retry_failed,
            )
    except (FolderInUse, Stopped) as error:
        return say(error, INCOMPLETE)
    return _report(summary, out)


@with_settings
def rve(
    settings: Settings,
    vf: Annotated[float, Number(help="fibre volume fraction [-]")],
    E_f_GPa: Annotated[float, Number("--E-f", help="Young's modulus of the fibres [GPa]")],
    b_m_MPa: Annotated[float, Number("--b-m", help="hardening coefficient of the matrix [MPa]")],
    c_m: Annotated[float, Number("--c-m", help="hardening exponent of the matrix [-]")],
    out: Out,
    seed: Annotated[int, Integer(help="seed of the fibre arrangement")] = 0,
    xdmf: Annotated[
        bool, Option("--xdmf", help="also write fields.xdmf, which ParaView opens")
    ] = False,
    loading: Annotated[
        Any,
        Option(
            parser=options.loading,
            metavar="XX,YY,XY",
            help="final mean strains [-], xy as engineering shear; 'free' is a free strain under "
            "zero mean stress, 'free:100' under 100 MPa; -0.05,free,free is compression; without "
            "this option 0.05,free,free and effective properties",
        ),
    ] = None,
) -> int:
    """Simulate one RVE: result, picture, fields. Files of an earlier run in the folder go first."""
    inputs = Inputs(vf, E_f_GPa, b_m_MPa, c_m)
    if loading is not None and settings.strain != Settings.strain:
        raise ValueError("--strain is part of --loading: give one of them")
    from fe_data.cli.rve_folder import describe, run_rve
    from fe_data.mechanics.load_stepping import Loading

    chosen = None if loading is None else Loading(*loading)
    solved = run_rve(inputs, seed, settings, out, loading=chosen, xdmf=xdmf)
    print(f"{out}: {describe(solved)}")
    return OK


def _design(
    name: str | None,
    inputs: Path | None,
    out: Path,
    seed: int,
    count: int | None,
    microstructures: int | None,
) -> "Design":
    from fe_data.dataset.design import NAMED_DESIGNS, design_from_file, named_design
    from fe_data.dataset.storage import TABLE

    if (name is None) == (inputs is None):
        raise ValueError(f"give either a design ({', '.join(NAMED_DESIGNS)}) or --inputs FILE")
    if name is not None:
        return named_design(name, seed, count=count, microstructures=microstructures)
    assert inputs is not None
    if count is not None:
        raise ValueError("--count sizes a named design: it does not go with --inputs")
    if inputs.resolve() == (out / TABLE).resolve():
        raise ValueError(f"--inputs {inputs} is the table that --out would replace")
    return design_from_file(
        inputs, seed, microstructures=1 if microstructures is None else microstructures
    )


def _report(summary: "Summary", out: Path) -> int:
    from fe_data.dataset.storage import FAILURES, TABLE

    print(f"{out}: {counted(summary.counts)}; {summary.simulated} simulated in this run")
    if summary.table_written:
        print(f"wrote {out / TABLE}")
    elif summary.unreadable:
        index, reason = next(iter(summary.unreadable.items()))
        number = len(summary.unreadable)
        return say(f"{number} records cannot be read back (sample {index}: {reason})", INCOMPLETE)
    else:
        shown = ", ".join(map(str, list(summary.missing)[:10]))
        number = len(summary.missing)
        print(f"no table yet: {number} samples of other shards are missing (first: {shown})")
    if failed := summary.counts["failed"]:
        return say(f"{failed} samples failed: see {out / FAILURES}", INCOMPLETE)
    return OK


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A batch system ends a job with SIGTERM: finish as after Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
