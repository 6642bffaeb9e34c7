"""
A base class for stores that keep each record as a row of a database: its id, its state and its text.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Collection, Iterable
from types import EllipsisType
from typing import Any

from ..decisions import ApprovalRequest
from .records import ApprovalError, Record, load_record
from .store import ApprovalStoreBase, is_pending

__all__ = ["StoredRows", "build_row_key", "check_is_new"]

_log = logging.getLogger("toolkit")

_ROW_REMEDY = "restore it from a copy, or move it away and ask again"


class StoredRows(ApprovalStoreBase):
    """A store whose rows are checked as they are read: others may have changed or damaged them."""

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """
        Return the requests that can still be answered *now*, the oldest first.

        A record with a wrong signature is logged and left out.
        """
        now = time.time() if now is None else now
        records = filter(None, (self._read_for_list(*row) for row in self._find_pending_rows()))
        return [record.request for record in records if is_pending(record, session, principal, now)]

    @abstractmethod
    def _find_pending_rows(self) -> Iterable[tuple[Any, Any, Any]]:
        """Return the key, the state and the text of each record that is pending, the oldest first."""

    @abstractmethod
    def _error(self, problem: str) -> ApprovalError:
        """Return the error for a *problem* of the database, such as "is damaged"."""

    def _select_keys(self, rows: Iterable[tuple[Any, Any, Any]], sessions: Collection[str]) -> list[Any]:
        """Return the keys of those of *rows* whose records belong to one of *sessions*."""
        wanted = frozenset(sessions)
        records = ((row[0], self._read_for_list(*row)) for row in rows)
        return [key for key, record in records if record is not None and record.request.session in wanted]

    def _read_row(self, key: Any, state: Any, text: Any) -> Record:
        try:
            record = load_record(text)
        except ValueError as error:
            raise self._error(f"holds a record that cannot be read ({error}); {_ROW_REMEDY}") from error
        if build_row_key(record.request.id) != key:
            raise self._error(f"holds a record under another's id; {_ROW_REMEDY}")
        if record.state != state:
            raise self._error(f"holds a record in another state than its own; {_ROW_REMEDY}")
        return self._verify(record)

    def _read_for_list(self, key: Any, state: Any, text: Any) -> Record | None:
        """
        Return a record for a list; return None if its signature is wrong.

        A record that others wrote is left out, so that it does not hide the other records.
        """
        try:
            return self._read_row(key, state, text)
        except ApprovalError as error:
            if error.why != "forged":
                raise
            _log.warning("a record is left out: %s", error)
            return None


def build_row_key(text: str) -> bytes:
    """Return the key of a row: bytes, so that ids are compared exactly and any text can be looked up."""
    return text.encode(errors="surrogatepass")


def check_is_new(record: Record, known: Record | None) -> None:
    """Raise `ValueError` unless *record* is pending and there is no record with its id."""
    if record.state != "pending":
        raise ValueError(f"only a pending request can be added; this one is {record.state}")
    if known is not None:
        raise ValueError(f"there is a request {record.request.id!r} already")
