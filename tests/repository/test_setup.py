"""setup.sh as a user meets it, in a copy of the recipe with chosen programs only."""

import hashlib
import io
import os
import re
import shlex
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

from figures.pipeline.arithmetic import can_pin

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


@pytest.mark.parametrize("code", [0, 1])
def test_one_rve_compiles_the_solver_but_not_again_and_may_fail(conda, code):
    simulates = f'[ "$1 $2" != "-m fe_data" ] || {{ echo no gmsh; exit {code}; }}'
    program(conda / "interpreter", INTERPRETER.replace("exit 0", f"{simulates}\nexit 0"))
    done = setup(conda)
    assert done.returncode == 0, done.stderr
    assert "simulating one RVE" in done.stderr
    assert ("no gmsh\nsetup: fe_data cannot simulate" in done.stderr) == bool(code)
    assert "simulating" not in setup(conda).stderr


@pytest.mark.skipif(not can_pin(), reason="no processor with AVX2 and FMA")
@pytest.mark.parametrize(("kernels", "advised"), [("Prescott", True), ("Haswell", False)])
def test_kernels_that_are_older_than_the_processor_are_pointed_out(conda, kernels, advised):
    asks = f'[ "$*" != - ] || exec {shlex.quote(sys.executable)} -'
    program(conda / "interpreter", INTERPRETER.replace("#!/bin/sh", f"#!/bin/sh\n{asks}"))
    done = setup(conda, OPENBLAS_CORETYPE=kernels)
    assert done.returncode == 0, done.stderr
    assert ("export OPENBLAS_CORETYPE=Haswell" in done.stderr) == advised


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


def wheel(folder, name, version):
    """Write a package of one empty module as a wheel, and return its hash."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}_was_installed.py", "")
        information = f"{name}-{version}.dist-info"
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def source_distribution(folder, name, version):
    """Write a package whose code would run when pip looks at it, and return its hash."""
    path = folder / f"{name}-{version}.tar.gz"
    marker = str(folder / "executed")
    with tarfile.open(path, "w:gz") as archive:
        for member, text in SOURCE.items():
            content = text.replace("{marker!r}", repr(marker)).encode()
            entry = tarfile.TarInfo(f"{name}-{version}/{member}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def without_a_network(sandbox, route, python):
    """Give the sandbox one way to an environment, and a folder as the index of pip."""
    programs = sandbox.parent / "programs"
    program(sandbox / "interpreter", f'#!/bin/sh\nexec "{python}" "$@"\n')
    if route == "conda":
        program(programs / "conda", CONDA)
    if route == "active":
        program(programs / "python3", f'#!/bin/sh\nexec "{python}" "$@"\n')
    if route == "apt":
        for name in ("apt-get", "dpkg-query"):
            program(programs / name, "#!/bin/sh\necho ok installed\n")
        # Debian's Python: it makes an environment, here with the interpreter of the sandbox.
        program(sandbox / "debian", '#!/bin/sh\n[ "$2" = venv ] || exit 0\n' + MAKE_VENV)
        recipe = (sandbox / "setup.sh").read_text(encoding="utf-8")
        debian = recipe.replace("system_python=/usr/bin/python3", "system_python=./debian")
        assert debian != recipe
        (sandbox / "setup.sh").write_text(debian, encoding="utf-8")
    index = sandbox / "index" / "index.html"
    index.parent.mkdir()
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": index.as_uri(), "PIP_NO_CACHE_DIR": "1"}


def add_to_index(index, kind, name, version, is_hashed=True):
    """Put a file beside the page of links that stands for an index, and return its hash."""
    write, file = {
        "wheel": (wheel, f"{name}-{version}-py3-none-any.whl"),
        "source": (source_distribution, f"{name}-{version}.tar.gz"),
    }[kind]
    digest = write(index, name, version)
    fragment = f"#sha256={digest}" if is_hashed else ""
    with (index / "index.html").open("a", encoding="utf-8") as page:
        page.write(f'<a href="{file}{fragment}">{file}</a>\n')
    return digest


MAKE_VENV = 'mkdir -p "$4/bin" && cp interpreter "$4/bin/python"\n'
NO_FILE = "pip found no wheels of the Python packages"
NOT_INSTALLED = "pip could not install the Python packages"
NOT_DOWNLOADED = "pip could not download the Python packages"
NO_HASH = "{name}=={version} has no hash in hashes.txt"
# file, hash in the list, refusal by conda and by an active environment, refusal by apt
FILES = [
    ("wheel", "itself", "", ""),
    ("wheel", "another file", NOT_INSTALLED, NOT_DOWNLOADED),
    ("wheel", "nothing", NO_HASH, NOT_INSTALLED),
    ("source", "itself", NO_FILE, NOT_DOWNLOADED),
    ("source", "nothing", NO_FILE, NOT_INSTALLED),
]
TORCH_FILES = [
    ("2.0", "wheel", "nothing", NO_HASH, NOT_INSTALLED),
    ("2.0+cpu", "wheel", "nothing", "", ""),
    ("2.0+cpu", "source", "nothing", NO_FILE, NOT_DOWNLOADED),
]
CASES = [
    *(("tiny", "1.0", *case) for case in FILES),
    *(("torch", *case) for case in TORCH_FILES),
]
# Each starts pip. An active environment is completed by the function for conda's.
ROUTES = {"conda": CASES, "active": [CASES[0], CASES[1], CASES[3]], "apt": CASES}
FAST = [("conda", CASES[i]) for i in (0, 1, 3)] + [("apt", CASES[1])]
INSTALLED = [
    pytest.param(route, *case, marks=() if (route, case) in FAST else pytest.mark.slow)
    for route, cases in ROUTES.items()
    for case in cases
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("route", "name", "version", "kind", "listed", "refusal", "refusal_of_apt"), INSTALLED
)
def test_only_wheels_with_a_listed_hash_are_installed(
    sandbox, bare_python, route, name, version, kind, listed, refusal, refusal_of_apt
):
    """Only a build of PyTorch with a label, which PyPI does not accept, needs no hash."""
    settings = without_a_network(sandbox, route, bare_python)
    index = sandbox / "index"
    digest = add_to_index(index, kind, name, version)
    digests = {"itself": digest, "another file": "0" * 64}
    hashes = {"tiny": "hashes.txt", "torch": "pytorch-hashes.txt"}
    wanted = {"tiny": "1.0", "torch": "2.0"}
    for package, file in hashes.items():
        line = f"{package}=={version} --hash=sha256:{digests.get(listed)}\n"
        is_listed = package == name and listed in digests
        (sandbox / file).write_text(line if is_listed else "", encoding="utf-8")
    if name == "tiny" and route == "apt":
        add_to_index(index, "wheel", "torch", "2.0+cpu")  # apt has none
    pins = "".join(f"{package}=={pin}\n" for package, pin in wanted.items())
    (sandbox / "constraints.txt").write_text(pins, encoding="utf-8")
    project = f'[project]\ndependencies = ["{name}"]\noptional-dependencies = {{}}\n'
    (sandbox / "pyproject.toml").write_text(project, encoding="utf-8")
    message = (refusal_of_apt if route == "apt" else refusal).format(name=name, version=version)
    done = setup(sandbox, **settings)
    (packages,) = bare_python.parents[1].glob("lib/python*/site-packages")
    assert (packages / f"{name}_was_installed.py").exists() == (not message), done.stderr
    assert (done.returncode == 0) == (not message), done.stderr
    assert message in done.stderr
    assert not (index / "executed").exists()


def test_an_index_without_hashes_is_named(sandbox, bare_python):
    settings = without_a_network(sandbox, "conda", bare_python)
    add_to_index(sandbox / "index", "wheel", "torch", "2.0+cpu", is_hashed=False)
    (sandbox / "constraints.txt").write_text("torch==2.0\n", encoding="utf-8")
    project = '[project]\ndependencies = ["torch"]\noptional-dependencies = {}\n'
    (sandbox / "pyproject.toml").write_text(project, encoding="utf-8")
    done = setup(sandbox, **settings)
    assert done.returncode == 1
    assert "the index gives no hash for torch==2.0+cpu" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_folder_of_wheels_may_lie_in_a_path_with_a_space(tmp_path):
    """Of a list in the environment pip splits the entries at spaces."""
    checkout = tmp_path / "zwei Wörter"
    (checkout / "wheels").mkdir(parents=True)
    folders = 'for folder in $PIP_FIND_LINKS; do [ -d "$folder" ] || exit 1; done'
    program(checkout / "setup.sh", f"#!/bin/sh\n{folders}\n")
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^PIP_NO_INDEX.*$", page, re.MULTILINE)
    subprocess.run(["bash", "-c", line], cwd=checkout, check=True)
