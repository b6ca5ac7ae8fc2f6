# Everything here runs inside .venv, which is made on first use and again when a dependency changes.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS := dev,postgres,demo
CHECKED = $(wildcard src tests bench demo)
PYTEST = $(BIN)/pytest --durations=30
# Several processes take tests until none is left.
SHARED = -n auto --dist=worksteal
# Few tests need the machine for themselves; nobody reads the others to find them.
ALONE = $(shell grep -rl --include='test_*.py' 'pytest.mark.alone' tests)

# A name on PATH may be a version manager's shim for a Python that is not there, so each candidate is run.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)

.PHONY: help up down tour test quick check style types layers compiled test-long bench clean constraints install
.DEFAULT_GOAL := help

help:
	@echo "make up          start a daemon with jobs to look at"
	@echo "make down        stop it"
	@echo "make tour        watch Holdfast inside a program, for half a minute"
	@echo "make test        check, then run the tests"
	@echo "make quick       only the tests that start no process and need no PostgreSQL"
	@echo "make check       formatting, lint, types and layers"
	@echo "make test-long   the same at length, for hours"
	@echo "make bench       the benchmark"
	@echo "make constraints pin today's versions of all dependencies"
	@echo "make clean       remove the environment, caches, builds and the jobs of make up"

up: $(INSTALLED)
	@$(BIN)/python demo/up.py

down:
	@if [ -x $(BIN)/holdfast ]; then $(BIN)/python demo/down.py; else echo "Nothing is installed, so nothing runs."; fi

tour: $(INSTALLED)
	@$(BIN)/python demo/tour.py

check: $(INSTALLED)
	@$(MAKE) --no-print-directory -j2 style types layers

style: $(INSTALLED)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(INSTALLED)
	$(BIN)/mypy --no-error-summary $(CHECKED)

layers: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

# Each process that runs tests reads all of them first, which is quick once they are compiled.
compiled: $(INSTALLED)
	@$(PYTEST) --collect-only -qq >/dev/null || true

test: $(INSTALLED)
	@$(MAKE) --no-print-directory -j2 style types layers compiled
	$(PYTEST) $(SHARED) -m "not long and not alone"
	$(PYTEST) -m "alone and not long" $(ALONE)

quick: $(INSTALLED)
	$(PYTEST) $(SHARED) -m quick

test-long: $(INSTALLED)
	$(PYTEST) $(SHARED) -m "(long or on_postgres) and not alone" -rP --timeout=3600
	$(PYTEST) -m "long and alone" -rP $(ALONE)

bench: $(INSTALLED)
	@$(BIN)/python -m bench --all

clean:
	@[ ! -d .holdfast ] || HOLDFAST_HOME=$(CURDIR)/.holdfast $(MAKE) --no-print-directory down
	rm -rf .holdfast $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench demo -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(require-python)
	@$(require-ensurepip)
	@echo "Installing into $(VENV) with $$($(PYTHON) --version); the first time takes about a minute."
	@$(BIN)/pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install -qq --disable-pip-version-check -e '.[$(EXTRAS)]' -c constraints.txt
	@touch $@

constraints:
	@$(require-python)
	@$(require-ensurepip)
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && $(PYTHON) -m venv "$$fresh" && \
		"$$fresh/bin/pip" install -qq --disable-pip-version-check -e '.[$(EXTRAS)]' && \
		"$$fresh/bin/pip" freeze --exclude-editable > "$$fresh/constraints.txt" && \
		cp "$$fresh/constraints.txt" constraints.txt

define require-python
$(if $(PYTHON),,echo "Holdfast needs Python 3.11 or newer and found none; set PYTHON=/path/to/python" >&2; exit 1;) \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Holdfast needs Python 3.11 or newer; '$(PYTHON)' does not run or is older" >&2; exit 1; }
endef

# Debian ships the venv module without ensurepip, which a package of its own brings.
define require-ensurepip
$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing $$package, which python -m venv needs."; \
		apt-get update -qq && { apt-get install -qq -y $$package || apt-get install -qq -y python3-venv; }; \
	else \
		echo "python -m venv needs ensurepip; on Debian and Ubuntu: sudo apt-get install $$package" >&2; exit 1; \
	fi; }
endef
