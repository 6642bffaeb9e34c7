# Each target makes what it needs and reuses it; `make demo` and `make test` work on a fresh machine.
PYTHON ?= python3
VENV := .venv
BENCH := .bench-venv
BIN := $(VENV)/bin

.PHONY: demo test lint lint-text lint-mypy lint-pyright format bench clean

# An agent mends a project; then the parts it is made of. `make demo PROVIDER=anthropic` has a real model do the first.
demo: $(VENV)/.ready
	@PROVIDER=$(PROVIDER) MODEL=$(MODEL) $(BIN)/python examples/15_agent_at_work.py
ifndef PROVIDER
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/06_calls.py
	$(BIN)/python examples/07_permissions.py
	$(BIN)/python examples/10_builtin_tools.py
	$(BIN)/python examples/13_large_catalogs.py
	$(BIN)/python -m toolkit check examples/demo.py --output text
endif

# Hundreds of tests start an interpreter, some of them pytest. Where those may not keep what they compile, each would
# compile the package anew, and pytest hypothesis; so that is done before.
test: $(VENV)/.ready
	$(BIN)/python -m compileall -q toolkit
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only --quiet tests/test_layers.py
	$(BIN)/coverage erase
	$(BIN)/python -m tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Several at once with `make --jobs=2 lint`.
lint: lint-text lint-mypy lint-pyright

lint-text: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest tests/test_layers.py

lint-mypy: $(VENV)/.ready
	$(BIN)/mypy

lint-pyright: $(VENV)/.ready
	$(BIN)/pyright

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

$(BENCH)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --editable . --group bench
	touch $@

clean:
	rm -rf $(VENV) $(BENCH) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
