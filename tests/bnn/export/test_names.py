"""Names that functions of a C file may have."""

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
KINDS = {
    "ensemble": lambda: fitted("tanh"),
    "posterior": lambda: bnn.GPRegressor().fit(X, X[:, 0]),
}
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("header", ["math", "stdlib", "unistd", "pthread", "sys/socket"])
def test_all_that_headers_of_c_and_posix_declare_is_refused(tmp_path, header):
    """A program that is linked with another `read` reads no file any more."""
    path = tmp_path / "header.c"
    path.write_text(f"#include <{header}.h>\n")
    options = ["-D_GNU_SOURCE"] if header == "math" else ["-std=c11", "-D_XOPEN_SOURCE=700"]
    declared = output("cc", "-E", *options, path)
    names = re.findall(r"^ *extern [^(;]*?\b([a-z]\w*) *\(", declared, re.MULTILINE)
    assert len(names) > 5
    if header == "math":
        macros = output("cc", "-E", *options, "-dM", path)
        names += re.findall(r"^#define ([A-Za-z]\w*)", macros, re.MULTILINE)
        assert {"exp", "j0", "lgamma_r", "M_PI", "isnan"} <= {*names}
    for name in [*names, "int", "class", "and", "printf", "main"]:
        with pytest.raises(ValueError, match=rf"C, C\+\+ or their libraries have '{name}'"):
            check_name(name, [], "int surrogate(void);")


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_the_file_itself_defines_is_refused(tmp_path, kind):
    model = KINDS[kind]()
    path = tmp_path / "model.c"
    to_c(model, path)
    subprocess.run(["cc", "-c", path, "-o", tmp_path / "model.o"], check=True)
    symbols = output("nm", "--defined-only", tmp_path / "model.o").split("\n")
    own = {line.split()[-1] for line in symbols if line}
    own |= set(re.findall(r"^#define (\w+)", path.read_text(), re.MULTILINE))
    assert {"ready", "point", "N_IN", "OUTPUTS"} <= own
    for name in own - {"surrogate", "surrogate_init", "surrogate_members"}:
        with pytest.raises(ValueError, match=f"name = '{name}': "):
            to_c(model, path, name=name)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_compile_in_c_and_in_cpp(tmp_path, kind):
    model = KINDS[kind]()
    path = tmp_path / "model.c"
    for name in ("x", "K_", "part", "EXP", "surrogate_init", "a" * 300):
        to_c(model, path, name=name)
        subprocess.run(["cc", "-std=c99", *WARNINGS, path], check=True)
        if shutil.which("c++"):
            subprocess.run(["c++", "-x", "c++", "-std=c++11", *WARNINGS, path], check=True)
