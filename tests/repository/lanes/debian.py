"""Run tests/fe_data on the dolfinx of another Debian release, in a folder made by debootstrap.

    python -m tests.repository.lanes.debian trixie [pytest arguments]
    python -m tests.repository.lanes.debian trixie --if-changed

The folder is kept in $LANES (default ~/.cache/composite-bnn/lanes) and used again. A stage that was
interrupted is repeated; delete the folder to make it anew. Mounts and processes live in namespaces
of their own and end with the run. Apt's mirror, pip's settings, proxies and certificates are those
of this machine.

--if-changed is for CI: the tests are skipped when the last run that passed saw the same files, and
where the folder cannot be made, the reason is printed and counts as success. --old-mirror accepts a
mirror whose index has expired (after a week for sid); signatures are checked all the same.
"""

import argparse
import ast
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from tests.repository.lanes.folder import lanes_folder, locked

ROOT = Path(__file__).resolve().parents[3]
SUITES = ("trixie", "sid")
COPIED = ("fe_data", "tests", "pyproject.toml", "constraints.txt")
TESTED = ("fe_data", "tests/fe_data", "tests/conftest.py", "tests/repository/lanes", *COPIED[2:])
# Notebooks, page, site, linters and bnn are not tested here, and PyTorch is large.
NOT_NEEDED = re.compile(
    "beautifulsoup4|doit|furo|grimp|import-linter|ipykernel|jinja2|mypy|myst-nb|nb.*|papermill|"
    "pydantic|pyro.*|rocrate|ruff|scikit-learn|scoringrules|sphinx|torch|typst|uncertainty.*"
)
PASSED_ON = re.compile(
    "PIP_.*|(https?|no|all)_proxy|SSL_CERT_FILE|(REQUESTS_CA|CURL_CA)_BUNDLE|HYPOTHESIS_.*", re.I
)
FREE_GB = 5.0  # a folder takes 3, its making a little more


class Unavailable(RuntimeError):
    """Such a folder cannot be made or entered here."""


class MakingFailed(RuntimeError):
    """A step of making the folder failed."""


class Lane:
    """One Debian release: its folder, and what is known of it."""

    def __init__(self, suite: str, folder: Path, old_mirror: bool = False):
        self.suite, self.folder, self.old_mirror = suite, folder, old_mirror
        self.root = folder / suite
        self.base = folder / f"{suite}.base"  # exists while no installation is broken off
        self.recipe = folder / f"{suite}.recipe"  # digest of the packages that are installed
        self.green = folder / f"{suite}.green"  # digest of the files that passed

    def make(self) -> None:
        """Bring the folder up to date."""
        wanted = recipe_digest()
        if self.base.exists() and read(self.recipe) == wanted:
            return
        start = time.monotonic()
        self.recipe.unlink(missing_ok=True)
        if not self.base.exists():
            self._bootstrap()
        self._install()
        self.recipe.write_text(wanted, encoding="utf-8")
        say(f"{self.suite} is ready after {time.monotonic() - start:.0f} s: {self.root}")

    def _bootstrap(self) -> None:
        refuse_small_disk(self.folder)
        shutil.rmtree(self.root, ignore_errors=True)
        say(f"debootstrap {self.suite} into {self.root} (about a minute)")
        command = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
        try:
            logged([*NAMESPACES, *command, self.suite, str(self.root), mirror()], self.log)
        except MakingFailed as error:
            raise Unavailable(str(error)) from None
        self.base.touch()

    def _install(self) -> None:
        say(f"installing dolfinx and Python packages into {self.suite} (about two minutes)")
        network = self.root / "etc" / "apt" / "apt.conf.d" / "90network"
        expiry = 'Acquire::Check-Valid-Until "false";\n' if self.old_mirror else ""
        network.write_text(apt_network() + expiry, encoding="utf-8")
        (self.root / "requirements.txt").write_text(
            "\n".join(requirements()) + "\n", encoding="utf-8"
        )
        shutil.copy2(ROOT / "constraints.txt", self.root)
        self.base.unlink()  # dpkg cannot always finish what a kill broke off
        self._steps(
            "apt-get update --quiet",
            "apt-get install --yes --quiet --no-install-recommends " + " ".join(apt_packages()),
            "apt-get clean",
        )
        self.base.touch()
        self._steps(
            "rm -rf /venv",
            "python3 -m venv --system-site-packages /venv",
            "/venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check "
            "--constraint /constraints.txt --requirement /requirements.txt",
        )

    def _steps(self, *steps: str) -> None:
        script = "; ".join(["set -e", "export DEBIAN_FRONTEND=noninteractive", *steps])
        logged(self.command(script), self.log)

    def run(self, arguments: list[str]) -> int:
        """Copy the checkout in and run pytest on it; its exit status."""
        checkout = self.root / "checkout"
        shutil.rmtree(checkout, ignore_errors=True)
        checkout.mkdir()
        for name in COPIED:
            copy(ROOT / name, checkout / name)
        options = arguments or ["tests/fe_data"]
        call = shlex.join(["/venv/bin/python", "-m", "pytest", "-q", *options])
        return subprocess.run(self.command(f"cd /checkout && {VERSIONS} && {call}")).returncode

    @property
    def log(self) -> Path:
        return self.folder / f"{self.suite}.log"

    def command(self, script: str) -> list[str]:
        """Command that runs a script in the folder, with the network settings of this machine."""
        settings = passed_on()
        root = shlex.quote(str(self.root))
        lines = [
            "set -e",
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            f"mount --rbind /sys {root}/sys",
            f"cp /etc/resolv.conf /etc/hosts {root}/etc/",
        ]
        for path in sorted(needed_paths(settings)):
            target = shlex.quote(f"{self.root}{path}")
            make = "mkdir -p" if path.is_dir() else f"mkdir -p $(dirname {target}); touch"
            lines += [f"{make} {target}", f"mount --bind {shlex.quote(str(path))} {target}"]
        variables = [f"{name}={value}" for name, value in {**FIXED, **settings}.items()]
        inner = ["env", "--default-signal", "-i", *variables]
        # Not exec: the shell stays as the process that orphans in the namespace go to.
        lines += [f"chroot {root} {shlex.join([*inner, 'bash', '-c', script])}; exit $?"]
        return [*NAMESPACES, "bash", "-c", "\n".join(lines)]


NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
FIXED = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "NUMBA_CACHE_DIR": "/var/cache/numba",  # the checkout is copied anew at every run
}
VERSIONS = """/venv/bin/python -c '
import platform, dolfinx, numpy, scipy, petsc4py
print("lane: Python", platform.python_version(), "dolfinx", dolfinx.__version__,
      "PETSc", petsc4py.__version__, "NumPy", numpy.__version__, "SciPy", scipy.__version__)
'"""


def say(text: str) -> None:
    """Print one line at once, before what the tests print next."""
    print(f"lane: {text}", flush=True)


def read(path: Path) -> str:
    """Text of a file, empty if there is no such file."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder with its times, by which numba recognises compiled sources."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def logged(command: list[str], log: Path) -> None:
    """Run a command and log its output, which is shown only when the command fails."""
    with log.open("ab") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    if code:
        tail = "\n".join(log.read_text(errors="replace", encoding="utf-8").splitlines()[-12:])
        raise MakingFailed(
            f"making the folder failed; the next run makes again what is missing. {log}:\n{tail}"
        )


def refuse_impossible() -> None:
    """Say what is missing before anything is done.

    Raises:
        Unavailable: not root, no debootstrap, no namespaces.
    """
    if os.geteuid() != 0:
        raise Unavailable("only root can make and enter the folder of another Debian: use sudo")
    for program in ("debootstrap", "unshare", "chroot"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is missing: apt-get install debootstrap util-linux")
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"this machine gives no namespaces: {done.stderr.strip()}")


def refuse_small_disk(folder: Path) -> None:
    """Refuse a disk on which the folder does not fit."""
    free = shutil.disk_usage(folder).free / 1e9
    if free < FREE_GB:
        raise Unavailable(
            f"{free:.1f} GB are free in {folder}, {FREE_GB:.0f} are needed: "
            "LANES=folder chooses another place"
        )


def mirror() -> str:
    """The Debian mirror that this machine's apt uses; MIRROR overrides it."""
    if os.environ.get("MIRROR"):
        return os.environ["MIRROR"]
    form = "$(ORIGIN) $(COMPONENT) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    done = subprocess.run(command, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        origin, component, uri = line.split(maxsplit=2)
        if (origin, component) == ("Debian", "main") and "security" not in uri:
            return uri
    raise Unavailable("apt knows no Debian mirror here: MIRROR=address names one")


def apt_network() -> str:
    """Proxies and certificates of this machine's apt, as a configuration file."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True)
    wanted = re.compile(r"Acquire::.*(Proxy|CaInfo|CaPath|Verify|Retries)", re.I)
    return "".join(f"{line}\n" for line in done.stdout.splitlines() if wanted.match(line))


def pip_settings(listing: str) -> dict[str, str]:
    """Environment variables that say what `pip config list` printed."""
    found = re.findall(r"^(?:global|install|:env:)\.([a-z0-9-]+)=(.*)$", listing, re.M)
    return {f"PIP_{k.upper().replace('-', '_')}": str(ast.literal_eval(v)) for k, v in found}


@functools.cache
def passed_on() -> dict[str, str]:
    """Variables that fetching packages needs here: pip's settings, proxies, certificates."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    own = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
    return {**pip_settings(listing), **own}


def needed_paths(settings: dict[str, str]) -> set[Path]:
    """Files and folders of this machine that the settings name."""
    paths = set()
    for word in " ".join(settings.values()).split():
        path = Path(word.removeprefix("file://"))
        if word.startswith("file://"):
            path = path.parent  # the pages of an index point to files beside it
        if path.is_absolute() and len(path.parts) > 2 and path.exists():
            paths.add(path)
    return paths


def apt_packages() -> list[str]:
    """The packages that setup.sh installs."""
    text = (ROOT / "setup.sh").read_text(encoding="utf-8")
    (packages,) = re.findall(r"^apt_packages=\((.*?)\)", text, re.M | re.S)
    return packages.split()


def requirements() -> list[str]:
    """Requirements of fe_data and its tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = sum(project["optional-dependencies"].values(), project["dependencies"])
    return [name for name in names if not NOT_NEEDED.fullmatch(re.split("[<>=!~;]", name)[0])]


def recipe_digest() -> str:
    """Digest of what the folder is made from."""
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    parts = [*apt_packages(), *requirements(), constraints]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def tested_digest() -> str:
    """Digest of the files that a run depends on."""
    total = hashlib.sha256()
    for name in TESTED:
        path = ROOT / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return total.hexdigest()


def run_lane(lane: Lane, arguments: list[str], only_if_changed: bool) -> int:
    """Make the folder and run the tests; record a passed run of all of them."""
    digest = tested_digest()
    if only_if_changed and read(lane.green) == digest:
        say(f"{lane.suite} not run: nothing it tests has changed since its last green run")
        return 0
    if only_if_changed:
        reason = "fe_data or its tests changed" if lane.green.exists() else "no green run is known"
        say(f"{lane.suite} runs: {reason}")
    refuse_impossible()
    lane.make()
    code = lane.run(arguments)
    say(f"{lane.suite}: " + ("passed" if code == 0 else f"FAILED with exit status {code}"))
    if code == 0 and not arguments:
        lane.green.write_text(digest, encoding="utf-8")
    return code


def main(argv: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--if-changed", action="store_true")
    parser.add_argument("--old-mirror", action="store_true")
    options, arguments = parser.parse_known_args(argv)
    folder = lanes_folder()
    lane = Lane(options.suite, folder, options.old_mirror)
    try:
        with locked(folder, options.suite):
            return run_lane(lane, arguments, options.if_changed)
    except (Unavailable, OSError) as error:
        say(f"{options.suite} not run: {error}")
        return 0 if options.if_changed else 1
    except MakingFailed as error:
        say(f"{options.suite}: FAILED: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
