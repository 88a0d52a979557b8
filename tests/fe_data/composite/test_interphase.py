"""An interphase around fibres: areas, equal materials, coated cylinders, refusals."""

import dataclasses
import json

import numpy as np
import pytest

from fe_data import (
    Isotropic,
    Material,
    Microstructure,
    effective_constants,
    load_phases,
    named_phases,
)
from fe_data.__main__ import main
from fe_data.composite.constants import Constants, cylinders
from fe_data.composite.rve import composite_domain, composite_model
from fe_data.geometry.microstructure import clear_of_edges, random_microstructure
from tests.fe_data.composite.lattices import hexagonal

GLASS = named_phases("glass_epoxy")
SOFT = Material(Isotropic(10.0, 0.35))
COATED = dataclasses.replace(GLASS, others={"interphase": SOFT})


@pytest.mark.parametrize("thickness", [0.002, 0.02, 0.04])
def test_rings_have_their_area_also_where_edges_cut_them(thickness):
    """A fibre at a corner, one whose ring alone crosses an edge, and a void without a ring."""
    micro = Microstructure(
        [[0.0, 0.0], [0.55, 0.2 + thickness / 2], [0.5, 0.7]],
        [0.2, 0.2, 0.1],
        ["fibres", "fibres", "void"],
        interphase=thickness,
    )
    domain = composite_domain(COATED, micro, 6.0)
    model = composite_model(COATED, micro, domain, out_of_plane=False)
    area = {phase.name: phase.weights.sum() for phase in model.phases}
    inner = 2 * np.pi * 0.2**2
    outer = 2 * np.pi * (0.2 + thickness) ** 2
    assert area["fibres"] == pytest.approx(inner, rel=1e-9)
    assert area["interphase"] == pytest.approx(outer - inner, rel=1e-8)
    assert area["matrix"] == pytest.approx(1 - outer - np.pi * 0.1**2, rel=1e-9)


@pytest.mark.slow
def test_a_ring_of_matrix_changes_nothing_and_one_of_fibre_is_a_thicker_fibre():
    micro = clear_of_edges(random_microstructure(0.4, 1, 5, 1.3))
    ring = 0.15 * micro.radii[0]
    coated = dataclasses.replace(micro, interphase=ring)
    thicker = dataclasses.replace(micro, radii=micro.radii + ring)
    for material, same in ((GLASS.matrix, micro), (GLASS.fibres, thicker)):
        phases = dataclasses.replace(GLASS, others={"interphase": material})
        of_coated = effective_constants(phases, coated, resolution=8)
        expected = effective_constants(GLASS, same, resolution=8)
        for name, value in dataclasses.asdict(expected.constants).items():
            assert getattr(of_coated.constants, name) == pytest.approx(value, rel=2e-3), name
        assert of_coated.upper is None


@pytest.mark.filterwarnings("ignore:alpha_per_K of interphase is zero:UserWarning")
def test_a_hexagonal_array_of_coated_fibres_is_close_to_coated_cylinders():
    """E_L, ν_LT, k_T and G_LT: the coated fibre is a fibre of the constants of its cylinder."""
    fibre = hexagonal(0.3)
    r = fibre.radii[0]
    coated = dataclasses.replace(fibre, interphase=0.1 * r)
    of_coated = effective_constants(COATED, coated, resolution=10)
    assert of_coated.misfit < 2e-4
    share = 1 / 1.1**2  # of the fibre in its cylinder
    ring, bare, matrix = (
        Constants.of(phase.elasticity.stiffness) for phase in (SOFT, GLASS.fibres, GLASS.matrix)
    )
    cylinder = Constants(**cylinders(ring, bare, share), E_T_GPa=np.nan, nu_TT=np.nan)
    expected = cylinders(matrix, cylinder, 0.3 / share)
    for name in ("E_L_GPa", "nu_LT", "k_T_GPa", "G_LT_GPa"):
        assert getattr(of_coated.constants, name) == pytest.approx(expected[name], rel=3e-3), name


def test_the_command_takes_a_ring(tmp_path, capsys):
    glass = "{elasticity: {E_GPa: 74.0, nu: 0.2}}"
    text = f"phases: {{matrix: {glass}, fibres: {glass}, interphase: {glass}}}"
    (tmp_path / "three.yaml").write_text(text)
    words = f"constants --material {tmp_path}/three.yaml --vf 0.3 --n-fibres 2 --interphase 0.1"
    out = tmp_path / "constants.json"
    assert main([*words.split(), "--resolution", "4", "--out", str(out)]) == 0
    (line,) = [
        printed_line
        for printed_line in capsys.readouterr().out.splitlines()
        if "E_T" in printed_line
    ]
    assert float(line.split()[1]) == pytest.approx(74.0, rel=1e-4)
    # The file has the ring too, so that it alone describes what was computed.
    content = json.loads(out.read_text())
    assert content["materials"] == load_phases(tmp_path / "three.yaml").as_dict()
    assert content["interphase"] > 0
