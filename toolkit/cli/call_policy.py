"""
The rules under which a call from the command line runs, and the resources that it gets.

The rules come from the settings of the user and of the project, and from the options of the command. The resources are
values for the `Inject` parameters of tools, from `--with MODULE:NAME`. A command that makes calls is declared with
`call_options`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from ..approvals import Approvals, ApprovalStore, Asker, MemoryApprovals
from ..builders import dispatcher_options
from ..calls.resources import PER_CALL, missing_resources
from ..catalogs.tool_reports import is_resolved
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..policies.audit import AuditLog
from ..settings import MergedSettings
from ..telemetry.trace_file import TraceFile
from ..testing.load_target import load_object
from .failures import Failure
from .output import Body, Output
from .settings_options import note_settings, note_unused, settings_options
from .targets import Target

__all__ = ["CallOptions", "call_options", "dispatcher_for", "load_resources", "resources_of_call", "with_option"]

with_option = click.option(
    "--with",
    "resource_names",
    multiple=True,
    metavar="MODULE:NAME",
    help="Values for Inject parameters: a dictionary from types to values, or a function that returns one.",
)
_audit_option = click.option(
    "--audit", type=click.Path(dir_okay=False), help="Append each verdict and each result to this audit log."
)
_trace_option = click.option(
    "--trace",
    "trace_file",
    type=click.Path(dir_okay=False),
    help="Append a span of each run, question to the model and call to this file, which toolkit trace shows.",
)
_ask_option = click.option(
    "--ask/--no-ask",
    "asks",
    default=True,
    help="Whether to ask you in the terminal. Without asking, a call that needs approval waits, and the command ends.",
)
_servers_option = click.option(
    "--servers/--no-servers",
    "starts_servers",
    default=True,
    help="Whether to start the MCP servers of your settings, whose tools the model gets too.",
)

_OWN_TO_A_DISPATCHER = (
    *("limits.timeout_seconds", "limits.max_chars", "limits.max_concurrency"),
    *("files.protected", "files.unprotected"),
)
"""The settings that hold only for a dispatcher that the command makes itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """
    What the options of a command say about the calls that it makes.

    With `starts_servers`, an agent that is made by the settings gets the tools of their servers.
    """

    settings: MergedSettings
    audit: str | None = None
    trace_file: str | None = None
    resource_names: tuple[str, ...] = ()
    asks: bool = False
    starts_servers: bool = False


def call_options(*, for_model: bool = False, may_ask: bool = False) -> Callable[[Body], Body]:
    """
    Declare the options of a command that makes calls. The command gets them as `options`, a `CallOptions`.

    *for_model* adds the options about the model, its servers and its trace, and *may_ask* the one about asking in the
    terminal.
    """
    declarations: list[Callable[[Body], Body]] = [settings_options(for_model=for_model), _audit_option]
    declarations += [_ask_option] * may_ask + [with_option] + [_servers_option, _trace_option] * for_model
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


def dispatcher_for(
    target: Target,
    options: CallOptions,
    output: Output,
    *,
    asker: Asker | None = None,
    store: ApprovalStore | None = None,
    needed_by: tuple[str, ...] | None = None,
    **others: Any,
) -> Dispatcher:
    """
    Return a dispatcher for *target* under the settings and the options of a command.

    Write a note for each setting that does not count. If *target* names a dispatcher, the result extends it: rules,
    modes and hooks are added to those that it has. Its own limits and safety checks hold, and it asks people in its
    own way. Without an *asker*, a call that needs approval waits. *needed_by* are the names of the tools that may be
    called, which need their resources; by default all tools.

    Raises:
        Failure: A tool needs a resource that is not given, or the dispatcher of *target* cannot have another audit log.
    """
    note_settings(options.settings, output)
    from_settings = dispatcher_options(options.settings)
    if options.trace_file is not None:
        from_settings["hooks"] = [*from_settings["hooks"], _open_trace(options.trace_file)]
    if target.safety is not None:
        from_settings["safety"] = target.safety
    if target.dispatcher is not None:
        if options.audit is not None:
            raise Failure("--audit: a dispatcher has its own audit log; write Dispatcher(..., audit=AuditLog(path))")
        note_unused(options.settings, _OWN_TO_A_DISPATCHER, "the target is a dispatcher, which has its own", output)
        permissions, hooks = from_settings["permissions"], from_settings["hooks"]
        own = target.dispatcher.settings.approvals
        if store is not None and isinstance(own.store, MemoryApprovals):
            # A request in memory would be lost with this command, and could not be resumed.
            others["approvals"] = own.with_store(store)
        return target.dispatcher.extended(target.catalog, permissions=permissions, hooks=hooks, **others)
    return Dispatcher(
        target.catalog,
        approvals=Approvals(store, ask=asker),
        audit=None if options.audit is None else AuditLog(options.audit),
        resources=_complete_resources(target.catalog, load_resources(options.resource_names), needed_by=needed_by),
        **{**from_settings, **others},
    )


def _open_trace(path: str) -> TraceFile:
    try:
        return TraceFile(path)
    except OSError as error:
        raise Failure(f"--trace: {path} cannot be written: {error.strerror or error}") from error


def resources_of_call(target: Target, options: CallOptions) -> Mapping[Any, Any] | None:
    """Return the resources that go with every call, if the dispatcher of *target* is a program's own."""
    return None if target.dispatcher is None else load_resources(options.resource_names) or None


def load_resources(names: Iterable[str]) -> dict[Any, Any]:
    """Return the resources of all objects that *names* name, each as `module:name`."""
    resources: dict[Any, Any] = {}
    for name in names:
        if not name.partition(":")[2]:
            raise Failure(f"--with {name}: name the dictionary in the module too: {name}:resources")
        for kind, value in _read_mapping(name).items():
            if kind in resources:
                type_name = getattr(kind, "__name__", None) or repr(kind)
                raise Failure(f"--with {name}: {type_name} has a value already; give one for each type")
            resources[kind] = value
    return resources


def _read_mapping(name: str) -> Mapping[Any, Any]:
    value = load_object(name)
    if callable(value) and not isinstance(value, Mapping):
        try:
            value = value()
        except Exception as error:
            raise Failure(f"--with {name}: it raised {type(error).__name__}: {error}") from error
    if inspect.iscoroutine(value):
        value.close()
        raise Failure(f"--with {name}: it is async; give a dictionary, whose values may be async functions")
    if not isinstance(value, Mapping):
        raise Failure(
            f"--with {name}: expected a dictionary from types to values, such as {{Database: Database()}}, or a "
            f"function that returns one; got {type(value).__name__}"
        )
    return value


def _complete_resources(
    catalog: CatalogView, resources: Mapping[Any, Any], *, needed_by: Collection[str] | None = None
) -> dict[Any, Any]:
    """
    Return *resources* for a dispatcher of *catalog*; raise `Failure` if a tool wants a type that has no value.

    *needed_by* are the names of the tools that may be called; all tools if it is None. For the types that only other
    tools want, the result has `PER_CALL`, so that these tools do not keep the command from starting.
    """
    needed = catalog if needed_by is None else filter(None, map(catalog.get, needed_by))
    # A tool that is not resolved yet is left to its call, which reports that.
    missing = {
        tool.name: names for tool in needed if is_resolved(tool) and (names := missing_resources(tool, resources))
    }
    if missing:
        wants = "; ".join(f"`{name}` wants {', '.join(kinds)}" for name, kinds in missing.items())
        raise Failure(f"resources are missing: {wants}; give them with --with MODULE:NAME, a dictionary by type")
    others = {kind: PER_CALL for tool in catalog if is_resolved(tool) for kind in tool.signature.injected.values()}
    return {**(others if needed_by is not None else {}), **resources}
