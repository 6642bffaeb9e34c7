"""
The strongest level: the command gets its own file system and its own namespaces, made by `bwrap`.

The command sees only the system's programs and the workspace. Protected files are covered in their places. This holds
for the files that exist when the command begins, and for as long as it runs.
"""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from collections.abc import Container, Iterator, Sequence

from ..errors import ToolError
from .base import Sandbox, SandboxOptions
from .launcher.messages import HiddenFiles, LaunchRequest
from .recheck import RecheckServer
from .seccomp import LOCAL_FAMILIES, NETWORK_FAMILIES, build_filter, supports_machine
from .system_paths import list_readable_folders, list_settings
from .visible_files import VisibleFiles

__all__ = ["DEVICES", "USER_NAME", "bubblewrap", "choose_user", "list_masked_files"]

USER_NAME = "sandbox"
_FIRST_NUMBER, _LAST_NUMBER = 1000, 60_000

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""The host's devices that bubblewrap shows to a command. Their modes are the host's modes, too."""

# The files that container runtimes mask, although every user may read them.
_MASKED_FILES = ("kcore", "keys", "key-users", "latency_stats", "sched_debug", "timer_list", "timer_stats", "vmcore")
_MASKED_FOLDERS = ("acpi", "asound", "scsi")

_TMPFS_BYTES = str(256 << 20)
# The limit that is built into `bwrap`, minus the arguments that the launcher adds.
_MAX_ARGUMENTS = 9000 - 40
_TEMPORARY_FOLDER = "/tmp"  # noqa: S108 -- a private folder inside the sandbox
_DEFAULTS = SandboxOptions()


def bubblewrap(visible_files: VisibleFiles, *, program: str, options: SandboxOptions = _DEFAULTS) -> Sandbox:
    """Return the sandbox that uses the `bwrap` at *program* and hides what is protected in *visible_files*."""
    network, bounds, extra_folders = options.network, options.limits, options.extra_folders
    is_filtered = supports_machine(options.machine)
    is_local = options.local_sockets or not is_filtered
    user = choose_user()
    own_lines = {} if user is None else _account_lines(user)
    user_options = [] if user is None else ["--unshare-user", "--uid", str(user), "--gid", str(user)]
    # Only the filter can keep a command from a unix socket that has a path: mounts and namespaces do not.
    # Without a network, the sockets of the network families reach only one another.
    families = (*NETWORK_FAMILIES, *(LOCAL_FAMILIES if options.local_sockets else ()))

    def find_hidden() -> HiddenFiles:
        return {"protected_mounts": list(_workspace_mounts(visible_files, options.read_only))}

    recheck_server = RecheckServer(find_hidden)

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> LaunchRequest:
        first_options = [*_namespace_options(network), *user_options, *_own_folder_options(private)]
        first_options += [*_system_options(network, extra_folders, own_lines), *_mask_kernel_files()]
        mounts = list(_workspace_mounts(visible_files, options.read_only))
        last_options = ["--remount-ro", "/", "--chdir", cwd]
        _check_argument_count(
            len(first_options) + sum(map(len, mounts)) + len(last_options) + len(argv),
            len(mounts) - len(visible_files.workspace_folders),
        )
        request: LaunchRequest = {
            "argv": [program, *argv],
            "bubblewrap_options": first_options,
            "protected_mounts": mounts,
            "bubblewrap_last_options": last_options,
            "workspace_folders": list(visible_files.workspace_folders),
            "recheck_address": recheck_server.address,
            "account_lines": own_lines,
            "guarded_devices": [] if user is None else list(DEVICES),
            "limits": bounds.resource_limits(),
            "max_processes": bounds.counted_processes,
        }
        if is_filtered:
            request["bubblewrap_filter"] = base64.b64encode(build_filter(families, machine=options.machine)).decode()
        return request

    return Sandbox(
        name="bubblewrap",
        network=network,
        does=_does(is_filtered, is_local, user),
        does_not=_does_not(is_filtered, is_local, network, bounds.counted_processes is not None),
        plan=plan,
        shows=(*list_readable_folders(extra_folders), *visible_files.workspace_folders),
        private_as=_TEMPORARY_FOLDER,
    )


def _does(is_filtered: bool, is_local: bool, user: int | None) -> tuple[str, ...]:
    """Return what the sandbox guarantees, which depends on the machine and on the user who starts commands."""
    table = [
        (
            True,
            "sees the system's programs and the workspace only, and writes only to the workspace and private folders",
        ),
        (True, "protected files are covered: secrets are not read, files that make programs run code are not changed"),
        (True, "sees and signals its own processes only; all of them end with the command"),
        (
            True,
            "the kernel's files in /proc and /dev are read-only, those for root alone are covered, /sys is not there",
        ),
        (True, "has no privileges and cannot gain any"),
        (is_filtered, "dangerous system calls are refused, and files that run as their owner are not made"),
        (not is_local, "opens no unix socket, so it reaches no service of this machine by a path"),
        (user is not None, f"is the user {USER_NAME}, {user}, and not root; what it makes belongs to root outside"),
        (True, "CPU time, memory, file sizes and the number of processes are bounded"),
    ]
    return tuple(words for holds, words in table if holds)


def _does_not(is_filtered: bool, is_local: bool, network: bool, is_root: bool) -> tuple[str, ...]:
    table = [
        (network, "it reaches the network, this machine's own services included"),
        (True, "a file that gets a protected name while a command runs is covered only from the next command on"),
        (True, "if a protected file is replaced or removed, the command is ended, but may see it for a moment before"),
        (True, "a hard link to a protected file is taken for another file"),
        (True, "a FIFO that another program reads can be written, as a file can, where the workspace can be"),
        (is_local, "it reaches services of this machine by unix sockets in the folders that it sees"),
        (not is_local, "programs that need unix sockets fail; best_sandbox(local_sockets=True) allows them"),
        (not is_filtered, "dangerous system calls are not refused: the calls of this machine are not known"),
        (is_root, "as root, processes are counted a few times a second where no control group can be made"),
    ]
    return tuple(words for holds, words in table if holds)


def _namespace_options(network: bool) -> list[str]:
    namespaces = ["--unshare-all", *(["--share-net"] if network else []), "--hostname", "sandbox"]
    return [*namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]


def _own_folder_options(private: str | None) -> Iterator[str]:
    """Yield the options for the command's own folders. They are mounted first, because other mounts may lie in them."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for place in ("/dev/shm", "/run", "/var"):  # noqa: S108 -- as above
        yield from ("--size", _TMPFS_BYTES, "--tmpfs", place)
    yield from ("--dir", "/var/tmp")  # noqa: S108 -- as above
    yield from (
        ("--bind", private, _TEMPORARY_FOLDER) if private else ("--size", _TMPFS_BYTES, "--tmpfs", _TEMPORARY_FOLDER)
    )


def _system_options(network: bool, extra_folders: Sequence[str], own_settings: Container[str]) -> Iterator[str]:
    """Yield the options for the system's programs and settings, without those in *own_settings*."""
    for place in list_readable_folders(extra_folders):
        yield from ("--ro-bind", place, place)
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            yield from ("--symlink", os.readlink(name), name)
    for path in list_settings():
        if path not in own_settings and (path != "/etc/resolv.conf" or network):
            yield from ("--ro-bind", os.path.realpath(path), path)
    if os.path.islink("/etc/mtab"):
        yield from ("--symlink", "/proc/self/mounts", "/etc/mtab")


def _workspace_mounts(visible_files: VisibleFiles, read_only: bool) -> Iterator[list[str]]:
    """Yield the mounts, the outer before the inner. The last word of each is the path of the mount."""
    for top, may_write in visible_files.workspace_folders.items():
        yield ["--bind" if may_write and not read_only else "--ro-bind", top, top]
    for protected in visible_files.find_protected():
        if protected.level == "hidden" and protected.is_folder:
            yield ["--perms", "0000", "--tmpfs", protected.path, "--remount-ro", protected.path]
        elif protected.level == "hidden":
            yield ["--ro-bind", "/dev/null", protected.path]
        elif read_only:
            continue
        elif protected.level == "read-only" or not visible_files.may_write(protected.path):
            yield ["--ro-bind-try", protected.path, protected.path]
        else:
            # A mount cannot be renamed, so a command cannot put another folder in its place.
            yield ["--bind-try", protected.path, protected.path]


def _check_argument_count(arguments: int, files: int) -> None:
    if arguments > _MAX_ARGUMENTS:
        raise ToolError(
            f"the workspace has {files:,} protected files and folders, more than bubblewrap can cover: it takes "
            f"{_MAX_ARGUMENTS:,} arguments, about three for each; choose a smaller root, lift patterns with "
            f'Workspace(unprotected=...), or take best_sandbox(workspace, level="landlock")'
        )


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


def _mask_kernel_files() -> Iterator[str]:
    """
    Yield the options that make the new `/proc` and `/dev` read-only, and cover the files for root alone in `/proc`.

    For many files in `/proc`, the kernel checks only the user: a process of root may write them, even in a user
    namespace and without any capability. One of them, `/proc/sys/kernel/core_pattern`, names a program that the kernel
    starts outside of every sandbox.
    """
    for path in list_masked_files():
        yield from ("--ro-bind", "/dev/null", path)
    for name in _MASKED_FOLDERS:
        if os.path.isdir(path := f"/proc/{name}"):
            yield from ("--perms", "0555", "--tmpfs", path, "--remount-ro", path)
    yield from ("--remount-ro", "/proc", "--remount-ro", "/dev")


def choose_user() -> int | None:
    """
    Return a number that no user and no group of this machine has, or None if commands keep their user.

    Only commands of root get another user, so that programs treat it as an ordinary one. Its number stands for root:
    the command owns the files of root in the workspace, and the kernel still treats it as root where files are
    concerned. So the account alone protects nothing; the mounts do.
    """
    if os.geteuid() != 0:
        return None
    import grp
    import pwd

    # The numbers are tried one by one, because listing all users may take minutes with a directory service.
    for number in range(_FIRST_NUMBER, _LAST_NUMBER):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(number)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(number)
            continue
        return number
    return _LAST_NUMBER


def _account_lines(number: int) -> dict[str, str]:
    """Return the line of the account that the launcher adds to each list of names, by the path of the list."""
    home = "/tmp/home"  # noqa: S108 -- a private folder inside the sandbox
    return {
        "/etc/passwd": f"{USER_NAME}:x:{number}:{number}::{home}:/bin/sh\n",
        "/etc/group": f"{USER_NAME}:x:{number}:\n",
    }
