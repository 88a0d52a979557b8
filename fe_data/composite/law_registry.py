"""The laws of materials by their names, and what each law needs and keeps.

`laws` registers the laws that need PyTorch. `materials` checks parameters by the entries here, so
that elastic materials work without PyTorch.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from fe_data.composite.damage import Damage
from fe_data.composite.elasticity import Elasticity
from fe_data.settings import HardeningTable

CURVE = "curve"  # kind of a parameter: yield stress as a function of plastic strain


class LawEntry(NamedTuple):
    """A registered law, see `laws.law` for its entries."""

    name: str
    parameters: dict[str, Any]
    defaults: dict[str, float]
    isotropic: bool
    state: dict[str, int]
    update: Callable[..., Any] | None
    first_yield: Callable[[Mapping[str, Any], bool], float] | None = None


MATERIAL_LAWS = {"elastic": LawEntry("elastic", {}, {}, False, {}, None)}


def register(entry: LawEntry) -> None:
    """Register a law by its name."""
    MATERIAL_LAWS[entry.name] = entry


def is_shipped(name: str) -> bool:
    """Return whether `fe_data` itself has registered a law with a name."""
    entry = MATERIAL_LAWS.get(name)
    if entry is None or entry.update is None:
        return entry is not None
    # A function of an example in `laws` has the name of that module, but globals of its own.
    module = sys.modules.get("fe_data.composite.laws")
    return module is not None and getattr(entry.update, "__globals__", None) is vars(module)


class MaterialWithLaw(Protocol):
    """What the evaluation of a law needs of a material."""

    @property
    def law(self) -> str:
        """Name of the law."""

    @property
    def entry(self) -> LawEntry:
        """The law."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the law."""

    @property
    def elasticity(self) -> Elasticity:
        """Elastic constants."""

    @property
    def damage(self) -> Damage | None:
        """Damage; None if the phase does not soften."""


def initial_stress(curve: Any) -> float:
    """Return the yield stress at zero plastic strain [MPa]."""
    if isinstance(curve, HardeningTable):
        return float(curve.stress[0])
    return float(curve.yield_stress_MPa)
