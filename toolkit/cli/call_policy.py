"""
The rules under which a call from the command line runs.

They come from the settings of the user and of the project, and from the options of the command. A command that makes
calls is declared with `call_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import click

from ..approvals import Approvals, ApprovalStore, Asker
from ..builders import dispatcher_options
from ..dispatcher import Dispatcher
from ..policies.audit import AuditLog
from ..settings import MergedSettings
from .failures import Failure
from .output import Output
from .resources import complete_resources, load_resources, with_option
from .settings_options import Body, note_settings, note_unused, settings_options
from .settings_servers import servers_option
from .targets import Target

__all__ = ["CallOptions", "CallPolicy", "call_options", "dispatcher_for"]

_audit_option = click.option(
    "--audit", type=click.Path(dir_okay=False), help="Append each verdict and each result to this audit log."
)
_ask_option = click.option(
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
        settings: The settings, with the mode and the rules of the command in them.
        audit: The path of the log to which verdicts and outcomes are written.
        asker: The asker for calls that need approval. If it is None, no person is asked, and such a call waits.
        store: The store of the requests that wait. None keeps them in memory.
        resources: Values for the `Inject` parameters of tools, by type.
        needed_by: The names of the tools that may be called, which need their resources. None means all tools.
    """

    settings: MergedSettings
    audit: str | None = None
    asker: Asker | None = None
    store: ApprovalStore | None = None
    resources: Mapping[Any, Any] = field(default_factory=dict)
    needed_by: tuple[str, ...] | None = None

    def resources_of_call(self, target: Target) -> Mapping[Any, Any] | None:
        """Return the resources that go with every call, because the dispatcher of *target* is a program's own."""
        return self.resources if target.dispatcher is not None and self.resources else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """
    What the options of a command say about the calls that it makes.

    Attributes:
        settings: The settings of the files, the environment and the command.
        audit: The path of an audit log.
        resource_names: The names of the dictionaries with resources.
        asks: Whether the user is asked in the terminal.
        starts_servers: Whether an agent that is made by the settings gets the tools of their servers.
    """

    settings: MergedSettings
    audit: str | None = None
    resource_names: tuple[str, ...] = ()
    asks: bool = False
    starts_servers: bool = False

    def make_policy(self, **others: Any) -> CallPolicy:
        """Load the resources, and return the policy with *others*, its fields that are no options."""
        resources = load_resources(self.resource_names)
        return CallPolicy(settings=self.settings, audit=self.audit, resources=resources, **others)


def call_options(*, for_model: bool = False, may_ask: bool = False) -> Callable[[Body], Body]:
    """
    Declare the options of a command that makes calls. The command gets them as `options`, a `CallOptions`.

    Args:
        for_model: Whether there are options about the model and the servers whose tools it gets.
        may_ask: Whether the command can ask the user in the terminal.
    """
    declarations: list[Callable[[Body], Body]] = [settings_options(for_model=for_model), _audit_option]
    declarations += [_ask_option] * may_ask + [with_option] + [servers_option] * for_model
    names = {option.name for option in fields(CallOptions)}

    def declare(body: Body) -> Body:
        @functools.wraps(body)
        def run(*arguments: Any, **parameters: Any) -> int | None:
            options = {name: parameters.pop(name) for name in names & parameters.keys()}
            return body(*arguments, options=CallOptions(**options), **parameters)

        command: Body = run
        for declaration in reversed(declarations):
            command = declaration(command)
        return command

    return declare


def dispatcher_for(target: Target, policy: CallPolicy, output: Output, **options: Any) -> Dispatcher:
    """
    Return a dispatcher for *target* under *policy* and its settings.

    Write a note for each setting that does not count. If *target* names a dispatcher, the result extends it: rules,
    modes and hooks are added to those that it has. Its own limits and safety checks hold, and it asks people in its
    own way.

    Raises:
        Failure: A tool needs a resource that is not given, or the dispatcher of *target* cannot have another audit log.
    """
    note_settings(policy.settings, output)
    from_settings = dispatcher_options(policy.settings)
    if target.safety is not None:
        from_settings["safety"] = target.safety
    if target.dispatcher is not None:
        if policy.audit is not None:
            raise Failure("--audit: a dispatcher has its own audit log; write Dispatcher(..., audit=AuditLog(path))")
        note_unused(policy.settings, _OWN_TO_A_DISPATCHER, "the target is a dispatcher, which has its own", output)
        permissions, hooks = from_settings["permissions"], from_settings["hooks"]
        return target.dispatcher.extended(target.catalog, permissions=permissions, hooks=hooks, **options)
    return Dispatcher(
        target.catalog,
        approvals=Approvals(policy.store, ask=policy.asker),
        audit=None if policy.audit is None else AuditLog(policy.audit),
        resources=complete_resources(target.catalog, policy.resources, needed_by=policy.needed_by),
        **{**from_settings, **options},
    )
