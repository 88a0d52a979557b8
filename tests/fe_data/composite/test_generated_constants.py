"""Outputs of `generate` with a material: constants, and power laws without meaning."""

import dataclasses

import numpy as np
import pytest

from fe_data import (
    Design,
    Settings,
    effective_constants,
    generate,
    named_phases,
    verify,
)
from fe_data.composite import properties
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.properties import EffectiveProperties

GLASS = named_phases("glass_epoxy")
COARSE = Settings(n_fibres=2, resolution=2.0, increments=10, strain=0.02)
DESIGN = Design("own", 0, np.full((1, 4), [0.3, 400.0, 400.0, 0.4]), [0])


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_dataset_of_a_material_has_all_constants(tmp_path):
    choices = {"phases": GLASS, "silent": True}
    for name, constants in (("plain", False), ("constants", True)):
        generate(DESIGN, COARSE, tmp_path / name, constants=constants, **choices)
        assert verify(tmp_path / name)[0] == []
    tables = [tmp_path / name / "dataset.csv" for name in ("plain", "constants")]
    plain, full = (path.read_text().splitlines() for path in tables)
    assert "E_T_GPa" in plain[0].split(",")
    row = dict(zip(full[0].split(","), full[1].split(","), strict=True))
    micro = random_microstructure(0.3, int(row["seed"]), 2, COARSE.min_spacing)
    homogeneous = effective_constants(GLASS, micro, resolution=2.0)
    for name, value in dataclasses.asdict(homogeneous.constants).items():
        assert float(row[name]) == pytest.approx(value, rel=1e-9), name
    assert float(row["alpha_T_per_K"]) == pytest.approx(homogeneous.alpha_T_per_K, rel=1e-9)
    assert float(row["transverse_misfit"]) == pytest.approx(homogeneous.misfit, rel=1e-6)
    with pytest.raises(ValueError, match=r"another configuration \(constants"):
        generate(DESIGN, COARSE, tmp_path / "plain", constants=True, **choices)


GOOD = EffectiveProperties(500.0, 0.4, 120.0, 0.28, 1e-3, 0.0, 0.0, 119.0, "")


@pytest.mark.parametrize(
    ("b", "c", "fitted"),
    [(500.0, 0.4, True), (1e4, 1.0, True), (4.6e12, 0.9, False), (500.0, 1.3, False)],
)
def test_a_power_law_beyond_the_bounds_is_not_kept(b, c, fitted):
    bounded = properties._fitted_within_bounds(dataclasses.replace(GOOD, b_eff_MPa=b, c_eff=c))
    assert bounded.is_fitted is fitted
    assert ("use the curve" in bounded.warning) is not fitted
    assert bounded.E_eff_GPa == GOOD.E_eff_GPa
