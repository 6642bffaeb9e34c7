"""The name under which this package is installed, for messages that say which extra to install."""

from __future__ import annotations

__all__ = ["DISTRIBUTION"]

DISTRIBUTION = "pytoolkit"
