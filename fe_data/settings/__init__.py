"""What a user may choose: the inputs and settings of a simulation and its hardening law."""

from fe_data.settings.hardening import HardeningTable
from fe_data.settings.simulation import (
    MAX_SEED,
    Inputs,
    Settings,
    require_between,
    require_c,
    require_integer,
    require_kind,
    require_parameters,
)

__all__ = [
    "MAX_SEED",
    "HardeningTable",
    "Inputs",
    "Settings",
    "require_between",
    "require_c",
    "require_integer",
    "require_kind",
    "require_parameters",
]
