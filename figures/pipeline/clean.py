"""Remove what runs have written in this checkout, and nothing else: python3 clean.py.

Runs list their files in `.made`, one path per line, and with a slash at its end a folder whose
contents are all theirs. Links are not followed, and other repositories in the checkout are left
alone. Only the standard library is used, so that any Python 3.9 or later
can remove results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

try:
    import fcntl
except ImportError:  # Windows: there are no runs
    fcntl = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ".made"
PLACES = ("data", "build", "dist", "docs/api", ".doit", "figures/*", "studies/*/results")
SHOWN = 10  # paths that are kept
TEMPORARY = re.compile(r"\.(.{1,50})\.[0-9a-f]{16}\.tmp", re.DOTALL)


def note(*paths: Path, root: Path = ROOT) -> None:
    """List files that a run has written, for `clean`; paths outside the checkout are not listed."""
    _add_names(paths, "", root)


def note_folder(path: Path, root: Path = ROOT) -> None:
    """List a folder that a run creates, with all that it will contain, for `clean`."""
    _add_names([path], "/", root)


def _add_names(paths: Iterable[Path], end: str, root: Path) -> None:
    """Append the names of paths, with a slash at the end for folders, to the list."""
    names = listed(root)
    lines = []
    for path in paths:
        place = Path.cwd() / path
        if not place.is_relative_to(root):
            continue
        name = place.relative_to(root).as_posix() + end
        if name not in names:
            lines.append(json.dumps(name) + "\n")
    if lines:
        with (root / LEDGER).open("a", encoding="utf-8") as file:
            file.write("".join(lines))


def listed(root: Path) -> set[str]:
    """Return the paths that runs have listed, in the checkout; folders end with a slash."""
    try:
        lines = (root / LEDGER).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    names = set()
    for line in lines:
        try:
            name = json.loads(line)
        except (ValueError, RecursionError):  # a line that was not finished, or is no name
            continue
        if not isinstance(name, str) or "\0" in name:
            continue
        if not {"", ".", ".."} & {*name.removesuffix("/").split("/")}:
            names.add(name)
    return names


def first_link(root: Path, path: Path) -> Path | None:
    """Return the first link on the way from the checkout to a path, the path included."""
    links = (step for step in [*reversed(path.parents), path] if step.is_relative_to(root))
    return next((step for step in links if step != root and step.is_symlink()), None)


def files_below(path: Path) -> Iterator[Path]:
    """Yield the files and links in a folder and below, without following links; or the file.

    Of another repository only its folder is yielded.
    """
    if path.is_symlink() or path.is_file() or is_repository(path):
        yield path
    elif path.is_dir():
        for folder, folders, files in os.walk(path):
            below = [Path(folder, name) for name in folders]
            ends = [step.name for step in below if step.is_symlink() or is_repository(step)]
            folders[:] = sorted({*folders} - {*ends, "__pycache__"})
            yield from (Path(folder, name) for name in sorted(files + ends))


def is_repository(path: Path) -> bool:
    """Return whether a folder is the top of a repository."""
    return os.path.lexists(path / ".git")


def is_regular(path: Path) -> bool:
    """Return whether a path is a file: no link, folder, pipe or device."""
    return path.is_file() and not path.is_symlink()


class Git:
    """What git says about the files of a checkout; `refusal` says why it cannot be asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.committed: set[str] = set()
        self.refusal = ""
        try:
            top = self._ask("rev-parse", "--show-toplevel").rstrip("\n")
            if not Path(top).samefile(root):
                self.refusal = f"this folder belongs to the repository {top}"
            self.committed = {*filter(None, self._ask("ls-files", "-z").split("\0"))}
        except FileNotFoundError:
            self.refusal = "git is not installed"
        except OSError as error:  # it may not be run
            self.refusal = f"git cannot be run: {error.strerror}"
        except subprocess.CalledProcessError as error:
            self.refusal = (error.stderr.strip().splitlines() or ["git failed"])[0]

    def _ask(self, *words: str, text: str | None = None) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        result = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env={**environment, "LC_ALL": "C"},
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
        if result.returncode and not (words[0] == "check-ignore" and result.returncode == 1):
            raise subprocess.CalledProcessError(result.returncode, words, "", result.stderr)
        return result.stdout

    def ignored(self, root: Path, paths: Iterable[Path]) -> set[Path]:
        """Return the paths that git ignores. Committed files are not among them."""
        names = [path.relative_to(root).as_posix() for path in paths]
        try:
            answer = self._ask("check-ignore", "-z", "--stdin", text="\0".join(names) + "\0")
        except (OSError, subprocess.CalledProcessError) as error:
            lines = str(getattr(error, "stderr", "")).strip().splitlines()
            self.refusal = lines[0] if lines else str(error)
            return set()
        return {root / name for name in {*answer.split("\0")} - self.committed if name}


def candidates(root: Path) -> set[Path]:
    """Return the files that a run has listed."""
    files = set()
    for name in listed(root):
        path = root / name
        if first_link(root, path) is not None:
            continue
        if not name.endswith("/"):
            files |= {*filter(is_regular, [path])}
        elif is_in_a_place(name):
            files |= {file for file in files_below(path) if file.is_symlink() or file.is_file()}
        for temporary in path.parent.glob(".*.tmp"):  # of a killed process
            match = TEMPORARY.fullmatch(temporary.name)
            if match and match[1] == path.name[:50] and temporary.is_file():
                files.add(temporary)
    return files


def is_in_a_place(name: str) -> bool:
    """Return whether a folder is inside a place of results, and not such a place as a whole."""
    above = [folder.as_posix() for folder in PurePosixPath(name).parents]
    return any(fnmatch(folder, place) for folder in above for place in PLACES)


def remove(root: Path, files: Iterable[Path]) -> None:
    """Delete files, and the folders that become empty."""
    folders = set()
    for path in files:
        path.unlink()
        folders |= {folder for folder in path.parents if folder.is_relative_to(root)}
    for folder in sorted(folders - {root}, key=lambda folder: -len(folder.parts)):
        try:
            folder.rmdir()
        except OSError:  # it has other files
            continue


def remaining(root: Path, places: Iterable[str]) -> set[Path]:
    """Return the files and links in some places; a link is not followed."""
    files = set()
    for place in places:
        for path in root.glob(place):
            link = first_link(root, path)
            files |= {*files_below(path)} if link is None else {link}
    return files


def is_at_work(root: Path) -> bool:
    """Return whether a run holds the lock of the checkout."""
    if fcntl is None:
        return False
    with contextlib.suppress(FileNotFoundError), (root / ".doit" / "lock").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no locks on this file system
            return False
    return False


def clean(root: Path = ROOT, places: Iterable[str] = PLACES) -> list[str]:
    """Remove the files of runs in some places of a checkout.

    Returns:
        A line for each file that is kept although git ignores it, or the reason why nothing is
        removed.
    """
    for place in places:
        if not place or place.startswith("/") or ".." in place.split("/"):
            return [f"nothing is removed: {place!a} is no place inside this folder"]
    left = remaining(root, places)
    if not left:
        return []
    if is_at_work(root):
        return ["nothing is removed: a make is running in this checkout"]
    git = Git(root)
    if git.refusal:
        return [f"nothing is removed, because git does not say what it ignores: {git.refusal}"]
    ignored = git.ignored(root, left)
    if git.refusal:
        return [f"nothing is removed, because git does not say what it ignores: {git.refusal}"]
    links = {path for path in left if path.is_symlink()} - {root / name for name in git.committed}
    try:
        removed = candidates(root) & ignored
    except OSError as error:
        return [f"nothing is removed: {error.filename!a} cannot be read ({error.strerror})"]
    remove(root, removed)
    unlisted = sorted(path.relative_to(root).as_posix() for path in (ignored | links) - removed)
    lines = [f"kept, a file or link that no run lists: {name!a}" for name in unlisted[:SHOWN]]
    if unlisted[SHOWN:]:
        lines.append(f"kept, and not shown: {len(unlisted) - SHOWN} further files")
    return lines


def run(command: list[str], folders: list[Path], root: Path = ROOT) -> int:
    """Run a command in the checkout, and list the files that it adds to some folders.

    Returns:
        The exit code of the command.
    """
    earlier = {path for folder in folders for path in files_below(folder)}
    # Ctrl-C ends the command, and its files are still listed.
    former = signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.call(command, cwd=root)
    signal.signal(signal.SIGINT, former)
    later = {path for folder in folders for path in files_below(folder)}
    note(*sorted(later - earlier), root=root)
    return code if code >= 0 else 128 - code


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Remove the files that runs have written.")
    parser.add_argument("places", nargs="*", default=PLACES, help="default: all")
    parser.add_argument("--list", action="append", metavar="FOLDER", type=Path, default=[])
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args()
    if options.run:
        return run(options.run, options.list)
    for line in clean(places=options.places):
        print(f"clean: {line}")
    if is_regular(ROOT / LEDGER) and not any(os.path.lexists(ROOT / name) for name in listed(ROOT)):
        (ROOT / LEDGER).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
