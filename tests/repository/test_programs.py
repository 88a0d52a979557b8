"""Every program of the project says which options it has, and then ends."""

import ast
import runpy
import signal
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
MAY_WRITE = {
    "bench/results.py": "appends results",
    "bench/scoreboard/runs.py": "exchanges with a process, logs, removes environments that it made",
    "bench/scoreboard/worker.py": "answers in a temporary folder",
    "docs/conf.py": "the site",
    "fe_data/dataset/collection.py": "removes a table of failures that are no more",
    "fe_data/dataset/record.py": "removes what has no content and is in the place of a record",
    "fe_data/dataset/storage.py": "locks, removes leftovers and dataset folders",
    "fe_data/geometry/domain.py": "locks and cleans the cache of dolfinx",
    "fe_data/cli/rve_folder.py": "removes fields of an earlier run",
    "figures/pipeline/actions.py": "locks and the state of doit",
    "figures/pipeline/run_notebook.py": "removes pictures of an earlier run",
    "figures/report/archive.py": "an archive in a temporary folder",
    "bnn/storage/writing.py": "the writer",
    "fe_data/files/writing.py": "the writer",
}


def writes(call):
    """Whether a call writes or removes a file itself, and not into memory or an open file."""
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
    first = call.args[0] if call.args else None
    into_memory = isinstance(first, ast.Name) and first.id in IN_MEMORY
    if name == "open":
        return any(text in {"w", "wb", "a", "ab", "x", "xb"} for text in texts)
    return name in WRITING and not into_memory and (name != "to_csv" or bool(call.args))


IN_MEMORY = {"archive", "buffer", "content", "file", "picture"}  # open files and buffers


def test_files_are_written_by_the_writer_alone():
    """So that each is whole, and none of a user is replaced; other modules are named above."""
    found = set()
    for path in [*FILES, *(ROOT / "docs").rglob("*.py"), ROOT / "dodo.py"]:
        name = str(path.relative_to(ROOT))
        if not name.startswith("tests/"):
            calls = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            found |= {name for call in calls if isinstance(call, ast.Call) and writes(call)}
    assert found == set(MAY_WRITE)
