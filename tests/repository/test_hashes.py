"""Files of pinned packages are checked against hashes: python -m tests.repository.test_hashes.

That command, with the program `uv` on the PATH, asks the package index for the hashes of all files
of every pinned version, and writes them into hashes.txt again.
"""

import argparse
import re
import subprocess
from pathlib import Path

from studies.scoreboard.runs import requirements

ROOT = Path(__file__).parents[2]
HASHES = ROOT / "hashes.txt"
PINS = [ROOT / "constraints.txt", *sorted((ROOT / "studies/scoreboard/libraries").glob("*.txt"))]
UNCHECKED = "torch"  # whose builds for processors do not come from PyPI
HEAD = """\
# Hashes of all files of the pinned versions, which setup.sh and studies.scoreboard check as they
# install packages with pip. `python -m tests.repository.test_hashes` writes this file again.
"""


def pinned():
    """name==version of each package that is pinned anywhere."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PINS)
    pins = set(re.findall(r"(?m)^[\w.-]+==[^\s;]+", text))
    return sorted((pin for pin in pins if not pin.startswith(f"{UNCHECKED}==")), key=str.lower)


def line_of(pin):
    """The pin with the hashes of its files, as an index has them."""
    command = ["uv", "pip", "compile", "--no-deps", "--generate-hashes", "--no-header", "-"]
    options = ["--quiet", "--universal", "--no-annotate", "--python-version", "3.11"]
    done = subprocess.run(
        [*command, *options], input=pin, check=True, capture_output=True, encoding="utf-8"
    )
    return " ".join([pin, *sorted(re.findall(r"--hash=sha256:[0-9a-f]{64}", done.stdout))])


def test_every_pin_but_one_has_hashes():
    lines = HASHES.read_text(encoding="utf-8").removeprefix(HEAD).splitlines()
    assert [line.partition(" ")[0] for line in lines] == pinned()
    hashes = r"( --hash=sha256:[0-9a-f]{64})+"
    assert [line for line in lines if not re.fullmatch(rf"\S+{hashes}", line)] == []


def test_every_package_of_the_scoreboard_but_pytorch_is_checked():
    for path in PINS[1:]:
        pins = path.read_text(encoding="utf-8").split()
        checked, unchecked = requirements(pins)
        assert unchecked == [pin for pin in pins if pin.startswith(f"{UNCHECKED}==")]
        assert [line.split()[0] for line in checked] == [p for p in pins if p not in unchecked]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    HASHES.write_text(HEAD + "".join(line_of(pin) + "\n" for pin in pinned()), encoding="utf-8")
