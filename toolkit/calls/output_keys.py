"""
The names under which kept outputs are noted. This module is small, because few calls need more about kept outputs.
"""

from __future__ import annotations

__all__ = ["FORGOTTEN_KEY", "HANDLE_KEY"]

HANDLE_KEY = "output_handle"
"""The key in the metadata of a result whose whole text is kept."""

FORGOTTEN_KEY = "toolkit.forgotten_outputs"
"""The key in the state of a session that counts how often the session has forgotten its outputs."""
