"""Messages that explain the system's errors to the reader of a result."""

from __future__ import annotations

import errno
import os

from ..errors import ToolError
from ..safety.paths import quote_path

__all__ = ["explain_os_error"]


def explain_os_error(error: OSError, path: str, *, doing: str, after: str = "") -> ToolError:
    """
    Return *error* in words: which path it is about, what was tried (*doing*), why it failed and what would help.

    *after* is a fact that still holds: "the file is as it was".
    """
    words = _MESSAGES.get(error.errno or 0)
    if words is None:
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        words = f"cannot be {doing}: {os.strerror(error.errno) if error.errno else error} ({name})"
    text = f"{quote_path(path)} {words.format(doing=doing)}"
    return ToolError(f"{text}; {after}" if after else text)


_MESSAGES = {
    errno.ENOENT: "does not exist; look at what is there first",
    errno.ENOTDIR: "cannot be {doing}: it, or a name on the way to it, is not a folder; look at what is there first",
    errno.EISDIR: "is a folder; name a file in it",
    errno.EACCES: "cannot be {doing}: this user has no right to; choose another file, or ask a person",
    errno.EPERM: "cannot be {doing}: the system does not permit it; choose another file, or ask a person",
    errno.ENXIO: "is a socket or a device; only files can be read or written",
    errno.ENODEV: "is a device; only files can be read or written",
    errno.ENAMETOOLONG: "is too long for a path; shorten it",
    errno.ENOSPC: "cannot be {doing}: the disk is full; free some space",
    errno.EDQUOT: "cannot be {doing}: the user's share of the disk is used up; free some space",
    errno.EFBIG: "cannot be {doing}: it would be larger than a file may be; write less",
    errno.EROFS: "cannot be {doing}: the disk is only read; choose another place",
    errno.EIO: "cannot be {doing}: the disk failed; ask a person to look at it",
    errno.ESTALE: "cannot be {doing}: another program replaced it meanwhile; try again",
    errno.EAGAIN: "cannot be {doing}: another program keeps changing it or holds it; try again later",
    errno.EMFILE: "cannot be {doing}: too many files are open here; try again later",
    errno.ENFILE: "cannot be {doing}: too many files are open on this machine; try again later",
}
