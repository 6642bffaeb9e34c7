"""
What a session has read: the digest of each file as the session last saw it.

A tool that changes a file compares the digest first, so that it overwrites no content that the model has not seen. A
file that the session never read has no stamp and is changed without this check.
"""

from __future__ import annotations

import hashlib
import os

from ...errors import ToolError
from ...session import Session

__all__ = ["check_seen", "digest", "remember_digest", "resolve_path"]

_STATE_KEY = "toolkit.read_stamps"
_MAX_STAMPS = 10_000


def resolve_path(root: str, path: str) -> str:
    """Return the one real path of the file that *path* leads to. Stamps and preconditions use this path as the key."""
    try:
        return os.path.realpath(os.path.join(root, path))
    except OSError as error:  # a link was replaced between two lookups
        raise ToolError(f"{path!r} was moved while it was looked for ({error.strerror}); call it again") from error


def digest(content: bytes | None) -> str | None:
    """Return the SHA-256 of *content*, or None for a file that does not exist."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def remember_digest(session: Session | None, place: str, sha256: str) -> None:
    """Store that the session has seen the file at *place* with the digest *sha256*."""
    if session is None:
        return
    stamps = _stamps(session)
    stamps.pop(place, None)  # so that the oldest stamp comes first
    stamps[place] = sha256
    if len(stamps) > _MAX_STAMPS:
        for oldest in list(stamps)[:-_MAX_STAMPS]:  # a list, because other threads read at the same time
            stamps.pop(oldest, None)


def check_seen(session: Session | None, place: str, sha256: str | None, name: str) -> None:
    """Raise `ToolError` if the session saw the file at *place* with another digest than *sha256*, its digest now."""
    stamp = None if session is None else _stamps(session).get(place)
    # A file that is gone holds no content that could be lost.
    if stamp is not None and sha256 is not None and stamp != sha256:
        raise ToolError(f"{name} has changed since it was last read here, so nothing was written; read it again first")


def _stamps(session: Session) -> dict[str, str]:
    stamps: dict[str, str] = session.state.setdefault(_STATE_KEY, {})
    return stamps
