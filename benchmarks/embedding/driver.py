"""The other end of `foreign`: a process in its own environment that embeds what it is sent and times itself.

A line of JSON in, a line out. It first tells its encoders; a encoder that fails says why and leaves the others alone.
"""

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.embedding.batching import Floats

Encode = Callable[[Sequence[str]], Floats]


def serve(encoders: Mapping[str, Encode]) -> None:
    """Answer until the other side closes. What libraries print goes to the log: the answers have the pipe alone."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print(json.dumps({"encoders": list(encoders)}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_answer(encoders[asked["encoder"]], asked["texts"])), file=answers, flush=True)


def _answer(encode: Encode, texts: Sequence[str]) -> dict[str, str | float]:
    started, used = time.perf_counter(), time.process_time()
    try:
        vectors = encode(texts)
    except Exception as error:  # noqa: BLE001  (whatever a foreign runtime raises is this encoder's result)
        return {"error": (str(error).strip() or repr(error)).splitlines()[-1]}
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    sent = base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii")
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "vectors": sent}
