# make demo   the whole chain on a simulated board      make test   every check
# make bench  the benchmarks                            make check  the checks, nothing installed
# make versions  the suite with the oldest versions that are allowed, and with the newest; PART= names tests,
#                PART=--part takes the few that CI runs

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin

.PHONY: demo test check bench versions tools clean

demo: $(VENV)/.demo
	$(BIN)/kprof demo -o demo

test: tools $(VENV)/.dev
	$(MAKE) check

check:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -ra

versions: tools
	sh tools/test-versions.sh lowest $(PART)
	sh tools/test-versions.sh newest $(PART)

bench: $(VENV)/.dev
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks

# The cross compiler and the tools that tests hold kprof against; without them those tests skip.
tools:
	sh tools/install-test-tools.sh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e '.[board]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e '.[board,fast,dev]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo build
