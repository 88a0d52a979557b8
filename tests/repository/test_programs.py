"""Every program of the project says what it does and which options it has, and then ends."""

import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("bnn", "fe_data", "prior_study", "figures", "bench", "examples", "tests")


def is_program(path: Path) -> bool:
    """Whether a source file is run itself: every example, and what says so."""
    runs = '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")
    return runs or path.parent == ROOT / "examples"


FILES = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
PROGRAMS = [str(path.relative_to(ROOT)) for path in FILES if is_program(path)]
# What calculates for minutes asks for its options before PyTorch and pyplot are imported.
CALCULATING = [name for name in PROGRAMS if name.startswith(("bench", "examples"))]


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a program in this process; its exit code, and what it prints in both ways."""

    def run_program(name: str, *arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(ROOT / name), run_name="__main__")
        return end.value.code, *capsys.readouterr()

    on_interrupt = signal.getsignal(signal.SIGINT)
    yield run_program
    signal.signal(signal.SIGINT, on_interrupt)


def test_the_programs_are_found():
    assert {
        "fe_data/__main__.py",
        "prior_study/__main__.py",
        "figures/report/page.py",
        "bench/fe_data.py",
        "bench/peers/__main__.py",
        "examples/table.py",
        "tests/repository/lanes/debian.py",
        "tests/fe_data/dataset/test_curves.py",
    } <= {*PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_help(name, run):
    code, said, _ = run(name, "--help")
    assert not code
    assert said.lstrip().lower().startswith("usage: ")
    assert "--help" in said


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_refuses_an_option_that_it_does_not_have(name, run):
    code, said, complaint = run(name, "--no-such-option")
    assert (code, said) == (2, "")
    assert "--no-such-option" in complaint or "required" in complaint


def test_help_does_not_wait_for_what_a_calculation_imports():
    """In one process, which stays without PyTorch: that alone takes a second to import."""
    code = f"""
import runpy, sys
for name in {CALCULATING}:
    sys.argv = [name, "--help"]
    try:
        runpy.run_path(name, run_name="__main__")
    except SystemExit:
        heavy = {{"torch", "matplotlib.pyplot"}} & set(sys.modules)
        assert not heavy, f"{{name}} has imported {{heavy}}"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
