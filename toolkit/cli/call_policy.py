"""
The rules under which a call from the command line runs.

They come from the settings of the user and of the project, and from the options of the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ..approvals import Approvals, ApprovalStore, Asker
from ..dispatcher import Dispatcher
from ..permissions import MODES, Mode
from ..policies.audit import AuditLog
from ..settings import MergedSettings
from ..settings.builders import dispatcher_options
from .output import Output
from .settings_options import load_command_settings, note_settings
from .targets import Target

__all__ = [
    "CallPolicy",
    "ask_option",
    "audit_option",
    "dispatcher_for",
    "mode_option",
    "rule_option",
]

mode_option = click.option(
    "--mode", type=click.Choice(MODES), help="The permission mode; without it, that of your settings."
)
rule_option = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="A rule in addition to those of the files: 'allow write(path=out/**)'.",
)
audit_option = click.option(
    "--audit", type=click.Path(dir_okay=False), help="Append each verdict and each result to this audit log."
)
ask_option = click.option(
    "--ask/--no-ask",
    "asks",
    default=True,
    help="Whether to ask you in the terminal. Without asking, a call that needs approval waits, and the command ends.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """
    The policy that the options of the command state.

    Attributes:
        mode: The permission mode. None means the mode of the rule files.
        rules: Further rules, such as "allow read".
        audit: The path of the log to which verdicts and outcomes are written.
        asker: The asker for calls that need approval. If it is None, no person is asked, and such a call waits.
        store: The store of the requests that wait. None keeps them in memory.
        settings: The settings, with *mode* and *rules* in them; None to load them now.
    """

    mode: Mode | None = None
    rules: tuple[str, ...] = ()
    audit: str | None = None
    asker: Asker | None = None
    store: ApprovalStore | None = None
    settings: MergedSettings | None = None


def dispatcher_for(target: Target, policy: CallPolicy, output: Output, **options: Any) -> Dispatcher:
    """
    Return a dispatcher for *target* under *policy* and its settings.

    Write a note for each setting that does not count.
    """
    settings = policy.settings or load_command_settings(rules=policy.rules, mode=policy.mode)
    note_settings(settings, output)
    settings_options = dispatcher_options(settings)
    if target.safety is not None:
        settings_options["safety"] = target.safety
    return Dispatcher(
        target.catalog,
        approvals=Approvals(policy.store, ask=policy.asker),
        audit=None if policy.audit is None else AuditLog(policy.audit),
        **{**settings_options, **options},
    )
