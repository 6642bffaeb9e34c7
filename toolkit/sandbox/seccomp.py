"""
A filter of system calls, as a program for the kernel's filter machine.

The filter refuses calls that no command needs and that have led out of sandboxes. It also refuses sockets of families
that were not allowed. A refused call fails with "Operation not permitted", and the command continues.
"""

from __future__ import annotations

import errno
import os
import platform
import socket
import struct
from collections.abc import Iterable

__all__ = ["LOCAL_FAMILIES", "NETWORK_FAMILIES", "build_filter", "supports_machine"]

LOCAL_FAMILIES: tuple[int, ...] = (socket.AF_UNIX,)
NETWORK_FAMILIES: tuple[int, ...] = (socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_NETLINK", 16))

# The constant of each machine in <linux/audit.h>, and its column in the tables below.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# The number of each call on x86_64 and on aarch64. It is None where there is no such call.
_REFUSED_CALLS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
}
# Calls that set a file's mode: their numbers, and the position of the mode among their arguments. The second table has
# the position of the flags before that of the mode.
_MODE_CALLS: dict[str, tuple[int | None, int | None, int]] = {
    "chmod": (90, None, 1),
    "fchmod": (91, 52, 1),
    "fchmodat": (268, 53, 2),
    "fchmodat2": (452, 452, 2),
    "creat": (85, None, 1),
    "mknod": (133, None, 1),
    "mknodat": (259, 33, 2),
}
_OPEN_CALLS: dict[str, tuple[int | None, int | None, int, int]] = {"open": (2, None, 1, 2), "openat": (257, 56, 2, 3)}
_OPENAT2 = (437, 437)
_MAKES_A_FILE = 0o20000100  # O_CREAT or O_TMPFILE
_RUNS_AS_OWNER, _RUNS_AS_GROUP = 0o4000, 0o2000
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_IOCTL = (16, 29)
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_X32 = 0x40000000
# TIOCSTI and TIOCLINUX: with these a command could type into the user's terminal.
_TERMINAL_INPUT_IOCTLS = (0x5412, 0x541C)
# The flags for user, mount, pid, network, ipc, uts and cgroup: all flags of `clone` that make a namespace.
_NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000

_NUMBER_OFFSET, _MACHINE_OFFSET, _FIRST_ARGUMENT_OFFSET, _SECOND_ARGUMENT_OFFSET = 0, 4, 16, 24
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSE = _ERRNO | errno.EPERM


def supports_machine(machine: str | None = None) -> bool:
    """Return whether this module knows the system call numbers of *machine*, which is this machine by default."""
    return (machine or platform.machine()) in _MACHINES


def build_filter(families: Iterable[int], *, machine: str | None = None) -> bytes:
    """Return the filter that allows only sockets of *families*. Raise `ValueError` for an unknown *machine*."""
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise ValueError(f"the system calls of {name!r} are not known here; known are {', '.join(_MACHINES)}")
    audit, column = _MACHINES[name]
    code = [
        _load(_MACHINE_OFFSET),
        _jump(_EQUAL, audit, 1, 0),
        _return(_KILL),  # the numbers of another machine mean other calls
        _load(_NUMBER_OFFSET),
    ]
    if name == "x86_64":
        code += [_jump(_AT_LEAST, _X32, 0, 1), _return(_REFUSE)]
    for numbers in _REFUSED_CALLS.values():
        number = numbers[column]
        if number is not None:
            code += _answer(number, _REFUSE)
    # The flags of these calls are behind a pointer, which a filter cannot read. Libraries fall back to the older calls.
    for number in (_CLONE3[column], _OPENAT2[column]):
        code += _answer(number, _ERRNO | errno.ENOSYS)
    code += _refuse_modes(column, _RUNS_AS_OWNER | (_RUNS_AS_GROUP if os.geteuid() == 0 else 0))
    code += _if_called(
        _CLONE[column], [_load(_FIRST_ARGUMENT_OFFSET), _jump(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _return(_REFUSE)]
    )
    refusals = [part for request in _TERMINAL_INPUT_IOCTLS for part in _answer(request, _REFUSE)]
    code += _if_called(_IOCTL[column], [_load(_SECOND_ARGUMENT_OFFSET), *refusals])
    allowed = [part for family in dict.fromkeys(families) for part in _answer(family, _ALLOW)]
    code += _if_called(_SOCKET[column], [_load(_FIRST_ARGUMENT_OFFSET), *allowed, _return(_REFUSE)])
    pair = [_load(_FIRST_ARGUMENT_OFFSET), _jump(_EQUAL, socket.AF_UNIX, 1, 0), _return(_REFUSE)]
    code += _if_called(_SOCKETPAIR[column], pair)
    return b"".join([*code, _return(_ALLOW)])


def _refuse_modes(column: int, bits: int) -> list[bytes]:
    """Return instructions that refuse *bits* of a mode, with which a file outside would run with its owner's rights."""
    code = []
    for *numbers, mode in _MODE_CALLS.values():
        if (number := numbers[column]) is not None:
            code += _if_called(number, [_load(_argument_offset(mode)), _jump(_ANY_BIT, bits, 0, 1), _return(_REFUSE)])
    for *numbers, flags, mode in _OPEN_CALLS.values():
        if (number := numbers[column]) is not None:
            makes = [_load(_argument_offset(flags)), _jump(_ANY_BIT, _MAKES_A_FILE, 0, 3)]
            code += _if_called(
                number, [*makes, _load(_argument_offset(mode)), _jump(_ANY_BIT, bits, 0, 1), _return(_REFUSE)]
            )
    return code


def _argument_offset(position: int) -> int:
    return _FIRST_ARGUMENT_OFFSET + 8 * position


# One instruction has the operation, the distance to jump if the test is true and if it is false, and a number.

_LOAD, _RETURN = 0x20, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _return(verdict: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, verdict)


def _jump(test: int, number: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("=HBBI", test, if_true, if_false, number)


def _answer(number: int, verdict: int) -> list[bytes]:
    """Return instructions that end with *verdict* if the loaded value is *number*."""
    return [_jump(_EQUAL, number, 0, 1), _return(verdict)]


def _if_called(number: int, then: list[bytes]) -> list[bytes]:
    """Return instructions that run *then* for this call and allow it at the end. Any other call goes on after them."""
    body = [*then, _return(_ALLOW)]
    return [_jump(_EQUAL, number, 0, len(body)), *body]
