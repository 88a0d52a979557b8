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
OF_C = """int typeof nullptr class and main exp printf j0 y1 gamma expf16 M_PI NAN index size_t
    linux mtx_init NULL EOF offsetof complex LDBL_MAX read write open close environ pthread_create
    stdc_count_ones ckd_add strtod32 unreachable contract_assert module INT8_C PRId64 va_start"""
OF_THE_FILE = "K N_IN VALUE weights ready point member smaller"


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


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (OF_C, "C, C++ or their libraries have '{}'"),
        ("mtx", "C, C++ or their libraries have '{}_init'"),
        (OF_THE_FILE, "the file itself has another '{}'"),
        ("_cell __cell é", "must be a name in C that begins with a letter"),
    ],
)
def test_a_name_that_is_something_else_is_refused(tmp_path, names, words):
    for name in names.split():
        message = re.escape(f"name = '{name}': {words.format(name)}")
        with pytest.raises(ValueError, match=message):
            to_c(model_of("ensemble"), tmp_path / "model.c", name=name)
    assert not (tmp_path / "model.c").exists()


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


@pytest.mark.parametrize("header", ["unistd", "fcntl", "pthread", "sys/socket", "stdlib", "time"])
def test_all_functions_that_posix_declares_are_refused(tmp_path, header):
    """A program that is linked with another `read` reads no file any more."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    path = tmp_path / "header.c"
    path.write_text(f"#include <{header}.h>\n")
    declared = output("cc", "-E", "-std=c11", "-D_XOPEN_SOURCE=700", path)
    functions = re.findall(r"^ *extern [^(;]*?\b([a-z]\w*) *\(", declared, re.MULTILINE)
    assert len(functions) > 5
    assert [name for name in functions if not is_refused(name)] == []


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
