"""
The whole texts of results that were cut, kept in their session, so that the model can read on where a text was cut.

A text is kept under a handle, after secrets in it were masked. A handle means something only in its own session: the
texts are in `session.state`, so they end with the session, and a saved session does not have them. If calls of several
principals share a session, each principal can read only what its own calls have returned. What one session
keeps is limited, and so is what all sessions of the process keep together; the text that was used longest ago is
dropped first.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import NamedTuple

from .._plumbing.forks import unlock_in_children
from ..catalogs.snapshot import Table
from ..permissions.judgement import CallJudges
from ..session import Session
from ..spec import Tool

__all__ = [
    "MAX_PAGE_CHARS",
    "READER_KEY",
    "KeptOutput",
    "KeptOutputReader",
    "OutputMemory",
    "find_output_reader",
    "forget_outputs",
    "is_output_reader",
    "keep_no_outputs",
    "output_memory",
]

READER_KEY = "toolkit.reads_outputs"
"""The key in the metadata of a tool that reads kept outputs."""

MAX_PAGE_CHARS = 50_000
"""The length of the longest page of an output."""

_NOTE_CHARS = 200
_MIN_PAGE_CHARS = 100
_STATE_KEY = "toolkit.kept_outputs"
_MAX_SESSION_BYTES = 16_000_000
_MAX_BYTES = 256_000_000
_MAX_OUTPUTS = 200


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """
    The text of a result that was cut.

    Attributes:
        handle: The name by which the model asks for the text.
        text: The text, or its beginning if the whole text is larger than one session may keep.
        tool: The name of the tool that returned it.
        max_chars: How many characters a result of that tool may have, and a page of the text with it.
        total_chars: The length of the whole text.
    """

    handle: str
    text: str
    tool: str
    max_chars: int
    total_chars: int

    @property
    def page_chars(self) -> int:
        """The length of a page. With a note it is not longer than a result of the tool may be."""
        return max(_MIN_PAGE_CHARS, min(self.max_chars - _NOTE_CHARS, MAX_PAGE_CHARS))


class _KeptEntry(NamedTuple):
    output: KeptOutput
    size_bytes: int
    last_use: int


class SessionOutputs:
    """The outputs that one session keeps, in the order of their last use."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str | None, str], _KeptEntry] = {}  # by principal and handle

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries.values())

    def drop_oldest(self) -> None:
        del self.entries[next(iter(self.entries))]


class OutputMemory:
    """
    The limits for the outputs of all sessions, and the operations on them. Any thread may use it.

    Args:
        max_session_bytes: How much memory the outputs of one session may take.
        max_bytes: How much memory the outputs of all sessions may take together.
    """

    def __init__(self, *, max_session_bytes: int = _MAX_SESSION_BYTES, max_bytes: int = _MAX_BYTES) -> None:
        self._max_session_bytes = max_session_bytes
        self._max_bytes = max_bytes
        self._uses = itertools.count()
        self._lock = unlock_in_children(threading.Lock())
        # The sessions own their outputs. If this held them, they would outlive their session.
        self._stores: weakref.WeakSet[SessionOutputs] = weakref.WeakSet()

    @property
    def size_bytes(self) -> int:
        """How much memory the outputs of all sessions take."""
        with self._lock:
            return sum(store.size_bytes for store in self._stores)

    def keep(self, session: Session, text: str, *, tool: str, max_chars: int, principal: str | None = None) -> str:
        """
        Keep *text*, a result of *tool* that was cut to *max_chars* characters, and return its handle.

        *principal* is that of the call, and only calls of the same one find the text. Without it, it is that of
        *session*.
        """
        principal = principal or session.principal
        kept_text, total_chars = self._shorten(text), len(text)
        # The handle is made from the text. So a handle from before the session was saved never means another text.
        digest = hashlib.blake2b(kept_text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
        with self._lock:
            store = self._open_store(session)
            handle = f"output_{digest[:12]}"
            entry = store.entries.get((principal, handle))
            if entry is not None and entry.output.text != kept_text:
                handle = f"output_{digest}"
            store.entries.pop((principal, handle), None)
            output = KeptOutput(handle, kept_text, tool, max_chars, total_chars)
            store.entries[principal, handle] = _KeptEntry(output, sys.getsizeof(kept_text), next(self._uses))
            self._drop_excess(store)
        return handle

    def find(self, session: Session | None, handle: str, principal: str | None = None) -> KeptOutput | None:
        """Return the output that *session* keeps for *principal* under *handle*, or None if it keeps none."""
        store = None if session is None else session.state.get(_STATE_KEY)
        if session is None or not isinstance(store, SessionOutputs):
            return None
        key = principal or session.principal, handle
        with self._lock:
            entry = store.entries.pop(key, None)
            if entry is None:
                return None
            store.entries[key] = entry._replace(last_use=next(self._uses))
            return entry.output

    def list_outputs(self, session: Session) -> list[tuple[str | None, KeptOutput]]:
        """Return the outputs that *session* keeps, each with its principal, in the order of their last use."""
        store = session.state.get(_STATE_KEY)
        with self._lock:
            entries = store.entries if isinstance(store, SessionOutputs) else {}
            return [(principal, entry.output) for (principal, _), entry in entries.items()]

    def restore(self, session: Session, output: KeptOutput, principal: str | None) -> None:
        """Keep *output*, which *session* kept in another process."""
        with self._lock:
            store = self._open_store(session)
            entry = _KeptEntry(output, sys.getsizeof(output.text), next(self._uses))
            store.entries[principal, output.handle] = entry
            self._drop_excess(store)

    def _open_store(self, session: Session) -> SessionOutputs:
        """Return the outputs of *session*. The caller holds the lock."""
        store = session.state.get(_STATE_KEY)
        if not isinstance(store, SessionOutputs):
            store = session.state[_STATE_KEY] = SessionOutputs()
        self._stores.add(store)
        return store

    def _shorten(self, text: str) -> str:
        """Return *text*, or as much of its beginning as one session may keep."""
        size_bytes = sys.getsizeof(text)
        max_bytes = min(self._max_session_bytes, self._max_bytes)
        if size_bytes <= max_bytes:
            return text
        # A text takes 1, 2 or 4 bytes for each of its characters, and fewer than 100 for the object itself.
        bytes_per_char = next(width for width in (4, 2, 1) if size_bytes >= width * len(text))
        return text[: max(0, max_bytes - 100) // bytes_per_char]

    def _drop_excess(self, store: SessionOutputs) -> None:
        """Drop outputs of *store*, and then of any session, until all limits hold. The newest output stays."""
        while len(store.entries) > 1 and (
            len(store.entries) > _MAX_OUTPUTS or store.size_bytes > self._max_session_bytes
        ):
            store.drop_oldest()
        while sum(one_store.size_bytes for one_store in self._stores) > self._max_bytes:
            candidates = [one_store for one_store in self._stores if one_store.entries]
            if sum(len(one_store.entries) for one_store in candidates) < 2:
                break
            min(candidates, key=lambda one_store: next(iter(one_store.entries.values())).last_use).drop_oldest()


output_memory = OutputMemory()
"""The memory of this process. It is one for all dispatchers, because the limit is about the process."""


def forget_outputs(session: Session) -> None:
    """Forget the results that *session* keeps to be read. The end of the session does the same."""
    session.state.pop(_STATE_KEY, None)


def is_output_reader(tool: Tool) -> bool:
    """Return whether *tool* says that it reads kept outputs, as `read_output` does."""
    return bool((tool.facts.metadata or {}).get(READER_KEY))


class KeptOutputReader(NamedTuple):
    """The tool by which a session can read kept outputs, the session, and the principal of the call."""

    tool: Tool
    session: Session
    principal: str | None

    def keep(self, text: str, *, tool: str, max_chars: int) -> str:
        """Keep *text* as `OutputMemory.keep` does, and return its handle. From now on the model is offered the tool."""
        if self.tool.facts.defer:
            self.session.load(self.tool.name)
        return output_memory.keep(self.session, text, tool=tool, max_chars=max_chars, principal=self.principal)

    def call_text(self, handle: str, offset: int | str = 0) -> str:
        """Return the call that reads the output from *offset* on, as the model would write it."""
        place = f", offset={offset}" if offset else ""
        return f'{self.tool.name}(handle="{handle}"{place})'


def keep_no_outputs(session: Session) -> None:
    """Keep no results in *session*, because no later call will have it."""
    session.state[_STATE_KEY] = None


def find_output_reader(
    table: Table, judges: CallJudges, session: Session | None, principal: str | None = None
) -> KeptOutputReader | None:
    """Return the tool of *table* by which *session* may read kept outputs; None if there is none."""
    if session is None or session.state.get(_STATE_KEY, "") is None:
        return None
    readers = (tool for tool in table.tools.values() if is_output_reader(tool))
    permitted = (tool for tool in readers if judges.visibility.could_allow(tool, table.names_of(tool), session))
    tool = next(permitted, None)
    return None if tool is None else KeptOutputReader(tool, session, principal)
