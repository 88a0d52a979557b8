"""setup.sh and make as a user meets them, in a copy of the recipe with chosen programs only."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    checkout = tmp_path / "my checkout"
    programs = tmp_path / "programs"
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
    assert calls(conda) == [f"env create --quiet --prefix {conda}/.venv --file environment.yml"]


def test_commands_of_the_readme_run_in_a_checkout_without_a_space_too(conda):
    """The shell splits what make prints at spaces."""
    checkout = conda.rename(conda.with_name("checkout"))
    done = setup(checkout, "--python")
    assert done.stdout == f"{checkout}/.venv/bin/python\n"


def test_micromamba_comes_before_conda(conda):
    program(conda.parent / "programs" / "micromamba", CONDA)
    setup(conda)
    assert calls(conda)[0].startswith("create --yes --quiet --prefix")


def add_line(path):
    path.write_text(path.read_text() + "\n# changed\n")


def add_dependency(path):
    path.write_text(path.read_text().replace('  "scipy', '  "sympy>=1.13",\n  "scipy'))


def change_linter(path):
    path.write_text(path.read_text().replace("line-length = 100", "line-length = 90"))


@pytest.mark.parametrize(
    ("name", "change", "made"),
    [
        ("environment.yml", add_line, 2),
        ("constraints.txt", add_line, 2),
        ("setup.sh", add_line, 2),
        ("pyproject.toml", add_dependency, 2),
        (".venv", shutil.rmtree, 2),
        ("pyproject.toml", change_linter, 1),
        ("setup.sh", Path.exists, 1),
    ],
)
def test_the_environment_is_made_again_when_its_recipe_has_changed_or_it_is_gone(
    conda, name, change, made
):
    setup(conda)
    change(conda / name)
    done = setup(conda)
    assert done.returncode == 0
    assert len(calls(conda)) == made


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


def test_a_folder_for_temporary_files_is_named_where_there_is_none_and_left_empty(conda):
    folder = conda / "temporary"
    done = setup(conda, TMPDIR=str(folder))
    assert done.returncode == 1
    assert f"setup: TMPDIR = '{folder}' is not allowed" in done.stderr
    assert not (conda / "calls").exists()
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


def test_help_lists_the_options_and_makes_nothing(conda):
    refused = setup(conda, "--force")
    assert refused.stderr == "setup: unknown option '--force': --python and --help exist\n"
    assert refused.returncode == 1
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


def test_make_alone_lists_every_target():
    done = run("make")
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"(?m)^\.PHONY: help environment (.*)$", makefile)
    for target in targets.split():
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
def test_values_are_handed_on_as_they_are(recipes, by):
    """A folder may be called what it likes, and no value is a command."""
    values = dict.fromkeys(("PROFILE", "DATA", "SEED", "JOBS", "SUITE"), LITERAL)
    values["ARGS"] = """-k "a and b" '$(shell touch expanded)' `touch executed` $HOME"""
    if by == "environment":
        arguments, environment = made(recipes, "test-dolfinx", **values)
    else:
        words = [f"{name}={value}" for name, value in values.items()]
        arguments, environment = made(recipes, "test-dolfinx", *words)
    for name, value in values.items():
        assert environment[name] == value
    suite, *others = arguments
    assert suite == LITERAL
    # The words of ARGS are those of a shell without its commands.
    assert others == ["-k", "a and b", "$(shell touch expanded)", "`touch", "executed`", "$HOME"]


def made(folder, *words, **variables):
    """What the program of a target is given: arguments and environment."""
    environment = {**os.environ, **variables}
    subprocess.run(["make", "-s", *words], cwd=folder, env=environment, check=True)
    assert not {"expanded", "executed"} & {path.name for path in folder.iterdir()}
    arguments, environment = json.loads((folder / "given").read_text())
    return arguments, environment
