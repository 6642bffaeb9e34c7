"""
Where the next command of a conversation would start, and with which of its variables.

A person who agrees to a command agrees to it there: they are shown the place, and it is a precondition of the call.
If the conversation has moved on when the answer comes, they are asked again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..redaction import MASK
from ..requests import Changed, Precondition
from ..session import Session
from ..workspace.space import Workspace
from .outputs import readable
from .shells import known_shell

__all__ = ["Standing", "standing_of"]

_MOST_OF_A_VALUE = 80
_SECRET_NAMES = re.compile(r"(?i)key|token|secret|pass|auth|cred|cookie|session|private")
_SECRET_VALUES = re.compile(
    r"sk-|gh[opsu]_|github_pat_|xox[a-z]-|AKIA|eyJ|-----BEGIN|[a-z+]+://[^/\s]*:[^/\s]*@|\S{32,}"
)
# Of this process alone: a digest of a short secret could be guessed from.
_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    The state that a command would find.

    Attributes:
        root: Of the workspace.
        folder: Where it would start.
        variables: What was kept for it.
    """

    root: str
    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> str:
        """What a person reads about it; values that look secret are masked."""
        kept = "".join(f"\nkept: {name}={_shown(name, value)}" for name, value in self.variables.items())
        return f"in {readable(self.folder)}{kept}"

    def read_from_root(self, command: str) -> str:
        """*command* as it would have to be written at the root: what rules and checks have to judge."""
        return command if self.folder == self.root else f"cd {shlex.quote(self.folder)}\n{command}"

    def precondition(self) -> Precondition:
        """What has to be so when the command runs."""
        kept = {
            name: hmac.digest(_KEY, value.encode(errors="surrogateescape"), "sha256").hex()
            for name, value in self.variables.items()
        }
        state = json.dumps([self.folder, kept], sort_keys=True)
        return Precondition(path=self.folder, sha256=hashlib.sha256(state.encode()).hexdigest(), kind="tool")

    def check(self, agreed: tuple[Precondition, ...]) -> None:
        """Raise `Changed` if a person agreed, and not to this."""
        if agreed and self.precondition() not in agreed:
            raise Changed(f"it would start in {readable(self.folder)}, and not as it was shown when somebody agreed")


def standing_of(session: Session | None, workspace: Workspace) -> Standing:
    """Where the next command of *session* would start; nothing is made for it."""
    shell = known_shell(session, workspace.root)
    if shell is None:
        return Standing(root=workspace.root, folder=workspace.root)
    return Standing(root=workspace.root, folder=shell.folder(workspace), variables=dict(shell.variables))


def _shown(name: str, value: str) -> str:
    if _SECRET_NAMES.search(name) or _SECRET_VALUES.match(value):
        return MASK
    text = readable(value).replace("\n", "\\n")
    return text if len(text) <= _MOST_OF_A_VALUE else f"{text[:_MOST_OF_A_VALUE]}..."
