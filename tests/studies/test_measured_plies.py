"""The page of validation describes the table of measured plies, whose formulas are computed."""

import pytest

from figures.pipeline.paths import ROOT
from studies.measured_plies.__main__ import (
    FIBRES,
    PLIES,
    VARIATIONS,
    VARIED,
    plies,
    stored,
    variations,
    without_simulation,
)

PAGE = " ".join((ROOT / "docs" / "validation.md").read_text(encoding="utf-8").split())
STORED = stored()
WIDEST = ("carbon_epoxy", "glass_epoxy_ly556")  # the largest differences of E_L
CARBON = [ply for ply in PLIES if ply.startswith("carbon")]
SENTENCES = [  # constant, and words with the smallest and the largest difference of some plies [%]
    ("E_T_GPa", "The RVEs are {} to {} % below the measured E_T", PLIES),
    ("G_LT_GPa", "and {} to {} % below G_LT", PLIES),
    ("E_L_GPa", "E_L is {1} % above (AS4/3501-6) to {0} % below (E-glass/LY556)", WIDEST),
    ("nu_LT", "ν_LT is {} to {} % below all four", PLIES),
    ("alpha_T_per_K", "and {} to {} % above those of the carbon plies", CARBON),
]


@pytest.mark.parametrize(("name", "words", "compared"), SENTENCES)
def test_rves_differ_from_measured_plies_as_the_page_states(name, words, compared):
    both = [(STORED[ply, "RVEs of 30 fibres"], STORED[ply, "measured"]) for ply in compared]
    differences = [100 * abs(rve[name][0] / ply[name][0] - 1) for rve, ply in both if name in ply]
    assert words.format(f"{min(differences):.0f}", f"{max(differences):.0f}") in PAGE


def test_numerical_choices_change_the_constants_as_the_page_states():
    usual = STORED[VARIED, f"RVEs of {FIBRES} fibres"]
    largest = {
        name: max(
            100 * abs(STORED[VARIED, label][name][0] / usual[name][0] - 1) for label in VARIATIONS
        )
        for name in ("E_T_GPa", "G_LT_GPa")
    }
    words = "change E_T by at most {E_T_GPa:.1f} % and G_LT by at most {G_LT_GPa:.1f} %"
    assert words.format(**largest) in PAGE


def test_all_formulas_are_below_the_measured_moduli_across_the_fibres():
    for (ply, _), values in without_simulation().items():
        for name in ("E_T_GPa", "G_LT_GPa"):
            assert values[name][0] <= STORED[ply, "measured"][name][0], (ply, name)


def test_the_formulas_are_those_of_the_table():
    for key, values in without_simulation().items():
        for name, (value, _) in values.items():
            assert value == pytest.approx(STORED[key][name][0], rel=1e-5), (key, name)


def test_the_printed_tables_have_a_row_for_each_ply_and_each_change():
    assert len(plies(STORED).splitlines()) == 2 + 2 * len(PLIES)
    assert len(variations(STORED).splitlines()) == 3 + len(VARIATIONS)
