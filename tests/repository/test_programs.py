"""Every program of the project says which options it has, and then ends."""

import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("bnn", "fe_data", "prior_study", "figures", "bench", "examples", "tests")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
MAIN = '\nif __name__ == "__main__":\n'
PROGRAMS = [
    str(path.relative_to(ROOT))
    for path in FILES
    if path.parent == ROOT / "examples" or MAIN in path.read_text(encoding="utf-8")
]


WITHOUT = "sys.modules.update(torch=None, dolfinx=None, petsc4py=None, gmsh=None)"


@pytest.mark.parametrize("name", ["prior_study", "figures.report.article", "bench.fe_data"])
def test_help_waits_for_no_large_library(name):
    run = f"runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"
    code = f"import runpy, sys; {WITHOUT}; sys.argv = [{name!r}, '--help']; {run}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: " in done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_help(name, monkeypatch, capsys):
    on_interrupt = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / name), run_name="__main__")
    signal.signal(signal.SIGINT, on_interrupt)
    assert not end.value.code
    said = capsys.readouterr().out
    assert said.lstrip().lower().startswith("usage: ")
    assert "--help" in said


# Calls that write a file, and the only modules that may: the writers, programs that write what
# no user has (sites, archives, exchanges with a process) into folders that they make, and logs.
WRITING = {"write_text", "write_bytes", "savefig", "to_csv", "savez", "savez_compressed", "savetxt"}
WRITING |= {"rmtree", "unlink", "open"}
