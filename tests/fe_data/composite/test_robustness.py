"""Shipped materials follow paths to a strain of 3 %, or name the physical limit that ends them."""

import math

import numpy as np
import pytest

from fe_data import (
    Isotropic,
    Loading,
    Microstructure,
    Settings,
    VolumeFraction,
    named_phases,
    solve_composite,
)
from fe_data.composite.ellipticity import is_elliptic
from fe_data.composite.material_points import MaterialPoints
from fe_data.composite.phases import EXAMPLES
from fe_data.composite.properties import solve_material
from fe_data.dataset.collection import warning_of
from fe_data.geometry.microstructure import random_microstructure

COARSE = 4.0  # elements per fibre diameter
# Materials that break end their paths at a drop of the stress.
BREAKING = {"glass_epoxy_debonding", "glass_epoxy_ly556_breaking"}
LIMIT = "has lost ellipticity in"
LOADINGS = {
    "tension": Loading((0.03, None, None)),
    "compression": Loading((-0.03, None, None)),
    "transverse shear": Loading((None, None, 0.03)),
    "longitudinal shear": Loading((None, None, None, None, 0.03, None)),
    "biaxial tension": Loading((0.03, 0.03, None)),
    "cycle": Loading([(0.03, None, None), (-0.03, None, None), (0.0, None, None)]),
}


def follows(material, vf, n_fibres, resolution, loading, increments=30):
    """Assert that a path reaches its end, or that its error names a physical limit."""
    one = Microstructure([[0.5, 0.5]], math.sqrt(vf / math.pi))
    fibres = one if n_fibres == 1 else random_microstructure(vf, 2, n_fibres)
    rve = solve_composite(
        named_phases(material),
        fibres,
        LOADINGS[loading],
        increments=increments,
        resolution=resolution,
        partial=True,
        silent=True,
    )
    assert rve.stop is None or LIMIT in str(rve.stop), rve.stop
    return rve


@pytest.mark.slow
@pytest.mark.parametrize("loading", ["tension", "transverse shear", "longitudinal shear"])
def test_one_fibre_in_epoxy_follows_each_path(loading):
    follows("glass_epoxy", 0.4, 1, 3.0, loading, 15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("material", "strain", "warns"),
    [("glass_epoxy", -0.03, True), ("glass_epoxy", 0.005, False), ("boron_aluminium", 0.03, False)],
)
def test_a_complete_path_says_whether_its_stress_depends_on_the_mesh(material, strain, warns):
    """Epoxy that hardly hardens loses ellipticity; metal with linear hardening does not."""
    fibres = random_microstructure(0.5, 2, 2)
    phases, settings = named_phases(material), Settings(strain=strain, resolution=3.0, increments=8)
    rve = solve_material(phases, VolumeFraction(0.5), fibres, settings, silent=True)
    assert rve.stop is None
    assert (LIMIT in rve.solution.warning) == warns
    assert rve.effective.warning.endswith(rve.solution.warning)
    assert rve.result().info.get("mesh_warning", "") == rve.solution.warning
    assert warning_of({"info": rve.result().info, "loading": {}}) == rve.solution.warning


# The shipped materials with the laws of the resins and metals, and each loading, at least once
GRID = [
    ("glass_epoxy", 0.6, 1, COARSE, "cycle"),
    ("glass_epoxy", 0.4, 6, None, "compression"),
    ("glass_epoxy_ly556", 0.1, 12, COARSE, "transverse shear"),
    ("carbon_epoxy", 0.1, 6, COARSE, "biaxial tension"),
    ("carbon_epoxy", 0.4, 6, COARSE, "longitudinal shear"),
    ("carbon_epoxy_t300", 0.4, 6, COARSE, "tension"),
    ("boron_aluminium", 0.4, 12, COARSE, "cycle"),
    ("paper", 0.4, 30, COARSE, "biaxial tension"),
]


MATERIALS = sorted({*(file.stem for file in EXAMPLES.glob("*.yaml"))} - BREAKING)


def sample(number, seed):
    """Combinations of all shipped materials in turn, most of them small."""
    rng = np.random.default_rng(seed)
    return [
        (
            MATERIALS[i % len(MATERIALS)],
            float(rng.choice([0.1, 0.4, 0.6])),
            int(rng.choice([1, 4, 6, 12], p=[0.5, 0.35, 0.12, 0.03])),
            COARSE if rng.random() < 0.85 else None,
            str(rng.choice(list(LOADINGS))),
        )
        for i in range(number)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("material", "vf", "n_fibres", "resolution", "loading"), GRID + sample(10, 0)
)
def test_shipped_materials_follow_each_path_or_name_the_limit(
    material, vf, n_fibres, resolution, loading
):
    follows(material, vf, n_fibres, resolution, loading)


@pytest.mark.slow
def test_a_path_along_which_strain_concentrates_needs_few_iterations():
    """Trials that had diverged, and a damping that stayed large, took three times as many."""
    counts = follows("carbon_epoxy", 0.6, 1, COARSE, "cycle").info
    assert counts["newton_iterations"] < 700
    assert counts["cutbacks"] <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["carbon_epoxy", "glass_epoxy"])
@pytest.mark.parametrize("size", [1e-5, 1e-3, 0.1])
def test_stress_and_tangent_are_right_after_random_strains_near_the_axis_of_pressure(name, size):
    """The tangent is the derivative of the stress, and a point that yields is on its surface."""
    rng = np.random.default_rng(0)
    material = named_phases(name).matrix
    points = MaterialPoints(material)
    strain = size * rng.normal(size=(300, 6))
    strain[100:, :3] = size * rng.normal(size=(200, 1))
    strain[200:, 3:] = 0.0  # only pressure
    for state in (points.rest(300), points.evaluate(0.5 * strain, points.rest(300)).state):
        response = points.evaluate(strain, state)
        tangent = response.tangent()
        step = 1e-6 * size
        for i, direction in enumerate(step * np.eye(6)):
            ends = [points.evaluate(strain + s * direction, state).stress for s in (1, -1)]
            slopes = (ends[0] - ends[1]) / (2 * step)
            largest = np.linalg.norm(material.elasticity.stiffness)
            np.testing.assert_allclose(tangent[:, :, i], slopes, rtol=0, atol=1e-5 * largest)
        yields = response.state["p"] > state["p"]
        tension, compression = (
            material.parameters[key](response.state["p"]) for key in ("tension", "compression")
        )
        mean = response.stress[:, :3].mean(axis=1)
        deviator = response.stress - mean[:, None] * [1, 1, 1, 0, 0, 0]
        # 6 J_2 + 6 m (σ_c - σ_t) - 2 σ_c σ_t
        surface = 3 * (deviator**2).sum(axis=1) + 6 * mean * (compression - tension)
        surface -= 2 * tension * compression
        relative = surface / (2 * tension * compression)
        assert (relative < 1e-7).all()
        np.testing.assert_allclose(relative[yields], 0.0, atol=1e-7)


@pytest.mark.parametrize("size", [4, 6])
@pytest.mark.parametrize("angle", [0.0, 45.0])
def test_a_band_forms_when_the_stiffness_in_shear_is_lost(size, angle):
    """With the normal x the acoustic tensor of shear stiffness G' along x, y is (λ + 2μ, G')."""
    tangent = np.tile(Isotropic(3.0, 0.35).stiffness[:size, :size], (3, 1, 1))
    c, s = math.cos(math.radians(2 * angle)), math.sin(math.radians(2 * angle))
    shear = np.zeros(size)  # unit tensor of shear along axes turned by the angle
    shear[[0, 1, 3]] = [-s * math.sqrt(0.5), s * math.sqrt(0.5), c]
    mu = Isotropic(3.0, 0.35).shear
    for point, remaining in enumerate((1.0, 0.01, -0.01)):
        tangent[point] -= 2 * mu * (1 - remaining) * np.outer(shear, shear)
    assert is_elliptic(tangent).tolist() == [True, True, False]
