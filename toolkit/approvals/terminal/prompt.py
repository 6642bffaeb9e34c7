"""
An asker that asks the person at the terminal.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from ..._plumbing.forks import unlock_in_children
from ...decisions import ApprovalRequest, Decision
from ..askers import find_user
from .conversation import Conversation, RuleKeeper, run_editor
from .screens import Screen

__all__ = ["TerminalPrompt"]


class TerminalPrompt:
    """
    An asker for the person at the terminal: yes, no, always, or yes with other arguments.

    The questions of a tool are asked one after the other, each in the way that its schema suggests. The person may
    decline a question, or deny the call.

    The end of input denies the call. Ctrl-C leaves the request open, so that the call waits and does not run. Text that
    was typed before the question was shown does not answer it. Several requests at the same time are asked one after
    the other.

    Args:
        input: The stream for answers; by default the terminal, or standard input if there is no terminal.
        output: The stream for the request; by default the terminal, or standard output if there is no terminal.
        terminal: The device that is the terminal.
        edit: A function that gets the arguments as JSON text and returns the changed text; by default it runs $VISUAL
            or $EDITOR.
        colour: Whether to use colours; by default only on a terminal, and if NO_COLOR is not set.
        by: The name that is recorded for the person who answered; by default the name of the user.
        clock: A function that returns the time in seconds since 1970.
        keeper: An object that keeps "always" answers as rules for later sessions; by default they hold for the session.
    """

    blocking = True
    _one_at_a_time = unlock_in_children(threading.Lock())  # shared by all prompts, because there is one terminal

    def __init__(
        self,
        *,
        input: TextIO | None = None,  # noqa: A002 -- the usual name for it
        output: TextIO | None = None,
        terminal: str = "/dev/tty",
        edit: Callable[[str], str] | None = None,
        colour: bool | None = None,
        by: str | None = None,
        clock: Callable[[], float] = time.time,
        keeper: RuleKeeper | None = None,
    ) -> None:
        if not isinstance(by, str | None):
            raise TypeError(f"by is the name of the person as a text, or None; got {type(by).__name__}")
        self._input = input
        self._output = output
        self._terminal = terminal
        self._edit = edit
        self._colour = colour
        self._by = by
        self._clock = clock
        self._keeper = keeper

    def ask(self, request: ApprovalRequest) -> Decision | None:
        """Return the person's answer; return None after Ctrl-C, or if the request has expired."""
        with self._one_at_a_time:
            if request.expires_at is not None and self._clock() >= request.expires_at:
                return None
            with _open_streams(self._input, self._output, self._terminal) as (answers, output):
                if answers is None or output is None:  # A service may have neither stream.
                    return Decision.deny("there is no person to ask", by="nobody", principal=request.principal)
                edit = self._edit or (lambda text: run_editor(text, answers, output))
                screen = Screen(output, colour=self._colour)
                by = self._by or find_user("the terminal")
                conversation = Conversation(request, answers, screen, edit=edit, by=by, keeper=self._keeper)
                return conversation.decide(self._clock())


@contextlib.contextmanager
def _open_streams(
    answers: TextIO | None, output: TextIO | None, terminal: str
) -> Iterator[tuple[TextIO | None, TextIO | None]]:
    """Yield the streams for answers and for output: the ones that were given, the terminal, or the standard streams."""
    with contextlib.ExitStack() as stack:
        try:
            if answers is None:
                answers = stack.enter_context(open(terminal, errors="replace"))
            if output is None:
                output = stack.enter_context(open(terminal, "w", errors="backslashreplace"))
        except OSError:
            answers, output = answers or sys.stdin, output or sys.stdout
        yield answers, output
