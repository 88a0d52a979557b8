"""Run a study: python -m studies NAME [OPTIONS], which `make study NAME=...` calls.

A study is a program with options, or a notebook whose sizes are those of a profile, by default of
the full one. Without a name the command prints the names, each with the question that its README
answers. The arithmetic is pinned, so that the results have the same digits on other processors,
except in studies that compare times.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from figures.pipeline.arithmetic import environment

FOLDER = Path(__file__).parent
# Studies that compare times of libraries, which choose their own arithmetic
COMPARE_TIMES = ("bayesian_optimisation", "large_tables", "scoreboard")
PARAMETERS = ("PROFILE", "DATA", "SEED", "JOBS")  # of notebooks; the study `repeats` runs notebooks


def questions() -> dict[str, str]:
    """Return the heading of each study's README, by the name of the study."""
    headings = {}
    for page in sorted(FOLDER.glob("*/README.md")):
        headings[page.parent.name] = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
    return headings


def main(arguments: list[str]) -> None:
    """List the studies, or run one of them with the remaining arguments."""
    studies = questions()
    listed = "\n".join(f"  {name:24s}{question}" for name, question in studies.items())
    parser = argparse.ArgumentParser(
        "python -m studies",
        description="Run a study beyond the paper: make study NAME=... does the same.",
        epilog=f"studies:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=studies, metavar="NAME", help="the study to run")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help="its options")
    if not arguments:
        parser.print_help()
        return
    options = parser.parse_args(arguments)
    is_program = not list((FOLDER / options.name).glob("*.ipynb"))
    refused = [name for name in PARAMETERS if os.environ.get(name)]
    if is_program and options.name != "repeats" and refused:
        names = ", ".join(refused)
        parser.error(f'{options.name} has no {names}: ARGS="--help" lists the options of a study')
    profile = {"PROFILE": os.environ.get("PROFILE") or "full"}
    if is_program:
        command = [sys.executable, "-m", f"studies.{options.name}", *options.options]
        variables = os.environ if options.name in COMPARE_TIMES else environment()
        os.execve(sys.executable, command, {**variables, **profile})
    elif options.options:
        parser.error(
            f"{options.name} is a notebook, which has no options: set PROFILE, SEED or JOBS"
        )
    else:
        command = [sys.executable, "-m", "doit", f"study:{options.name}"]
        ran = subprocess.run(command, cwd=FOLDER.parent, env=os.environ | profile)
        sys.exit(ran.returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
