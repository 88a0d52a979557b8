"""Validators of what the project says about itself, in an environment of their own.

Cffconvert needs an older jsonschema than the notebooks do.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.environments.common import environments_folder, locked

VERSIONS = ("cffconvert==2.0.0", "mlcroissant==1.1.1")
# Nothing is there: what would ask the network fails.
OFFLINE = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")


@functools.cache
def validators() -> Path:
    """Folder of the programs; the test is skipped where pip cannot get them."""
    folder = environments_folder()
    programs = folder / "validators" / "bin"
    made = programs / "made"
    with locked(folder, "validators"):
        if not made.is_file() or made.read_text(encoding="utf-8") != repr(VERSIONS):
            subprocess.run([sys.executable, "-m", "venv", "--clear", programs.parent], check=True)
            install = [programs / "python", "-m", "pip", "install", "--quiet", *VERSIONS]
            done = subprocess.run(install, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"pip cannot install the validators: {done.stderr[-200:]}")
            made.write_text(repr(VERSIONS), encoding="utf-8")
    return programs


def validate(program: str, *arguments: str | Path) -> None:
    """Run a validator offline; AssertionError with what it prints where it accepts not all."""
    command = [validators() / program, *arguments]
    done = subprocess.run(command, env=os.environ | OFFLINE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
