"""Pictures of one volume element: arrangement, mesh, fields and averaged curves."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from fe_data.arrays import Floats
from fe_data.geometry.outline import MATRIX
from fe_data.loading import AXES, Loading
from fe_data.mechanics.properties import equivalent_strain, von_mises
from fe_data.mechanics.rve import RVESolution

_COLUMNS = (0, 1, 3)  # of these in a history
_VERTICES_IN_TITLE, _NUMBERED = 4, 12  # more vertices of a path would not be read
# Corners of a triangle from its three integration points, where fields are linear.
_TO_CORNERS = np.array([[5, -1, -1], [-1, 5, -1], [-1, -1, 5]]) / 3


def plot_rve(rve: RVESolution, title: str = "") -> Figure:
    """Arrangement, mesh, fields, averaged curves and properties, under the name of the loading."""
    figure = Figure(figsize=(18.5, 8.6), layout="constrained")
    axes = figure.subplot_mosaic("abcd;efgg", width_ratios=[1.0, 1.0, 1.12, 1.12])
    above = (draw_arrangement, draw_mesh, draw_mises, draw_plastic_strain)
    straight = len(rve.loading.strain) == 1
    below = (draw_stress_strain, draw_curve if straight else draw_path, _write_properties)
    for ax, draw in zip(axes.values(), (*above, *below), strict=True):
        draw(ax, rve)
    figure.suptitle("\n".join(filter(None, [title, _name(rve.loading)])))
    return figure


def _name(loading: Loading) -> str:
    """A loading in words, and what is prescribed in each direction."""
    words, values = [], []
    for axes, *columns in zip(AXES, *(part.T for part in loading.vertices), strict=True):
        steps = []
        for strain, stress in zip(*columns, strict=True):
            value = stress if np.isnan(strain) else strain
            symbol, unit = (r"\sigma", " MPa") if np.isnan(strain) else (r"\varepsilon", "")
            steps.append(rf"${symbol}_{{{axes}}}$ = {value:g}{unit}")
        if len(set(steps)) == 1:
            steps = steps[:1]
        elif len(steps) > _VERTICES_IN_TITLE:
            steps[1:-1] = ["…"]
        values.append(" → ".join(steps))
        if value:
            kind = "tension" if value > 0 else "compression"
            words.append("shear" if axes == "xy" else f"{kind} in {axes[0]}")
    n = len(loading.strain)
    name = " and ".join(words) if n == 1 else f"path of {n} parts"
    return f"Loading: {name}, mean {', '.join(values)}"


def draw_arrangement(ax: Axes, rve: RVESolution) -> None:
    """Fibres and matrix."""
    _draw_triangles(ax, rve, "#4c6a92", edgecolors="face", lw=0.3)
    vf = rve.microstructure.volume_fraction
    _frame(ax, f"Arrangement: {len(rve.microstructure.centres)} fibres, {vf:.1%} of the area")


def draw_mesh(ax: Axes, rve: RVESolution) -> None:
    """Curved quadratic triangles."""
    _draw_triangles(ax, rve, "#b9c8dc", edgecolors="#2b3a4d", lw=0.25)
    d = rve.discretisation
    _frame(ax, f"Mesh: {len(d.triangles)} triangles, {2 * d.n_nodes} degrees of freedom")


def draw_mises(ax: Axes, rve: RVESolution) -> None:
    """Von Mises stress at the end of loading."""
    fibres = [von_mises(stress) for stress in rve.fields.fibre_stress]
    _field(
        ax, rve, von_mises(rve.fields.matrix_stress), fibres, "von Mises stress [MPa]", "viridis"
    )
    _frame(ax, "Von Mises stress at the end of loading")


def draw_plastic_strain(ax: Axes, rve: RVESolution) -> None:
    """Equivalent plastic strain at the end of loading; zero in the fibres."""
    _field(ax, rve, rve.fields.plastic_strain, [], "equivalent plastic strain [-]", "magma")
    _frame(ax, "Equivalent plastic strain")


def draw_stress_strain(ax: Axes, rve: RVESolution) -> None:
    """Averaged stress over averaged strain in the directions that are loaded."""
    loaded = np.nan_to_num(np.concatenate(rve.loading.vertices)).any(axis=0)
    vertices = _vertex_rows(rve)
    for axes in np.array(AXES)[loaded]:
        column = _COLUMNS[AXES.index(axes)]
        strain, stress = (rve.history[name][:, column] for name in ("strain", "stress"))
        # On a path, points at every increment would hide its loops.
        every = None if len(vertices) == 1 else vertices
        ax.plot(strain, stress, "o-", ms=3.5, lw=1.0, label=axes, markevery=every)
        for number, row in enumerate(vertices[: _NUMBERED * (every is not None)], start=1):
            ax.annotate(f"{number}", (strain[row], stress[row]), (3, 3), textcoords="offset points")
    ax.set(xlabel="mean strain [-], xy half the engineering shear", ylabel="mean stress [MPa]")
    ax.axhline(0.0, color="grey", lw=0.8, ls=":")
    ax.set_title("Mean stress over mean strain")
    ax.locator_params(axis="x", nbins=5)
    ax.legend(frameon=False)


def draw_curve(ax: Axes, rve: RVESolution) -> None:
    """Averaged von Mises stress over averaged plastic strain, with the fitted power law."""
    history, e = rve.history, rve.effective
    p, stress = equivalent_strain(history["plastic_strain"]), von_mises(history["stress"])
    ax.plot(p, stress, "o", ms=3.5, color="#1f3a5f", label="simulated averages")
    if e:
        a = rve.problem.law.yield_stress
        smooth = np.linspace(0, p.max(), 300)
        label = rf"$a + b\,p^c$ with $b$ = {e.b_eff_MPa:.0f} MPa, $c$ = {e.c_eff:.3f}"
        ax.plot(smooth, a + e.b_eff_MPa * smooth**e.c_eff, color="#d1663a", lw=1.6, label=label)
        ax.axhline(a, color="grey", lw=0.8, ls=":")
    ax.set(xlabel="equivalent of the mean plastic strain [-]", xlim=(0, None))
    ax.set(ylabel="von Mises of the mean stress [MPa]", ylim=(0, None))
    ax.locator_params(axis="x", nbins=5)
    ax.set_title("Averaged curve and power law" if e else "Averaged curve")
    ax.legend(loc="lower right", frameon=False)


def draw_path(ax: Axes, rve: RVESolution) -> None:
    """Averaged strains and stresses over the increments of a path, with its vertices."""
    strains = ax.twinx()
    for axes, column, colour in zip(AXES, _COLUMNS, ("C0", "C1", "C2"), strict=True):
        ax.plot(rve.history["stress"][:, column], color=colour, lw=1.4, label=axes)
        strains.plot(rve.history["strain"][:, column], color=colour, lw=1.0, ls="--")
    for row in _vertex_rows(rve):
        ax.axvline(row, color="grey", lw=0.6, ls=":")
    ax.set(xlabel="increment", ylabel="mean stress [MPa], full lines", title="Along the path")
    strains.set_ylabel("mean strain [-], broken lines")
    ax.legend(frameon=False, ncols=3, loc="upper left")


def _vertex_rows(rve: RVESolution) -> list[int]:
    """Row of the history at each vertex, equally far apart unless the path has its own numbers."""
    each = (len(rve.history["strain"]) - 1) // len(rve.loading.strain)
    rows: list[int] = np.cumsum([part.increments for part in rve.loading.parts(each)]).tolist()
    return rows


def _write_properties(ax: Axes, rve: RVESolution) -> None:
    ax.axis("off")
    e, counts = rve.effective, rve.path.counts
    strain, stress = (rve.history[name][-1] for name in ("strain", "stress"))
    rows = [
        (f"mean {name}", rf"$\varepsilon$ {e_i:+.4f}, $\sigma$ {s_i:+.1f} MPa")
        for name, e_i, s_i in zip(("xx", "yy", "zz", "xy"), strain, stress, strict=True)
    ]
    if e:
        rows = [
            ("$b_\\mathrm{eff}$", f"{e.b_eff_MPa:.1f} MPa"),
            ("$c_\\mathrm{eff}$", f"{e.c_eff:.4f}"),
            ("$E_\\mathrm{eff}$", f"{e.E_eff_GPa:.2f} GPa"),
            ("$\\nu_\\mathrm{eff}$", f"{e.nu_eff:.4f}"),
            ("$p_\\sigma$", f"{rve.p_sigma:.4f}"),
            ("fit residual", f"{e.hardening_residual:.2%}"),
        ]
    rows += [
        ("Newton iterations", f"{counts['newton_iterations']}"),
        ("factorisations", f"{counts['factorisations']}"),
        ("seconds", f"{sum(rve.seconds.values()):.2f}"),
    ]
    widths = [0.36, 0.64]
    table = ax.table(rows, loc="center", cellLoc="left", edges="horizontal", colWidths=widths)
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    table.scale(1.0, 1.7)
    warning = f"\n({e.warning})" if e and e.warning else ""
    ax.set_title(
        ("Effective properties" if e else "At the end of loading, components of tensors") + warning
    )


def _draw_triangles(ax: Axes, rve: RVESolution, fibres: str, **edges: Any) -> None:
    """Draw polygons that follow the curved sides of the triangles; `fibres` is a colour."""
    colours = np.where(rve.discretisation.material == MATRIX, "#e9edf2", fibres)
    nodes = rve.discretisation.points[rve.discretisation.triangles]
    t = np.linspace(0, 1, 5)[:-1, None]
    a, middle, b = (nodes[:, i, None] for i in ([0, 1, 2], [5, 3, 4], [1, 2, 0]))
    sides = (1 - t) * (1 - 2 * t) * a + 4 * t * (1 - t) * middle + t * (2 * t - 1) * b
    outlines = list(sides.reshape(len(nodes), -1, 2))
    ax.add_collection(PolyCollection(outlines, facecolors=colours, **edges))


def _field(
    ax: Axes, rve: RVESolution, matrix: Floats, fibres: list[Floats], label: str, colours: str
) -> None:
    """Draw values (m, 3) at points, averaged at the nodes of each material; 0 in fibres if none."""
    d = rve.discretisation
    values = np.zeros((len(d.material), 3))
    for material, own in zip((MATRIX, *range(len(fibres))), (matrix, *fibres), strict=True):
        values[d.material == material] = own
    corners = values @ _TO_CORNERS.T
    middle = (corners[:, [1, 2, 0]] + corners[:, [2, 0, 1]]) / 2
    at_nodes = np.concatenate([corners, middle], axis=1)
    key = 2 * d.merged[d.triangles] + (d.material == MATRIX)[:, None]
    sums, counts = np.bincount(key.ravel(), at_nodes.ravel()), np.bincount(key.ravel())
    at_nodes = sums[key] / counts[key]
    # Four straight sub-triangles follow the curved sides.
    parts = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2], [3, 4, 5]])
    xy, z = d.points[d.triangles][:, parts].reshape(-1, 2), at_nodes[:, parts].reshape(-1)
    triangles = np.arange(len(xy)).reshape(-1, 3)
    low, high = np.quantile(values, [0.0, 0.998])
    x, y = xy.T
    drawn = ax.tripcolor(
        x, y, z, triangles=triangles, shading="gouraud", cmap=colours, vmin=low, vmax=high
    )
    drawn.set_rasterized(True)
    shifts = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    centres = (rve.microstructure.centres[:, None] + shifts).reshape(-1, 2)
    radii = rve.microstructure.radii.repeat(len(shifts))
    circles = [Circle(*circle) for circle in zip(centres, radii, strict=True)]
    ax.add_collection(PatchCollection(circles, facecolor="none", edgecolor="white", lw=0.5))
    ax.figure.colorbar(drawn, ax=ax, label=label, extend="max", fraction=0.05, pad=0.02)


def _frame(ax: Axes, title: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[], title=title)
