# `make` alone lists what can be made; each target makes the environment first when it has to.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# What a user may set, by target: make report PROFILE=quick DATA=my_tables SEED=3
parameters_of_study := PROFILE DATA SEED JOBS NAME ARGS
parameters_of_report := PROFILE DATA SEED JOBS
parameters_of_reproduce := DATA SEED JOBS
parameters_of_quick := DATA SEED JOBS
parameters_of_datasets := JOBS NAME $(if $(filter paths,$(value NAME)),ARGS)
parameters_of_test := NAME ARGS
settable := $(parameters_of_study)
PROFILE ?=
DATA ?=
SEED ?=
JOBS ?=
NAME ?=
ARGS ?=

given := $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $v)),$v))
taken := $(foreach target,$(MAKECMDGOALS),$(parameters_of_$(target)))
ignored := $(filter-out $(taken) MAKEFLAGS MFLAGS -%,$(given))
ifneq ($(ignored),)
$(error make $(or $(MAKECMDGOALS),help) has no parameter $(ignored): it has $(or $(taken),none))
endif

# Only the command line sets NAME: on Windows (WSL) the environment has the name of the computer there.
ifneq ($(origin NAME),command line)
NAME :=
endif
# Values are taken as they are: to make, a $ in the name of a folder would be the start of a command.
override_given = $(if $(filter command,$(origin $1)),override)
$(foreach v,$(settable),$(eval $(call override_given,$v) $v := $$(value $v)))
export $(settable)
# setup.sh installs packages uncompiled: without files to keep the bytecode in, as some containers
# ask for, each process would compile thousands of modules again.
export PYTHONDONTWRITEBYTECODE :=
# Names of files are UTF-8 in any locale: some programs read an accent in the path of the checkout so.
export PYTHONUTF8 := 1
PYTHON = "$$(sed -n 2p .environment)"
DOIT = $(PYTHON) -m doit
# Python with the words of ARGS behind further ones: quotes count as in a shell, and nothing else.
WITH_ARGS := import os, shlex, sys; \
  os.execv(sys.executable, [sys.executable, *sys.argv[1:], *shlex.split(os.environ["ARGS"])])
PYTHON_ARGS = $(PYTHON) -c '$(WITH_ARGS)'
CLEAN = python3 figures/pipeline/clean.py

.PHONY: help environment python reproduce quick datasets study report article archive test lint bench docs clean

#: make quick            a small run in minutes: simulate a few RVEs, train on them, write figures/quick/index.html
#: make reproduce        the same at the size of the paper, into figures/full/index.html
#: make test             run the tests (ARGS="-k mesh" to choose); NAME=bits, dolfinx, python or slurm: with other processors,
#:                       another Debian, another Python, on a cluster
#: make lint             check style, types, imports between subpackages, and the prose of pages
#: make bench            measure the speed of regression, simulation and training
#: make docs             build the site (guides, notebooks, reference): build/docs/index.html
#: make datasets         simulate the designs of the paper, and compare them with the shipped tables (JOBS=2);
#:                       NAME=reference: the 10,000 RVEs of the reference table; NAME=paths: the strain paths
#: make study            list the studies beyond the paper; NAME=scoreboard runs one of them (ARGS="--help")
#: make report           run the notebooks and write the page of results (PROFILE=full, DATA=folder of tables, SEED=3, JOBS=1)
#: make article          typeset the article into build/article.pdf, and list the fields that you have to fill in
#: make archive          pack sources, results, site, article and checksums into one file for a data repository
#: make python           print the path of the Python interpreter in use
#: make clean            remove files of runs, and the path file from an active environment; keep .venv
help:
	@sed -n 's/^#: //p' Makefile 2>/dev/null || true # a reader that ends early, as head does

environment:
	@./setup.sh

python:
	@./setup.sh --python

quick: override export PROFILE = quick
reproduce: override export PROFILE = full
quick reproduce report: environment
	@$(DOIT) report equality

datasets: override export PROFILE = full
datasets: override export DATA =
datasets: environment
	@case $$NAME in \
	  '') $(DOIT) dataset shipped ;; \
	  reference) $(DOIT) reference_table ;; \
	  paths) $(CLEAN) --list data/paths --run $(PYTHON_ARGS) -m figures.pipeline.arithmetic -m fe_data.paths $${JOBS:+--jobs "$$JOBS"} ;; \
	  *) echo "make: NAME = $$NAME: must be reference or paths, or left out" >&2; exit 2 ;; esac

study: environment
	@$(PYTHON_ARGS) -m studies $${NAME:+"$$NAME"}

article: environment
	@$(PYTHON) -m article.build

archive: docs article
	@$(PYTHON) -m figures.report.archive

test: environment
	@case $$NAME in \
	  '') $(PYTHON_ARGS) -m pytest -n 2 --dist worksteal ;; \
	  *) $(PYTHON_ARGS) -m tests.repository.environments "$$NAME" ;; esac

lint: environment
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy
	@$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	@$(PYTHON) -m docs.prose

bench: environment
	@for program in gp_speed training_speed rve_speed sparse_solvers ufl_solver; do $(PYTHON) -m "bench.$$program"; done

# All pages anew: a page that is not read again would not warn again.
docs: environment
	@$(CLEAN) build/docs
	@$(CLEAN) --list build/docs --list build/doctrees --list docs/api --run $(PYTHON) -m sphinx --quiet --fresh-env --fail-on-warning --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo 'build/docs/index.html is written'

# Only files that a run has listed or marked as its own, and that git ignores.
clean:
	@[ ! -f .environment ] || ./setup.sh --leave
	@$(CLEAN)
