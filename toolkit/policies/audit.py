"""
The audit log: the decisions about calls and their outcomes, one JSON object in each line.

Lines are only added, never changed, and each is written whole. Any number of
threads and processes can write at the same time; see `LineFile`. If a line cannot be
written, `AuditError` is raised, and the caller must not do what it wanted to record.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from .._plumbing.line_files import LineFile
from ..errors import ToolkitError
from ..values.rendering import as_json, is_strict_json
from .redaction import Redaction, RedactionRule

__all__ = ["AuditError", "AuditLog", "decode_line", "encode_line"]

_log = logging.getLogger("toolkit")

_VERSION = 1
_SYNCED_EVENTS = frozenset({"intent"})
_RESERVED_FIELDS = frozenset({"version", "at", "event"})
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class AuditError(ToolkitError):
    """The audit log could not be written, so the action that it was to record must not happen."""


class AuditLog:
    """
    An append-only file of JSON lines, which only its owner can read.

    Args:
        path: The file. It is created with mode 0600 if it does not exist. A symbolic link is refused.
        redact: The rules for masking, as for a dispatcher: texts, patterns or functions.
        sync: Whether an "intent" line is synced to the disk before `write` returns.
        clock: A function that returns the seconds since 1970.
        wait_seconds: The longest wait for another writer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Sequence[RedactionRule] = (),
        sync: bool = True,
        clock: Callable[[], float] = time.time,
        wait_seconds: float = 10.0,
    ) -> None:
        self._redaction = Redaction(redact)
        self._sync = sync
        self._clock = clock
        self._is_closed = False
        self._path = os.path.abspath(path)
        with self._raise_audit_errors():
            self._file = LineFile(path, syncs_folder=sync, wait_seconds=wait_seconds)

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._path

    def write(self, event: str, /, **fields: Any) -> None:
        """
        Add one line: the version, the time, *event* ("verdict", "asked", "answered", "intent", "outcome") and *fields*.

        Raises:
            AuditError: The whole line could not be written.
            ValueError: A field has a name that the log itself uses.
        """
        if reserved_names := _RESERVED_FIELDS & fields.keys():
            raise ValueError(
                f"an audit line has its own {', '.join(sorted(reserved_names))}; give the field another name"
            )
        with self._raise_audit_errors():
            if self._is_closed:
                raise ValueError("it is closed")
            masked_fields = self._redaction.mask_value(fields) if self._redaction else fields
            text = encode_line({"version": _VERSION, "at": self._clock(), "event": event, **masked_fields})
            self._file.append(text.encode("ascii"), sync=self._sync and event in _SYNCED_EVENTS)

    def close(self) -> None:
        """Refuse further lines. The file is not open between two lines, so nothing is lost without this call."""
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
        """
        Yield the lines of a log, the oldest first.

        A line that cannot be read is yielded as `{"event": "unreadable", "line": 3, "bytes": ..., "reason": ...}`. A
        last line that was not finished, as after a crash, is left out with a warning to the logger "toolkit".
        """
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                entry = decode_line(line)
                if isinstance(entry, dict):
                    yield entry
                elif line.endswith(b"\n"):
                    yield {"event": "unreadable", "line": number, "bytes": len(line), "reason": entry}
                else:
                    _log.warning("the last line of %s is torn after %d bytes; it is left out", path, len(line))

    @contextlib.contextmanager
    def _raise_audit_errors(self) -> Iterator[None]:
        """Raise `AuditError` for every exception in the block: the line counts as not written."""
        try:
            yield
        except Exception as error:
            raise AuditError(f"the audit log {self._path} cannot be written: {error}") from error


def encode_line(line: dict[str, Any]) -> str:
    """Return *line* as JSON in ASCII, so that no value can add a line feed, and a single surrogate is kept."""
    try:
        if is_strict_json(line):
            return _ENCODER.encode(line)
    except (TypeError, ValueError, RecursionError):
        pass  # it has a cycle or a NaN, or is nested too deeply
    return _ENCODER.encode(as_json(line))


def decode_line(line: bytes) -> dict[str, Any] | str:
    """Return the object in *line*, or the reason why it cannot be read."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(entry, dict):
        return "not a JSON object"
    version = entry.get("version")
    return entry if version == _VERSION else f"version {version!r}, and only {_VERSION} can be read"
