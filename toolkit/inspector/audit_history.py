"""
The calls of an audit log in the history: those before the inspector was started, and those of other processes.

At most the last 64 MB of the file are read. Lines that are added later are read when a page asks, unless the dispatcher
itself writes them: then its events have told already.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from .._plumbing.forks import unlock_in_children
from .._plumbing.newest_items import NewestItems
from ..policies.audit import decode_line
from .history import History

__all__ = ["AuditHistory"]

_MAX_BYTES = 64 * 1024 * 1024
_MAX_OPEN = 10_000
_UNKNOWN = "(unknown)"


class AuditHistory:
    """
    Reads the log at *path* into *history*.

    Attributes:
        problem: Why the log could not be read the last time, or which lines of it could not; None if all is well.
    """

    def __init__(self, path: str | os.PathLike[str], history: History, *, follows: bool) -> None:
        self.path = os.fspath(path)
        self.problem: str | None = None
        self._history = history
        self._follows = follows
        self._offset: int | None = None
        self._unreadable = 0
        self._open: NewestItems[tuple[Any, ...], dict[str, Any]] = NewestItems(_MAX_OPEN)
        self._lock = unlock_in_children(threading.Lock())

    def refresh(self) -> None:
        """Read what was added since the last time. Another thread that reads already is waited for."""
        with self._lock:
            if self._offset is not None and not self._follows:
                return
            try:
                lines = list(self._read_lines())
            except OSError as error:
                self.problem = f"the audit log {self.path} cannot be read: {error.strerror or error}"
                return
            self._add_lines(lines)
            unreadable = f"{self._unreadable} lines of the audit log cannot be read, and are left out"
            self.problem = unreadable if self._unreadable else None

    def _read_lines(self) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = self._offset or 0
            if size < start:  # another file is in its place
                start = 0
            start, skips = max(start, size - _MAX_BYTES), size - _MAX_BYTES > start
            file.seek(start)
            data = file.read(size - start)
        end = data.rfind(b"\n") + 1  # a line that is being written is read the next time
        self._offset = start + end
        lines = data[:end].splitlines()
        yield from lines[1:] if skips else lines

    def _add_lines(self, lines: list[bytes]) -> None:
        for line in lines:
            entry = decode_line(line)
            if isinstance(entry, dict):
                self._add_entry(entry)
            else:
                self._unreadable += 1

    def _add_entry(self, entry: Mapping[str, Any]) -> None:
        if "call_id" not in entry:
            return
        key = tuple(str(entry.get(name)) for name in ("call_id", "session", "tool"))
        call = self._open.setdefault(key, {"steps": [], "started_at": _number(entry.get("at"))})
        at, event = _number(entry.get("at")), str(entry.get("event"))
        match event:
            case "verdict":
                call["verdict"] = {name: entry.get(name) for name in ("word", "by", "reason")}
            case "asked":
                call["request"] = str(entry.get("request"))
                call["steps"].append({"at": at, "what": "asked", "text": str(entry.get("reason", ""))})
            case "answered":
                self._add_decision(entry, at)
                call["steps"].append({"at": at, "what": "answered", "text": _describe_answer(entry)})
            case "intent":
                call["arguments"] = entry.get("arguments")
            case "outcome":
                self._finish(self._open.pop(key), entry, at)

    def _finish(self, call: dict[str, Any], entry: Mapping[str, Any], at: float) -> None:
        kind = str(entry.get("kind"))[:40]
        seconds, attempts = _number(entry.get("duration_seconds")), int(_number(entry.get("attempts")))
        chars, tool = int(_number(entry.get("chars"))), str(entry.get("tool"))[:200]
        session, alias = entry.get("session"), entry.get("alias")
        row = self._history.add_row(
            id=str(entry["call_id"])[:200],
            tool=tool,
            session=None if session is None else str(session),
            alias=None if alias is None else str(alias),
            kind=kind,
            started_at=call["started_at"],
            seconds=seconds,
            attempts=attempts,
            chars=chars,
            cost=_number(entry.get("cost")),
            request=call.get("request"),
            source="audit",
        )
        steps = [*call["steps"], {"at": at, "what": "ended", "text": kind}]
        about = {"principal": entry.get("principal"), "verdict": call.get("verdict"), "result": None, "cut": ["result"]}
        self._history.keep_details(row, {"arguments": call.get("arguments"), **about, "steps": steps})
        self._history.stats.add(_UNKNOWN if kind == "not_found" else tool, kind, chars, attempts, seconds)

    def _add_decision(self, entry: Mapping[str, Any], at: float) -> None:
        by, approved = entry.get("by"), entry.get("approved") is True
        words = {"id": str(entry.get("request")), "tool": str(entry.get("tool")), "by": None if by is None else str(by)}
        self._history.add_decision(**words, approved=approved, reason=str(entry.get("reason") or ""), at=at)


def _describe_answer(entry: Mapping[str, Any]) -> str:
    word = "approved" if entry.get("approved") is True else "denied"
    return word if entry.get("by") is None else f"{word} by {entry['by']}"


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0.0
