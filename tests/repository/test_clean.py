"""make clean removes what runs list, and nothing else."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from figures.pipeline import clean
from figures.pipeline.paths import ROOT
from safe_files.locking import lock

PROGRAM = "figures/pipeline/clean.py"
LISTED = (
    "data/my/train_beta/dataset.csv",
    "data/my/train_beta/records/0000/0000000.npz",
    "data/my/train_beta.key",
    "figures/my/notebooks/01.html",
    "figures/full/index.html",
    "figures/full/notebooks/01.html",
    "studies/other/results/quick/fig.svg",
    "build/docs/index.html",
    "build/docs/a/b.html",
    "build/scoreboard/sklearn/bin/python",
    "dist/composite-bnn-0.tar.gz",
    ".doit/state.db",
)
TEMPORARY = "figures/my/notebooks/.01.html.0123456789abcdef.tmp"
COMMITTED = (
    "figures/report/__init__.py",
    "figures/full/01.json",
    "figures/six-rebuilt/04.json",
    "figures/full/notebooks/01.ipynb",
)
FOREIGN = {
    "data/mine/dataset.csv": "x",
    "data/mine/config.json": "{}",
    "data/my/notes.txt": "x",
    "data/my/train_beta/notes.txt": "x",
    "data/of_fe_data/dataset.csv": "x",
    "data/of_fe_data/config.json": "{}",
    "data/loop/campaign.json": "{}",
    "build/notes.txt": "x",
    "build/docs/notes.txt": "x",
    "dist/mine.whl": "x",
    "figures/mine/fig.svg": "x",
}


def write(folder, contents):
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def names_in(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() and ".git" not in path.parts
    }


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with results of runs, committed results and foreign files."""
    root = tmp_path / "a checkout"
    root.mkdir()
    for name in ("Makefile", ".gitignore", PROGRAM):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    with (root / ".gitignore").open("a", encoding="utf-8") as file:
        file.write("/studies/*/results/*\n")
    others = dict.fromkeys((*COMMITTED, *LISTED, TEMPORARY), "x")
    write(root, {**others, **FOREIGN})
    for command in (["init", "-q"], ["add", "-f", "Makefile", PROGRAM, ".gitignore", *COMMITTED]):
        subprocess.run(["git", *command], cwd=root, check=True)
    folders = ("build/scoreboard/sklearn", "data/my/train_beta/records")
    named = [name for name in (*LISTED, *COMMITTED) if not name.startswith(folders)]
    clean.note(*(root / name for name in named), root=root)
    for folder in folders:
        clean.note_folder(root / folder, root=root)
    return root


def run(root, **environment):
    """Run the program without the packages and return its lines."""
    command = [sys.executable, "-I", "-S", PROGRAM]
    variables = {**os.environ, **environment}
    ended = subprocess.run(
        command, cwd=root, env=variables, check=True, capture_output=True, encoding="utf-8"
    )
    return ended.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_make_clean_removes_what_runs_made_and_nothing_else(checkout):
    subprocess.run(["make", "-s", "clean"], cwd=checkout, check=True)
    files_of_user = {*COMMITTED, *FOREIGN, "Makefile", ".gitignore", PROGRAM, clean.LEDGER}
    assert names_in(checkout) == files_of_user


def test_kept_files_are_named(checkout):
    lines = run(checkout)
    assert len(lines) == clean.SHOWN + 1
    assert "build/notes.txt" in "".join(lines)
    assert len([*FOREIGN]) - clean.SHOWN == 1
    assert lines[-1] == "clean: kept, and not shown: 1 further files"


def no_repository(checkout):
    shutil.rmtree(checkout / ".git")


def another_repository(checkout):
    no_repository(checkout)
    subprocess.run(["git", "init", "-q"], cwd=checkout.parent, check=True)


def a_folder_as_list(checkout):
    (checkout / clean.LEDGER).unlink()
    write(checkout / clean.LEDGER, {"x": "x"})


FAILS_LATER = f"""#!/bin/sh
[ "$1" = check-ignore ] && echo 'fatal: no memory' >&2 && exit 128
exec {shutil.which("git")} "$@"
"""
# A program called git that is not git, with its mode, or what happens to the checkout before
NO_AGREEMENT = {
    "no git": (None, "because"),
    "no repository": (no_repository, "because"),
    "another repository": (another_repository, "because"),
    "a list that is a folder": (a_folder_as_list, "cannot be read"),
    "a checkout of another user": (
        ("#!/bin/sh\necho 'fatal: detected dubious ownership' >&2\nexit 128\n", 0o755),
        "dubious ownership",
    ),
    "no right to run git": (("no program", 0o644), "because git does not say"),
    "a git that is no program": (("no program", 0o755), "because git does not say"),
    "a git that fails later": ((FAILS_LATER, 0o755), "fatal: no memory"),
}


@pytest.mark.parametrize("case", NO_AGREEMENT)
def test_nothing_is_removed_without_gits_agreement(checkout, case):
    cause, reason = NO_AGREEMENT[case]
    programs = checkout.parent / "programs"
    environment = {"GIT_CEILING_DIRECTORIES": str(checkout.parent.parent)}
    if callable(cause):
        cause(checkout)
    else:
        environment["PATH"] = str(programs)
    if isinstance(cause, tuple):
        write(programs, {"git": cause[0]})
        (programs / "git").chmod(cause[1])
    before = names_in(checkout)
    (line,) = run(checkout, **environment)
    assert line.startswith("clean: nothing is removed")
    assert reason in line
    assert names_in(checkout) == before


def test_nothing_is_removed_while_a_run_is_at_work(checkout):
    write(checkout, {".doit/lock": ""})
    before = names_in(checkout)
    with (checkout / ".doit" / "lock").open("rb") as file:
        lock(file.fileno())
        assert run(checkout) == ["clean: nothing is removed: a make is running in this checkout"]
    assert names_in(checkout) == before
    assert run(checkout) != ["clean: nothing is removed: a make is running in this checkout"]


@pytest.mark.parametrize("name", ["figures/my", "data", "build", "data/my/train_beta", ".doit"])
def test_links_are_not_followed(checkout, name):
    elsewhere = checkout.parent / "elsewhere"
    (checkout / name).rename(elsewhere)
    before = names_in(elsewhere)
    (checkout / name).symlink_to(elsewhere)
    lines = run(checkout)
    assert names_in(elsewhere) == before
    assert (checkout / name).is_symlink()
    assert any(repr(name) in line for line in lines) or "not shown" in lines[-1]


def test_results_that_git_does_not_ignore_are_kept(checkout):
    write(checkout, {"figures/full/02.json": "x"})
    clean.note(checkout / "figures/full/02.json", root=checkout)
    run(checkout)
    assert (checkout / "figures/full/02.json").is_file()


NESTED = "[" * 10**5
OUTSIDE = ['"../outside/"', '"data/../../outside/"', '"/etc/"', '"//"', '"a\\u0000b"', NESTED]


@pytest.mark.parametrize(
    "line", [*OUTSIDE, '"../outside"', '"/etc"', '""', '"data/../../outside"', "[", "3"]
)
def test_lines_that_lead_out_of_the_checkout_are_skipped(tmp_path, line):
    (tmp_path / clean.LEDGER).write_text(f'{line}\n"data/a"\n', encoding="utf-8")
    assert clean.listed(tmp_path) == {"data/a"}


def test_files_that_a_command_adds_are_listed(tmp_path):
    write(tmp_path, {"out/mine.txt": "x"})
    program = "import pathlib; pathlib.Path('out/made.txt').touch(); raise SystemExit(3)"
    code = clean.run([sys.executable, "-c", program], [tmp_path / "out"], tmp_path)
    assert code == 3
    assert clean.listed(tmp_path) == {"out/made.txt"}


def repository(folder):
    """Make a repository with a commit."""
    write(folder, {"mine.py": "x"})
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.mark.parametrize("place", ["figures/nested", "build/docs/nested", "figures/my/.nested"])
def test_a_repository_in_the_checkout_is_left_alone(checkout, place):
    repository(checkout / place)
    clean.note(checkout / place / "mine.py", root=checkout)
    clean.note_folder(checkout / place, root=checkout)
    clean.note_folder((checkout / place).parent, root=checkout)
    run(checkout)
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=checkout / place, check=True, capture_output=True
    )
    assert not status.stdout


def test_a_listed_file_that_became_a_folder_keeps_its_contents(checkout):
    page = checkout / "figures/my/notebooks/01.html"
    page.unlink()
    write(page, {"mine.txt": "x"})
    run(checkout)
    assert (page / "mine.txt").is_file()


@pytest.mark.parametrize("name", ["data", "build", "figures", "figures/mine", "studies", ".", ""])
def test_no_place_as_a_whole_belongs_to_a_run(checkout, name):
    """As if somebody had edited the list."""
    with (checkout / clean.LEDGER).open("a", encoding="utf-8") as file:
        file.write(json.dumps(f"{name}/") + "\n" + json.dumps(name) + "\n")
    run(checkout)
    assert {*FOREIGN} <= names_in(checkout)


def test_names_of_any_bytes_are_removed_if_listed_and_kept_if_not(checkout):
    listed = ["-rf", "two\nlines", "*", "'q\".txt", ":(glob)**", os.fsdecode(b"\xff\xfe")]
    for name in (*listed, os.fsdecode(b"\xfd")):
        (checkout / "figures/my" / name).write_text("x", encoding="utf-8")
    clean.note(*(checkout / "figures/my" / name for name in listed), root=checkout)
    run(checkout, LC_ALL="C", PYTHONIOENCODING="ascii")
    left = [path.name for path in (checkout / "figures/my").iterdir()]
    assert left == [os.fsdecode(b"\xfd")]


@pytest.mark.parametrize("place", ["../elsewhere", "/etc", "", "data/.."])
def test_places_outside_the_checkout_are_refused(checkout, place):
    (line,) = clean.clean(checkout, [place])
    assert line.startswith("nothing is removed")
