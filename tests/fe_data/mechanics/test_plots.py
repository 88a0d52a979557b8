"""The figure of an RVE: its panels of fields and curves, and of what has broken."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.table import Table

from fe_data import (
    Damage,
    Interface,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Phases,
    Settings,
    VolumeFraction,
    named_phases,
)
from fe_data.composite.properties import solve_material
from fe_data.geometry.outline import MATRIX
from fe_data.mechanics.plots import (
    draw_cracks,
    draw_microstructure,
    draw_plastic_strain,
    draw_stress_strain,
    plot_rve,
)

FIBRE = Microstructure([[0.5, 0.5]], 0.3)


@pytest.fixture(scope="module")
def broken():
    """A fibre with a ring that has debonded, in a matrix that is damaged."""
    matrix = Material(Isotropic(3.5, 0.35), "j2", {"yield_stress": 40.0}, Damage(0.002, 4.0, 7.0))
    phases = Phases(
        matrix,
        Material(Isotropic(70.0, 0.2)),
        interface=Interface(40.0, 60.0, 1.0, 3.0, 7.0),
        others={"interphase": Material(Isotropic(10.0, 0.3))},
    )
    pull = Loading((0.02, *[None] * 5), increments=20)
    inputs, settings = VolumeFraction(FIBRE.volume_fraction), Settings(n_fibres=1, resolution=3.0)
    choices = {"interphase": 0.15, "drop": 0.1, "silent": True}
    return solve_material(phases, inputs, FIBRE, settings, pull, **choices)


@pytest.mark.slow
def test_cracks_have_the_opening_and_the_damage_of_the_interfaces(broken):
    """Both faces are drawn, apart by the opening times the factor in the title."""
    cracks = broken.cracks
    ax = Figure().subplots()
    draw_cracks(ax, broken, cracks)
    faces = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    inside, outside = (np.array([line[[0, -1]] for line in face.get_segments()]) for face in faces)
    factor = float(ax.get_title().rsplit(" ", 1)[1])
    u = cracks.displacement
    opening = u[cracks.sides[:, 3:5]] - u[cracks.sides[:, :2]]
    np.testing.assert_allclose(outside - inside, factor * opening, rtol=5e-3, atol=1e-9)
    widest = np.linalg.norm(outside - inside, axis=2).max()
    assert 0.01 < widest < 0.05  # of the width of the RVE
    for face in faces:
        np.testing.assert_array_equal(face.get_array(), cracks.damage.mean(axis=1))
        assert face.get_clim() == (0.0, 1.0)
    assert cracks.damage.max() == 1.0


def test_damaged_elements_have_the_colour_of_their_damage_and_others_that_of_their_phase(broken):
    """The colours of matrix, fibre and interphase are those in the panel of the microstructure."""
    cracks = broken.cracks
    is_damaged = cracks.of_elements > 0
    left, right = Figure().subplots(1, 2)
    draw_microstructure(left, broken)
    draw_cracks(right, broken, cracks)
    (phases,) = left.collections
    colours = phases.get_facecolor()
    assert len(np.unique(colours, axis=0)) == 3
    whole, damaged = (drawn for drawn in right.collections if isinstance(drawn, PolyCollection))
    np.testing.assert_array_equal(whole.get_facecolor(), colours[~is_damaged])
    np.testing.assert_array_equal(damaged.get_array(), cracks.of_elements[is_damaged])
    assert damaged.get_clim() == (0.0, 1.0)
    assert damaged.get_array().size > 0


def test_the_figure_shows_the_strength(broken):
    strength = broken.solution.strength
    assert strength.is_reached
    figure = plot_rve(broken)
    (table,) = figure.findobj(Table)
    cells = {cell.get_text().get_text() for cell in table.get_celld().values()}
    text = f"{strength.strength_MPa:.2f} MPa at a mean strain of {strength.strain_at_strength:.5f}"
    assert {"strength", text} <= cells


ELASTIC = Material(Isotropic(3.5, 0.35))
PLASTIC = Material(Isotropic(3.5, 0.35), "j2", {"yield_stress": 20.0})


@pytest.mark.parametrize("place", ["matrix", "fibres", "interphase"])
def test_the_plastic_strain_is_drawn_in_the_phase_that_yields(place):
    """The ring and the fibre are numbers of the mesh too; elastic phases stay dark."""
    materials = dict.fromkeys(("matrix", "fibres", "interphase"), ELASTIC) | {place: PLASTIC}
    others = {"interphase": materials.pop("interphase")}
    phases = Phases(**materials, others=others)
    inputs, settings = VolumeFraction(FIBRE.volume_fraction), Settings(n_fibres=1, resolution=3.0)
    pull = Loading((0.02, None, None), increments=4)
    rve = solve_material(phases, inputs, FIBRE, settings, pull, interphase=0.2, silent=True)
    ax = Figure().subplots()
    draw_plastic_strain(ax, rve)
    drawn = ax.collections[0]
    material = rve.discretisation.material
    yields = {"matrix": material == MATRIX, "fibres": material == 0, "interphase": material == 1}
    # Each triangle is drawn as four, of three points each.
    p = drawn.get_array().reshape(len(material), -1)
    assert p[yields[place]].mean() > 1e-3
    assert p[~yields[place]].max() == 0.0
    assert drawn.get_clim()[1] > 1e-3


HELD, FREE = (0.0,) * 6, (None,) * 6


@pytest.mark.parametrize(
    ("strain", "stresses", "strains"),
    [
        (HELD, ["xx", "yy", "zz"], []),
        ((0.0, *FREE[1:]), ["xx"], ["yy", "zz"]),
        (FREE[:3], ["zz"], ["xx", "yy"]),  # plane strain
        (FREE, [], ["xx", "yy", "zz"]),
        ([HELD, FREE], ["xx", "yy", "zz"], ["xx", "yy", "zz"]),  # held, then released
    ],
)
def test_a_picture_of_cooling_has_the_stress_of_held_components(strain, stresses, strains):
    """A held component has a stress without a strain, and a free one a strain without a stress."""
    path = Loading(strain, temperature=-100.0, increments=2)
    inputs, settings = VolumeFraction(FIBRE.volume_fraction), Settings(n_fibres=1, resolution=3.0)
    glass = named_phases("glass_epoxy")
    rve = solve_material(glass, inputs, FIBRE, settings, path, silent=True)
    figure = Figure()
    draw_stress_strain(figure.subplots(), rve)
    drawn = {panel.get_ylabel()[:11]: panel.lines for panel in figure.axes}
    expected = {"mean stress": stresses, "mean strain": strains}
    assert {label: [line.get_label() for line in lines] for label, lines in drawn.items()} == {
        label: components for label, components in expected.items() if components
    }
    for label, lines in drawn.items():
        assert all(np.abs(line.get_ydata()).max() > 1e-4 for line in lines), label
