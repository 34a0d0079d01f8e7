"""One frozen tree of settings, read once: defaults, then citewise.toml, then CITEWISE_… in the environment.

In Python, `Settings().changed(search={"fusion": "rrf"})` takes the same names, and checks them as the file's.
"""

import difflib
import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

from citewise.errors import BadRequest, Misconfigured, shown
from citewise.model.access import Access
from citewise.model.document import DEFAULT_RULES, PathRule
from citewise.model.query import DEFAULT_BOOSTS, FEATURE_WEIGHTS, FEATURES, LATE_WEIGHT, BoostRule
from citewise.model.ranking import RANKINGS

PREFIX = "CITEWISE_"
FILE = "citewise.toml"
MAX_FILE_BYTES = 1_000_000  # every setting written out is 5 kB
MAX_DOTS = 100  # of one line: of a key, a table for each


# What a number must be, beside its type: `Annotated[int, "at least 16"]`.
_BOUNDS: Mapping[str, Callable[[float], bool]] = {
    "above 0": lambda number: number > 0,
    "above 0 and at most 1": lambda number: 0 < number <= 1,
    "at least 0": lambda number: number >= 0,
    "at least 1": lambda number: number >= 1,
    "at least 16": lambda number: number >= 16,
    "at least 50": lambda number: number >= 50,
    "in 0..1": lambda number: 0 <= number <= 1,
    "in 0..10": lambda number: 0 <= number <= 10,
    "in 1..10000": lambda number: 1 <= number <= 10_000,
}
Count = Annotated[int, "at least 1"]
Positive = Annotated[float, "above 0"]
Share = Annotated[float, "in 0..1"]
Weight = Annotated[float, "at least 0"]


@dataclass(frozen=True, slots=True)
class _EmbeddingSettings:
    provider: Literal["minilm", "onnx", "openai"] = "minilm"  # minilm (built in), onnx (a folder) or openai (an API)
    path: str = ""  # onnx: folder with model.onnx and tokenizer.json
    model: str = ""  # openai: name of the model
    base_url: str = "https://api.openai.com/v1"  # openai: URL of the API
    api_key_variable: str = "OPENAI_API_KEY"  # openai: environment variable with the key; the key is never stored
    dimensions: Annotated[int, "at least 0"] = 0  # openai: length of the vectors; 0 if the provider knows it
    window_tokens: Annotated[int, "at least 0"] = 0  # tokens the model reads at once; 0 if the provider knows it
    batch_size: Count = 100  # openai: texts per request
    timeout_seconds: Positive = 30.0  # openai: per request; a question waits 10 seconds at most
    query_prefix: str = ""  # put in front of every question
    document_prefix: str = ""  # put in front of every chunk
    word_vectors: bool = True  # minilm: also store vectors of words for search.late, 48 bytes per token


@dataclass(frozen=True, slots=True)
class _ChunkSettings:
    """Sizes of chunks, in tokens of the embedding model. A longer section is cut to the model's window."""

    target_tokens: Count = 500  # size a chunk is filled up to
    floor_tokens: Count = 200  # smaller chunks of a section are merged
    ceiling_tokens: Count = 800  # a section up to this size stays whole
    overlap_tokens: Annotated[int, "at least 0"] = 50  # repeated between neighboring chunks of a section

    def __post_init__(self) -> None:
        if not self.floor_tokens <= self.target_tokens <= self.ceiling_tokens:
            raise Misconfigured("settings chunks: floor_tokens <= target_tokens <= ceiling_tokens")
        if self.overlap_tokens > self.target_tokens // 2:
            raise Misconfigured("settings chunks: overlap_tokens is at most half of target_tokens")


@dataclass(frozen=True, slots=True)
class _IngestSettings:
    include: tuple[str, ...] = ()  # as in .gitignore; only files that match; `.github/` or `vendor/` adds to the rest
    exclude: tuple[str, ...] = ()  # patterns as in .gitignore
    max_file_mb: Positive = 10.0  # larger files are skipped
    access: tuple[str, ...] = ()  # public, project, owner:USER, group:GROUP; empty: project
    access_by_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # pattern -> rules; first match
    path_rules: tuple[PathRule, ...] = DEFAULT_RULES  # module, chapter and types from the path

    def __post_init__(self) -> None:
        try:
            for rules in (self.access, *self.access_by_path.values()):
                Access.of(rules)
        except BadRequest as error:
            raise Misconfigured(f"settings ingest.access: {error}") from error


@dataclass(frozen=True, slots=True)
class _SearchSettings:
    fusion: Literal["minmax", "nearness", "rrf"] = "minmax"  # minmax, nearness or rrf
    weights: Mapping[str, Weight] = field(default_factory=dict)  # dense, words, code; empty: the fusion's own
    features: Mapping[str, Share] = field(default_factory=lambda: FEATURE_WEIGHTS)  # title, proximity; 0: off
    late: Annotated[float, "in 0..10"] = LATE_WEIGHT  # weight of late interaction; more if no passage is close; 0: off
    half_life_days: Positive = 90.0  # of conversations: age at which freshness is halved
    freshness_weight: Share = 0.1  # 0 ignores age; 1 ranks by age alone
    boosts: tuple[BoostRule, ...] = DEFAULT_BOOSTS  # words of the question -> factor for corpus types
    without: tuple[str, ...] = ()  # rankings and stages to leave out, to measure what they add

    def __post_init__(self) -> None:
        if not self.weights.keys() <= set(RANKINGS) or (self.weights and not any(self.weights.values())):
            raise Misconfigured(f"settings search.weights: {', '.join(RANKINGS)}, at least one of them above 0")
        if not self.features.keys() <= set(FEATURES):
            raise Misconfigured(f"settings search.features: there are {' and '.join(FEATURES)}")
        if any(rule.factor <= 0 for rule in self.boosts):
            raise Misconfigured("settings search.boosts: every factor is above 0")
        if not all(keyword.strip() for rule in self.boosts for keyword in rule.keywords or ("",)):
            raise Misconfigured("settings search.boosts: every rule has keywords, and none is empty")


@dataclass(frozen=True, slots=True)
class _RerankSettings:
    provider: Literal["none", "onnx", "http"] = "none"  # none, onnx, or http (a server with /rerank)
    path: str = ""  # onnx: folder with model.onnx and tokenizer.json
    model: str = ""  # onnx: a hub name such as cross-encoder/ms-marco-MiniLM-L-6-v2; http: name of the model
    base_url: str = ""  # http: URL in front of /rerank
    style: Literal["cohere", "jina", "tei"] = "cohere"  # http: cohere, jina or tei
    api_key_variable: str = "RERANK_API_KEY"  # http: environment variable with the key; the key is never stored
    depth: Count = 50  # passages that are reranked
    window_tokens: Annotated[int, "at least 16"] = 128  # onnx: question and passage together; time grows in proportion
    scores: Literal["probabilities", "logits"] = "probabilities"  # http: probabilities or logits
    timeout_seconds: Positive = 5.0  # http: after that, the fused order is kept


@dataclass(frozen=True, slots=True)
class _AnswerSettings:
    generator: Literal["extractive", "openai"] = "extractive"  # extractive (quotes) or openai (an API)
    model: str = ""  # openai: name of the model
    base_url: str = "https://api.openai.com/v1"  # openai: URL of the API
    api_key_variable: str = "OPENAI_API_KEY"  # openai: environment variable with the key; the key is never stored
    timeout_seconds: Positive = 60.0  # openai: longest wait for the first word, then for the next bytes
    max_tokens: Count = 800  # openai: longest answer
    budget_tokens: Annotated[int, "at least 50"] = 2000  # of the sources of an answer
    min_confidence: Share = 0.0  # answered from here on; 0: 0.6 for excerpts, 0.15 for a language model
    compression: Literal["none", "extractive", "llmlingua"] = "none"  # none, extractive or llmlingua
    compressed_tokens: Annotated[int, "at least 50"] = 600  # of compressed sources, or of excerpts
    compression_path: str = ""  # llmlingua: folder with model.onnx and tokenizer.json

    def __post_init__(self) -> None:
        if self.compression == "llmlingua" and not self.compression_path:
            raise Misconfigured("answer.compression is llmlingua: set answer.compression_path to the model's folder")


@dataclass(frozen=True, slots=True)
class _CitationSettings:
    """URLs of cited documents. The longest matching prefix of a document's path wins."""

    sites: Mapping[str, str] = field(default_factory=dict)  # path prefix -> URL; a Docusaurus site is found without it
    repositories: Mapping[str, str] = field(default_factory=dict)  # of code: path prefix -> blob URL


@dataclass(frozen=True, slots=True)
class _QueryCacheSettings:
    megabytes: Annotated[float, "at least 0"] = 64.0  # size limit; 0 disables the cache
    ttl_seconds: Positive = 600.0  # how long a result is reused
    # 0.97 also accepts near misses: two sentences that differ in "increases" and "reduces" are at 0.997.
    min_cosine: Annotated[float, "above 0 and at most 1"] = 1.0  # of a cached question; 1: equal questions only


@dataclass(frozen=True, slots=True)
class _QueryLogSettings:
    text: Literal["full", "masked", "none"] = "masked"  # full, masked (no secrets, addresses) or none
    retention_days: Annotated[float, "at least 0"] = 90.0  # 0 disables the log
    rows: Count = 500_000  # limit for all tenants and projects together, about 900 bytes each
    queue: Count = 1_000  # rows that may wait to be written; more are dropped and counted


@dataclass(frozen=True, slots=True)
class _PagingSettings:
    depth: Annotated[int, "in 1..10000"] = 1_000  # most hits of a paged search
    ttl_seconds: Positive = 900.0  # after that, a cursor has expired


@dataclass(frozen=True, slots=True)
class _GuardSettings:
    failures: Count = 5  # consecutive failures that open the circuit breaker of a remote model
    pause_seconds: Positive = 30.0  # until it is tried again


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    library: Path = Path(".citewise")  # folder of the library
    cache: Path = field(
        default_factory=lambda: Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "citewise")
    )  # prepared models
    embedding: _EmbeddingSettings = _EmbeddingSettings()
    chunks: _ChunkSettings = _ChunkSettings()
    ingest: _IngestSettings = _IngestSettings()
    search: _SearchSettings = field(default_factory=_SearchSettings)
    rerank: _RerankSettings = _RerankSettings()
    answer: _AnswerSettings = _AnswerSettings()
    citations: _CitationSettings = field(default_factory=_CitationSettings)
    query_cache: _QueryCacheSettings = _QueryCacheSettings()
    query_log: _QueryLogSettings = _QueryLogSettings()
    paging: _PagingSettings = _PagingSettings()
    guard: _GuardSettings = _GuardSettings()

    @classmethod
    def read(cls, file: Path | None, environment: Mapping[str, str]) -> Self:
        """Settings from a file (`citewise.toml` here, if none is named) and the environment, which wins."""
        path = file or Path(FILE)
        tree = _file_tree(path) if file is not None or path.is_file() else {}
        # The variables that hold keys of remote models may start as ours do, and are not settings.
        keys = [table.get("api_key_variable") for table in tree.values() if isinstance(table, dict)]
        keys += [value for name, value in environment.items() if name.endswith("__API_KEY_VARIABLE")]
        for name, value in environment.items():
            if name.startswith(PREFIX) and name not in keys:
                table, (*outer, last) = tree, name.removeprefix(PREFIX).lower().split("__")
                for key in outer:
                    table = table.setdefault(key, {})
                    if not isinstance(table, dict):
                        raise Misconfigured(f"{name} is not a setting: {key!r} is not a table")
                table[last] = value
        return cls().changed(**tree)

    def changed(self, /, **tree: Any) -> Self:
        """These settings with some replaced, such as `search={"fusion": "rrf"}`; what is wrong is Misconfigured."""
        changed: Self = _built(type(self), tree, where="", base=self)
        return changed


def _file_tree(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            text = opened.read(MAX_FILE_BYTES + 1).decode()
        if len(text.encode()) > MAX_FILE_BYTES:
            raise Misconfigured(
                f"the settings file {path} is over {MAX_FILE_BYTES // 1_000_000} MB: is it the right file?"
            )
        if any(line.count(".") > MAX_DOTS for line in text.splitlines()):  # tomllib's time grows with their square
            raise Misconfigured(f"the settings file {path} has a line with more than {MAX_DOTS} dots: break the line")
        return tomllib.loads(text)
    except OSError as error:
        raise Misconfigured(f"cannot read the settings file {path}: {error.strerror}") from error
    except ValueError as error:  # bad TOML, bad UTF-8, or a number with thousands of digits
        raise Misconfigured(f"the settings file {path} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise Misconfigured(f"the settings file {path} is nested too deeply: settings are tables of values") from error


def _built(kind: Any, tree: Mapping[str, Any], *, where: str, base: Any = None) -> Any:
    """A frozen value from a tree of plain ones, the rest from `base`; an unknown name is an error with the nearest."""
    hints = get_type_hints(kind, include_extras=True)
    values = {}
    for name, value in tree.items():
        if name not in hints:
            near = difflib.get_close_matches(name[:100], hints, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(hints)}"
            raise Misconfigured(f"there is no setting {_short(where + name)}{hint}")
        values[name] = _value(hints[name], value, where=f"{where}{name}", base=getattr(base, name, None))
    if base is not None:
        return replace(base, **values)
    needed = [each.name for each in fields(kind) if each.default is each.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
        raise Misconfigured(f"{where} lacks {', '.join(missing)}")
    return kind(**values)


def _value(kind: Any, value: Any, *, where: str, base: Any = None) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        number = _plain(inner[0], value, where)
        if not _BOUNDS[inner[1]](number):
            raise Misconfigured(f"setting {where} must be {inner[1]}, not {shown(value)}")
        return number
    if origin is Literal:
        if _plain(str, value, where) not in inner:
            raise Misconfigured(f"setting {where} is {shown(value)}; it can be {', '.join(inner[:-1])} or {inner[-1]}")
        return value
    if origin is tuple:
        if isinstance(value, str):  # from the environment
            value = [part.strip() for part in value.split(",") if part.strip()]
        return tuple(_value(inner[0], item, where=where) for item in _plain(Sequence, value, where))
    if origin is Mapping:
        table = _plain(Mapping, value, where)
        return {str(name): _value(inner[1], item, where=f"{where}.{name}") for name, item in table.items()}
    if is_dataclass(kind) and isinstance(kind, type) and not isinstance(value, kind):
        return _built(kind, _plain(Mapping, value, where), where=f"{where}.", base=base)
    return _plain(kind, value, where)


def _plain(kind: Any, value: Any, where: str) -> Any:
    """Strings come from the environment too, and are read as what the setting is."""
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    if kind is bool and value in ("true", "false"):
        return value == "true"
    if kind not in (int, float):
        if isinstance(value, kind):
            return value
    elif not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):
            number = kind(value)
            if math.isfinite(number) and (number == value or not isinstance(value, float)):
                return number
    raise Misconfigured(f"setting {_short(where)} must be {_IN_WORDS[kind]}, not {shown(value)}")


def _short(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:100]}\u2026"


_IN_WORDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    bool: "true or false",
    Sequence: "a list",
    Mapping: "a table",
}
