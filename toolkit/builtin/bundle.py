"""One catalog with all built-in tools."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal

from ..catalog import Catalog
from ..sandbox import Sandbox, best_sandbox
from ..workspace import Workspace
from .commands.bash_tool import bash_for
from .commands.job_tools import job_output_for, job_stop_for
from .files.edit_tool import edit_for
from .files.read_tool import read_for
from .files.write_tool import write_for
from .read_output_tool import read_output_for
from .search.glob_tool import glob_for
from .search.grep_tool import grep_for
from .web.web_fetch_tool import web_fetch_for

__all__ = ["Sandbox", "Workspace", "best_sandbox", "builtin_catalog"]


def builtin_catalog(
    workspace: Workspace | str | PathLike[str],
    *,
    sandbox: Sandbox | Literal["none"] | None = None,
    network: bool = False,
    env: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    allowed_hosts: Sequence[str] | None = None,
    ports: Sequence[int] = (),
) -> Catalog:
    """
    Return a new catalog with the tools that a working agent needs, bound to *workspace*.

    The catalog belongs to the caller, who may change it.

        workspace = Workspace("~/project")
        dispatcher = Dispatcher(builtin_catalog(workspace), permissions=Permissions(), safety=workspace.safety())

    Args:
        sandbox: The sandbox that commands run in. The default is the strongest one on this machine.
        network: Whether commands may reach the network.
        env: Variables for the environment of every command, besides the few that commands always get.
        keep: Names of variables whose values a command passes on to the next one.
        allowed_hosts: The only hosts that `web_fetch` may reach. The default is any public host.
        ports: Ports that `web_fetch` may reach besides 80 and 443. An allow rule that names a port opens that port too.
    """
    place = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
    for name in ("httpx", "jsonschema"):
        importlib.import_module(name)  # imported before a tool can put another module first on the search path
    return Catalog(
        read_for(place),
        write_for(place),
        edit_for(place),
        glob_for(place),
        grep_for(place),
        read_output_for(),
        bash_for(place, sandbox=sandbox, network=network, env=env, keep=keep),
        job_output_for(place),
        job_stop_for(place),
        web_fetch_for(allowed_hosts=allowed_hosts, ports=ports),
    )
