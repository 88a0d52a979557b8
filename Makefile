# `make` alone lists what can be made; each target makes the environment first when it has to.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# What a user may set: make notebooks PROFILE=quick DATA=my_tables SEED=3
PROFILE ?= quick
DATA ?=
SEED ?=
JOBS ?=
ARGS ?=
SUITE ?= trixie
settable := PROFILE DATA SEED JOBS ARGS SUITE

given := $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $v)),$v))
unknown := $(filter-out $(settable) MAKEFLAGS MFLAGS -%,$(given))
ifneq ($(unknown),)
$(error unknown parameter $(unknown): the ones that exist are $(settable))
endif

fixed := $(filter quick reproduce draws beyond knowledge next datasets truth,$(MAKECMDGOALS))
ifneq ($(and $(fixed),$(findstring command line,$(origin PROFILE))),)
$(error PROFILE = $(PROFILE) is not allowed with make $(fixed), which has a profile of its own: make notebooks and make report take one)
endif

export PROFILE DATA SEED JOBS
# setup.sh installs packages uncompiled: without files to keep the bytecode in, as some containers
# ask for, each process would compile thousands of modules again.
export PYTHONDONTWRITEBYTECODE :=
PYTHON = "$$(sed -n 2p .environment)"
DOIT = $(PYTHON) -m doit

.PHONY: help environment python reproduce quick draws beyond knowledge next datasets truth loop peers notebooks report article archive test test-dolfinx test-python lint bench docs clean

help: ## this list
	@echo 'make quick      simulate a few cells, train on them, write figures/quick/index.html'
	@echo 'make reproduce  the same at the size of the paper, into figures/full/index.html'
	@echo 'make draws      simulate 24 independent draws of the tables and train on each, added to that page'
	@echo 'make beyond     the comparison with other methods, at the size of the paper, added to that page'
	@echo 'make knowledge  mean fields as prior, noise by input, judged by the truth, over draws, added to that page'
	@echo 'make next       what cells are worth that bnn.choose asks for, judged by the truth, added to that page'
	@echo 'make test       run the tests (ARGS="-k mesh" to choose)'
	@echo 'make test-dolfinx  the tests of fe_data on the dolfinx of another Debian (SUITE=trixie or sid)'
	@echo 'make test-python   the tests of bnn on other Pythons and PyTorches (ARGS=list names them)'
	@echo 'make lint       check style, types and which room imports which'
	@echo 'make bench      measure the speed of simulation and training'
	@echo 'make docs       the site: guides, notebooks, reference, in build/docs/index.html'
	@echo 'make datasets   simulate the designs of the paper and compare with the shipped tables (JOBS=2)'
	@echo 'make truth      the same of the 10,000 cells of the truth table, which takes more than an hour'
	@echo 'make loop       rounds of cells chosen by bnn and simulated by fe_data, in data/loop (ARGS="--rounds 4")'
	@echo 'make peers      what other libraries reach on the same cells, each in an environment of its own (ARGS="--draws 4")'
	@echo 'make notebooks  the notebooks (PROFILE=full, DATA=folder of tables, SEED=3)'
	@echo 'make report     and the page'
	@echo 'make article    what was reproduced and what was found, on six pages, build/article.pdf'
	@echo 'make archive    one file for a repository of data: sources, results, site, article, locks, checksums'
	@echo 'make python     print the interpreter in use'
	@echo 'make clean      remove what was computed, keep the environment'

environment:
	@./setup.sh

python:
	@./setup.sh --python

quick: export PROFILE = quick
reproduce: export PROFILE = full
quick reproduce report: environment
	@$(DOIT) report

draws beyond knowledge next: export PROFILE = full
draws beyond knowledge next: environment
	@$(DOIT) $@
	@$(DOIT) report

datasets: export PROFILE = full
datasets: environment
	@$(DOIT) dataset shipped

truth: export PROFILE = full
truth: environment
	@$(DOIT) truth

loop: environment
	@$(PYTHON) -m examples.next_cell --out data/loop.png $(ARGS)

peers: environment
	@$(PYTHON) -m bench.peers $(ARGS)

notebooks: environment
	@$(DOIT) notebook

article: environment
	@$(PYTHON) -m figures.report.article

archive: docs article
	@$(PYTHON) -m figures.report.archive

test: environment
	@$(PYTHON) -m pytest -n 2 --dist worksteal $(ARGS)

test-dolfinx: environment
	@$(PYTHON) -m tests.repository.lanes.debian $(SUITE) $(ARGS)

test-python: environment
	@$(PYTHON) -m tests.repository.lanes.pythons $(ARGS)

lint: environment
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy
	@$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

bench: environment
	@for file in bench/[a-z]*.py; do $(PYTHON) -m "bench.$$(basename "$$file" .py)"; done

# All pages anew: a page that is not read again would not warn again.
docs: environment
	@rm -rf build/docs
	@$(PYTHON) -m sphinx --quiet --fresh-env --fail-on-warning --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo 'build/docs/index.html is written'

# git knows which results are committed; a copy without it keeps those that a repository has.
clean:
	rm -rf data build dist .doit figures/full*/*.html figures/full*/notebooks figures/full-authors/*.svg figures/full-authors/*.png
	@if git ls-files --error-unmatch Makefile >/dev/null 2>&1; then git clean -fdXq figures; else \
	  for folder in figures/*/; do case $$folder in */full/|*/full-authors/) ;; \
	    *) [ -e "$$folder/__init__.py" ] || rm -rf "$$folder" ;; esac; done; fi
