"""
Grants: what a person may agree to for the rest of a session.

A grant holds for one tool: "always this tool", "this command prefix", "under this folder". The person sees the grant
before they agree to it. The program that hosts a session may also give a grant beforehand. A grant answers an ask,
never a deny. Some grants have an allow rule that permits the same in every session.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from .._lazy_names import LazyModule
from .._option_checks import describe_type
from .._plumbing.wording import in_backticks
from ..access import Access, Command, Reads, Writes
from ..approvals.identity import identity_of
from ..decisions import Grant
from ..safety.paths import resolve_path, resolve_places
from ..session import Session
from ..spec import Tool
from ..values.visible import make_visible
from ..verdicts import Finding
from .judge import PermissionRequest
from .patterns.commands import commands_allowed
from .rules import Rule, RuleError

if TYPE_CHECKING:
    from ..safety.shell import parser
else:  # most programs have no tool that runs a shell command
    parser = LazyModule("toolkit.safety.shell.parser")

__all__ = [
    "build_grant",
    "check_grant",
    "find_covering_grant",
    "find_rule",
    "is_answerable",
    "is_described",
    "offer_grants",
]

_IDENTITY = re.compile("[0-9a-f]{64}")
_SCOPES = get_args(get_type_hints(Grant)["scope"])
_HAS_WILDCARD = re.compile(r"[*?\[\](){}]")
_KINDS = {"command": {Command.kind}, "folder": {Reads.kind, Writes.kind}}
_REMEDY = 'give the tool itself: Permissions.grant(session, catalog["{}"])'

# These programs take another command as their second word: granting the first alone would grant nearly everything.
_HAVE_SUBCOMMANDS = frozenset(
    (
        *("apt", "aws", "az", "brew", "bundle", "cargo", "conda", "docker", "dotnet", "gcloud", "gem", "gh", "git"),
        *("go", "gradle", "helm", "kubectl", "make", "mvn", "nix", "npm", "npx", "pip", "pip3", "pipx", "pnpm"),
        *("podman", "poetry", "python", "python3", "ruby", "rustup", "systemctl", "terraform", "uv", "yarn"),
    )
)


def find_covering_grant(request: PermissionRequest, session: Session) -> Grant | None:
    """Return the grant of *session*, that of the request, which covers the request; None if no grant does."""
    # A grant belongs to one person, so a call on behalf of another principal in the same session has no grants.
    if session.principal is not None and request.principal not in (session.principal, None):
        return None
    identity = identity_of(request.tool)
    return next((grant for grant in session.grants if grant.tool == identity and _covers(grant, request)), None)


def offer_grants(request: PermissionRequest, asks: Iterable[Finding] = ()) -> list[Grant]:
    """
    Return the grants that a person could give for *request*, the narrowest first, each with its allow rule.

    There are none if a grant would not answer all of *asks*, the findings because of which the person is asked.
    """
    if not all(is_answerable(finding, request.tool) for finding in asks):
        return []
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
    return [
        replace(grant, rule=find_rule(grant, request), shown=_describe(grant, name))
        for grant in dict.fromkeys(possible)
        if _covers(grant, request)
    ]


def build_grant(tool: Tool, *, folder: str | os.PathLike[str] | None = None, command: str | None = None) -> Grant:
    """
    Return the grant for calls of *tool*: all of them, those in a *folder*, or those that begin with *command*.

    Raises:
        ValueError: The grant could never answer a call. The message says why, and what to write instead.
        TypeError: *folder* or *command* is not a text.
    """
    name, identity = tool.name, identity_of(tool)
    if tool.facts.approval == "always":
        raise ValueError(
            f'`{name}` has approval="always", so a person sees every call of it and no grant answers for them; '
            "to grant it, leave out that fact"
        )
    if folder is not None and command is not None:
        raise ValueError(f"a grant for `{name}` is for a folder or for a command; give two grants")
    if folder is not None:
        _check_accesses(tool, "folder", Reads, Writes)
        grant = Grant(tool=identity, scope="folder", target=_resolve_folder(folder))
    elif command is not None:
        _check_accesses(tool, "command", Command)
        grant = Grant(tool=identity, scope="command", target=_read_prefix(command))
    else:
        grant = Grant(tool=identity, scope="tool")
    return replace(grant, shown=_describe(grant, name))


def check_grant(grant: object) -> Grant:
    """
    Return *grant* if it is a grant that a session can hold.

    Raises:
        TypeError: It is not a `Grant`, for example the name of a tool.
        ValueError: It is a grant that could never answer a call.
    """
    if isinstance(grant, str):
        raise TypeError(
            f"{grant!r:.80} is a text, and a grant is for one tool, not for all tools that ever have its name; "
            + _REMEDY.format(grant.partition("(")[0][:64])
        )
    if not isinstance(grant, Grant):
        raise TypeError(f"a session cannot be granted {describe_type(grant)}; {_REMEDY.format('...')}")
    if not (isinstance(grant.tool, str) and _IDENTITY.fullmatch(grant.tool)):
        raise ValueError(
            f"the tool of a grant is a digest of its identity, so a grant for {grant.tool!r:.80} would never answer a "
            f"call; {_REMEDY.format(str(grant.tool)[:64])}"
        )
    if grant.scope not in _SCOPES:
        raise ValueError(f"a grant cannot have the scope {grant.scope!r:.80}; use one of {', '.join(_SCOPES)}")
    is_whole = grant.scope == "tool"
    if not isinstance(grant.target, str) or is_whole == bool(grant.target):
        words = "no target" if is_whole else "a target that is not empty"
        raise ValueError(f"a grant with the scope {grant.scope!r} has {words}, got {grant.target!r:.80}")
    if grant.scope == "folder" and not os.path.isabs(grant.target):
        raise ValueError(f"the folder of a grant is an absolute path, got {grant.target!r:.80}")
    return grant


def _check_accesses(tool: Tool, option: str, *kinds: type[Access]) -> None:
    """Raise `ValueError` if *tool* states no access of these *kinds*, so that such a grant would never hold."""
    kind_names = {kind.kind for kind in kinds}
    if tool.facts.preflight is None and not any(
        access.kind in kind_names for access in tool.signature.accesses.values()
    ):
        markers = " or ".join(f"Annotated[str, {kind.__name__}]" for kind in kinds)
        raise ValueError(
            f"`{tool.name}` does not state which {option} a call is about, so a grant with {option}= would never "
            f"answer one; mark the parameter with {markers}, or grant the tool without {option}="
        )


def _resolve_folder(folder: str | os.PathLike[str]) -> str:
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"folder is the path of a folder, got {describe_type(folder)}")
    path = os.fspath(folder)
    if not isinstance(path, str) or not os.path.isabs(path):
        # Relative paths of a call start in the root of the dispatcher's safety checks, which is not known here.
        raise ValueError(f"folder is an absolute path, got {path!r:.80}; write Path(...).resolve()")
    return resolve_path(path, os.sep)


def _read_prefix(command: str) -> str:
    if not isinstance(command, str):
        raise TypeError(f"command is the beginning of a command, such as 'npm test'; got {describe_type(command)}")
    try:
        script = parser.parse_script(command)
        words = script.top[0].words if len(script.commands) == 1 else ()
    except parser.CannotParse as error:
        raise ValueError(f"the command {command!r:.80} cannot be read: {error}") from None
    prefix = shlex.join(words)
    # A grant that does not cover its own command covers no other.
    if not words or words[-1].endswith(":*") or not commands_allowed(command, [f"{prefix}:*"]):
        raise ValueError(
            f"the command {command!r:.80} is not the beginning of one plain command; give only its first words, such "
            "as 'npm test'"
        )
    return prefix


def is_described(grant: Grant, tool: Tool) -> bool:
    """Return whether *grant* is for *tool*, and its text says what it permits."""
    return grant.tool == identity_of(tool) and grant.shown == _describe(grant, tool.name)


def _describe(grant: Grant, name: str) -> str:
    """Return the text that a person reads before they agree to *grant* for the tool of this *name*."""
    scopes = {"tool": "every call, with any arguments", "folder": f"everything under {grant.target}"}
    what = scopes.get(grant.scope, "")
    if grant.scope == "command":
        what = f"commands that begin with {in_backticks(grant.target)}"
    return make_visible(f"`{name}`: {what}", keep_lines=False)


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
        # A program that removes `..` before it follows links reaches another file, so both places have to be there.
        places = resolve_places(path, os.path.abspath(root), start=os.sep)
    except ValueError:
        return False
    return all(os.path.commonpath([place.path, folder]) == folder for place in places)


def _command_prefix(command: str) -> str | None:
    """Return the words of a single plain command that a person would call "this command"; None if there are none."""
    try:
        script = parser.parse_script(command)
    except parser.CannotParse:
        return None
    if len(script.top) != 1 or len(script.commands) != 1:
        return None
    words = script.top[0].words
    count = 2 if words[0] in _HAVE_SUBCOMMANDS else 1
    if len(words) < count or words[count - 1].startswith("-"):
        return None
    return shlex.join(words[:count])


def find_rule(grant: Grant, request: PermissionRequest) -> str:
    """
    Return the allow rule that permits what *grant* permits, such as "bash(npm test:*)"; "" if there is none.

    A rule knows the tool by its name, and looks only at some of what a call states. So there is a rule only for tools
    of this program, and only if the tool can state nothing that the rule would not look at.
    """
    tool = request.tool
    if grant.scope == "tool":
        return tool.name if tool.origin == "python" else ""
    text = (
        f"{tool.name}({grant.target}:*)" if grant.scope == "command" else f"{tool.name}({grant.target.rstrip('/')}/**)"
    )
    if grant.scope == "folder" and _HAS_WILDCARD.search(grant.target):
        return ""
    # The rule would also allow a call that states something of another kind beside the command or the file.
    if not _states_only(tool, _KINDS[grant.scope]):
        return ""
    try:
        rule = Rule("allow", text)
    except RuleError:
        return ""
    # An allow rule without an origin does not concern a tool from elsewhere. With its origin, the rule would allow
    # every later tool of that name, such as the skill of another project, and a grant is for one tool.
    return rule.text if rule.concerns(tool, request.names) and rule.matches(request) else ""


def _states_only(tool: Tool, kinds: set[str]) -> bool:
    """Return whether calls of *tool* certainly state no access of another kind than *kinds*."""
    stated: list[Any] = list(tool.signature.accesses.values())
    if tool.facts.preflight is not None:
        try:
            stated += _types_in(get_type_hints(tool.facts.preflight)["return"])
        except Exception:  # noqa: BLE001 -- an annotation may raise any error when it is read; then it says nothing
            return False
    return all(isinstance(access, type) and issubclass(access, Access) and access.kind in kinds for access in stated)


def _types_in(hint: Any) -> Iterator[Any]:
    """Yield the types of the items in *hint*: `Reads` and `Writes` for `list[Reads | Writes]`."""
    if get_origin(hint) is None:
        yield hint
    for part in get_args(hint):
        yield from _types_in(part)
