"""A small program to edit."""

from __future__ import annotations

__all__ = ["CODE"]

CODE = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
