"""What breaks meets voids, interphases, laws and cooling; and what must not matter."""

import numpy as np
import pytest

from fe_data import (
    Damage,
    Interface,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Phases,
    solve_composite,
)

RESIN = Isotropic(3.5, 0.35, alpha_per_K=58e-6)
GLASS = Material(Isotropic(70.0, 0.2, alpha_per_K=5e-6))
INTERFACE = Interface(50.0, 75.0, 2.0, 6.0, 7.0)
DAMAGE = Damage(0.01, 5.0, 7.0)
LAWS = {
    "j2": {"yield_stress": 60.0},
    "drucker_prager": {"compression": 80.0, "friction_angle_deg": 25.0, "dilation_angle_deg": 5.0},
    "paraboloidal": {"tension": 60.0, "compression": 90.0, "plastic_poisson_ratio": 0.4},
}
BREAKING = {
    "interface": (INTERFACE, None),
    "damage": (None, DAMAGE),
    "both": (INTERFACE, DAMAGE),
}
TWO = np.array([[0.25, 0.25], [0.75, 0.7]])
RVES = {
    "fibres": Microstructure(TWO, 0.25),
    "void": Microstructure(TWO, [0.25, 0.15], ["fibres", "void"]),
    "interphase": Microstructure(TWO, 0.22, interphase=0.04),
    "cooling": Microstructure(TWO, 0.25),
}
PULL = (0.02, *[None] * 5)
PULLED = Loading(PULL, increments=20)
COOLED = Loading([(None,) * 6, PULL], temperature=(-60.0, -60.0), increments=(3, 20))
# All pairs of what breaks with an RVE, and with a law
PAIRS = [(breaking, rve, "j2") for breaking in ("interface", "damage") for rve in RVES]
PAIRS += [(breaking, "fibres", law) for breaking in ("interface", "damage") for law in LAWS]
ALL = [(breaking, rve, law) for breaking in BREAKING for rve in RVES for law in LAWS]


def breakable(breaking, law):
    """Phases with a breaking interface or matrix; the interphase breaks as the matrix does."""
    interface, damage = BREAKING[breaking]
    matrix = Material(RESIN, law, LAWS[law], damage)
    return Phases(matrix, GLASS, interface=interface, others={"interphase": matrix})


@pytest.mark.parametrize(
    ("breaking", "rve", "law"),
    [
        pytest.param(*case, marks=() if case in PAIRS else pytest.mark.slow, id="-".join(case))
        for case in ALL
    ],
)
def test_what_breaks_meets_voids_interphases_laws_and_cooling(breaking, rve, law):
    """Each path reaches its end or 2 % below its peak, and all energies are found."""
    phases = breakable(breaking, law)
    loading = COOLED if rve == "cooling" else PULLED
    choices = {"resolution": 3.0, "silent": True, "drop": 0.02}
    solved = solve_composite(phases, RVES[rve], loading, **choices)
    assert solved.stop is None
    strength = solved.strength
    assert 20.0 < strength.strength_MPa < 120.0
    assert abs(strength.energy_error) < 0.01
    history = solved.history
    assert ("damaged_fraction" in history) == (breaking != "damage")
    assert ("damaged_area" in history) == (breaking != "interface")
    assert strength.damaged_fraction + strength.damaged_area > 0.0
