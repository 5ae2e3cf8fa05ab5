# Needs python3 >= 3.11 and make; everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-engine differential check format bench probes docs dist clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.installed ## See the effect of a prefix cache here, offline, with a real engine
	$(BIN)/hitrate demo

test: $(VENV)/.test-installed ## Run every test; real-engine tests where the engine's wheel exists
	$(BIN)/python -m pytest -q

test-fast: $(VENV)/.test-installed ## Run the tests that start no engine
	$(BIN)/python -m pytest -q -m "not engine and not slow"

test-engine: $(VENV)/.test-installed ## Run the tests on a real llama.cpp server
	$(BIN)/python -m pytest -q -m engine

differential: $(VENV)/.test-installed ## Hold the cache models against real engines; see tests/differential/README.md
	$(BIN)/python -m pytest -q -rs -o python_files='check_*.py' --timeout 1500 tests/differential

check: $(VENV)/.test-installed ## Format, lint, types and import rules
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test-installed ## Format the code
	$(BIN)/ruff format src tests tools benchmarks
	$(BIN)/ruff check --fix src tests tools benchmarks

bench: $(VENV)/.bench-installed ## Measure hitrate itself: client accuracy, start-up, explaining a large log
	$(BIN)/python benchmarks/client/run.py
	$(BIN)/python benchmarks/startup/run.py
	$(BIN)/python benchmarks/explain/run.py

probes: $(VENV)/.test-installed ## Say how often the probes are right, over 100 seeded practice servers each
	$(BIN)/python benchmarks/probes/run.py

docs: $(VENV)/.test-installed ## Write the generated pages of docs/
	$(BIN)/python tools/write_docs.py

dist: $(VENV)/.test-installed ## Build wheel and source archive
	$(BIN)/python -m pip -q install build
	$(BIN)/python -m build

clean: ## Remove the environment and what was built
	rm -rf $(VENV) dist build

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hitrate needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Where no wheel of llama.cpp exists, the demo falls back to the practice server.
$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip -q --disable-pip-version-check install -e '.[engine]' || $(BIN)/python -m pip -q install -e .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.installed
	$(BIN)/python -m pip -q --disable-pip-version-check install -e '.[test]'
	@touch $@

$(VENV)/.bench-installed: $(VENV)/.test-installed
	$(BIN)/python -m pip -q --disable-pip-version-check install -e '.[bench]'
	@touch $@
