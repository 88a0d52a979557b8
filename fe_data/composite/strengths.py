"""Strengths of a composite whose fibres debond, over random microstructures."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Short
from fe_data.composite.interface import Strength, strength_loading
from fe_data.composite.materials import Phases
from fe_data.composite.rve import DROP, solve_composite
from fe_data.errors import SimulationError
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.settings import MAX_SEED, Settings, require_integer

_QUANTILE = 0.05  # of strengths, for design


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
    phases.require_breakable()
    require_integer("seed", seed, 0, MAX_SEED)
    try:
        fibres = random_microstructure(vf, seed, settings.n_fibres, settings.min_spacing)
        return SampledStrength(name, seed, *_break(phases, fibres, name, settings, drop))
    except SimulationError as error:
        return SampledStrength(name, seed, None, str(error))


def _break(
    phases: Phases, fibres: Microstructure, name: str, settings: Settings, drop: float
) -> tuple[Strength | None, str]:
    """Load a microstructure until it breaks: its strength, and why it was not reached."""
    loading = strength_loading(name)
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
    if isinstance(solved.stop, KeyboardInterrupt):
        raise solved.stop
    found = solved.strength
    if found is not None and found.is_reached:
        return found, ""
    if solved.stop is not None:
        return found, str(solved.stop)
    return (
        found,
        f"the mean stress did not fall by 1 % until the end of the loading, {loading.strain[0]}",
    )


def strength_of(phases: Phases, fibres: Microstructure, name: str, settings: Settings) -> float:
    """Return the strength of a microstructure.

    Args:
        phases: Materials with an interface.
        fibres: Microstructure.
        name: One of `STRENGTHS`.
        settings: Resolution and tolerance.

    Returns:
        The strength [MPa].

    Raises:
        SimulationError: If the strength was not reached.
    """
    found, reason = _break(phases, fibres, name, settings, DROP)
    if found is None or not found.is_reached:
        raise SimulationError(f"{name}: {reason}")
    return found.strength_MPa


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
