"""
Questions to the person at the terminal: about a call that needs approval, and plain questions.

The asker leaves a request open if the person presses Ctrl-C. Python handles a signal in the main thread, and an asker
that blocks runs in another one. So the handler of the signal calls `InterruptiblePrompt.interrupt`, which ends the
question. The request then waits, as if no person had been asked, and the call does not run. A later command can ask
about the request again.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TextIO, cast

from .._plumbing.forks import unlock_in_children
from ..approvals import TerminalPrompt
from ..decisions import ApprovalRequest, Decision
from .interruptible_loop import wake_on_signal
from .kept_rules import UserRules

__all__ = ["InterruptiblePrompt", "confirm", "make_prompt"]

_TERMINAL = "/dev/tty"


class InterruptiblePrompt:
    """
    An asker for the person at the terminal.

    *pause* returns a context manager that keeps other output off the terminal inside its block.

    Attributes:
        open_requests: The requests that Ctrl-C left without an answer, in the order in which they came.
        is_interrupted: Whether the person pressed Ctrl-C at a question. From then on no question is asked.
    """

    blocking = True

    def __init__(self, pause: Callable[[], AbstractContextManager[object]]) -> None:
        self.open_requests: list[ApprovalRequest] = []
        self.is_interrupted = False
        self._pause = pause
        # A signal may come while the handler of another one holds the lock, so the same thread can take it again.
        self._lock = unlock_in_children(threading.RLock())
        self._one_at_a_time = unlock_in_children(threading.Lock())
        self._waker: socket.socket | None = None

    def interrupt(self) -> bool:
        """End the question that is being asked, and return whether there is one. A signal handler may call this."""
        with self._lock:
            if self._waker is None:
                return False
            self.is_interrupted = True
            with contextlib.suppress(OSError):  # an earlier signal has filled the socket
                self._waker.send(b"\0")
            return True

    def ask(self, request: ApprovalRequest) -> Decision | None:
        """Return the person's answer; return None if the person pressed Ctrl-C, or if the request has expired."""
        decision = None
        with self._one_at_a_time:
            if not self.is_interrupted:
                with self._pause(), self._open_answers() as answers:
                    prompt = TerminalPrompt(input=answers, terminal=_TERMINAL, keeper=UserRules())
                    decision = prompt.ask(request)
            # An answer that came together with Ctrl-C does not count.
            if self.is_interrupted:
                self.open_requests.append(request)
                return None
        return decision

    @contextlib.contextmanager
    def _open_answers(self) -> Iterator[TextIO]:
        """Yield a stream of the lines that the person types, whose `readline` is ended by `interrupt`."""
        receiver, sender = socket.socketpair()
        sender.setblocking(False)
        with receiver, sender, open(_TERMINAL, "rb", buffering=0) as device:
            with self._lock:
                self._waker = sender
            try:
                yield cast("TextIO", _Answers(device.fileno(), receiver))
            finally:
                with self._lock:
                    self._waker = None


class _Answers(io.TextIOBase):
    """The lines that a person types on the terminal *descriptor*, until *receiver* has something to read."""

    def __init__(self, descriptor: int, receiver: socket.socket) -> None:
        self._descriptor = descriptor
        self._receiver = receiver
        self._rest = b""

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # the size is not used here
        """Return the next line, or an empty text at the end of input; raise `KeyboardInterrupt` if interrupted."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._descriptor, self._receiver.fileno()], [], [])
            if self._receiver.fileno() in ready:
                raise KeyboardInterrupt
            piece = os.read(self._descriptor, 4096)
            if not piece:
                break
            self._rest += piece
        line, newline, self._rest = self._rest.partition(b"\n")
        return (line + newline).decode(errors="replace")

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor


def make_prompt(may_ask: bool, pause: Callable[[], AbstractContextManager[object]]) -> InterruptiblePrompt | None:
    """Return an asker for the person at the terminal; None if *may_ask* is false or there is no terminal."""
    # Without a terminal, a prompt would read the arguments on standard input and take them for answers.
    with contextlib.suppress(OSError):
        if may_ask:
            os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY))
            return InterruptiblePrompt(pause)
    return None


def confirm(question: str, terminal: str = _TERMINAL) -> bool:
    """Ask *question* at *terminal*. Return True only if the answer is `y` or `yes`; False if there is no terminal."""
    with contextlib.suppress(ImportError, OSError), open(terminal, "r+b", buffering=0) as device:
        import termios  # some systems have neither this module nor a terminal of this name

        if not device.isatty():
            return False
        termios.tcflush(device, termios.TCIFLUSH)  # text that was typed before the question is no answer to it
        device.write(f"{question} [y]es, [n]o: ".encode())
        with wake_on_signal() as receiver:
            # Ctrl-C just before `readline` would be noticed only after the next line. So the signal itself wakes this.
            select.select([device.fileno(), receiver.fileno()], [], [])
        return device.readline().strip().lower() in (b"y", b"yes")
    return False
