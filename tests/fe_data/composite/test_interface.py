"""The law of cohesive interfaces."""

import dataclasses

import numpy as np
import pytest

from fe_data import load_phases, named_phases
from fe_data.composite.interface import CohesiveLaw
from fe_data.composite.phases import EXAMPLES
from tests.fe_data.composite.debonding import GLASS_EPOXY, INTERFACE

SIDE = 0.03  # mm
LAW = CohesiveLaw.of(INTERFACE, 3.5, SIDE)


def opened(mode, share=1.0, steps=400, law=LAW):
    """Openings in steps to a share of the final opening of a mode, and the law along them."""
    direction = np.array([np.cos(mode), np.sin(mode)])
    final = law.openings(np.array([np.sin(mode) ** 2]))[1][0]
    path = np.linspace(0.0, share * final, steps + 1)[:, None] * direction
    damage = np.zeros(1)
    responses = [law.evaluate(path[:1], damage)]
    for opening in path[1:]:
        responses.append(law.evaluate(opening[None], responses[-1].damage))
    return path, responses


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_work_to_separate_is_the_toughness_of_the_mode(share):
    """G_Ic, G_IIc, and between them the value of Benzeggagh and Kenane, to 1e-6."""
    mode = np.arcsin(np.sqrt(share))
    expected = 2.0 + (6.0 - 2.0) * share**1.45  # J/m²
    path, responses = opened(mode, steps=2000)
    kink = LAW.openings(np.array([np.sin(mode) ** 2]))[0]
    assert responses[-1].damage == 1.0
    # The path with the kink at the onset, so that the trapezoidal rule is exact
    traction = np.array([response.traction[0] for response in responses])
    path = np.concatenate([path, kink * [[np.cos(mode), np.sin(mode)]]])
    at_kink = LAW.evaluate(path[-1:], np.zeros(1)).traction
    order = np.argsort(np.linalg.norm(path, axis=1))
    forces = np.concatenate([traction, at_kink])[order]
    done = ((forces[1:] + forces[:-1]) / 2 * np.diff(path[order], axis=0)).sum()
    to_J_m2 = 0.03 * 1e3  # MPa of relative openings, a side of 0.03 mm
    assert done * to_J_m2 == pytest.approx(expected, rel=1e-6)
    dissipated = sum(response.dissipated[0] for response in responses)
    assert dissipated * to_J_m2 == pytest.approx(expected, rel=1e-6)


def test_the_largest_tractions_are_the_strengths():
    for mode, strength in ((0.0, 50.0), (np.pi / 2, 75.0)):
        onset = LAW.openings(np.array([np.sin(mode) ** 2]))[0][0]
        at = onset * np.array([[np.cos(mode), np.sin(mode)]])
        response = LAW.evaluate(at, np.zeros(1))
        assert np.linalg.norm(response.traction) == pytest.approx(strength)
        assert response.damage[0] == pytest.approx(0.0, abs=1e-12)


def test_unloading_goes_to_the_origin_and_reloading_dissipates_nothing():
    path, responses = opened(0.6, share=0.5)
    damage, traction = responses[-1].damage, responses[-1].traction
    for share in (0.7, 0.0, 0.3, 1.0):
        back = LAW.evaluate(share * path[-1:], damage)
        np.testing.assert_allclose(back.traction, share * traction, atol=1e-9)
        assert back.damage == damage
        assert back.dissipated[0] == 0.0


def test_a_debonded_interface_resists_compression_only():
    closed = LAW.evaluate(np.array([[-1e-5, 1e-3]]), np.ones(1))
    assert closed.traction[0, 0] == pytest.approx(-1e-5 * LAW.stiffness)
    assert closed.traction[0, 1] == 0.0


def published(opening, largest):
    """Traction (c,), damage and largest opening of diffcohesive 0.1.2, for equal stiffnesses.

    Its onset is that of A. Turon et al. (Mech. Mater. 38 (2006) 1072) with the exponent 1, and its
    history is the largest opening so far. Its smoothing of max(x, 0) is left out.
    """
    K, N, S, G_I, G_II, eta = 1e8, 50.0, 75.0, 0.002, 0.006, 1.45  # N, mm
    normal, shear = max(opening[0], 0.0), np.linalg.norm(opening[1:])
    size = np.hypot(normal, shear)
    B = shear**2 / size**2
    onset = np.sqrt((N / K) ** 2 + ((S / K) ** 2 - (N / K) ** 2) * B)
    final = 2 * (G_I + (G_II - G_I) * B**eta) / (K * onset)
    largest = max(largest, size)
    damage = np.clip(final * (largest - onset) / (largest * (final - onset)), 0.0, 1.0)
    traction = K * opening - damage * K * np.append(normal, opening[1:])
    return traction, damage, largest


def mixed(sizes, shares):
    """Openings [mm], in parts of the final opening, with two components of the shear."""
    modes = np.arcsin(np.sqrt(shares))
    final = SIDE * LAW.openings(np.asarray(shares))[1]
    direction = np.stack([np.cos(modes), 0.6 * np.sin(modes), 0.8 * np.sin(modes)], axis=1)
    return (final * sizes)[:, None] * direction


RELOADED = np.concatenate([np.linspace(0, 0.6, 60)[1:], [0.3, 0.1, 0.4], np.linspace(0.5, 1.1, 31)])
CHANGING = np.linspace(0.0, 1.0, 92)
MIXED = {
    **{f"B = {B:g}": mixed(RELOADED, np.full(93, B)) for B in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)},
    "from opening to sliding": mixed(1e-3 + CHANGING, CHANGING**2),
    "from sliding to more opening": mixed(1e-3 + CHANGING, 1 - CHANGING**2 / 3),
    "closed and sheared": mixed(RELOADED, np.ones(93)) - [1e-6, 0.0, 0.0],
}


@pytest.mark.parametrize("path", MIXED)
def test_traction_and_damage_are_those_of_another_implementation(path):
    """Along paths with unloading and reloading, or with a mode that changes, to 1e-6."""
    damage, largest = np.zeros(1), 0.0
    for opening in MIXED[path]:
        ours = LAW.evaluate(opening[None] / SIDE, damage)
        damage = ours.damage
        traction, expected, largest = published(opening, largest)
        np.testing.assert_allclose(ours.traction[0], traction, atol=1e-6 * 50.0)
        assert damage[0] == pytest.approx(expected, abs=1e-6)
    assert damage[0] == 1.0


def test_a_debonded_interface_stays_debonded_if_the_mode_changes():
    """If the largest opening were the history, it would carry half its shear strength again."""
    opened_by = mixed(np.ones(1), np.zeros(1))[0]
    sheared = np.linalg.norm(opened_by) * np.array([0.0, 1.0, 0.0])
    _, damage, largest = published(opened_by, 0.0)
    assert damage == pytest.approx(1.0)
    assert np.linalg.norm(published(sheared, largest)[0]) == pytest.approx(37.5, rel=0.01)
    assert (LAW.evaluate(sheared[None] / SIDE, np.ones(1)).traction == 0.0).all()


@pytest.mark.parametrize("size", [2, 3])
def test_the_tangent_is_the_derivative_of_the_traction(size):
    rng = np.random.default_rng(1)
    final = LAW.openings(np.zeros(1))[1][0]
    opening = rng.normal(scale=0.3 * final, size=(400, size))
    damage = rng.uniform(0.0, 1.0, 400) ** 0.1
    damage[::2] = 0.0
    tangent = LAW.evaluate(opening, damage).tangent
    step = 1e-7 * final
    for i in range(size):
        change = np.zeros(size)
        change[i] = step
        ends = [LAW.evaluate(opening + sign * change, damage).traction for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(tangent[:, :, i], slope, atol=1e-6 * LAW.stiffness)
    assert (LAW.evaluate(opening, damage).damage > damage).sum() > 50


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normal_strength_MPa": 0.0}, "normal_strength_MPa"),
        ({"shear_strength_MPa": -75.0}, "shear_strength_MPa"),
        ({"toughness_I_J_m2": 0.001}, "toughness_I_J_m2"),
        ({"toughness_II_J_m2": 0.002}, "toughness_II_J_m2"),
        ({"exponent": 0.5}, "exponent"),
        ({"fibre_diameter_um": 0.0}, "fibre_diameter_um"),
        ({"stiffness_N_mm3": 1e5}, "toughness_I_J_m2"),
    ],
)
def test_wrong_numbers_are_named(change, field):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(GLASS_EPOXY, interface=dataclasses.replace(INTERFACE, **change))


def test_a_file_has_an_interface(tmp_path):
    phases = named_phases("glass_epoxy_debonding")
    assert phases.interface == INTERFACE
    tougher = phases.with_fields({"interface.toughness_I_J_m2": 4.0})
    assert tougher.interface.toughness_I_J_m2 == 4.0
    assert tougher.sha256 != phases.sha256
    shipped = (EXAMPLES / "glass_epoxy_debonding.yaml").read_text()
    for wrong, what in (
        (shipped.replace("    fibre_diameter_um: 7.0\n", ""), "fibre_diameter_um is missing"),
        (shipped.replace("toughness_I_J_m2: 2.0", "toughness_I_J_m2: 0.01"), "is too small"),
        (shipped.replace("normal_strength_MPa: 50.0", "normal_strength_MPa: 0"), "normal_strength"),
    ):
        (tmp_path / "wrong.yaml").write_text(wrong)
        with pytest.raises(ValueError, match=rf"wrong\.yaml: interface.*{what}"):
            load_phases(tmp_path / "wrong.yaml")
