"""Orders as bytes: one column a score, so that any stretch of an order is read without the rest of it."""

import json
import math
import struct
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewise.model.ids import ChunkId
from citewise.model.ranking import Candidate, Candidates
from citewise.ports.held import HeldOrder, Seen

ID_BYTES = 8  # a chunk id is 16 hex digits
FLOAT_BYTES = 8  # of a score

# A checksum of what follows, and the length of the JSON that says what the columns are. Nothing is compressed: scores
# are nearly random, and to unpack a thousand of them would cost every page as much as all else.
_HEAD = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class _Columns:
    """A column for each score and rank that any of the candidates has; NaN and 0 where one has none."""

    ids: bytes
    score: Sequence[float]
    scores: Mapping[str, Sequence[float]]
    ranks: Mapping[str, Sequence[int]]

    def candidate(self, place: int) -> Candidate:
        return Candidate(
            ChunkId(self.ids[place * ID_BYTES : (place + 1) * ID_BYTES].hex()),
            self.score[place],
            {name: column[place] for name, column in self.scores.items() if not math.isnan(column[place])},
            {name: column[place] for name, column in self.ranks.items() if column[place]},
        )


def order_bytes(order: HeldOrder) -> bytes:
    """The order, without what was seen of it."""
    candidates = order.candidates
    scores = list(dict.fromkeys(name for one in candidates for name in one.scores))
    ranks = list(dict.fromkeys(name for one in candidates for name in one.ranks))
    head = json.dumps(
        {
            "count": len(candidates),
            "scores": scores,
            "ranks": ranks,
            "total_candidates": order.total_candidates,
            "is_whole": order.is_whole,
            "left_out": order.left_out,
            "degraded": order.degraded,
            "notes": order.notes,
        }
    ).encode()
    columns = (
        bytes.fromhex("".join(one.id for one in candidates)),
        array("d", [one.score for one in candidates]).tobytes(),
        *(array("d", [one.scores.get(name, math.nan) for one in candidates]).tobytes() for name in scores),
        *(array("I", [one.ranks.get(name, 0) for one in candidates]).tobytes() for name in ranks),
    )
    body = b"".join((head, *columns))
    return _HEAD.pack(zlib.crc32(body), len(head)) + body


def order_of(data: bytes, seen: Seen) -> HeldOrder:
    """The same order again."""
    plain = memoryview(data)
    if len(plain) < _HEAD.size:
        raise ValueError("an order without its head")
    checksum, length = _HEAD.unpack_from(plain)
    body = plain[_HEAD.size :]
    if zlib.crc32(body) != checksum:
        raise ValueError("an order that was never written whole")
    head = json.loads(bytes(body[:length]))
    columns = _columns(body[length:], head["count"], head["scores"], head["ranks"])
    return HeldOrder(
        Candidates(head["count"], columns.candidate),
        head["total_candidates"],
        is_whole=head["is_whole"],
        left_out=tuple(head["left_out"]),
        degraded=tuple(head["degraded"]),
        notes=tuple(head["notes"]),
        seen=seen,
    )


def _columns(data: memoryview, count: int, scores: Sequence[str], ranks: Sequence[str]) -> _Columns:
    """The columns in the order in which `order_bytes` wrote them."""
    ids = count * ID_BYTES
    floats = ids + count * FLOAT_BYTES * (1 + len(scores))
    numbers = array("d", bytes(data[ids:floats]))
    places = array("I", bytes(data[floats:]))
    return _Columns(
        bytes(data[:ids]),
        numbers[:count],
        {name: numbers[count * at : count * (at + 1)] for at, name in enumerate(scores, start=1)},
        {name: places[count * at : count * (at + 1)] for at, name in enumerate(ranks)},
    )


def gone_text(seen: Seen) -> str:
    """The ranks of what was gone, by place."""
    return json.dumps({str(place): dict(ranks) for place, ranks in seen.gone.items()})


def seen_of(texts: bytes, gone: str) -> Seen:
    """What was seen from the first place on."""
    return Seen(0, texts, {int(place): ranks for place, ranks in json.loads(gone).items()})
