"""Interrupt make at random moments, then see that the next run is right.

    python tests/repository/rough/interrupt.py [--times 20] [--seed 0] [target ...]

In a copy of the checkout with small profiles, each target is first run undisturbed. Then it is
started again and again from nothing or from what the interruption before left, and ended by Ctrl-C
(the whole process group) or by a kill at a random moment of its usual duration. Every run that
comes to its end, and the last one after all interruptions, must give the undisturbed results and
exit status (`make datasets` finds the few cells of the small profile different from the shipped
ones). The lanes get a cache
of their own and one test file. Only help is left out; bench is interrupted in its first minute.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
NETWORKS = {"n_pretrained": 4, "n_members": 3, "prior_points": 40, "pretrain_epochs": 3}
CASES = {"cases": {"outd": {"design": "train_beta", "count": 3}}, "repeats": 2, "epochs": 3}
DESIGNS = ["train_beta", "test_uniform"]
PROFILE = {
    "seed": 1,
    "datasets": dict.fromkeys(DESIGNS, 4),
    "notebooks": ["04_materials_surrogate", "05_beyond_the_paper"],
    "surrogate": CASES | NETWORKS,
    "beyond": CASES
    | NETWORKS
    | {
        "converged_epochs": 3,
        "spans": [4],
        "function_pretrain_epochs": 3,
        "function_points": 5,
        "small_repeats": 1,
        "noise_repeats": 1,
        "example_repeats": 1,
        "example_members": 3,
        "example_pretrained": 4,
        "example_epochs_scale": 0.01,
    },
}
PROFILES = {"quick": {}, "full": {"apart": ["05_beyond_the_paper"]}}


@dataclass(frozen=True)
class Target:
    """One make target.

    Attributes:
        arguments: Of make.
        results: Folders that have to be the same afterwards.
        removed: Further folders without which the target starts from nothing.
        span: Longest time until an interruption [s]; None for the duration of a run.
    """

    arguments: tuple[str, ...]
    results: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    span: float | None = None


QUICK, FULL = ("data/quick", "figures/quick"), ("data/full", "figures/full")
TARGETS = {
    "quick": Target(("quick",), QUICK),
    "reproduce": Target(("reproduce",), FULL),
    "beyond": Target(("beyond",), FULL),
    "datasets": Target(("datasets",), FULL[:1]),
    "notebooks": Target(("notebooks",), QUICK),
    "report": Target(("report",), QUICK),
    "environment": Target(("environment",)),
    "python": Target(("python",)),
    "test": Target(("test", "ARGS=tests/fe_data/mechanics/test_properties.py -q")),
    "lint": Target(("lint",)),
    "clean": Target(("clean",), ("data", "figures")),
    "test-python": Target(
        ("test-python", "ARGS=tested -- tests/bnn/evaluation/test_metrics.py"), (), ("lanes",)
    ),
    "test-dolfinx": Target(
        ("test-dolfinx", "ARGS=tests/fe_data/mechanics/test_properties.py"), (), ("lanes",)
    ),
    "bench": Target(("bench",), span=60.0),
}
# Where, when and with what a result was made differs from run to run.
PASSING = re.compile("provenance|seconds|wall|time|commit|machine|made")


def copy_files(folder: Path, part: str) -> None:
    """Copy a part of the checkout, what git ignores left out."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", part]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def copy_checkout(folder: Path) -> dict[str, str]:
    """Copy the checkout, give it an environment of its own; the variables to run make with."""
    copy_files(folder, ".")
    for name, more in PROFILES.items():
        path = folder / "notebooks" / "profiles" / f"{name}.yaml"
        path.write_text(yaml.safe_dump(PROFILE | more))
    venv = folder.parent / "environment"
    base = [sys.executable, "-m", "venv", "--system-site-packages", str(venv)]
    subprocess.run(base, check=True)
    packages = venv / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (venv / "share").symlink_to(Path(sys.prefix, "share"))  # Jupyter's templates and kernels
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    lanes = str(folder / "lanes")
    return {**os.environ, "PATH": path, "PYTHONNOUSERSITE": "1", "LANES": lanes}


def results(folder: Path, parts: tuple[str, ...]) -> dict[str, str]:
    """Digests of tables, metrics without what passes, and the names of all other files."""
    found = {}
    for part in parts:
        for path in sorted((folder / part).rglob("*")):
            if path.is_dir() or path.name.startswith("."):
                continue
            name = str(path.relative_to(folder))
            if path.name == "dataset.csv":
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.suffix == ".json" and part.startswith("figures"):
                found[name] = json.dumps(lasting(json.loads(path.read_text())), sort_keys=True)
            elif path.suffix in (".html", ".svg", ".png", ".npz"):
                found[name] = "present" if path.stat().st_size else "empty"
    return found


def lasting(value):
    """A value of JSON without the entries that differ from run to run."""
    if isinstance(value, dict):
        return {k: lasting(v) for k, v in value.items() if not PASSING.search(k)}
    if isinstance(value, list):
        return [lasting(v) for v in value]
    return value


def make(arguments, folder, environment, seconds=None, how=signal.SIGINT) -> int | None:
    """Run make; its exit status, None when it was ended after some seconds."""
    log = (folder.parent / "log").open("ab")
    process = subprocess.Popen(
        ["make", "-s", *arguments],
        cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, how)
        process.wait()
        return None


def litter(folder: Path) -> None:
    """What `make clean` has to remove."""
    for i in range(200):
        path = folder / "data" / "quick" / str(i) / "dataset.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (folder / "figures" / "quick").mkdir(exist_ok=True)
    (folder / "figures" / "quick" / "index.html").write_text("x")


def disturb(name, folder, environment, times, draw) -> bool:
    """Interrupt one target many times; whether every completed run was right."""
    target = TARGETS[name]
    arguments, parts = target.arguments, target.results

    def clean():
        if name == "clean":
            litter(folder)
            return
        for part in (*parts, *target.removed):
            shutil.rmtree(folder / part, ignore_errors=True)
        for part in parts:
            copy_files(folder, part)  # a fresh clone has committed metrics, and no pictures
        shutil.rmtree(folder / ".doit", ignore_errors=True)

    clean()
    start = time.monotonic()
    status = make(arguments, folder, environment)
    usual, expected = time.monotonic() - start, results(folder, parts)
    print(f"{name}: undisturbed {usual:.0f} s, exit status {status}, {len(expected)} files")
    usual = min(usual, target.span or usual)
    clean()
    ended = completed = 0
    fresh = True  # whether nothing is left from an interrupted run
    while ended < times:
        how = signal.SIGINT if ended % 2 else signal.SIGKILL
        start = time.monotonic()
        code = make(arguments, folder, environment, draw.uniform(0, usual), how)
        if code is None:
            ended += 1
            fresh = False
            continue
        completed += 1
        if code != status or results(folder, parts) != expected:
            print(f"{name}: WRONG after {ended} interruptions, exit status {code}")
            return False
        if fresh:
            usual = min(usual, time.monotonic() - start)  # on a machine that is less busy now
        clean()
        fresh = True
    code = make(arguments, folder, environment)
    right = code == status and results(folder, parts) == expected
    print(
        f"{name}: {times} interruptions within {usual:.0f} s, {completed} runs came to their end "
        f"between them, the last one {'right' if right else f'WRONG, exit status {code}'}",
        flush=True,
    )
    return right


def main() -> int:
    """Run the command line; 0 when the next run was always right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "checkout"
        folder.mkdir()
        environment = copy_checkout(folder)
        right = [disturb(t, folder, environment, options.times, draw) for t in options.targets]
        if not all(right):
            print((Path(name) / "log").read_text(errors="replace")[-3000:])
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
