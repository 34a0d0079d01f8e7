# Every target sets itself up: Python 3.11 or newer, make and a package index are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
# A worker holds a model and a library or two: half a gigabyte to one, so there are never more than four.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile

.PHONY: help demo test soak leaks check format golden shape bench bench-answers bench-quality bench-speed bench-peers bench-defaults bench-late bench-grounding bench-ingest bench-embedding bench-access bench-compression bench-quality-score bench-seals bench-page wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 21

# What running needs, and then what development needs: the tools take as much space again.
$(RUNS): pyproject.toml constraints.txt src/citewise/data/minilm.sha256
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "citewise needs Python 3.11 or newer; try make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(READY): $(RUNS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(RUNS)  ## ingest the sample handbook into .demo and print what to try next
	$(BIN)/citewise demo --library .demo

test: $(READY)  ## run every test
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

soak: $(READY)  ## run the campaigns at full length, for hours (SHARE=0.1 runs a tenth; SEED=7 repeats a run)
	CITEWISE_SOAK=$(or $(SHARE),1) CITEWISE_SEED=$(SEED) $(BIN)/python -m pytest tests/campaigns -s --timeout=0

leaks: $(READY)  ## query every surface as random readers (ROUNDS=5, SEED=0); fail if one sees a hidden document
	$(BIN)/python -m tests.leaks.suite --rounds $(or $(ROUNDS),5) --seed $(or $(SEED),0)

check: $(READY)  ## format, lint, types, import contracts, quick tests
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) tests/unit tests/pipelines tests/fences

format: $(READY)  ## format the code with ruff
	$(BIN)/ruff check --fix --quiet src tests benchmarks examples || true
	$(BIN)/ruff format src tests benchmarks examples

golden: $(READY)  ## rewrite the golden files; read the diff before you commit it
	CITEWISE_WRITE_GOLDEN=1 $(BIN)/python -m pytest tests/golden

shape: $(READY)  ## lines, files, names and function sizes beside the aims of the style guide
	$(BIN)/python -m benchmarks.shape

bench: bench-quality bench-speed bench-embedding bench-page  ## quality, speed and embedding, and the page of results (half an hour; an hour the first time)

bench-answers: $(READY)  ## coverage, length and outcomes of answers, and the answers to read in .bench/answers (needs the shared data)
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.bench_page

bench-quality: $(READY)  ## every judged set through the evaluation harness (needs the judged sets)
	$(BIN)/python -m benchmarks.quality

bench-speed: $(READY)  ## search at 1,000 to 1,000,000 chunks: filters, stages, threads, opening
	$(BIN)/python -m benchmarks.speed

bench-peers: $(READY)  ## the same searches with other libraries, each in its own environment (needs the judged sets)
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.bench_page

bench-defaults: $(READY)  ## the ranking defaults against their alternatives, cross-validated (needs the judged sets)
	$(BIN)/python -m benchmarks.defaults
	$(BIN)/python -m benchmarks.bench_page

bench-late: $(READY)  ## what late interaction is worth and costs (needs the judged sets)
	$(BIN)/python -m benchmarks.late_interaction
	$(BIN)/python -m benchmarks.bench_page

bench-grounding: $(READY)  ## how well it refuses and quotes (needs the judged sets)
	$(BIN)/python -m benchmarks.grounding

bench-ingest: $(READY)  ## speed of ingestion, opening and start-up
	$(BIN)/python -m benchmarks.ingest

bench-embedding: $(READY)  ## texts per second, by graph, runtime and batching
	$(BIN)/python -m benchmarks.embedding

bench-access: $(READY)  ## what access rules, cache, log and deep pages cost, at 100,000 chunks
	$(BIN)/python -m benchmarks.access
	$(BIN)/python -m benchmarks.bench_page

bench-compression: $(READY)  ## tokens saved, answer-bearing sentences kept (needs the judged sets)
	$(BIN)/python -m benchmarks.compression
	$(BIN)/python -m benchmarks.bench_page

bench-quality-score: $(READY)  ## how well the quality score separates right from wrong answers (needs the judged sets)
	$(BIN)/python -m benchmarks.quality_score
	$(BIN)/python -m benchmarks.bench_page

bench-seals: $(READY)  ## what it costs a search to verify the text that it reads
	$(BIN)/python -m benchmarks.seals
	$(BIN)/python -m benchmarks.bench_page

bench-page: $(READY)  ## write benchmarks/results/README.md from the results
	$(BIN)/python -m benchmarks.bench_page

wheel: $(READY)  ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean:  ## remove everything the targets created
	rm -rf $(VENV) dist .demo .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
