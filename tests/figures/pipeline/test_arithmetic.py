"""The pins of published results."""

import json
import os
import subprocess
import sys

import pytest

from figures.pipeline import actions, arithmetic
from figures.pipeline.arithmetic import KERNELS, can_pin, described, environment, pins
from figures.pipeline.paths import ROOT

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"
needs_haswell = pytest.mark.skipif(not can_pin(), reason="not Linux with AVX2 and FMA")


@needs_haswell
def test_programs_of_a_run_are_pinned_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Sandybridge")
    script = "import os, pathlib, sys; from figures.pipeline.arithmetic import described; "
    script += "pathlib.Path(sys.argv[1]).write_text(described())"
    assert actions.run_program(["-c", script, str(tmp_path / "said")]) is None
    said = (tmp_path / "said").read_text(encoding="utf-8")
    assert said.startswith("pinned: one thread, ")
    assert "OPENBLAS_CORETYPE=Haswell" in said
    assert described(environment({}) | {"MKL_CBWR": "AVX2"}) == "not pinned: MKL_CBWR"


@needs_haswell
def test_the_launcher_pins_a_program(tmp_path):
    (tmp_path / "show.py").write_text(SHOW, encoding="utf-8")
    command = [sys.executable, "-m", "figures.pipeline.arithmetic", "-m", "show", "--help"]
    variables = os.environ | {"MKL_CBWR": "AVX2", "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, check=True)
    pinned = json.loads(done.stdout)
    assert {name: pinned[name] for name in pins()} == pins()


def test_a_processor_without_the_instructions_is_not_told_to_use_them(monkeypatch):
    monkeypatch.setattr(arithmetic, "features", lambda: frozenset({"avx"}))
    assert not KERNELS.keys() & pins().keys()
    assert environment({})["OMP_NUM_THREADS"] == "1"
    assert described(environment({})).startswith("not pinned: the processor lacks AVX2 or FMA")


@pytest.mark.slow
def test_importing_the_packages_sets_nothing():
    script = "import os; before = dict(os.environ); import bnn, fe_data; bnn.GPRegressor; "
    script += "fe_data.solve_rve; after = dict(os.environ); "
    script += f"print([n for n in {sorted(KERNELS)} + ['OMP_NUM_THREADS'] if n in after])"
    variables = {name: value for name, value in os.environ.items() if name not in pins()}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=variables, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"[]"
