"""Run tests/fe_data on the dolfinx of another Debian release, in a folder made by debootstrap.

    python -m tests.repository.environments.debian trixie [pytest arguments]
    python -m tests.repository.environments.debian trixie --if-changed

The folder is kept in $LANES (default ~/.cache/composite-bnn/lanes) and used again until the
packages that it needs change. Mounts and processes live in namespaces of their own and end with the
run. Pip's settings, proxies and certificates are those of this machine, and $MIRROR names a mirror.

--if-changed is for CI: the tests are skipped when the last run that passed saw the same files, and
a machine that cannot make such a folder prints the reason and succeeds.
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
from pathlib import Path

from tests.repository.environments.common import (
    NAMESPACES,
    ROOT,
    Unavailable,
    environments_folder,
    locked,
    refuse_impossible,
    requirements,
    say,
)

SUITES = ("trixie", "sid")
# The files that a run copies, and whose change is a reason to run again.
TESTED = (
    "fe_data",
    "safe_files",
    "tests/fe_data",
    "tests/repository/environments",
    "pyproject.toml",
    "constraints.txt",
    "docs/fe_data.md",  # of which a test runs an example
)
PASSED_ON = re.compile(
    "PIP_.*|(https?|no|all)_proxy|SSL_CERT_FILE|(REQUESTS_CA|CURL_CA)_BUNDLE|HYPOTHESIS_.*", re.I
)
FIXED = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "NUMBA_CACHE_DIR": "/var/cache/numba",  # the checkout is copied anew at every run
}
VERSIONS = """/venv/bin/python -c '
import platform, dolfinx, numpy, scipy, petsc4py
print("test environment: Python", platform.python_version(), "dolfinx", dolfinx.__version__,
      "PETSc", petsc4py.__version__, "NumPy", numpy.__version__, "SciPy", scipy.__version__)
'"""


# -- the network of this machine ------------------------------------------------------------


def network_settings() -> dict[str, str]:
    """Variables that fetching packages needs here: pip's settings, proxies, certificates."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True).stdout
    settings = {}
    for key, value in re.findall(r"^(?:global|install|:env:)\.([a-z0-9-]+)=(.*)$", listing, re.M):
        settings["PIP_" + key.upper().replace("-", "_")] = str(ast.literal_eval(value))
    passed_on = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    return settings | passed_on


def named_paths(settings: dict[str, str]) -> set[Path]:
    """Files and folders of this machine that the settings name."""
    words = " ".join(settings.values()).split()
    # The pages of an index in a folder point to files beside it.
    indices = [word.removeprefix("file://") for word in words if word.startswith("file://")]
    paths = {*map(Path, words), *(Path(index).parent for index in indices)}
    return {path for path in paths if path.is_absolute() and len(path.parts) > 2 and path.exists()}


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


def make(suite: str, root: Path) -> None:
    """Make the folder of a release anew, unless it was made to its end from the same packages.

    Raises:
        Unavailable: debootstrap cannot make it on this machine.
        CalledProcessError: apt or pip cannot install what fe_data needs.
    """
    setup = (ROOT / "setup.sh").read_text(encoding="utf-8")
    (of_apt,) = re.findall(r"^apt_packages=\((.*?)\)", setup, re.M | re.S)
    of_pip = requirements("fe_data", "safe_files", "tests/fe_data")
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    recipe = "\n".join([*of_apt.split(), *of_pip, constraints])
    made_from = root / "recipe"
    if made_from.is_file() and made_from.read_text(encoding="utf-8") == recipe:
        return
    say(f"making {suite} in {root} (3 GB, about three minutes)")
    shutil.rmtree(root, ignore_errors=True)
    mirror = os.environ.get("MIRROR", "http://deb.debian.org/debian")
    bootstrap = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
    try:
        subprocess.run([*NAMESPACES, *bootstrap, suite, str(root), mirror], check=True)
    except subprocess.CalledProcessError:
        raise Unavailable(f"debootstrap cannot make it from {mirror}") from None
    (root / "requirements.txt").write_text("\n".join(of_pip) + "\n", encoding="utf-8")
    (root / "constraints.txt").write_text(constraints, encoding="utf-8")
    steps = [
        "set -e",
        "export DEBIAN_FRONTEND=noninteractive",
        "apt-get update --quiet",
        "apt-get install --yes --quiet --no-install-recommends " + " ".join(of_apt.split()),
        "apt-get clean",
        "python3 -m venv --system-site-packages /venv",
        "/venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check "
        "--constraint /constraints.txt --requirement /requirements.txt",
    ]
    subprocess.run(inside(root, "\n".join(steps)), check=True)
    made_from.write_text(recipe, encoding="utf-8")


def tested_files() -> list[Path]:
    """The files that a run depends on: those of TESTED, and what all tests share."""
    files = [*(ROOT / "tests").glob("*.py")]
    for name in TESTED:
        path = ROOT / name
        files += path.rglob("*") if path.is_dir() else [path]
    return sorted(p for p in files if p.is_file() and "__pycache__" not in p.parts)


def run_tests(root: Path, arguments: list[str]) -> int:
    """Copy the checkout in and run pytest on it; its exit status."""
    checkout = root / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    for path in tested_files():
        target = checkout / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)  # with its time, by which numba recognises compiled sources
    call = shlex.join(["/venv/bin/python", "-m", "pytest", "-q", *(arguments or ["tests/fe_data"])])
    return subprocess.run(inside(root, f"cd /checkout && {VERSIONS} && {call}")).returncode


def run_environment(suite: str, folder: Path, arguments: list[str], if_changed: bool) -> int:
    """Make the folder and run the tests; a passed run of all of them is remembered."""
    passed = folder / f"{suite}.passed"  # digest of the files that the last such run saw
    total = hashlib.sha256()
    for path in tested_files():
        total.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    digest = total.hexdigest()
    if if_changed and passed.is_file() and passed.read_text(encoding="utf-8") == digest:
        say(f"{suite} not run: nothing it tests has changed since it passed")
        return 0
    refuse_impossible({"debootstrap": "debootstrap"})
    make(suite, folder / suite)
    code = run_tests(folder / suite, arguments)
    say(f"{suite}: FAILED with exit status {code}" if code else f"{suite}: passed")
    if code == 0 and not arguments:
        passed.write_text(digest, encoding="utf-8")
    return code


def main(argv: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", nargs="?", choices=SUITES, default="trixie")
    parser.add_argument("--if-changed", action="store_true")
    options, arguments = parser.parse_known_args(argv)
    folder = environments_folder()
    try:
        with locked(folder, options.suite):
            return run_environment(options.suite, folder, arguments, options.if_changed)
    except Unavailable as error:
        say(f"{options.suite} not run: {error}")
        return 0 if options.if_changed else 1
    except subprocess.CalledProcessError as error:
        say(f"{options.suite}: FAILED: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
