"""
Addresses of databases: a file of SQLite with an absolute path, or a server of PostgreSQL.
"""

from __future__ import annotations

import os
import re

from .errors import DurableError

__all__ = ["find_sqlite_path", "hide_password", "resolve_address"]

_SQLITE = "sqlite:///"
# The password of an address may stand before the host, or among the options. The last @ ends the first of them, which
# may have a slash or a question mark that should have been escaped. A number is the port of a host.
_PASSWORD = re.compile(
    r"(?<=://)([^/?#:@]*):(?:[^?]*|(?!\d*[/?#]).*)(?=@)|((?:[?&]|^|\s)password=)[^&\s]*", re.IGNORECASE
)


def resolve_address(database: str) -> str:
    """Return *database* as the journal, the engine and the approvals read it: the path of a file is absolute in it."""
    if not isinstance(database, str) or "://" not in database:
        raise DurableError(
            f'a database is given by its address, such as "sqlite:///runs.sqlite" or "postgresql://host/name"; got '
            f"{hide_password(str(database))!r:.80}",
            why="store",
        )
    path = find_sqlite_path(database)
    if path is not None:
        return f"{_SQLITE}{os.path.abspath(path)}"
    scheme, _, rest = database.partition("://")
    # Others write the driver into the address, or the short name.
    return f"postgresql://{rest}" if scheme.partition("+")[0] in ("postgres", "postgresql") else database


def find_sqlite_path(database: str) -> str | None:
    """Return the path of the file, if *database* is the address of one."""
    path = database.removeprefix(_SQLITE)
    return path if path != database and path not in ("", ":memory:") else None


def hide_password(database: str) -> str:
    """Return the address *database* without its password, for people."""
    return _PASSWORD.sub(lambda match: f"{match[1]}:***" if match[2] is None else f"{match[2]}***", database)
