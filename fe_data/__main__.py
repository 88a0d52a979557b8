"""Command line: python -m fe_data generate | rve | compare | verify | import-authors."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from fe_data.cli.arguments import inputs_of, parser, settings_of
from fe_data.errors import SimulationError

OK, INCOMPLETE, REFUSED, INTERRUPTED = 0, 1, 2, 130


def main(arguments: list[str] | None = None, *, simulator=None) -> int:
    """Run one command; returns its exit code.

    Args:
        arguments: of the command line; None takes those of this process.
        simulator: replaces the finite-element cell in `generate`.
    """
    try:
        options = parser().parse_args(arguments)
        options.simulator = simulator
        return COMMANDS[options.command](options)
    except SystemExit as stop:  # argparse, after --help or a refusal
        return int(stop.code or 0)
    except KeyboardInterrupt as interrupt:
        return _say(str(interrupt) or "interrupted", INTERRUPTED)
    except ValueError as error:
        return _say(error, REFUSED)
    except (SimulationError, ImportError) as error:
        return _say(error, INCOMPLETE)
    except MemoryError as error:
        return _say(f"out of memory: {error}".removesuffix(": "), INCOMPLETE)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        return _say(reason, INCOMPLETE)


def _generate(options) -> int:
    from fe_data.dataset import design
    from fe_data.dataset import executors as scheduling
    from fe_data.dataset.folder import TABLE, FolderInUse
    from fe_data.dataset.generate import Stopped, generate

    settings = settings_of(options)
    if (options.name is None) == (options.inputs is None):
        raise ValueError(
            f"give either a design ({', '.join(design.NAMED_DESIGNS)}) or --inputs FILE"
        )
    if options.inputs is None:
        chosen = design.named_design(
            options.name, options.seed, count=options.count, microstructures=options.microstructures
        )
    elif options.count is not None:
        raise ValueError("--count sizes a named design: it does not go with --inputs")
    else:
        if options.inputs.resolve() == (options.out / TABLE).resolve():
            raise ValueError(f"--inputs {options.inputs} is the table that --out would replace")
        repeats = 1 if options.microstructures is None else options.microstructures
        chosen = design.design_from_file(options.inputs, options.seed, microstructures=repeats)
    if options.dask is not None and options.jobs is not None:
        raise ValueError("--jobs counts local processes: it does not go with --dask")
    try:
        with _terminated_like_interrupted():
            summary = generate(
                chosen,
                settings,
                options.out,
                jobs=scheduling.available_cores() if options.jobs is None else options.jobs,
                shard=options.shard,
                dask=options.dask,
                simulator=options.simulator,
                retry_failed=options.retry_failed,
            )
    except (FolderInUse, Stopped) as error:
        return _say(error, INCOMPLETE)
    return _report(summary, options.out)


def _report(summary, out: Path) -> int:
    from fe_data.dataset import folder as dataset

    counts = ", ".join(f"{number} {status}" for status, number in summary.counts.items() if number)
    print(f"{out}: {counts}; {summary.simulated} simulated in this run")
    if summary.table_written:
        print(f"wrote {out / dataset.TABLE}")
    elif summary.unreadable:
        index, reason = next(iter(summary.unreadable.items()))
        number = len(summary.unreadable)
        return _say(f"{number} records cannot be read back (sample {index}: {reason})", INCOMPLETE)
    else:
        shown = ", ".join(map(str, list(summary.missing)[:10]))
        number = len(summary.missing)
        print(f"no table yet: {number} samples of other shards are missing (first: {shown})")
    if failed := summary.counts["failed"]:
        return _say(f"{failed} samples failed: see {out / dataset.FAILURES}", INCOMPLETE)
    return OK


def _rve(options) -> int:
    inputs, settings = inputs_of(options), settings_of(options)
    if options.loading and options.strain is not None:
        raise ValueError("--strain is part of --loading: give one of them")
    from fe_data.cli.rve_folder import describe, run_rve
    from fe_data.mechanics.load_stepping import Loading

    loading = Loading(*options.loading) if options.loading else None
    cell = run_rve(inputs, options.seed, settings, options.out, loading=loading, xdmf=options.xdmf)
    print(f"{options.out}: {describe(cell)}")
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


def _say(message: object, code: int) -> int:
    print(f"fe_data: {message}", file=sys.stderr)
    return code


def _compare(options) -> int:
    from fe_data.dataset import compare

    if options.tolerance is not None:
        if options.json is not None:
            raise ValueError("--json writes the comparison: it does not go with --tolerance")
        return compare.run_check(options.dataset, options.reference, options.tolerance)
    return compare.run(options.dataset, options.reference, options.json)


def _verify(options) -> int:
    from fe_data.dataset import verify

    return verify.run(options.folder)


def _import(options) -> int:
    from fe_data.published import import_authors

    return import_authors.run(options.source, options.out)


COMMANDS = {
    "generate": _generate,
    "rve": _rve,
    "compare": _compare,
    "verify": _verify,
    "import-authors": _import,
}

if __name__ == "__main__":
    sys.exit(main())
