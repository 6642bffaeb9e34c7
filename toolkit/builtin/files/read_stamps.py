"""
What a session has read: the digest of each file as it saw it last.

Whoever changes a file compares first, so that nothing is overwritten that the model has not seen.
A file that the session never read has no stamp, and is changed as it is.
"""

from __future__ import annotations

import hashlib
import os

from ...errors import ToolError
from ...session import Session

__all__ = ["check_seen", "digest", "remember", "where"]

_KEY = "toolkit.read_stamps"
_MOST = 10_000


def where(root: str, path: str) -> str:
    """The one name of the file that *path* leads to: what stamps and preconditions go by."""
    try:
        return os.path.realpath(os.path.join(root, path))
    except OSError as error:  # a link became something else between two looks
        raise ToolError(f"{path!r} was moved while it was looked for ({error.strerror}); call it again") from error


def digest(content: bytes | None) -> str | None:
    """The SHA-256 of *content*; None for a file that is not there."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def remember(session: Session | None, place: str, sha256: str) -> None:
    """Keep that the session has seen the file at *place* like this."""
    if session is None:
        return
    stamps = _stamps(session)
    stamps.pop(place, None)  # so that the oldest stands first
    stamps[place] = sha256
    if len(stamps) > _MOST:
        for oldest in list(stamps)[:-_MOST]:  # a list, because other threads read at the same time
            stamps.pop(oldest, None)


def check_seen(session: Session | None, place: str, sha256: str | None, shown: str) -> None:
    """Raise `ToolError` if the session has seen the file at *place* otherwise than *sha256* says it is now."""
    stamp = None if session is None else _stamps(session).get(place)
    # A file that is gone holds nothing that could be lost.
    if stamp is not None and sha256 is not None and stamp != sha256:
        raise ToolError(f"{shown} has changed since it was last read here, so nothing was written; read it again first")


def _stamps(session: Session) -> dict[str, str]:
    stamps: dict[str, str] = session.state.setdefault(_KEY, {})
    return stamps
