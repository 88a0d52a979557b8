#!/usr/bin/env bash
# Creates the environment in which all commands of this repository run. Does nothing if it is up to date.
#
#   ./setup.sh            create or update the environment
#   ./setup.sh --python   the same, then print the path of its Python interpreter (relative to
#                         the checkout if the path has a space)
#   ./setup.sh --leave    delete .environment, and the path file from an environment that was active
#   ./setup.sh --help     print this help
#
# It uses the first of these that is available: an active environment that imports dolfinx; conda,
# mamba or micromamba (environment-dev.yml); apt of Debian or Ubuntu with a virtual environment
# (constraints.txt). pip accepts only wheels whose hashes are in hashes.txt or pytorch-hashes.txt, or
# a CPU build of PyTorch from another index than PyPI. conda checks its packages itself. The file .environment has three lines: a hash of
# the files that define the environment, the path of the interpreter, and the path of the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec 3>&1 1>&2 # only the path of the interpreter goes to stdout
case $PWD in *$'\n'*)
  echo "setup: the path of the checkout contains a line break: rename the folder"
  exit 1 ;;
esac

stamp=.environment
venv=.venv
unfinished=$stamp.unfinished
system_python=/usr/bin/python3
apt_packages=(python3-venv python3-dolfinx libopenblas0-pthread
  libgl1 libglu1-mesa libxcursor1 libxinerama1 libxft2 libxrender1)

say() { printf 'setup: %s\n' "$*"; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Messages of pip (at its last attempt) and apt without a network. Both report missing packages afterwards.
unreachable='Retry\(total=0|Could not (connect|resolve)|Unable to connect|Temporary failure resolving'

give_up() { # $*: what failed
  tail -n 5 "$log"
  if grep -Eq "$unreachable" "$log"; then
    die "$*: the package index could not be reached: check the network and the settings of the proxy" \
      "(https_proxy, http_proxy, pip.conf, apt.conf)"
  fi
  die "$* (see above)"
}

digest() {
  if have sha256sum; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# Of pyproject.toml only the lists of dependencies count, not the settings of linters.
recipe_hash() {
  { cat setup.sh environment-dev.yml constraints.txt hashes.txt pytorch-hashes.txt
    awk '/^(requires-python|dependencies) =/,/^\]|^requires/; /^\[project.optional/,/^$/' pyproject.toml
  } | digest
}

is_current() {
  [ -f "$stamp" ] && [ ! -e "$unfinished" ] || return 1
  { read -r hash && IFS= read -r python && IFS= read -r checkout; } <"$stamp" || return 1
  [ "$hash" = "$(recipe_hash)" ] || return 1
  if [ "$checkout" != "$PWD" ]; then # a virtual environment still works after a move, a conda environment does not
    case $python in "$checkout"/*) python=$PWD${python#"$checkout"} ;; esac
    [ -x "$python" ] && [ ! -d "$venv/conda-meta" ] && (finish "$python") || return 1
  fi
  [ -x "$python" ]
}

# A path file replaces an editable install, without a build step. Python reads it in the encoding of
# the locale. The path of the checkout is therefore written as escaped bytes, in a line of code.
path_file='import os, pathlib, sysconfig
target = pathlib.Path(sysconfig.get_path("purelib"), "composite-bnn.pth")
text = f"import os, sys; sys.path.append(os.fsdecode({os.getcwdb()!r}))\n"
'

finish() { # $1: interpreter
  "$1" -c 'import dolfinx, gmsh, torch' || die "the new environment cannot import dolfinx, gmsh and torch (see above)"
  "$1" -c "${path_file}target.write_text(text)"
  printf '%s\n' "$(recipe_hash)" "$1" "$PWD" >"$stamp.tmp"
  rm -f "$unfinished"
  mv "$stamp.tmp" "$stamp"
  say "ready after $SECONDS s: $1"
}

# Simulates one RVE, for which functions are compiled and kept: the first run of a user then takes seconds.
compile_solver() {
  local python
  python=$(sed -n 2p "$stamp")
  say "simulating one RVE to compile the solver (about 20 s)"
  "$python" -m fe_data rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --seed 1 --out "$scratch/rve" >>"$log" 2>&1 && return
  tail -n 5 "$log"
  say "fe_data cannot simulate an RVE here (see above)"
}

# An OpenBLAS that is older than the processor takes it for one of 2004, without AVX2.
check_kernels() {
  local python
  python=$(sed -n 2p "$stamp")
  grep -qw avx2 /proc/cpuinfo 2>/dev/null || return 0
  "$python" - 2>/dev/null <<'END' || return 0
import sys
import numpy
import scipy.linalg
from threadpoolctl import threadpool_info
sys.exit(all(library.get("architecture") != "Prescott" for library in threadpool_info()))
END
  say "OpenBLAS does not know this processor and takes up to twice as long for many data: add" \
    "'export OPENBLAS_CORETYPE=Haswell' to the profile of your shell"
}

leave() { # keeps the path file of another checkout
  local python
  python=$(sed -n 2p "$stamp" 2>/dev/null) || return 0
  case $python in "$PWD/$venv"/*) return ;; esac
  "$python" -c "${path_file}if target.is_file() and target.read_text() == text:
    target.unlink()
    print(f'setup: removed {target}; packages that setup added to this environment stay in it')" || true
  rm -f "$stamp"
}

begin() { # deletes an unfinished environment; an outdated virtual environment is updated in place
  rm -f "$stamp"
  if [ -e "$unfinished" ]; then
    say "removing an unfinished environment"
    rm -rf "$venv"
  fi
}

# Never replaces a user's .venv. A .venv of setup.sh is named in .environment, unfinished, or has the path file.
require_own_venv() {
  [ ! -e "$venv" ] || [ -e "$unfinished" ] ||
    compgen -G "$venv/lib/python*/site-packages/composite-bnn.pth" >/dev/null ||
    { [ -f "$stamp" ] && [ "$(sed -n 2p "$stamp")" = "$(sed -n 3p "$stamp")/$venv/bin/python" ]; } ||
    die "$PWD/$venv was not created by setup.sh: move it elsewhere, or activate an environment that has dolfinx"
}

pip_in() { # $1: interpreter; further arguments go to pip
  "$1" -m pip "${@:2}" --quiet --disable-pip-version-check
}

# Downloads each pinned package, of which pip accepts only files with a hash in hashes.txt. PyTorch
# comes last: an index may have a CPU build of the pinned version, with a label as in 2.13.0+cpu.
# PyPI allows no such labels. Any other file of PyTorch, and the CUDA libraries that it requires, must
# have a hash in pytorch-hashes.txt.
fetch() { # $1: interpreter, $2: folder
  "$1" - <<'PY' >"$venv/requirements.txt"
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
print(*sum(project["optional-dependencies"].values(), project["dependencies"]), sep="\n")
PY
  awk 'NR == FNR { hashes[$1] = substr($0, length($1) + 1); next }
    { pin = $0; sub(/;.*/, "", pin) } pin in hashes { print $0 hashes[pin] }' \
    hashes.txt constraints.txt >"$venv/hashed.txt"
  rm -rf "$2"
  wheels_in "$1" "$2" --require-hashes --requirement "$venv/hashed.txt"
  wheels_in "$1" "$2" "$(grep '^torch==' constraints.txt)"
  compgen -G "$2/torch-*+*.whl" >/dev/null && return
  rm "$2"/torch-*
  wheels_in "$1" "$2" --require-hashes --requirement pytorch-hashes.txt
}

# A source distribution is not accepted, because pip would run code of it.
wheels_in() { # $1: interpreter, $2: folder; further arguments go to pip
  pip_in "$1" download --dest "$2" --no-deps --only-binary :all: "${@:3}"
}

# Installs the requirements from the folder with the downloaded files, and from no other place that
# pip's settings name.
install_requirements() { # $1: interpreter, $2: folder
  PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS='' pip_in "$1" install --no-index --no-compile --find-links "$2" --constraint constraints.txt \
    --requirement "$venv/requirements.txt"
}

# -- an active environment ------------------------------------------------------------------

active_python() { # prints the first Python on PATH that has dolfinx and accepts packages
  local name python
  for name in python3 python; do
    have "$name" || continue
    python=$("$name" - <<'PY' 2>/dev/null
import importlib.util, pathlib, sys, sysconfig
managed = pathlib.Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
own = pathlib.Path(sys.prefix).resolve() == pathlib.Path(".venv").resolve()
locked = managed and sys.prefix == sys.base_prefix
if sys.version_info >= (3, 11) and not own and not locked and importlib.util.find_spec("dolfinx"):
    print(sys.executable)
PY
    ) || continue
    [ -n "$python" ] && "$python" -c 'import dolfinx' >/dev/null 2>&1 && printf '%s\n' "$python" && return
  done
  return 1
}

# Prints the missing requirements, and writes constraints that keep the installed versions.
missing_requirements() { # $1: interpreter, $2: file for the constraints
  "$1" - "$2" <<'PY'
import importlib.metadata as metadata, importlib.util, sys, tomllib
try:
    from packaging.requirements import InvalidRequirement, Requirement
except ImportError:
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement

def canonical(name):
    return name.lower().replace("_", "-").replace(".", "-")

installed = {canonical(d.metadata["Name"]): d.version for d in metadata.distributions() if d.metadata["Name"]}

def is_pin(text):
    try:
        return bool(Requirement(text))
    except InvalidRequirement:  # a version in the packager's own format
        return False

def is_met(requirement):
    version = installed.get(canonical(requirement.name))
    if version is None:  # conda packages may come without metadata
        return requirement.name == "gmsh" and importlib.util.find_spec("gmsh") is not None
    return requirement.specifier.contains(version, prereleases=True)

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
wanted = map(Requirement, sum(project["optional-dependencies"].values(), project["dependencies"]))
missing = [r for r in wanted if not is_met(r)]
replaced = {canonical(r.name) for r in missing}
with open("constraints.txt") as file:
    tested = [line.strip() for line in file if line.strip() and not line.startswith("#")]
with open(sys.argv[1], "w") as file:
    kept = {name: version for name, version in installed.items() if name not in replaced}
    pins = (f"{name}=={version}" for name, version in kept.items())
    print(*filter(is_pin, pins), sep="\n", file=file)
    print(*(t for t in tested if canonical(Requirement(t).name) not in kept), sep="\n", file=file)
print(*missing, sep="\n")
PY
}

# Prints the packages of a report of pip with their listed hashes, and stops if one has none. Only a
# build with a label, which cannot be on PyPI, gets the hash of the file itself.
hashed_report() { # $1: interpreter, $2: report
  "$1" - "$2" <<'PY'
import json, re, sys
listed = {}
for name in ("hashes.txt", "pytorch-hashes.txt"):
    with open(name) as file:
        for line in file:
            pin, _, hashes = line.strip().partition(" ")
            listed[pin.lower().replace("_", "-").replace(".", "-")] = hashes
with open(sys.argv[1]) as file:
    packages = json.load(file)["install"]
for package in packages:
    name, version = package["metadata"]["name"], package["metadata"]["version"]
    pin = f"{name}=={version}"
    hashes = listed.get(pin.lower().replace("_", "-").replace(".", "-"))
    if hashes is None and name == "torch" and "+" in version:
        digest = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if digest is None:
            sys.exit(f"setup: the index gives no hash for {pin}: install this package yourself, then try again")
        hashes = f"--hash=sha256:{digest}"
    if hashes is None:
        sys.exit(f"setup: {pin} has no hash in hashes.txt: install this package yourself, then try again")
    print(pin, hashes)
PY
}

install_missing() { # $1: interpreter, $2: requirements, $3: constraints
  local report=$scratch/report.json
  printf '%s\n' "$2" |
    pip_in "$1" install --dry-run --report "$report" --only-binary :all: --constraint "$3" \
      --requirement /dev/stdin >>"$log" 2>&1 || give_up "pip found no wheels of the Python packages"
  hashed_report "$1" "$report" >"$scratch/hashed.txt" || exit 1
  pip_in "$1" install --no-deps --only-binary :all: --require-hashes --requirement "$scratch/hashed.txt" \
    >>"$log" 2>&1 || give_up "pip could not install the Python packages"
}

complete() { # $1: interpreter; installs what it lacks, and keeps what it has
  local missing constraints=$scratch/constraints.txt
  missing=$(missing_requirements "$1" "$constraints")
  if [ -n "$missing" ]; then
    say "installing missing packages:" $missing
    install_missing "$1" "$missing" "$constraints"
  fi
}

use_active() { # $1: interpreter
  say "using the active environment: $1"
  begin
  complete "$1"
  finish "$1"
  say "wrote composite-bnn.pth into it; 'make clean' removes this file"
}

# -- conda, mamba, micromamba ---------------------------------------------------------------

use_conda() { # $1: program
  require_own_venv
  say "creating $venv with $1 from environment-dev.yml (takes several minutes)"
  begin
  rm -rf "$venv"
  touch "$unfinished"
  case $1 in
    micromamba) "$1" create --yes --quiet --prefix "$PWD/$venv" --file environment-dev.yml ;;
    *) "$1" env create --quiet --prefix "$PWD/$venv" --file environment-dev.yml ;;
  esac || die "$1 could not create the environment (see above)"
  complete "$PWD/$venv/bin/python"
  finish "$PWD/$venv/bin/python"
}

# -- apt and a virtual environment ----------------------------------------------------------

missing_packages() {
  local package
  for package in "${apt_packages[@]}"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      printf '%s ' "$package"
  done
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get install --yes --quiet --no-install-recommends "$@" >>"$log" 2>&1 ||
    give_up "apt-get could not install: $*"
}

make_venv() {
  "$system_python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$system_python is older than Python 3.11: use conda, or Debian 12 or later"
  touch "$unfinished"
  "$system_python" -m venv --system-site-packages "$venv"
}

use_apt() {
  local missing python=$PWD/$venv/bin/python wheels=$venv/wheels
  require_own_venv
  begin
  missing=$(missing_packages)
  if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] || have sudo ||
      die "an administrator must install missing packages: apt-get install $missing(or install conda)"
    say "updating the package lists"
    as_root dpkg --configure -a # an installation that was interrupted
    as_root env LC_ALL=C apt-get update --quiet >>"$log" 2>&1 || give_up "apt-get update failed"
    case $missing in *python3-venv*) apt_install python3-venv ;; esac
  fi
  make_venv
  say "downloading Python packages"
  fetch "$python" "$wheels" >>"$log" 2>&1 &
  download=$!
  if [ -n "$missing" ]; then
    say "installing dolfinx with apt at the same time (about a minute)"
    apt_install $missing
  fi
  wait "$download" || give_up "pip could not download the Python packages"
  download=
  say "installing Python packages into $venv"
  install_requirements "$python" "$wheels" >>"$log" 2>&1 ||
    give_up "pip could not install the Python packages"
  rm -rf "$wheels"
  finish "$python"
}

# -------------------------------------------------------------------------------------------

download=
scratch=
on_exit() {
  [ -z "$download" ] || kill "$download" 2>/dev/null || true
  [ -z "$scratch" ] || rm -rf "$scratch"
}
trap on_exit EXIT
trap 'say "interrupted; run it again to finish"; exit 130' INT TERM

case ${1-} in
  '' | --python) ;;
  --leave) leave; exit ;;
  --help) sed -n '2,/^set /s/^# \{0,1\}//p' setup.sh >&3; exit ;;
  *) die "unknown option '$1': must be --python, --leave or --help" ;;
esac
if have flock && { : >>.setup.lock; } 2>/dev/null; then # a checkout that cannot be written may be up to date
  exec 9>>.setup.lock
  flock 9 || say "two runs of setup.sh at once would disturb each other: this file system has no locks"
fi
if ! is_current; then
  scratch=$(mktemp -d 2>/dev/null) ||
    die "TMPDIR = '${TMPDIR-/tmp}' must be a folder that exists and is writable"
  log=$scratch/log
  if python=$(active_python); then use_active "$python"
  elif have micromamba; then use_conda micromamba
  elif have mamba; then use_conda mamba
  elif have conda; then use_conda conda
  elif have apt-get && have dpkg-query; then use_apt
  else
    die "found no active environment with dolfinx, no conda (mamba, micromamba) and no apt:" \
      "install conda, or use Debian 12 or later"
  fi
  compile_solver
  check_kernels
fi
if [ "${1-}" = --python ]; then
  python=$(sed -n 2p "$stamp")
  # The shell splits $(make -s python) at spaces. A path relative to the checkout contains none.
  case $python in *[[:space:]]*) python=${python#"$PWD/"} ;; esac
  printf '%s\n' "$python" >&3
fi
