"""Inputs, settings and hardening law of a simulation, and checks of their values."""

from fe_data.settings.checks import (
    MAX_SEED,
    checked_inputs,
    in_percent,
    require_allowed,
    require_between,
    require_integer,
    require_kind,
    require_path,
    take_bounded,
)
from fe_data.settings.hardening import HardeningTable
from fe_data.settings.simulation import (
    Inputs,
    PaperPhases,
    Settings,
    VolumeFraction,
    require_c,
    require_parameters,
)

__all__ = [
    "MAX_SEED",
    "HardeningTable",
    "Inputs",
    "PaperPhases",
    "Settings",
    "VolumeFraction",
    "checked_inputs",
    "in_percent",
    "require_allowed",
    "require_between",
    "require_c",
    "require_integer",
    "require_kind",
    "require_parameters",
    "require_path",
    "take_bounded",
]
