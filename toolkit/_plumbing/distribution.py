"""
The name of this package, and how it is installed, for messages, pages and templates.

The package is not on a package index, and a package of that name on one would be another package. So it is installed
from a checkout. If that changes, `INSTALL` is the constant to change; a test finds each page that says otherwise.
"""

from __future__ import annotations

__all__ = ["DISTRIBUTION", "INSTALL", "INSTALL_PLACE", "install_hint"]

DISTRIBUTION = "pytoolkit"

INSTALL = "pip install '.[{extras}]'"
"""The command that installs the package with some extras."""

INSTALL_PLACE = "in a checkout of toolkit"
"""Where that command is run."""


def install_hint(*extras: str) -> str:
    """Return what a person has to do to have the package with *extras*."""
    return f"run {INSTALL.format(extras=','.join(extras))} {INSTALL_PLACE}"
