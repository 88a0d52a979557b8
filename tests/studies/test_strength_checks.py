"""The checks of strengths: what the pages say of the committed results, and an interrupted run."""

import csv
import shutil
import sys

import numpy as np
import pytest

from fe_data import named_phases
from fe_data.composite.formulas import puck
from fe_data.composite.interface import STRENGTHS, strength_loading
from figures.pipeline.paths import ROOT
from studies.results import Results
from studies.strength_checks import __main__ as strength_checks
from studies.strength_checks.__main__ import PAGES, PEER, RESULTS, blocks, halves
from studies.strength_checks.simulation import KEY, N_ENDS, N_HALVES, PLY, cases, ends
from studies.strength_checks.summary import LAST_STRAINS, Study


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(Results(RESULTS, KEY).rows)


def test_the_pages_have_the_tables_of_the_committed_results(study):
    tables = blocks(study)
    for page, names in PAGES.items():
        text = page.read_text(encoding="utf-8")
        for name in names:
            assert f"<!-- {name} -->\n{tables[name]}\n<!-- end {name} -->" in text


def test_the_file_has_a_row_for_each_case(study):
    keys = [tuple(row[name] for name in KEY) for row in study.rows]
    assert sorted(keys) == sorted(case.key for case in cases())


def test_the_envelope_is_as_the_page_says():
    with (ROOT / "docs" / "tables" / "envelope.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    angles = {row["angle_deg"] for row in rows}
    assert (len(rows), len(angles)) == (27, 9)
    assert all(row["is_reached"] == "True" for row in rows)
    stresses = {
        angle: np.array(
            [
                [float(row[f"{name}_MPa"]) for name in ("transverse", "shear")]
                for row in rows
                if row["angle_deg"] == angle
            ]
        )
        for angle in angles
    }
    mean = {angle: at_angle.mean(axis=0) for angle, at_angle in stresses.items()}
    criterion = puck(mean["0.0"][0], -mean["180.0"][0], mean["90.0"][1])  # (2, n)
    for angle in ("135.0", "157.5"):
        direction = mean[angle] / np.linalg.norm(mean[angle])
        along = direction @ criterion / np.linalg.norm(criterion, axis=0)
        expected = criterion[:, along.argmax()]
        assert np.linalg.norm(mean[angle]) < 0.9 * np.linalg.norm(expected)
        assert (np.linalg.norm(stresses[angle], axis=1) < np.linalg.norm(expected)).all()


def test_a_run_into_another_file_prints_all_tables(study, tmp_path, monkeypatch, capsys):
    """Without another file the study repeats nothing, since all its results are committed."""
    copy = shutil.copy(RESULTS, tmp_path)
    monkeypatch.setattr(sys, "argv", ["strength_checks", "--results", copy])
    monkeypatch.setattr(strength_checks, "publish", lambda *_, **__: pytest.fail("written"))
    strength_checks.main()
    printed = capsys.readouterr().out
    assert all(table in printed for table in [halves(study), *blocks(study).values()])


def test_at_least_98_of_100_paths_reach_their_end(study):
    rows = study.of("ends")
    assert len(rows) == N_ENDS
    assert sum("reason" in row for row in rows) <= 0.02 * N_ENDS
    assert all(abs(row["energy_error"]) < 0.01 for row in rows if "reason" not in row)
    assert all(row["viscous_share"] < 0.02 for row in rows if "reason" not in row)


@pytest.mark.parametrize("loading", STRENGTHS)
def test_half_the_elements_and_half_the_steps_change_strengths_little(study, loading):
    assert len(study.changes("mesh", loading)) == N_HALVES
    assert np.abs(study.changes("mesh", loading)).mean() < 0.03
    assert np.abs(study.changes("step", loading)).max() < 0.01


def test_an_eighth_of_the_steps_changes_strengths_in_tension_little(study):
    assert np.abs(study.changes("eighth", STRENGTHS[0])).max() < 0.01


def test_the_page_states_the_effects_of_steps_and_elements(study):
    page = " ".join((ROOT / "docs" / "strength.md").read_text(encoding="utf-8").split())
    steps = [np.abs(study.changes("step", loading)).max() for loading in STRENGTHS]
    assert f"Half the steps change strengths by at most {100 * max(steps):.2f} %" in page
    changes = [100 * study.changes("mesh", loading).mean() for loading in STRENGTHS]
    numbers = (f"{change:.1f}".replace("-", "−") for change in changes)
    sentence = (
        "on average by {} % (transverse tension), {} % (compression), {} % and {} % (longitudinal"
    )
    assert sentence.format(*numbers) in page


def test_the_strengths_of_the_ply_differ_from_measurement_as_those_of_the_other_program(study):
    """Tension was not fitted, and is near; shear is too low, compression too high, for both."""
    measured = named_phases(PLY).measured
    for loading, strengths in study.plies().items():
        value = measured.get(f"{loading}_MPa")
        mean = np.nanmean(strengths)
        assert np.sign(mean - value) == np.sign(PEER[loading] - value) or (
            abs(mean / value - 1) < 0.1
        )


def test_the_page_states_the_differences_of_the_ply_from_measurement(study):
    measured = named_phases(PLY).measured
    differences = [
        abs(100 * (np.nanmean(strengths) / measured.get(f"{loading}_MPa") - 1))
        for loading, strengths in study.plies().items()
    ]
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    sentence = "within {:.0f} %, longitudinal shear {:.0f} % too low"
    assert sentence.format(max(differences[:2]), differences[2]) in page


def test_the_ends_have_each_loading_and_their_last_strains():
    loadings = [case.loading for case in ends()]
    assert {loadings.count(name) for name in STRENGTHS} == {N_ENDS // len(STRENGTHS)}
    for name, strain in LAST_STRAINS.items():
        assert strength_loading(name).largest_strain == pytest.approx(strain)


@pytest.mark.slow
def test_a_run_continues_after_an_interruption_with_the_committed_numbers(tmp_path, study):
    path = tmp_path / "results.jsonl"
    Results(path, KEY).solve_missing(cases(), 1, most=1)
    first = path.read_text(encoding="utf-8")
    Results(path, KEY).solve_missing(cases(), 1, most=1)
    assert path.read_text(encoding="utf-8").startswith(first)
    committed = {tuple(row[name] for name in KEY): row for row in study.rows}
    for row in Results(path, KEY).rows:
        expected = committed[tuple(row[name] for name in KEY)]["strength_MPa"]
        assert row["strength_MPa"] == pytest.approx(expected, rel=1e-4)
