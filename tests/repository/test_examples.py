"""Each script of examples/ runs at a small size, draws its picture and finds what it should."""

import os
import re
import runpy
import signal
import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import fe_data
from docs.gallery.pages import CARDS
from fe_data.dataset import executors
from tests.fe_data.analytic_cell import AnalyticCell

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
pytestmark = pytest.mark.usefixtures("few_draws")
PNG = b"\x89PNG\r\n"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs a script as its command does; returns what it prints, the picture being looked at."""

    def run_script(name: str, *arguments: str) -> str:
        picture = tmp_path / "picture.png"
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", [name, *arguments, "--out", str(picture)])
        runpy.run_module(f"examples.{name}", run_name="__main__")
        assert picture.read_bytes().startswith(PNG)
        said = capsys.readouterr().out
        if not set(arguments) & {"--train", "--data", "--no-fe2"}:
            kept = (GALLERY / f"{name}.txt").read_text(encoding="utf-8")
            assert skeleton(said) == skeleton(kept.replace(f"{name}.xdmf", "picture.xdmf"))
        return said

    yield run_script
    plt.close("all")


def numbers(text: str, pattern: str) -> list[float]:
    return [float(value) for value in re.search(pattern, text).groups()]


def test_every_example_is_run_here_and_is_in_its_readme_and_in_the_gallery():
    here = Path(__file__).read_text(encoding="utf-8")
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'run("{path.stem}"' in here
        assert f"\n| `{path.stem}` |" in text
        assert path.stem in CARDS
        assert (GALLERY / f"{path.stem}.png").read_bytes().startswith(PNG)


def skeleton(text: str) -> set[str]:
    """Printed lines without their numbers."""
    return {re.sub(r"-?\d[\d.]*", "#", " ".join(line.split())) for line in text.splitlines()}


@pytest.mark.slow
def test_cells_are_stiffer_than_the_matrix_and_softer_than_the_rule_of_mixtures(
    run, tmp_path, monkeypatch
):
    """0.3 of fibres of 400 GPa in a matrix of 100 GPa."""
    # Cells are simulated in this process: a worker would import dolfinx for seconds.
    monkeypatch.setattr(executors, "semaphores_work", lambda: False)
    data = str(tmp_path / "cells")
    said = run("cells", "--cells", "6", "--fibres", "5", "--jobs", "1", "--data", data)
    mean, band = numbers(said, r"E_eff \[GPa\] ([\d.]+) ± ([\d.]+)")
    assert 100 < mean < 0.3 * 400 + 0.7 * 100
    assert 0 < band < 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning", "ignore:.*fork:DeprecationWarning")
def test_the_loop_goes_on_wherever_it_is_killed(run, tmp_path, monkeypatch):
    """Killed before its second file, its fifth, ...; one cell a kill is simulated again at most."""
    log = tmp_path / "log"
    log.mkdir()
    cell = AnalyticCell(log=log)
    generate = fe_data.generate
    written = []
    unchanged = Path.replace
    monkeypatch.setattr(executors, "semaphores_work", lambda: False)
    monkeypatch.setattr(fe_data, "generate", partial(generate, simulator=cell, silent=True))
    sizes = "--start", "6", "--batch", "2", "--rounds", "1"
    said = run("next_cell", *sizes, "--data", str(tmp_path / "undisturbed"))
    assert "round 1: 8 RVEs" in said
    assert len(list(log.iterdir())) == 8

    def replace(path: Path, target: Path) -> Path:
        written.append(target)
        if len(written) == 3 * kills + 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return unchanged(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    kills = -1
    status = signal.SIGKILL
    while status == signal.SIGKILL:
        kills += 1
        if (child := os.fork()) == 0:
            try:
                run("next_cell", *sizes, "--data", str(tmp_path / "killed"))
            except BaseException:
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
    assert status == 0
    histories = [tmp_path / name / "history.csv" for name in ("killed", "undisturbed")]
    assert histories[0].read_bytes() == histories[1].read_bytes()
    assert 3 <= kills < 9
    assert len(list(log.iterdir())) <= 8 + 8 + kills


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_campaign_of_any_command_goes_on_after_a_kill(run, tmp_path):
    """Killed by the first command of its second round; none is run again but that one."""
    log = tmp_path / "log"
    go = tmp_path / "go"
    beam = f"echo $length $height $modulus >> {log}; "
    beam += f"[ -e {go} -o $(wc -l < {log}) -lt 9 ] || kill $PPID"
    deflection, stress = "$length ^ 3 / $modulus / $height ^ 3", "1e5 * $length / $height ^ 2"
    command = f"{beam}; awk 'BEGIN {{ print {deflection}, {stress} }}'"
    chosen = ("--command", command, "--runs", "10", "--data", str(tmp_path / "runs.json"))
    if (child := os.fork()) == 0:
        run("campaign", *chosen)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGTERM
    go.touch()
    said = run("campaign", *chosen)
    assert "round 1: 12 runs" in said
    asked = log.read_text(encoding="utf-8").splitlines()
    assert len(asked) == 13
    assert len(set(asked)) == 12
    [factor] = numbers(said, r"stress \[MPa\] [\d.]+, within a factor of ([\d.]+)")
    assert 1.0 < factor < 1.5


@pytest.mark.slow
def test_stiffness_is_sensitive_to_the_fibres_and_not_to_hardening(run):
    said = run("sensitivity", "--points", "128")
    pattern = r"E_eff_GPa: .* vf (.*) \(.*E_f_GPa (.*) \(.*b_m_MPa (.*) \(.*c_m (.*) \("
    vf, E_f, b_m, c_m = numbers(said, pattern)
    assert vf + E_f > 0.9
    assert max(abs(b_m), abs(c_m)) < 0.02
    assert "length scale / range of vf" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_a_table_is_learnt_scored_saved_and_loaded(run, tmp_path):
    said = run("table", "--rows", "40", "--test", "fe_data/datasets/test_uniform.csv")
    error, inside = numbers(said, r"E_eff_GPa +RMSE ([\d.]+) of the scatter, inside 95 % ([\d.]+)")
    assert "40 training rows, 50 test rows" in said
    assert error < 0.2
    assert inside > 0.8
    assert "loaded model predicts the same: True" in said
    assert (tmp_path / "picture.npz").exists()


@pytest.mark.slow
def test_errors_of_cross_validation_are_those_of_a_smooth_function(run):
    """E scatters by 13 GPa over the cells."""
    said = run("cross_validation", "--rows", "24", "--folds", "3")
    errors = [float(value) for value in re.findall(r"RMSE ([\d.]+) GPa", said)]
    assert len(errors) == 3
    assert max(errors) < 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_conformal_intervals_hold_cells_that_were_not_learnt(run):
    said = run("conformal", "--cells", "20")
    inside, width = numbers(said, r"CV\+ +inside 90% intervals ([\d.]+), width ([\d.]+) GPa")
    assert inside > 0.8  # CV+ promises 1 - 2 (1 - 0.9)
    assert 0.5 < width < 15


def test_a_cyclic_path_ends_in_a_loop_and_its_fields_in_a_file(run, tmp_path):
    said = run("cyclic", "--fibres", "3", "--cycles", "1")
    low, high = numbers(said, r"between (-[\d.]+) and ([\d.]+) MPa")
    assert 400 < high < 900  # above the first yield stress, below twice of it
    assert low < -high
    assert (tmp_path / "picture.xdmf").exists()


@pytest.mark.slow
def test_a_low_fidelity_model_reaches_beyond_the_data(run):
    said = run("low_fidelity", "--members", "4")
    pattern = r"(?s)uncertain +RMSE ([\d.]+).*corrected +RMSE ([\d.]+).*without +RMSE ([\d.]+)"
    uncertain, corrected, without = numbers(said, pattern)
    assert max(uncertain, corrected) < 0.5 * without


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_anchored_to_halpin_and_tsai_know_more_of_cells_with_many_fibres(run):
    said = run("anchored", "--cells", "16", "--members", "8", "--fibres", "12")
    starts, anchored = (float(n) for n in re.findall(r"RMSE ([\d.]+) GPa", said))
    assert anchored < starts / 2


@pytest.mark.slow
def test_mean_fields_of_uncertain_parameters_are_within_the_spread_of_cells(run):
    said = run("mean_fields", "--draws", "2")
    found = numbers(said, r"(?s)are +RMSE ([\d.]+).*uncertain +RMSE ([\d.]+), inside 95 % ([\d.]+)")
    assert max(found[:2]) < 0.12  # mean fields without a cell
    assert found[2] > 0.7


@pytest.mark.slow
def test_a_plate_is_stiffer_than_the_matrix_and_softer_than_its_stiffest_point(run):
    """Plane strain: a matrix of 100 GPa, and 0.37 of fibres of 400 GPa in the rule of mixtures."""
    modulus, band = numbers(run("plate", "--members", "3"), r"([\d.]+) ± ([\d.]+) GPa")
    assert 100 / (1 - 0.3**2) < modulus < (0.37 * 400 + 0.63 * 100) / (1 - 0.3**2)
    assert 0 < band < 0.05 * modulus


@pytest.mark.slow
def test_the_stress_on_paths_that_were_not_learnt_is_within_its_band(run):
    said = run("paths", "--paths", "40")
    found = re.findall(r"(\d+) % inside the band, error (\S+) of", said)
    assert len(found) == 3
    assert all(int(inside) >= 85 and float(error) < 2e-3 for inside, error in found)


@pytest.mark.slow
def test_members_of_a_surrogate_carry_a_plate_through_a_cycle(run):
    """The last iterations of Newton's method are quadratic, and members agree within a few %."""
    said = run("cyclic_plate", "--members", "3", "--steps", "3", "--paths", "40", "--no-fe2")
    residuals = [float(word) for word in re.findall(r"\de-\d\d", said)]
    assert residuals[-1] < 1e-6
    assert residuals[-1] < 10.0 * residuals[-2] ** 1.5
    force, band = numbers(said, r"end ([\d.]+) ± ([\d.]+), with")
    assert 0.0 < band < 0.05 * force


@pytest.mark.slow
def test_epoxy_is_stronger_in_compression_than_in_tension(run):
    said = run("epoxy", "--fibres", "3")
    for name in ("v_f = 0.4", "resin"):
        tension, compression, shear = numbers(
            said,
            rf"{name}, tension: ([\d.]+)[\s\S]*{name}, compression: ([\d.]+)[\s\S]*"
            rf"{name}, shear: ([\d.]+)",
        )
        assert compression > 1.2 * tension > 1.2 * shear > 0


@pytest.mark.slow
def test_cooling_pulls_at_the_matrix_and_presses_on_the_fibres(run):
    said = run("cooling", "--fibres", "8", "--kelvin", "50")
    matrix, fibres = numbers(said, r"in the matrix: ([\d.]+)[\s\S]*in the fibres: (-[\d.]+)")
    assert 0 < matrix < 30
    # Mean stresses are in equilibrium at a fibre fraction of one half.
    assert matrix == pytest.approx(-fibres, abs=0.11)


@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_constants_of_carbon_epoxy_are_between_their_phases(run):
    said = run("carbon", "--fibres", "2", "--seeds", "2")
    across, band = numbers(said, r"E_T_GPa at a fibre fraction of 0.35: ([\d.]+) ± ([\d.]+)")
    assert 4.2 < across < 15
    assert 0 < band < 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_composites_of_three_types_of_fibres_are_in_the_order_of_their_stiffness(run):
    said = run("categories", "--fibres", "2", "--rves", "6")
    found = re.findall(r"E_T_GPa ([\d.]+) ± ([\d.]+)", said)
    glass, carbon, boron = (float(modulus) for modulus, _ in found)
    assert 3.35 < carbon < glass < boron < 15
    assert all(0 < float(band) < 2 for _, band in found)
