"""Say what is wrong with a SQLite file, and what to do about it."""

from __future__ import annotations

import sqlite3

from .private_files import UnsafeFileError

__all__ = ["FILE_ERRORS", "explain_file_error"]

FILE_ERRORS = (sqlite3.Error, OSError, UnicodeDecodeError, UnsafeFileError)
"""What the use of a SQLite file may raise."""

_BUSY = "is busy: other processes have been writing for too long; {busy}"
_PROBLEMS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room",
    sqlite3.SQLITE_READONLY: "cannot be written; check it, its folder, and files beside it that have its name",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check its folder and the file system",
    sqlite3.SQLITE_IOERR: "cannot be read or written ({error}); check the disk",
    sqlite3.SQLITE_NOTADB: "is not a SQLite file, or damaged; {damaged}",
    sqlite3.SQLITE_CORRUPT: "is damaged ({error}); {damaged}",
}


def explain_file_error(error: Exception, *, if_busy: str, if_damaged: str) -> str:
    """
    Return what *error* says about the file, for a sentence that begins with "the file".

    Args:
        error: One of `FILE_ERRORS`.
        if_busy: What to do if others write for too long.
        if_damaged: What to do with a damaged file.
    """
    match error:
        case sqlite3.Error():
            # The last byte of an extended error code is the plain code.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            problem = _PROBLEMS.get(code, "cannot be used: {error}")
            return problem.format(error=error, busy=if_busy, damaged=if_damaged)
        case OSError():
            return f"cannot be used: {error.strerror or error}; check the path and its folder"
        case UnicodeDecodeError():
            # SQLite quotes the file in its messages, and damaged content need not be text.
            return f"is damaged; {if_damaged}"
        case _:
            return str(error)
