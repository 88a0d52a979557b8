"""Closed formulas: limits, relations between them, and values worked out by hand."""

import numpy as np
import pytest

from fe_data import Isotropic, Material, Phases, TransverselyIsotropic, named_phases
from fe_data.composite.constants import bounds
from fe_data.composite.formulas import FORMULAS, chamis, composite_cylinders, halpin_tsai, puck

NAMES = ("carbon_epoxy", "carbon_epoxy_t300", "glass_epoxy", "glass_epoxy_ly556")
LY556 = named_phases("glass_epoxy_ly556")


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=[*FORMULAS])
@pytest.mark.parametrize("name", NAMES)
def test_without_fibres_and_without_matrix_each_formula_has_the_constants_of_the_phase(
    name, formula
):
    phases = named_phases(name)
    for vf, material in ((0.0, phases.matrix), (1.0, phases.fibres)):
        elasticity = material.elasticity
        constants = formula(phases, vf)
        along, across = elasticity.expansion[2], elasticity.expansion[0]
        assert constants["E_T_GPa"] == pytest.approx(elasticity.modulus_across, rel=1e-9)
        assert constants["alpha_L_per_K"] == pytest.approx(along, rel=1e-9)
        assert constants["alpha_T_per_K"] == pytest.approx(across, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_formulas_agree_where_they_are_the_same_and_lie_within_the_bounds(name):
    phases = named_phases(name)
    cylinders, halpin, of_chamis = (formula(phases, 0.6) for formula in FORMULAS.values())
    # Halpin and Tsai's ξ = 1 is exact for composite cylinders.
    assert halpin["G_LT_GPa"] == pytest.approx(cylinders["G_LT_GPa"], rel=1e-12)
    assert halpin["E_L_GPa"] == of_chamis["E_L_GPa"] < cylinders["E_L_GPa"]
    lower, upper = bounds(phases, 0.6)
    for key in ("E_L_GPa", "E_T_GPa", "nu_LT", "nu_TT", "G_LT_GPa", "G_TT_GPa", "k_T_GPa"):
        slack = 1e-12 * abs(cylinders[key])
        assert getattr(lower, key) - slack <= cylinders[key] <= getattr(upper, key) + slack, key


def test_formulas_have_the_values_worked_out_by_hand():
    """E-glass/LY556: E_f = 80 GPa, E_m = 3.35 GPa, v = 0.62."""
    of_chamis = chamis(LY556, 0.62)
    # 3.35 / (1 - √0.62 (1 - 3.35 / 80)), and with G_m = 3.35 / 2.7, G_f = 80 / 2.4
    assert of_chamis["E_T_GPa"] == pytest.approx(13.641, abs=2e-3)
    assert of_chamis["G_LT_GPa"] == pytest.approx(5.130, abs=2e-3)
    assert of_chamis["E_L_GPa"] == pytest.approx(0.62 * 80 + 0.38 * 3.35, rel=1e-12)
    assert of_chamis["nu_LT"] == pytest.approx(0.62 * 0.2 + 0.38 * 0.35, rel=1e-12)
    # η = (80 - 3.35) / (80 + 6.7),   E_T = 3.35 (1 + 2 η v) / (1 - η v)
    assert halpin_tsai(LY556, 0.62)["E_T_GPa"] == pytest.approx(15.541, abs=2e-3)
    # α_L = (0.38 · 3.35 · 58 + 0.62 · 80 · 4.9) / (0.38 · 3.35 + 0.62 · 80) 10⁻⁶
    assert of_chamis["alpha_L_per_K"] == pytest.approx(6.229e-6, abs=2e-9)


def test_equal_expansions_of_both_phases_are_the_expansion_of_the_composite():
    matrix = Material(Isotropic(3.0, 0.35, 20e-6))
    phases = Phases(matrix, Material(Isotropic(70.0, 0.2, 20e-6)))
    constants = composite_cylinders(phases, 0.5)
    assert constants["alpha_L_per_K"] == pytest.approx(20e-6, rel=1e-12)
    assert constants["alpha_T_per_K"] == pytest.approx(20e-6, rel=1e-12)


def test_fibres_that_are_not_isotropic_about_z_are_rejected():
    across = Material(TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0, axis=0.0))
    with pytest.raises(ValueError, match="fibres must be transversely isotropic about z"):
        chamis(Phases(LY556.matrix, across), 0.5)


@pytest.mark.parametrize("slopes", [(0.3, 0.25), (0.35, 0.3)])
def test_the_criterion_of_puck_has_the_strengths_and_the_slopes(slopes):
    """Its three modes meet, and it is largest in compression."""
    stress, shear = puck(50.0, 150.0, 72.0, slopes)  # in steps of 1 MPa
    middle = int(np.argmin(np.abs(stress)))
    assert (stress[0], stress[middle], stress[-1]) == pytest.approx((50.0, 0.0, -150.0))
    assert (shear[0], shear[middle], shear[-1]) == pytest.approx((0.0, 72.0, 0.0), abs=1e-5)
    before, after = np.diff(shear[middle - 1 : middle + 2])
    assert (before, after) == pytest.approx(slopes, rel=0.1)
    assert -150.0 < stress[shear.argmax()] < 0.0
    assert np.abs(np.diff(shear[20:-10])).max() < 5.0
