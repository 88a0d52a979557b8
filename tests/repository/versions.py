"""Write the lists of versions that follow from others: python -m tests.repository.versions.

pyproject.toml has the lowest versions, constraints.txt the versions that the tests ran with. From
both follow the three files for conda: environment.yml, environment-dev.yml and the requirements in
conda/recipe.yaml. With --hashes, which needs the network and the program `uv` on the PATH, the
command also asks the package index for the hashes in hashes.txt and pytorch-hashes.txt.
"""

import argparse
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CONSTRAINTS = ROOT / "constraints.txt"
HASHES = ROOT / "hashes.txt"
PYTORCH_HASHES = ROOT / "pytorch-hashes.txt"
LISTS_OF_PINS = [CONSTRAINTS, *sorted((ROOT / "studies/scoreboard/libraries").glob("*.txt"))]
PYTORCH = "torch"  # whose builds for processors do not come from PyPI

# Names of conda-forge, if they differ from those of PyPI.
CONDA_NAMES = {
    "dask": "dask-core",
    "gmsh": "python-gmsh",
    "matplotlib": "matplotlib-base",
    "torch": "pytorch",
}
# Of environment-dev.yml: versions that conda-forge has, but not PyPI or Debian 12.
CONDA_VERSIONS = {
    "python": "3.13",
    "fenics-dolfinx": "0.11",
    "gmsh": "4.15",
    "numpy": "2.4",
    "scipy": "1.17",
}
DOLFINX = "fenics-dolfinx>=0.5"
WITH_PIP = (  # not of conda-forge: setup.sh completes the environment with them
    "botorch",
    "gpytorch",
    "mapie",
    "onnx",
    "onnxruntime",
    "rocrate",
    "scoringrules",
    "typst",
    "uncertainty-toolbox",
)
USERS = """\
# What bnn and fe_data need, with the simulation, for users of the packages:
#   conda env create --file environment.yml
#   conda activate composite-bnn
#   pip install --no-deps .
# environment-dev.yml adds what the paper, the tests and the site need.
"""
DEVELOPERS = """\
# What setup.sh installs with conda, mamba or micromamba to rebuild the paper and to change code:
# direct dependencies, pinned to the minor version. environment.yml is for users of the packages.
"""
COMPLETED = """\
  # setup.sh completes the environment with pip, which checks hashes:
  # {}
  - pip
"""
ENVIRONMENT = "name: composite-bnn\nchannels: [conda-forge, nodefaults]\ndependencies:\n"


def name_of(requirement: str) -> str:
    """Return the name of a package in a requirement such as numpy>=1.26."""
    name_part = re.match(r"[\w.-]+", requirement)
    assert name_part, requirement
    return name_part[0]


def declared(*extras: str) -> dict[str, str]:
    """Return the bounds of what pyproject.toml requires, with these extras, by name."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    return {name_of(line): line.removeprefix(name_of(line)) for line in sorted(lines)}


def pinned_versions() -> dict[str, str]:
    """Return the versions of constraints.txt by lower-case name."""
    text = CONSTRAINTS.read_text(encoding="utf-8").lower()
    return dict(re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text))


def conda_bounds(*extras: str) -> list[tuple[str, str]]:
    """Return names of conda-forge with the bounds of pyproject.toml, such as pytorch and >=2.4."""
    bounds = declared(*extras).items()
    return sorted((CONDA_NAMES.get(name, name), bound) for name, bound in bounds)


def environment_of_users() -> str:
    """Return the content of environment.yml."""
    bounds = [name + bound for name, bound in conda_bounds("fe", "pandas")]
    needed = [f"python{PROJECT['requires-python']}", DOLFINX, *sorted([*bounds, "pip"])]
    return USERS + ENVIRONMENT + "".join(f"  - {line}\n" for line in needed)


def environment_of_developers() -> str:
    """Return the content of environment-dev.yml."""
    pins = pinned_versions()
    minor = {name: ".".join(pins[name].split(".")[:2]) for name in declared(*EXTRAS)}
    minor = minor | CONDA_VERSIONS
    names = CONDA_NAMES | {"torch": "pytorch-cpu"}
    minor["python-gmsh"] = minor["gmsh"]
    wanted = {*declared(*EXTRAS), "python-gmsh"} - {*WITH_PIP}
    lines = [f"{name}={minor[name]}" for name in ("python", "fenics-dolfinx")]
    del names["gmsh"]  # the library and its module are two packages of conda-forge
    lines += sorted(f"{names.get(name, name)}={minor[name]}" for name in wanted)
    text = DEVELOPERS + ENVIRONMENT + "".join(f"  - {line}\n" for line in lines)
    return text + COMPLETED.format(", ".join(WITH_PIP))


def recipe(text: str) -> str:
    """Return the text of conda/recipe.yaml with the version and requirements of pyproject.toml."""
    python = PROJECT["requires-python"].removeprefix(">=")
    text = re.sub(r"(?m)^  version: .*$", f'  version: "{PROJECT["version"]}"', text, count=1)
    text = re.sub(r"(?m)^  python_min: .*$", f'  python_min: "{python}"', text, count=1)
    text = re.sub(r"(?m)^  summary: .*$", f"  summary: {PROJECT['description']}", text, count=1)
    both = ["python >=${{ python_min }}"]
    simulating = [*both, '${{ pin_subpackage("composite-bnn", exact=True) }}']
    simulating += [DOLFINX.replace(">=", " >=")]
    both += [" ".join(entry) for entry in conda_bounds()]
    simulating += [" ".join(entry) for entry in conda_bounds("fe") if entry not in conda_bounds()]
    runs = iter((both, simulating))

    def listed(match: re.Match[str]) -> str:
        return match[1] + "".join(f"        - {line}\n" for line in next(runs))

    return re.sub(r"(?m)(^      run:\n)(?:        - .*\n)+", listed, text)


def derived() -> dict[Path, str]:
    """Return the content of each file that follows from pyproject.toml and constraints.txt."""
    path = ROOT / "conda" / "recipe.yaml"
    return {
        ROOT / "environment.yml": environment_of_users(),
        ROOT / "environment-dev.yml": environment_of_developers(),
        path: recipe(path.read_text(encoding="utf-8")),
    }


def pins() -> list[str]:
    """Return name==version of each package that is pinned anywhere, but PyTorch."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in LISTS_OF_PINS)
    names = set(re.findall(r"(?m)^[\w.-]+==[^\s;]+", text))
    return sorted((pin for pin in names if not pin.startswith(f"{PYTORCH}==")), key=str.lower)


def compiled(requirement: str, *options: str) -> str:
    """Return what uv writes about a requirement, with the hashes of its files in the index."""
    command = ["uv", "pip", "compile", "--generate-hashes", "--no-header", "--quiet", "-", *options]
    done = subprocess.run(
        command, input=requirement, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


def with_hashes(pin: str) -> str:
    """Return a pin with the hashes of its files."""
    text = compiled(pin, "--no-deps", "--universal", "--no-annotate", "--python-version", "3.11")
    return " ".join([pin, *sorted(re.findall(r"--hash=sha256:[0-9a-f]{64}", text))])


def pytorch_pins() -> list[str]:
    """Return PyTorch, and the packages that only its files on PyPI require on Linux."""
    version = pinned_versions()[PYTORCH]
    text = compiled(f"{PYTORCH}=={version}", "--python-platform", "x86_64-manylinux_2_28")
    required = re.findall(r"(?m)^([\w.-]+)==(\S+)", text)
    elsewhere = {name.replace("_", "-") for name in pinned_versions()}  # as uv writes names
    cuda = {f"{name}=={release}" for name, release in required if name not in elsewhere}
    return [f"{PYTORCH}=={version}", *sorted(cuda)]


def head_of(path: Path) -> str:
    """Return the comment with which a file begins."""
    return "".join(re.findall(r"(?m)^#.*\n", path.read_text(encoding="utf-8")))


def write(path: Path, lines: Iterable[str]) -> None:
    """Write pins with hashes below the comment of a file."""
    path.write_text(head_of(path) + "".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hashes", action="store_true", help="ask the package index for hashes")
    arguments = parser.parse_args()
    for file, content in derived().items():
        file.write_text(content, encoding="utf-8")
    if arguments.hashes:
        write(HASHES, map(with_hashes, pins()))
        write(PYTORCH_HASHES, map(with_hashes, pytorch_pins()))
