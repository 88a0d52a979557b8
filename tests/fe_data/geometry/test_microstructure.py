"""Random periodic fibres: exact volume fraction, spacing, clearance, limits, one population."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from fe_data import effective_constants, named_phases
from fe_data.composite.rve import side_of_rve
from fe_data.errors import MicrostructureError
from fe_data.geometry import microstructure, packing
from fe_data.geometry.microstructure import (
    Microstructure,
    clear_of_edges,
    periodic_distances,
    random_microstructure,
)
from fe_data.geometry.packing import equilibrated, sequential_addition
from fe_data.geometry.spacing import hexagonal_distance, largest_volume_fraction, spacing_of
from tests.fe_data.composite.lattices import hexagonal

# Seeds whose first sequence jams, and seeds whose first sequence does not, by volume fraction.
JAMMED = {0.40: (2, 9, 13, 15, 19, 25, 28, 39), 0.45: (1, 2, 3, 4, 5, 6, 7, 8)}
UNJAMMED = {0.40: (3, 4, 5, 6, 7, 8, 10, 11), 0.45: (0, 10, 33, 48, 84, 96, 98, 138)}


@pytest.mark.parametrize(
    ("centres", "radii", "others", "message"),
    [
        ([[0.1, 0.95], [1.2, 1.1]], 0.1, {}, r"0 and 1 overlap across .*: centres 0.180278 apart"),
        # Fibres that touch overlap by rounding, and no edge lies between them.
        ([[1.2, 0.3], [1.4, 0.3]], [0.1, 0.1], {}, r"fibres 0 and 1 overlap: centres 0\.2 apart"),
        ([[0, 0.4], [0.5, 0.5], [1, 0.4]], 0.1, {}, r"fibres 0 and 2 are one .* and \(1, 0.4\)"),
        # A square of 10 micrometres, whose fibres have v_f = 0.0045 and not 0.28.
        ([[0.3, 0.4], [5.1, 5.2], [9.7, 2.1]], 0.2, {}, r"\[1\] = \(5.1, 5.2\) .* about 9.4"),
        ([[0.5, 0.5], [0.1, 0.1]], [0.1, np.nan], {}, r"radii\[1\] = nan is out of range"),
        ([[0.5, 0.2]], 0.2, {"height": 0.4}, r"fibre 0 and its periodic image overlap: radius 0"),
        (
            [[0.5, 0.2]],
            0.2,
            {"height": 0.4, "phases": "void"},
            "^void 0 and its periodic image",
        ),
        ([[0.3, 0.5], [0.6, 0.5]], 0.2, {"phases": ["fibres", "void"]}, r"^fibre 0 and void 1 ov"),
        (
            [[0.3, 0.5], [0.6, 0.5]],
            0.2,
            {"phases": "void"},
            r"^voids 0 and 1 overlap: centres",
        ),
        ([[0.1, 0.5], [0.9, 0.5]], 0.2, {"phases": ["fibres", "void"]}, r"where void 1 comes back"),
        (
            [[0.5, 0.5]] * 2,
            [0.2, 0.1],
            {"phases": ["void", "glass"]},
            "void 0 and fibre 1 have",
        ),
        ([[0.5, 0.5]] * 2, 0.2, {"phases": "void"}, "voids 0 and 1 are one void listed twice"),
        ([[0.3, 0.05], [0.3, 0.45]], 0.06, {"height": 0.5}, r"comes back at \(0\.3, -0\.05\)"),
        ([[0.5, 0.2]], 0.2, {"height": 0}, "height = 0 is out of range"),
        # Half as high as wide, in a unit of a tenth of the width
        (
            [[0.0, 0.0], [9.0, 4.5], [4.0, 2.0]],
            0.1,
            {"height": 0.5},
            r"1\] = \(9, 4\.5\) .* \[-0\.5, 1\.5\] widths .* \[-0\.25, 0\.75\] for y\. .*th, .* 9$",
        ),
        ([[0.3, 0.5], [0.72, 0.5]], 0.2, {"interphase": 0.011}, "with their interphase overlap"),
        ([[0.5, 0.5]], 0.3, {"phases": ["void"] * 2}, "phases has 2 names for 1 fibres"),
        ([[0.5, 0.5]], 0.3, {"phases": "void", "E_GPa": [70.0]}, r"E_GPa\[0\] = 70 must be NaN"),
        ([[0.5, 0.5]], 0.3, {"E_GPa": [-1.0]}, r"E_GPa\[0\] = -1\.0 is out of range"),
    ],
)
def test_given_fibres_that_make_no_sense_are_refused(centres, radii, others, message):
    with pytest.raises(ValueError, match=message):
        Microstructure(centres, radii, **others)


def test_a_pattern_is_translated_only_where_it_grazes_an_edge():
    clear = Microstructure([[0.5, 0.45], [0.0, 0.0]], [0.2, 0.1])
    assert clear_of_edges(clear) is clear
    moved = clear_of_edges(Microstructure([[0.201, 0.45], [0.7, 0.05]], [0.2, 0.1]))
    np.testing.assert_array_equal(moved.radii, clear.radii)
    shift = moved.centres - [[0.201, 0.45], [0.7, 0.05]]
    np.testing.assert_allclose((shift[1] - shift[0] + 0.5) % 1.0, 0.5, atol=1e-12)
    for side in (-1, 1):
        ends = moved.centres + side * moved.radii[:, None]
        assert np.abs(ends - np.round(ends)).min() > 0.05
    assert clear_of_edges(moved) is moved  # no translation is better


SEVERAL = [("uniform", 0.5), ("lognormal", 0.5)]
SIZES = [(0.4, 30, 1.14), (0.5, 30, 1.14), (0.5, 30, 1.2), (0.3, 1, 1.14)]
REQUESTS = [(*sizes, "equal", 0.0) for sizes in SIZES]
REQUESTS += [(vf, 20, 1.14, *several) for vf in (0.05, 0.5) for several in SEVERAL]


@pytest.mark.parametrize(("vf", "n", "spacing", "law", "cov"), REQUESTS)
def test_volume_fraction_and_spacing_are_exact(vf, n, spacing, law, cov):
    settings = {"n_fibres": n, "min_spacing": spacing, "radii": law, "radii_cov": cov}
    m = random_microstructure(vf, 2, **settings)
    assert len(m.centres) == n
    assert m.volume_fraction == pytest.approx(vf, rel=1e-14)
    least = spacing * (m.radii[:, None] + m.radii)
    distances = periodic_distances(m.centres, m.centres) + 9.0 * np.eye(n)
    assert (distances >= least * (1 - 1e-12)).all()
    assert m.centres.min() >= 0
    assert m.centres.max() < 1
    np.testing.assert_array_equal(random_microstructure(vf, 2, **settings).centres, m.centres)


def test_an_infeasible_request_is_refused_with_the_limit():
    limit = largest_volume_fraction(30, 1.3)
    with pytest.raises(ValueError, match=rf"vf = 0\.49 is out of range.*vf <= {limit:.4f}"):
        random_microstructure(0.49, 1, min_spacing=1.3)
    advice = r"; for this one give a min_spacing \(option --min-spacing\) of at most "
    with pytest.raises(ValueError, match=advice + r"1\.212$"):  # √(.72 / .49)
        random_microstructure(0.49, 1, min_spacing=1.3)
    assert random_microstructure(0.49, 1, min_spacing=1.212).volume_fraction == pytest.approx(0.49)
    with pytest.raises(ValueError, match=r"vf \+ void_fraction <= 0\.5540" + advice + r"1\.095$"):
        random_microstructure(0.5, 0, min_spacing=1.14, void_fraction=0.1)
    settings = {"min_spacing": 1.095, "void_fraction": 0.1}
    assert random_microstructure(0.5, 0, **settings).porosity == pytest.approx(0.1)
    # The default ends before the fibres freeze; a wider spacing than its least one can still fit.
    default = (
        r"vf = 0\.62 .*: 30 fibres with the default spacing.* <= 0\.6151" + advice + r"1\.077$"
    )
    with pytest.raises(ValueError, match=default):
        random_microstructure(0.62, 1)
    assert random_microstructure(0.62, 1, min_spacing=1.077).volume_fraction == pytest.approx(0.62)
    with pytest.raises(ValueError, match=r"vf = 0\.75 is out of range.* <= 0\.6151$"):
        random_microstructure(0.75, 0)  # too much for any spacing
    with pytest.raises(ValueError, match=r"void_fraction = 0\.4 is out of range: 30 fibres and 20"):
        random_microstructure(0.6, 0, min_spacing=1.02, void_fraction=0.4)
    with pytest.raises(ValueError, match=r"void_radius = 0\.01 is out of range: it needs 1500 vo"):
        random_microstructure(0.2, 0, void_fraction=0.001, void_radius=0.01)
    assert random_microstructure(0.98 * limit, 1, min_spacing=1.3).volume_fraction > 0.41


@pytest.mark.parametrize(
    ("n", "spacing"), [(1, 1.14), (5, 1.14), (13, 1.14), (30, 1.14), (1, 1.0), (1, 1.02), (2, 1.0)]
)
def test_everything_below_the_limit_is_found(n, spacing):
    vf = 0.999 * largest_volume_fraction(n, spacing)
    micro = random_microstructure(vf, 5, n_fibres=n, min_spacing=spacing)
    assert micro.volume_fraction == pytest.approx(vf)


def jams(vf, seed):
    spacing = 2 * math.sqrt(vf / (30 * math.pi)) * 1.14
    return sequential_addition(np.random.default_rng(seed), 30, spacing) is None


def neighbours(vf, seeds):
    """Centre distances of all pairs in each microstructure, in least distances, sorted by fibre."""
    microstructures = [random_microstructure(vf, seed) for seed in seeds]
    distances = [
        periodic_distances(m.centres, m.centres) / (2 * m.radii[0] * 1.14) for m in microstructures
    ]
    return np.sort(distances, axis=-1)[..., 1:]


@pytest.mark.parametrize("vf", [0.4, pytest.param(0.45, marks=pytest.mark.slow)])
def test_a_microstructure_does_not_tell_whether_its_first_sequence_jammed(vf):
    """Fibres touch as rarely, and all distances have the same distribution."""
    assert all(jams(vf, seed) for seed in JAMMED[vf][:3])
    assert not any(jams(vf, seed) for seed in UNJAMMED[vf][:3])
    jammed, unjammed = (neighbours(vf, seeds[vf]) for seeds in (JAMMED, UNJAMMED))
    contacts = [(r < 1.001).sum(axis=-1).mean() for r in (jammed, unjammed)]
    assert max(contacts) < 0.06  # 1.7 in a microstructure that was only relaxed
    for statistic in (  # of each microstructure: nearest and six nearest fibres, close pairs
        lambda r: r[..., 0].mean(axis=-1),
        lambda r: r[..., :6].mean(axis=(-2, -1)),
        lambda r: (r < 1.1).sum(axis=(-2, -1)),
        lambda r: (r < 1.4).sum(axis=(-2, -1)),
    ):
        assert stats.ks_2samp(statistic(jammed), statistic(unjammed)).pvalue > 0.02


@pytest.mark.slow
def test_monte_carlo_sweeps_make_all_admissible_microstructures_equally_probable(monkeypatch):
    """Four discs against random points of which those that keep their distance are taken."""
    rng = np.random.default_rng(4)
    distance = 0.36
    n = 4
    drawn = rng.random((50_000, n, 2))
    gaps = drawn[:, :, None] - drawn[:, None]
    gaps -= np.round(gaps)
    pairs = np.sort(np.hypot(gaps[..., 0], gaps[..., 1])[:, *np.triu_indices(n, 1)], axis=1)
    pairs = pairs[pairs[:, 0] >= distance]
    monkeypatch.setattr(packing, "_SWEEPS", 200)  # enough for four
    walked = []
    x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    for _ in range(300):
        x = equilibrated(rng, x, distance)
        walked.append(np.sort(periodic_distances(x, x)[np.triu_indices(n, 1)]))
    for rank in range(6):
        assert stats.ks_2samp(np.array(walked)[:, rank], pairs[:, rank]).pvalue > 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("vf", "n"), [(0.45, 30), (0.5, 20), (0.5, 30), (0.5, 60)])
def test_dense_microstructures_share_no_direction(vf, n):
    """Means of cos 4θ and cos 6θ over 200 microstructures are small: nearest and six nearest."""
    means = []
    for seed in range(200):
        centres = random_microstructure(vf, seed, n).centres
        apart = centres[:, None] - centres
        apart -= np.round(apart)
        distances = np.hypot(*np.moveaxis(apart, 2, 0)) + np.eye(n)
        six = np.argsort(distances, axis=1)[:, :6]
        x, y = np.moveaxis(np.take_along_axis(apart, six[..., None], axis=1), 2, 0)
        angles = np.arctan2(y, x)
        means.append([np.cos(k * angles[:, :near]).mean() for k in (4, 6) for near in (1, 6)])
    assert np.abs(np.mean(means, axis=0)).max() < 0.03


@pytest.mark.parametrize("n", [20, 30, pytest.param(60, marks=pytest.mark.slow)])
def test_the_default_spacing_gives_one_pattern_to_all_dense_microstructures(n):
    """Above v_f = 0.49 only the radii change, and so directions that were measured at 0.5 hold."""
    largest = largest_volume_fraction(n, None)
    pattern, *others = (random_microstructure(vf, 2, n).centres for vf in (0.5, 0.55, 0.6, largest))
    for other in others:
        np.testing.assert_allclose(
            periodic_distances(other, other), periodic_distances(pattern, pattern), atol=1e-6
        )


@pytest.mark.slow
def test_dense_composites_have_the_same_shear_modulus_along_the_axes_and_at_45_degrees():
    """At v_f = 0.6, where fibres nearly touch: less dense microstructures have the same pattern.

    The standard error of the ratio is 0.7 %.
    """
    phases = named_phases("glass_epoxy")
    moduli = []
    for seed in range(70):
        micro = random_microstructure(0.6, seed)
        C = effective_constants(phases, micro, resolution=3).stiffness_GPa
        moduli.append([C[3, 3], (C[0, 0] + C[1, 1] - 2 * C[0, 1]) / 4])  # G at 0° and at 45°
    along, diagonal = np.mean(moduli, axis=0)
    assert diagonal / along == pytest.approx(1.0, abs=0.01)


def test_the_default_spacing_is_that_of_the_paper_and_falls_in_dense_microstructures():
    assert spacing_of(None, 0.4, 30) == 1.14
    for n in (1, 3, 10, 30):
        limit = largest_volume_fraction(n, None)
        assert limit > 0.57
        assert 1.02 <= spacing_of(None, limit, n) < 1.0201
        assert random_microstructure(limit, 3, n).volume_fraction == pytest.approx(limit)


def test_a_hexagonal_array_has_its_distance():
    assert hexagonal_distance(math.pi / math.sqrt(12)) == pytest.approx(1.0)  # where fibres touch
    one = Microstructure([[0.2, 0.3]], 0.25)
    assert one.nearest_distances.tolist() == [2.0]  # its own periodic image
    assert hexagonal(0.47).nearest_distances == pytest.approx([hexagonal_distance(0.47)] * 2)


@pytest.mark.parametrize(("law", "cov"), SEVERAL)
def test_radii_have_the_coefficient_of_variation_and_shape_of_their_law(law, cov):
    m = random_microstructure(0.2, 3, n_fibres=300, radii=law, radii_cov=cov)
    r = m.radii / m.radii.mean()
    assert r.std() == pytest.approx(cov, rel=0.1)
    width = math.sqrt(math.log1p(cov**2))
    shape = {
        "uniform": stats.uniform(1 - math.sqrt(3) * cov, 2 * math.sqrt(3) * cov),
        "lognormal": stats.lognorm(width, scale=math.exp(-(width**2) / 2)),
    }[law]
    assert stats.kstest(r, shape.cdf).pvalue > 0.01


def test_several_radii_that_jam_are_relaxed(monkeypatch):
    """As with equal ones, all pairs keep their distance; hardly any touch after the sweeps."""
    monkeypatch.setattr(microstructure, "_RSA_STARTS", 0)
    monkeypatch.setattr(microstructure, "_SATURATION", 1.0)  # so that starts are counted
    m = random_microstructure(0.45, 4, radii="uniform", radii_cov=0.3)
    ratio = periodic_distances(m.centres, m.centres) + 9.0 * np.eye(30)
    ratio /= 1.14 * (m.radii[:, None] + m.radii)
    assert ratio.min() >= 1 - 1e-12
    assert (ratio.min(axis=1) < 1.001).mean() < 0.1


def test_a_radius_too_small_for_a_mesh_is_an_error_of_the_microstructure():
    with pytest.raises(MicrostructureError, match=r"smallest of 1000 inclusions has the radius"):
        random_microstructure(0.005, 0, n_fibres=1000, radii="lognormal", radii_cov=0.5)


@pytest.mark.parametrize(
    ("phases", "radius"),
    [
        (3 * ("fibres",), 0.1),
        (("fibres", "rubber", "void"), 0.2),  # neither particles nor voids are fibres
        (("glass", "carbon", "void"), 0.125),
        (("void", "void", "void"), 0.1),
    ],
)
def test_the_radius_of_the_fibres_is_that_of_no_other_phase(phases, radius):
    centres, radii = [[0.3, 0.3], [0.7, 0.7], [0.7, 0.2]], [0.2, 0.05, 0.05]
    micro = microstructure.Microstructure(centres, radii, phases=phases)
    assert micro.fibre_radius == pytest.approx(radius)
    if phases != 3 * ("void",):
        assert micro.coated(0.01).interphase == pytest.approx(0.01 * radius)
    side = 1e-3 * 7.0 / (2 * radius)
    glass = named_phases("glass_epoxy_debonding")
    others = dict.fromkeys(("rubber", "glass", "carbon"), glass.fibres)
    assert glass.fibre_diameter_um == 7.0
    assert side_of_rve(dataclasses.replace(glass, others=others), micro) == pytest.approx(side)
