"""The command `constants`: its microstructure and its result file."""

import dataclasses
import json
from pathlib import Path

import numpy as np

from fe_data.arrays import Floats
from fe_data.cli.messages import OK, say
from fe_data.composite.constants import EffectiveConstants
from fe_data.composite.phases import Phases
from fe_data.composite.rve import used_resolution
from fe_data.dataset import record
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.geometry.spacing import hexagonal_distance
from fe_data.settings import Settings
from safe_files.writing import write_atomic

# Beginning of a result file, which may be replaced. A result of `rve` has "of tensors" instead.
BEGINNING = rb'\{\n "components": "xx, yy, zz, xy, xz, yz; stress over strain'
OTHER_RADIUS = 0.2  # a larger relative change of --void-radius is reported
ENOUGH_FIBRES = 100  # random fibres; with fewer, `constants` states their number


def with_voids_and_interphase(
    vf: float,
    fibres: int | Microstructure,
    settings: Settings,
    voids: tuple[float, float | None],
    interphase: float,
) -> Microstructure:
    """Complete given fibres, or random ones from a seed, with the voids and rings of options."""
    void_fraction, void_radius = voids
    if void_radius is not None and not void_fraction:
        raise ValueError("--void-radius needs --void-fraction")
    if isinstance(fibres, int):
        fibres = _random(vf, fibres, settings, void_fraction, void_radius)
    elif void_fraction:
        raise ValueError("--void-fraction needs --vf: list voids of a file in its column phase")
    try:
        return fibres.coated(interphase)
    except ValueError as error:
        raise ValueError(f"--interphase {interphase:g}: {error}") from None


def _random(
    vf: float, seed: int, settings: Settings, void_fraction: float, void_radius: float | None
) -> Microstructure:
    """Draw random fibres and voids from a seed; print a hint if voids have another radius."""
    radius = 1.0 if void_radius is None else void_radius
    fibres = random_microstructure(
        vf,
        seed,
        settings.n_fibres,
        settings.min_spacing,
        void_fraction=void_fraction,
        void_radius=radius,
    )
    radii = radii_of_voids(fibres)
    if len(radii) and abs(radii[0] / radius - 1) > OTHER_RADIUS:
        share = f"so that a whole number of them has the fraction {void_fraction:g}"
        text = f"the radius of voids is {radii[0]:.3g} mean fibre radii, not {radius:g}"
        say(f"{text}, {share}", OK)
    return fibres


def radii_of_voids(fibres: Microstructure) -> Floats:
    """Return radii (n_voids,) of the voids, in mean fibre radii; empty if there are no fibres."""
    solid = fibres.radii[~fibres.is_void]
    return fibres.radii[fibres.is_void] / solid.mean() if len(solid) else solid


def arrangement(fibres: Microstructure) -> str:
    """Describe volume fractions and nearest distances in one line, next to a hexagonal array."""
    vf = fibres.volume_fraction
    void = f", voids {fibres.porosity:.4f}" if fibres.porosity else ""
    if len(radii := radii_of_voids(fibres)):
        largest = "" if np.ptp(radii) < 1e-9 else f" to {radii.max():.3g}"
        void += f" ({len(radii)} of {radii.min():.3g}{largest} mean fibre radii)"
    line = f"{len(fibres.radii)} inclusions: v_f {vf:.4f}{void}"
    solids = ~fibres.is_void
    solid = Microstructure(fibres.centres[solids], fibres.radii[solids], height=fibres.height)
    if not len(solid.radii):
        return line
    nearest = solid.nearest_distances
    return (
        f"{line}; nearest fibres {nearest.min():.3f} to {nearest.max():.3f} diameters apart, "
        f"{nearest.mean():.3f} on average (hexagonal: {hexagonal_distance(vf):.3f})"
    )


def say_if_few_fibres(fibres: Microstructure) -> None:
    """Print of what the constants of random fibres are the constants if there are few."""
    number = int((~fibres.is_void).sum())
    if number >= ENOUGH_FIBRES:
        return
    what = f"one RVE of {number} fibres: compare several --seed, or"
    if number == 1:
        what = "a square array, in which all seeds are equal: for fibres at random"
    say(f"these are the constants of {what} give --n-fibres {ENOUGH_FIBRES}", OK)


def write_constants(
    constants: EffectiveConstants,
    phases: Phases,
    fibres: Microstructure,
    resolution: float | None,
    out: Path,
) -> None:
    """Write constants, bounds, materials, fibres and the resolution to a JSON file."""
    bounds = {name: getattr(constants, name) for name in ("lower", "upper")}
    expands = constants.expansion_per_K.any()
    content = {
        "components": "xx, yy, zz, xy, xz, yz; stress over strain with engineering shear strains",
        "stiffness_GPa": constants.stiffness_GPa.tolist(),
        "expansion_per_K": constants.expansion_per_K.tolist() if expands else None,
        "constants": dataclasses.asdict(constants.constants),
        "alpha_L_per_K": constants.alpha_L_per_K if expands else None,
        "alpha_T_per_K": constants.alpha_T_per_K if expands else None,
        "misfit": constants.misfit,
        "by_direction": constants.by_direction,
        **{name: bound and dataclasses.asdict(bound) for name, bound in bounds.items()},
        "materials": phases.as_dict(),  # of all phases, as in a file of them
        "source": phases.source,
        "measured": phases.measured and dataclasses.asdict(phases.measured),
        "fibres": np.column_stack([fibres.centres, fibres.radii]).tolist(),  # x, y, radius
        "phases": list(fibres.phases),  # one per fibre
        "height": fibres.height,
        "interphase": fibres.interphase,
        "E_GPa": record.plain(fibres.E_GPa),  # NaN, the modulus of the phase, becomes None
        "resolution": used_resolution(phases, fibres, resolution, elastic=True),
        "provenance": record.provenance(),
    }
    write_atomic(out, (json.dumps(content, indent=1) + "\n").encode(), BEGINNING)
