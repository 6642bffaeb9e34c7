"""
Steps: what was done, so that it is not done twice.

Agents and flows ask their `Steps` before they do something. `toolkit.durable` keeps steps in a database.
"""

from __future__ import annotations

from .base import Steps
from .records import dump_call, dump_reply, load_call, load_reply
from .session_changes import read_state

__all__ = ["Steps", "dump_call", "dump_reply", "load_call", "load_reply", "read_state"]
