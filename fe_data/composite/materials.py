"""The material of a phase: elasticity, a law with its parameters, and damage."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fe_data.arrays import number
from fe_data.composite.damage import DAMAGE, WORK, Damage
from fe_data.composite.elasticity import (
    Elasticity,
    Isotropic,
    TransverselyIsotropic,
    poisson_across,
)
from fe_data.composite.law_registry import CURVE, MATERIAL_LAWS, LawEntry, is_shipped, register
from fe_data.files.content import built, mapping
from fe_data.settings import HardeningTable, require_between, require_kind
from fe_data.settings.hardening import HARDENING_LAWS
from safe_files.text import Short

STRESS = (1e-3, 1e6)  # allowed yield stresses [MPa]
_BEYOND_ONSET = 0.1  # equivalent plastic strain after the onset, over which hardening is measured
_NEGLIGIBLE_HARDENING = 0.02  # relative growth of the stress over it


@dataclass(frozen=True, repr=False)
class YieldStress(Short):
    """Yield stress as a function of the accumulated plastic strain p, by a hardening law.

    Attributes:
        yield_stress_MPa: Yield stress a at p = 0 [MPa].
        b_MPa: Hardening coefficient b [MPa]; 0 is perfectly plastic.
        c: Hardening exponent; in Voce's law the characteristic plastic strain [-].
        law: "power", a + b p^c, or "voce", a + b (1 - exp(-p / c)).

    Raises:
        ValueError: If a number is out of range or the law is unknown.

    Examples:
        >>> from fe_data import YieldStress
        >>> YieldStress(400.0, b_MPa=400.0, c=0.5)(0.01)
        440.0
    """

    yield_stress_MPa: float
    b_MPa: float = 0.0
    c: float = 1.0
    law: str = "power"

    def __post_init__(self) -> None:
        for name in ("yield_stress_MPa", "b_MPa", "c"):
            object.__setattr__(self, name, number(name, getattr(self, name)))
        require_between("yield_stress_MPa", self.yield_stress_MPa, *STRESS)
        require_kind("law", self.law, str)
        if self.law not in HARDENING_LAWS:
            allowed = ", ".join(HARDENING_LAWS)
            raise ValueError(f"law = {self.law!r:.60} of hardening is unknown: allowed: {allowed}")
        law = HARDENING_LAWS[self.law]
        law.require_between("b_MPa", self.b_MPa, law.b_bounds)
        law.require_between("c", self.c, law.c_bounds)

    def __call__(self, p: Any, numeric: Any = None) -> Any:
        """Return the yield stress.

        Args:
            p: Accumulated plastic strain [-], a number, an array or a tensor.
            numeric: Module for mathematical functions, `torch` for a tensor; None is NumPy.

        Returns:
            The stress [MPa].
        """
        law = HARDENING_LAWS[self.law]
        numerics = {} if numeric is None else {"numeric": numeric}
        return self.yield_stress_MPa + law.hardening(
            p, self.yield_stress_MPa, self.b_MPa, self.c, **numerics
        )


Curve = YieldStress | HardeningTable


def law_entry(name: str) -> LawEntry:
    """Return the law with a name; laws that need PyTorch are imported on first use."""
    require_kind("law", name, str)
    if name not in MATERIAL_LAWS:
        _import_laws()
    if name not in MATERIAL_LAWS:
        raise ValueError(f"law = {name!r:.60} is unknown: allowed are {', '.join(MATERIAL_LAWS)}")
    return MATERIAL_LAWS[name]


def _import_laws() -> None:
    try:
        import fe_data.composite.laws  # noqa: F401 (registers the laws)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            "laws of plasticity need PyTorch, which is not installed: pip install torch"
        ) from None


@dataclass(frozen=True, repr=False)
class Material(Short):
    """One phase of a composite.

    Attributes:
        elasticity: `Isotropic` or `TransverselyIsotropic`.
        law: Name of a law: "elastic", "j2", "chaboche", "drucker_prager", "paraboloidal", or a
            custom law that was registered by `law`.
        parameters: Parameters of the law. A yield stress is a number [MPa], a `YieldStress` or a
            `HardeningTable`.
        damage: Softening of the phase beyond a plastic strain; None does not soften. The law needs
            the state variables `p` and `plastic_strain`, and `first_yield`.

    Raises:
        ValueError: If the law is unknown, a parameter is missing, unknown or out of range, the law
            needs isotropic elasticity, or it cannot have damage.

    Examples:
        >>> from fe_data import Isotropic, Material
        >>> Material(Isotropic(100.0, 0.3), "j2", {"yield_stress": 400.0}).entry.name
        'j2'
    """

    elasticity: Elasticity
    law: str = "elastic"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    damage: Damage | None = None

    def __post_init__(self) -> None:
        require_kind("elasticity", self.elasticity, Isotropic, TransverselyIsotropic)
        require_kind("parameters", self.parameters, Mapping)
        entry = law_entry(self.law)
        if entry.isotropic and not isinstance(self.elasticity, Isotropic):
            raise ValueError(f"law = {self.law!r} needs isotropic elasticity")
        complete = {**entry.defaults, **self.parameters}
        if complete.keys() != entry.parameters.keys():
            keys = {
                "missing": entry.parameters.keys() - complete.keys(),
                "unknown": complete.keys() - entry.parameters.keys(),
            }
            wrong = (
                f"{kind}: {', '.join(sorted(map(str, keys[kind])))}" for kind in keys if keys[kind]
            )
            allowed = ", ".join(entry.parameters) or "none"
            raise ValueError(
                f"parameters of law {self.law!r} are {allowed}; {'; '.join(wrong)[:200]}"
            )
        values = {
            name: _parameter(name, complete[name], kind) for name, kind in entry.parameters.items()
        }
        object.__setattr__(self, "parameters", MappingProxyType(values))
        require_kind("damage", self.damage, Damage, type(None))
        if self.damage is not None:
            self._require_damageable()

    def _require_damageable(self) -> None:
        """Raise a ValueError if the law lacks what damage needs."""
        state = self.entry.state.keys()
        needs = "damage needs a law of plasticity"
        if not state >= {"p", "plastic_strain"}:
            what = "the state variables p and plastic_strain"
            raise ValueError(f"law = {self.law!r:.60}: {needs} with {what}, such as j2")
        if taken := {WORK, DAMAGE} & state:
            what = f"a state variable {min(taken)}, which damage adds: give it another name"
            raise ValueError(f"law = {self.law!r:.60} has {what}")
        if not self.first_yield(tension=True):
            raise ValueError(f"law = {self.law!r:.60}: {needs} with a positive first_yield")

    @property
    def entry(self) -> LawEntry:
        """The law."""
        return MATERIAL_LAWS[self.law]

    def first_yield(self, *, tension: bool) -> float | None:
        """Return the initial yield stress in a uniaxial test.

        Args:
            tension: Whether the test is in tension, otherwise in compression.

        Returns:
            Yield stress [MPa]; None if the law does not give it.

        Raises:
            ValueError: If a custom law gives something else.
        """
        first_yield = self.entry.first_yield
        if first_yield is None:
            return None
        what = f"first_yield of law {self.law!r:.60} (tension={tension})"
        return require_between(what, first_yield(self.parameters, tension), 0.0, STRESS[1])

    @property
    def stress_at_onset(self) -> float | None:
        """Uniaxial stress in tension at the onset of damage [MPa]; None without it.

        Raises:
            ValueError: If a custom law does not reach the onset.
        """
        if self.damage is None:
            return None
        onset = self.damage.onset
        if onset > 0 and not self._is_closed_form:
            return self._simulated_stress(onset)
        curves = {name for name, kind in self.entry.parameters.items() if kind == CURVE}
        at_onset = {
            name: YieldStress(_at(value, onset)) if name in curves else value
            for name, value in self.parameters.items()
        }
        return dataclasses.replace(self, parameters=at_onset, damage=None).first_yield(tension=True)

    @property
    def _is_closed_form(self) -> bool:
        """Whether the stress in uniaxial tension is that of first yield with a grown yield stress.

        Other laws may have back stresses, or harden by numbers.
        """
        return is_shipped(self.law) and self.entry.state.keys() == {"p", "plastic_strain"}

    def _simulated_stress(self, p: float) -> float:
        """Return the stress in uniaxial tension at an equivalent plastic strain [MPa]."""
        from fe_data.composite.material_points import uniaxial_stress

        return uniaxial_stress(self, self.first_yield(tension=True) or 0.0, p)

    @property
    def hardens_after_onset(self) -> bool:
        """Whether the stress in uniaxial tension still grows after the onset of damage.

        Strengths then depend on the mesh, see `damage`.
        """
        if self.damage is None or self._is_closed_form:
            return False
        try:
            stress = self._simulated_stress(self.damage.onset + _BEYOND_ONSET)
        except ValueError:  # its plastic strain cannot grow so far
            return False
        return stress > (1 + _NEGLIGIBLE_HARDENING) * (self.stress_at_onset or 0.0)

    @property
    def largest_width_mm(self) -> float:
        """Width of an element that softens as fast as it can unload [mm]; infinite without damage.

        It is 2 E G / σ_0², see `damage`.
        """
        stress = self.stress_at_onset
        if self.damage is None or stress is None:
            return math.inf
        # 1 GPa J/m² = 1 N²/mm³
        return 2 * self.elasticity.modulus_across * self.damage.fracture_energy_J_m2 / stress**2

    def with_modulus(self, E_GPa: float) -> "Material":
        """Return the material with another Young's modulus.

        Args:
            E_GPa: Young's modulus [GPa].

        Returns:
            The material.

        Raises:
            ValueError: If the elasticity is not isotropic.

        Examples:
            >>> from fe_data import Isotropic, Material
            >>> Material(Isotropic(70.0, 0.2)).with_modulus(80.0).elasticity.E_GPa
            80.0
        """
        if not isinstance(self.elasticity, Isotropic):
            raise ValueError("E_GPa of a fibre needs isotropic elasticity of its phase")
        return dataclasses.replace(
            self, elasticity=dataclasses.replace(self.elasticity, E_GPa=E_GPa)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the material as a dictionary of plain numbers, as in a file of phases."""
        content: dict[str, Any] = {"elasticity": dataclasses.asdict(self.elasticity)}
        if not self.is_elastic:
            content["law"] = self.law
            content["parameters"] = {
                name: value if isinstance(value, float) else _plain_curve(value)
                for name, value in self.parameters.items()
            }
        if self.damage is not None:
            content["damage"] = without_none(self.damage)
        return content

    def __reduce__(self) -> Any:
        # Pickle the law too, because another process may not have registered it.
        parameters = dict(self.parameters)
        return _restored, (self.elasticity, self.law, parameters, self.entry, self.damage)

    @property
    def is_elastic(self) -> bool:
        """Whether the phase stays elastic."""
        return self.law == "elastic"


def _restored(
    elasticity: Elasticity,
    law: str,
    parameters: dict[str, Any],
    entry: LawEntry,
    damage: Damage | None,
) -> Material:
    """Restore a pickled material, and register its law."""
    register(entry)
    return Material(elasticity, law, parameters, damage)


def _at(curve: Curve, p: float) -> float:
    """Return the yield stress at a plastic strain [MPa]."""
    return float(curve.yield_stress(p) if isinstance(curve, HardeningTable) else curve(p))


def without_none(values: Any) -> dict[str, Any]:
    """Convert a dataclass to a dictionary without the fields that are None."""
    return {name: value for name, value in dataclasses.asdict(values).items() if value is not None}


def _plain_curve(curve: Any) -> dict[str, Any]:
    """Convert a yield stress to a dictionary of plain numbers, as in a file of phases."""
    return json.loads(json.dumps(dataclasses.asdict(curve)))  # type: ignore[no-any-return]


def _parameter(name: str, value: Any, kind: Any) -> Any:
    """Check a parameter of a law, and convert it to a float, a `YieldStress` or a table."""
    if kind != CURVE:
        return require_between(name, value, *kind)
    if isinstance(value, YieldStress | HardeningTable):
        return value
    if isinstance(value, Mapping):
        kinds: Any = HardeningTable if "plastic_strain" in value else YieldStress
        return built(kinds, name, value)
    return built(YieldStress, name, {"yield_stress_MPa": number(name, value)})


def material_from(name: str, content: Any) -> Material:
    """Make the material of a phase from the content of a file."""
    fields = mapping(name, content, {"elasticity"}, {"law", "parameters", "damage"})
    elastic = _with_poisson(f"{name}.elasticity", fields["elasticity"])
    across = isinstance(elastic, Mapping) and "E_L_GPa" in elastic
    kind: Any = TransverselyIsotropic if across else Isotropic
    elasticity = built(kind, f"{name}.elasticity", elastic)
    damage = None
    if "damage" in fields:
        damage = built(Damage, f"{name}.damage", fields["damage"])
    parameters = fields.get("parameters") or {}
    try:
        return Material(elasticity, fields.get("law", "elastic"), parameters, damage)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _with_poisson(place: str, content: Any) -> Any:
    """Replace G_TT_GPa by nu_TT in the elasticity of a file, which may have either."""
    if not isinstance(content, Mapping) or "E_L_GPa" not in content:
        return content
    fields = dataclasses.fields(TransverselyIsotropic)
    needed = {item.name for item in fields if item.default is dataclasses.MISSING} - {"nu_TT"}
    optional = {item.name for item in fields} - needed | {"G_TT_GPa"}
    values = mapping(place, content, needed, optional)
    if "G_TT_GPa" not in values:
        if "nu_TT" not in values:
            raise ValueError(f"{place}: nu_TT is missing: give it, or G_TT_GPa")
        return values
    if "nu_TT" in values:
        raise ValueError(f"{place} has both nu_TT and G_TT_GPa: leave one of them out")
    shear = values.pop("G_TT_GPa")
    try:
        return {**values, "nu_TT": poisson_across(values["E_T_GPa"], shear)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None
