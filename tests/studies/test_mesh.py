"""Errors of stresses on the default mesh, by comparison with a mesh at least 1.9 times as fine."""

import numpy as np
import pytest

from studies.mesh.materials import AXES, FINENESS, SATURATING, SEEDS, solve

CASES = [
    ("glass_epoxy", "fibres", "tension", 0.01),
    ("glass_epoxy", "fibres", "shear", 0.008),
    ("glass_epoxy", "void", "tension", 0.01),
    (SATURATING, "fibres", "tension", 0.01),
    (SATURATING, "fibres", "shear", 0.01),
    (SATURATING, "void", "tension", 0.01),
    ("boron_aluminium", "fibres", "tension", 0.002),
    ("boron_aluminium", "fibres", "shear", 0.002),
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
