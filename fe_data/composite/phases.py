"""The phases of a composite, and the YAML files that describe them.

The following file has the two required phases; further phases are `Phases.others`:

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
from typing import Any

from fe_data.arrays import number
from fe_data.composite.damage import Damage
from fe_data.composite.interface import Interface
from fe_data.composite.materials import Material, YieldStress, material_from, without_none
from fe_data.composite.measured import Measured
from fe_data.files.content import built, mapping
from fe_data.files.yaml_file import MOST_BYTES, parse_yaml
from fe_data.geometry.microstructure import FIBRES, VOID, Microstructure, require_thick
from fe_data.geometry.spacing import spacing_of
from fe_data.settings import Settings, require_between, require_kind, require_path
from fe_data.settings.hardening import UNUSED_B_AND_C
from safe_files.reading import UnusualFile, read_file
from safe_files.text import Short

EXAMPLES = Path(__file__).with_name("examples")  # shipped files of phases
INTERPHASE = "interphase"  # name of the phase of a ring around each fibre
_THICKEST = 10.0  # largest thickness of this ring, in mean fibre radii
# Settings that describe the phases of the fast solver, so they cannot be combined with `Phases`.
SETTINGS_OF_PHASES = ("E_m_GPa", "nu_m", "nu_f", "sigma_y0_MPa", "hardening")
INTERFACE = "interface"  # name of the cohesive law next to the phases
_SHEAR = ".elasticity.G_TT_GPa"  # in a file it may replace nu_TT
_RESERVED = ("matrix", "fibres", VOID, INTERFACE)


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

    def damageable(
        self, fibres: float | Microstructure, interphase: float = 0.0
    ) -> dict[str, Material]:
        """Return the phases of an RVE that have damage.

        Args:
            fibres: As for `inclusions_of`.
            interphase: As for `inclusions_of`.

        Returns:
            Materials by name of the phase.
        """
        materials = {"matrix": self.matrix}
        materials |= {name: self.of(name) for name in inclusions_of(fibres, interphase)}
        return {name: material for name, material in materials.items() if material.damage}

    def can_break(self, fibres: float | Microstructure, interphase: float = 0.0) -> bool:
        """Return whether the fibres of an RVE can debond, or a phase can soften.

        Args:
            fibres: As for `inclusions_of`.
            interphase: As for `inclusions_of`.

        Returns:
            Whether the RVE can break.
        """
        debonds = self.interface is not None and bool(inclusions_of(fibres))
        return debonds or bool(self.damageable(fibres, interphase))

    @property
    def fibre_diameter_um(self) -> float | None:
        """Mean diameter of the fibres [µm]; None if the material has no interface and no damage."""
        if self.interface is not None:
            return self.interface.fibre_diameter_um
        diameters = [damage.fibre_diameter_um for damage in self._damages.values()]
        return next((value for value in diameters if value is not None), None)

    def unbreakable(self) -> "Phases":
        """Return the phases with bonded fibres, and without damage.

        Examples:
            >>> from fe_data import named_phases
            >>> named_phases("glass_epoxy_debonding").unbreakable().can_break(0.3)
            False
        """
        intact = functools.partial(dataclasses.replace, damage=None)
        others = {name: intact(material) for name, material in self.others.items()}
        matrix, fibres = intact(self.matrix), intact(self.fibres)
        return dataclasses.replace(
            self, matrix=matrix, fibres=fibres, others=others, interface=None
        )

    def require_breakable(self, fibres: float | Microstructure, interphase: float = 0.0) -> None:
        """Raise an error if nothing in an RVE can break.

        Args:
            fibres: As for `inclusions_of`.
            interphase: As for `inclusions_of`.

        Raises:
            ValueError: If no phase and no interface can break, or the volume fraction is zero.
        """
        if fibres == 0:
            raise ValueError("vf = 0 is out of range: a strength needs fibres, so vf > 0")
        if not self.can_break(fibres, interphase):
            names = ", ".join(["matrix", *sorted(inclusions_of(fibres, interphase))])
            raise ValueError(
                f"the RVE has no interface, and no damage in its phases ({names}), so that it "
                "cannot break: give the material an interface, as in glass_epoxy_debonding, or "
                "damage of the matrix"
            )

    @property
    def matrix_modulus_GPa(self) -> float:
        """Young's modulus of the matrix, across its axis if it has one [GPa]."""
        return self.matrix.elasticity.modulus_across

    def of(self, name: str, E_GPa: float | None = None) -> Material:
        """Return the material of a phase other than the matrix.

        Args:
            name: "fibres", or one of `others`.
            E_GPa: Young's modulus of a fibre, in place of that of its phase [GPa].

        Returns:
            The material.

        Raises:
            ValueError: If there is no such phase, or E_GPa is given and it is not isotropic.

        Examples:
            >>> from fe_data import named_phases
            >>> phases = named_phases("paper")
            >>> phases.of("fibres") is phases.fibres
            True
        """
        inclusions = {"fibres": self.fibres, **self.others}
        if name not in inclusions:
            allowed = ", ".join([*inclusions, VOID])
            raise ValueError(
                f"phases of the microstructure: {name!r:.60} is unknown: allowed are {allowed}"
            )
        material = inclusions[name]
        return material if E_GPa is None else material.with_modulus(E_GPa)

    def require_materials_of(self, microstructure: Microstructure) -> None:
        """Raise an error if an inclusion or its ring has no material, or one without its modulus.

        Args:
            microstructure: Fibres and voids.

        Raises:
            ValueError: If a phase is unknown, or a fibre with a separate modulus is not isotropic.
        """
        for name, E_GPa in dict.fromkeys(microstructure.kinds):
            if name != VOID:
                self.of(name, E_GPa)
        if microstructure.interphase:
            self.of(INTERPHASE)

    def as_dict(self) -> dict[str, Any]:
        """Return the phases as nested dictionaries, as in a file, without the source."""
        all_phases = {"matrix": self.matrix, "fibres": self.fibres, **self.others}
        content = {name: material.as_dict() for name, material in all_phases.items()}
        if self.interface is not None:
            content[INTERFACE] = without_none(self.interface)
        return content

    def without_expansion(self, names: Iterable[str]) -> list[str]:
        """Return the names of the phases that do not expand, if another of these phases expands.

        Args:
            names: Names of phases; "void" is ignored.

        Returns:
            The names, in alphabetical order. The list is empty if no phase expands.
        """
        materials = {"matrix": self.matrix}
        materials |= {name: self.of(name) for name in sorted({*names} - {"matrix", VOID})}
        rigid = [n for n, material in materials.items() if not material.elasticity.expansion.any()]
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
            values: New numbers by their place in a file. Each place is a key of `fields`, or the
                G_TT_GPa of a phase with nu_TT, or a yield stress that is only a number.

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
            stored = self._stored_name(name)
            if stored not in self.fields:
                allowed = ", ".join(self.fields)
                raise ValueError(
                    f"{name:.60} is not a number of the material: allowed are {allowed}"
                )
            if stored != name and stored in values:
                raise ValueError(f"{name:.60} determines {stored:.60}: leave one of them out")
            *outer, last = places[stored]
            inner = functools.reduce(dict.__getitem__, outer, content)
            if name.endswith(_SHEAR):
                del inner[last]
                last = "G_TT_GPa"
            inner[last] = number(name, value)
        phases = _phases({"phases": content, "source": self.source})
        return dataclasses.replace(phases, measured=self.measured)

    def _stored_name(self, name: str) -> str:
        """Return the key in `fields` of a number that a file may write in another way."""
        if name.endswith(_SHEAR):
            return f"{name.removesuffix(_SHEAR)}.elasticity.nu_TT"
        # A number is the yield stress of perfect plasticity.
        is_plain = self.fields.get(f"{name}.b_MPa") == 0.0
        return f"{name}.yield_stress_MPa" if is_plain else name

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


def inclusions_of(fibres: float | Microstructure, interphase: float = 0.0) -> set[str]:
    """Return the names of the phases in the matrix of an RVE.

    Args:
        fibres: Volume fraction of random fibres [-], or a microstructure.
        interphase: Thickness of a ring that is put around each fibre.

    Returns:
        The names; a void is no phase.

    Examples:
        >>> from fe_data.composite.phases import inclusions_of
        >>> sorted(inclusions_of(0.3, interphase=0.1))
        ['fibres', 'interphase']
    """
    if isinstance(fibres, Microstructure):
        names = {*fibres.phases} - {VOID}
        interphase = interphase or fibres.interphase
    else:
        names = {FIBRES} if fibres else set()
    return names | {INTERPHASE} if names and interphase else names


def leaves(content: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the place (a tuple of keys) and the value of each leaf of nested dictionaries."""
    if not isinstance(content, dict):
        yield place, content
        return
    for name, value in content.items():
        yield from leaves(value, (*place, name))


def require_no_phases(settings: Settings) -> None:
    """Raise a ValueError if settings describe phases, which a material determines."""
    for name in reversed(SETTINGS_OF_PHASES):  # a hardening table also sets `sigma_y0_MPa`
        if (value := getattr(settings, name)) != getattr(Settings, name):
            what = f"{name} = {value!r:.60} cannot be combined with a material"
            raise ValueError(f"{what}, which describes the phases: leave it out")


def require_interphase(
    phases: Phases, settings: Settings, interphase: float, *, vf: float | None
) -> None:
    """Raise a ValueError if rings have no material or room, or are too thin to mesh."""
    require_between("interphase", interphase, 0.0, _THICKEST, unit=" mean fibre radii")
    if not interphase:
        return
    phases.of(INTERPHASE)
    require_thick(interphase)
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
    top = mapping("file", content, {"phases"}, {"measured", "source"})
    phases = top["phases"]
    needed = {"matrix", "fibres"}
    complete = isinstance(phases, Mapping) and phases.keys() >= needed
    others = {name for name in phases if isinstance(name, str)} if complete else set()
    phases = mapping("phases", phases, needed, others - needed)
    cohesive = phases.pop(INTERFACE, None)
    interface = None if cohesive is None else built(Interface, INTERFACE, cohesive)
    materials = {name: material_from(name, phases[name]) for name in sorted(phases)}
    named = {name: materials.pop(name) for name in ("matrix", "fibres")}
    measured = top.get("measured")
    if measured is not None:
        measured = built(Measured, "measured", measured)
    source = str(top.get("source") or "")
    return Phases(**named, source=source, others=materials, measured=measured, interface=interface)
