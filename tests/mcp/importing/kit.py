"""The hostile server as a command, and small helpers."""

from __future__ import annotations

import sys
from pathlib import Path

from toolkit.mcp import RemoteServer, ServerLimits

SCRIPT = Path(__file__).with_name("hostile_server.py")


def hostile(mode="", **options):
    """Return the hostile server, which lists its tools as *mode* says."""
    limits = ServerLimits(**{"max_message_bytes": 2_000_000, "wait_initial": 0.01, **options.pop("limits", {})})
    return RemoteServer([sys.executable, "-I", "-S", str(SCRIPT), mode], limits=limits, **options)


def is_alive(pid):
    """Return whether a process has not ended. A process that has ended and is not reaped counts as ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
