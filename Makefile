# One word a task. Every target sets itself up: Python 3.11+, make and a package index are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test check format golden shape bench-ingest bench-embedding bench-chunks bench-search wheel clean

help:  ## list the words
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "citewise needs Python 3.11 or newer; try make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## ingest the sample handbook into .demo and say what to try next
	$(BIN)/citewise demo --library .demo

test: $(READY)  ## every test
	$(BIN)/python -m pytest

check: $(READY)  ## format, lint, types, fences, quick tests
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/unit tests/flows tests/fences

format: $(READY)  ## rewrite the code as ruff would have it
	$(BIN)/ruff check --fix --quiet src tests benchmarks examples || true
	$(BIN)/ruff format src tests benchmarks examples

golden: $(READY)  ## write the approved contexts and citations anew; read what changed before you commit it
	CITEWISE_WRITE_GOLDEN=1 $(BIN)/python -m pytest tests/golden

shape: $(READY)  ## sizes of functions and files
	$(BIN)/python -m benchmarks.shape

bench-ingest: $(READY)  ## speed of ingestion, opening and starting
	$(BIN)/python -m benchmarks.ingest

bench-embedding: $(READY)  ## the prepared embedding graph against the packaged one
	$(BIN)/python -m benchmarks.embedding_graph

bench-chunks: $(READY)  ## ways of cutting, on the textbook questions (needs the shared data)
	$(BIN)/python -m benchmarks.chunk_size

bench-search: $(READY)  ## speed and quality of search, and of refusing (needs the shared data)
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.grounding

wheel: $(READY)  ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean:  ## remove what the targets made
	rm -rf $(VENV) dist .demo .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
