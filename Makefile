# One command for a developer and for CI: `make test`. It needs Python >= 3.11; what else tests talk to (a browser, openssl,
# network namespaces, documentation to crawl) it installs on Debian as root, and skips tests loudly elsewhere.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NEEDS  := chromium dokuwiki ethtool faketime gcc iproute2 libc6-dev man-db microsocks nginx-light openssl php-cli php-xml postgresql-15 postgresql-doc-15 python3-dev tinyproxy

.PHONY: setup demo test needs lint types contracts docs pytest simulate lab bench clean

test: needs lint types contracts docs pytest

needs:
	@dpkg -s $(NEEDS) >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $(NEEDS); } \
	  || echo "make: tests that need one of $(NEEDS) are skipped"

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt src/headgate/reading/_tags.c src/headgate/reading/_tags.h
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headgate needs Python 3.11 or newer; say make PYTHON=...")'
	$(PYTHON) -m venv --clear $(VENV) || { apt-get update -q && apt-get install -qy python3-venv && $(PYTHON) -m venv --clear $(VENV); }
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]' -e lab
	touch $@

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

contracts: $(VENV)/ready
	$(BIN)/lint-imports

docs: $(VENV)/ready
	$(BIN)/zensical build --strict

# Tests with real clocks and sockets share the cores with others: what failed beside them (1) counts if it fails alone, too.
# A run that broke off (any other code) has tests that nobody ran, so it counts as it is.
# One worker more than cores: a third of the time a test waits for a deadline, a lease or a pause.
WORKERS = $$(( $$(nproc) + 1 ))
pytest: $(VENV)/ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal src lab tests; code=$$?; [ $$code = 1 ] || exit $$code; \
	  echo "make: what failed is run once more, alone"; $(BIN)/pytest --last-failed --last-failed-no-failures none src lab tests

# Crawls in which everything goes wrong; SEED=17 plays one of them again.
simulate: $(VENV)/ready
	$(BIN)/python -m tests.simulation.faults $(if $(SEED),--seed $(SEED),--seeds 0-2000)

demo: $(VENV)/ready
	$(BIN)/headgate demo

# All papers as one page; QUICK=--quick for a first look. Interrupted, it goes on where it was.
lab: $(VENV)/ready
	$(BIN)/headgate lab $(QUICK) --out lab.html $(if $(filter 0,$(shell id -u)),,--simulated)

bench: $(VENV)/ready
	@$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
