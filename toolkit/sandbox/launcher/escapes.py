"""
A program that tries, inside a sandbox, to escape from it, and prints what succeeded.

It has one attempt for each part of the sandbox that may work on one machine and not on another: the folders that are
mounted, the covers over protected files, `/proc` and `/sys` of this user, the devices, and the namespaces of the
network and of processes. A unix socket in the workspace shows whether the filter of system calls is active. The filter
itself is the same everywhere, so its further refusals are tried by the tests alone, which have a longer list.

The program is run from its text, `python -I -S -c TEXT JSON`, so it imports nothing else of the package. An attempt
that succeeds changes nothing: a file that it made is removed, a mode is set to what it already is, and any other file
is only opened. The answer is one line of JSON: the name of each attempt, with the list of what the attempt reached.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["ATTEMPTS", "try_all"]

_KERNEL_FILES = ("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper")
_KERNEL_MEMORY = ("/proc/kcore", "/proc/timer_list", "/proc/slabinfo", "/dev/mem", "/dev/kmsg")


def write_outside(targets: dict[str, Any]) -> Iterator[str]:
    """Make a file in the system's folders, and in a folder beside the workspace."""
    for folder in ("/", "/etc", "/usr", targets["outside"]):
        path = f"{folder.rstrip('/')}/{targets['token']}"
        with _suppress_refusals():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.unlink(path)
            yield folder


def change_modes(targets: dict[str, Any]) -> Iterator[str]:
    """Set the modes of files outside to the modes that they already have."""
    for path in ("/dev/null", "/etc/passwd", targets["outside_file"]):
        with _suppress_refusals():
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))
            yield path


def reach_unix_sockets(targets: dict[str, Any]) -> Iterator[str]:
    """Connect to unix sockets of a process outside: in the workspace, in a read-only folder, and without a path."""
    for address in (targets["socket"], targets["read_only_socket"], f"\0{targets['abstract']}"):
        name = address
        if not address.startswith("\0"):  # a long path is refused, so the folder is entered
            os.chdir(os.path.dirname(address))
            name = os.path.basename(address)
        if _can_connect("AF_UNIX", name):
            yield "an abstract socket" if address.startswith("\0") else address


def reach_network(targets: dict[str, Any]) -> Iterator[str]:
    """Connect to a port of this machine."""
    if targets["port"] and _can_connect("AF_INET", ("127.0.0.1", targets["port"])):
        yield f"127.0.0.1:{targets['port']}"


def signal_processes(targets: dict[str, Any]) -> Iterator[str]:
    """Signal a process outside, with a signal that does nothing."""
    started = None
    with _suppress_refusals(), open(f"/proc/{targets['pid']}/stat", "rb") as file:
        started = file.read().rpartition(b") ")[2].split()[19].decode()
    if started in (None, targets["started"]):  # in a namespace, the number may belong to another process
        with _suppress_refusals():
            os.kill(targets["pid"], 0)
            yield f"process {targets['pid']}"


def _open_files(flags: int, *names: str) -> Callable[[dict[str, Any]], Iterator[str]]:
    """Return an attempt that opens files with *flags*. *names* are paths, or keys of the targets."""

    def attempt(targets: dict[str, Any]) -> Iterator[str]:
        for path in (targets.get(name, name) for name in names):
            with _suppress_refusals():
                number = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
                try:
                    if flags == os.O_WRONLY or os.read(number, 8):  # a covered file can be opened, and is empty
                        yield path
                finally:
                    os.close(number)

    return attempt


ATTEMPTS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "write_outside": write_outside,
    "read_outside": _open_files(os.O_RDONLY, "outside_file", "/etc/shadow"),
    "change_modes": change_modes,
    "write_kernel_settings": _open_files(os.O_WRONLY, "/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness"),
    "write_kernel_files": _open_files(os.O_WRONLY, *_KERNEL_FILES),
    "read_kernel_memory": _open_files(os.O_RDONLY, *_KERNEL_MEMORY),
    "read_secrets": _open_files(os.O_RDONLY, "secret"),
    "write_protected_files": _open_files(os.O_WRONLY, "protected"),
    "write_read_only_folders": _open_files(os.O_WRONLY, "read_only_file"),
    "reach_unix_sockets": reach_unix_sockets,
    "reach_network": reach_network,
    "signal_processes": signal_processes,
}
"""The attempts by name, in the order in which they are tried."""


def try_all(targets: dict[str, Any]) -> dict[str, list[str]]:
    """Return what each attempt reached."""
    return {name: list(attempt(targets)) for name, attempt in ATTEMPTS.items()}


def _suppress_refusals() -> contextlib.suppress:
    return contextlib.suppress(OSError, ValueError)


def _can_connect(family: str, address: Any) -> bool:
    import _socket

    with _suppress_refusals():
        client = _socket.socket(getattr(_socket, family), _socket.SOCK_STREAM)
        try:
            client.settimeout(2.0)
            client.connect(address)
            return True
        finally:
            client.close()
    return False


if __name__ == "__main__":
    sys.stdout.write(json.dumps(try_all(json.loads(sys.argv[1]))))
