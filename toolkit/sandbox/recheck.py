"""
A second search of the workspace for protected files, when the sandbox of a command is ready.

The protected files are looked up before a sandbox is made, and a secret may appear after that. So the launcher asks
again before it lets the command begin, and starts over if there are more files to hide. Only this process knows the
patterns, and what it has already seen of the disk. A thread of this process answers the launcher.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeAlias

from .._plumbing.forks import unlock_in_children
from ..errors import ToolError
from .launcher.messages import HiddenFiles, RecheckAnswer

__all__ = ["FindHidden", "RecheckServer"]

FindHidden: TypeAlias = Callable[[], HiddenFiles]
"""A function that returns what has to be hidden now."""

_SEND_TIMEOUT_SECONDS = 5.0


class RecheckServer:
    """A server that answers launchers with what *find_hidden* returns. It starts when its address is first read."""

    def __init__(self, find_hidden: FindHidden) -> None:
        self._find_hidden = find_hidden
        self._lock = unlock_in_children(threading.Lock())
        self._address = ""
        self._pid = 0

    @property
    def address(self) -> str:
        """The address that launchers connect to. It is the name of an abstract socket, which is not in any folder."""
        with self._lock:
            if self._pid != os.getpid():  # a forked child has no such thread
                self._address, self._pid = self._start(), os.getpid()
            return self._address

    def _start(self) -> str:
        name = f"toolkit-{os.getpid()}-{secrets.token_hex(16)}"
        with contextlib.ExitStack() as stack:
            try:
                listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                listener.bind(f"\0{name}")
                listener.listen(64)
                arguments = (listener, self._find_hidden)
                threading.Thread(target=_serve, args=arguments, name="toolkit-recheck", daemon=True).start()
            except (OSError, RuntimeError) as error:
                raise ToolError(f"protected files could not be looked up ({error}); try again later") from error
            stack.pop_all()
        weakref.finalize(self, _close_listener, listener, os.getpid())
        return name


def _close_listener(listener: socket.socket, pid: int) -> None:
    if os.getpid() == pid:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # this ends the wait in `accept`; closing alone does not
    listener.close()


def _serve(listener: socket.socket, find_hidden: FindHidden) -> None:
    while listener.fileno() >= 0:
        try:
            client, _ = listener.accept()
        except OSError:
            time.sleep(0.05)  # the socket is closed, or no descriptor is free for a moment
            continue
        with client, contextlib.suppress(OSError):
            if _is_same_user(client):
                client.settimeout(_SEND_TIMEOUT_SECONDS)
                client.sendall(_build_answer(find_hidden))


def _is_same_user(client: socket.socket) -> bool:
    """Return whether the client is the same user. Every user of the machine can find such a socket."""
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return bool(struct.unpack("iII", credentials)[1] == os.geteuid())


def _build_answer(find_hidden: FindHidden) -> bytes:
    try:
        return json.dumps(find_hidden()).encode()
    except Exception as error:  # noqa: BLE001 -- the error must fail the command, not this thread
        answer: RecheckAnswer = {"failure": f"{type(error).__name__}: {error}"}
        return json.dumps(answer).encode()
