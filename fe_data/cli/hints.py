"""Hints on stderr about options that are allowed, but seem to be mistakes."""

from typing import Any

import typer

import fe_data
from fe_data.cli import options
from fe_data.cli.messages import OK, say
from fe_data.settings import Settings

LARGE_STRAIN = 0.1  # a larger strain of --loading is also printed in percent
STIFFEST = 1300.0  # GPa: a larger modulus causes a hint on units; diamond has 1,220
WEAKEST = 1.0  # MPa: a smaller yield stress causes a hint on units; polymers have 10 or more
LONG_PATH = 10_000  # increments, about 100 s of simulation; a longer path is reported


def say_units(settings: Settings, fibres: float, phases: "fe_data.Phases | None") -> None:
    """Print a hint if a modulus [GPa] or a yield stress [MPa] seems to have another unit."""
    matrix = settings.E_m_GPa
    value = settings.sigma_y0_MPa
    if phases is not None:
        fibres = phases.fixed_inputs["E_f_GPa"]
        matrix = phases.matrix.elasticity.modulus_across
        yields = [phases.matrix.first_yield(tension=tension) for tension in (True, False)]
        value = min((stress for stress in yields if stress is not None), default=WEAKEST)
    for name, modulus in (("fibres", fibres), ("matrix", matrix)):
        if modulus > STIFFEST:
            unit = f"moduli are in GPa, and {modulus:g} MPa are {modulus / 1e3:g} GPa"
            say(f"a modulus of {modulus:g} GPa ({name}) is more than that of diamond: {unit}", OK)
    if value < WEAKEST:
        unit = f"stresses are in MPa, and {value:g} GPa are {1e3 * value:g} MPa"
        say(f"the matrix yields at {value:g} MPa, less than any plastic: {unit}", OK)


def say_mesh_dependences(phases: "fe_data.Phases", inclusions: set[str]) -> None:
    """Print a hint for each phase whose damage makes strengths depend on the mesh."""
    from fe_data.composite.softening import mesh_dependences

    materials = {name: phases.of(name) for name in sorted(inclusions)}
    for reason in mesh_dependences({"matrix": phases.matrix, **materials}):
        say(reason, OK)


def loadings_with_hints(
    loading: Any,
    context: typer.Context,
    settings: Settings,
    phases: "fe_data.Phases | None",
    inclusions: set[str],
) -> "list[fe_data.Loading]":
    """Return the paths of --loading; print a hint if one seems to be a mistake.

    Hints are about strains that may be in percent, very long paths, and temperatures without
    effect on the matrix or on an inclusion.
    """
    paths = options.loadings(loading, context)
    largest = max((path.largest_strain for path in paths), default=0.0)
    if largest > LARGE_STRAIN:
        say(f"--loading goes to a strain of {largest:g}, which is {100 * largest:g} %", OK)
    longest = max((path.total(settings.increments) for path in paths), default=0)
    if longest > LONG_PATH:
        say(f"--loading has a path of {longest} increments: an RVE takes minutes or hours", OK)
    temperatures: list[Any] = [path.temperature or () for path in paths]
    if phases is not None and any(map(any, temperatures)):
        materials = (phases.matrix, *map(phases.of, inclusions))
        if not any(material.elasticity.expansion.any() for material in materials):
            say("the temperature has no effect: no phase of the RVE has alpha_per_K", OK)
        elif rigid := phases.without_expansion(inclusions):
            what = f"alpha_per_K of {' and '.join(rigid)} is zero, while other phases expand"
            say(f"{what}: add it to --material if it is missing", OK)
    return paths
