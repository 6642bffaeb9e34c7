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
from collections.abc import Callable
from typing import Any

__all__ = ["ATTEMPTS", "try_all"]


def make_file(path: str) -> bool:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)
    return True


def set_same_mode(path: str) -> bool:
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))
    return True


def open_to_write(path: str) -> bool:
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
    return True


def read_file(path: str) -> bool:
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return bool(os.read(number, 8))  # a covered file can be opened, and is empty
    finally:
        os.close(number)


def reach_socket(path: str) -> bool:
    if path.startswith("@"):  # a socket without a path
        return _connect("AF_UNIX", f"\0{path[1:]}")
    os.chdir(os.path.dirname(path))  # a long path is refused, so the folder is entered
    return _connect("AF_UNIX", os.path.basename(path))


def reach_port(address: str) -> bool:
    host, _, port = address.partition(":")
    return _connect("AF_INET", (host, int(port)))


def signal_process(process: str) -> bool:
    _, pid, _, started = process.split()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        if file.read().rpartition(b") ")[2].split()[19].decode() != started:
            return False  # in a namespace, the number belongs to another process
    os.kill(int(pid), 0)  # this signal does nothing
    return True


def _connect(family: str, address: Any) -> bool:
    import _socket

    client = _socket.socket(getattr(_socket, family), _socket.SOCK_STREAM)
    try:
        client.settimeout(2.0)
        client.connect(address)
    finally:
        client.close()
    return True


_KERNEL_SETTINGS = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness")
_KERNEL_FILES = ("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper")
_KERNEL_MEMORY = ("/proc/kcore", "/proc/timer_list", "/proc/slabinfo", "/dev/mem", "/dev/kmsg")

ATTEMPTS: dict[str, tuple[Callable[[str], bool], tuple[str, ...]]] = {
    "write_outside": (make_file, ("/{token}", "/etc/{token}", "/usr/{token}", "{outside}/{token}")),
    "read_outside": (read_file, ("{outside_file}", "/etc/shadow")),
    "change_modes": (set_same_mode, ("/dev/null", "/etc/passwd", "{outside_file}")),
    "write_kernel_settings": (open_to_write, _KERNEL_SETTINGS),
    "write_kernel_files": (open_to_write, _KERNEL_FILES),
    "read_kernel_memory": (read_file, _KERNEL_MEMORY),
    "read_secrets": (read_file, ("{secret}",)),
    "write_protected_files": (open_to_write, ("{protected}",)),
    "write_read_only_folders": (open_to_write, ("{read_only_file}",)),
    "reach_unix_sockets": (reach_socket, ("{socket}", "{read_only_socket}", "@{abstract}")),
    "reach_network": (reach_port, ("127.0.0.1:{port}",)),
    "signal_processes": (signal_process, ("process {pid} since {started}",)),
}
"""The attempts by name, in the order in which they are tried: what is done, and to what."""


def try_all(targets: dict[str, Any]) -> dict[str, list[str]]:
    """Return what each attempt reached; *targets* are the facts that the places of the attempts name."""
    reached: dict[str, list[str]] = {}
    for name, (action, places) in ATTEMPTS.items():
        reached[name] = []
        for place in (template.format(**targets) for template in places):
            with contextlib.suppress(OSError, ValueError):
                if action(place):
                    reached[name].append(place)
    return reached


if __name__ == "__main__":
    sys.stdout.write(json.dumps(try_all(json.loads(sys.argv[1]))))
