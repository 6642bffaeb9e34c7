"""The search for a program that the sandbox is going to trust."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

__all__ = ["find_trusted_program"]


def find_trusted_program(name: str, folders: Sequence[str], path: str | None = None) -> str | None:
    """
    Return the full path of the program *name*, or None if there is none.

    A program in *folders* does not count, because a tool may have put it there.
    """
    location = shutil.which(name, path=path)
    if location is None or not os.path.isabs(location):
        return None
    real = os.path.realpath(location)
    inside = [top for top in folders for candidate in (location, real) if candidate.startswith(top.rstrip("/") + "/")]
    return None if inside else real
