"""Errors of stresses and properties on the default mesh, by comparison with a finer mesh."""

import numpy as np
import pytest

from figures.pipeline.paths import ROOT
from studies.mesh import paper
from studies.mesh.materials import AXES, FINENESS, SATURATING, SEEDS, solve

CASES = [
    ("glass_epoxy", "fibres", "tension", 0.01),
    ("glass_epoxy", "fibres", "shear", 0.008),
    (SATURATING, "fibres", "shear", 0.01),
    (SATURATING, "void", "tension", 0.01),
    ("boron_aluminium", "fibres", "tension", 0.002),
    ("boron_aluminium", "void", "tension", 0.002),
]


@pytest.mark.slow
@pytest.mark.parametrize(("material", "kind", "axis", "strain"), CASES)
def test_stresses_of_the_default_mesh_err_by_less_than_3_per_mille(material, kind, axis, strain):
    """Plastic strains vary most next to fibres, where a layer of thin elements follows them."""
    component, _ = AXES[axis]
    stress, fine = (
        solve(material, kind, axis, SEEDS[0], strain, fineness)[0].history["stress"][1:, component]
        for fineness in (None, FINENESS)
    )
    np.testing.assert_allclose(stress, fine, rtol=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("vf", [0.07, 0.39])
def test_the_page_has_the_errors_of_properties_on_the_default_mesh(vf):
    default, finest = (
        paper.compared_values(paper.solve(vf, fineness)[0]) for fineness in (1.0, paper.FINEST)
    )
    errors = " | ".join(f"{error:.2f}" for error in 100 * (default / finest - 1))
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert f"| {vf} | {errors} |".replace("-", "−") in page
