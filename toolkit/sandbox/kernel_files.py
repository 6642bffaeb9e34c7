"""
The files of the kernel that a command must neither write nor read.

For many files in `/proc`, the kernel checks only the user: a process of root may write them, even in a user namespace
and without any capability. One of them, `/proc/sys/kernel/core_pattern`, names a program that the kernel starts outside
of every sandbox. So all of `/proc` is mounted read-only, and the files that only root may read are covered as well.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

__all__ = ["DEVICES", "list_masked_files", "mask_kernel_files"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""The host's devices that bubblewrap shows to a command. Their modes are the host's modes, too."""

# The files that container runtimes mask, although every user may read them.
_MASKED_FILES = ("kcore", "keys", "key-users", "latency_stats", "sched_debug", "timer_list", "timer_stats", "vmcore")
_MASKED_FOLDERS = ("acpi", "asound", "scsi")


def list_masked_files(proc: str = "/proc") -> list[str]:
    """Return the files of *proc* that only root may read, and those that container runtimes mask."""
    paths = []
    with os.scandir(proc) as entries:
        for entry in entries:
            if entry.name.isdigit() or not entry.is_file(follow_symlinks=False):
                continue
            if entry.name in _MASKED_FILES or not entry.stat().st_mode & stat.S_IROTH:
                paths.append(entry.path)
    return sorted(paths)


def mask_kernel_files() -> Iterator[str]:
    """Yield the options of bubblewrap that make its new `/proc` and `/dev` read-only, and cover parts of `/proc`."""
    for path in list_masked_files():
        yield from ("--ro-bind", "/dev/null", path)
    for name in _MASKED_FOLDERS:
        if os.path.isdir(path := f"/proc/{name}"):
            yield from ("--perms", "0555", "--tmpfs", path, "--remount-ro", path)
    yield from ("--remount-ro", "/proc", "--remount-ro", "/dev")
