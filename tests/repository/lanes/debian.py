"""Run tests/fe_data on the dolfinx of another Debian release, in a folder made by debootstrap.

    python -m tests.repository.lanes.debian trixie [pytest arguments]
    python -m tests.repository.lanes.debian trixie --if-changed

The folder is kept in $LANES (default ~/.cache/composite-bnn/lanes) and used again until the
packages that it needs change. Mounts and processes live in namespaces of their own and end with the
run. Apt's mirror, pip's settings, proxies and certificates are those of this machine.

--if-changed is for CI: the tests are skipped when the last run that passed saw the same files, and
a machine that cannot make such a folder prints the reason and succeeds. --old-mirror accepts a
mirror whose index has expired (after a week for sid); signatures are checked all the same.
"""

import argparse
import ast
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.repository.lanes.common import ROOT, Unavailable, declared, lanes_folder, locked, read

SUITES = ("trixie", "sid")
# The files that a run copies, and whose change is a reason to run again.
TESTED = ("fe_data", "tests/fe_data", "tests/repository/lanes", "pyproject.toml", "constraints.txt")
# What fe_data and its tests import; apt installs dolfinx and what dolfinx brings.
PACKAGES = (
    "dask",
    "distributed",
    "gmsh",
    "hypothesis",
    "joblib",
    "lazy-loader",
    "llvmlite",
    "matplotlib",
    "numba",
    "numpy",
    "pytest",
    "scipy",
    "threadpoolctl",
    "tqdm",
    "typer",
)
PASSED_ON = re.compile(
    "PIP_.*|(https?|no|all)_proxy|SSL_CERT_FILE|(REQUESTS_CA|CURL_CA)_BUNDLE|HYPOTHESIS_.*", re.I
)
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


# -- what the folder is made from -----------------------------------------------------------


def apt_packages() -> list[str]:
    """The packages that setup.sh installs."""
    text = read(ROOT / "setup.sh")
    (packages,) = re.findall(r"^apt_packages=\((.*?)\)", text, re.M | re.S)
    return packages.split()


def requirements() -> list[str]:
    """Requirements of fe_data and its tests, with their lower bounds."""
    bounds = declared()
    return [bounds[name] for name in PACKAGES]


def recipe_digest() -> str:
    """Digest of what the folder is made from."""
    parts = [*apt_packages(), *requirements(), read(ROOT / "constraints.txt")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def tested_files() -> list[Path]:
    """The files that a run depends on: those of TESTED, and what all tests share."""
    found = [*(ROOT / "tests").glob("*.py")]
    for name in TESTED:
        path = ROOT / name
        found += path.rglob("*") if path.is_dir() else [path]
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


def tested_digest() -> str:
    """Digest of the files that a run depends on."""
    total = hashlib.sha256()
    for path in tested_files():
        total.update(f"{path.relative_to(ROOT)}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


# -- the network of this machine ------------------------------------------------------------


def mirror() -> str:
    """The Debian mirror that this machine's apt uses; MIRROR overrides it."""
    if os.environ.get("MIRROR"):
        return os.environ["MIRROR"]
    form = "$(ORIGIN) $(COMPONENT) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    done = subprocess.run(command, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        origin, component, uri = line.split(maxsplit=2)
        if origin == "Debian" and component == "main" and "security" not in uri:
            return uri
    raise Unavailable("apt knows no Debian mirror here: MIRROR=address names one")


def apt_network() -> str:
    """Proxies and certificates of this machine's apt, as a configuration file."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True)
    wanted = re.compile(r"Acquire::.*(Proxy|CaInfo|CaPath|Verify|Retries)", re.I)
    lines = [line for line in done.stdout.splitlines() if wanted.match(line)]
    return "".join(f"{line}\n" for line in lines)


def pip_settings(listing: str) -> dict[str, str]:
    """Environment variables that say what `pip config list` printed."""
    settings = {}
    pattern = r"^(?:global|install|:env:)\.([a-z0-9-]+)=(.*)$"
    for key, value in re.findall(pattern, listing, re.M):
        name = "PIP_" + key.upper().replace("-", "_")
        settings[name] = str(ast.literal_eval(value))
    return settings


def network_settings() -> dict[str, str]:
    """Variables that fetching packages needs here: pip's settings, proxies, certificates."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True).stdout
    own = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    return {**pip_settings(listing), **own}


def named_paths(settings: dict[str, str]) -> set[Path]:
    """Files and folders of this machine that the settings name."""
    paths = set()
    for word in " ".join(settings.values()).split():
        path = Path(word.removeprefix("file://"))
        if word.startswith("file://"):
            path = path.parent  # the pages of an index point to files beside it
        if path.is_absolute() and len(path.parts) > 2 and path.exists():
            paths.add(path)
    return paths


# -- the folder -----------------------------------------------------------------------------


def inside(root: Path, script: str) -> list[str]:
    """Command that runs a script in the folder, with the network settings of this machine."""
    settings = network_settings()
    target = shlex.quote(str(root))
    lines = [
        "set -e",
        f"mount -t proc proc {target}/proc",
        f"mount --rbind /dev {target}/dev",
        f"mount --rbind /sys {target}/sys",
        f"cp /etc/resolv.conf /etc/hosts {target}/etc/",
    ]
    for path in sorted(named_paths(settings)):
        place = shlex.quote(f"{root}{path}")
        if path.is_dir():
            lines.append(f"mkdir -p {place}")
        else:
            lines.append(f"mkdir -p $(dirname {place}); touch {place}")
        lines.append(f"mount --bind {shlex.quote(str(path))} {place}")
    variables = [f"{name}={value}" for name, value in {**FIXED, **settings}.items()]
    call = shlex.join(["env", "--default-signal", "-i", *variables, "bash", "-c", script])
    # Not exec: the shell stays as the process that orphans in the namespace go to.
    lines.append(f"chroot {target} {call}; exit $?")
    return [*NAMESPACES, "bash", "-c", "\n".join(lines)]


def logged(command: list[str], log: Path) -> None:
    """Run a command; its output goes to a log, whose end is shown when the command fails.

    Raises:
        CalledProcessError: the command failed.
    """
    with log.open("ab") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    if code:
        tail = log.read_text(errors="replace", encoding="utf-8").splitlines()[-12:]
        say("the end of " + str(log) + ":\n" + "\n".join(tail))
        raise subprocess.CalledProcessError(code, command[0])


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


def make(suite: str, folder: Path, old_mirror: bool) -> None:
    """Make the folder of a release anew, unless it was made to its end from the same recipe.

    Raises:
        Unavailable: debootstrap cannot make it on this machine.
        CalledProcessError: apt or pip cannot install what fe_data needs.
    """
    root = folder / suite
    log = folder / f"{suite}.log"
    recipe = folder / f"{suite}.recipe"
    wanted = recipe_digest()
    if read(recipe) == wanted:
        return
    start = time.monotonic()
    recipe.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    say(f"making {suite} in {root} (3 GB, about three minutes)")
    bootstrap = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
    try:
        logged([*NAMESPACES, *bootstrap, suite, str(root), mirror()], log)
    except subprocess.CalledProcessError as error:
        raise Unavailable(str(error)) from None
    settings = apt_network()
    if old_mirror:
        settings += 'Acquire::Check-Valid-Until "false";\n'
    (root / "etc/apt/apt.conf.d/90network").write_text(settings, encoding="utf-8")
    (root / "requirements.txt").write_text("\n".join(requirements()) + "\n", encoding="utf-8")
    shutil.copy2(ROOT / "constraints.txt", root)
    install = "apt-get install --yes --quiet --no-install-recommends "
    pip = "/venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check "
    steps = [
        "set -e",
        "export DEBIAN_FRONTEND=noninteractive",
        "apt-get update --quiet",
        install + " ".join(apt_packages()),
        "apt-get clean",
        "python3 -m venv --system-site-packages /venv",
        pip + "--constraint /constraints.txt --requirement /requirements.txt",
    ]
    logged(inside(root, "\n".join(steps)), log)
    recipe.write_text(wanted, encoding="utf-8")
    say(f"{suite} is ready after {time.monotonic() - start:.0f} s")


def run_tests(root: Path, arguments: list[str]) -> int:
    """Copy the checkout in and run pytest on it; its exit status."""
    checkout = root / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    for path in tested_files():
        target = checkout / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)  # with its time, by which numba recognises compiled sources
    chosen = arguments or ["tests/fe_data"]
    call = shlex.join(["/venv/bin/python", "-m", "pytest", "-q", *chosen])
    script = f"cd /checkout && {VERSIONS} && {call}"
    return subprocess.run(inside(root, script)).returncode


def run_lane(
    suite: str, folder: Path, arguments: list[str], if_changed: bool, old_mirror: bool
) -> int:
    """Make the folder and run the tests; a passed run of all of them is remembered."""
    green = folder / f"{suite}.green"  # digest of the files that passed
    digest = tested_digest()
    if if_changed and read(green) == digest:
        say(f"{suite} not run: nothing it tests has changed since its last green run")
        return 0
    refuse_impossible()
    make(suite, folder, old_mirror)
    code = run_tests(folder / suite, arguments)
    if code:
        say(f"{suite}: FAILED with exit status {code}")
    else:
        say(f"{suite}: passed")
    if code == 0 and not arguments:
        green.write_text(digest, encoding="utf-8")
    return code


def main(argv: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--if-changed", action="store_true")
    parser.add_argument("--old-mirror", action="store_true")
    options, arguments = parser.parse_known_args(argv)
    suite = options.suite
    folder = lanes_folder()
    try:
        with locked(folder, suite):
            return run_lane(suite, folder, arguments, options.if_changed, options.old_mirror)
    except Unavailable as error:
        say(f"{suite} not run: {error}")
        return 0 if options.if_changed else 1
    except subprocess.CalledProcessError as error:
        say(f"{suite}: FAILED: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
