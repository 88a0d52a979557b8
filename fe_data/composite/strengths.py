"""Strengths of a composite whose fibres debond, over random microstructures."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Short
from fe_data.composite.interface import Strength
from fe_data.composite.materials import Phases
from fe_data.composite.rve import DROP, solve_composite
from fe_data.errors import SimulationError
from fe_data.geometry.microstructure import random_microstructure
from fe_data.loading import ALL_AXES, Loading
from fe_data.settings import MAX_SEED, Settings, require_integer, require_kind

# Component of the mean strain, its final value, and the number of increments. All other components
# are free, so that the mean stress is uniaxial, or a pure shear.
_LOADINGS = {
    "transverse_tension": ("xx", 0.03, 150),
    "transverse_compression": ("xx", -0.06, 150),
    "longitudinal_shear": ("xz", 0.05, 250),
    "transverse_shear": ("xy", 0.03, 150),
}
STRENGTHS = tuple(_LOADINGS)
_QUANTILE = 0.05  # of strengths, for design


def strength_loading(name: str) -> Loading:
    """Return the loading from which a strength is found, in generalised plane strain.

    Args:
        name: One of `STRENGTHS`.

    Returns:
        The loading.

    Raises:
        ValueError: If the name is unknown.

    Examples:
        >>> from fe_data.composite.strengths import strength_loading
        >>> strength_loading("transverse_tension").strain
        ((0.03, None, None, None, None, None),)
    """
    require_kind("strength", name, str)
    if name not in _LOADINGS:
        allowed = ", ".join(STRENGTHS)
        raise ValueError(f"strength = {name!r:.60} is unknown: allowed are {allowed}")
    axes, final, increments = _LOADINGS[name]
    strain = [final if each == axes else None for each in ALL_AXES]
    return Loading(tuple(strain), increments=increments)


@dataclass(frozen=True, repr=False)
class SampledStrength(Short):
    """The strength of one random microstructure under one loading.

    Attributes:
        loading: Name of the loading.
        seed: Seed of the microstructure.
        strength: What was found; None if the simulation failed before its first peak.
        reason: Why the strength was not reached; empty if it was.
    """

    loading: str
    seed: int
    strength: Strength | None
    reason: str

    @property
    def is_reached(self) -> bool:
        """Whether the strength was found."""
        return self.strength is not None and self.strength.is_reached


def sample_strength(
    phases: Phases, name: str, vf: float, seed: int, settings: Settings, drop: float = DROP
) -> SampledStrength:
    """Simulate one random microstructure until it breaks.

    Args:
        phases: Materials with an interface.
        name: One of `STRENGTHS`.
        vf: Volume fraction of the fibres.
        seed: Seed of the microstructure.
        settings: Number of fibres, spacing, resolution and tolerance.
        drop: Share of its peak by which the mean stress falls until the path ends.

    Returns:
        The strength, or the reason why there is none.

    Raises:
        ValueError: If the phases have no interface, or an argument is out of range.
    """
    loading = strength_loading(name)
    require_interface_law(phases)
    require_integer("seed", seed, 0, MAX_SEED)
    try:
        fibres = random_microstructure(vf, seed, settings.n_fibres, settings.min_spacing)
        solved = solve_composite(
            phases,
            fibres,
            loading,
            resolution=settings.resolution,
            tolerance=settings.tolerance,
            partial=True,
            silent=True,
            drop=drop,
        )
    except SimulationError as error:
        return SampledStrength(name, seed, None, str(error))
    if isinstance(solved.stop, KeyboardInterrupt):
        raise solved.stop
    found = solved.strength
    reason = "" if solved.stop is None else str(solved.stop)
    if not reason and (found is None or not found.is_reached):
        reason = f"the mean stress still grows at the end of the loading, {loading.strain[0]}"
    return SampledStrength(name, seed, found, reason)


def require_interface_law(phases: Phases) -> None:
    """Raise a ValueError if the fibres of a material cannot debond."""
    require_kind("phases", phases, Phases)
    if phases.interface is None:
        raise ValueError(
            "the material has no interface, so that its fibres cannot debond: give it an "
            "interface, as in glass_epoxy_debonding"
        )


def strength_table(samples: list[SampledStrength]) -> str:
    """Make a table of the mean, the standard deviation and the 5 % quantile of each strength.

    Args:
        samples: Strengths of several loadings and microstructures.

    Returns:
        Lines of the table.
    """
    lines = [
        f"{'':<24}{'mean':>9}{'std':>9}{'5 %':>9}{'strain':>10}{'debonded':>10}   RVEs",
        f"{'':<24}{'MPa':>9}{'MPa':>9}{'MPa':>9}{'-':>10}{'-':>10}",
    ]
    for name in dict.fromkeys(each.loading for each in samples):
        own = [each for each in samples if each.loading == name]
        found = [each.strength for each in own if each.strength and each.is_reached]
        count = f"{len(found)} of {len(own)}"
        if not found:
            lines.append(f"{name:<24}{'not reached':>27}{'':>29}   {count}")
            continue
        values = np.array([each.strength_MPa for each in found])
        spread = f"{values.std(ddof=1):9.2f}" if len(values) > 1 else f"{'-':>9}"
        strain = np.mean([each.strain_at_strength for each in found])
        debonded = np.mean([each.debonded_fraction for each in found])
        quantile = np.quantile(values, _QUANTILE)
        lines.append(
            f"{name:<24}{values.mean():9.2f}{spread}{quantile:9.2f}{strain:10.5f}{debonded:10.3f}"
            f"   {count}"
        )
    return "\n".join(lines)


def strength_rows(samples: list[SampledStrength]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a CSV file of strengths.

    Args:
        samples: Strengths.

    Returns:
        Names of the columns, and one row of texts per sample.
    """
    names = [each.name for each in dataclasses.fields(Strength)]
    rows = []
    for each in samples:
        values = dataclasses.asdict(each.strength) if each.strength else dict.fromkeys(names, "")
        numbers = [str(values[name]) for name in names]
        reason = each.reason.replace(",", ";").replace("\n", " ").replace('"', "'")
        rows.append([each.loading, str(each.seed), *numbers, reason])
    return ["loading", "seed", *names, "reason"], rows
