# One word a task. Every target sets itself up: Python 3.11+, make and a package index are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# A worker holds a model and a library or two: half a gigabyte to one, so there are never more than four.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile

.PHONY: help demo test leaks check format golden shape bench bench-quality bench-speed bench-peers bench-defaults bench-late bench-grounding bench-ingest bench-embedding bench-access bench-cache bench-compression bench-quality-score bench-page wheel clean

help:  ## list the words
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "citewise needs Python 3.11 or newer; try make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## ingest the sample handbook into .demo and say what to try next
	$(BIN)/citewise demo --library .demo

test: $(READY)  ## every test, a file at a time on each core
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

leaks: $(READY)  ## ask every surface as random readers (ROUNDS=5, SEED=0); fails if one is shown what is not theirs
	$(BIN)/python -m tests.leaks.suite --rounds $(or $(ROUNDS),5) --seed $(or $(SEED),0)

check: $(READY)  ## format, lint, types, fences, quick tests
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) tests/unit tests/flows tests/fences

format: $(READY)  ## rewrite the code as ruff would have it
	$(BIN)/ruff check --fix --quiet src tests benchmarks examples || true
	$(BIN)/ruff format src tests benchmarks examples

golden: $(READY)  ## write the approved contexts and citations anew; read what changed before you commit it
	CITEWISE_WRITE_GOLDEN=1 $(BIN)/python -m pytest tests/golden

shape: $(READY)  ## size, fragments, names and words beside what the style guide aims for
	$(BIN)/python -m benchmarks.shape

bench: bench-quality bench-speed bench-embedding bench-page  ## quality and speed, and the page of it (about half an hour, the first time an hour); sets that are not there are skipped by name

bench-quality: $(READY)  ## every judged set of the shared data through the harness; without it, says so and does nothing
	$(BIN)/python -m benchmarks.quality

bench-speed: $(READY)  ## search at 1,000 to 1,000,000 chunks, under filters, by stage and with threads
	$(BIN)/python -m benchmarks.speed

bench-peers: $(READY)  ## side by side with other libraries, each in an environment of its own (needs the shared data)
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.bench_page

bench-defaults: $(READY)  ## what the defaults were chosen by, cross-validated (needs the shared data)
	$(BIN)/python -m benchmarks.defaults
	$(BIN)/python -m benchmarks.bench_page

bench-late: $(READY)  ## what comparing word by word is worth, and its bytes (needs the shared data; a quarter of an hour)
	$(BIN)/python -m benchmarks.late_interaction
	$(BIN)/python -m benchmarks.bench_page

bench-grounding: $(READY)  ## how well it refuses and quotes (needs the shared data)
	$(BIN)/python -m benchmarks.grounding

bench-ingest: $(READY)  ## speed of ingestion, opening and starting
	$(BIN)/python -m benchmarks.ingest

bench-embedding: $(READY)  ## texts a second: the prepared graph, other graphs and runtimes, ways of batching
	$(BIN)/python -m benchmarks.embedding

bench-access: $(READY)  ## what access rules, cache, log and deep pages cost, at 100,000 chunks
	$(BIN)/python -m benchmarks.access
	$(BIN)/python -m benchmarks.bench_page

bench-cache: $(READY)  ## which questions count as the same, and what a hit costs (needs the shared data)
	$(BIN)/python -m benchmarks.cache
	$(BIN)/python -m benchmarks.bench_page

bench-compression: $(READY)  ## tokens saved against answer-bearing sentences kept (needs the shared data)
	$(BIN)/python -m benchmarks.compression
	$(BIN)/python -m benchmarks.bench_page

bench-quality-score: $(READY)  ## what the quality of an answer is worth (needs the shared data)
	$(BIN)/python -m benchmarks.quality_score
	$(BIN)/python -m benchmarks.bench_page

bench-page: $(READY)  ## docs/measured.md and its plots, anew from benchmarks/results
	$(BIN)/python -m benchmarks.bench_page

wheel: $(READY)  ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean:  ## remove what the targets made
	rm -rf $(VENV) dist .demo .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
