"""
Starts one command in its sandbox and outlives it, so that nothing of it is left behind.

Run by path, `python -I -S launcher.py JSON...`: it stands alone and imports nothing of ours. It forks once, while it
has one thread; the child takes away its own rights and becomes the command. The parent waits for it, adopts whatever
it orphans, and on SIGTERM, or when the command is done, ends all of that: politely first, then not. It does the same
when the process that started it dies.

The outcome goes to a pipe that the command never sees, as one JSON object: `{"exit": 0, "left": 0}`.
"""

from __future__ import annotations

import base64
import ctypes
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

_LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT, _SYS_OPENAT2 = 444, 445, 446, 437
_O_PATH, _RESOLVE_NO_SYMLINKS = 0o10000000, 4
_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FAILED = 125


def main(arguments: list[str]) -> int:
    """Run what *arguments*, the pieces of a JSON text, ask for; its exit code, as a shell counts them."""
    wish = json.loads("".join(arguments))
    status = _moved(wish.get("status_fd"))
    third = _moved(wish.get("third_fd"))
    if third is not None:
        os.dup2(third, 3, inheritable=True)
    news = _listened_to()
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != wish.get("starter", os.getppid()):
        return _FAILED  # it died before we could ask to be told
    if "pen" not in wish:
        wish["pen"] = _pen(wish["crowd"]) if wish.get("crowd") else None
    trouble, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(trouble)
        _become(wish, told)
    os.close(told)
    if third is not None:
        os.close(third)
        os.close(3)
    outcome = _Watch(child, wish, news).outcome(trouble)
    if status is not None:
        _write(status, json.dumps(outcome).encode())
    elif "failed" in outcome:
        _write(2, f"toolkit: {outcome['failed']}\n".encode())
    return int(outcome["exit"])


def _moved(number: int | None) -> int | None:
    """The same descriptor out of the way of the low numbers, and closed for whoever is started."""
    if number is None:
        return None
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return moved


def _pen(crowd: int) -> str | None:
    """A control group with room for that many processes; None if none can be made. Only root needs and gets one."""
    for folder in _own_groups():
        _clear_pens(folder)
        place = f"{folder}/toolkit-{os.getpid()}"
        try:
            os.mkdir(place)
        except OSError:
            continue
        try:
            _put(f"{place}/pids.max", str(crowd))
        except OSError:
            os.rmdir(place)
            continue
        return place
    return None


def _clear_pens(folder: str) -> None:
    """Remove what launchers left that were killed; one with somebody in it cannot be removed."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        number = name.removeprefix("toolkit-")
        if number != name and number.isdigit() and not os.path.exists(f"/proc/{number}"):
            try:
                os.rmdir(f"{folder}/{name}")
            except OSError:
                continue


def _own_groups() -> Iterator[str]:
    try:
        with open("/proc/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if "pids" in kinds.split(","):
            yield f"/sys/fs/cgroup/{kinds}{path.rstrip('/')}"
        elif not kinds:
            yield f"/sys/fs/cgroup{path.rstrip('/')}"


def _put(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _listened_to() -> int:
    """A pipe in which the number of every signal arrives that matters here."""
    news, sent = os.pipe()
    for end in (news, sent):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_STOP):
        signal.signal(number, lambda *_: None)
    return news


# In the child: from here to exec, everything is taken away that the command shall not have.


def _become(wish: dict[str, Any], told: int) -> NoReturn:
    step = "start"
    try:
        os.setsid()
        if _LINUX:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for step, take_away in _STEPS:  # noqa: B007 -- named in the message below
            take_away(wish)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a command would inherit that
            signal.signal(number, signal.SIG_DFL)
        step = "run"
        os.execvpe(wish["argv"][0], _argv(wish), dict(os.environ))  # noqa: S606 -- a shell is what is asked for
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the command must not run
        _write(told, f"cannot {step} {wish['argv'][0]}: {error}".encode(errors="replace"))
    os._exit(_FAILED)


def _enter(wish: dict[str, Any]) -> None:
    if wish.get("cwd") is not None:
        os.chdir(wish["cwd"])


def _enter_pen(wish: dict[str, Any]) -> None:
    if wish["pen"] is not None:
        _put(f"{wish['pen']}/cgroup.procs", "0")


def _limit(wish: dict[str, Any]) -> None:
    import resource

    for name, most in wish.get("limits", {}).items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        if name == "NPROC":
            most += _threads_of_user()  # noqa: PLW2901 -- the kernel counts all that the user has, not only ours
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 -- as above
        resource.setrlimit(kind, (most, most))


def _drop_privileges(wish: dict[str, Any]) -> None:
    if not wish.get("drop"):
        return
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        with open("/proc/sys/kernel/cap_last_cap") as file:
            last = int(file.read())
        for capability in range(last + 1):
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # what it did not have, it need not lose
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _landlock(wish: dict[str, Any]) -> None:
    asked = wish.get("landlock")
    if asked is None:
        return
    handled = (ctypes.c_uint64 * 3)(asked["files"], asked["network"], asked["scoped"])
    ruleset = _syscall(_SYS_LANDLOCK_CREATE, handled, asked["size"], 0)
    for path, rights in asked["rules"]:
        try:
            folder = _opened(path)
        except OSError:
            continue  # it is not there, or a link took its place: then it is not granted
        if not os.path.isdir(f"/proc/self/fd/{folder}"):
            rights &= asked["file_rights"]  # noqa: PLW2901 -- the kernel refuses the others on a file
        rule = ctypes.create_string_buffer(rights.to_bytes(8, sys.byteorder) + folder.to_bytes(4, sys.byteorder), 12)
        _syscall(_SYS_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(folder)
    _syscall(_SYS_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _opened(path: str) -> int:
    """*path* itself: a link anywhere in it could have been put there to widen the sandbox."""
    how = (ctypes.c_uint64 * 3)(_O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)
    return _syscall(_SYS_OPENAT2, -100, os.fsencode(path), how, 24)


def _seccomp(wish: dict[str, Any]) -> None:
    if wish.get("seccomp") is None:
        return
    code = base64.b64decode(wish["seccomp"])
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(len(code) // 8, ctypes.addressof(buffer))
    _checked(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")


def _argv(wish: dict[str, Any]) -> list[str]:
    """The command; what bubblewrap is told goes through a file, where it may be long."""
    options = wish.get("options")
    if options is None:
        return list(wish["argv"])
    program, *rest = wish["argv"]
    if wish.get("filter") is not None:
        options = ["--seccomp", str(_memory("filter", base64.b64decode(wish["filter"]))), *options]
    text = b"".join(os.fsencode(each) + b"\0" for each in options)
    return [program, "--args", str(_memory("options", text)), "--", *rest]


def _memory(name: str, content: bytes) -> int:
    file = os.memfd_create(name, 0)
    _write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


_STEPS: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("enter the folder for", _enter),
    ("count the processes of", _enter_pen),
    ("limit", _limit),
    ("drop privileges for", _drop_privileges),
    ("apply Landlock to", _landlock),
    ("apply seccomp to", _seccomp),
]


# In the parent: wait, and leave nothing behind.


class _Watch:
    """The command, and everything that descends from it."""

    def __init__(self, child: int, wish: dict[str, Any], news: int) -> None:
        self._child = child
        self._news = news
        # A monitor that would take everybody with it at once is not asked politely.
        self._monitor = child if wish.get("options") is not None else None
        self._polite = float(wish.get("grace_seconds", 2.0))
        self._pen = wish["pen"]
        self._crowd = wish.get("crowd") if self._pen is None else None
        self._crowded = _numbers() + (self._crowd or 0)
        self._status: int | None = None
        self._stopped = ""

    def outcome(self, trouble: int) -> dict[str, Any]:
        failed = os.read(trouble, 4096).decode(errors="replace")  # it ends empty when the command takes over
        os.close(trouble)
        # A pipe has to end when the command's own side of it does.
        empty = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1) if failed else (0, 1, 2):
            os.dup2(empty, number)
        self._reap()
        while self._status is None:
            self._watch()
        self._wait_until_alone(time.monotonic() + 0.1)  # many are just about to end
        left = 0 if self._monitor else len(_descendants(self._child))
        self._end(0.2)
        self._tear_down()
        if failed:
            return {"exit": _FAILED, "failed": failed}
        code = os.waitstatus_to_exitcode(self._status)
        found: dict[str, Any] = {"exit": code if code >= 0 else 128 - code, "left": left}
        if self._stopped:
            found["stopped"] = self._stopped
        return found

    def _tear_down(self) -> None:
        for _ in range(100 if self._pen else 0):
            try:
                os.rmdir(self._pen)
            except OSError:
                self._hear(0.01)  # the last one has ended, and is still counted
            else:
                return

    def _watch(self) -> None:
        """Wait for news; the crowd is counted now and then where no limit of the system does it."""
        heard = self._hear(0.1 if self._crowd else None)
        self._reap()
        if self._status is not None:
            return
        if any(number in heard for number in _STOP):
            self._stopped = "asked"
            self._end(self._polite)
        elif self._crowd and _numbers() > self._crowded and len(_descendants(self._child)) > self._crowd:
            self._stopped = "crowd"
            self._end(0)

    def _hear(self, seconds: float | None) -> bytes:
        """The signals that have come, waiting for one if there is none."""
        if not select.select([self._news], [], [], seconds)[0]:
            return b""
        return os.read(self._news, 4096)

    def _reap(self) -> None:
        for _ in range(1000):  # there may be new ones for ever
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child:
                self._status = status

    def _end(self, polite_seconds: float) -> None:
        """End every descendant: SIGTERM, a while to tidy up, SIGKILL until none is left."""
        if polite_seconds:
            self._signal(signal.SIGTERM, spared=self._monitor)
            self._wait_until_alone(time.monotonic() + polite_seconds)
        give_up = time.monotonic() + 10.0
        while _descendants(self._child) and time.monotonic() < give_up:
            self._signal(signal.SIGKILL)
            self._wait_until_alone(time.monotonic() + 0.05)
        self._reap()

    def _signal(self, number: int, *, spared: int | None = None) -> None:
        # The group first, in one step: those who fork faster than we count are mostly in it. Once the
        # command is reaped its number may be another's.
        group = [-self._child] if self._status is None and spared is None else []
        for target in (*group, *_descendants(self._child)):
            if target == spared:
                continue
            try:
                os.kill(target, number)
            except (ProcessLookupError, PermissionError):
                continue

    def _wait_until_alone(self, until: float) -> None:
        self._reap()
        while _descendants(self._child) and (seconds := until - time.monotonic()) > 0:
            self._hear(min(seconds, 0.05))
            self._reap()


def _numbers() -> int:
    """How many processes there are, ours or not: quick to tell, however many there are."""
    return len(os.listdir("/proc")) if _LINUX else 0


def _descendants(child: int) -> list[int]:
    """Everything that we or our children started and that still runs; its group, where that cannot be told."""
    if not _LINUX:
        try:
            os.kill(-child, 0)
        except OSError:
            return []
        return [-child]
    children: dict[int, list[int]] = {}
    dead = set()
    for pid, parent, state in _processes():
        children.setdefault(parent, []).append(pid)
        if state in "ZX":
            dead.add(pid)
    found, waiting = [], children.get(os.getpid(), [])[:]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return [pid for pid in found if pid not in dead]


def _processes() -> Iterator[tuple[int, int, str]]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue  # it has just ended
        yield int(name), int(fields[1]), fields[0].decode()


def _threads_of_user() -> int:
    if not _LINUX:
        return 0
    found, user = 0, os.getuid()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid == user:
                found += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return found


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def _syscall(number: int, *arguments: Any) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
