"""
The folder in which the next command of a conversation would start, and the variables that it would find.

A person who agrees to a command agrees to it in that state. The person is shown the state, and it is a precondition of
the call. If the conversation has moved on when the answer comes, the person is asked again. A command that rules allow
without asking starts in the state that was judged, even if another call has moved the conversation meanwhile.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._plumbing.forks import unlock_in_children
from ...access import Command
from ...context import Context
from ...decisions import Changed, Precondition
from ...errors import ToolError
from ...policies.redaction import MASK
from ...results import ToolCall
from ...session import Session
from ...workspace.space import Workspace
from .outputs import make_readable
from .shell_state import find_folder, find_shell

__all__ = ["StartState", "StartStates", "start_state_of"]

_MAX_VALUE_CHARACTERS = 80
_SECRET_NAMES = re.compile(r"(?i)key|token|secret|pass|auth|cred|cookie|session|private")
_SECRET_VALUES = re.compile(
    r"sk-|gh[opsu]_|github_pat_|xox[a-z]-|AKIA|eyJ|-----BEGIN|[a-z+]+://[^/\s]*:[^/\s]*@|\S{32,}"
)
# The key is new in each process. Without a key, a short secret could be guessed from its digest.
_DIGEST_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartState:
    """The folder in which a command would start in the workspace at *root*, and the variables that were kept for it."""

    root: str
    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        """Return a description of the state for a person, with values that look secret masked."""
        lines = "".join(f"\nkept: {name}={_render_value(name, value)}" for name, value in self.variables.items())
        return f"in {make_readable(self.folder)}{lines}"

    def rewrite_from_root(self, command: str) -> str:
        """Return *command* as it would have to be written at the root. Rules and checks judge this text."""
        return command if self.folder == self.root else f"cd {shlex.quote(self.folder)}\n{command}"

    def precondition(self) -> Precondition:
        """Return the precondition that must hold when the command runs."""
        digests = {
            name: hmac.digest(_DIGEST_KEY, value.encode(errors="surrogateescape"), "sha256").hex()
            for name, value in self.variables.items()
        }
        state = json.dumps([self.folder, digests], sort_keys=True)
        return Precondition(path=self.folder, sha256=hashlib.sha256(state.encode()).hexdigest(), kind="tool")

    def check(self, preconditions: tuple[Precondition, ...]) -> None:
        """Raise `Changed` if a person agreed to a command in another state than this one."""
        if preconditions and self.precondition() not in preconditions:
            raise Changed(
                f"it would start in {make_readable(self.folder)}, and not in the state that a person agreed to"
            )


def start_state_of(session: Session | None, workspace: Workspace) -> StartState:
    """Return the state in which the next command of *session* would start. No shell is made for it."""
    shell = find_shell(session, workspace.root)
    if shell is None:
        return StartState(root=workspace.root, folder=workspace.root)
    return StartState(root=workspace.root, folder=shell.find_start_folder(workspace), variables=dict(shell.variables))


class StartStates:
    """
    Remembers in which state the calls of one tool were judged, from the verdict until they start.

    A call that was forgotten, because there were more than *max_calls*, is judged again when it runs.
    """

    def __init__(self, workspace: Workspace, *, max_calls: int = 1000) -> None:
        self._workspace = workspace
        self._max_calls = max_calls
        self._states_by_call: dict[tuple[str, str, str], list[StartState]] = {}
        self._lock = unlock_in_children(threading.Lock())

    def preflight(self, arguments: Any, call: ToolCall | None = None) -> list[Command]:
        """Return the access to judge: the command, in the state in which it would start now."""
        command = arguments["command"]
        start_state = start_state_of(None if call is None else call.session, self._workspace)
        if call is not None and call.session is not None:
            key = (call.session_key, call.id, command)
            with self._lock:
                judged_states = self._states_by_call.pop(key, [])
                # Two states are enough to show that there was more than one, so no more are kept.
                self._states_by_call[key] = (
                    judged_states if start_state in judged_states else [*judged_states[:1], start_state]
                )
                if len(self._states_by_call) > self._max_calls:
                    del self._states_by_call[next(iter(self._states_by_call))]
        return [Command(start_state.rewrite_from_root(command))]

    def start_state_for(self, context: Context, command: str) -> StartState:
        """
        Return the state in which the call that runs now has to start.

        Raises:
            Changed: A person agreed to the command in another state than the one in which it would start now.
            ToolError: The call cannot start in the folder in which it was judged, or may not start in the present one.
        """
        current = start_state_of(context.session, self._workspace)
        with self._lock:
            judged_states = self._states_by_call.pop((context.call.session_key, context.call.id, command), [])
        if context.permissions.preconditions:
            current.check(context.permissions.preconditions)
            return current
        if len(judged_states) != 1:  # several calls may have the same id
            context.permissions.check(Command(current.rewrite_from_root(command)))
            return current
        (judged,) = judged_states
        if find_folder(self._workspace, judged.folder) != judged.folder:
            folder = make_readable(judged.folder)
            raise ToolError(f"it was to start in {folder}, which is not a folder any more; call it again")
        return judged


def _render_value(name: str, value: str) -> str:
    if _SECRET_NAMES.search(name) or _SECRET_VALUES.match(value):
        return MASK
    text = make_readable(value).replace("\n", "\\n")
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}..."
