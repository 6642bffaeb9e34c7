"""
Search by meaning, with vectors from any embedding model.

`EmbeddingRanker` asks a function of the caller for vectors: of each tool once, and of each query. The function may call
an endpoint of a provider, a local server or a package. It runs in a thread of its own. A search waits for it only for a
moment, and uses the plain ranking if there is no answer in time, if the function fails, or if its answer is unusable.
"""

from __future__ import annotations

import array
import base64
import hashlib
import json
import logging
import math
import operator
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..._plumbing.forks import renew_in_children
from .fusion import BLEND, Ranker

__all__ = ["EmbeddingRanker", "Vectors"]

_log = logging.getLogger("toolkit")

_MAX_TEXTS_PER_CALL = 128
"""The most texts that the function gets at once. Embedding endpoints refuse longer lists."""

_MAX_TEXT_CHARS = 2_000
_MAX_QUERIES = 1_000
_PAUSE_SECONDS = 30.0
"""For how long a function that failed is not asked again."""

Vectors: TypeAlias = Sequence[Sequence[float]]
_Vector: TypeAlias = "array.array[float]"


class EmbeddingRanker:
    """
    A ranker that compares the meaning of a query with the meaning of each tool.

    Example:
        ranker = EmbeddingRanker(embed, path="vectors.jsonl")
        catalog.search("bill the customer", ranker=ranker)

    Args:
        embed: A function that returns one vector for each of the texts that it gets, in their order.
        blend: The weight of the meaning, 0 to 1. The words of the query have the rest.
        path: A file that keeps the vectors of the tools, so that each tool is embedded once. Without it, each process
            embeds them again.
        model: The name of the model. The vectors of another model in the same file are not used.
        timeout_seconds: How long a search waits for vectors.

    Raises:
        TypeError: *embed* is not a function.
        ValueError: *blend* is not between 0 and 1, or *timeout_seconds* is not positive.
    """

    def __init__(
        self,
        embed: Callable[[list[str]], Vectors],
        *,
        blend: float = BLEND,
        path: str | os.PathLike[str] | None = None,
        model: str = "",
        timeout_seconds: float = 0.5,
    ) -> None:
        if not callable(embed):
            raise TypeError(f"embed has to be a function from texts to vectors, got {type(embed).__name__}")
        if not 0 <= blend <= 1:
            raise ValueError(f"blend has to be between 0 and 1, got {blend}")
        if not timeout_seconds > 0:
            raise ValueError(f"timeout_seconds has to be positive, got {timeout_seconds}")
        self.blend = blend
        self.timeout_seconds = timeout_seconds
        self._embed = embed
        self._file = None if path is None else _VectorFile(Path(path), model)
        self._vectors: dict[str, _Vector] = {}
        self._queries: dict[str, _Vector] = {}
        self._paused_until = -math.inf
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Forget the thread that was embedding: it does not exist in a forked child."""
        self._is_busy = threading.Lock()
        self._busy_since = 0.0

    def ranker_of(self, text_of: Callable[[str], str]) -> Ranker:
        """Return a ranker of tools by name. *text_of* returns the text of the tool with a name."""
        return _BoundRanker(self, text_of)

    def score(self, query: str, texts: Mapping[str, str]) -> dict[str, float]:
        """
        Return the scores of the tools whose *texts* are nearest in meaning to *query*.

        The mapping is empty if there are no vectors in time. Vectors that arrive later serve the next search.
        """
        started = time.monotonic()
        if not texts or started < self._paused_until:
            return {}
        patience = self.timeout_seconds
        if self._is_busy.locked() and started - self._busy_since > patience:
            return {}  # the tools are being embedded for the first time, or the function hangs
        if not self._is_busy.acquire(timeout=patience):
            return {}
        self._busy_since = started
        answers: queue.SimpleQueue[dict[str, float]] = queue.SimpleQueue()
        # A daemon: a function that hangs must not keep the program from ending.
        threading.Thread(target=self._answer, args=(query, texts, answers), name="toolkit-embed", daemon=True).start()
        try:
            return answers.get(timeout=max(0.0, patience - (time.monotonic() - started)))
        except queue.Empty:
            return {}

    def _answer(self, query: str, texts: Mapping[str, str], answers: queue.SimpleQueue[dict[str, float]]) -> None:
        lock = self._is_busy
        try:
            answers.put(self._compare(query, texts))
        except Exception as error:  # noqa: BLE001 -- a search never fails because its ranker did
            self._paused_until = time.monotonic() + _PAUSE_SECONDS
            _log.warning(
                "tools are searched by words alone for %d s: the embedding function failed: %s: %.300s",
                _PAUSE_SECONDS,
                type(error).__name__,
                error,
            )
            answers.put({})
        finally:
            lock.release()

    def _compare(self, query: str, texts: Mapping[str, str]) -> dict[str, float]:
        cut_texts = {name: text[:_MAX_TEXT_CHARS] for name, text in texts.items()}
        vector = self._vector_of_query(query[:_MAX_TEXT_CHARS])
        self._learn(list(dict.fromkeys(cut_texts.values())), len(vector))
        likeness = {name: _multiply(vector, self._vectors[text]) for name, text in cut_texts.items()}
        # Any two texts are a little alike. What a tool has beyond that says that it is meant.
        usual = math.fsum(likeness.values()) / len(likeness) if len(likeness) > 1 else 0.0
        return {name: score - usual for name, score in likeness.items() if score > usual}

    def _vector_of_query(self, query: str) -> _Vector:
        vector = self._queries.get(query)
        if vector is None:
            (vector,) = self._ask([query])
            while len(self._queries) >= _MAX_QUERIES:
                del self._queries[next(iter(self._queries))]
            self._queries[query] = vector
        return vector

    def _learn(self, texts: list[str], length: int) -> None:
        """Embed the *texts* that have no vector of this *length* yet."""
        known = self._vectors
        if self._file is not None and not known:
            known.update(self._file.read(texts))
        missing = [text for text in texts if len(known.get(text, ())) != length]
        for start in range(0, len(missing), _MAX_TEXTS_PER_CALL):
            part = missing[start : start + _MAX_TEXTS_PER_CALL]
            vectors = dict(zip(part, self._ask(part), strict=True))
            if any(len(vector) != length for vector in vectors.values()):
                raise ValueError("it returned vectors of different lengths")
            known.update(vectors)
            if self._file is not None:
                self._file.append(vectors)

    def _ask(self, texts: list[str]) -> list[_Vector]:
        vectors = [_normalise(vector) for vector in self._embed(list(texts))]
        if len(vectors) != len(texts):
            raise ValueError(f"it returned {len(vectors):,} vectors for {len(texts):,} texts")
        return vectors


class _BoundRanker:
    """An `EmbeddingRanker` that knows the texts of the tools."""

    def __init__(self, ranker: EmbeddingRanker, text_of: Callable[[str], str]) -> None:
        self.blend = ranker.blend
        self._ranker = ranker
        self._text_of = text_of

    def __call__(self, query: str, names: Sequence[str]) -> dict[str, float]:
        return self._ranker.score(query, {name: self._text_of(name) for name in names})


class _VectorFile:
    """
    A file of vectors, one JSON object a line, each under the digest of its model and text.

    Lines are only ever appended. A line that cannot be read, as after a crash, is ignored, and its text is embedded
    again.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = model

    def read(self, texts: list[str]) -> dict[str, _Vector]:
        """Return the vectors of those *texts* that the file has."""
        text_by_digest = {self._digest(text): text for text in texts}
        vectors: dict[str, _Vector] = {}
        for digest, vector in self._lines():
            if (text := text_by_digest.get(digest)) is not None:
                vectors[text] = vector
        return vectors

    def append(self, vectors: Mapping[str, _Vector]) -> None:
        """Add *vectors* to the file."""
        lines = [
            json.dumps({"digest": self._digest(text), "vector": base64.b64encode(vector.tobytes()).decode()})
            for text, vector in vectors.items()
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # The empty line ends a line that a crash has cut. One write, so that the lines of two processes do not mix.
        with self._path.open("ab", buffering=0) as file:
            file.write(("\n" + "\n".join(lines) + "\n").encode())

    def _lines(self) -> Iterator[tuple[str, _Vector]]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                try:
                    entry = json.loads(line)
                    yield entry["digest"], array.array("f", base64.b64decode(entry["vector"], validate=True))
                except (ValueError, TypeError, KeyError):
                    continue

    def _digest(self, text: str) -> str:
        return hashlib.sha256(f"{self._model}\0{text}".encode(errors="surrogatepass")).hexdigest()[:32]


def _normalise(vector: Sequence[float]) -> _Vector:
    """
    Return *vector* with length 1.

    Raises:
        ValueError: It has a number that is not finite, or no direction.
    """
    numbers: list[Any] = [float(number) for number in vector]
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0:
        raise ValueError(f"it returned a vector of {len(numbers):,} numbers without a direction")
    return array.array("f", [number / length for number in numbers])


def _multiply(one: _Vector, other: _Vector) -> float:
    return float(sum(map(operator.mul, one, other)))
