"""Write the tables of fields in docs/files.md from the schema: python -m docs.file_tables."""

import argparse
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fe_data import Damage, HardeningTable, Interface, Isotropic, TransverselyIsotropic, YieldStress
from fe_data.composite.damage import BOUNDS as BOUNDS_OF_DAMAGE
from fe_data.composite.elasticity import BOUNDS_ISOTROPIC, BOUNDS_TRANSVERSE
from fe_data.composite.interface import BOUNDS as BOUNDS_OF_INTERFACE
from fe_data.composite.interface import STRENGTHS
from fe_data.composite.law_registry import CURVE, MATERIAL_LAWS, is_shipped
from fe_data.composite.materials import STRESS, law_entry
from fe_data.composite.measured import Measured, bounds_of
from fe_data.dataset.fibre_file import MAX_FIBRES
from fe_data.dataset.table import STATUSES
from fe_data.geometry.microstructure import CENTRES
from fe_data.loading import MAX_INCREMENTS, MAX_TEMPERATURE, MAX_TIME
from fe_data.schema import BOUNDS, DIMENSIONLESS, INPUTS, LARGEST_STRAIN, OF_STRENGTH, OUTPUTS
from fe_data.settings import Settings
from fe_data.settings.hardening import HARDENING_LAWS, UNUSED_B_AND_C
from figures.markdown import markdown, with_blocks
from safe_files.writing import write_atomic

PAGE = Path(__file__).with_name("files.md")
HEADER = ("field", "unit", "range", "default", "meaning")
REQUIRED = "required"
Rows = list[tuple[str, str, str, str, str]]
# Meaning of the parameters of shipped laws; a yield stress is a block of its own.
PARAMETERS = {
    "yield_stress": ("MPa", "Yield stress, the same in tension and compression"),
    "tension": ("MPa", "Yield stress in uniaxial tension"),
    "compression": ("MPa", "Yield stress in uniaxial compression"),
    "plastic_poisson_ratio": (DIMENSIONLESS, "Ratio of the plastic strains in a uniaxial test"),
    "friction_angle_deg": ("°", "Slope of the yield surface in the plane of mean stress and q"),
    "dilation_angle_deg": ("°", "Slope of the flow potential in the same plane"),
    "C1_MPa": ("MPa", "Modulus of the first back stress"),
    "gamma1": (DIMENSIONLESS, "Rate of recovery of the first back stress"),
    "C2_MPa": ("MPa", "Modulus of the second back stress"),
    "gamma2": (DIMENSIONLESS, "Rate of recovery of the second back stress"),
}


def plain(value: float) -> str:
    """Return a number in few characters, such as 1e5."""
    mantissa, _, power = f"{value:.5g}".partition("e")
    if not power and value >= 1e4 and value % 1e4 == 0:
        mantissa, _, power = f"{value:.4e}".partition("e")
        mantissa = f"{float(mantissa):g}"
    return f"{mantissa}e{int(power)}" if power else mantissa


def between(bounds: tuple[float, float] | None) -> str:
    """Return a range in words; an empty text if there is none."""
    return "" if bounds is None else f"{plain(bounds[0])} to {plain(bounds[1])}"


def in_file(text: str) -> str:
    """Return a description for a file: the unit and the range have columns of their own."""
    text = re.sub(r" \[[^\]]+\]", "", text)
    text = re.sub(r", (?:from )?-?[\d.]+ to [\d.⁶]+", "", text)
    text = text.replace("None is", "By default").replace("None takes", "By default")
    return upper(text.rstrip("."))


def upper(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[0].upper() + text[1:]


def attributes(kind: type) -> dict[str, str]:
    """Return the description of each attribute of a class, from its docstring."""
    text = inspect.getdoc(kind) or ""
    section = text.partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"(?m)^    (\w+): ((?:.*(?:\n {8}.*)*))", section)
    return {name: " ".join(words.split()) for name, words in entries}


def described(kind: Any, bounds: Mapping[str, tuple[float, float]]) -> Iterator[tuple[str, ...]]:
    """Yield the row of each field of a dataclass whose docstring describes its attributes."""
    texts = attributes(kind)
    for field in dataclasses.fields(kind):
        unit = re.search(r" \[([^\]]+)\](?=[.;,:]|$)", texts[field.name])
        dimension = unit[1].replace("-", DIMENSIONLESS) if unit else ""
        default = REQUIRED if field.default is dataclasses.MISSING else default_of(field.default)
        row = (f"`{field.name}`", dimension, between(bounds.get(field.name)), default)
        yield (*row, in_file(texts[field.name]))


def default_of(value: Any) -> str:
    """Return a default value as a file would have it; an empty text if there is none."""
    if value is None or value == "":
        return ""
    return f"`{value}`" if isinstance(value, str) else plain(value)


def transverse() -> Iterator[tuple[str, ...]]:
    """Yield the rows of transversely isotropic elasticity."""
    for row in described(TransverselyIsotropic, BOUNDS_TRANSVERSE):
        if row[0] == "`nu_TT`":
            yield (*row[:3], "required, or `G_TT_GPa`", row[4].partition(";")[0])
            modulus = "Shear modulus in the plane across the axis, E_T / 2(1 + ν_TT)"
            yield "`G_TT_GPa`", "GPa", "so that nu_TT is in its range", "", modulus
        else:
            yield row


def yield_stress() -> Iterator[tuple[str, ...]]:
    """Yield the rows of a yield stress by a hardening law."""
    allowed = {
        "yield_stress_MPa": between(STRESS),
        "law": ", ".join(f"`{name}`" for name in HARDENING_LAWS),
    }
    for name, bound in {"b_MPa": "b_bounds", "c": "c_bounds"}.items():
        ranges = {law: between(getattr(HARDENING_LAWS[law], bound)) for law in HARDENING_LAWS}
        same = len({*ranges.values()}) == 1
        texts = [f"{words} ({law})" for law, words in ranges.items()]
        allowed[name] = next(iter(ranges.values())) if same else ", ".join(texts)
    for name, unit, _, default, words in described(YieldStress, {}):
        yield name, unit, allowed[name.strip("`")], default, words


def table_of_stress() -> Rows:
    """Return the rows of a yield stress by a table."""
    texts = attributes(HardeningTable)
    units = {"plastic_strain": DIMENSIONLESS, "stress": "MPa"}
    return [
        (f"`{name}`", unit, between(BOUNDS[name]), REQUIRED, in_file(texts[name]))
        for name, unit in units.items()
    ]


def parameters() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the parameters of the shipped laws."""
    law_entry("j2")  # registers them
    for law, entry in MATERIAL_LAWS.items():
        if not is_shipped(law):
            continue
        for name, kind in entry.parameters.items():
            unit, words = PARAMETERS[name]
            allowed = "[yield stress](#yield-stress)" if kind == CURVE else between(kind)
            default = plain(entry.defaults[name]) if name in entry.defaults else REQUIRED
            yield f"`{law}`", f"`{name}`", unit, allowed, default, words


def measured() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the measured values of a ply."""
    names = [field.name for field in dataclasses.fields(Measured)[2:]]
    bounds = {"vf": (0.0, 1.0), **{name: bounds_of(name) for name in names}}
    yield from described(Measured, bounds)


def loading() -> Rows:
    """Return the rows of a loading file."""
    strain = between((-LARGEST_STRAIN, LARGEST_STRAIN))
    degrees = between((-MAX_TEMPERATURE, MAX_TEMPERATURE))
    general = "; only with `--material`"
    plane, others = ("xx", "yy", "xy"), ("zz", "xz", "yz")
    strains, stresses = (
        [", ".join(f"`{kind}_{axes}`" for axes in group) for group in (plane, others)]
        for kind in ("strain", "stress")
    )
    prescribed = "Mean strain at the vertex; empty means free"
    force = "Mean stress of a free component"
    return [
        (strains[0], DIMENSIONLESS, strain, "free", prescribed),
        (stresses[0], "MPa", "finite", "0", force),
        (strains[1], DIMENSIONLESS, strain, "see below", prescribed + general),
        (stresses[1], "MPa", "finite", "0", force + general),
        (
            "`increments`",
            DIMENSIONLESS,
            between((1, MAX_INCREMENTS)),
            f"{Settings.increments}, or `--increments`",
            "Number of equal increments from the previous vertex to this one",
        ),
        (
            "`temperature`",
            "K",
            degrees,
            "that of the previous vertex, at first 0",
            f"Change from the stress-free state{general}",
        ),
        (
            "`time`",
            "s",
            f"{between((0, MAX_TIME))}, growing",
            "1 s per row",
            f"Time at the vertex, for laws that depend on it{general}",
        ),
        ("`path`", DIMENSIONLESS, "0, 1, 2, … in this order", "0", "Number of the path"),
    ]


def microstructure() -> Rows:
    """Return the rows of a file of fibres."""
    side = "width of the RVE"
    crossing = "Centre; a fibre that crosses a side continues at the opposite side"
    number = f"Number of the microstructure, which has at most {MAX_FIBRES} fibres"
    phases = "`fibres`, `void`, or a phase of the material"
    modulus = "Young's modulus of this fibre, whose phase must be isotropic"
    return [
        ("`x`, `y`", side, f"{between(CENTRES)}, for `y` times the height", REQUIRED, crossing),
        ("`radius`", side, between(BOUNDS["radii"]), REQUIRED, "Radius"),
        ("`microstructure`", DIMENSIONLESS, "0, 1, 2, … in this order", "0", number),
        ("`phase`", DIMENSIONLESS, phases, "`fibres`", "Material of the inclusion"),
        ("`E_GPa`", "GPa", between(BOUNDS["E_m_GPa"]), "that of its phase", modulus),
    ]


def design() -> Iterator[tuple[str, ...]]:
    """Yield the rows of a design."""
    for quantity in INPUTS:
        allowed = f"{'0, or ' if quantity.or_zero else ''}{between(quantity.allowed)}"
        default = REQUIRED if quantity.name == "vf" else f"{REQUIRED}, except with `--material`"
        meaning = f"{upper(quantity.meaning)} (in the paper {between(quantity.bounds)})"
        yield f"`{quantity.name}`", quantity.unit, allowed, default, meaning
    yield (
        "`group`",
        DIMENSIONLESS,
        "0 or more",
        "number of the row",
        "Rows of one group have the same inputs",
    )
    yield (
        "`microstructure`",
        DIMENSIONLESS,
        "0 or more",
        "every microstructure",
        "Number in the file of `--microstructure`",
    )
    yield (
        "`matrix.elasticity.E_GPa`, …",
        "as in the material file",
        "as in the material file",
        "as in the material file",
        "Replaces this number of the material, only with `--material`",
    )


def dataset() -> Iterator[tuple[str, ...]]:
    """Yield name, unit, presence and meaning of the columns of dataset.csv."""
    yield "`index`", DIMENSIONLESS, "always", "Number of the sample, from 0"
    yield "`seed`", DIMENSIONLESS, "unless `--microstructure`", "Seed of its microstructure"
    number = "Number of its microstructure"
    yield "`microstructure`", DIMENSIONLESS, "with `--microstructure`", number
    yield "`group`", DIMENSIONLESS, "always", "Samples of one group have the same inputs"
    # A matrix may have no such curve: by a law of another kind, or by a table.
    unused = dict(zip(("b_m_MPa", "c_m"), UNUSED_B_AND_C, strict=True))
    for quantity in INPUTS:
        without = f"; {unused[quantity.name]:g} without one" if quantity.name in unused else ""
        yield f"`{quantity.name}`", quantity.unit, "always", upper(quantity.meaning) + without
    yield "`path`", DIMENSIONLESS, "with `--loading`", "Number of its path"
    varied = "if the design has it"
    yield (
        "`matrix.elasticity.E_GPa`, …",
        "as in the material file",
        varied,
        "Number of the material",
    )
    of_strengths = tuple(name for name, *_ in OF_STRENGTH)
    for output in OUTPUTS:
        if not output.name.endswith(of_strengths):
            yield f"`{output.name}`", output.unit, written_if(output.name), upper(output.meaning)
    for name, unit, meaning, *_ in OF_STRENGTH:
        yield f"`NAME_{name}`", unit, "`--strength NAME`", upper(meaning)
    states = ", ".join(f"`{status}`" for status in STATUSES)
    yield "`status`", DIMENSIONLESS, "always", states


def written_if(name: str) -> str:
    """Return when `generate` writes an output."""
    if name in ("E_spread", "isotropy_misfit"):
        return "`--anisotropy`"
    if name == "E_T_GPa":
        return "`--material`"
    output = next(output for output in OUTPUTS if output.name == name)
    if output.required:
        return "unless `--loading`"
    return "`--strength`" if name.startswith(STRENGTHS) else "`--constants`"


def hardening() -> Rows:
    """Return the rows of a hardening table."""
    names = {"plastic_strain": "plastic_strain", "stress_MPa": "stress"}
    units = {"plastic_strain": DIMENSIONLESS, "stress_MPa": "MPa"}
    texts = attributes(HardeningTable)
    return [
        (f"`{column}`", units[column], between(BOUNDS[name]), REQUIRED, in_file(texts[name]))
        for column, name in names.items()
    ]


def blocks() -> dict[str, str]:
    """Return the tables of the page by the names of their markers."""
    return {
        "isotropic": markdown(HEADER, described(Isotropic, BOUNDS_ISOTROPIC)),
        "transverse": markdown(HEADER, transverse()),
        "laws": markdown(("law", "parameter", *HEADER[1:]), parameters()),
        "yield-stress": markdown(HEADER, yield_stress()),
        "stress-table": markdown(HEADER, table_of_stress()),
        "damage": markdown(HEADER, described(Damage, BOUNDS_OF_DAMAGE)),
        "interface": markdown(HEADER, described(Interface, BOUNDS_OF_INTERFACE)),
        "measured": markdown(HEADER, measured()),
        "loading": markdown(HEADER, loading()),
        "microstructure": markdown(HEADER, microstructure()),
        "design": markdown(HEADER, design()),
        "dataset": markdown(("column", "unit", "written", "meaning"), dataset()),
        "hardening": markdown(HEADER, hardening()),
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    page = with_blocks(PAGE.read_text(encoding="utf-8"), blocks())
    write_atomic(PAGE, page.encode(), beginning=None)
