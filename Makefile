# One command for a developer and for CI: `make test`. It needs Python >= 3.11 and nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup demo test lint types contracts pytest lab bench clean

test: lint types contracts pytest

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headgate needs Python 3.11 or newer; say make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV) || { apt-get update -q && apt-get install -qy python3-venv && $(PYTHON) -m venv --clear $(VENV); }
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

contracts: $(VENV)/ready
	$(BIN)/lint-imports

pytest: $(VENV)/ready
	$(BIN)/pytest -n auto src tests

demo: $(VENV)/ready
	$(BIN)/headgate demo

lab: $(VENV)/ready
	$(BIN)/headgate lab zhu2020
	$(BIN)/headgate lab diligenti2004 --simulated

bench: $(VENV)/ready
	$(BIN)/python bench/planning.py
	$(BIN)/python bench/frontier.py
	$(BIN)/python bench/archive.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
