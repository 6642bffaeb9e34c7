"""`toolkit inspect`: look at the tools of a target in the browser, call them, and answer what waits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from ...approvals import SQLiteApprovals
from ...inspector import Inspector
from ..call_policy import CallOptions, call_options, dispatcher_for
from ..command import FILE, subcommand, target_argument
from ..failures import Failure
from ..output import Output
from ..run_database import database_option
from ..targets import list_module_values
from ..user_extensions import open_extended_target
from .serve import listen

if TYPE_CHECKING:  # it loads all of the flows
    from ...flows import Flow

__all__ = ["command"]

_DRAIN_SECONDS = 2
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 -- they are compared with what the user has given


@subcommand("inspect", piped="text")
@target_argument
@database_option
@click.option("--approvals", "store_path", type=FILE, help="Show the requests for approval in this file.")
@click.option("--read-only", is_flag=True, help="Only look: the page calls, answers, cancels and retries nothing.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0 for any.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Let other machines reach the page here.")
@call_options()
def command(
    output: Output,
    target: str,
    database: str | None,
    store_path: str | None,
    read_only: bool,
    port: int,
    host: str,
    options: CallOptions,
) -> None:
    """Look at the tools of TARGET in the browser.

    The page shows the tools with their schemas, calls them through all rules and hooks, and shows the calls, the
    requests for approval, the runs of the database, the search, the rules and numbers. It is at the address that is
    printed, which ends in a token: all who have the address may use the page. Ctrl-C ends it. Loading TARGET runs its
    code.

    With --audit, the calls of the page are added to this log, and the page shows all calls in it. With --read-only, the
    page changes nothing.

    \b
    Examples:
      toolkit inspect tools.py
      toolkit inspect shop.flows --database sqlite:///runs.sqlite --read-only
      toolkit inspect https://docs.example/mcp
    """
    from ...web_server.running import run_app

    with open_extended_target(target, output, settings=options.settings) as loaded_target:
        own = loaded_target.dispatcher
        for option, value in (("--approvals", store_path), ("--with", options.resource_names)):
            if own is not None and value:
                raise Failure(f"{option}: a dispatcher has its own; write it in the program, or name the catalog")
        own_log = None if own is None else own.settings.audit
        audit = options.audit or (None if own_log is None else own_log.path)
        if read_only or own is not None:
            options = replace(options, audit=None)  # the log is read, and not written
        store = None if store_path is None else SQLiteApprovals(store_path)
        # A tool whose resources are not given can be looked at.
        dispatcher = dispatcher_for(loaded_target, options, output, store=store, needed_by=())
        inspector = Inspector(
            dispatcher,
            database or options.settings["database"],
            audit,
            read_only,
            name=target,
            flows=_find_flows(target),
            sources=(loaded_target.catalog, *loaded_target.servers),
        )
        listener, url = listen(host, port, f"--port: cannot listen on {host}:{port}")
        output.show(Text(f"the inspector is at {url}/#token={inspector.token}"))
        output.console.file.flush()
        is_open = host in _EVERY_ADDRESS
        app = inspector.app(hosts=[socket.gethostname() if is_open else host], any_address=is_open)
        with contextlib.closing(inspector):
            asyncio.run(run_app(app, listener, drain_seconds=_DRAIN_SECONDS, on_stop=inspector.drain))


def _find_flows(target: str) -> list[Flow[Any]]:
    module = sys.modules.get("toolkit.flows.flow")
    if module is None:  # loading the target has not loaded it, so there is none
        return []
    return [value for value in list_module_values(target) if isinstance(value, module.Flow)]
