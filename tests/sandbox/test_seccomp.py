"""The filter of system calls, run as the kernel would run it."""

from __future__ import annotations

import errno
import os
import platform
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.sandbox import seccomp

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SOCKET = {"x86_64": 41, "aarch64": 198}
CLONE = {"x86_64": 56, "aarch64": 220}
IOCTL = {"x86_64": 16, "aarch64": 29}
PAIR = {"x86_64": 53, "aarch64": 199}
PTRACE = {"x86_64": 101, "aarch64": 117}


def verdict(code, number, *arguments, machine):
    """Return what the kernel answers to a call: classic BPF, as far as the filter uses it."""
    data = struct.pack("=IIQ6Q", number, machine, 0, *(*arguments, *[0] * (6 - len(arguments))))
    at, loaded = 0, 0
    while True:
        operation, if_true, if_false, value = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x06:
            return value
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("number", "arguments", "expected"),
    [
        (SOCKET, (socket.AF_INET, 1), ALLOW),
        (SOCKET, (socket.AF_UNIX, 1), EPERM),
        (SOCKET, (17, 3), EPERM),
        (SOCKET, (40, 1), EPERM),
        (PAIR, (socket.AF_UNIX, 1), ALLOW),
        (PAIR, (40, 1), EPERM),
        (CLONE, (0x11,), ALLOW),
        (CLONE, (0x10000011,), EPERM),
        (CLONE, (0x00020011,), EPERM),
        (IOCTL, (0, 0x5413), ALLOW),
        (IOCTL, (0, 0x5412), EPERM),
        (IOCTL, (0, 0x541C), EPERM),
        (PTRACE, (), EPERM),
        (dict.fromkeys(MACHINES, 435), (), ENOSYS),
        (dict.fromkeys(MACHINES, 425), (), EPERM),
        (dict.fromkeys(MACHINES, 99_999), (), ALLOW),
    ],
)
def test_calls_are_judged_by_number_and_argument(machine, number, arguments, expected):
    """Sockets by family, clones by flags, terminals by request, and some calls altogether."""
    code = seccomp.build_filter(seccomp.NETWORK_FAMILIES, machine=machine)
    assert verdict(code, number[machine], *arguments, machine=MACHINES[machine]) == expected


CHMOD = {"x86_64": 90}
FCHMODAT = {"x86_64": 268, "aarch64": 53}
OPENAT = {"x86_64": 257, "aarch64": 56}
MKNODAT = {"x86_64": 259, "aarch64": 33}
CREATES, TEMPORARY = 0o100, 0o20000000


@pytest.mark.parametrize(
    ("number", "arguments", "expected"),
    [
        (CHMOD, (0, 0o755), ALLOW),
        (CHMOD, (0, 0o4755), EPERM),
        (FCHMODAT, (0, 0, 0o1777), ALLOW),
        (FCHMODAT, (0, 0, 0o4700), EPERM),
        (OPENAT, (0, 0, 0, 0o4700), ALLOW),  # nothing is made, so the mode is not looked at
        (OPENAT, (0, 0, CREATES, 0o700), ALLOW),
        (OPENAT, (0, 0, CREATES, 0o4700), EPERM),
        (OPENAT, (0, 0, TEMPORARY, 0o4700), EPERM),
        (MKNODAT, (0, 0, 0o100644), ALLOW),
        (MKNODAT, (0, 0, 0o104755), EPERM),
        (dict.fromkeys(MACHINES, 452), (0, 0, 0o4755), EPERM),
        (dict.fromkeys(MACHINES, 437), (), ENOSYS),
    ],
)
def test_no_system_call_sets_the_setuid_bit(number, arguments, expected):
    """The call whose mode the filter cannot see is refused as unknown."""
    for machine in number:
        code = seccomp.build_filter((), machine=machine)
        assert verdict(code, number[machine], *arguments, machine=MACHINES[machine]) == expected


@pytest.mark.parametrize(("user", "expected"), [(0, EPERM), (1000, ALLOW)])
def test_no_system_call_of_root_sets_the_setgid_bit(monkeypatch, user, expected):
    """The folders of an ordinary user may hand on their group, which needs that bit."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    code = seccomp.build_filter((), machine="x86_64")
    assert verdict(code, CHMOD["x86_64"], 0, 0o2755, machine=MACHINES["x86_64"]) == expected


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 2**32 - 1), kind=st.integers(0, 100))
def test_no_socket_can_be_made_if_no_family_is_allowed(machine, family, kind):
    """This holds for every family and kind."""
    code = seccomp.build_filter((), machine=machine)
    assert verdict(code, SOCKET[machine], family, kind, machine=MACHINES[machine]) == EPERM


@given(number=st.integers(0, 2**32 - 1), machine=st.integers(0, 2**32 - 1))
def test_system_calls_of_another_machine_end_the_process(number, machine):
    """Its numbers mean other calls, so none is let through."""
    code = seccomp.build_filter(seccomp.NETWORK_FAMILIES, machine="x86_64")
    if machine != MACHINES["x86_64"]:
        assert verdict(code, number, machine=machine) == KILL


@given(number=st.integers(0x40000000, 2**32 - 1))
def test_the_second_table_of_x86_is_refused(number):
    """The x32 calls are the same under other numbers."""
    assert verdict(seccomp.build_filter((), machine="x86_64"), number, machine=MACHINES["x86_64"]) == EPERM


def test_an_unknown_machine_has_no_filter():
    """An error says so, because a filter would stop the wrong calls."""
    assert not seccomp.supports_machine("riscv64")
    with pytest.raises(ValueError, match="riscv64"):
        seccomp.build_filter((), machine="riscv64")


def test_this_machine_is_asked_for_unless_another_is_given():
    """The default is the machine that runs this."""
    if not seccomp.supports_machine():
        pytest.skip(f"NOT TESTED HERE: no system calls are known for {platform.machine()}")
    assert seccomp.build_filter(()) == seccomp.build_filter((), machine=platform.machine())
