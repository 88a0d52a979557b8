"""The options of the command line: their help, and the parsers of their values."""

import errno
import functools
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer import Argument, Option
from typer.core import TyperCommand

import fe_data
from fe_data.loading import ALL_AXES, AXES
from fe_data.schema import DIMENSIONLESS, INPUTS
from fe_data.settings import Inputs, Settings, VolumeFraction
from fe_data.settings.hardening import HARDENING_LAWS, UNUSED_B_AND_C, Hardening, HardeningTable
from fe_data.settings.radii import RADII_LAWS, RadiiName
from safe_files.writing import require_own

LoadingValues = tuple[Any, Any]  # strains (None if free) and stresses [MPa], 3 or 6 components
T = TypeVar("T")

DESIGNS = "test_uniform, train_uniform, train_beta, replicates, noise, reference"
RANDOM_FIBRES = ("n_fibres", "min_spacing", "radii", "radii_cov")  # settings
HARDENING_HELP = (
    "yield stress of the matrix at the plastic strain p, with a = --sigma-y0, b = b_m and "
    "c = c_m: "
    + "; ".join(f"{name} is {law.formula}" for name, law in HARDENING_LAWS.items())
    + "; table:FILE.csv has the columns plastic_strain, from 0, and stress_MPa. It is linear "
    "between rows, constant after the last, and replaces --b-m, --c-m and --sigma-y0"
)
RADII_HELP = "distribution of the radii of random fibres: " + "; ".join(
    f"{name} is {law.formula}" for name, law in RADII_LAWS.items()
)


def parser(kind: Callable[[str], T], name: str) -> Callable[[str], T]:
    """Return a parser whose error message contains the text, unlike the parsers of typer."""

    def parse(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r:.60} is not {name}") from None

    return parse


def path(text: str) -> Path:
    """Parse a path. Two dashes at its beginning mean that the path of an option is missing."""
    if not text:
        raise typer.BadParameter("the path is empty: '.' is the current folder")
    if text.startswith("--"):
        raise typer.BadParameter(f"a path is missing before {text}")
    if "\0" in text:
        raise typer.BadParameter(f"{text!r:.60} must not contain a null byte")
    return Path(text)


integer = parser(int, "an integer")
number = parser(float, "a number")


def hardening(text: str) -> Hardening:
    """Parse the name of a hardening law, or read the table of a file."""
    from fe_data.files.csv_rows import read_numbers

    kind, _, name = text.partition(":")
    if text in HARDENING_LAWS:
        return text
    if kind != "table" or not name:
        allowed = ", ".join([*HARDENING_LAWS, "table:FILE.csv"])
        raise typer.BadParameter(f"{text!r:.60} is unknown: allowed are {allowed}")
    file = path(name)
    try:
        rows = read_numbers(file, ("plastic_strain", "stress_MPa"), others=False)
        return HardeningTable(*rows.T.tolist())
    except ValueError as error:
        what = str(error).removeprefix(f"{file}, ")
        raise typer.BadParameter(f"{file}, {what}") from None


Integer = functools.partial(Option, parser=integer, metavar="N")
Number = functools.partial(Option, parser=number, metavar="X")
File = functools.partial(Option, parser=path, metavar="FILE")


def of_input(name: str) -> Any:
    """Return the option of an input, such as --E-f for E_f_GPa, with meaning and unit as help."""
    (quantity,) = (entry for entry in INPUTS if entry.name == name)
    unit = "-" if quantity.unit == DIMENSIONLESS else quantity.unit
    flag = "--" + quantity.symbol.replace("_", "-")
    return Number(flag, help=f"{quantity.meaning} [{unit}]")


# Settings of the microstructure and its mesh, shared by several commands.
NFibres = Annotated[int, Integer(help="number of fibres in the RVE")]
MinSpacing = Annotated[
    float | None,
    Number(
        help="least distance of fibre centres, in fibre diameters",
        show_default="1.14, less above vf = 0.49",
    ),
]
Resolution = Annotated[
    float | None, Number(help="elements per fibre diameter", show_default="automatic")
]


Jobs = Annotated[int | None, Integer(help="number of worker processes", show_default="all cores")]
MATERIAL_HELP = (
    "phases of the composite: boron_aluminium, carbon_epoxy, carbon_epoxy_t300, "
    "direct_simulation, glass_epoxy, glass_epoxy_debonding, glass_epoxy_ly556, "
    "glass_epoxy_ly556_breaking, paper, or a file that describes them"
)
NeededMaterial = Annotated[str, Option(metavar="NAME | FILE.yaml", help=MATERIAL_HELP)]
Material = Annotated[
    str | None,
    Option(
        metavar="NAME | FILE.yaml",
        help=f"{MATERIAL_HELP}. They replace --E-f, --b-m, --c-m and the options from --E-m "
        "to --hardening, and the general solver is used, which also takes loadings of six "
        "components",
    ),
]


Drop = Annotated[
    float,
    Number(
        help="if the material can break, the path ends when the mean stress has fallen by this "
        "share below its peak [-]"
    ),
]
Interphase = Annotated[
    float,
    Number(
        help="thickness of a ring around each fibre, in mean fibre radii; the material needs a "
        "phase interphase"
    ),
]
Height = Annotated[
    float, Number(help="height of the rectangle of --microstructure, in widths; 1 is a square")
]


def settings(
    n_fibres: NFibres = Settings.n_fibres,
    min_spacing: MinSpacing = Settings.min_spacing,
    resolution: Resolution = Settings.resolution,
    increments: Annotated[
        int, Integer(help="number of equal load increments, at least 4")
    ] = Settings.increments,
    strain: Annotated[
        float, Number(help="final mean strain xx [-], negative in compression")
    ] = Settings.strain,
    tolerance: Annotated[
        float, Number(help="residual at which Newton's method stops, relative to the load [-]")
    ] = Settings.tolerance,
    E_m_GPa: Annotated[
        float, Number("--E-m", help="Young's modulus of the matrix [GPa]")
    ] = Settings.E_m_GPa,
    nu_m: Annotated[float, Number(help="Poisson ratio of the matrix [-]")] = Settings.nu_m,
    nu_f: Annotated[float, Number(help="Poisson ratio of the fibres [-]")] = Settings.nu_f,
    sigma_y0_MPa: Annotated[
        float, Number("--sigma-y0", help="initial yield stress of the matrix [MPa]")
    ] = Settings.sigma_y0_MPa,
    hardening: Annotated[
        Any, Option(parser=hardening, metavar="LAW", help=HARDENING_HELP)
    ] = Settings.hardening,
    radii: Annotated[RadiiName, Option(help=RADII_HELP)] = Settings.radii,
    radii_cov: Annotated[
        float, Number(help="coefficient of variation C of the radii [-]")
    ] = Settings.radii_cov,
    p_sigma_threshold_MPa: Annotated[
        float,
        Number(
            "--p-sigma-threshold",
            help="von Mises stress [MPa] above which p_sigma counts the area of fibres",
        ),
    ] = Settings.p_sigma_threshold_MPa,
) -> Settings:
    """Make the settings from the options of a command."""
    return Settings(**locals())


class CommandWithOptions(TyperCommand):
    """A command with the options of a function after its own.

    The command gets the result of this function as `context.meta["shared"]`.
    """

    shared: Callable[..., Any]

    def __init__(self, *arguments: Any, params: list[Any], **others: Any):
        app = typer.Typer(add_completion=False)
        app.command()(self.shared)
        self.of_shared = typer.main.get_command(app).params
        super().__init__(*arguments, params=[*params, *self.of_shared], **others)

    def invoke(self, context: Any) -> Any:
        """Check the shared options, then run the command."""
        values = {option.name: context.params.pop(option.name) for option in self.of_shared}
        context.meta["shared"] = self.shared(**values)
        return super().invoke(context)


class CommandWithSettings(CommandWithOptions):
    """A command with the options of `settings` after its own."""

    shared = staticmethod(settings)


def inputs(
    vf: float, E_f_GPa: float | None, b_m_MPa: float | None, c_m: float | None, settings: Settings
) -> Inputs:
    """Make the inputs of an RVE; a hardening table replaces b and c."""
    if E_f_GPa is None:
        raise ValueError("give either --E-f with --b-m and --c-m, or --material")
    if isinstance(settings.hardening, HardeningTable):
        if (b_m_MPa, c_m) != (None, None):
            raise ValueError("--b-m and --c-m cannot be combined with --hardening table:FILE")
        return Inputs(vf, E_f_GPa, *UNUSED_B_AND_C)
    if b_m_MPa is None or c_m is None:
        missing = "--b-m" if b_m_MPa is None else "--c-m"
        raise ValueError(f"{missing} is missing: {settings.hardening} hardening needs it")
    return Inputs(vf, E_f_GPa, b_m_MPa, c_m)


def loadings(value: LoadingValues | Path | None, context: typer.Context) -> "list[fe_data.Loading]":
    """Return the paths of --loading; an empty list without this option."""
    if value is None:
        return []
    _require_absent("strain", "--loading", context)
    if isinstance(value, Path):
        return fe_data.loadings_from_file(value)
    return [fe_data.Loading(*value)]


def _require_absent(name: str, other: str, context: typer.Context) -> None:
    """Raise a ValueError if an option is given, even as its default."""
    if _is_given(name, context):
        raise ValueError(f"--{name} cannot be combined with {other}, which contains it")


def _is_given(name: str, context: typer.Context) -> bool:
    """Return whether an option is given, even as its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def strength(
    name: str | None,
    paths: "list[fe_data.Loading]",
    phases: "fe_data.Phases | None",
    fibres: "float | fe_data.Microstructure",
    interphase: float,
    context: typer.Context,
) -> "list[fe_data.Loading]":
    """Return the loading of --strength, or the loadings of --loading without this option."""
    breaks = phases is not None and phases.can_break(fibres, interphase)
    if _is_given("drop", context) and not breaks:
        raise ValueError("--drop needs an RVE that can break, by an interface or damage")
    if name is None:
        return paths
    from fe_data.composite.interface import strength_loading

    if paths:
        raise ValueError("--strength cannot be combined with --loading")
    if phases is None:
        raise ValueError("--strength needs --material, with an interface or damage")
    for option in ("strain", "increments"):
        _require_absent(option, "--strength", context)
    phases.require_breakable(fibres, interphase)
    return [strength_loading(name)]


def phases(text: str) -> "fe_data.Phases":
    """Load phases by the name of a shipped material, or from a file."""
    is_path = "/" in text or text in {".", ".."}
    if is_path or text.endswith((".yaml", ".yml")):
        return fe_data.load_phases(path(text))
    return fe_data.named_phases(text)


def input_of_material(vf: float, *others: float | None) -> VolumeFraction:
    """Make the input of an RVE with --material; a ValueError if another input is given too."""
    fixed = [quantity for quantity in INPUTS if quantity.name != "vf"]
    for quantity, value in zip(fixed, others, strict=True):
        if value is not None:
            flag = "--" + quantity.symbol.replace("_", "-")
            raise ValueError(f"{flag} cannot be combined with --material, which defines it")
    return VolumeFraction(vf)


def design(
    name: str | None,
    inputs: Path | None,
    out: Path,
    seed: int,
    count: int | None,
    replicates: int | None,
    microstructure: Path | None,
    height: float,
    phases: "fe_data.Phases | None",
) -> "fe_data.Design":
    """Make the design of `generate` from the options; a ValueError if they do not fit together."""
    from fe_data.dataset.storage import TABLE

    if microstructure is None:
        require_square(height)
    elif inputs is None:
        raise ValueError("--microstructure needs --inputs FILE: designs draw volume fractions")
    if microstructure is not None and replicates is not None:
        raise ValueError(
            "--replicates (random microstructures) cannot be combined with --microstructure"
        )
    if name is not None and inputs is None:
        return fe_data.named_design(name, seed, count=count, replicates=replicates)
    if name is not None or inputs is None:
        raise ValueError(f"give either a design ({DESIGNS}) or --inputs FILE")
    if count is not None:
        raise ValueError("--count sizes a named design: it cannot be combined with --inputs")
    require_other(out / TABLE, inputs, microstructure)
    if microstructure is not None:
        microstructures = fe_data.microstructures_from_file(microstructure, height)
        return fe_data.design_from_file(inputs, microstructures=microstructures, phases=phases)
    repeats = 1 if replicates is None else replicates
    return fe_data.design_from_file(inputs, seed, replicates=repeats, phases=phases)


def require_other(output: Path, *read: Path | None) -> None:
    """Raise a ValueError if the output file is one of the files that are read."""
    for path in read:
        if path is not None and path.resolve() == output.resolve():
            raise ValueError(f"{path} is an input that --out would replace: give another --out")


def require_writable(folder: Path) -> None:
    """Raise an OSError, before any simulation, if no file can be written into a folder."""
    if not stat.S_ISDIR(folder.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "this is not a folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no file can be written into this folder", str(folder))


def remove_earlier(folder: Path, beginnings: Mapping[str, bytes]) -> None:
    """Remove files of an earlier run, which could be taken for those of a run that failed.

    Args:
        folder: Folder of the files.
        beginnings: Names of the files, and expressions for their beginnings, see `require_own`.

    Raises:
        OSError: If no file can be written there, or a file was not written by the command.
    """
    require_writable(folder)
    for name, beginning in beginnings.items():
        require_own(folder / name, beginning)
    for name in beginnings:
        (folder / name).unlink(missing_ok=True)


def require_given_microstructure(settings: Settings, seed: int) -> None:
    """Raise a ValueError if options of random fibres are combined with --microstructure."""
    random = {name: getattr(settings, name) for name in RANDOM_FIBRES}
    if seed != 0 or any(value != getattr(Settings, name) for name, value in random.items()):
        flags = ", ".join("--" + name.replace("_", "-") for name in RANDOM_FIBRES)
        raise ValueError(f"--seed, {flags} cannot be combined with --microstructure")


def require_random(n_fibres: int, replicates: int) -> None:
    """Raise a ValueError for several microstructures of one fibre."""
    if n_fibres == 1 < replicates:
        raise ValueError(
            f"replicates = {replicates} is out of range: one fibre forms a square array, and seeds "
            "differ only by the mesh; give --replicates 1, or a larger --n-fibres"
        )


def require_square(height: float) -> None:
    """Raise a ValueError if --height is given without --microstructure."""
    if height != 1.0:
        raise ValueError("--height needs --microstructure: random fibres fill a square")


def microstructure(path: Path, height: float = 1.0) -> "fe_data.Microstructure":
    """Read the only microstructure of a file; a ValueError if the file has several."""
    microstructures = fe_data.microstructures_from_file(path, height)
    if len(microstructures) > 1:
        raise ValueError(f"{path} has {len(microstructures)} microstructures: must have one")
    return microstructures[0]


def shard(text: str) -> tuple[int, int]:
    """Parse i/n into the number i of a part and the number n of all parts."""
    try:
        number, total = map(int, text.split("/"))
    except ValueError:
        raise typer.BadParameter(f"{text!r:.60} is not of the form i/n, such as 1/4") from None
    if not 1 <= number <= total:
        raise typer.BadParameter(f"{text!r:.60} is out of range: allowed are 1/n to n/n")
    return number, total


def loading(text: str) -> LoadingValues | Path:
    """Parse XX,YY,XY into strains (None for `free` or `free:stress`) and stresses; or a file."""
    if text.endswith(".csv"):
        return path(text)
    entries = [entry.strip().partition(":") for entry in text.split(",")]
    if len(entries) not in (len(AXES), len(ALL_AXES)):
        example = "such as 0.02,free,free; a file with the vertices of paths ends in .csv"
        raise typer.BadParameter(f"{text!r:.60} is not of the form XX,YY,XY, {example}")
    strains = tuple(None if word == "free" else number(word) for word, _, _ in entries)
    return strains, tuple(number(stress) if stress else 0.0 for _, _, stress in entries)


Dataset = Annotated[Path, Argument(parser=path, metavar="DIR", help="dataset folder or table")]
Out = Annotated[Path, File(metavar="DIR", help="folder for all results, created if missing")]
Loading = Annotated[
    Any,
    Option(
        parser=loading,
        metavar="XX,YY,XY | FILE.csv",
        help="final mean strain tensor [-], with --material also XX,YY,ZZ,XY,XZ,YZ; xy is half the "
        "engineering shear strain. 'free' "
        "leaves a strain free at zero mean stress, 'free:100' at 100 MPa. Or a file with the "
        "vertices of paths. With this option `generate` computes no effective properties; for "
        "compression use --strain -0.05 instead",
    ),
]
Microstructure = Annotated[
    Path | None,
    File(
        help="instead of --vf: CSV file of x, y, radius, relative to the side of the RVE. With a "
        "material optionally phase (fibres, void, or another phase) and E_GPa of each fibre"
    ),
]
Microstructures = Annotated[
    Path | None,
    File(
        help="CSV file with the columns x, y, radius (relative to the side of the periodic square) "
        "and microstructure (0, 1, ...). Every row of --inputs is simulated with each "
        "microstructure, or with the one in its column microstructure. vf follows from the fibres"
    ),
]
WithAnisotropy = Annotated[
    bool,
    Option(
        "--anisotropy",
        help="also compute E_spread (largest over smallest Young's modulus in the plane, minus 1) "
        "and isotropy_misfit (distance of the stiffness from the nearest isotropic stiffness)",
    ),
]
