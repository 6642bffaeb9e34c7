"""
A system that fails on purpose: single system calls that give an error, for one thread alone.

The kernel itself refuses them (seccomp), so nothing of ours is replaced by a double.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading

import pytest

_NUMBERS = {
    "x86_64": {"write": 1, "fsync": 74, "fchmod": 91, "fchown": 93, "mkdirat": 258, "renameat": 264, "linkat": 265},
    "aarch64": {"write": 64, "fsync": 82, "fchmod": 52, "fchown": 55, "mkdirat": 34, "renameat": 38, "linkat": 37},
}
_LOAD, _IF_EQUAL, _RETURN, _ERROR, _ALLOW = 0x20, 0x15, 0x06, 0x00050000, 0x7FFF0000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


def refusing(name, number, function):
    """Run *function* in a thread where the system call *name* fails with *number*; return its value or its error."""
    table = {**_NUMBERS.get(os.uname().machine, {}), "openat2": 437}
    if name not in table:
        pytest.skip(f"NOT TESTED: no number known for {name} on this machine")
    answers = []

    def run():
        try:
            _install(table[name], number)
        except OSError as error:
            answers.append(("skip", error))
            return
        try:
            answers.append(("returned", function()))
        except BaseException as error:  # noqa: BLE001 -- it is raised again, where the test is
            answers.append(("raised", error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    [(how, answer)] = answers
    if how == "skip":
        pytest.skip(f"NOT TESTED: no seccomp here ({answer})")
    if how == "raised":
        raise answer
    return answer


def _install(call, number):
    libc = ctypes.CDLL(None, use_errno=True)
    rules = [(_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | number), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code)))
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, _FILTER, program, 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
