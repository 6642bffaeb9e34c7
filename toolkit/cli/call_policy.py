"""
Under which rules a call from the command line runs: the user's and the project's files, and what was said beside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..approvals import Approvals, ApprovalStore, Asker, TerminalPrompt
from ..dispatcher import Dispatcher
from ..permissions import MODES, Mode, Permissions, read_rule
from ..policies.audit import AuditLog
from .output import Output
from .targets import Target

__all__ = [
    "Policy",
    "ask_option",
    "audit_option",
    "dispatcher_for",
    "mode_option",
    "rule_option",
    "somebody_to_ask",
]

_TERMINAL = "/dev/tty"

mode_option = click.option(
    "--mode", type=click.Choice(MODES), help="The permission mode; that of your rule files, or default."
)
rule_option = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="A rule beside those of the files: 'allow write(path=out/**)'.",
)
audit_option = click.option(
    "--audit", type=click.Path(dir_okay=False), help="Add what is decided and what comes of it to this log."
)
ask_option = click.option(
    "--ask/--no-ask",
    "asks",
    default=True,
    help="Whether to ask in the terminal; otherwise such a call waits, and ends.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What was said on the command line.

    Attributes:
        mode: The permission mode; that of the rule files if None.
        rules: Further rules, such as "allow read".
        audit: Where verdicts and outcomes are written down.
        asker: Who is asked; nobody if None, and what would ask waits.
        store: Where requests are kept that wait; in memory if None.
    """

    mode: Mode | None = None
    rules: tuple[str, ...] = ()
    audit: str | None = None
    asker: Asker | None = None
    store: ApprovalStore | None = None


def dispatcher_for(target: Target, policy: Policy, output: Output, **options: Any) -> Dispatcher:
    """A dispatcher of *target* under *policy* and the rule files; what does not count in those is noted."""
    rules = [read_rule(each) for each in policy.rules]
    permissions = Permissions.from_files(Path.cwd(), mode=policy.mode, rules=rules)
    for each in permissions.ignored:
        output.note(f"ignored: {each}")
    return Dispatcher(
        target.catalog,
        permissions=permissions,
        safety=target.safety,
        approvals=Approvals(policy.store, ask=policy.asker),
        audit=None if policy.audit is None else AuditLog(policy.audit),
        **options,
    )


def somebody_to_ask(asks: bool, wrap: Callable[[Asker], Asker] = lambda asker: asker) -> Asker | None:
    """Whoever sits at the terminal, if there is one and they may be asked."""
    # Without a terminal a prompt would read the arguments on standard input as answers.
    return wrap(TerminalPrompt()) if asks and _has_terminal() else None


def _has_terminal() -> bool:
    try:
        os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
