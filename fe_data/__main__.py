"""Command line: python -m fe_data generate | rve | compare | verify | import-authors."""

import argparse
import contextlib
import dataclasses
import signal
import sys
import threading
import typing
from collections.abc import Iterator
from pathlib import Path

from fe_data.settings import Inputs, Settings

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
        return options.command(options)
    except SystemExit as stop:  # argparse, after --help or a refusal
        return int(stop.code or 0)
    except KeyboardInterrupt as interrupt:
        return _say(str(interrupt) or "interrupted", INTERRUPTED)
    except ValueError as error:
        return _say(error, REFUSED)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        return _say(reason, INCOMPLETE)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(prog="fe_data", description=sys.modules["fe_data"].__doc__, allow_abbrev=False)
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for add in (_add_generate, _add_rve, _add_compare, _add_verify, _add_import):
        add(commands)
    return top


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence."""

    def __init__(self, **keywords):
        super().__init__(**{**keywords, "allow_abbrev": False})

    def error(self, message: str) -> typing.NoReturn:
        self.exit(REFUSED, f"{self.prog}: {message}; see {self.prog} --help\n")


def _add_generate(commands) -> None:
    command = commands.add_parser(
        "generate", help="simulate a design into a folder; resumes what is there"
    )
    command.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="test_uniform, train_uniform, train_beta, replicates or noise",
    )
    command.add_argument(
        "--inputs", type=Path, metavar="FILE", help="a CSV file with inputs, instead of NAME"
    )
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="dataset folder")
    command.add_argument("--count", type=_integer, metavar="N", help="number of different inputs")
    command.add_argument("--microstructures", type=_integer, metavar="N", help="cells per input")
    command.add_argument(
        "--seed",
        type=_integer,
        default=0,
        metavar="S",
        help="of the design and the microstructures (0)",
    )
    command.add_argument("--jobs", type=_integer, metavar="N", help="worker processes (all cores)")
    command.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="i/n",
        help="only the i-th of n parts, i = 1 ... n",
    )
    command.add_argument("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler")
    command.add_argument(
        "--retry-failed", action="store_true", help="simulate failed samples again"
    )
    _add_settings(command)
    command.set_defaults(command=_generate)


def _add_rve(commands) -> None:
    command = commands.add_parser("rve", help="simulate one cell: result, picture, fields")
    for name, flag in _input_flags().items():
        command.add_argument(flag, dest=name, type=_number, required=True, metavar="X")
    command.add_argument(
        "--seed", type=_integer, default=0, metavar="S", help="of the microstructure (0)"
    )
    command.add_argument("--out", type=Path, metavar="DIR", required=True)
    command.add_argument(
        "--vtx", "--xdmf", action="store_true", help="also write fields for ParaView"
    )
    _add_settings(command)
    command.set_defaults(command=_rve)


def _add_compare(commands) -> None:
    command = commands.add_parser(
        "compare", help="compare a dataset with a reference table, by equal inputs"
    )
    command.add_argument("dataset", type=Path, metavar="DIR", help="dataset folder or table")
    command.add_argument("reference", type=Path, metavar="REFERENCE.csv")
    command.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the comparison there"
    )
    command.set_defaults(command=_compare)


def _add_verify(commands) -> None:
    command = commands.add_parser("verify", help="check every record of a folder and its table")
    command.add_argument("folder", type=Path, metavar="DIR")
    command.set_defaults(command=_verify)


def _add_import(commands) -> None:
    command = commands.add_parser("import-authors", help="convert published .pkl tables to CSV")
    command.add_argument(
        "source", type=Path, metavar="PATH", help="a .pkl file, or a folder of them"
    )
    command.add_argument("out", type=Path, metavar="OUT", help="folder for the tables")
    command.set_defaults(command=_import)


def _add_settings(command) -> None:
    group = command.add_argument_group("settings of the cell")
    for name, kind, default in _setting_fields():
        group.add_argument(
            _flag(name),
            dest=name,
            type=kind,
            metavar="X",
            help=f"({'automatic' if default is None else default})",
        )


def _generate(options) -> int:
    from fe_data import design, scheduling
    from fe_data.dataset import FolderInUse
    from fe_data.generate import Stopped, generate

    settings = _settings(options)
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
        chosen = design.design_from_file(
            options.inputs, options.seed, microstructures=options.microstructures or 1
        )
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
    from fe_data import dataset

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
    inputs = Inputs(**{name: getattr(options, name) for name in _input_flags()})
    settings = _settings(options)
    from fe_data.design import MAX_SEED, require_integer

    require_integer("seed", options.seed, 0, MAX_SEED)
    from fe_data.rve import run_rve

    run_rve(inputs, options.seed, settings, options.out, options.vtx)
    return OK


def _setting_fields() -> list[tuple[str, typing.Callable, object]]:
    kinds: dict[object, typing.Callable] = {
        int: _integer,
        float: _number,
        float | None: _number,
        str: str,
    }
    types = typing.get_type_hints(Settings)
    return [
        (f.name, kinds[types[f.name]], f.default)
        for f in dataclasses.fields(Settings)
        if types[f.name] in kinds
    ]


def _settings(options) -> Settings:
    given = {name: getattr(options, name) for name, *_ in _setting_fields()}
    return Settings(**{name: value for name, value in given.items() if value is not None})


def _input_flags() -> dict[str, str]:
    return {"vf": "--vf", "E_f_GPa": "--E-f", "b_m_MPa": "--b-m", "c_m": "--c-m"}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _shard(text: str) -> tuple[int, int]:
    try:
        number, total = (int(part) for part in text.split("/"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form i/n, such as 1/4") from None
    if not 1 <= number <= total:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range: allowed are 1/n to n/n")
    return number, total


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
    from fe_data import compare

    return compare.run(options.dataset, options.reference, options.json)


def _verify(options) -> int:
    from fe_data import verify

    return verify.run(options.folder)


def _import(options) -> int:
    from fe_data import import_authors

    return import_authors.run(options.source, options.out)


if __name__ == "__main__":
    sys.exit(main())
