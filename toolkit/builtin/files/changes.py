"""
A change to one file. It is shown to a person before it is made, and it is made only to the file that was shown.

A session remembers the digest of each file as it last saw it. A tool that changes a file compares the digest first, so
that it overwrites no content that the model has not seen. A file that the session never read is changed without this
check.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..._plumbing.wording import format_count
from ...access import Reads
from ...approvals.file_diffs import render_diff
from ...approvals.previews import Preview, file_change
from ...context import Context
from ...decisions import Changed
from ...errors import ToolError
from ...session import Session
from ...workspace.space import Workspace
from ..time_limit import TimeLimit, TimeUp
from .encodings import UTF_8, decode_text

__all__ = [
    "apply_change",
    "check_time",
    "check_unchanged",
    "digest",
    "list_reads",
    "preview_change",
    "read_if_exists",
    "remember_digest",
]

_MAX_CHARACTERS = 30_000
_STAMPS_KEY = "toolkit.read_stamps"
_MAX_STAMPS = 10_000


def list_reads(arguments: Mapping[str, Any]) -> list[Reads]:
    """Return what a tool that changes a file reads: the diff shows the content that is replaced."""
    return [Reads(arguments["path"])]


def read_if_exists(workspace: Workspace, path: str) -> bytes | None:
    """Return the content of a file, or None if it does not exist. Raise `ToolError` if it cannot be changed here."""
    try:
        size = workspace.stat(path).size
        if size <= workspace.max_read_bytes:
            return workspace.read(path)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        if isinstance(error.__cause__, NotADirectoryError):
            remedy = "a name on the way to it is a file and no folder; choose another place"
            raise ToolError(f"{workspace.shown(path)} cannot be written: {remedy}") from error
        raise
    raise ToolError(
        f"{workspace.shown(path)} has {format_count(size, 'byte')}, and files of more than "
        f"{workspace.max_read_bytes:,} are not changed here; use a command"
    )


def digest(content: bytes | None) -> str | None:
    """Return the SHA-256 of *content*, or None for a file that does not exist."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def remember_digest(session: Session | None, place: str, sha256: str) -> None:
    """Store that the session has seen the file at *place* with the digest *sha256*."""
    if session is None:
        return
    stamps: dict[str, str] = session.state.setdefault(_STAMPS_KEY, {})
    stamps.pop(place, None)  # so that the oldest stamp comes first
    stamps[place] = sha256
    for oldest in list(stamps)[:-_MAX_STAMPS]:  # a list, because other threads read at the same time
        stamps.pop(oldest, None)


def check_unchanged(workspace: Workspace, path: str, old: bytes | None, context: Context) -> None:
    """Raise `ToolError` if the file has another content than the one that the session has read."""
    stamps: dict[str, str] = {} if context.session is None else context.session.state.get(_STAMPS_KEY, {})
    stamp = stamps.get(workspace.place(path))
    name = workspace.shown(path)
    # A file that is gone holds no content that could be lost.
    if stamp is None and old is not None and len(stamps) >= _MAX_STAMPS:  # its stamp may have been dropped
        raise ToolError(f"{name} is not among the {_MAX_STAMPS:,} files that were read last here; read it first")
    if stamp is not None and old is not None and stamp != digest(old):
        raise ToolError(f"{name} has changed since it was last read here, so nothing was written; read it again first")


def preview_change(workspace: Workspace, path: str, old: bytes | None, new: bytes) -> Preview:
    """Return the preview of the change from *old* to *new*. The file must keep the content *old* until then."""
    name = workspace.shown(path)
    preview = file_change(path, new, root=workspace.root, shown_as=name)
    if any(condition.sha256 != digest(old) for condition in preview.preconditions):
        raise ToolError(f"{name} is being changed by another program; try again")
    before, after = _as_utf_8(old), _as_utf_8(new)
    if (before, after) == (old, new):
        return preview
    return replace(preview, text=f"{preview.text}\nthe same, as text:\n{render_diff(before, after, name)}")


def check_time(time_limit: TimeLimit, name: str) -> None:
    """Raise `ToolError` if the time to change the file called *name* is up, or if the call was cancelled."""
    try:
        time_limit.check()
    except TimeUp:
        raise ToolError(f"the time was up before {name} was changed, so it is as it was; change less at once") from None


def apply_change(
    workspace: Workspace, path: str, old: bytes | None, new: bytes, context: Context, time_limit: TimeLimit
) -> str:
    """
    Change the file from *old* to *new*.

    Return the difference, with notes on folders that had to be made and on a link that was followed.

    Raises:
        Changed: A person agreed to a change of another content than the file has now.
        ToolError: Another program changed the file just now, or the time is up.
    """
    place = workspace.place(path)
    agreed = context.permissions.preconditions
    if agreed and (place, digest(old)) not in [(condition.path, condition.sha256) for condition in agreed]:
        raise Changed(f"{workspace.shown(path)} is not as it was when a person agreed")
    check_time(time_limit, workspace.shown(path))  # the last moment: no file may change after the caller gave up
    try:
        written = workspace.write(path, new, expected=digest(old))
    except Changed as error:
        if agreed:
            raise
        raise ToolError(
            f"{workspace.shown(path)} was changed by another program just now; read it again first"
        ) from error
    remember_digest(context.session, place, str(digest(new)))
    notes = [f"(made folders: {', '.join(written.created_folders)})"] if written.created_folders else []
    if place != os.path.normpath(os.path.join(workspace.root, path)):
        notes.append(f"({workspace.shown(path)} leads to {workspace.shown(place)}, and that file was changed)")
    return "\n".join([_cut_difference(old, new, workspace.shown(path)), *notes])


def _cut_difference(old: bytes | None, new: bytes, name: str) -> str:
    text = render_diff(_as_utf_8(old), _as_utf_8(new), name).removesuffix("\n")
    if len(text) <= _MAX_CHARACTERS:
        return text
    beginning = text[: text.rfind("\n", 0, _MAX_CHARACTERS)]
    more = text.count("\n", len(beginning))
    return f"{beginning}\n... [diff cut: {format_count(more, 'more line')}]"


def _as_utf_8(content: bytes | None) -> bytes | None:
    """Return *content* in UTF-8, as a diff can show it. Content that is no text, and None, are returned as they are."""
    decoding = None if content is None else decode_text(content)
    return content if decoding is None or decoding[1] == UTF_8 else decoding[0].encode()
