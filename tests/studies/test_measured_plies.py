"""The page of validation has what the table of measured plies has, in numbers and in words."""

import pytest

from studies.measured_plies.__main__ import (
    PAGE,
    PLIES,
    plies,
    stored,
    variations,
    without_simulation,
)

STORED = stored()
RATIOS = {  # smallest and largest ratio of RVEs to measured plies, in the sentences of the page
    "E_L_GPa": (0.95, 1.09),
    "E_T_GPa": (0.79, 0.82),
    "G_LT_GPa": (0.74, 0.93),
    "nu_LT": (0.88, 0.91),
    "alpha_T_per_K": (0.96, 1.35),
}


@pytest.mark.parametrize("name", RATIOS)
def test_rves_differ_from_measured_plies_as_the_page_states(name):
    both = [(STORED[ply, "RVEs of 30 fibres"], STORED[ply, "measured"]) for ply in PLIES]
    ratios = [rve[name][0] / ply[name][0] for rve, ply in both if name in ply]
    assert (min(ratios), max(ratios)) == pytest.approx(RATIOS[name], abs=0.006)


def test_all_formulas_are_below_the_measured_moduli_across_the_fibres():
    for (ply, _), values in without_simulation().items():
        for name in ("E_T_GPa", "G_LT_GPa"):
            assert values[name][0] <= STORED[ply, "measured"][name][0], (ply, name)


def test_the_page_and_the_formulas_are_those_of_the_table():
    for key, values in without_simulation().items():
        for name, (value, _) in values.items():
            assert value == pytest.approx(STORED[key][name][0], rel=1e-5), (key, name)
    page = PAGE.read_text(encoding="utf-8")
    assert plies(STORED) in page
    assert variations(STORED) in page
