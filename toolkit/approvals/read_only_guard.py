"""
A guard that keeps preview code from changing anything.

Inside `read_only`, an operation is refused if Python reports it as a write, a new process or a connection out of this
machine: files opened for writing, renames, sockets, subprocesses. The guard protects against mistakes; it is not a
security boundary. It does not see a write to a file that was open before, a write from a thread that the code starts
itself, or a write by compiled code that reports nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from .._plumbing.forks import unlock_in_children
from ..errors import Safety

__all__ = ["WriteRefused", "describe_forbidden_event", "read_only"]


class WriteRefused(Safety, PermissionError):  # noqa: N818 -- the name says what happened
    """A preview tried to change something. To code that handles it, it looks like a file that may not be written."""


@contextlib.contextmanager
def read_only() -> Iterator[list[str]]:
    """
    Refuse every reported write in this context, and in the tasks and threads that inherit it.

    The list collects the refused attempts. Code that catches the refusal has made the attempt all the same.
    """
    attempts: list[str] = []
    token = _attempts.set(attempts)
    try:
        _install()
        yield attempts
    finally:
        _attempts.reset(token)


_PROBE = "toolkit.read_only"
_attempts: ContextVar[list[str] | None] = ContextVar("toolkit_read_only", default=None)
_install_lock = unlock_in_children(threading.Lock())


def _install() -> None:
    """Add the audit hook, on first use only: it cannot be removed, and gets every audit event of the process."""
    with _install_lock:
        if not _is_watching():
            sys.addaudithook(_hook)
        if not _is_watching():  # Another hook may keep this one out, and Python would not report that.
            raise Safety("a preview cannot be watched here: another audit hook keeps ours out")


def _is_watching() -> bool:
    answers: list[bool] = []
    sys.audit(_PROBE, answers)
    return bool(answers)


# The variable is bound as a default, because the hook is still called after the interpreter has emptied this module.
def _hook(event: str, args: tuple[Any, ...], variable: ContextVar[list[str] | None] = _attempts) -> None:
    attempts = variable.get()
    if attempts is not None:
        _check_event(event, args, attempts)


def _check_event(event: str, args: tuple[Any, ...], attempts: list[str]) -> None:
    if event == _PROBE:
        args[0].append(True)
        return
    reason = describe_forbidden_event(event, args)
    if reason is not None:
        if not _is_bytecode(args):
            attempts.append(reason)
        raise WriteRefused(f"a preview may only read, and this one tried to {reason}")


def describe_forbidden_event(event: str, args: tuple[Any, ...]) -> str | None:
    """Return what an audit event would do that a preview must not do; return None if it only reads."""
    if event == "open":
        return f"open {_quote_target(args)} for writing" if _opens_for_writing(*args[1:3]) else None
    if event == "sqlite3.connect":
        return None if _is_read_only_database(args[0]) else f"open the database {_quote_target(args)} for writing"
    words = _REFUSED.get(event)
    if words is None and event.startswith(_REFUSED_FAMILIES):
        words = f"use {event.partition('.')[0]}"
    return None if words is None else f"{words} ({event} {_quote_target(args)})"


_REFUSED = {
    **dict.fromkeys(
        (
            *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
            *("os.chmod", "os.chown", "os.chflags", "os.utime", "os.setxattr", "os.removexattr"),
            *("tempfile.mkstemp", "tempfile.mkdtemp"),
        ),
        "change files",
    ),
    **dict.fromkeys(
        (
            *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
            *("os.startfile", "os.startfile/2", "pty.spawn", "webbrowser.open", "_winapi.CreateProcess"),
            "cpython.PyInterpreterState_New",
        ),
        "start something",
    ),
    **dict.fromkeys(
        (
            *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.sethostname"),
            *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
            *("http.client.send", "ftplib.sendcmd", "smtplib.send", "imaplib.send", "poplib.putline"),
            *("nntplib.putline", "telnetlib.Telnet.write", "syslog.syslog"),
        ),
        "reach outside",
    ),
    **dict.fromkeys(
        (
            *("os.putenv", "os.unsetenv", "os.chdir", "resource.setrlimit", "resource.prlimit"),
            *("os.kill", "os.killpg", "signal.pthread_kill", "sqlite3.enable_load_extension"),
        ),
        "change this process or another",
    ),
}
_REFUSED_FAMILIES = ("shutil.", "ctypes.", "winreg.Create", "winreg.Delete", "winreg.Set", "winreg.Load", "winreg.Save")
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _opens_for_writing(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode):
        return True
    return isinstance(flags, int) and bool(flags & _WRITING_FLAGS)


def _is_read_only_database(database: Any) -> bool:
    name = os.fsdecode(database) if isinstance(database, (str, bytes, os.PathLike)) else ""
    if name == ":memory:":
        return True
    address = urllib.parse.urlsplit(name)
    return address.scheme == "file" and urllib.parse.parse_qs(address.query).get("mode") == ["ro"]


def _is_bytecode(args: tuple[Any, ...]) -> bool:
    """Return whether Python itself only wanted to save compiled code; it works without that if it may not."""
    name = args[0] if args and isinstance(args[0], str) else ""
    return os.path.basename(name) == "__pycache__" or os.path.basename(os.path.dirname(name)) == "__pycache__"


def _quote_target(args: tuple[Any, ...]) -> str:
    return repr(args[0])[:200] if args and isinstance(args[0], (str, bytes, int, os.PathLike)) else ""
