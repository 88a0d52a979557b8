"""The commands. Each imports what it needs when it runs, so that --help works without dolfinx."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

import fe_data
from fe_data.cli import options
from fe_data.cli.hints import loadings_with_hints, say_mesh_dependences, say_units
from fe_data.cli.messages import INCOMPLETE, OK, counted, say, several, show
from fe_data.cli.options import CommandWithSettings, File, Integer, Number
from fe_data.cli.sampling import CommandWithSampling, report
from fe_data.cli.signals import terminated_like_interrupted
from fe_data.schema import INPUT_NAMES
from fe_data.settings import Inputs, Settings, VolumeFraction, require_between

MAX_LINES = 50  # problems printed by verify
WITHOUT_PROPERTIES = (
    "with --loading the table has path numbers instead of effective properties; "
    "to compute them, give --strain in place of --loading"
)
app = typer.Typer(
    help="Representative volume elements (RVEs) of a fibre composite: from inputs to effective "
    "properties.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def print_version(wanted: bool) -> None:
    """Print the version of the package and exit, if `--version` is given."""
    if wanted:
        print(f"fe_data {fe_data.__version__}")
        raise typer.Exit(OK)


@app.callback()
def of_the_program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="print the version"),
    ] = False,
) -> None:
    """Take the options of `python -m fe_data` itself."""


@app.command(cls=CommandWithSettings)
def generate(
    context: typer.Context,
    out: options.Out,
    name: Annotated[str | None, Argument(metavar="NAME", help=options.DESIGNS)] = None,
    inputs: Annotated[Path | None, File(help="CSV file with inputs, instead of NAME")] = None,
    count: Annotated[int | None, Integer(help="number of inputs of the design NAME")] = None,
    replicates: Annotated[int | None, Integer(help="microstructures per input")] = None,
    microstructure: options.Microstructures = None,
    material: options.Material = None,
    interphase: options.Interphase = 0.0,
    height: options.Height = 1.0,
    seed: Annotated[int, Integer(help="seed of the design and of all microstructures")] = 0,
    loading: options.Loading = None,
    anisotropy: options.WithAnisotropy = False,
    constants: Annotated[
        bool,
        Option("--constants", help="with --material also compute all effective elastic constants"),
    ] = False,
    strength: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="with a --material that can break also compute this strength, a name as for "
            "`rve`; give several options for several strengths",
        ),
    ] = None,
    jobs: options.Jobs = None,
    shard: Annotated[
        Any,
        Option(parser=options.shard, metavar="i/n", help="only the i-th of n parts, i = 1 ... n"),
    ] = "1/1",
    dask: Annotated[
        str | None, Option(metavar="ADDRESS", help="use the workers of this Dask scheduler")
    ] = None,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="simulate failed samples again")
    ] = False,
) -> int:
    """Simulate a design into a dataset folder. Run the same command again to resume."""
    from joblib import cpu_count

    from fe_data.dataset.requirements import all_inclusions

    settings: Settings = context.meta["shared"]
    phases = None if material is None else options.phases(material)
    fibres = microstructure, height
    design = options.design(name, inputs, out, seed, count, replicates, *fibres, phases)
    if microstructure is not None:
        options.require_given_microstructure(settings, seed)
    if dask is not None and jobs is not None:
        raise ValueError("--jobs counts local processes: it cannot be combined with --dask")
    say_units(settings, float(design.inputs[:, INPUT_NAMES.index("E_f_GPa")].max()), phases)
    inclusions = all_inclusions(design, interphase)
    if phases is not None and strength:
        say_mesh_dependences(phases, inclusions)
    paths = loadings_with_hints(loading, context, settings, phases, inclusions) or None
    if paths and not anisotropy:  # generate() rejects both together
        say(WITHOUT_PROPERTIES, OK)
    if microstructure is None and not paths:  # samples of a group follow different paths
        options.require_random(settings.n_fibres, max(Counter(design.groups.tolist()).values()))
    choices = {"loading": paths, "shard": shard, "dask": dask, "retry_failed": retry_failed}
    choices |= {"anisotropy": anisotropy, "phases": phases, "interphase": interphase}
    choices |= {"constants": constants, "strengths": strength or []}
    choices |= {"jobs": cpu_count() if jobs is None else jobs, "simulator": context.obj}
    from fe_data.cli.generation import report

    with terminated_like_interrupted():
        summary = fe_data.generate(design, settings, out, **choices)
    return report(summary, out)


@app.command(cls=CommandWithSettings)
def rve(
    context: typer.Context,
    out: options.Out,
    vf: Annotated[float | None, options.of_input("vf")] = None,
    E_f_GPa: Annotated[float | None, options.of_input("E_f_GPa")] = None,
    b_m_MPa: Annotated[float | None, options.of_input("b_m_MPa")] = None,
    c_m: Annotated[float | None, options.of_input("c_m")] = None,
    material: options.Material = None,
    interphase: options.Interphase = 0.0,
    height: options.Height = 1.0,
    seed: Annotated[int, Integer(help="seed of the microstructure")] = 0,
    microstructure: options.Microstructure = None,
    xdmf: Annotated[
        bool,
        Option(
            "--xdmf",
            help="also write fields.xdmf over all increments, which ParaView opens, and fields.bin "
            "(0.55 MB per increment); if fibres can debond also interfaces.xdmf and interfaces.bin",
        ),
    ] = False,
    mesh: Annotated[
        Path | None,
        File(
            metavar="FILE.msh | .inp | .vtk",
            help="also write the mesh there, for gmsh, Abaqus, or programs that read VTK",
        ),
    ] = None,
    loading: options.Loading = None,
    strength: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="instead of --loading: load until the RVE breaks, by transverse_tension "
            "(to a strain of 0.03), transverse_compression (0.06), longitudinal_shear (0.05) or "
            "transverse_shear (0.03). Other mean stresses are zero. The material needs an "
            "interface or damage",
        ),
    ] = None,
    drop: options.Drop = 0.2,
    solver: Annotated[
        Literal["compiled", "dolfinx"], Option(help="compiled kernels, or UFL (12 times slower)")
    ] = "compiled",
) -> int:
    """Simulate one RVE; write result, figure and fields. Files of an earlier run are removed."""
    from fe_data.composite.phases import inclusions_of

    settings: Settings = context.meta["shared"]
    vf, fibres = _fibres_of_rve(vf, microstructure, height, seed, settings)
    values = vf, E_f_GPa, b_m_MPa, c_m
    inputs, phases = _inputs_of_rve(values, material, interphase, solver, settings)
    arrangement = vf if isinstance(fibres, int) else fibres
    inclusions = inclusions_of(arrangement, interphase)
    paths = loadings_with_hints(loading, context, settings, phases, inclusions)
    paths = options.strength(strength, paths, phases, arrangement, interphase, context)
    if len(paths) > 1:
        raise ValueError(f"{loading} has {len(paths)} paths: must have one")
    from fe_data.cli.rve_folder import FIELDS, INTERFACES, Simulation, run_rve

    chosen = paths[0] if paths else None
    named = None if phases is None else (Path(str(material)).stem, phases)
    simulation = Simulation(inputs, fibres, settings, chosen, solver, named, interphase, drop)
    with terminated_like_interrupted():
        line, lacking, broken = run_rve(simulation, out, xdmf=xdmf, mesh=mesh)
    show(f"{out}: {line}")
    # The run has removed the files of an earlier one.
    for written in (out / FIELDS[0], out / INTERFACES[0]):
        if written.exists():
            show(f"wrote {written}")
    if mesh is not None:
        show(f"wrote {mesh}")
    if strength is not None and not (broken and broken.is_reached):
        why = "the mean stress did not fall by 1 % from its peak: load further with --loading"
        return say(f"{strength} was not reached: {why}", INCOMPLETE)
    return say(f"no b_eff_MPa and c_eff: {lacking}", INCOMPLETE) if lacking else OK


def _fibres_of_rve(
    vf: float | None, microstructure: Path | None, height: float, seed: int, settings: Settings
) -> tuple[float, "int | fe_data.Microstructure"]:
    """Return the volume fraction, and the seed of random fibres or the fibres of a file."""
    if microstructure is not None and vf is None:
        options.require_given_microstructure(settings, seed)
        fibres = options.microstructure(microstructure, height)
        return fibres.volume_fraction, fibres
    if vf is None or microstructure is not None:
        raise ValueError("give either --vf or --microstructure FILE")
    options.require_square(height)
    return vf, seed


def _inputs_of_rve(
    values: tuple[float, Any, Any, Any],
    material: str | None,
    interphase: float,
    solver: str,
    settings: Settings,
) -> tuple[Inputs | VolumeFraction, "fe_data.Phases | None"]:
    """Return inputs and phases of `rve`; a ValueError for options that cannot be combined."""
    if material is None:
        if interphase:
            raise ValueError("--interphase needs --material, with a phase interphase")
        inputs = options.inputs(*values, settings)
        say_units(settings, inputs.E_f_GPa, None)
        return inputs, None
    if solver != "compiled":
        raise ValueError("--solver cannot be combined with --material, which has its own solver")
    phases = options.phases(material)
    volume_fraction = options.input_of_material(*values)
    say_units(settings, 0.0, phases)
    return volume_fraction, phases


@app.command()
def constants(
    material: options.NeededMaterial,
    vf: Annotated[float | None, options.of_input("vf")] = None,
    microstructure: options.Microstructure = None,
    interphase: options.Interphase = 0.0,
    height: options.Height = 1.0,
    void_fraction: Annotated[float, Number(help="area fraction of random round voids [-]")] = 0.0,
    void_radius: Annotated[
        float | None,
        Number(help="radius of these voids, in mean fibre radii", show_default="1"),
    ] = None,
    seed: Annotated[int, Integer(help="seed of the microstructure")] = 0,
    n_fibres: options.NFibres = Settings.n_fibres,
    min_spacing: options.MinSpacing = Settings.min_spacing,
    resolution: options.Resolution = Settings.resolution,
    out: Annotated[
        Path | None, File(metavar="FILE.json", help="also write stiffness and constants there")
    ] = None,
) -> int:
    """Print all effective elastic constants of one RVE with their bounds."""
    from fe_data.cli.constants import (
        BEGINNING,
        arrangement,
        say_if_few_fibres,
        with_voids_and_interphase,
        write_constants,
    )

    settings = Settings(n_fibres=n_fibres, min_spacing=min_spacing, resolution=resolution)
    phases = options.phases(material)
    say_units(settings, 0.0, phases)
    volume_fraction, seed_or_fibres = _fibres_of_rve(vf, microstructure, height, seed, settings)
    voids = void_fraction, void_radius
    fibres = with_voids_and_interphase(volume_fraction, seed_or_fibres, settings, voids, interphase)
    phases.require_materials_of(fibres)
    if out is not None:
        options.remove_earlier(out.parent, {out.name: BEGINNING})
    solved = fe_data.effective_constants(phases, fibres, resolution=resolution)
    show(arrangement(fibres))
    show(solved.table(phases.measured))
    if vf:
        say_if_few_fibres(fibres)
    if out is not None:
        write_constants(solved, phases, fibres, resolution, out)
        show(f"wrote {out}")
    return OK


@app.command(cls=CommandWithSampling)
def strengths(
    context: typer.Context,
    replicates: Annotated[int, Integer(help="number of random microstructures")] = 20,
    strength: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="one strength, a name as for `rve`; give several options for several strengths",
        ),
    ] = None,
    out: Annotated[
        Path | None, File(metavar="FILE.csv", help="also write each strength there")
    ] = None,
) -> int:
    """Print mean, standard deviation and 5 % quantile of the strengths over microstructures."""
    from fe_data.cli.strengths import write_strengths

    with terminated_like_interrupted():
        samples, table = write_strengths(context.meta["shared"], strength, replicates, out)
    return report(table, samples, out)


@app.command(cls=CommandWithSampling)
def envelope(
    context: typer.Context,
    out: options.Out,
    points: Annotated[
        int, Integer(help="directions of stress, from transverse tension to compression")
    ] = 9,
    replicates: Annotated[int, Integer(help="random microstructures per direction")] = 3,
) -> int:
    """Write the failure envelope of transverse stress and longitudinal shear: table and figure."""
    from fe_data.cli.envelope import write_envelope

    with terminated_like_interrupted():
        samples, table = write_envelope(context.meta["shared"], points, replicates, out)
    return report(table, samples, out)


@app.command()
def compare(
    path: options.Dataset,
    reference: Annotated[
        Path, Argument(parser=options.path, metavar="REFERENCE.csv", help="table to compare with")
    ],
    tolerance: Annotated[
        float | None,
        Number(help="fail unless all rows agree within X (relative, for fractions absolute)"),
    ] = None,
) -> int:
    """Compare a dataset with a reference table. Rows are paired by equal or nearest inputs."""
    from fe_data.statistics.compare import check, format_comparison

    if tolerance is not None:
        require_between("tolerance", tolerance, 0.0, 1.0)
    tables = fe_data.load_table(path), fe_data.load_table(reference)
    if tolerance is None:
        show(format_comparison(fe_data.compare(*tables)))
        return OK
    largest, differing = check(*tables, tolerance)
    if not differing:
        how = f"the largest difference is {largest:.1e}" if largest else "bitwise equal"
        show(f"{path}: all rows agree with {reference}, {how}")
        return OK
    rows = ", ".join(map(str, differing[:10])) + (", ..." if len(differing) > 10 else "")
    what = several(len(differing), "row differs", "rows differ")
    show(
        f"{path}: {what} from {reference} by more than {tolerance:g} "
        f"(largest {largest:.1e}): index {rows}"
    )
    return INCOMPLETE


@app.command()
def statistics(
    path: options.Dataset,
    out: Annotated[Path, File(metavar="FILE", help="CSV file with one row for each input")],
) -> int:
    """Write mean and scatter over the RVEs of each input. Each input needs at least two RVEs."""
    import numpy as np

    from fe_data.dataset.table import LACKED, different_inputs, table_file
    from fe_data.statistics.replicates import save_statistics

    path = table_file(path)
    options.require_other(out, path)
    rves = fe_data.load_table(path)
    reduced = fe_data.replicate_statistics(rves)
    complete = np.hstack([reduced.X, reduced.field_values]).tolist()
    lost = different_inputs(path) - {*map(tuple, complete)}
    unfitted = lost & different_inputs(path, "unfitted")
    if failed_inputs := lost - unfitted:
        raise ValueError(f"{path}: all RVEs with the inputs {min(failed_inputs)} failed")
    save_statistics(reduced, out)
    inputs = several(len(reduced.X), "input", "inputs")
    show(f"wrote {out}: {inputs}, {len(rves)} RVEs")
    if unfitted:
        what = f"{several(len(unfitted), 'input is', 'inputs are')} left out of {out}"
        say(f"{what}: all of their RVEs lack {LACKED}", INCOMPLETE)
    if failed := len(rves.failed):
        what = f"{several(failed, 'RVE', 'RVEs')} of {path} failed"
        return say(f"{what}: left out, see the column count", INCOMPLETE)
    return INCOMPLETE if len(rves.unfitted) else OK


@app.command()
def curves(
    path: Annotated[
        Path,
        Argument(
            parser=options.path,
            metavar="DIR",
            help="dataset folder, folder of `rve`, or shipped table",
        ),
    ],
    out: Annotated[
        Path,
        File(
            metavar="FILE",
            help="a .csv file. Columns are mean strain, stress and plastic strain as tensor "
            "components, the yielded share of the RVE, and measures of damage if it can break",
        ),
    ],
) -> int:
    """Write the averaged curves of all RVEs to one file. A row is an increment of an RVE."""
    from fe_data.dataset.curves import is_one_rve
    from fe_data.dataset.table import TABLE, table_file
    from fe_data.files.csv_rows import read_rows

    options.require_other(out, path, path / TABLE)
    loaded = fe_data.load_curves(path)
    fe_data.save_curves(loaded, out)
    number = several(len(loaded.histories), "curve", "curves")
    increments = sum(len(history["strain"]) - 1 for history in loaded.histories)
    show(f"wrote {out}: {number}, {increments} increments in all")
    if is_one_rve(path):
        return OK
    rows = read_rows(table_file(path), (), ("status",))
    if failed := sum(row.get("status") == "failed" for _, row in rows):
        what = f"{several(failed, 'RVE', 'RVEs')} of {path} failed"
        return say(f"{what}: no curve", INCOMPLETE)
    return OK


@app.command()
def verify(
    folder: Annotated[Path, Argument(parser=options.path, metavar="DIR", help="dataset folder")],
) -> int:
    """Compare the records of a dataset folder with their checksums and with its tables."""
    problems, counts = fe_data.verify(folder)
    show(*problems[:MAX_LINES])
    if len(problems) > MAX_LINES:
        show(f"... and {len(problems) - MAX_LINES} more")
    if problems:
        return say(f"{folder}: {several(len(problems), 'problem', 'problems')}", INCOMPLETE)
    show(f"{folder}: {sum(counts.values())} records and the table are right ({counted(counts)})")
    return OK


@app.command()
def import_published(
    source: Annotated[
        Path, Argument(parser=options.path, metavar="PATH", help="a .pkl file, or a folder of them")
    ],
    out: Annotated[
        Path, Argument(parser=options.path, metavar="OUT", help="folder for the CSV tables")
    ],
) -> int:
    """Convert published .pkl tables to CSV for the notebooks. Code in a .pkl file is not run."""
    from fe_data.published.import_published import import_tables

    done, refused = import_tables(source, out)
    show(*done)
    return max([say(reason, INCOMPLETE) for reason in refused], default=OK)
