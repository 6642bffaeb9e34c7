"""
Ready-made ways to ask: a terminal, a function, nobody.

An asker gets an `ApprovalRequest` and answers with a `Decision`, now or when
awaited; None leaves the request waiting for somebody else. One that blocks says
so with `blocking = True`, and is called in a thread.
"""

from __future__ import annotations

import contextlib
import getpass
import inspect
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol, TextIO, TypeAlias

from ..requests import ApprovalRequest, Decision
from .conversation import Conversation, in_editor
from .screens import Screen

__all__ = ["Answer", "Asker", "Callback", "DenyAll", "TerminalPrompt"]

Answer: TypeAlias = "Decision | None"


class Asker(Protocol):
    """Whoever can be asked. Without a `blocking` attribute it is taken not to block."""

    def ask(self, request: ApprovalRequest) -> Answer | Awaitable[Answer]: ...


class TerminalPrompt:
    """
    Ask whoever sits at the terminal: yes, no, always, or yes with other arguments.

    No answer is a no: the end of input and Ctrl-C deny. What was typed before the question was
    shown does not answer it. Several requests at once are asked one after the other.

    Args:
        input: Where answers are read from; the terminal unless given, or standard input if there is none.
        output: Where the request is shown; likewise.
        terminal: The device that is the terminal.
        edit: Gets the arguments as JSON text and returns them changed; $VISUAL or $EDITOR unless given.
        colour: Whether to use colours; unless stated, on a terminal if NO_COLOR is not set.
        by: Who is written down as having answered; the name of the user unless given.
        clock: Seconds since 1970.
    """

    blocking = True
    _one_at_a_time = threading.Lock()  # of all prompts, because there is one terminal

    def __init__(
        self,
        *,
        input: TextIO | None = None,  # noqa: A002 -- what it is called everywhere
        output: TextIO | None = None,
        terminal: str = "/dev/tty",
        edit: Callable[[str], str] | None = None,
        colour: bool | None = None,
        by: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._input = input
        self._output = output
        self._terminal = terminal
        self._edit = edit
        self._colour = colour
        self._by = by
        self._clock = clock

    def ask(self, request: ApprovalRequest) -> Decision | None:
        """The person's answer; None if it is too late for one."""
        with self._one_at_a_time:
            if request.expires_at is not None and self._clock() >= request.expires_at:
                return None
            with _streams(self._input, self._output, self._terminal) as (answers, output):
                if answers is None or output is None:  # a service may have neither
                    return Decision.deny("nobody is there to ask", by="nobody", principal=request.principal)
                edit = self._edit or (lambda text: in_editor(text, answers, output))
                screen = Screen(output, colour=self._colour)
                talk = Conversation(request, answers, screen, edit=edit, by=self._by or _user())
                return talk.decision(self._clock())


@contextlib.contextmanager
def _streams(
    given: TextIO | None, shown: TextIO | None, terminal: str
) -> Iterator[tuple[TextIO | None, TextIO | None]]:
    """Where to read and where to write: what was given, the terminal, or the standard streams."""
    with contextlib.ExitStack() as stack:
        try:
            if given is None:
                given = stack.enter_context(open(terminal, errors="replace"))
            if shown is None:
                shown = stack.enter_context(open(terminal, "w", errors="backslashreplace"))
        except OSError:
            given, shown = given or sys.stdin, shown or sys.stdout
        yield given, shown


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "the terminal"


class Callback:
    """
    Ask a function of the request, sync or async.

    It returns a `Decision`, True to approve once, False to deny, or None to leave the request waiting.

    Args:
        by: Who is written down as having answered, where the function says only True or False.
        blocking: Whether it takes its time and has to be called in a thread.
    """

    def __init__(
        self,
        function: Callable[[ApprovalRequest], Decision | bool | Awaitable[Decision | bool | None] | None],
        *,
        by: str | None = None,
        blocking: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a callback has to be a function of the request, got {type(function).__name__}")
        self._function = function
        self._by = by
        self.blocking = blocking

    def ask(self, request: ApprovalRequest) -> Answer | Awaitable[Answer]:
        answer = self._function(request)
        if inspect.isawaitable(answer):
            return self._awaited(request, answer)
        return self._decision(request, answer)

    async def _awaited(self, request: ApprovalRequest, answer: Awaitable[Any]) -> Answer:
        return self._decision(request, await answer)

    def _decision(self, request: ApprovalRequest, answer: Any) -> Answer:
        if answer is None or isinstance(answer, Decision):
            return answer
        # Exactly these: a truthy text such as "no" must not approve.
        if answer is True:
            return Decision.approve(by=self._by, principal=request.principal)
        if answer is False:
            return Decision.deny(by=self._by, principal=request.principal)
        raise TypeError(
            f"the callback for `{request.tool}` answered with {type(answer).__name__}; "
            "it has to be a Decision, True, False or None"
        )


class DenyAll:
    """Say no to everything, for use where nobody is there to ask."""

    def __init__(self, reason: str = "nobody is there to ask") -> None:
        self._reason = reason

    def ask(self, request: ApprovalRequest) -> Decision:
        return Decision.deny(self._reason, by="nobody", principal=request.principal)
