"""
The tools `remember`, `recall` and `forget`, with which a model keeps notes from one conversation to the next.

The notes belong to the principal of the call. No argument of a model chooses another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from ...approvals.previews import Preview
from ...catalogs.search import Document, Index
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError, find_nearest
from ...policies.secret_patterns import find_secret
from ...results import ToolCall
from ...spec import Tool
from .memory_folder import MemoryFolder
from .notes import MemoryNote, MemoryStore, check_note_name

__all__ = ["memory_tools"]

T = TypeVar("T")

_METHODS = ("notes", "save", "delete")
_MAX_FOUND = 20
_MAX_LISTED = 200
_MAX_ANSWER_CHARS = 30_000
_MAX_LINE_CHARS = 120


def memory_tools(store: MemoryStore | str | os.PathLike[str], *, allow_secrets: bool = False) -> list[Tool]:
    """
    Return the tools `remember`, `recall` and `forget` over *store*: `Catalog(*memory_tools("~/.agent/notes"))`.

    Args:
        store: An object with the methods of `MemoryStore`, or the path of a folder for Markdown files.
        allow_secrets: Whether a note may hold what looks like a password or a key. By default it is refused.
    """
    place = MemoryFolder(store) if isinstance(store, (str, os.PathLike)) else store
    missing = [name for name in _METHODS if not callable(getattr(place, name, None))]
    if isinstance(place, type) or missing:
        raise TypeError(
            f"memory_tools wants the path of a folder, or an object with the methods {', '.join(_METHODS)}; "
            f"got {place!r}"
        )
    return [_remember_for(place, allow_secrets=allow_secrets), _recall_for(place), _forget_for(place)]


def _remember_for(store: MemoryStore, *, allow_secrets: bool) -> Tool:
    @tool(
        catalog=None,
        idempotent=True,
        group="memory",
        search_hint="memory note save keep store preference fact for later",
        validate=lambda arguments: _find_problems(arguments, allow_secrets=allow_secrets),
        preview=partial(_preview_note, store),
        summary=lambda arguments: f"remember {arguments['name']}",
    )
    def remember(name: str, text: str, *, context: Context) -> str:
        """Write a note that you can recall in later conversations, or replace the note of that name.

        Keep one subject in a note. Write what will still be true and useful: preferences, decisions, how things
        are done here. Do not write passwords or keys.

        Args:
            name: A short name, such as `tea-preferences`: a-z, 0-9, - and _.
            text: The whole note, in Markdown.
        """
        if problems := _find_problems({"name": name, "text": text}, allow_secrets=allow_secrets):
            raise BadArgs(problems)
        is_new = _find_note(store, context.call.principal, name) is None
        _use(lambda: store.save(context.call.principal, MemoryNote(name=name, text=text)))
        return f"{'Wrote' if is_new else 'Replaced'} the note `{name}`"

    return Tool.of(remember)


def _recall_for(store: MemoryStore) -> Tool:
    @tool(
        catalog=None,
        read_only=True,
        group="memory",
        search_hint="memory notes find search read earlier conversation preference fact",
        summary=lambda arguments: f"recall {arguments['query'] or 'all notes'}",
    )
    def recall(*, query: str | None = None, limit: int = 5, context: Context) -> str:
        """Read the notes from earlier conversations that fit some words, the best first.

        Args:
            query: What the notes are about, or the name of one; without it, all notes are listed by name.
            limit: How many notes to show, at most 20.
        """
        if not 1 <= limit <= _MAX_FOUND:
            raise BadArgs([Problem(f"has to be from 1 to {_MAX_FOUND}, got {limit}", ["limit"])])
        notes = _load(store, context.call.principal)
        if not notes:
            return "(no notes)"
        if query is None or not query.strip():
            return _list_notes(notes)
        index = Index(Document(name=note.name, description=note.text) for note in notes)
        hits = index.search(query, limit)
        if not hits:
            return f"(no note fits)\nnotes: {_join_names([note.name for note in notes])}"
        by_name = {note.name: note for note in notes}
        return _render_notes([by_name[hit.name] for hit in hits])

    return Tool.of(recall)


def _forget_for(store: MemoryStore) -> Tool:
    @tool(
        catalog=None,
        destructive=True,
        group="memory",
        search_hint="memory note delete remove erase",
        validate=lambda arguments: _find_problems(arguments, allow_secrets=True),
        preview=partial(_preview_loss, store),
        summary=lambda arguments: f"forget {arguments['name']}",
    )
    def forget(name: str, *, context: Context) -> str:
        """Delete a note. It cannot be brought back.

        Args:
            name: Its name, as `recall` shows it.
        """
        principal = context.call.principal
        if not _use(lambda: store.delete(principal, check_note_name(name))):
            names = [note.name for note in _load(store, principal)]
            near = find_nearest(name, names, max_items=1)
            hint = f"did you mean `{near[0]}`?" if near else f"notes: {_join_names(names)}"
            raise ToolError(f"there is no note `{name}`; {hint}")
        return f"Deleted the note `{name}`"

    return Tool.of(forget)


def _find_problems(arguments: Any, *, allow_secrets: bool) -> list[Problem]:
    problems: list[Problem] = []
    try:
        check_note_name(arguments["name"])
    except BadArgs as error:
        problems += error.problems
    text = arguments.get("text", "x")
    if not text.strip():
        problems.append(Problem("is empty; write the note, or use `forget` to delete it", ["text"]))
    kind = None if allow_secrets else find_secret(text)
    if kind is not None:
        problems.append(
            Problem(f"looks as if it held {kind}, which no note should; say where it is kept instead", ["text"])
        )
    return problems


def _preview_note(store: MemoryStore, arguments: Any, call: ToolCall | None = None) -> Preview:
    """Return what a person sees before they agree: the note, and whether it replaces one."""
    name, principal = arguments["name"], None if call is None else call.principal
    old = _find_note(store, principal, name)
    title = f"a new note `{name}`:" if old is None else f"the note `{name}`, in place of the one below:"
    below = "" if old is None else f"\n\nwas:\n{old.text}"
    return Preview(text=f"{title}\n{arguments['text']}{below}")


def _preview_loss(store: MemoryStore, arguments: Any, call: ToolCall | None = None) -> Preview:
    """Return what a person sees before they agree: the note that would be lost."""
    old = _find_note(store, None if call is None else call.principal, arguments["name"])
    return Preview(text=f"delete the note `{arguments['name']}`:\n{'(there is none)' if old is None else old.text}")


def _use(work: Callable[[], T]) -> T:
    """Return what *work* in the store returns. A failure of the system becomes a `ToolError` without paths."""
    try:
        return work()
    except OSError as error:
        raise ToolError(f"the notes cannot be reached: {error.strerror or type(error).__name__}") from error


def _load(store: MemoryStore, principal: str | None) -> Sequence[MemoryNote]:
    return _use(lambda: store.notes(principal))


def _find_note(store: MemoryStore, principal: str | None, name: str) -> MemoryNote | None:
    return next((note for note in _load(store, principal) if note.name == name), None)


def _list_notes(notes: Sequence[MemoryNote]) -> str:
    """Return one line for each note, the one that was changed last first."""
    latest_first = sorted(notes, key=lambda note: (-(note.changed_at or 0.0), note.name))
    lines = [f"{note.name}{_describe_day(note)}: {_first_line(note)}" for note in latest_first[:_MAX_LISTED]]
    more = len(notes) - _MAX_LISTED
    return "\n".join([*lines, f"(and {more} more; find them by words)"] if more > 0 else lines)


def _render_notes(notes: Sequence[MemoryNote]) -> str:
    """Return the texts of *notes*, as many as fit. The last lines name the others."""
    parts: list[str] = []
    left = _MAX_ANSWER_CHARS
    for note in notes:
        part = f"## {note.name}{_describe_day(note)}\n{note.text.strip()}"
        if len(part) > left and parts:
            break
        parts.append(part[:left])
        left -= len(part)
    left_out = [note.name for note in notes[len(parts) :]]
    if left_out:
        parts.append(f"(too long to show here: {_join_names(left_out)})")
    return "\n\n".join(parts)


def _describe_day(note: MemoryNote) -> str:
    return "" if note.changed_at is None else f" ({datetime.fromtimestamp(note.changed_at, UTC):%Y-%m-%d})"


def _first_line(note: MemoryNote) -> str:
    line = next((line.strip("# ").strip() for line in note.text.splitlines() if line.strip("# ").strip()), "(empty)")
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 3]}..."


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_LISTED])
    return (shown or "none") + (f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else "")
