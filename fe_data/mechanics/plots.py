"""Figures of one RVE: microstructure, mesh, fields and averaged curves."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from fe_data.arrays import Booleans, Floats
from fe_data.geometry.domain import quadrature
from fe_data.geometry.microstructure import IMAGES
from fe_data.geometry.outline import MATRIX
from fe_data.loading import ALL_AXES, AXES, IN_PLANE, Loading
from fe_data.mechanics.properties import equivalent_strain, von_mises
from fe_data.mechanics.results import Cracks, SolvedRVE

# More vertices would be illegible.
_VERTICES_IN_TITLE = 4
_VERTICES_NUMBERED = 12
_LEGEND = 0.15  # height of a legend of one line, relative to the height of the curves
_LEAST_RANGE = 1e-6  # of the colour scale, for constant fields such as zero plastic strain
_LINE = 80  # characters per line of a warning
_WIDEST = 0.03  # opening of a crack in a figure, relative to the width of the RVE
_FARTHEST = 4.0  # largest displacement in this figure, in openings
_DAMAGE = "inferno_r"  # colours of damage
_FIBRE = "#4c6a92"
_STYLES = {"-": ", full lines", "--": ", broken lines"}  # of two panels in one
_COLOURS = ("C0", "C1", "C2", "C3", "C4", "C5")  # of components
_DEGREES = {3: 2, 6: 4}  # of integration rules by their number of points: fast, general


def plot_rve(rve: SolvedRVE, title: str = "") -> Figure:
    """Draw microstructure, mesh, fields, curves and properties of an RVE in one figure."""
    figure = Figure(figsize=(18.5, 8.6), layout="constrained")
    # Each row has a separate layout, so that labels of the curves do not shrink the row above.
    rows = figure.add_gridspec(2, 1)
    above = figure.add_subfigure(rows[0])
    below = figure.add_subfigure(rows[1])
    axes = above.subplot_mosaic("abcd", width_ratios=[1.0, 1.0, 1.12, 1.12])
    axes |= below.subplot_mosaic("efgg")
    draw_microstructure(axes["a"], rve)
    cracks = rve.cracks
    if cracks is None:
        draw_mesh(axes["b"], rve)
    else:
        draw_cracks(axes["b"], rve, cracks)
    draw_mises(axes["c"], rve)
    draw_plastic_strain(axes["d"], rve)
    draw_stress_strain(axes["e"], rve)
    if not _loaded(rve.loading).any():
        _draw_yielding(axes["f"], rve)
    elif len(rve.loading.strain) == 1:
        draw_curve(axes["f"], rve)
    else:
        draw_path(axes["f"], rve)
    _write_properties(axes["g"], rve, cracks)
    figure.suptitle("\n".join(filter(None, [title, _name(rve.loading)])))
    return figure


def _name(loading: Loading) -> str:
    """Describe a loading in words, with the prescribed values of each component."""
    words = []
    values = []
    strains, stresses = loading.vertices
    for axes, strain, stress in zip(_axes(loading), strains.T, stresses.T, strict=True):
        values.append(_prescribed(axes, strain, stress))
        last = stress[-1] if np.isnan(strain[-1]) else strain[-1]
        if last != 0.0:
            kind = "tension" if last > 0 else "compression"
            shear = "shear" if axes == "xy" else f"shear {axes}"
            words.append(f"{kind} in {axes[0]}" if axes[0] == axes[1] else shear)
    n = len(loading.strain)
    if loading.temperature is not None:
        words.append("change of temperature")
        changes = np.atleast_1d(loading.temperature).tolist()
        values.append(" → ".join(f"{change:g} K" for change in changes))
    if loading.angle is not None:
        values.append(f"axes turned by {loading.angle:g}°")
    if loading.shear_angle is not None:
        values.append(f"from xx towards xz by {loading.shear_angle:g}°")
    name = " and ".join(words) if n == 1 else f"path of {n} segments"
    return f"Loading: {name}, mean {', '.join(values)}"


def _axes(loading: Loading) -> tuple[str, ...]:
    """Return the components of a loading."""
    return AXES if len(loading.vertices[0][0]) == len(AXES) else ALL_AXES


def _columns(loading: Loading) -> list[int]:
    """Return the columns of the components of a loading in a history."""
    return IN_PLANE if _axes(loading) == AXES else list(range(len(ALL_AXES)))


def _prescribed(axes: str, strains: Floats, stresses: Floats) -> str:
    """Describe the prescribed strains or stresses of a component at the n vertices of a path."""
    steps = []
    for strain, stress in zip(strains, stresses, strict=True):
        if np.isnan(strain):
            steps.append(rf"$\sigma_{{{axes}}}$ = {stress:g} MPa")
        else:
            steps.append(rf"$\varepsilon_{{{axes}}}$ = {strain:g}")
    if len(set(steps)) == 1:
        steps = steps[:1]
    elif len(steps) > _VERTICES_IN_TITLE:
        steps[1:-1] = ["…"]
    return " → ".join(steps)


def draw_microstructure(ax: Axes, rve: SolvedRVE) -> None:
    """Draw fibres and matrix."""
    _draw_triangles(ax, rve, _FIBRE, edgecolors="face", lw=0.3)
    m = rve.microstructure
    voids = int(m.is_void.sum())
    fibres = len(m.centres) - voids
    title = f"{fibres} fibre{'' if fibres == 1 else 's'}, {m.volume_fraction:.1%} of the area"
    if voids:
        title += f", {voids} void{'' if voids == 1 else 's'}, {m.porosity:.1%}"
    _frame(ax, rve, f"Microstructure\n{title}")


def draw_mesh(ax: Axes, rve: SolvedRVE) -> None:
    """Draw the curved quadratic triangles."""
    _draw_triangles(ax, rve, "#b9c8dc", edgecolors="#2b3a4d", lw=0.25)
    d = rve.discretisation
    _frame(ax, rve, f"Mesh\n{len(d.triangles)} triangles, {rve.n_dofs} degrees of freedom")


def draw_cracks(ax: Axes, rve: SolvedRVE, cracks: Cracks) -> None:
    """Draw phases with magnified displacements; damaged elements and interfaces by damage."""
    shift = cracks.displacement - cracks.displacement.mean(axis=0)
    factor = _WIDEST / max(cracks.largest, float(np.abs(shift).max()) / _FARTHEST, 1e-12)
    moved = cracks.points + factor * shift
    d = rve.discretisation
    corners = moved[d.triangles][:, [0, 5, 1, 3, 2, 4]]
    colours = _colours_of_phases(rve, _FIBRE)
    is_damaged = cracks.of_elements > 0
    whole = list(corners[~is_damaged])
    ax.add_collection(
        PolyCollection(whole, facecolors=colours[~is_damaged], edgecolors="face", lw=0.3)
    )
    scale: Any = {"cmap": _DAMAGE, "clim": (0.0, 1.0)}
    damaged = list(corners[is_damaged])
    drawn: Any = PolyCollection(damaged, array=cracks.of_elements[is_damaged], lw=0.0, **scale)
    ax.add_collection(drawn)
    for face in (cracks.sides[:, :3], cracks.sides[:, 3:]):
        lines = moved[face[:, [0, 2, 1]]]
        damage = cracks.damage.mean(axis=1)
        ax.add_collection(LineCollection(list(lines), lw=1.6, array=damage, **scale))
    ax.figure.colorbar(drawn, ax=ax, label="damage [-]", fraction=0.05, pad=0.02)
    low, high = moved.min(axis=0), moved.max(axis=0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"Damage at the end, displacements × {factor:.3g}")


def draw_mises(ax: Axes, rve: SolvedRVE) -> None:
    """Draw the von Mises stress at the end of loading."""
    matrix = von_mises(rve.fields.matrix_stress)
    fibres = [von_mises(stress) for stress in rve.fields.fibre_stress]
    _field(ax, rve, matrix, fibres, "von Mises stress [MPa]", "viridis")
    _frame(ax, rve, "Von Mises stress at the end of loading")


def draw_plastic_strain(ax: Axes, rve: SolvedRVE) -> None:
    """Draw the equivalent plastic strain at the end of loading."""
    matrix, fibres = rve.fields.plastic_strain, rve.fields.fibre_plastic_strain
    _field(ax, rve, matrix, fibres, "equivalent plastic strain [-]", "magma")
    _frame(ax, rve, "Equivalent plastic strain")


def draw_stress_strain(ax: Axes, rve: SolvedRVE) -> None:
    """Draw mean stress over mean strain for the loaded components.

    If only the temperature changes, draw mean strain over temperature, and the mean stress of
    components that are held.
    """
    loaded = _loaded(rve.loading)
    if not loaded.any():
        _draw_expansion(ax, rve)
        return
    vertices = _vertex_rows(rve)
    # On a path with several vertices, markers at all increments would hide its loops.
    is_path = len(rve.loading.strain) > 1
    marked = vertices if is_path else None
    numbered = vertices[:_VERTICES_NUMBERED] if is_path else []
    order = _axes(rve.loading)
    for axes, column, is_loaded in zip(order, _columns(rve.loading), loaded, strict=True):
        if not is_loaded:
            continue
        strain = rve.history["strain"][:, column]
        stress = rve.history["stress"][:, column]
        ax.plot(strain, stress, "o-", ms=3.5, lw=1.0, label=axes, markevery=marked)
        for number, row in enumerate(numbered, start=1):
            ax.annotate(f"{number}", (strain[row], stress[row]), (3, 3), textcoords="offset points")
    components = zip(order, loaded, strict=True)
    shears = [axes for axes, is_loaded in components if is_loaded and axes[0] != axes[1]]
    half = f", {' and '.join(shears)} half the engineering shear" if shears else ""
    ax.set(xlabel=f"mean strain [-]{half}", ylabel="mean stress [MPa]")
    ax.axhline(0.0, color="grey", lw=0.8, ls=":")
    ax.set_title("Mean stress over mean strain")
    ax.locator_params(axis="x", nbins=5)
    ax.legend(frameon=False)


def _loaded(loading: Loading) -> Booleans:
    """Return the mask of the components of a loading that are not zero at some vertex."""
    return np.asarray(np.nan_to_num(np.concatenate(loading.vertices)).any(axis=0))


def _draw_expansion(ax: Axes, rve: SolvedRVE) -> None:
    """Draw mean strains over the change of temperature, and mean stresses of held components."""
    at_vertices = np.isnan(rve.loading.vertices[0]).T.tolist()
    free = dict(zip(_axes(rve.loading), at_vertices, strict=True))
    is_free = [free.get(axes, [False]) for axes in ALL_AXES[:3]]  # plane strain holds zz
    columns = {
        "stress": [column for column, values in enumerate(is_free) if not all(values)],
        "strain": [column for column, values in enumerate(is_free) if any(values)],
    }
    drawn = [name for name in columns if columns[name]]
    panels = [ax, *(ax.twinx() for _ in drawn[1:])]
    for panel, name, style in zip(panels, drawn, _STYLES, strict=False):
        for column in columns[name]:
            values = rve.history[name][:, column]
            choices: Any = {"color": _COLOURS[column], "lw": 1.0, "label": ALL_AXES[column]}
            panel.plot(rve.history["temperature"], values, style, **choices)
        unit = "MPa" if name == "stress" else "-"
        panel.set_ylabel(f"mean {name} [{unit}]{_STYLES[style] if drawn[1:] else ''}")
    ax.set(xlabel="change of temperature [K]")
    ax.set_title(f"Mean {' and '.join(drawn)} over change of temperature")
    lines = [line for panel in panels for line in panel.get_lines()]
    if drawn[1:]:
        _leave_room(*panels)
    ax.legend(handles=lines, frameon=False, ncols=3 if drawn[1:] else 1)


def _leave_room(*panels: Axes) -> None:
    """Leave room for a legend of one line above the curves."""
    for panel in panels:
        low, high = panel.get_ylim()
        panel.set_ylim(low, high + _LEGEND * (high - low))


def _draw_yielding(ax: Axes, rve: SolvedRVE) -> None:
    """Draw the yielded area fraction over the change of temperature, without a mean stress."""
    ax.plot(rve.history["temperature"], rve.history["yielded_fraction"], "o-", ms=3.5, lw=1.0)
    ax.set(xlabel="change of temperature [K]", ylabel="yielded area fraction [-]", ylim=(0, 1))
    ax.set_title("Yielded fraction over change of temperature")


def draw_curve(ax: Axes, rve: SolvedRVE) -> None:
    """Draw von Mises stress of the averages over plastic strain, with the fitted power law."""
    e = rve.effective
    p = equivalent_strain(rve.history["plastic_strain"])
    stress = von_mises(rve.history["stress"])
    ax.plot(p, stress, "o", ms=3.5, color="#1f3a5f", label="simulated averages")
    if e is not None and e.is_fitted:
        a = rve.yield_stress
        smooth = np.linspace(0, p.max(), 300)
        label = rf"$a + b\,p^c$ with $b$ = {e.b_eff_MPa:.0f} MPa, $c$ = {e.c_eff:.3f}"
        ax.plot(smooth, a + e.b_eff_MPa * smooth**e.c_eff, color="#d1663a", lw=1.6, label=label)
        ax.axhline(a, color="grey", lw=0.8, ls=":")
    ax.set(xlabel="equivalent of the mean plastic strain [-]", xlim=(0, None))
    ax.set(ylabel="von Mises of the mean stress [MPa]", ylim=(0, None))
    ax.locator_params(axis="x", nbins=5)
    ax.set_title("Averaged curve and power law" if e and e.is_fitted else "Averaged curve")
    ax.legend(loc="lower right", frameon=False)


def draw_path(ax: Axes, rve: SolvedRVE) -> None:
    """Draw mean strains and stresses over the increments of a path, with its vertices."""
    strains = ax.twinx()
    order, columns = _axes(rve.loading), _columns(rve.loading)
    for axes, column, colour in zip(order, columns, _COLOURS[: len(order)], strict=True):
        ax.plot(rve.history["stress"][:, column], color=colour, lw=1.4, label=axes)
        strains.plot(rve.history["strain"][:, column], color=colour, lw=1.0, ls="--")
    for row in _vertex_rows(rve):
        ax.axvline(row, color="grey", lw=0.6, ls=":")
    ax.set(xlabel="increment", ylabel="mean stress [MPa], full lines", title="Along the path")
    strains.set_ylabel("mean strain [-], broken lines")
    _leave_room(ax, strains)
    ax.legend(frameon=False, ncols=3, loc="upper left")


def _vertex_rows(rve: SolvedRVE) -> list[int]:
    """Return the row of the history at each vertex that was reached."""
    # The vertices are equally spaced if the path gives no increments.
    increments = (len(rve.history["strain"]) - 1) // len(rve.loading.strain)
    ends: list[int] = np.cumsum(
        [segment.increments for segment in rve.loading.segments(increments)]
    ).tolist()
    return [row for row in ends if row < len(rve.history["strain"])]


def _write_properties(ax: Axes, rve: SolvedRVE, cracks: Cracks | None) -> None:
    """Write a table of effective properties, or averages at the end, and of the effort."""
    ax.axis("off")
    e = rve.effective
    counts = rve.counts
    if e is None:
        title = "At the end of loading, components of tensors"
        rows = _averages_at_the_end(rve)
    else:
        title = "Effective properties"
        if e.warning:
            title += "\n" + textwrap.fill(f"({e.warning})", _LINE)
        rows = [
            ("$E_\\mathrm{eff}$", f"{e.E_eff_GPa:.2f} GPa"),
            ("$\\nu_\\mathrm{eff}$", f"{e.nu_eff:.4f}"),
            ("$p_\\sigma$", f"{rve.p_sigma:.4f}"),
        ]
        if e.is_fitted:
            b = ("$b_\\mathrm{eff}$", f"{e.b_eff_MPa:.1f} MPa")
            c = ("$c_\\mathrm{eff}$", f"{e.c_eff:.4f}")
            rows = [b, c, *rows, ("fit residual", f"{e.hardening_residual:.2%}")]
    if cracks is not None and cracks.strength is not None:
        stress, strain = cracks.strength
        rows.insert(0, ("strength", f"{stress:.2f} MPa at a mean strain of {strain:.5f}"))
    rows += [
        ("Newton iterations", f"{counts['newton_iterations']}"),
        ("factorisations", f"{counts['factorisations']}"),
        ("seconds", f"{sum(rve.seconds.values()) - rve.seconds['compilation']:.2f}"),
    ]
    if rve.seconds["compilation"]:
        rows.append(("seconds of compilation", f"{rve.seconds['compilation']:.2f}"))
    widths = [0.36, 0.64]
    table = ax.table(rows, loc="center", cellLoc="left", edges="horizontal", colWidths=widths)
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    table.scale(1.0, 1.7)
    ax.set_title(title)


def _averages_at_the_end(rve: SolvedRVE) -> list[tuple[str, str]]:
    """Return the rows of a table: mean strain and stress at the end of loading, by component."""
    rows = []
    strains = rve.history["strain"][-1]
    stresses = rve.history["stress"][-1]
    for name, strain, stress in zip(ALL_AXES, strains, stresses, strict=False):
        rows.append((f"mean {name}", rf"$\varepsilon$ {strain:+z.4f}, $\sigma$ {stress:+z.1f} MPa"))
    return rows


def _colours_of_phases(rve: SolvedRVE, fibres: str) -> Any:
    """Return the colour of each triangle; `fibres` is the colour of the fibres."""
    material = rve.discretisation.material
    colours = np.where(material == MATRIX, "#e9edf2", fibres)
    return np.where(material >= len(rve.microstructure.radii), "#c9a66b", colours)  # interphase


def _draw_triangles(ax: Axes, rve: SolvedRVE, fibres: str, **edges: Any) -> None:
    """Draw triangles with curved sides as polygons; `fibres` is the colour of the fibres."""
    colours = _colours_of_phases(rve, fibres)
    nodes = rve.discretisation.points[rve.discretisation.triangles]
    t = np.linspace(0, 1, 5)[:-1, None]
    a = nodes[:, [0, 1, 2], None]
    middle = nodes[:, [5, 3, 4], None]
    b = nodes[:, [1, 2, 0], None]
    # x(t) = (1 - t)(1 - 2t) a + 4t(1 - t) m + t(2t - 1) b
    sides = (1 - t) * (1 - 2 * t) * a + 4 * t * (1 - t) * middle + t * (2 * t - 1) * b
    outlines = list(sides.reshape(len(nodes), -1, 2))
    ax.add_collection(PolyCollection(outlines, facecolors=colours, **edges))


def _field(
    ax: Axes, rve: SolvedRVE, matrix: Floats, fibres: Sequence[Floats], label: str, colours: str
) -> None:
    """Draw values (m, q) at the points, averaged at nodes; `fibres` may be empty for zero."""
    d = rve.discretisation
    values = np.zeros((len(d.material), matrix.shape[1]))
    values[d.material == MATRIX] = matrix
    for fibre, value in enumerate(fibres):
        values[d.material == fibre] = value
    x, y, z = _straight_triangles(rve, _averaged_at_nodes(rve, values))
    triangles = np.arange(len(x)).reshape(-1, 3)
    low, high = np.quantile(values, [0.0, 0.998])
    high = max(high, low + _LEAST_RANGE)
    drawn = ax.tripcolor(
        x, y, z, triangles=triangles, shading="gouraud", cmap=colours, vmin=low, vmax=high
    )
    drawn.set_rasterized(True)
    m = rve.microstructure
    centres = (m.centres[:, None] + IMAGES * [1.0, m.height]).reshape(-1, 2)
    radii = m.outer_radii.repeat(len(IMAGES))
    circles = [Circle(*circle) for circle in zip(centres, radii, strict=True)]
    ax.add_collection(PatchCollection(circles, facecolor="none", edgecolor="white", lw=0.5))
    ax.figure.colorbar(drawn, ax=ax, label=label, extend="max", fraction=0.05, pad=0.02)


def _averaged_at_nodes(rve: SolvedRVE, values: Floats) -> Floats:
    """Return values (m, 6) at nodes, averaged over elements of the same material at a node."""
    d = rve.discretisation
    # Least squares extrapolate a linear field z from q points to the corners: λ z_corners = z
    points, _ = quadrature(_DEGREES[values.shape[1]])
    coordinates = np.column_stack([1 - points.sum(axis=1), points])  # λ, barycentric
    corners = values @ np.linalg.pinv(coordinates).T
    middle = (corners[:, [1, 2, 0]] + corners[:, [2, 0, 1]]) / 2
    at_nodes = np.concatenate([corners, middle], axis=1)
    kind = np.where(d.material == MATRIX, 1, 0)
    kind[d.material >= len(rve.microstructure.radii)] = 2  # interphase
    key = 3 * d.merged[d.triangles] + kind[:, None]
    sums = np.bincount(key.ravel(), at_nodes.ravel())
    counts = np.bincount(key.ravel())
    return np.asarray(sums[key] / counts[key])


def _straight_triangles(rve: SolvedRVE, at_nodes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return coordinates x, y and values of four straight sub-triangles of each curved triangle."""
    parts = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2], [3, 4, 5]])
    d = rve.discretisation
    x, y = d.points[d.triangles][:, parts].reshape(-1, 2).T
    return x, y, at_nodes[:, parts].reshape(-1)


def _frame(ax: Axes, rve: SolvedRVE, title: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, rve.microstructure.height), aspect="equal")
    ax.set(xticks=[], yticks=[], title=title)
