"""
A program that tries, inside a sandbox, every escape that the sandbox has to prevent, and prints what succeeded.

`toolkit/sandbox/launcher/escapes.py` is the short list, which is tried wherever the library runs.
The program is run from its text, `python -I -S -c TEXT JSON`, so it imports nothing else of the package. An attempt
that succeeds changes nothing: a file that it made is removed, a mode or a value is set to what it already is, and a
file whose change could do harm is only opened. The answer is one line of JSON. It has the name of each attempt, with
the list of what the attempt reached. The list is empty if the attempt was prevented.
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

_SYSTEM_FOLDERS = ("/", "/etc", "/usr", "/usr/bin")
_ROOT_ONLY_FILES = ("kcore", "timer_list", "kpagecount", "kpageflags", "slabinfo", "vmallocinfo", "pagetypeinfo")
_SYS_FILES = (
    "kernel/uevent_helper",
    "power/state",
    "kernel/mm/transparent_hugepage/enabled",
    "module/printk/parameters/time",
)
_MAX_REPORTED = 3
_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x00020000
_MS_BIND = 4096


def write_outside(targets: dict[str, Any]) -> Iterator[str]:
    """Make a file in the system's folders, and in a folder beside the workspace."""
    for folder in (*_SYSTEM_FOLDERS, targets["outside"]):
        path = f"{folder.rstrip('/')}/{targets['token']}"
        with _suppress_refusals():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.unlink(path)
            yield folder


def read_outside(targets: dict[str, Any]) -> Iterator[str]:
    """Read a file beside the workspace, and the machine's passwords."""
    if _contains_text(targets["outside_file"], targets["token"]):
        yield targets["outside_file"]
    if _contains_text("/etc/shadow", ""):
        yield "/etc/shadow"


def change_modes(targets: dict[str, Any]) -> Iterator[str]:
    """Set the modes of files outside to the modes that they already have."""
    for path in ("/dev/null", "/dev/zero", "/usr/bin/env", "/etc/passwd", targets["outside_file"]):
        with _suppress_refusals():
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))
            yield path
    for number in (0, 1, 2):
        with _suppress_refusals():
            mode = os.fstat(number).st_mode
            if not stat.S_ISFIFO(mode):  # a pipe has no name that another program could use
                os.fchmod(number, stat.S_IMODE(mode))
                yield f"what is open as descriptor {number}"


def write_kernel_settings(targets: dict[str, Any]) -> Iterator[str]:
    """Open every file of `/proc/sys` for writing, and write to one of them the value that it already has."""
    yield from _list_writable_files("/proc/sys")
    path = "/proc/sys/kernel/core_pattern"
    with _suppress_refusals():
        with open(path, "rb") as file:
            value = file.read()
        with open(path, "wb", buffering=0) as file:
            file.write(value)
        yield f"{path} (written)"


def write_kernel_files(targets: dict[str, Any]) -> Iterator[str]:
    """Open the other files of the kernel for writing: `/proc/sysrq-trigger`, interrupts, buses, `/sys`."""
    for name in sorted(os.listdir("/proc")):
        if not name.isdigit() and name not in {"self", "thread-self", "sys", "net", "mounts"}:
            yield from _list_writable_files(f"/proc/{name}")
    for name in _SYS_FILES:
        yield from _list_writable_files(f"/sys/{name}")


def read_kernel_memory(targets: dict[str, Any]) -> Iterator[str]:
    """Read the files of `/proc` that tell root about the kernel's memory and timers, and the memory devices."""
    for path in (*(f"/proc/{name}" for name in _ROOT_ONLY_FILES), "/dev/mem", "/dev/port", "/dev/kmsg"):
        with _suppress_refusals():
            number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                if os.read(number, 8):
                    yield path
            finally:
                os.close(number)


def mount_files(targets: dict[str, Any]) -> Iterator[str]:
    """Mount a folder over another one, in the current namespaces and in new ones, and make a device."""
    libc = _libc()
    inside = os.fsencode(targets["inside"])
    for flags in (None, _CLONE_NEWNS, _CLONE_NEWUSER | _CLONE_NEWNS):
        if _succeeds_in_child(_can_mount, libc, flags, inside):
            yield "mount" if flags is None else f"mount after unshare({flags:#x})"
    path = f"{targets['inside']}/{targets['token']}-device"
    with _suppress_refusals():
        os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))
        os.unlink(path)
        yield "mknod"


def make_setuid_files(targets: dict[str, Any]) -> Iterator[str]:
    """Make a file that runs as the user who owns it."""
    path = f"{targets['inside']}/{targets['token']}-setuid"
    with _suppress_refusals():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o700))
        try:
            os.chmod(path, 0o4700)
            yield "chmod u+s"
        finally:
            os.unlink(path)


def read_secrets(targets: dict[str, Any]) -> Iterator[str]:
    """Read a protected file of the workspace."""
    for path in (targets["secret"], f"/proc/self/cwd/{os.path.basename(targets['secret'])}"):
        if _contains_text(path, targets["token"]):
            yield path


def write_protected_files(targets: dict[str, Any]) -> Iterator[str]:
    """Open for writing a file of the workspace that makes programs run code."""
    yield from _list_writable_files(targets["protected"])


def write_read_only_folders(targets: dict[str, Any]) -> Iterator[str]:
    """Open a file and a FIFO for writing in a folder that may only be read."""
    for path in (targets["read_only_file"], f"{targets['read_only']}/fifo"):
        yield from _list_writable_files(path)


def reach_unix_sockets(targets: dict[str, Any]) -> Iterator[str]:
    """
    Connect to unix sockets of a process outside.

    One is in the workspace, one in a folder that may only be read, and one has no path.
    """
    for address in (targets["socket"], targets["read_only_socket"], f"\0{targets['abstract']}"):
        if _can_connect("AF_UNIX", address) or _can_send(address):
            yield "an abstract socket" if address.startswith("\0") else address


def reach_network(targets: dict[str, Any]) -> Iterator[str]:
    """Connect to a port of this machine."""
    if targets["port"] and _can_connect("AF_INET", ("127.0.0.1", targets["port"])):
        yield f"127.0.0.1:{targets['port']}"


def signal_processes(targets: dict[str, Any]) -> Iterator[str]:
    """Signal a process outside, with a signal that does nothing."""
    if _is_same_process(targets):
        with _suppress_refusals():
            os.kill(targets["pid"], 0)
            yield f"process {targets['pid']}"


def see_processes(targets: dict[str, Any]) -> Iterator[str]:
    """Read the environment and the memory of a process outside."""
    if _is_same_process(targets):
        for name in ("environ", "mem"):
            with _suppress_refusals(), open(f"/proc/{targets['pid']}/{name}", "rb", buffering=0) as file:
                if name == "mem" or file.read(1):
                    yield file.name


ATTEMPTS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    attempt.__name__: attempt
    for attempt in (
        write_outside,
        read_outside,
        change_modes,
        write_kernel_settings,
        write_kernel_files,
        read_kernel_memory,
        mount_files,
        make_setuid_files,
        read_secrets,
        write_protected_files,
        write_read_only_folders,
        reach_unix_sockets,
        reach_network,
        signal_processes,
        see_processes,
    )
}
"""The attempts by name, in the order in which they are tried."""


def try_all(targets: dict[str, Any]) -> dict[str, list[str]]:
    """Return what each attempt reached: a few names, and how many more there are."""
    results = {}
    for name, attempt in ATTEMPTS.items():
        reached = list(attempt(targets))
        more = len(reached) - _MAX_REPORTED
        results[name] = [*reached[:_MAX_REPORTED], *([f"{more} more"] if more > 0 else [])]
    return results


def _suppress_refusals() -> contextlib.suppress:
    return contextlib.suppress(OSError, ValueError)


def _contains_text(path: str, text: str) -> bool:
    with _suppress_refusals(), open(path, "rb") as file:
        return text.encode() in file.read()
    return False


def _list_writable_files(top: str) -> Iterator[str]:
    """Yield the files at or below *top* that can be opened for writing. They are closed again without a write."""
    for path in _walk_files(top):
        with _suppress_refusals():
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
            yield path


def _walk_files(top: str) -> Iterator[str]:
    if not os.path.isdir(top):
        yield top
    for folder, _, names in os.walk(top):
        yield from (f"{folder}/{name}" for name in names)


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _can_mount(libc: Any, flags: int | None, folder: bytes) -> bool:
    if flags is not None and libc.unshare(flags) != 0:
        return False
    is_mounted = bool(libc.mount(b"/usr", folder, None, _MS_BIND, None) == 0)
    # A mount in its own namespace does no harm outside. There it counts only if it gives access to covered files.
    if flags is not None and flags & _CLONE_NEWUSER:
        return is_mounted and bool(libc.mount(b"proc", folder, b"proc", 0, None) == 0)
    if is_mounted:
        libc.umount2(folder, 2)
    return is_mounted


def _succeeds_in_child(action: Callable[..., bool], *arguments: Any) -> bool:
    """
    Return whether *action* succeeds in a process of its own. What it changes about that process ends with the process.
    """
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        try:
            os._exit(0 if action(*arguments) else 1)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _can_connect(family: str, address: Any) -> bool:
    import _socket

    with _suppress_refusals():
        client = _socket.socket(getattr(_socket, family), _socket.SOCK_STREAM)
        try:
            client.settimeout(2.0)
            client.connect(_shorten(address))
            return True
        finally:
            client.close()
    return False


def _can_send(address: str) -> bool:
    """Return whether a datagram can be sent to the socket next to *address*."""
    import _socket

    with _suppress_refusals():
        client = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        try:
            client.sendto(b"probe", _shorten(f"{address}.datagram"))
            return True
        finally:
            client.close()
    return False


def _shorten(address: Any) -> Any:
    """
    Return the address of a socket relative to its folder, and enter that folder.

    The kernel accepts at most 107 bytes.
    """
    if not isinstance(address, str) or address.startswith("\0"):
        return address
    os.chdir(os.path.dirname(address))
    return os.path.basename(address)


def _is_same_process(targets: dict[str, Any]) -> bool:
    """Return whether the process with that number is the one outside. In a namespace it may be another process."""
    try:
        with open(f"/proc/{targets['pid']}/stat", "rb") as file:
            return bool(file.read().rpartition(b") ")[2].split()[19].decode() == targets["started"])
    except OSError:
        return os.path.exists(f"/proc/{targets['pid']}")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(try_all(json.loads(sys.argv[1]))))
