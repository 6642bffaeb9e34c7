"""
Asking people: how, and where their answers are kept.

    Dispatcher(catalog, approvals=Approvals(SQLiteApprovals("approvals.sqlite")))
    Dispatcher(catalog, approvals=Approvals(ask=TerminalPrompt()))
"""

from .askers import Asker, Callback, DenyAll, TerminalPrompt
from .memory import MemoryApprovals
from .policy import Approvals
from .previews import Preview, PreviewFailed, combined, file_change, unchanged
from .records import ApprovalError, Record
from .sqlite import SQLiteApprovals
from .stores import ApprovalStore

__all__ = [
    "ApprovalError",
    "ApprovalStore",
    "Approvals",
    "Asker",
    "Callback",
    "DenyAll",
    "MemoryApprovals",
    "Preview",
    "PreviewFailed",
    "Record",
    "SQLiteApprovals",
    "TerminalPrompt",
    "combined",
    "file_change",
    "unchanged",
]
