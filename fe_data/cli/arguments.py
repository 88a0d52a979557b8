"""What the command line accepts; a refusal is one sentence."""

import argparse
import dataclasses
import re
import sys
import typing
from collections.abc import Sequence
from pathlib import Path

from fe_data.settings import Inputs, Settings

USAGE_ERROR = 2
INPUT_FLAGS = {"vf": "--vf", "E_f_GPa": "--E-f", "b_m_MPa": "--b-m", "c_m": "--c-m"}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(prog="fe_data", description=sys.modules["fe_data"].__doc__, allow_abbrev=False)
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for add in (_add_generate, _add_rve, _add_compare, _add_verify, _add_import):
        add(commands)
    return top


def settings_of(options) -> Settings:
    """Settings of the cell that the options ask for."""
    given = {name: getattr(options, name) for name, *_ in _setting_fields()}
    return Settings(**{name: value for name, value in given.items() if value is not None})


def inputs_of(options) -> Inputs:
    """Inputs of the one cell that the options ask for."""
    return Inputs(**{name: getattr(options, name) for name in INPUT_FLAGS})


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence."""

    def __init__(self, **keywords):
        super().__init__(**{**keywords, "allow_abbrev": False})

    def parse_known_args(self, args=None, namespace=None):
        """Parse as argparse does, except that an option takes a value such as -1e-3 or -1,free."""
        given = sys.argv[1:] if args is None else args
        return super().parse_known_args(_with_negative_values(given), namespace)

    def error(self, message: str) -> typing.NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {message}; see {self.prog} --help\n")


def _with_negative_values(arguments: Sequence[str]) -> list[str]:
    """Join an option to a value that begins with a minus and a digit: no option looks like that."""
    joined: list[str] = []
    for argument in arguments:
        if joined and re.match(r"--[^=]+$", joined[-1]) and re.match(r"-\.?\d", argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


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
    command.set_defaults(command="generate")


def _add_rve(commands) -> None:
    command = commands.add_parser("rve", help="simulate one cell: result, picture, fields")
    for name, flag in INPUT_FLAGS.items():
        command.add_argument(flag, dest=name, type=_number, required=True, metavar="X")
    command.add_argument(
        "--seed", type=_integer, default=0, metavar="S", help="of the microstructure (0)"
    )
    command.add_argument("--out", type=Path, metavar="DIR", required=True)
    command.add_argument(
        "--xdmf", action="store_true", help="also write fields.xdmf, which ParaView opens"
    )
    command.add_argument(
        "--loading",
        type=_loading,
        metavar="XX,YY,XY",
        help="final mean strains, xy as engineering shear; 'free' is a free strain under zero mean "
        "stress, 'free:100' under 100 MPa; -0.05,free,free is compression; without this option "
        "0.05,free,free and effective properties",
    )
    _add_settings(command)
    command.set_defaults(command="rve")


def _add_compare(commands) -> None:
    command = commands.add_parser(
        "compare", help="compare a dataset with a reference table, by equal inputs"
    )
    command.add_argument("dataset", type=Path, metavar="DIR", help="dataset folder or table")
    command.add_argument("reference", type=Path, metavar="REFERENCE.csv")
    command.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the comparison there"
    )
    command.add_argument(
        "--tolerance",
        type=_number,
        metavar="T",
        help="instead, fail unless the rows agree one by one to T (relative; p_sigma: absolute)",
    )
    command.set_defaults(command="compare")


def _add_verify(commands) -> None:
    command = commands.add_parser("verify", help="check every record of a folder and its table")
    command.add_argument("folder", type=Path, metavar="DIR")
    command.set_defaults(command="verify")


def _add_import(commands) -> None:
    command = commands.add_parser("import-authors", help="convert published .pkl tables to CSV")
    command.add_argument(
        "source", type=Path, metavar="PATH", help="a .pkl file, or a folder of them"
    )
    command.add_argument("out", type=Path, metavar="OUT", help="folder for the tables")
    command.set_defaults(command="import-authors")


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


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None


def _loading(text: str) -> tuple[tuple[float | None, ...], tuple[float, ...]]:
    """Read XX,YY,XY: strains, or `free` with a stress."""
    strain: list[float | None] = []
    stress = []
    for part in text.split(","):
        word, _, value = part.strip().partition(":")
        strain.append(None if word == "free" else _number(word))
        stress.append(_number(value) if value else 0.0)
    return tuple(strain), tuple(stress)


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
