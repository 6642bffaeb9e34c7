"""
Spans in a file, for programs without OpenTelemetry: each line is a span, as OTLP writes it in JSON.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._plumbing.line_files import LineFile
from .attributes import Attributes
from .names import SCHEMA_URL, SCOPE, Names
from .span_hook import Activity, SpanHook, read_links

__all__ = ["TraceFile"]

_log = logging.getLogger("toolkit")

# The numbers of the protocol for kinds and a status.
_INTERNAL, _CLIENT = 1, 3
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
        self._has_failed = False

    def is_listening(self) -> bool:
        return not self._has_failed

    def start_span(
        self, name: str, attributes: Attributes, links: Sequence[str], outer: Activity | None, start_time: int
    ) -> tuple[_FileSpan, None]:
        while outer is not None and not isinstance(outer.span, _FileSpan):
            outer = outer.outer
        return _FileSpan(self._write, name, attributes, links, None if outer is None else outer.span, start_time), None

    def leave_span(self, around: None) -> None:
        """Do nothing: the parent of a span is that of the activity around it."""

    def set_error(self, span: _FileSpan, text: str) -> None:
        span.record["status"] = {"code": _ERROR, "message": text} if text else {"code": _ERROR}

    def write_trace_parent(self, span: _FileSpan) -> str:
        return f"00-{span.record['traceId']}-{span.record['spanId']}-01"

    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        """Do nothing: a file has no metrics."""

    def _write(self, line: str) -> None:
        """Append *line*. If that fails, as on a full disk, say so once, and record nothing any more."""
        if self._has_failed:
            return
        try:
            self._file.append(line.encode("ascii"))
        except OSError as error:
            self._has_failed = True
            _log.warning("%s cannot be written: %s; no more spans are recorded", self._file.path, error)


class _FileSpan:
    """A span that is written when it ends. It has the methods of a span of OpenTelemetry that the hook uses."""

    def __init__(
        self,
        write: Callable[[str], None],
        name: str,
        attributes: Attributes,
        links: Sequence[str],
        parent: _FileSpan | None,
        start_time: int,
    ) -> None:
        self._write = write
        self._attributes = dict(attributes)
        self.record: dict[str, Any] = {
            "traceId": os.urandom(16).hex() if parent is None else parent.record["traceId"],
            "spanId": os.urandom(8).hex(),
            "parentSpanId": "" if parent is None else parent.record["spanId"],
            "name": name,
            "kind": _CLIENT if attributes[Names.OPERATION] == Names.CHAT else _INTERNAL,
            "startTimeUnixNano": str(start_time),
            "events": [],
            "links": [{"traceId": trace_id, "spanId": span_id} for trace_id, span_id, _ in read_links(links)],
            "status": {},
        }

    def is_recording(self) -> bool:
        return "endTimeUnixNano" not in self.record

    def set_attributes(self, attributes: Attributes) -> None:
        self._attributes |= attributes

    def add_event(self, name: str, attributes: Attributes, at: int) -> None:
        if len(self.record["events"]) < _MAX_EVENTS:
            event = {"timeUnixNano": str(at), "name": name, "attributes": _write_attributes(attributes)}
            self.record["events"].append(event)
        else:
            self.record["droppedEventsCount"] = self.record.get("droppedEventsCount", 0) + 1

    def end(self, at: int) -> None:
        self.record |= {"endTimeUnixNano": str(at), "attributes": _write_attributes(self._attributes)}
        resource = {"attributes": _write_attributes({"service.name": SCOPE})}
        scope = {"scope": {"name": SCOPE}, "spans": [self.record], "schemaUrl": SCHEMA_URL}
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
