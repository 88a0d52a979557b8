"""Names that functions of a C file may have."""

import functools
import re
import shutil
import subprocess

import numpy as np
import pytest

import bnn
from bnn.export import to_c
from bnn.export.names import check_name
from tests.bnn.export.test_ensemble import fitted

X = np.linspace(-1.0, 1.0, 9)[:, None]
KINDS = ("ensemble", "posterior")
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


@functools.cache
def model_of(kind):
    return fitted("tanh") if kind == "ensemble" else bnn.GPRegressor().fit(X, X[:, 0])


def compile_named(folder, kind, name, *compiler):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"there is no compiler {compiler[0]}")
    path = folder / "model.c"
    to_c(model_of(kind), path, name=name)
    subprocess.run([*compiler, *WARNINGS, path], check=True)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_refused(name):
    try:
        check_name(name, [], "int surrogate(void);")
    except ValueError as error:
        return str(error) == f"name = '{name}': C, C++ or their libraries have '{name}'"
    return False


def test_all_that_math_h_declares_and_defines_is_refused(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    path = tmp_path / "header.c"
    path.write_text("#include <math.h>\n")

    preprocess = ["cc", "-E", "-D_GNU_SOURCE", path]
    functions = re.findall(r"^ *extern [^(]*?\b([a-z]\w*) *\(", output(*preprocess), re.MULTILINE)
    macros = re.findall(r"^#define ([A-Za-z]\w*)", output(*preprocess, "-dM"), re.MULTILINE)
    assert {"exp", "j0", "lgamma_r"} <= {*functions}
    assert {"M_PI", "isnan"} <= {*macros}
    assert [name for name in (*functions, *macros) if not is_refused(name)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_the_file_itself_defines_is_refused(tmp_path, kind):
    if shutil.which("cc") is None or shutil.which("nm") is None:
        pytest.skip("there is no C compiler, cc, or no nm")
    path = tmp_path / "model.c"
    to_c(model_of(kind), path)
    subprocess.run(["cc", "-c", path, "-o", tmp_path / "model.o"], check=True)
    symbols = output("nm", "--defined-only", tmp_path / "model.o").split("\n")
    own = {line.split()[-1] for line in symbols if line} - {"surrogate", "surrogate_init"}
    own |= set(re.findall(r"^#define (\w+)", path.read_text(), re.MULTILINE))
    assert {"ready", "point", "N_IN", "OUTPUTS"} <= own
    for name in own - {"surrogate_members"}:
        with pytest.raises(ValueError, match=f"name = '{name}': "):
            to_c(model_of(kind), path, name=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["x", "K_", "part", "EXP", "surrogate_init", "a" * 300])
def test_odd_names_compile_in_c_and_in_cpp(tmp_path, kind, name):
    compile_named(tmp_path, kind, name, "cc", "-std=c99")
    compile_named(tmp_path, kind, name, "c++", "-x", "c++", "-std=c++11")
