"""Strengths of a composite that can break, over random microstructures."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from fe_data.composite.elasticity import TO_KELVIN, shear_rotation
from fe_data.composite.interface import Strength, envelope_loading, strength_loading
from fe_data.composite.measured import Measured
from fe_data.composite.phases import Phases, require_no_phases
from fe_data.composite.rve import DROP, solve_composite
from fe_data.errors import SimulationError, memory_errors
from fe_data.geometry.microstructure import Microstructure
from fe_data.loading import Loading
from fe_data.mechanics.rve import arrange_fibres
from fe_data.settings import Settings, VolumeFraction
from safe_files.text import Short

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

    @property
    def case(self) -> str:
        """Loading, for messages."""
        return self.loading


def sample_strength(
    phases: Phases, name: str, vf: float, seed: int, settings: Settings, drop: float = DROP
) -> SampledStrength:
    """Simulate one random microstructure until it breaks.

    Args:
        phases: Materials with an interface or damage.
        name: One of `STRENGTHS`.
        vf: Volume fraction of the fibres.
        seed: Seed of the microstructure.
        settings: Number, radii and spacing of the fibres, resolution and tolerance.
        drop: Share of its peak by which the mean stress falls until the path ends.

    Returns:
        The strength, or the reason why there is none.

    Raises:
        ValueError: If no phase can break, an argument is out of range, or a setting describes a
            phase.
    """
    return _sample(phases, name, strength_loading(name), vf, seed, settings, drop)


def sample_envelope(
    phases: Phases, angle: float, vf: float, seed: int, settings: Settings, drop: float = DROP
) -> "EnvelopePoint":
    """Simulate one random microstructure under transverse stress and longitudinal shear.

    Args:
        phases: Materials that can break.
        angle: Angle from transverse tension through shear to compression, 0 to 180 [deg].
        vf: Volume fraction of the fibres.
        seed: Seed of the microstructure.
        settings: Number, radii and spacing of the fibres, resolution and tolerance.
        drop: Share of its peak by which the mean stress falls until the path ends.

    Returns:
        The mean stresses at the peak.

    Raises:
        ValueError: If nothing can break, an argument is out of range, or a setting describes a
            phase.
    """
    loading = envelope_loading(angle)
    sample = _sample(phases, f"{angle:g}", loading, vf, seed, settings, drop)
    if sample.strength is None:
        return EnvelopePoint(angle, seed, np.nan, np.nan, False, sample.reason)
    # The strength is the size of the stress along the direction of the loading.
    along = np.zeros(6)
    along[0] = sample.strength.strength_MPa
    stress = shear_rotation(angle).T @ along / TO_KELVIN
    reached = sample.is_reached
    return EnvelopePoint(angle, seed, float(stress[0]), float(stress[4]), reached, sample.reason)


@dataclass(frozen=True, repr=False)
class EnvelopePoint(Short):
    """The mean stresses at which one random microstructure breaks.

    Attributes:
        angle_deg: Angle from transverse tension through longitudinal shear to compression [deg].
        seed: Seed of the microstructure.
        transverse_MPa: Transverse stress at the peak [MPa].
        shear_MPa: Longitudinal shear stress at the peak [MPa].
        is_reached: Whether the stress fell after the peak.
        reason: Why it did not; empty if it did.
    """

    angle_deg: float
    seed: int
    transverse_MPa: float
    shear_MPa: float
    is_reached: bool
    reason: str

    @property
    def case(self) -> str:
        """Direction, for messages."""
        return f"{self.angle_deg:g} degrees"


def _sample(
    phases: Phases,
    name: str,
    loading: Loading,
    vf: float,
    seed: int,
    settings: Settings,
    drop: float,
) -> SampledStrength:
    """Load one random microstructure until it breaks."""
    require_no_phases(settings)
    phases.require_breakable(vf)
    try:
        fibres = arrange_fibres(seed, VolumeFraction(vf), settings)
        return SampledStrength(name, seed, *_break(phases, fibres, loading, settings, drop))
    except SimulationError as error:
        return SampledStrength(name, seed, None, str(error))


def _break(
    phases: Phases, fibres: Microstructure, loading: Loading, settings: Settings, drop: float
) -> tuple[Strength | None, str]:
    """Load a microstructure until it breaks: its strength, and why it was not reached."""
    with memory_errors():  # which are no property of the microstructure
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
    strength = solved.strength
    if strength is not None and strength.is_reached:
        return strength, ""
    if solved.stop is not None:
        return strength, str(solved.stop)
    return (
        strength,
        "the mean stress did not fall by 1 % from its peak until the end of the loading, at a "
        f"strain of {loading.largest_strain:.3g}",
    )


def strength_of(phases: Phases, fibres: Microstructure, name: str, settings: Settings) -> Strength:
    """Find the strength of a microstructure.

    Args:
        phases: Materials with an interface or damage.
        fibres: Microstructure.
        name: One of `STRENGTHS`.
        settings: Resolution and tolerance.

    Returns:
        The strength, and what has broken.

    Raises:
        SimulationError: If the strength was not reached.
    """
    strength, reason = _break(phases, fibres, strength_loading(name), settings, DROP)
    if strength is None or not strength.is_reached:
        raise SimulationError(reason)
    return strength


def strength_table(samples: list[SampledStrength], measured: Measured | None = None) -> str:
    """Make a table of the mean, the standard deviation and the 5 % quantile of each strength.

    Args:
        samples: Strengths of several loadings and microstructures.
        measured: Values of a ply, for another column.

    Returns:
        Lines of the table.
    """
    lines = [
        f"{'':<24}{'mean':>9}{'std':>9}{'5 %':>9}{'strain':>10}{'debonded':>10}{'damaged':>10}"
        "   RVEs",
        f"{'':<24}{'MPa':>9}{'MPa':>9}{'MPa':>9}{'-':>10}{'-':>10}{'-':>10}",
    ]
    if measured is not None:
        lines[0] += f"   measured at v_f {measured.vf:g}"
    for name in dict.fromkeys(sample.loading for sample in samples):
        of_loading = [sample for sample in samples if sample.loading == name]
        reached = [sample for sample in of_loading if sample.is_reached]
        strengths = [sample.strength for sample in reached if sample.strength]
        count = f"{len(strengths)} of {len(of_loading)}"
        if not strengths:
            lines.append(f"{name:<24}{'not reached':>27}{'':>39}   {count}")
            continue
        value = None if measured is None else measured.get(f"{name}_MPa")
        beside = "" if value is None else f"{value:>{19 - len(count)}g} MPa"
        values = np.array([strength.strength_MPa for strength in strengths])
        spread = f"{values.std(ddof=1):9.2f}" if len(values) > 1 else f"{'-':>9}"
        strain = np.mean([strength.strain_at_strength for strength in strengths])
        debonded = np.mean([strength.debonded_fraction for strength in strengths])
        damaged = np.mean([strength.damaged_area for strength in strengths])
        quantile = np.quantile(values, _QUANTILE)
        lines.append(
            f"{name:<24}{values.mean():9.2f}{spread}{quantile:9.2f}{strain:10.5f}{debonded:10.3f}"
            f"{damaged:10.3f}   {count}{beside}"
        )
    return "\n".join(lines)


def strength_rows(samples: list[SampledStrength]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a CSV file of strengths.

    Args:
        samples: Strengths.

    Returns:
        Names of the columns, and one row of texts per sample.
    """
    names = [field.name for field in dataclasses.fields(Strength)]
    rows = []
    for sample in samples:
        empty: dict[str, object] = dict.fromkeys(names, "")
        values = dataclasses.asdict(sample.strength) if sample.strength else empty
        numbers = [str(values[name]) for name in names]
        rows.append([sample.loading, str(sample.seed), *numbers, in_a_cell(sample.reason)])
    return ["loading", "seed", *names, "reason"], rows


def in_a_cell(reason: str) -> str:
    """Write a reason without characters that end a cell of a CSV file."""
    return reason.replace(",", ";").replace("\n", " ").replace('"', "'")
