"""setup.sh as a user meets it, in a copy of the recipe with chosen programs only."""

import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (
    "setup.sh",
    "environment-dev.yml",
    "pyproject.toml",
    "constraints.txt",
    "hashes.txt",
    "pytorch-hashes.txt",
)
PROGRAMS = (
    "bash dirname awk cat cut sha256sum sed rm mv mkdir touch cp sleep pwd tail mktemp grep env"
)

# Stands for the Python of an environment: every call succeeds.
INTERPRETER = "#!/bin/sh\ncat >/dev/null </dev/null\nexit 0\n"
# Stands for conda: records its arguments and makes an environment at --prefix.
CONDA = """#!/bin/bash
echo "$@" >>calls
while [ $# -gt 0 ]; do [ "$1" = --prefix ] && prefix=$2; shift; done
mkdir -p "$prefix/bin"
[ -z "$SLOW_CONDA" ] || { echo >asleep; exec sleep 30; }
cp interpreter "$prefix/bin/python"
"""


def program(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def sandbox(tmp_path):
    """A checkout in a path with a space, and a PATH without python, conda and apt."""
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    (tmp_path / "programs").mkdir()
    for name in RECIPE:
        shutil.copy2(ROOT / name, checkout)
    for name in PROGRAMS.split():
        (tmp_path / "programs" / name).symlink_to(shutil.which(name))
    program(checkout / "interpreter", INTERPRETER)
    return checkout


@pytest.fixture
def conda(sandbox):
    """The sandbox with a program called conda."""
    program(sandbox.parent / "programs" / "conda", CONDA)
    return sandbox


def setup(checkout, *options, **environment):
    path = str(checkout.parent / "programs")
    return subprocess.run(
        ["./setup.sh", *options],
        cwd=checkout,
        env={"PATH": path, "HOME": str(checkout), **environment},
        capture_output=True,
        encoding=sys.getfilesystemencoding(),
        timeout=60,
        check=False,
    )


def calls(checkout):
    return (checkout / "calls").read_text(encoding="utf-8").splitlines()


def test_conda_makes_the_environment_from_the_file(conda):
    done = setup(conda, "--python")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ".venv/bin/python\n"  # the path of the checkout has a space
    stamp = (conda / ".environment").read_text(encoding="utf-8").splitlines()
    assert stamp[1] == f"{conda}/.venv/bin/python"
    assert calls(conda) == [f"env create --quiet --prefix {conda}/.venv --file environment-dev.yml"]
    assert setup(conda, "--leave").returncode == 0
    assert (conda / ".environment").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "made"),
    [
        ("environment-dev.yml", "name:", "# changed\nname:", 2),
        ("pyproject.toml", '  "scipy', '  "sympy>=1.13",\n  "scipy', 2),
        ("pyproject.toml", "line-length = 100", "line-length = 90", 1),
    ],
)
def test_the_environment_is_made_again_when_its_recipe_has_changed(conda, name, old, new, made):
    setup(conda)
    text = (conda / name).read_text(encoding="utf-8")
    assert old in text
    (conda / name).write_text(text.replace(old, new), encoding="utf-8")
    assert setup(conda).returncode == 0
    assert len(calls(conda)) == made


@pytest.mark.parametrize("made_by_conda", [False, True])
def test_a_checkout_that_moves_keeps_a_virtual_environment(conda, made_by_conda):
    """One of conda, whose files hold its path, is made again."""
    setup(conda)
    if made_by_conda:
        (conda / ".venv" / "conda-meta").mkdir()
    moved = conda.rename(conda.parent / "renamed checkout")
    assert setup(moved, "--python").stdout == ".venv/bin/python\n"
    assert len(calls(moved)) == (2 if made_by_conda else 1)


def test_an_environment_of_a_user_stays(conda):
    mine = conda / ".venv" / "bin" / "python"
    mine.parent.mkdir(parents=True)
    program(mine, INTERPRETER + "# mine\n")
    done = setup(conda)
    assert done.returncode == 1
    assert f"{conda}/.venv was not created by setup.sh: move it elsewhere" in done.stderr
    assert not (conda / ".environment").exists()
    assert mine.read_text(encoding="utf-8").endswith("# mine\n")
    assert not (conda / "calls").exists()
    mine.parent.parent.rename(conda / "elsewhere")
    packages = conda / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "composite-bnn.pth").touch()  # known as our own without the stamp
    assert setup(conda).returncode == 0
    assert not packages.exists()


def test_an_interrupted_setup_leaves_nothing_that_counts_and_the_next_one_finishes(conda):
    process = subprocess.Popen(
        ["./setup.sh"],
        cwd=conda,
        env={"PATH": str(conda.parent / "programs"), "SLOW_CONDA": "1"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # Not before: bash goes on after a signal that came while it waited for another program.
    deadline = time.monotonic() + 20
    while not (conda / "asleep").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) != 0
    assert not (conda / ".environment").exists()
    (conda / ".venv" / "half").touch()
    assert setup(conda).returncode == 0
    assert not (conda / ".venv" / "half").exists()


@pytest.fixture
def bare_python(tmp_path):
    """A Python with pip and three empty packages; its folder is a virtual environment."""
    venv.create(tmp_path / "bare")
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    for name in ("dolfinx", "gmsh", "torch"):
        (packages / f"{name}.py").touch()
    (packages / "pip").symlink_to(Path(find_spec("pip").origin).parent)
    return tmp_path / "bare" / "bin" / "python3"


@pytest.mark.parametrize("utf8", ["0", "1"])
def test_packages_are_imported_from_a_checkout_of_any_name_in_any_locale(conda, bare_python, utf8):
    checkout = conda.rename(conda.with_name("thé 'o\" $HOME %d "))
    (checkout / "ours.py").touch()
    complete = '[ "$1" = - ] && exec cat >/dev/null </dev/null'  # it lacks no package
    program(checkout / "interpreter", f'#!/bin/sh\n{complete}\nexec "{bare_python}" "$@"\n')
    locale = {"LC_ALL": "C", "PYTHONUTF8": utf8}
    done = setup(checkout, "--python", **locale)
    assert done.returncode == 0, done.stderr
    command = [str(checkout / done.stdout.removesuffix("\n")), "-c", "import ours"]
    subprocess.run(command, cwd="/", env=locale, check=True)


# A source distribution that brings the code of its build with it
SOURCE = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n',
    "b.py": "import pathlib\npathlib.Path({marker!r}).touch()\n",
}


def wheel(folder):
    """Write an empty package as a wheel, and return its hash."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "")
        information = "tiny-1.0.dist-info"
        archive.writestr(
            f"{information}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def source_distribution(folder, marker):
    """Write a package whose code would run when pip looks at it, and return its hash."""
    path = folder / "tiny-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in SOURCE.items():
            content = text.replace("{marker!r}", repr(str(marker))).encode()
            entry = tarfile.TarInfo(f"tiny-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("kind", "listed", "refusal"),
    [
        ("wheel", "itself", ""),
        ("wheel", "another file", "pip could not install the Python packages"),
        ("wheel", "nothing", "tiny==1.0 has no hash in hashes.txt"),
        ("source", "itself", "pip found no wheels of the Python packages"),
    ],
)
def test_only_wheels_with_a_listed_hash_are_installed(conda, bare_python, kind, listed, refusal):
    """Without a network: pip finds the package in a folder."""
    index = conda / "index"
    index.mkdir()
    marker = conda / "executed"
    digest = wheel(index) if kind == "wheel" else source_distribution(index, marker)
    digests = {"itself": digest, "another file": "0" * 64}
    lines = [f"tiny==1.0 --hash=sha256:{digests[listed]}\n"] if listed in digests else []
    (conda / "hashes.txt").write_text("".join(lines), encoding="utf-8")
    (conda / "constraints.txt").write_text("tiny==1.0\n", encoding="utf-8")
    project = '[project]\ndependencies = ["tiny"]\noptional-dependencies = {}\n'
    (conda / "pyproject.toml").write_text(project, encoding="utf-8")
    program(conda / "interpreter", f'#!/bin/sh\nexec "{bare_python}" "$@"\n')
    done = setup(conda, PIP_NO_INDEX="1", PIP_FIND_LINKS=index.as_uri(), PIP_NO_CACHE_DIR="1")
    (packages,) = bare_python.parents[1].glob("lib/python*/site-packages")
    assert (packages / "tiny.py").exists() == (not refusal)
    assert (done.returncode == 0) == (not refusal), done.stderr
    assert refusal in done.stderr
    assert not marker.exists()
