"""The open files of this process, for tests of what is left open."""

from __future__ import annotations

import gc
import os

__all__ = ["list_descriptors", "list_new_descriptors"]


def list_descriptors() -> set[str]:
    """Return the numbers of all open files, without those that the garbage of earlier tests keeps open."""
    gc.collect()
    return set(os.listdir("/proc/self/fd"))


def list_new_descriptors(before: set[str]) -> set[str]:
    """Return the numbers of the files that were opened since *before*, and are still open."""
    return set(os.listdir("/proc/self/fd")) - before
