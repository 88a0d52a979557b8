"""setup.sh and make as a user meets them, in a copy of the recipe with chosen programs only."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import venv
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest

from figures.pipeline.dependencies import imported_names

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = tuple(PROJECT["project"]["optional-dependencies"])
RECIPE = ("setup.sh", "environment.yml", "pyproject.toml", "constraints.txt")
BASICS = ("bash", "dirname", "awk", "cat", "cut", "sha256sum", "sed", "rm", "mv", "mkdir", "touch")

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
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def sandbox(tmp_path):
    """A checkout in a path with a space, and a PATH without python, conda and apt."""
    checkout, programs = tmp_path / "my checkout", tmp_path / "programs"
    checkout.mkdir()
    programs.mkdir()
    for name in RECIPE:
        shutil.copy2(ROOT / name, checkout)
    for name in (*BASICS, "cp", "sleep", "pwd", "tail", "mktemp", "grep", "env"):
        (programs / name).symlink_to(shutil.which(name))
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
    return (checkout / "calls").read_text().splitlines()


def test_without_conda_and_apt_one_sentence_says_what_to_do(sandbox):
    done = setup(sandbox)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "setup: found neither an active environment with dolfinx, nor conda (mamba, micromamba), "
        "nor apt: install one of the conda family, or run this on Debian 12 or later, "
        "then try again\n"
    )
    assert not (sandbox / ".environment").exists()


def test_conda_makes_the_environment_from_the_file(conda):
    done = setup(conda, "--python")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ".venv/bin/python\n"  # the path of the checkout has a space
    assert (conda / ".environment").read_text().splitlines()[1] == f"{conda}/.venv/bin/python"
    assert calls(conda) == [
        f"env create --quiet --prefix {conda}/.venv --file environment.yml",
    ]


@pytest.mark.parametrize("name", ["my checkout", "checkout"])
def test_commands_of_the_readme_run_in_a_checkout_with_or_without_a_space(conda, name):
    """The shell splits what make prints at spaces."""
    checkout = conda.rename(conda.with_name(name))
    program(checkout / "interpreter", "#!/bin/sh\n[ $# = 1 ] && echo runs || exec cat >/dev/null\n")
    done = subprocess.run(
        ["bash", "-c", "$(./setup.sh --python 2>/dev/null) --version"],
        cwd=checkout,
        env={"PATH": str(checkout.parent / "programs"), "HOME": str(checkout)},
        capture_output=True,
    )
    assert done.stdout == b"runs\n", done.stderr


def test_micromamba_comes_before_conda(conda):
    program(conda.parent / "programs" / "micromamba", CONDA)
    setup(conda)
    assert calls(conda)[0].startswith("create --yes --quiet --prefix")


def test_nothing_is_done_when_nothing_has_changed(conda):
    setup(conda)
    start = time.perf_counter()
    done = setup(conda)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.perf_counter() - start < 2
    assert len(calls(conda)) == 1


@pytest.mark.parametrize("name", ["environment.yml", "constraints.txt", "setup.sh"])
def test_a_changed_recipe_makes_the_environment_again(conda, name):
    setup(conda)
    with (conda / name).open("a") as file:
        file.write("\n# changed\n")
    setup(conda)
    assert len(calls(conda)) == 2


def test_a_new_dependency_makes_the_environment_again_but_a_linter_setting_does_not(conda):
    setup(conda)
    project = conda / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace("line-length = 100", "line-length = 90"))
    setup(conda)
    assert len(calls(conda)) == 1
    project.write_text(text.replace('  "scipy', '  "sympy>=1.13",\n  "scipy'))
    setup(conda)
    assert len(calls(conda)) == 2


def test_a_removed_environment_is_made_again(conda):
    setup(conda)
    shutil.rmtree(conda / ".venv")
    assert setup(conda).returncode == 0
    assert len(calls(conda)) == 2


@pytest.mark.parametrize("made_by_conda", [False, True])
def test_a_checkout_that_moves_keeps_a_virtual_environment(conda, made_by_conda):
    """One of conda, whose files hold its path, is made again."""
    setup(conda)
    if made_by_conda:
        (conda / ".venv" / "conda-meta").mkdir()
    moved = conda.rename(conda.parent / "renamed checkout")
    done = setup(moved, "--python")
    assert done.stdout == ".venv/bin/python\n", done.stderr
    assert len(calls(moved)) == (2 if made_by_conda else 1)
    assert setup(moved).stderr == ""


def test_no_command_depends_on_the_place_of_an_environment():
    """The first line of a script of pip holds the path of its environment; `python -m` does not."""
    for name in (".pre-commit-config.yaml", "Makefile", ".ci/run", "setup.sh"):
        scripts = re.findall(r"\.venv/bin/(\S+)", (ROOT / name).read_text())
        assert set(scripts) <= {"python"}, name


def test_an_interrupted_setup_leaves_nothing_that_counts_and_the_next_one_finishes(conda):
    process = subprocess.Popen(
        ["./setup.sh"],
        cwd=conda,
        env={"PATH": str(conda.parent / "programs"), "SLOW_CONDA": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Not before: bash goes on after a signal that came while it waited for another program.
    wait_for(conda / "asleep")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "interrupted" in errors
    assert not (conda / ".environment").exists()
    (conda / ".venv" / "half").touch()
    done = setup(conda)
    assert done.returncode == 0
    assert not (conda / ".venv" / "half").exists()


def wait_for(path):
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


@pytest.fixture
def bare_python(tmp_path):
    """A Python with pip and three empty packages; its folder is a virtual environment."""
    venv.create(tmp_path / "bare")
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    for name in ("dolfinx", "gmsh", "torch"):
        (packages / f"{name}.py").touch()
    pip = Path(find_spec("pip").origin).parent
    (packages / "pip").symlink_to(pip)
    return tmp_path / "bare" / "bin" / "python3"


@pytest.mark.parametrize("utf8", ["0", "1"])
def test_packages_are_imported_from_a_checkout_of_any_name_in_any_locale(conda, bare_python, utf8):
    checkout = conda.rename(conda.with_name("thé 'o\" $HOME %d "))
    (checkout / "ours.py").touch()
    program(checkout / "interpreter", f'#!/bin/sh\nexec "{bare_python}" "$@"\n')
    locale = {"LC_ALL": "C", "PYTHONUTF8": utf8}
    done = setup(checkout, "--python", **locale)
    assert done.returncode == 0, done.stderr
    command = [str(checkout / done.stdout.removesuffix("\n")), "-c", "import ours"]
    subprocess.run(command, cwd="/", env=locale, check=True)
    assert setup(checkout, **locale).stderr == ""


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_folder_for_temporary_files_that_does_not_exist_is_named(conda, name):
    folder = conda / name
    (conda / "file").touch()
    done = setup(conda, TMPDIR=str(folder))
    assert done.returncode == 1
    assert done.stderr == (
        f"setup: TMPDIR = '{folder}' is not allowed: "
        "a folder that exists and can be written to is\n"
    )
    assert not (conda / "calls").exists()


def test_temporary_files_are_removed(conda):
    folder = conda / "temporary"
    folder.mkdir()
    assert setup(conda, TMPDIR=str(folder)).returncode == 0
    assert list(folder.iterdir()) == []


UNREACHABLE = (
    "the package index could not be reached: check the network, and the proxy that "
    "https_proxy, http_proxy, pip.conf or apt.conf name"
)
NOTHING_LISTENS = "http://127.0.0.1:9"


def test_the_last_word_after_pip_is_that_the_index_cannot_be_reached(sandbox, bare_python):
    """Not pip's own, which is that there are no versions of what it did not find."""
    path = f"{bare_python.parent}{os.pathsep}{sandbox.parent / 'programs'}"
    given = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1", "https_proxy": NOTHING_LISTENS}
    done = setup(sandbox, PATH=path, **given)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"setup: pip could not install the Python packages: {UNREACHABLE}"


APT_GET = f"""#!/bin/sh
echo "E: Failed to fetch http://deb.debian.org/debian/pool/main/p/python3-venv.deb" \
  "Could not connect to {NOTHING_LISTENS[7:]} (127.0.0.1). - connect (111: Connection refused)"
[ $1 = update ]
"""


def test_the_last_word_after_apt_is_that_the_index_cannot_be_reached(sandbox):
    programs = sandbox.parent / "programs"
    program(programs / "apt-get", APT_GET)
    program(programs / "dpkg", "#!/bin/sh\n")
    program(programs / "dpkg-query", "#!/bin/sh\nexit 1\n")
    program(programs / "id", "#!/bin/sh\necho 0\n")
    (programs / "sh").symlink_to(shutil.which("sh"))
    done = setup(sandbox)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"setup: apt-get could not install: python3-venv: {UNREACHABLE}"


def test_an_environment_that_cannot_import_dolfinx_is_not_accepted(conda):
    program(conda / "interpreter", "#!/bin/sh\necho no dolfinx >&2\nexit 1\n")
    done = setup(conda)
    assert done.returncode == 1
    assert done.stderr.endswith("cannot import dolfinx, gmsh and torch (see above)\n")
    assert not (conda / ".environment").exists()


def test_missing_packages_without_administrator_are_named(sandbox):
    programs = sandbox.parent / "programs"
    program(programs / "apt-get", "#!/bin/bash\nexit 1\n")
    program(programs / "dpkg-query", "#!/bin/bash\nexit 1\n")
    program(programs / "id", "#!/bin/bash\necho 1000\n")
    done = setup(sandbox)
    assert done.returncode == 1
    assert "only an administrator can add them: apt-get install python3-venv" in done.stderr


def test_unknown_option_is_refused(sandbox):
    done = setup(sandbox, "--force")
    assert done.stderr == "setup: unknown option '--force': --python and --help exist\n"
    assert done.returncode == 1


def test_help_lists_the_options_and_makes_nothing(conda):
    done = setup(conda, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Makes the environment that everything here runs in")
    assert "./setup.sh --python" in done.stdout
    assert not (conda / "calls").exists()


def run(*command, **environment):
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Import names that differ from the names of their packages, and what the distribution provides.
PACKAGE_OF = {
    "bs4": "beautifulsoup4",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "pydantic_core": "pydantic",
}
FROM_DISTRIBUTION = {"basix", "cffi", "dolfinx", "mpi4py", "petsc4py", "ufl"}


ON_DEMAND = {"botorch", "gpytorch"}  # bnn.interop imports them when it is asked for a model


def imported_packages(folders):
    """Packages from outside that the source files of the folders import."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    names = {name.split(".")[0] for path in paths for name in imported_names(path.read_text())}
    own = {path.name for path in ROOT.iterdir()} | {"tests", "bench"}
    foreign = names - own - set(sys.stdlib_module_names) - FROM_DISTRIBUTION - {""}
    return {PACKAGE_OF.get(name, name.replace("_", "-")) for name in foreign}


def declared_packages(*extras):
    project = PROJECT["project"]
    optional = project["optional-dependencies"]
    lines = project["dependencies"] + [line for extra in extras for line in optional[extra]]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def test_every_imported_package_is_declared():
    assert imported_packages(["bnn"]) <= declared_packages("botorch")
    assert imported_packages(["fe_data"]) <= declared_packages("fe", "dask")
    assert imported_packages(["figures", "prior_study"]) <= declared_packages("fe", "paper")
    assert imported_packages(["tests"]) <= declared_packages(*EXTRAS)


def test_the_distribution_is_bnn_and_fe_data_and_nothing_else_is_installed_with_bnn():
    """What bnn does not import comes with extras; fe_data's __init__ needs lazy-loader."""
    assert declared_packages() == imported_packages(["bnn"]) - ON_DEMAND | {"lazy-loader"}
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {f for f in folders if any(fnmatch(f, p) for p in patterns)} == {"bnn", "fe_data"}


def test_both_lists_of_versions_name_every_declared_package():
    declared = declared_packages(*EXTRAS)
    pinned = set(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "constraints.txt").read_text().lower()))
    assert declared <= pinned
    conda_names = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base", "dask": "dask-core"}
    listed = set(re.findall(r"(?m)^ *- ([\w-]+)=", (ROOT / "environment.yml").read_text()))
    assert {conda_names.get(name, name) for name in declared} <= listed


def test_make_alone_lists_every_target():
    done = run("make")
    for target in ("reproduce", "quick", "test", "lint", "bench", "docs", "datasets", "notebooks",
                   "report", "article", "clean", "python"):  # fmt: skip
        assert f"make {target} " in done.stdout


def test_make_refuses_unknown_parameters():
    done = run("make", "quick", "SEEDS=3")
    assert done.returncode != 0
    assert (
        "unknown parameter SEEDS: the ones that exist are PROFILE DATA SEED JOBS ARGS"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "PROFILE",
            "fast",
            "make: unknown profile 'fast': full, quick exist, or give a .yaml file\n",
        ),
        ("SEED", "-1", "make: SEED = '-1' is not allowed: an integer of at least 0 is\n"),
        ("JOBS", "0", "make: JOBS = '0' is not allowed: an integer of at least 1 is\n"),
    ],
)
def test_pipeline_refuses_bad_parameters_in_one_sentence(name, value, message):
    done = run(sys.executable, "-m", "doit", "list", **{name: value})
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_a_reader_that_ends_early_ends_the_list_of_targets_without_an_error():
    reading, writing = os.pipe()
    os.close(reading)  # as `make help | head` does in its own time
    done = subprocess.run(["make", "help"], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def recipes(tmp_path):
    """A Makefile whose programs write down their arguments and the variables that make hands on."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    program(tmp_path / "setup.sh", "#!/bin/sh\n")
    (tmp_path / ".environment").write_text(f"hash\n{sys.executable}\n")
    code = "import json, os, sys\njson.dump([sys.argv[1:], dict(os.environ)], open('given', 'w'))\n"
    folder = tmp_path / "tests" / "repository" / "lanes"
    folder.mkdir(parents=True)
    for path in (tmp_path / "doit.py", tmp_path / "pytest.py", folder / "debian.py"):
        path.write_text(code)
    return tmp_path


LITERAL = """$(shell touch expanded) $$x it's `touch executed` "q" $HOME"""


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("by", ["environment", "command line"])
@pytest.mark.parametrize("name", ["PROFILE", "DATA", "SEED", "JOBS", "SUITE"])
def test_values_are_handed_on_as_they_are(recipes, name, by):
    """A folder may be called what it likes, and no value is a command."""
    variables = {name: LITERAL} if by == "environment" else {}
    words = [f"{name}={LITERAL}"] if by == "command line" else []
    target = "test-dolfinx" if name == "SUITE" else "notebooks"
    arguments, environment = made(recipes, target, *words, **variables)
    assert environment[name] == LITERAL
    assert name != "SUITE" or arguments == [LITERAL]


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("by", ["environment", "command line"])
def test_the_words_of_args_are_those_of_a_shell_without_its_commands(recipes, by):
    text = """-k "a and b" '$(shell touch expanded)' `touch executed` $HOME"""
    variables = {"ARGS": text} if by == "environment" else {}
    words = [f"ARGS={text}"] if by == "command line" else []
    arguments, _ = made(recipes, "test", *words, **variables)
    assert arguments[-6:] == [
        "-k",
        "a and b",
        "$(shell touch expanded)",
        "`touch",
        "executed`",
        "$HOME",
    ]


def made(folder, *words, **variables):
    """What the program of a target is given: arguments and environment."""
    environment = {**os.environ, **variables}
    subprocess.run(["make", "-s", *words], cwd=folder, env=environment, check=True)
    assert not {"expanded", "executed"} & {path.name for path in folder.iterdir()}
    arguments, environment = json.loads((folder / "given").read_text())
    return arguments, environment
