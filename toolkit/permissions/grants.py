"""
Grants: what a person may agree to for the rest of a session.

A grant holds for one tool: "always this tool", "this command prefix", "under this folder". The person sees the grant
before they agree to it. A grant answers an ask, never a deny.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace

from ..access import Access, Command, Reads, Writes
from ..approvals.identity import identity_of
from ..decisions import Grant
from ..safety.paths import resolve_path
from ..safety.shell.parser import CannotParse, parse_script
from ..spec import Tool
from ..values.visible import make_visible
from ..verdicts import Finding
from .patterns.commands import commands_allowed
from .request import PermissionRequest

__all__ = ["find_covering_grant", "is_answerable", "is_described", "offer_grants"]

# These programs take another command as their second word: granting the first alone would grant nearly everything.
_HAVE_SUBCOMMANDS = frozenset(
    (
        *("apt", "aws", "az", "brew", "bundle", "cargo", "conda", "docker", "dotnet", "gcloud", "gem", "gh", "git"),
        *("go", "gradle", "helm", "kubectl", "make", "mvn", "nix", "npm", "npx", "pip", "pip3", "pipx", "pnpm"),
        *("podman", "poetry", "python", "python3", "ruby", "rustup", "systemctl", "terraform", "uv", "yarn"),
    )
)


def find_covering_grant(request: PermissionRequest) -> Grant | None:
    """Return the grant of the request's session that covers the request; None if no grant does."""
    session = request.session
    # A grant belongs to one person, so a call on behalf of another principal in the same session has no grants.
    if session is None or not session.grants:
        return None
    if session.principal is not None and request.principal not in (session.principal, None):
        return None
    identity = identity_of(request.tool)
    return next(
        (grant for grant in session.grants if grant.tool == identity and _covers(grant, request)),
        None,
    )


def offer_grants(request: PermissionRequest) -> Iterator[Grant]:
    """Yield the grants that a person could give for *request*, the narrowest first."""
    identity, name = identity_of(request.tool), request.tool.name
    possible: list[Grant] = []
    for command in _accesses_of(request, Command):
        prefix = _command_prefix(command.target)
        if prefix is not None:
            possible.append(Grant(tool=identity, scope="command", target=prefix))
    for access in _accesses_of(request, Reads, Writes):
        try:
            place = resolve_path(access.target, request.root)
        except ValueError:
            continue
        folder = place if os.path.isdir(place) else os.path.dirname(place)
        possible.append(Grant(tool=identity, scope="folder", target=folder))
    possible.append(Grant(tool=identity, scope="tool"))
    for grant in dict.fromkeys(possible):
        if _covers(grant, request):
            yield replace(grant, shown=_describe(grant, name))


def is_described(grant: Grant, tool: Tool) -> bool:
    """Return whether *grant* is for *tool*, and its text says what it permits."""
    return grant.tool == identity_of(tool) and grant.shown == _describe(grant, tool.name)


def _describe(grant: Grant, name: str) -> str:
    """Return the text that a person reads before they agree to *grant* for the tool of this *name*."""
    scopes = {
        "command": f"commands that begin with `{grant.target}`",
        "folder": f"everything under {grant.target}",
        "tool": "every call, with any arguments",
    }
    return make_visible(f"`{name}`: {scopes.get(grant.scope, '')}", keep_lines=False)


def is_answerable(finding: Finding, tool: Tool) -> bool:
    """
    Return whether a grant answers *finding*.

    A grant answers no safety check. It also does not answer the fact `approval="always"`, because the tool's author
    wants a person to see every call.
    """
    is_always = finding.source == "approval" and tool.facts.approval == "always"
    return finding.source != "check" and not is_always


def _covers(grant: Grant, request: PermissionRequest) -> bool:
    if grant.scope == "tool":
        return True
    # A grant covers only accesses of its own kind: a grant for a folder says nothing about a command run in it.
    if grant.scope == "command":
        return _has_only_kinds(request, Command) and all(
            commands_allowed(access.target, [f"{grant.target}:*"]) for access in request.accesses
        )
    return _has_only_kinds(request, Reads, Writes) and all(
        _is_under(access.target, grant.target, request.root) for access in request.accesses
    )


def _has_only_kinds(request: PermissionRequest, *kinds: type[Access]) -> bool:
    return bool(request.accesses) and len(_accesses_of(request, *kinds)) == len(set(request.accesses))


def _accesses_of(request: PermissionRequest, *kinds: type[Access]) -> list[Access]:
    kind_names = {kind.kind for kind in kinds}
    return list(dict.fromkeys(access for access in request.accesses if access.kind in kind_names))


def _is_under(path: str, folder: str, root: str) -> bool:
    try:
        place = resolve_path(path, root)
    except ValueError:
        return False
    return os.path.commonpath([place, folder]) == folder


def _command_prefix(command: str) -> str | None:
    """Return the words of a single plain command that a person would call "this command"; None if there are none."""
    try:
        script = parse_script(command)
    except CannotParse:
        return None
    if len(script.top) != 1 or len(script.commands) != 1:
        return None
    words = script.top[0].words
    count = 2 if words[0] in _HAVE_SUBCOMMANDS else 1
    if len(words) < count or words[count - 1].startswith("-"):
        return None
    return shlex.join(words[:count])
