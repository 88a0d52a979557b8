"""Elastic anisotropy of microstructures whose symmetry is known."""

from dataclasses import replace

import numpy as np
import pytest

from fe_data import (
    Anisotropy,
    Inputs,
    Loading,
    Microstructure,
    Settings,
    anisotropy,
    generate,
    load_table,
    named_design,
    solve_rve,
    verify,
)
from fe_data.homogenisation.anisotropy import directional_moduli

INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)


def found_of(micro, **settings):
    """After an elastic increment, which is all that a microstructure needs."""
    shear = Loading((None, None, 1e-4))
    inputs = replace(INPUTS, vf=micro.volume_fraction)
    return anisotropy(
        solve_rve(inputs, Settings(increments=4, **settings), shear, microstructure=micro)
    )


def test_a_square_lattice_is_stiffest_towards_its_nearest_neighbours():
    """The same lattice turned by 45 degrees has the same spread, towards its neighbours again."""
    straight = found_of(Microstructure([[0.5, 0.5]], 0.35))
    turned = Microstructure([[0.1, 0.3], [0.6, 0.8]], 0.35 / np.sqrt(2))
    turned = found_of(turned)
    assert straight.spread == pytest.approx(0.086, abs=0.002)
    assert turned.spread == pytest.approx(straight.spread, rel=0.03)
    assert straight.stiffest_deg % 90 in (0.0, 89.5)
    assert turned.stiffest_deg % 90 == pytest.approx(45.0, abs=0.5)
    C = straight.stiffness_GPa
    assert C[0, 0] == pytest.approx(C[1, 1], rel=1e-3)
    assert 2 * C[2, 2] < 0.95 * (C[0, 0] - C[0, 1])


def test_a_hexagonal_microstructure_and_a_matrix_without_fibres_are_isotropic():
    """7 x 8 staggered rows are hexagonal to 1 %."""
    centres = [((i + 0.5 * (j % 2) + 0.3) / 7, (j + 0.4) / 8) for j in range(8) for i in range(7)]
    hexagonal = Microstructure(centres, np.sqrt(0.25 / (56 * np.pi)))
    assert found_of(hexagonal, resolution=3.0).spread < 5e-3
    spreads = found_of(Microstructure(np.empty((0, 2)), 0.0))
    assert spreads.spread < 1e-9
    plane_strain = spreads.stiffness_GPa / (100 / 1.3 / 0.4)
    np.testing.assert_allclose(plane_strain, [[0.7, 0.3, 0], [0.3, 0.7, 0], [0, 0, 0.2]], atol=1e-9)


def test_the_misfit_does_not_depend_on_the_axes_and_is_that_of_a_square_lattice():
    """A cubic stiffness differs from an isotropic one in (C_xx - C_xy) / 2 - G alone."""
    C = np.array([[150.0, 60.0, 0.0], [60.0, 150.0, 0.0], [0.0, 0.0, 40.0]])
    difference = (C[0, 0] - C[0, 1]) / 2 - C[2, 2]
    norm = np.sqrt(2 * 150.0**2 + 2 * 60.0**2 + (2 * 40.0) ** 2)
    misfit = Anisotropy(C, 0.0, 0.0).misfit
    assert misfit == pytest.approx(np.sqrt(2) * difference / norm)
    c = np.cos(0.3)
    s = np.sin(0.3)
    strain = np.array(
        [[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2 * c * s, 2 * c * s, c * c - s * s]]
    )
    assert Anisotropy(strain.T @ C @ strain, 0.0, 0.0).misfit == pytest.approx(misfit)
    isotropic = np.array([[150.0, 60.0, 0.0], [60.0, 150.0, 0.0], [0.0, 0.0, 45.0]])
    assert Anisotropy(isotropic, 0.0, 0.0).misfit < 1e-15


@pytest.mark.usefixtures("in_this_process")
def test_a_table_has_the_anisotropy_where_it_is_asked_for(tmp_path):
    """The other columns keep every bit, and the same folder goes on with the same columns only."""
    names = ("E_spread", "isotropy_misfit")
    design = named_design("train_beta", 5, count=2)
    small = Settings(n_fibres=3, resolution=2.0, increments=10)
    generate(design, small, tmp_path / "plain", silent=True)
    generate(design, small, tmp_path / "more", anisotropy=True, silent=True)
    plain = load_table(tmp_path / "plain")
    more = load_table(tmp_path / "more")
    assert set(more.output_names) == {*plain.output_names, *names}
    np.testing.assert_array_equal(more.with_outputs(plain.output_names).outputs, plain.outputs)
    sample = design.sample(1)
    spreads = anisotropy(solve_rve(sample.inputs, small, seed=sample.seed))
    assert more.with_outputs(names).outputs[1].tolist() == [spreads.spread, spreads.misfit]
    assert 0.0 < spreads.misfit < 0.1
    assert verify(tmp_path / "more")[0] == []
    with pytest.raises(ValueError, match="anisotropy = None there, True here"):
        generate(design, small, tmp_path / "plain", anisotropy=True, silent=True)


def test_moduli_by_direction_are_those_of_an_orthotropic_material():
    """At 45 degrees 4 / E = 1 / E_x + 1 / E_y - 2 nu / E_x + 1 / G."""
    Ex = 150.0
    Ey = 100.0
    nu = 0.3
    G = 40.0
    stiffness = np.linalg.inv([[1 / Ex, -nu / Ex, 0], [-nu / Ex, 1 / Ey, 0], [0, 0, 1 / G]])
    diagonal = 4 / (1 / Ex + 1 / Ey - 2 * nu / Ex + 1 / G)
    moduli = directional_moduli(stiffness, np.array([0.0, 90.0, 45.0, 135.0]))
    assert moduli == pytest.approx([Ex, Ey, diagonal, diagonal])
    coupled = stiffness + 10.0 * np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    towards, across = directional_moduli(coupled, np.array([45.0, 135.0]))
    assert towards > across  # a positive C_xx,xy stiffens the direction of positive shear
