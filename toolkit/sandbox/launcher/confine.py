"""
The child of the launcher: it gives up all rights that the command must not have, and becomes the command.

At run time this file imports nothing else of the package, because the launcher is loaded without it.
"""

from __future__ import annotations

import base64
import ctypes
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from .messages import LaunchRequest

__all__ = [
    "NOT_RUN_EXIT_CODE",
    "StartGate",
    "become_command",
    "build_bubblewrap_command",
    "prctl",
    "write_all",
    "write_text",
]

NOT_RUN_EXIT_CODE = 125
"""The exit code if no command was run."""

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT, _SYS_OPENAT2 = 444, 445, 446, 437
_O_PATH, _RESOLVE_NO_SYMLINKS = 0o10000000, 4
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_SLAVE, _MS_RELATIME = 1, 32, 4096, 16384, 1 << 19, 1 << 21
# nosuid, nodev, noexec, noatime and nodiratime have the same numbers in both lists.
_ST_SAME_AS_MS, _ST_RELATIME = 2 | 4 | 8 | 1024 | 2048, 4096


def become_command(request: LaunchRequest, error_fd: int, gate: StartGate | None) -> NoReturn:
    """Replace this process with the command. If this fails, write the reason to *error_fd*, and end this process."""
    step = "start"
    try:
        os.setsid()
        if sys.platform == "linux":
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for step, restrict in _STEPS:  # noqa: B007 -- named in the message below
            restrict(request)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would too
            signal.signal(number, signal.SIG_DFL)
        step = "run"
        argv = list(request["argv"])
        if "bubblewrap_options" in request:
            if gate is not None:
                gate.hand_to_bubblewrap()  # before the files for bubblewrap, which might get its numbers
            argv = build_bubblewrap_command(request, is_gated=gate is not None)
        elif gate is not None:
            gate.wait()
        os.execvpe(argv[0], argv, dict(os.environ))  # noqa: S606 -- the caller asks for a shell
    except BaseException as error:  # noqa: BLE001 -- after any error, the command must not run
        write_all(error_fd, f"cannot {step} {request['argv'][0]}: {error}".encode(errors="replace"))
    os._exit(NOT_RUN_EXIT_CODE)


class StartGate(NamedTuple):
    """
    The point where a child waits until its parent lets it begin.

    Attributes:
        socket_fd: A socket. The child writes a byte when it is ready, and reads a byte before it begins.
        message_fd: A file for messages from before the command begins, which do not come from the command.
    """

    socket_fd: int
    message_fd: int

    def wait(self) -> None:
        os.write(self.socket_fd, b"\n")
        if not os.read(self.socket_fd, 1):
            os._exit(NOT_RUN_EXIT_CODE)  # the parent has ended

    def hand_to_bubblewrap(self) -> None:
        """Leave the waiting to `_WAIT_SCRIPT`, which is started inside bubblewrap."""
        for number, place in ((2, _ERRORS_FD), (self.socket_fd, _GATE_FD), (self.message_fd, 2)):
            os.dup2(number, place, inheritable=True)


# The script of the first program inside bubblewrap. A shell needs single digits for descriptors.
_ERRORS_FD, _GATE_FD = 8, 9
_WAIT_SCRIPT = f"""
    exec 2>&{_ERRORS_FD} {_ERRORS_FD}>&-
    echo >&{_GATE_FD}
    read -r go <&{_GATE_FD} || exit {NOT_RUN_EXIT_CODE}
    exec {_GATE_FD}>&-
    exec "$@"
"""


def _enter_folder(request: LaunchRequest) -> None:
    if "cwd" in request:
        os.chdir(request["cwd"])


def _enter_cgroup(request: LaunchRequest) -> None:
    cgroup = request.get("cgroup")
    if cgroup is not None:
        write_text(f"{cgroup}/cgroup.procs", "0")


def _set_limits(request: LaunchRequest) -> None:
    import resource

    for name, limit in request.get("limits", {}).items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        if name == "NPROC":
            limit += _count_threads_of_user()  # noqa: PLW2901 -- the kernel counts all processes of the user
        hard_limit = resource.getrlimit(kind)[1]
        limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)  # noqa: PLW2901 -- as above
        resource.setrlimit(kind, (limit, limit))


def _drop_privileges(request: LaunchRequest) -> None:
    if not request.get("drop_privileges"):
        return
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        with open("/proc/sys/kernel/cap_last_cap") as file:
            last = int(file.read())
        for capability in range(last + 1):
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # dropping an absent capability may fail
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        _check_result(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _guard_devices(request: LaunchRequest) -> None:
    """
    Make the paths of devices read-only for bubblewrap, which shows them to the command.

    Root owns the devices, so a command of root could change their modes for the whole machine. The devices can still be
    read and written. Where nothing can be mounted, this function does nothing; the probe of the sandbox then notices
    it.
    """
    devices = request.get("guarded_devices")
    if not devices or not _make_own_mounts():
        return
    _mount(None, "/", _MS_REC | _MS_SLAVE)
    for path in filter(os.path.exists, devices):
        _mount(path, path, _MS_BIND)
        _mount(path, path, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _mount_flags(path))
        _reopen(path)


def _reopen(path: str) -> None:
    """Open *path* again if it is a standard stream: an older descriptor could still change the mode of a device."""
    device = os.stat(path).st_rdev
    for number in (0, 1, 2):
        status = os.fstat(number)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == device:
            flags = fcntl.fcntl(number, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK)
            descriptor = os.open(path, flags | os.O_NOCTTY)
            os.dup2(descriptor, number, inheritable=True)
            os.close(descriptor)


def _make_own_mounts() -> bool:
    """Give this process its own mounts, in its own user namespace if it must be, and return whether that succeeded."""
    if _libc.unshare(_CLONE_NEWNS) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        write_text(f"/proc/self/{name}", text)
    return True


def _mount_flags(path: str) -> int:
    """
    Return the flags of the mount that contains *path*. Inside a container the kernel refuses to remove any of them.
    """
    flags = os.statvfs(path).f_flag
    return flags & _ST_SAME_AS_MS | (_MS_RELATIME if flags & _ST_RELATIME else 0)


def _mount(source: str | None, target: str, flags: int) -> None:
    source_path = None if source is None else os.fsencode(source)
    _check_result(_libc.mount(source_path, os.fsencode(target), None, ctypes.c_ulong(flags), None), f"mount {target}")


def _apply_landlock(request: LaunchRequest) -> None:
    if "landlock" not in request:
        return
    rules = request["landlock"]
    handled = (ctypes.c_uint64 * 3)(rules["handled_access_fs"], rules["handled_access_net"], rules["scoped"])
    ruleset = _syscall(_SYS_LANDLOCK_CREATE, handled, rules["struct_bytes"], 0)
    for path, rights in (*rules["rules"], *request.get("private_folder_rules", ())):
        try:
            folder = _open_without_links(path)
        except OSError:
            continue  # it is gone, or a link has replaced it: then it is not granted
        if not os.path.isdir(f"/proc/self/fd/{folder}"):
            rights &= rules["single_file_rights"]  # noqa: PLW2901 -- the kernel refuses the others on a file
        rule = ctypes.create_string_buffer(rights.to_bytes(8, sys.byteorder) + folder.to_bytes(4, sys.byteorder), 12)
        _syscall(_SYS_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(folder)
    _syscall(_SYS_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _open_without_links(path: str) -> int:
    """Open *path* without following any link, because a link could have been put there to widen the sandbox."""
    open_how = (ctypes.c_uint64 * 3)(_O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)
    return _syscall(_SYS_OPENAT2, -100, os.fsencode(path), open_how, 24)


def _apply_seccomp(request: LaunchRequest) -> None:
    if "seccomp_filter" not in request:
        return
    code = base64.b64decode(request["seccomp_filter"])
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(len(code) // 8, ctypes.addressof(buffer))
    _check_result(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")


def build_bubblewrap_command(request: LaunchRequest, *, is_gated: bool) -> list[str]:
    """Return the command line of bubblewrap. Its options are passed in a file, because they may be long."""
    options = [
        *request["bubblewrap_options"],
        *(option for mount in request.get("protected_mounts", ()) for option in mount),
        *request.get("bubblewrap_last_options", ()),
    ]
    program, *rest = request["argv"]
    if "bubblewrap_filter" in request:
        code = base64.b64decode(request["bubblewrap_filter"])
        options = ["--seccomp", str(_make_memory_file("filter", code)), *options]
    for path, line in request.get("account_lines", {}).items():
        options = [
            "--perms",
            "0444",
            "--ro-bind-data",
            str(_make_memory_file("account", _read_lines(path) + line.encode())),
            path,
            *options,
        ]
    text = b"".join(os.fsencode(option) + b"\0" for option in options)
    gate_command = ["/bin/sh", "-c", _WAIT_SCRIPT, "sh"] if is_gated else []
    return [program, "--args", str(_make_memory_file("options", text)), "--", *gate_command, *rest]


def _read_lines(path: str) -> bytes:
    """Return the content of *path* with a complete last line, or nothing if it cannot be read."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return b""
    return content if content.endswith(b"\n") or not content else content + b"\n"


def _make_memory_file(name: str, content: bytes) -> int:
    file = os.memfd_create(name, 0)
    write_all(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


_STEPS: list[tuple[str, Callable[[LaunchRequest], None]]] = [
    ("enter the folder for", _enter_folder),
    ("count the processes of", _enter_cgroup),
    ("limit", _set_limits),
    ("drop privileges for", _drop_privileges),
    ("guard the devices from", _guard_devices),
    ("apply Landlock to", _apply_landlock),
    ("apply seccomp to", _apply_seccomp),
]


def write_text(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _count_threads_of_user() -> int:
    if sys.platform != "linux":
        return 0
    count, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


def write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def prctl(option: int, value: int) -> None:
    _check_result(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def _syscall(number: int, *arguments: Any) -> int:
    return _check_result(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def _check_result(result: int, call: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result
