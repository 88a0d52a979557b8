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
from tests.fe_data.analytic_rve import AnalyticRVE

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
            printed_text = (GALLERY / f"{name}.txt").read_text(encoding="utf-8")
            assert skeleton(said) == skeleton(printed_text.replace(f"{name}.xdmf", "picture.xdmf"))
        return said

    yield run_script
    plt.close("all")


def numbers(text: str, pattern: str) -> list[float]:
    return [float(value) for value in re.search(pattern, text).groups()]


def test_every_example_is_run_here_and_is_in_its_readme_and_in_the_gallery():
    here = Path(__file__).read_text(encoding="utf-8")
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'"{path.stem}"' in here or f'"{path.stem} --' in here
        assert f"\n| `{path.stem}` |" in text
        assert path.stem in CARDS
        assert (GALLERY / f"{path.stem}.png").read_bytes().startswith(PNG)


def skeleton(text: str) -> set[str]:
    """Printed lines without their numbers, and without the families of kernels.

    Which families have components depends on the number of draws, of which tests have fewer.
    """
    text = re.sub(r"(?m)^(length scale / range of \w+), .*", r"\1", text)
    return {re.sub(r"-?\d[\d.]*", "#", " ".join(line.split())) for line in text.splitlines()}


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_rves_are_stiffer_than_the_matrix_and_softer_than_the_rule_of_mixtures(run, tmp_path):
    """0.3 of fibres of 400 GPa in a matrix of 100 GPa."""
    data = str(tmp_path / "rves")
    said = run("rves", "--rves", "6", "--fibres", "5", "--jobs", "1", "--data", data)
    mean, band = numbers(said, r"E_eff \[GPa\] ([\d.]+) ± ([\d.]+)")
    assert 100 < mean < 0.3 * 400 + 0.7 * 100
    assert 0 < band < 60


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning", "ignore:.*fork:DeprecationWarning")
def test_the_loop_goes_on_wherever_it_is_killed(run, tmp_path, monkeypatch):
    """Killed before its second file, its fifth, ...; one RVE a kill is simulated again at most."""
    log = tmp_path / "log"
    log.mkdir()
    rve = AnalyticRVE(log=log)
    generate = fe_data.generate
    written = []
    unchanged = Path.replace
    monkeypatch.setattr(fe_data, "generate", partial(generate, simulator=rve, silent=True))
    sizes = "--start", "6", "--batch", "2", "--rounds", "1"
    said = run("next_rve", *sizes, "--data", str(tmp_path / "undisturbed"))
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
                run("next_rve", *sizes, "--data", str(tmp_path / "killed"))
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
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_a_table_is_learnt_scored_saved_and_loaded(run, tmp_path):
    said = run("table", "--rows", "40", "--test", "fe_data/datasets/test_uniform.csv")
    error, inside = numbers(said, r"E_eff_GPa +RMSE ([\d.]+) of the scatter, inside 95 % ([\d.]+)")
    assert "40 training rows, 50 test rows" in said
    assert error < 0.2
    assert inside > 0.8
    assert "loaded model predicts the same: True" in said
    assert (tmp_path / "picture.npz").exists()


def test_a_cyclic_path_ends_in_a_loop_and_its_fields_in_a_file(run, tmp_path):
    said = run("cyclic", "--fibres", "3", "--cycles", "1")
    low, high = numbers(said, r"between (-[\d.]+) and ([\d.]+) MPa")
    assert 400 < high < 900  # above the first yield stress, below twice of it
    assert low < -high
    assert (tmp_path / "picture.xdmf").exists()


def strengths(text):
    """Tension, compression and shear, with fibres and without."""
    parts = text[:3], text[3:]
    return all(compression > 1.2 * tension > 1.2 * shear for tension, compression, shear in parts)


# The command, what it prints, and what is true of the numbers in it.
CHECKS = [
    (  # Stiffness is sensitive to the fibres and not to hardening.
        "sensitivity --points 128",
        r"E_eff_GPa: .* vf (.*) \(.*E_f_GPa (.*) \(.*b_m_MPa (.*) \(.*c_m (.*) \(",
        lambda vf, E_f, b_m, c_m: vf + E_f > 0.9 and max(abs(b_m), abs(c_m)) < 0.02,
    ),
    (  # E scatters by 13 GPa over the RVEs.
        "cross_validation --rows 24 --folds 3",
        3 * r"[\s\S]*?RMSE ([\d.]+) GPa",
        lambda *errors: max(errors) < 4,
    ),
    (  # CV+ promises 1 - 2 (1 - 0.9).
        "conformal --rves 20",
        r"CV\+ +inside 90% intervals ([\d.]+), width ([\d.]+) GPa",
        lambda inside, width: inside > 0.8 and 0.5 < width < 15,
    ),
    (  # Halpin and Tsai know more of RVEs with many fibres.
        "anchored --rves 16 --members 8 --fibres 12",
        r"RMSE ([\d.]+) GPa[\s\S]*RMSE ([\d.]+) GPa",
        lambda starts, anchored: anchored < starts / 2,
    ),
    (  # Mean fields without an RVE
        "mean_fields --draws 2",
        r"(?s)are +RMSE ([\d.]+).*uncertain +RMSE ([\d.]+), inside 95 % ([\d.]+)",
        lambda fixed, uncertain, inside: max(fixed, uncertain) < 0.12 and inside > 0.7,
    ),
    (  # Plane strain: a matrix of 100 GPa, and 0.37 of fibres of 400 GPa in the rule of mixtures.
        "plate --members 3",
        r"([\d.]+) ± ([\d.]+) GPa",
        lambda E, band: 100 < 0.91 * E < 0.37 * 400 + 0.63 * 100 and 0 < band < 0.05 * E,
    ),
    (  # Three sets of paths: percent inside the band, error
        "paths --paths 40",
        3 * r"[\s\S]*?(\d+) % inside the band, error (\S+) of",
        lambda *numbers: min(numbers[::2]) >= 85 and max(numbers[1::2]) < 2e-3,
    ),
    (  # The last iterations of Newton's method are quadratic; members agree within a few %.
        "cyclic_plate --members 3 --steps 3 --paths 40 --no-fe2",
        r"(?s).*?([\d.]+e-\d\d)\D+([\d.]+e-\d\d)(?!.*e-\d\d).*end ([\d.]+) ± ([\d.]+), with",
        lambda last_but_one, last, force, band: (
            last < min(1e-6, 10.0 * last_but_one**1.5) and 0 < band < 0.05 * force
        ),
    ),
    (
        "epoxy --fibres 3",
        "".join(
            rf"[\s\S]*{name}, {test}: ([\d.]+)"
            for name in ("v_f = 0.4", "resin")
            for test in ("tension", "compression", "shear")
        ),
        lambda *numbers: strengths(numbers),
    ),
    (  # Mean stresses are in equilibrium at a fibre fraction of one half.
        "cooling --fibres 8 --drop 50",
        r"in the matrix: ([\d.]+)[\s\S]*in the fibres: (-[\d.]+)",
        lambda matrix, fibres: 0 < matrix < 30 and abs(matrix + fibres) < 0.11,
    ),
    (
        "strength --fibres 2 --rves 6",
        r"([\d.]+) ± ([\d.]+) MPa, 5 % of the RVEs are weaker than ([\d.]+)",
        lambda mean, band, weak: 35 < mean < 60 and abs(mean - 0.8225 * band - weak) < 0.2,
    ),
    (
        "carbon --fibres 2 --seeds 2",
        r"E_T_GPa at a fibre fraction of 0.35: ([\d.]+) ± ([\d.]+)",
        lambda across, band: 4.2 < across < 15 and 0 < band < 1,
    ),
    (  # Glass, carbon and boron
        "categories --fibres 2 --rves 6",
        3 * r"[\s\S]*?E_T_GPa ([\d.]+) ± ([\d.]+)",
        lambda *moduli: (
            3.35 < moduli[2] < moduli[0] < moduli[4] < 15
            and 0 < min(moduli[1::2]) <= max(moduli[1::2]) < 2
        ),
    ),
]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::bnn.NoiseWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize(
    ("command", "pattern", "holds"), CHECKS, ids=[check[0] for check in CHECKS]
)
def test_the_numbers_of_an_example_are_as_mechanics_and_statistics_say(
    run, command, pattern, holds
):
    assert holds(*numbers(run(*command.split()), pattern))
