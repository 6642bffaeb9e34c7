"""
The process that runs an approved call, identified so that another process can see whether it still lives.

A process is identified by the kernel that it runs on, its number, and the time when it began, because numbers are
used again. A process is reported as dead only if that is certain. A call whose owner may live is never taken over.

A call that is a step of a run adds a mark of the step to the owner of its claim. The mark says nothing about the
process. It lets a later attempt at the same step recognize the claim.
"""

from __future__ import annotations

import os
import platform
import re
import secrets

from ..values.strictjson.canonical import digest_parts

__all__ = ["has_mark", "is_alive", "is_owner", "is_this_process", "owner", "remove_mark"]

_OWNER = re.compile(r"([0-9a-f]{16})/([1-9][0-9]{0,8})/([0-9]{0,20})/[0-9a-f]{16}")
_MARK_SIGN = "#"
_ENDED = ""


def owner(*, mark: str = "", proc: str = "/proc") -> str:
    """Return a text that stands for this process and no other, with *mark* added. *proc* is the kernel's folder."""
    process = _owner(os.getpid(), proc)
    return f"{process}{_MARK_SIGN}{mark}" if mark else process


def remove_mark(owner: str) -> str:
    """Return *owner* without its mark."""
    return owner.partition(_MARK_SIGN)[0]


def has_mark(owner: str, mark: str) -> bool:
    """
    Return whether *owner* is the text of any process with this *mark*, which is not empty.

    A mark may end in a full stop and the number of an attempt. The mark of a later attempt is another one: the process
    of an earlier attempt was replaced, and must not take the claim of its successor.
    """
    name, _, number = mark.partition(".")
    their_name, _, their_number = owner.partition(_MARK_SIGN)[2].partition(".")
    return bool(mark) and their_name == name and _read_number(their_number) <= _read_number(number)


def _read_number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def is_this_process(text: str) -> bool:
    """Return whether *text* stands for this process, with or without a mark."""
    return remove_mark(text) == owner()


def is_alive(owner: str, *, proc: str = "/proc") -> bool | None:
    """Return whether the process that *owner* stands for still runs; return None if that cannot be seen from here."""
    owner = remove_mark(owner)
    match = _OWNER.fullmatch(owner)
    if match is None or match[1] != _identify_machine(proc):
        return None
    pid, claimed_start = int(match[2]), match[3]
    if pid == os.getpid():
        return owner == _owner(pid, proc)
    current_start = _read_start_time(pid, proc)
    if current_start is None:
        return _process_exists(pid)
    return current_start != _ENDED and claimed_start in (current_start, "")


def is_owner(text: str) -> bool:
    """Return whether *text* stands for a process, on any machine."""
    return _OWNER.fullmatch(remove_mark(text)) is not None


_owners: dict[tuple[int, str], str] = {}


def _owner(pid: int, proc: str) -> str:
    # It is read once for each process, because an event loop would wait for these files at each approved call.
    known = _owners.get((pid, proc))
    if known is not None:
        return known
    owner = f"{_identify_machine(proc)}/{pid}/{_read_start_time(pid, proc) or ''}/{secrets.token_hex(8)}"
    return _owners.setdefault((pid, proc), owner)  # of two threads that come here at once, both get the first one's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_owners.clear)


def _read_start_time(pid: int, proc: str) -> str | None:
    """Return when a process began, in the kernel's ticks; `_ENDED` if it was not collected yet, None if not visible."""
    stat = _read(f"{proc}/{pid}/stat")
    if not stat:
        return None
    # The process name in parentheses can contain any character, including parentheses.
    fields = stat.rpartition(")")[2].split()
    return _ENDED if fields[0] in ("Z", "X") else fields[19]


def _process_exists(pid: int) -> bool | None:
    """Return whether a process exists, where there is no /proc or where it shows users only their own processes."""
    if os.name != "posix":
        return None  # On other systems, signal 0 does not test a process: it interrupts it.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _identify_machine(proc: str) -> str:
    """
    Return a digest of this boot of this kernel and of its process namespaces.

    Process numbers and times mean the same only within these. A container has its own.
    """
    boot = _read(f"{proc}/sys/kernel/random/boot_id") or platform.node()
    return digest_parts(boot, *map(_read_link, (f"{proc}/self/ns/pid", f"{proc}/self/ns/time")))[:16]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _read_link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
