"""What the options of the command line mean, and how their texts become values."""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fe_data.settings import Settings

# Strains xx, yy, xy, None where free; and the stresses [MPa] in those directions.
LoadingValues = tuple[tuple[float | None, ...], tuple[float, ...]]

SETTINGS_HELP = {
    "n_fibres": "number of fibres in the RVE",
    "min_spacing": "least distance of fibre centres, in fibre diameters",
    "resolution": "elements per fibre diameter",
    "increments": "number of equal load increments",
    "strain": "final mean strain xx [-]",
    "tolerance": "residual at which Newton's method stops, relative to the load [-]",
    "E_m_GPa": "Young's modulus of the matrix [GPa]",
    "nu_m": "Poisson ratio of the matrix [-]",
    "nu_f": "Poisson ratio of the fibres [-]",
    "a_MPa": "initial yield stress of the matrix [MPa]",
    "fibre_stress_MPa": "von Mises stress in the fibres [MPa] that p_sigma counts from",
}


def integer(text: str) -> int:
    """An integer; the refusal shows the text, which typer's own does not."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an integer") from None


def number(text: str) -> float:
    """A floating-point number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def path(text: str) -> Path:
    """A path; an option in its place means that the path was forgotten."""
    if text.startswith("--"):
        raise typer.BadParameter(f"a path is missing before {text}")
    return Path(text)


Integer = functools.partial(typer.Option, parser=integer, metavar="N")
Number = functools.partial(typer.Option, parser=number, metavar="X")
File = functools.partial(typer.Option, parser=path, metavar="FILE")


def with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command one option for each field of `Settings`; it receives them as `settings`."""

    @functools.wraps(command)
    def wrapped(**options: Any) -> int:
        settings = Settings(**{name: options.pop(name) for name in SETTINGS_HELP})
        return command(**options, settings=settings)

    types = typing.get_type_hints(Settings)
    own = inspect.signature(command)
    parameters = [p for p in own.parameters.values() if p.name != "settings"]
    for field in dataclasses.fields(Settings):
        option = (Integer if types[field.name] is int else Number)(
            "--" + field.name.replace("_", "-"),
            help=SETTINGS_HELP[field.name],
            show_default="automatic" if field.default is None else True,
        )
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=Annotated[types[field.name], option],
            )
        )
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return wrapped


def shard(text: str) -> tuple[int, int]:
    """Number of a part and number of all parts, from i/n."""
    try:
        number, total = (int(part) for part in text.split("/"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not of the form i/n, such as 1/4") from None
    if not 1 <= number <= total:
        raise typer.BadParameter(f"{text!r} is out of range: allowed are 1/n to n/n")
    return number, total


def loading(text: str) -> LoadingValues:
    """Strains and stresses [MPa] from XX,YY,XY; a strain `free` or `free:stress` is None."""
    strains: list[float | None] = []
    stresses = []
    for part in text.split(","):
        word, _, stress = part.strip().partition(":")
        strains.append(None if word == "free" else number(word))
        stresses.append(number(stress) if stress else 0.0)
    return tuple(strains), tuple(stresses)


def counted(counts: dict[str, int]) -> str:
    """Numbers of samples by status, as in "98 ok, 2 retried"."""
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number)
