"""Test in another environment: python -m tests.repository.environments NAME [OPTIONS].

`make test NAME=...` calls it.
"""

import argparse
import runpy
import sys

PROGRAMS = {  # name → module of this folder
    "bits": "bits",
    "dolfinx": "debian",
    "python": "pythons",
    "slurm": "slurm",
}
ABOUT = """environments:
  bits      every digit of a small run, on emulated processors, with other threads, and under load
  dolfinx   fe_data with the dolfinx of another Debian: trixie (default) or sid
  python    bnn with another Python and its newest PyTorch, or with --python 3.11 --oldest
  slurm     the scripts of docs/cluster.md on a Slurm cluster on this machine
"""


def main() -> None:
    """Run the tests of an environment with the remaining arguments."""
    parser = argparse.ArgumentParser(
        "python -m tests.repository.environments",
        description="Test in another environment.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=PROGRAMS, metavar="NAME", help="the environment")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help="its options")
    options = parser.parse_args()
    sys.argv[1:] = options.options
    module = f"tests.repository.environments.{PROGRAMS[options.name]}"
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
