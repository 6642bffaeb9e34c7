"""
Who is running an approved call, told so that another process can see whether they still live.

A process is known by the kernel it runs on, its number, and the moment it
began, because numbers are used again. "Dead" is only said of what certainly
is: a call whose owner may live is never taken over.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import secrets

from ..values.strictjson.canonical import digest

__all__ = ["is_alive", "owner"]

_OWNER = re.compile(r"([0-9a-f]{16})/([1-9][0-9]{0,8})/([0-9]{0,20})/[0-9a-f]{16}")
_ENDED = ""


def owner(*, proc: str = "/proc") -> str:
    """A text that stands for this process and for no other, before or after it; *proc* is where processes are seen."""
    pid = os.getpid()
    return _owner(_machine(proc), pid, _began(pid, proc))


def is_alive(owner: str, *, proc: str = "/proc") -> bool | None:
    """Whether the process that *owner* stands for still runs; None if that cannot be seen from here."""
    match = _OWNER.fullmatch(owner)
    if match is None or match[1] != _machine(proc):
        return None
    pid, then = int(match[2]), match[3]
    now = _began(pid, proc)
    if pid == os.getpid():
        return owner == _owner(match[1], pid, now)
    if now is None:
        return _exists(pid)
    return now != _ENDED and then in (now, "")


@functools.cache
def _owner(machine: str, pid: int, began: str | None) -> str:
    # Kept by all three, so that a fork does not go by its parent's name.
    return f"{machine}/{pid}/{began or ''}/{secrets.token_hex(8)}"


def _began(pid: int, proc: str) -> str | None:
    """When a process began, in the kernel's ticks; `_ENDED` if nobody has collected it yet, None if it is not seen."""
    stat = _read(f"{proc}/{pid}/stat")
    if not stat:
        return None
    # The name in parentheses can hold anything, parentheses too.
    fields = stat.rpartition(")")[2].split()
    return _ENDED if fields[0] in ("Z", "X") else fields[19]


def _exists(pid: int) -> bool | None:
    """Asked where there is no /proc, or it shows everyone only their own."""
    if os.name != "posix":
        return None  # signal 0 is no question elsewhere: it interrupts
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _machine(proc: str) -> str:
    """This run of this kernel, as its process numbers and times are seen here: a container has its own."""
    boot = _read(f"{proc}/sys/kernel/random/boot_id") or platform.node()
    return digest(boot, *map(_link, (f"{proc}/self/ns/pid", f"{proc}/self/ns/time")))[:16]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
