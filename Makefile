# Every command of the project. `make` alone lists them.
# PYTHON names the Python that .venv is made from; JOBS says how many tests run side by side.
PYTHON ?= python3
JOBS ?= 2

BIN := .venv/bin
READY := .venv/.ready
UV := uv>=0.13
TOGETHER := $(MAKE) --no-print-directory -k -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
COMPILE := $(BIN)/uv pip compile -q pyproject.toml --group dev --universal --python-version 3.11 \
	--no-annotate --no-header --generate-hashes --only-binary :all: -o requirements.lock

# Tests by their marks, side by side; what fails so is tried once more alone, and both are told.
tested = $(BIN)/pytest -q -m $(1) -n $(JOBS) --dist loadfile --no-loadscope-reorder $(2) || { \
	echo "some failed while others ran beside them; those once more, one by one:"; \
	$(BIN)/pytest -q -m $(1) --last-failed --last-failed-no-failures none -rA $(2); }

# The tests start many a Python; each would compile the whole program anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix bench corpora soak map lock clean \
	check-format check-lint check-types check-imports check-tests

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

setup: $(READY) ## make .venv with .venv/bin/perdure and all that the tests need

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "perdure needs Python 3.11 or newer as '$(PYTHON)'; say which one: make setup PYTHON=python3.11" >&2; exit 1; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "this Python cannot make virtual environments; on Debian: sudo apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || { echo "setup: making .venv"; $(PYTHON) -m venv --clear .venv; }
	@$(BIN)/pip install -q --disable-pip-version-check --only-binary :all: '$(UV)'
	@echo "setup: installing what requirements.lock names"
	@$(BIN)/uv pip install -q --python $(BIN)/python --only-binary :all: --require-hashes --compile-bytecode -r requirements.lock
	@$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	@touch $(READY)
	@echo "setup: done, $(BIN)/perdure is ready"

demo: setup ## a real session on the rehearsal model: killed half-way, finished, audited
	@$(BIN)/perdure demo

test: setup ## all tests but the long ones; what fails beside others is tried once more alone, and told
	@$(call tested,'not soak and not bench')

check: setup ## format, lint, types, imports and the fast tests, in under a minute
	@$(TOGETHER) check-types check-tests check-format check-lint check-imports

check-format:
	@$(BIN)/ruff format --check --quiet . && echo "format   ok" || { echo "format   failed: make fix"; exit 1; }

check-lint:
	@$(BIN)/ruff check --quiet . && echo "lint     ok" || { echo "lint     failed: make fix repairs what a machine can"; exit 1; }

check-types:
	@$(BIN)/mypy --no-error-summary && echo "types    ok" || { echo "types    failed"; exit 1; }

check-imports:
	@out=$$($(BIN)/lint-imports --no-logo 2>&1) && echo "imports  ok" || { echo "$$out"; echo "imports  failed"; exit 1; }

check-tests: # the folders left out hold journeys only: nothing of them need be loaded
	@$(call tested,'not journey and not soak and not bench',--ignore=tests/journeys --ignore=tests/cases --ignore=tests/bench)

fix: setup ## repair what a machine can
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

bench: setup ## one table: measure, result, target
	@$(BIN)/python -m tests.bench

corpora: setup ## how the command analysis and the rules do on the corpora, each miss told
	@$(BIN)/python -m tests.corpora.score

soak: setup ## the long tests: every kill point, thousands of exchanges
	@$(BIN)/pytest -q -m soak --timeout=3600

map: ## the tree with captions
	@$(PYTHON) tests/shape/map.py

lock: setup ## write requirements.lock anew from pyproject.toml
	@$(COMPILE) --upgrade

clean: ## remove what these commands made, .venv included; sessions and their store stay
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
