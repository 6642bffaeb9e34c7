# Each target makes what it needs and reuses it; `make demo` and `make test` work on a fresh machine.
PYTHON ?= python3
VENV := .venv
BENCH := .bench-venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench clean

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/06_calls.py
	$(BIN)/python examples/07_permissions.py
	$(BIN)/python examples/10_builtin_tools.py

test: $(VENV)/.ready
	$(BIN)/coverage erase
	$(BIN)/python -m tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/test_layers.py

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
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
