"""
The second level: the kernel's Landlock for files and ports, with a filter of system calls.

It needs no privileges and no program. Landlock can only grant whole folders. So if a folder has a secret in it, the
other entries of the folder are granted one by one, and no new file can be made next to the secret.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from .base import Sandbox, SandboxOptions
from .launcher.messages import HiddenFiles, LaunchRequest
from .recheck import RecheckServer
from .seccomp import NETWORK_FAMILIES, build_filter, supports_machine
from .system_paths import list_readable_folders, list_settings
from .visible_files import VisibleFiles

__all__ = ["NEWEST_VERSION", "find_landlock_version", "landlock"]

NEWEST_VERSION = 7
"""The newest version of the interface that this file knows. A newer kernel is used as if it had this version."""

_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
# What each version can restrict: access to files, network ports (bind, connect), and other scopes (sockets, signals).
# The last number is the size in bytes of the structure that it reads.
_ABI_1_RIGHTS = (1 << 13) - 1
_ABI_FEATURES = {
    1: (_ABI_1_RIGHTS, 0, 0, 8),
    2: (_ABI_1_RIGHTS | _REFER, 0, 0, 8),
    3: (_ABI_1_RIGHTS | _REFER | _TRUNCATE, 0, 0, 8),
    4: (_ABI_1_RIGHTS | _REFER | _TRUNCATE, 3, 0, 16),
    5: (_ABI_1_RIGHTS | _REFER | _TRUNCATE | _IOCTL, 3, 0, 16),
    6: (_ABI_1_RIGHTS | _REFER | _TRUNCATE | _IOCTL, 3, 3, 24),
    7: (_ABI_1_RIGHTS | _REFER | _TRUNCATE | _IOCTL, 3, 3, 24),
}
_DEVICES = {
    "/dev/null": _READ | _WRITE | _TRUNCATE,
    "/dev/zero": _READ | _WRITE | _TRUNCATE,
    "/dev/full": _READ | _WRITE | _TRUNCATE,
    "/dev/random": _READ,
    "/dev/urandom": _READ,
    "/proc": _READ | _LIST,
}
_READ_RIGHTS = _EXECUTE | _READ | _LIST
_DEFAULTS = SandboxOptions()


def find_landlock_version() -> int:
    """Return the version of Landlock that this kernel has, or 0 if it has none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(ctypes.c_long(444), None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def landlock(visible_files: VisibleFiles, *, version: int, options: SandboxOptions = _DEFAULTS) -> Sandbox:
    """Return the Landlock sandbox for *visible_files*, as far as this *version* of the interface supports it."""
    network, bounds, extra_folders = options.network, options.limits, options.extra_folders
    abi = min(version, NEWEST_VERSION)
    files, ports, scoped, size = _ABI_FEATURES[abi]
    is_filtered = supports_machine(options.machine)

    def find_hidden() -> HiddenFiles:
        hidden = [protected.path for protected in visible_files.find_protected() if protected.level == "hidden"]
        rules = {**_system_rules(extra_folders), **dict(_workspace_rules(visible_files, hidden, files))}
        return {
            "protected_mounts": [[path] for path in hidden],
            "landlock": {
                "handled_access_fs": files,
                "handled_access_net": 0 if network else ports,
                "scoped": scoped,
                "struct_bytes": size,
                "single_file_rights": _FILE_RIGHTS & files,
                "rules": [(path, rights & files & ~_MAKE_DEVICES) for path, rights in rules.items() if rights & files],
            },
        }

    recheck_server = RecheckServer(find_hidden)

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> LaunchRequest:
        hidden_files = find_hidden()
        request: LaunchRequest = {
            "argv": list(argv),
            "cwd": cwd,
            "drop_privileges": True,
            "recheck_address": recheck_server.address,
            "private_folder_rules": [(private, files & ~_MAKE_DEVICES)] if private else [],
            "protected_mounts": hidden_files["protected_mounts"],
            "landlock": hidden_files["landlock"],
            "limits": bounds.resource_limits(),
            "max_processes": bounds.counted_processes,
        }
        if is_filtered:
            request["seccomp_filter"] = base64.b64encode(
                build_filter(NETWORK_FAMILIES if network else (), machine=options.machine)
            ).decode()
        return request

    return Sandbox(
        name="landlock",
        network=network or not (is_filtered or ports),
        does=_does(is_filtered, abi, network),
        does_not=_does_not(is_filtered, abi, network, bounds.counted_processes is not None),
        plan=plan,
        shows=(*list_readable_folders(extra_folders), *visible_files.workspace_folders),
    )


def _does(is_filtered: bool, abi: int, network: bool) -> tuple[str, ...]:
    """Return what the sandbox guarantees, which depends on the kernel and the machine."""
    table = [
        (True, "reads the system's programs and the workspace only, writes only to the workspace and a private folder"),
        (True, "secrets in the workspace cannot be read; in the folder of a secret, no file can be made"),
        (is_filtered and not network, "opens no socket, so it reaches neither the network nor local services"),
        (is_filtered and network, "opens sockets for the network only, none to local services"),
        (not is_filtered and abi >= 4 and not network, "opens no TCP connections and listens on no port"),
        (is_filtered, "dangerous system calls are refused, and files that run as their owner are not made"),
        (abi >= 6, "signals its own processes only"),
        (True, "has no privileges and cannot gain any; what it starts ends with it"),
        (True, "CPU time, memory, file sizes and the number of processes are bounded"),
    ]
    return tuple(words for holds, words in table if holds)


def _does_not(is_filtered: bool, abi: int, network: bool, is_root: bool) -> tuple[str, ...]:
    table = [
        (network, "it reaches the network, this machine's own services included"),
        (
            True,
            "files of the workspace that make programs run code can be changed; the result of the command reports it",
        ),
        (True, "names, owners and modes of files outside can be seen, and changed where the user may"),
        (True, "the names of all processes can be seen"),
        (True, "what gets a protected name only while a command runs can be seen by that command"),
        (True, "there is no shared folder for temporary files; they go to the private one, TMPDIR"),
        (abi < 2, "files cannot be moved from one folder to another"),
        (abi < 3, "files outside can be emptied where the user may"),
        (abi < 6, "it can signal the user's other processes, the launcher too, and so leave a process behind"),
        (not is_filtered, "dangerous system calls are not refused: the calls of this machine are not known"),
        (not is_filtered and abi < 4, "the network is not blocked"),
        (not is_filtered and abi >= 4 and not network, "UDP and local sockets are not blocked"),
        (is_root, "as root, it reads files of /proc that are for root alone, about memory, timers and keys"),
        (is_root, "as root, processes are counted a few times a second where no control group can be made"),
    ]
    return tuple(words for holds, words in table if holds)


def _system_rules(extra_folders: Sequence[str]) -> dict[str, int]:
    rules = dict.fromkeys(list_readable_folders(extra_folders), _READ_RIGHTS)
    rules |= {os.path.realpath(path): _READ_RIGHTS for path in list_settings()}
    return rules | _DEVICES


def _workspace_rules(visible_files: VisibleFiles, hidden: Sequence[str], all_rights: int) -> Iterator[tuple[str, int]]:
    tops = {
        top: all_rights if may_write else _READ_RIGHTS for top, may_write in visible_files.workspace_folders.items()
    }
    # A folder with its own rights inside another folder must be excluded from the rights of that one, as a secret is.
    special = {*hidden, *tops}
    parents = {str(parent) for path in special for parent in PurePosixPath(path).parents}
    for top, rights in tops.items():
        yield from _grant_folder(top, rights, special - {top}, parents)


def _grant_folder(folder: str, rights: int, special: set[str], parents: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the rules that grant *rights* for *folder*: as a whole, or in parts if something in it is *special*."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if current not in parents:
            yield current, rights
            continue
        yield current, _LIST
        with contextlib.suppress(OSError), os.scandir(current) as entries:
            inside = [entry.path for entry in entries if not entry.is_symlink()]
            waiting += sorted((path for path in inside if path not in special), reverse=True)
