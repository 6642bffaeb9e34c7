"""
Spans in a file, for programs without OpenTelemetry: each line is a span, as OTLP writes it in JSON.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from .._plumbing.line_files import LineFile
from .attributes import Attributes
from .names import SCHEMA_URL, SCOPE
from .span_hook import MAX_LINKS, SpanHook, read_trace_parent, write_trace_parent

__all__ = ["TraceFile"]

_log = logging.getLogger("toolkit")

# The numbers of the protocol for kinds, flags and a status.
_INTERNAL, _CLIENT = 1, 3
_SAMPLED = 1
_ERROR = 2

_MAX_EVENTS = 128
_WAIT_SECONDS = 1.0


class TraceFile(SpanHook):
    """
    A hook that appends each span to a file when it ends. `toolkit trace FILE` shows it, and a collector can read it.

    It needs no package. Several programs may write to the same file.

    Args:
        path: The file. Only its owner can read it.
        capture: As in `Telemetry`.
        max_chars: As in `Telemetry`.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, capture: bool = False, max_chars: int = 4_000) -> None:
        super().__init__(capture=capture, max_chars=max_chars)
        self._file = LineFile(path, wait_seconds=_WAIT_SECONDS)
        self._sink: _FileSink | None = _FileSink(self._write)

    def find_sink(self) -> _FileSink | None:
        return self._sink

    def _write(self, line: str) -> None:
        """Append *line*. If that fails, as on a full disk, say so once, and record nothing any more."""
        try:
            self._file.append(line.encode("ascii"))
        except OSError as error:
            self._sink = None
            _log.warning("%s cannot be written: %s; no more spans are recorded", self._file.path, error)


_current_span: ContextVar[_FileSpan | None] = ContextVar("toolkit_file_span", default=None)


class _FileSink:
    """Makes spans that are written with *write* when they end."""

    has_metrics = False

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def start_span(
        self, name: str, attributes: Attributes, links: Sequence[str], *, is_client: bool, start_time: int
    ) -> tuple[_FileSpan, _FileSpan | None]:
        parent = _current_span.get()
        kind = _CLIENT if is_client else _INTERNAL
        span = _FileSpan(self._write, name, kind, parent, attributes, links, start_time)
        _current_span.set(span)
        return span, parent

    def leave_span(self, around: _FileSpan | None) -> None:
        _current_span.set(around)

    def set_error(self, span: _FileSpan, text: str) -> None:
        span.status = {"code": _ERROR, "message": text} if text else {"code": _ERROR}

    def trace_parent(self, span: _FileSpan) -> str:
        return write_trace_parent(span.trace_id, span.span_id, _SAMPLED)

    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        """Do nothing: a file has no metrics."""


class _FileSpan:
    """A span that is written when it ends."""

    def __init__(
        self,
        write: Callable[[str], None],
        name: str,
        kind: int,
        parent: _FileSpan | None,
        attributes: Attributes,
        links: Sequence[str],
        start_time: int,
    ) -> None:
        self.trace_id: int = int.from_bytes(os.urandom(16)) if parent is None else parent.trace_id
        self.span_id = int.from_bytes(os.urandom(8))
        self.status: dict[str, Any] = {}
        self._write = write
        self._name = name
        self._kind = kind
        self._parent_id = None if parent is None else parent.span_id
        self._attributes: dict[str, Any] = dict(attributes)
        self._links = [context for context in map(read_trace_parent, links[:MAX_LINKS]) if context is not None]
        self._events: list[dict[str, Any]] = []
        self._start_time = start_time

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self._attributes |= attributes

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        if len(self._events) < _MAX_EVENTS:
            at = str(timestamp or time.time_ns())
            self._events.append({"timeUnixNano": at, "name": name, "attributes": _write_attributes(attributes or {})})

    def end(self, end_time: int | None = None) -> None:
        span = {
            "traceId": f"{self.trace_id:032x}",
            "spanId": f"{self.span_id:016x}",
            "parentSpanId": "" if self._parent_id is None else f"{self._parent_id:016x}",
            "name": self._name,
            "kind": self._kind,
            "startTimeUnixNano": str(self._start_time),
            "endTimeUnixNano": str(end_time or time.time_ns()),
            "attributes": _write_attributes(self._attributes),
            "events": self._events,
            "links": [
                {"traceId": f"{trace_id:032x}", "spanId": f"{span_id:016x}"} for trace_id, span_id, _ in self._links
            ],
            "status": self.status,
        }
        resource = {"attributes": _write_attributes({"service.name": SCOPE})}
        scope = {"scope": {"name": SCOPE}, "spans": [span], "schemaUrl": SCHEMA_URL}
        self._write(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}))


def _write_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _write_value(value)} for name, value in attributes.items()]


def _write_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}  # 64 bits are more than a number of JSON may have
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_write_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}
