"""
The rules under which a call from the command line runs.

They come from the settings of the user and of the project, and from the options of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from ..approvals import Approvals, ApprovalStore, Asker
from ..dispatcher import Dispatcher
from ..permissions import Mode
from ..policies.audit import AuditLog
from ..settings import MergedSettings
from ..settings.builders import dispatcher_options
from .failures import Failure
from .output import Output
from .resources import complete_resources
from .settings_options import load_command_settings, note_settings, note_unused
from .targets import Target

__all__ = [
    "CallPolicy",
    "ask_option",
    "audit_option",
    "dispatcher_for",
]

audit_option = click.option(
    "--audit", type=click.Path(dir_okay=False), help="Append each verdict and each result to this audit log."
)
ask_option = click.option(
    "--ask/--no-ask",
    "asks",
    default=True,
    help="Whether to ask you in the terminal. Without asking, a call that needs approval waits, and the command ends.",
)

_OWN_TO_A_DISPATCHER = (
    *("limits.timeout_seconds", "limits.max_chars", "limits.max_concurrency"),
    *("files.protected", "files.unprotected"),
)
"""The settings that hold only for a dispatcher that the command makes itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """
    The policy that the options of the command state.

    Attributes:
        mode: The permission mode. None means the mode of the settings.
        rules: Further rules, such as "allow read".
        audit: The path of the log to which verdicts and outcomes are written.
        asker: The asker for calls that need approval. If it is None, no person is asked, and such a call waits.
        store: The store of the requests that wait. None keeps them in memory.
        settings: The settings, with *mode* and *rules* in them; None to load them now.
        resources: Values for the `Inject` parameters of tools, by type.
        needed_by: The names of the tools that may be called, which need their resources. None means all tools.
    """

    mode: Mode | None = None
    rules: tuple[str, ...] = ()
    audit: str | None = None
    asker: Asker | None = None
    store: ApprovalStore | None = None
    settings: MergedSettings | None = None
    resources: Mapping[Any, Any] = field(default_factory=dict)
    needed_by: tuple[str, ...] | None = None

    def resources_of_call(self, target: Target) -> Mapping[Any, Any] | None:
        """Return the resources that go with every call, because the dispatcher of *target* is a program's own."""
        return self.resources if target.dispatcher is not None and self.resources else None


def dispatcher_for(target: Target, policy: CallPolicy, output: Output, **options: Any) -> Dispatcher:
    """
    Return a dispatcher for *target* under *policy* and its settings.

    Write a note for each setting that does not count. If *target* names a dispatcher, the result extends it: rules,
    modes and hooks are added to those that it has. Its own limits and safety checks hold, and it asks people in its
    own way.

    Raises:
        Failure: A tool needs a resource that is not given, or the dispatcher of *target* cannot have another audit log.
    """
    settings = policy.settings or load_command_settings(rules=policy.rules, mode=policy.mode)
    note_settings(settings, output)
    settings_options = dispatcher_options(settings)
    if target.safety is not None:
        settings_options["safety"] = target.safety
    if target.dispatcher is not None:
        if policy.audit is not None:
            raise Failure("--audit: a dispatcher has its own audit log; write Dispatcher(..., audit=AuditLog(path))")
        note_unused(settings, _OWN_TO_A_DISPATCHER, "the target is a dispatcher, which has its own", output)
        permissions, hooks = settings_options["permissions"], settings_options["hooks"]
        return target.dispatcher.extended(target.catalog, permissions=permissions, hooks=hooks, **options)
    return Dispatcher(
        target.catalog,
        approvals=Approvals(policy.store, ask=policy.asker),
        audit=None if policy.audit is None else AuditLog(policy.audit),
        resources=complete_resources(target.catalog, policy.resources, needed_by=policy.needed_by),
        **{**settings_options, **options},
    )
