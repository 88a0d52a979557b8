"""The materials of a composite, and the YAML files that describe them.

A `Material` has elasticity with thermal expansion, and a law. `Phases` are the materials of a
composite. The following file has the two required phases; further phases are `Phases.others`:

    source: where the numbers are from
    phases:
      matrix:
        elasticity: {E_GPa: 3.76, nu: 0.39, alpha_per_K: 58.0e-6}
        law: j2
        parameters:
          yield_stress: {law: voce, yield_stress_MPa: 29.0, b_MPa: 64.0, c: 0.01}
      fibres:
        elasticity: {E_L_GPa: 225.0, E_T_GPa: 15.0, nu_LT: 0.2, nu_TT: 0.07, G_LT_GPa: 15.0}

An optional `interface` among the phases has the fields of `interface.Interface`. A phase with a law
of plasticity may have `damage`, with the fields of `damage.Damage`. An optional `measured` next to
`phases` has the fields of `Measured`.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fe_data.arrays import Short, number
from fe_data.composite.damage import Damage
from fe_data.composite.elasticity import (
    Elasticity,
    Isotropic,
    TransverselyIsotropic,
    poisson_across,
)
from fe_data.composite.interface import Interface
from fe_data.composite.law_registry import CURVE, LAWS, LawEntry, register
from fe_data.composite.measured import Measured
from fe_data.files.reading import UnusualFile, read_file
from fe_data.files.yaml_file import MOST_BYTES, parse_yaml
from fe_data.geometry.spacing import spacing_of
from fe_data.loading import ALL_AXES
from fe_data.settings import HardeningTable, Settings, require_between, require_kind, require_path
from fe_data.settings.hardening import LAWS as HARDENING_LAWS
from fe_data.settings.hardening import UNUSED_B_AND_C

EXAMPLES = Path(__file__).with_name("examples")  # shipped files of phases
INTERPHASE = "interphase"  # name of the phase of a ring around each fibre
_THICKEST = 10.0  # largest thickness of this ring, in mean fibre radii
# Settings that describe the phases of the fast solver, so they cannot be combined with `Phases`.
SETTINGS_OF_PHASES = ("E_m_GPa", "nu_m", "nu_f", "sigma_y0_MPa", "hardening")
STRESS = (1e-3, 1e6)  # allowed yield stresses [MPa]
INTERFACE = "interface"  # name of the cohesive law next to the phases
_RESERVED = ("matrix", "fibres", "void", INTERFACE)


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
        """The yield stress.

        Args:
            p: Accumulated plastic strain [-], a number, an array or a tensor.
            numeric: Module for mathematical functions, `torch` for a tensor; None is NumPy.

        Returns:
            The stress [MPa].
        """
        law = HARDENING_LAWS[self.law]
        given = {} if numeric is None else {"numeric": numeric}
        return self.yield_stress_MPa + law.hardening(
            p, self.yield_stress_MPa, self.b_MPa, self.c, **given
        )


Curve = YieldStress | HardeningTable


def law_entry(name: str) -> LawEntry:
    """Return the law with a name; laws that need PyTorch are imported on first use."""
    require_kind("law", name, str)
    if name not in LAWS:
        _import_laws()
    if name not in LAWS:
        raise ValueError(f"law = {name!r:.60} is unknown: allowed are {', '.join(LAWS)}")
    return LAWS[name]


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
            wrong = ", ".join(sorted(map(str, complete.keys() ^ entry.parameters.keys())))
            allowed = ", ".join(entry.parameters) or "none"
            raise ValueError(f"parameters of law {self.law!r} are {allowed}; wrong: {wrong:.200}")
        values = {
            name: _parameter(name, complete[name], kind) for name, kind in entry.parameters.items()
        }
        object.__setattr__(self, "parameters", MappingProxyType(values))
        require_kind("damage", self.damage, Damage, type(None))
        if self.damage is not None:
            self._require_damageable()

    def _require_damageable(self) -> None:
        """Raise a ValueError if the law lacks what damage needs."""
        sizes = self.entry.state
        needs = "damage needs a law of plasticity"
        if sizes.get("p") != 0 or sizes.get("plastic_strain") != len(ALL_AXES):
            what = "the state variables p and plastic_strain"
            raise ValueError(f"law = {self.law!r:.60}: {needs} with {what}, such as j2")
        if not self.stress_at_onset:
            raise ValueError(f"law = {self.law!r:.60}: {needs} with a positive first_yield")

    @property
    def entry(self) -> LawEntry:
        """The law."""
        return LAWS[self.law]

    def first_yield(self, *, tension: bool) -> float | None:
        """Return the initial yield stress in a uniaxial test.

        Args:
            tension: Whether the test is in tension, otherwise in compression.

        Returns:
            Yield stress [MPa]; None if the law does not give it.

        Raises:
            ValueError: If a custom law gives something else.
        """
        known = self.entry.first_yield
        if known is None:
            return None
        what = f"first_yield of law {self.law!r:.60} (tension={tension})"
        return require_between(what, known(self.parameters, tension), 0.0, STRESS[1])

    @property
    def stress_at_onset(self) -> float | None:
        """Uniaxial yield stress in tension at the onset of damage [MPa]; None without it."""
        if self.damage is None:
            return None
        onset = self.damage.onset
        curves = {name for name, kind in self.entry.parameters.items() if kind == CURVE}
        at_onset = {
            name: YieldStress(_at(value, onset)) if name in curves else value
            for name, value in self.parameters.items()
        }
        return dataclasses.replace(self, parameters=at_onset, damage=None).first_yield(tension=True)

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
            content["damage"] = _without_none(self.damage)
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
    """Yield stress at a plastic strain [MPa]."""
    return float(curve.yield_stress(p) if isinstance(curve, HardeningTable) else curve(p))


def _without_none(values: Any) -> dict[str, Any]:
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
        return _built(kinds, name, value)
    return YieldStress(number(name, value))


@dataclass(frozen=True, repr=False)
class Phases(Short):
    """The materials of a composite.

    Attributes:
        matrix: Material of the matrix.
        fibres: Material of the fibres.
        source: Where the numbers are from.
        others: Materials of further phases by name, see `Microstructure.phases`.
        measured: Measured values of a ply of these phases. They are not part of `as_dict`.
        interface: Cohesive law between the fibres and what surrounds them, so that fibres can
            debond; None bonds them perfectly.

    Raises:
        ValueError: If a phase has a reserved name, the toughness of the interface is too small for
            its strength and stiffness, or damage has no diameter of the fibres, or another one.

    Examples:
        >>> from fe_data import named_phases
        >>> named_phases("glass_epoxy").matrix.law
        'paraboloidal'
    """

    matrix: Material
    fibres: Material
    source: str = ""
    others: Mapping[str, Material] = field(default_factory=dict)
    measured: Measured | None = None
    interface: Interface | None = None

    def __post_init__(self) -> None:
        require_kind("measured", self.measured, Measured, type(None))
        for name in ("matrix", "fibres"):
            require_kind(name, getattr(self, name), Material)
        require_kind("source", self.source, str)
        require_kind("others", self.others, Mapping)
        for name, material in self.others.items():
            require_kind("others", name, str)
            require_kind(f"others[{name!r:.60}]", material, Material)
            if name in _RESERVED:
                raise ValueError(f"others has {name!r}, which is the name of another phase")
        object.__setattr__(self, "others", dict(self.others))
        if self.interface is not None:
            require_kind("interface", self.interface, Interface)
            try:
                self.interface.require_stable(self.matrix_modulus_GPa)
            except ValueError as error:
                raise ValueError(f"interface: {error}") from None
        self._require_one_diameter()

    def _require_one_diameter(self) -> None:
        """Raise a ValueError if damage lacks the diameter of the fibres, or diameters differ."""
        diameters = {} if self.interface is None else {INTERFACE: self.interface.fibre_diameter_um}
        for name, damage in self._damages.items():
            if damage.fibre_diameter_um is not None:
                diameters[f"{name}.damage"] = damage.fibre_diameter_um
        if self._damages and not diameters:
            raise ValueError(
                f"{min(self._damages)}.damage: fibre_diameter_um is missing [µm]: the fracture "
                "energy is compared with it"
            )
        if len(set(diameters.values())) > 1:
            values = ", ".join(f"{value:g} in {place}" for place, value in diameters.items())
            raise ValueError(f"fibre_diameter_um = {values}: give one value")

    @property
    def _damages(self) -> dict[str, Damage]:
        """Damage of each phase that can soften."""
        materials = {"matrix": self.matrix, "fibres": self.fibres, **self.others}
        return {name: m.damage for name, m in materials.items() if m.damage is not None}

    @property
    def can_soften(self) -> bool:
        """Whether a phase has damage."""
        return bool(self._damages)

    @property
    def can_break(self) -> bool:
        """Whether fibres can debond, or a phase can soften."""
        return self.interface is not None or self.can_soften

    @property
    def fibre_diameter_um(self) -> float | None:
        """Mean diameter of the fibres [µm]; None if nothing can break."""
        if self.interface is not None:
            return self.interface.fibre_diameter_um
        diameters = [damage.fibre_diameter_um for damage in self._damages.values()]
        return next((value for value in diameters if value is not None), None)

    def unbreakable(self) -> "Phases":
        """Return the phases with bonded fibres, and without damage.

        Examples:
            >>> from fe_data import named_phases
            >>> named_phases("glass_epoxy_debonding").unbreakable().can_break
            False
        """
        intact = functools.partial(dataclasses.replace, damage=None)
        others = {name: intact(material) for name, material in self.others.items()}
        matrix, fibres = intact(self.matrix), intact(self.fibres)
        return dataclasses.replace(
            self, matrix=matrix, fibres=fibres, others=others, interface=None
        )

    def require_breakable(self) -> None:
        """Raise a ValueError if nothing can break."""
        if not self.can_break:
            raise ValueError(
                "the material has no interface and no damage, so that it cannot break: give it an "
                "interface, as in glass_epoxy_debonding, or damage of the matrix"
            )

    @property
    def matrix_modulus_GPa(self) -> float:
        """Young's modulus of the matrix, across its axis if it has one [GPa]."""
        return self.matrix.elasticity.modulus_across

    def of(self, name: str) -> Material:
        """Return the material of a phase other than the matrix.

        Args:
            name: "fibres", or one of `others`.

        Returns:
            The material.

        Raises:
            ValueError: If there is no such phase.

        Examples:
            >>> from fe_data import named_phases
            >>> phases = named_phases("paper")
            >>> phases.of("fibres") is phases.fibres
            True
        """
        known = {"fibres": self.fibres, **self.others}
        if name not in known:
            allowed = ", ".join([*known, "void"])
            raise ValueError(
                f"phases of the microstructure: {name!r:.60} is unknown: allowed are {allowed}"
            )
        return known[name]

    def as_dict(self) -> dict[str, Any]:
        """Return the phases as nested dictionaries, as in a file, without the source."""
        all_phases = {"matrix": self.matrix, "fibres": self.fibres, **self.others}
        content = {name: material.as_dict() for name, material in all_phases.items()}
        if self.interface is not None:
            content[INTERFACE] = _without_none(self.interface)
        return content

    def without_expansion(self, names: Iterable[str]) -> list[str]:
        """Names of the phases that do not expand, if another of these phases expands.

        Args:
            names: Names of phases; "void" is ignored.

        Returns:
            The names, in alphabetical order. The list is empty if no phase expands.
        """
        materials = {"matrix": self.matrix}
        materials |= {name: self.of(name) for name in sorted({*names} - {"matrix", "void"})}
        rigid = [n for n, each in materials.items() if not each.elasticity.expansion.any()]
        return rigid if len(rigid) < len(materials) else []

    @property
    def fields(self) -> dict[str, float]:
        """All numbers of the phases by their place in a file, such as matrix.elasticity.E_GPa."""
        return {
            ".".join(place): value
            for place, value in leaves(self.as_dict())
            if isinstance(value, float | int)
        }

    def with_fields(self, values: Mapping[str, float]) -> "Phases":
        """Return the phases with some numbers replaced.

        Args:
            values: New numbers by their place in a file; each place is a key of `fields`.

        Returns:
            The phases.

        Raises:
            ValueError: If there is no such place, or a number is out of range.

        Examples:
            >>> from fe_data import named_phases
            >>> resin = named_phases("glass_epoxy").with_fields({"matrix.elasticity.E_GPa": 3.0})
            >>> resin.matrix.elasticity.E_GPa
            3.0
        """
        content = self.as_dict()
        places = {".".join(place): place for place, _ in leaves(content)}
        for name, value in values.items():
            if name not in self.fields:
                allowed = ", ".join(self.fields)
                raise ValueError(
                    f"{name:.60} is not a number of the material: allowed are {allowed}"
                )
            *outer, last = places[name]
            functools.reduce(dict.__getitem__, outer, content)[last] = number(name, value)
        return _phases({"phases": content, "source": self.source})

    @property
    def sha256(self) -> str:
        """Checksum of `as_dict`, which identifies the material in results."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def fixed_inputs(self) -> dict[str, float]:
        """Inputs of an RVE that the phases determine: all except the volume fraction.

        E_f_GPa is the modulus of the fibres across their axis. The parameter `yield_stress` of the
        matrix gives b_m_MPa and c_m; they are 0 and 1 if this is not a `YieldStress`.
        """
        curve = self.matrix.parameters.get("yield_stress")
        b, c = UNUSED_B_AND_C
        if isinstance(curve, YieldStress):
            b, c = curve.b_MPa, curve.c
        return {"E_f_GPa": self.fibres.elasticity.modulus_across, "b_m_MPa": b, "c_m": c}


def leaves(content: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the place (a tuple of keys) and the value of each leaf of nested dictionaries."""
    if not isinstance(content, dict):
        yield place, content
        return
    for name, value in content.items():
        yield from leaves(value, (*place, name))


def require_no_phases(settings: Settings) -> None:
    """Raise a ValueError if settings describe phases, which a material determines."""
    for name in SETTINGS_OF_PHASES:
        if (value := getattr(settings, name)) != getattr(Settings, name):
            what = f"{name} = {value!r:.60} cannot be combined with a material"
            raise ValueError(f"{what}, which describes the phases: leave it out")


def require_interphase(
    phases: Phases, settings: Settings, interphase: float, *, vf: float | None
) -> None:
    """Raise a ValueError if rings have no material, or random fibres of a `vf` leave no room."""
    require_between("interphase", interphase, 0.0, _THICKEST, unit=" mean fibre radii")
    if not interphase:
        return
    phases.of(INTERPHASE)
    if vf is None or settings.radii != Settings.radii:
        return
    spacing = spacing_of(settings.min_spacing, vf, settings.n_fibres)
    if interphase >= spacing - 1:
        raise ValueError(
            f"interphase = {interphase:g} does not fit between fibres with min_spacing = "
            f"{spacing:g}: give a min_spacing (option --min-spacing) above {1 + interphase:g}"
        )


def named_phases(name: str) -> Phases:
    """Load phases that are shipped with the package.

    Args:
        name: Name of a file in fe_data/composite/examples, without ".yaml".

    Returns:
        The phases.

    Raises:
        ValueError: If there is no file with this name.

    Examples:
        >>> from fe_data import named_phases
        >>> named_phases("carbon_epoxy").fibres.elasticity.E_L_GPa
        225.0
    """
    require_kind("name", name, str)
    names = sorted(file.stem for file in EXAMPLES.glob("*.yaml"))
    if name not in names:
        allowed = ", ".join(names)
        raise ValueError(f"name = {name!r:.60} is no known material: allowed are {allowed}")
    return load_phases(EXAMPLES / f"{name}.yaml")


def load_phases(path: str | Path) -> Phases:
    """Read a file of phases.

    Args:
        path: YAML file.

    Returns:
        The phases.

    Raises:
        ValueError: If the file is not valid YAML, or a field is missing, unknown or out of range;
            the message has the file and the field.

    Examples:
        >>> from fe_data import load_phases
        >>> load_phases("fe_data/composite/examples/paper.yaml").matrix.law
        'j2'
    """
    path = require_path("path", path)
    try:
        return _phases(parse_yaml(read_file(path, MOST_BYTES)))
    except UnusualFile as error:
        what = str(error)
        raise ValueError(what if what.startswith(str(path)) else f"{path}: {what}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def _phases(content: Any) -> Phases:
    """Make phases from the content of a file."""
    if content is None:
        raise ValueError("it is empty: it must have phases")
    top = _mapping("file", content, {"phases"}, {"measured", "source"})
    phases = top["phases"]
    needed = {"matrix", "fibres"}
    complete = isinstance(phases, Mapping) and phases.keys() >= needed
    others = {name for name in phases if isinstance(name, str)} if complete else set()
    phases = _mapping("phases", phases, needed, others - needed)
    given = phases.pop(INTERFACE, None)
    interface = None if given is None else _built(Interface, INTERFACE, given)
    materials = {name: _material(name, phases[name]) for name in sorted(phases)}
    named = {name: materials.pop(name) for name in ("matrix", "fibres")}
    measured = top.get("measured")
    if measured is not None:
        measured = _built(Measured, "measured", measured)
    source = str(top.get("source", ""))
    return Phases(**named, source=source, others=materials, measured=measured, interface=interface)


def _material(name: str, content: Any) -> Material:
    """Make the material of a phase from the content of a file."""
    fields = _mapping(name, content, {"elasticity"}, {"law", "parameters", "damage"})
    elastic = _with_poisson(f"{name}.elasticity", fields["elasticity"])
    across = isinstance(elastic, Mapping) and "E_L_GPa" in elastic
    kind: Any = TransverselyIsotropic if across else Isotropic
    elasticity = _built(kind, f"{name}.elasticity", elastic)
    damage = None
    if "damage" in fields:
        damage = _built(Damage, f"{name}.damage", fields["damage"])
    parameters = fields.get("parameters") or {}
    try:
        return Material(elasticity, fields.get("law", "elastic"), parameters, damage)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _with_poisson(place: str, content: Any) -> Any:
    """Replace G_TT_GPa by nu_TT in the elasticity of a file, which may have either."""
    if not isinstance(content, Mapping) or "G_TT_GPa" not in content or "E_T_GPa" not in content:
        return content
    others = {name: value for name, value in content.items() if name != "G_TT_GPa"}
    if "nu_TT" in others:
        raise ValueError(f"{place} has both nu_TT and G_TT_GPa: leave one of them out")
    try:
        E, G = (content[name] for name in ("E_T_GPa", "G_TT_GPa"))
        return {**others, "nu_TT": poisson_across(E, G)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def _built(kind: Any, place: str, content: Any) -> Any:
    """Make a dataclass from a mapping whose keys are its fields."""
    fields = dataclasses.fields(kind)
    needed = {each.name for each in fields if each.default is dataclasses.MISSING}
    optional = {each.name for each in fields} - needed
    found = _mapping(place, content, needed, optional)
    try:
        return kind(**found)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def _mapping(place: str, content: Any, needed: set[str], optional: set[str]) -> dict[str, Any]:
    """Return a mapping as a dictionary; a ValueError if keys are missing or unknown."""
    if not isinstance(content, Mapping):
        raise ValueError(f"{place} = {content!r:.60} must be a mapping")
    unknown = content.keys() - needed - optional
    missing = needed - content.keys()
    if unknown or missing:
        allowed = ", ".join(sorted(needed | optional))
        what = (
            f"{min(map(str, unknown)):.60} is unknown" if unknown else f"{min(missing)} is missing"
        )
        raise ValueError(f"{place}: {what}; allowed are {allowed}")
    return dict(content)
