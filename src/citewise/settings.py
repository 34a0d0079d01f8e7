"""One frozen tree of settings, read once: defaults, then citewise.toml, then CITEWISE_… in the environment."""

import difflib
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from citewise.errors import BadRequest, Misconfigured
from citewise.model.access import Access
from citewise.model.document import DEFAULT_RULES, PathRule
from citewise.model.query import DEFAULT_BOOSTS, FEATURE_WEIGHTS, FEATURES, LATE_WEIGHT, BoostRule
from citewise.model.ranking import ARMS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PREFIX = "CITEWISE_"
FILE = "citewise.toml"

T = TypeVar("T")


def _require_known_choices(table: str, section: "DataclassInstance") -> None:
    for each in fields(section):
        if get_origin(each.type) is Literal:
            value, (*others, last) = getattr(section, each.name), get_args(each.type)
            can_be = f"it can be {', '.join(others)} or {last}"
            if value not in (*others, last):
                raise Misconfigured(f"setting {table}.{each.name} is {value!r}; {can_be}")


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Which model turns text into vectors."""

    provider: Literal["minilm", "onnx", "openai"] = "minilm"  # minilm (built in), onnx (a folder) or openai (an API)
    path: str = ""  # onnx: folder with model.onnx and tokenizer.json
    model: str = ""  # openai: name of the model
    base_url: str = "https://api.openai.com/v1"  # openai: URL of the API
    api_key_variable: str = "OPENAI_API_KEY"  # openai: environment variable with the key; the key is never stored
    dimensions: int = 0  # openai: length of the vectors; 0 if the provider knows it
    window_tokens: int = 0  # tokens the model reads at once; 0 if the provider knows it
    batch_size: int = 100  # openai: texts per request
    timeout_seconds: float = 30.0  # openai: per request
    query_prefix: str = ""  # put in front of every question
    document_prefix: str = ""  # put in front of every chunk
    word_vectors: bool = True  # minilm: also store vectors of words for search.late, 48 bytes per token

    def __post_init__(self) -> None:
        _require_known_choices("embedding", self)
        if self.batch_size < 1 or self.timeout_seconds <= 0:
            raise Misconfigured("settings embedding: batch_size and timeout_seconds must be above 0")
        if self.dimensions < 0 or self.window_tokens < 0:
            raise Misconfigured("settings embedding: dimensions and window_tokens must not be below 0")


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Sizes of chunks, in tokens of the embedding model. A longer section is cut to the model's window."""

    target_tokens: int = 500  # size a chunk is filled up to
    floor_tokens: int = 200  # smaller chunks of a section are merged
    ceiling_tokens: int = 800  # a section up to this size stays whole
    overlap_tokens: int = 50  # repeated between neighboring chunks of a section

    def __post_init__(self) -> None:
        if not 0 < self.floor_tokens <= self.target_tokens <= self.ceiling_tokens:
            raise Misconfigured("settings chunks: floor_tokens <= target_tokens <= ceiling_tokens, all above 0")
        if not 0 <= self.overlap_tokens <= self.target_tokens // 2:
            raise Misconfigured("settings chunks: overlap_tokens is at least 0 and at most half of target_tokens")


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """What is ingested, and who may read it."""

    include: tuple[str, ...] = ()  # patterns as in .gitignore; empty: everything
    exclude: tuple[str, ...] = ()  # patterns as in .gitignore
    max_file_mb: float = 10.0  # larger files are skipped
    access: tuple[str, ...] = ()  # public, project, owner:USER, group:GROUP; empty: project
    access_by_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # pattern -> rules; first match
    path_rules: tuple[PathRule, ...] = DEFAULT_RULES  # module, chapter and types from the path

    def __post_init__(self) -> None:
        if not 0 < self.max_file_mb < math.inf:
            raise Misconfigured(f"setting ingest.max_file_mb must be above 0, not {self.max_file_mb}")
        try:
            for rules in (self.access, *self.access_by_path.values()):
                Access.of(rules)
        except BadRequest as error:
            raise Misconfigured(f"settings ingest.access: {error}") from error


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How rankings are fused and refined."""

    fusion: Literal["nearness", "minmax", "rrf"] = "nearness"  # nearness, minmax or rrf
    weights: Mapping[str, float] = field(default_factory=dict)  # dense, words, code; empty: the fusion's own
    features: Mapping[str, float] = field(default_factory=lambda: FEATURE_WEIGHTS)  # title, proximity; 0: off
    late: float = LATE_WEIGHT  # weight of late interaction if no passage is close; 0 disables
    half_life_days: float = 90.0  # of conversations: age at which freshness is halved
    freshness_weight: float = 0.1  # 0 ignores age; 1 ranks by age alone
    boosts: tuple[BoostRule, ...] = DEFAULT_BOOSTS  # words of the question -> factor for corpus types
    without: tuple[str, ...] = ()  # rankings and stages to leave out, to measure what they add

    def __post_init__(self) -> None:
        _require_known_choices("search", self)
        weights = self.weights
        are_positive = not weights or (min(weights.values()) >= 0 and sum(weights.values()) > 0)
        if not weights.keys() <= set(ARMS) or not are_positive:
            raise Misconfigured(f"settings search.weights: {', '.join(ARMS)}, each at least 0 and one of them above")
        if not (self.features.keys() <= set(FEATURES) and all(0 <= each <= 1 for each in self.features.values())):
            raise Misconfigured(f"settings search.features: {', '.join(FEATURES)}, each in 0..1")
        if not 0 <= self.late <= 10:
            raise Misconfigured("setting search.late is a weight in 0..10; 0 switches it off")
        if self.half_life_days <= 0 or not 0 <= self.freshness_weight <= 1:
            raise Misconfigured("settings search: half_life_days is above 0, freshness_weight in 0..1")
        unknown = set(self.without).difference(ARMS, ("features", "late", "rerank", "freshness", "boost", "dedup"))
        if unknown:
            raise Misconfigured(f"setting search.without names no ranking and no stage: {', '.join(sorted(unknown))}")
        if any(rule.factor <= 0 for rule in self.boosts):
            raise Misconfigured("settings search.boosts: every factor is above 0")
        if not all(keyword.strip() for rule in self.boosts for keyword in rule.keywords or ("",)):
            raise Misconfigured("settings search.boosts: every rule has keywords, and none is empty")


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The reranker, if any."""

    provider: Literal["none", "onnx", "http"] = "none"  # none, onnx, or http (a server with /rerank)
    path: str = ""  # onnx: folder with model.onnx and tokenizer.json
    model: str = ""  # onnx: a hub name such as cross-encoder/ms-marco-MiniLM-L-6-v2; http: name of the model
    base_url: str = ""  # http: URL in front of /rerank
    style: Literal["cohere", "jina", "tei"] = "cohere"  # http: cohere, jina or tei
    api_key_variable: str = "RERANK_API_KEY"  # http: environment variable with the key; the key is never stored
    depth: int = 50  # passages that are reranked
    window_tokens: int = 128  # onnx: question and passage together; time grows in proportion
    scores: Literal["probabilities", "logits"] = "probabilities"  # http: probabilities or logits
    timeout_seconds: float = 5.0  # http: after that, the fused order is kept

    def __post_init__(self) -> None:
        _require_known_choices("rerank", self)
        if self.depth < 1 or self.window_tokens < 16 or self.timeout_seconds <= 0:
            raise Misconfigured("settings rerank: depth is at least 1, window_tokens 16, timeout_seconds above 0")


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """How answers are written."""

    generator: Literal["extractive", "openai"] = "extractive"  # extractive (quotes sentences) or openai (an API)
    model: str = ""  # openai: name of the model
    base_url: str = "https://api.openai.com/v1"  # openai: URL of the API
    api_key_variable: str = "OPENAI_API_KEY"  # openai: environment variable with the key; the key is never stored
    timeout_seconds: float = 60.0  # openai: longest wait for the next bytes
    max_tokens: int = 800  # openai: longest answer
    budget_tokens: int = 2000  # of the sources of an answer
    min_confidence: float = 0.0  # to answer; 0: 0.4 for extractive, 0.15 for a language model
    compression: Literal["none", "extractive", "llmlingua"] = "none"  # none, extractive or llmlingua
    compressed_tokens: int = 600  # of compressed sources
    compression_path: str = ""  # llmlingua: folder with model.onnx and tokenizer.json

    def __post_init__(self) -> None:
        _require_known_choices("answer", self)
        if self.compression == "llmlingua" and not self.compression_path:
            raise Misconfigured("answer.compression is llmlingua: set answer.compression_path to the model's folder")
        if self.compressed_tokens < 50:
            raise Misconfigured(f"setting answer.compressed_tokens is at least 50, not {self.compressed_tokens}")
        if self.timeout_seconds <= 0 or self.max_tokens < 1 or self.budget_tokens < 50:
            raise Misconfigured("settings answer: timeout_seconds above 0, max_tokens at least 1, budget_tokens 50")
        if not 0 <= self.min_confidence <= 1:
            raise Misconfigured(f"setting answer.min_confidence is in 0..1, not {self.min_confidence}")


@dataclass(frozen=True, slots=True)
class CitationSettings:
    """URLs of cited documents. The longest matching prefix of a document's path wins."""

    sites: Mapping[str, str] = field(default_factory=lambda: {"website/docs/": "/docs/", "": "/docs/"})  # prefix -> URL
    repositories: Mapping[str, str] = field(default_factory=dict)  # of code: path prefix -> blob URL


@dataclass(frozen=True, slots=True)
class QueryCacheSettings:
    """The cache of results, in memory."""

    megabytes: float = 64.0  # size limit; 0 disables the cache
    ttl_seconds: float = 600.0  # how long a result is reused
    # 0.97 also accepts near misses: two sentences that differ in "increases" and "reduces" are at 0.997.
    min_cosine: float = 1.0  # between a question and a cached one; 1: equal questions only

    def __post_init__(self) -> None:
        if self.megabytes < 0 or self.ttl_seconds <= 0 or not 0 < self.min_cosine <= 1:
            raise Misconfigured("settings query_cache: megabytes at least 0, ttl_seconds above 0, min_cosine in 0..1")


@dataclass(frozen=True, slots=True)
class QueryLogSettings:
    """What the query log stores."""

    text: Literal["full", "masked", "none"] = "masked"  # full, masked (no secrets, addresses) or none
    retention_days: float = 90.0  # 0 disables the log
    rows: int = 500_000  # limit for all tenants and projects together, about 900 bytes each
    queue: int = 1_000  # rows that may wait to be written; more are dropped and counted

    def __post_init__(self) -> None:
        _require_known_choices("query_log", self)
        if self.retention_days < 0 or self.rows < 1 or self.queue < 1:
            raise Misconfigured("settings query_log: retention_days at least 0, rows and queue at least 1")


@dataclass(frozen=True, slots=True)
class PagingSettings:
    """Depth and lifetime of paged searches."""

    depth: int = 1_000  # most hits of a paged search
    ttl_seconds: float = 900.0  # after that, a cursor has expired

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 10_000 or self.ttl_seconds <= 0:
            raise Misconfigured("settings paging: depth in 1..10000, ttl_seconds above 0")


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """When the server of a model that fails is left alone for a while."""

    failures: int = 5  # consecutive failures that open the circuit breaker of a remote model
    pause_seconds: float = 30.0  # until it is tried again

    def __post_init__(self) -> None:
        if self.failures < 1 or self.pause_seconds <= 0:
            raise Misconfigured("settings guard: failures at least 1, pause_seconds above 0")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    library: Path = Path(".citewise")  # folder of the library
    cache: Path = field(default_factory=lambda: _cache_home() / "citewise")  # prepared models
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunks: ChunkSettings = ChunkSettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = field(default_factory=SearchSettings)
    rerank: RerankSettings = RerankSettings()
    answer: AnswerSettings = AnswerSettings()
    citations: CitationSettings = field(default_factory=CitationSettings)
    query_cache: QueryCacheSettings = QueryCacheSettings()
    query_log: QueryLogSettings = QueryLogSettings()
    paging: PagingSettings = PagingSettings()
    guard: GuardSettings = GuardSettings()


def read_settings(file: Path | None, environment: Mapping[str, str]) -> Settings:
    """Settings from a file (`citewise.toml` here, if none is named) and the environment, which wins."""
    path = file or Path(FILE)
    tree: dict[str, Any] = {}
    if file is not None or path.is_file():
        tree = _read_toml(path)
    keys = _key_variables(tree, environment)
    for name, value in environment.items():
        if name.startswith(PREFIX) and name not in keys:
            _place(tree, name.removeprefix(PREFIX).lower().split("__"), value, name)
    return _built(Settings, tree, where="")


def _key_variables(tree: Mapping[str, Any], environment: Mapping[str, str]) -> set[object]:
    """The variables that hold keys of remote models: they may start as ours do, and are no settings all the same."""
    named = set()
    for section in ("embedding", "rerank", "answer"):
        table = tree.get(section)
        written = table.get("api_key_variable") if isinstance(table, dict) else None
        named.add(environment.get(f"{PREFIX}{section.upper()}__API_KEY_VARIABLE", written))
    return {name for name in named if isinstance(name, str)}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Misconfigured(f"cannot read the settings file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"the settings file {path} is not valid TOML: {error}") from error


def _place(tree: dict[str, Any], keys: list[str], value: str, name: str) -> None:
    *outer, last = keys
    for key in outer:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise Misconfigured(f"{name} is no setting: {key!r} is not a table")
    tree[last] = value


def _built(kind: type[T], tree: Mapping[str, Any], *, where: str) -> T:
    """A frozen value from a tree of plain ones; an unknown name is an error with the nearest known one."""
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    values = {}
    for name, value in tree.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise Misconfigured(f"there is no setting {where}{name}{hint}")
        values[name] = _value(hints[name], value, where=f"{where}{name}")
    missing = [n for n, f in known.items() if n not in values and f.default is MISSING and f.default_factory is MISSING]
    if missing:
        raise Misconfigured(f"{where or 'settings'} lacks {', '.join(missing)}")
    return kind(**values)


def _value(kind: Any, value: Any, *, where: str) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _built(kind, _checked(value, dict, where), where=f"{where}.")
    if origin is tuple:
        items = value.split(",") if isinstance(value, str) else _checked(value, list, where)
        return tuple(_value(get_args(kind)[0], item, where=where) for item in items)
    if origin is Mapping:
        table = _checked(value, dict, where)
        return {str(name): _value(get_args(kind)[1], item, where=f"{where}.{name}") for name, item in table.items()}
    return _plain(kind, value, where)


def _plain(kind: Any, value: Any, where: str) -> Any:
    """Strings come from the environment and are read as what the setting is."""
    if kind is Path:
        return Path(_checked(value, str, where)).expanduser()
    if kind is bool and value in ("true", "false"):
        return value == "true"
    if kind in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = kind(value)
        except (ValueError, OverflowError):
            number = math.nan
        is_number = math.isfinite(number) and (number == value or not isinstance(value, float))
        if not is_number:
            raise Misconfigured(f"setting {where} must be {_IN_WORDS[kind]}, not {value!r}")
        return number
    return _checked(value, str if get_origin(kind) is Literal else kind, where)


def _checked(value: Any, kind: type[T], where: str) -> T:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Misconfigured(f"setting {where} must be {_IN_WORDS[kind]}, not {value!r}")
    return value


_IN_WORDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
