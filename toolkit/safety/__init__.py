"""
Safety checks on what a call is about to touch (`checks`): paths, protected files, commands, hosts.
"""

from __future__ import annotations

from .checks import Check, SafetyChecks

__all__ = ["Check", "SafetyChecks"]
