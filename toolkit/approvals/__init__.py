"""
Approvals: ways to ask people about calls, and stores for their answers.

    Dispatcher(catalog, approvals=Approvals(SQLiteApprovals("approvals.sqlite")))
    Dispatcher(catalog, approvals=Approvals(ask=TerminalPrompt()))
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from ..decisions import Changed

if TYPE_CHECKING:
    from .askers import Asker, Callback, DenyAll
    from .memory_store import MemoryApprovals
    from .policy import Approvals
    from .postgres_store import PostgresApprovals
    from .previews import Preview, PreviewFailed, combined, file_change, find_changed_paths
    from .records import ApprovalError, Record
    from .sql_store import SQLiteApprovals
    from .store import ApprovalStore, Settlement
    from .terminal.prompt import TerminalPrompt

__all__ = [
    "ApprovalError",
    "ApprovalStore",
    "Approvals",
    "Asker",
    "Callback",
    "Changed",
    "DenyAll",
    "MemoryApprovals",
    "PostgresApprovals",
    "Preview",
    "PreviewFailed",
    "Record",
    "SQLiteApprovals",
    "Settlement",
    "TerminalPrompt",
    "combined",
    "file_change",
    "find_changed_paths",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("Asker", "Callback", "DenyAll"), "askers"),
        **dict.fromkeys(("Preview", "PreviewFailed", "combined", "file_change", "find_changed_paths"), "previews"),
        **dict.fromkeys(("ApprovalError", "Record"), "records"),
        **dict.fromkeys(("ApprovalStore", "Settlement"), "store"),
        "Approvals": "policy",
        "MemoryApprovals": "memory_store",
        "PostgresApprovals": "postgres_store",
        "SQLiteApprovals": "sql_store",
        "TerminalPrompt": "terminal.prompt",
    },
)
