"""
Permissions made of modes, rules and grants, which decide whether a call may run.

    refusals → the mode's own deny → the asks that no allow rule and no grant answers → the mode

Safety checks, `approval` and hooks come before this. The request contains their findings.
"""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import NoneType
from typing import Any

from .._option_checks import describe_type, require_list
from ..approvals.identity import identity_of
from ..decisions import Grant
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..verdicts import Finding, Verdict, Word
from .grants import build_grant, check_grant, find_covering_grant, is_answerable
from .judge import CallGate, Judge, PermissionRequest, RequestBuilder, Visibility
from .modes import JUDGED_INSIDE_KEY, MODES, TABLE, Mode, Row, check_mode
from .patterns.commands import why_unreadable
from .patterns.names import OWN_ORIGIN
from .rule_gaps import find_gaps
from .rule_mistakes import find_mistake, widen
from .rules import Rule, allows_together, read_rule

__all__ = ["Permissions", "find_row"]


class Permissions(Judge):
    """
    A permission mode with rules, which judges each call.

    Args:
        mode: "plan", "default", "auto", "deny_unlisted" or "bypass"; see `modes.TABLE`. In mode "bypass" nothing asks:
            `sudo` and `rm -rf /tmp` run, unless `SafetyChecks(strict=True)` refuses them.
        rules: `Rule` objects, or texts such as "allow read" and "deny bash(git push:*)".
    """

    weighs_findings = True
    """The mode decides what the findings of safety checks, `approval` and hooks lead to."""

    def __init__(self, mode: Mode = "default", rules: Iterable[Rule | str] = ()) -> None:
        self._mode: Mode = check_mode(mode)
        self._rules = tuple(
            rule if isinstance(rule, Rule) else read_rule(rule) for rule in require_list(rules, "rules")
        )
        # The same rules concern every call of a tool, so they are cached. The cache is weak, because tools come and
        # go, and are large.
        self._rules_by_tool: weakref.WeakKeyDictionary[Tool, tuple[frozenset[str], tuple[Rule, ...]]]
        self._rules_by_tool = weakref.WeakKeyDictionary()

    # The application may change these while it runs. A tool, a hook or a model may not.

    @property
    def mode(self) -> Mode:
        """The mode of every session that has no mode of its own."""
        return self._mode

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def set_mode(self, mode: Mode | None, *, session: Session | None = None) -> None:
        """Change the mode, or the mode of one *session*; None makes a session use the common mode again."""
        if session is not None:
            _check_session(session)
            session._mode = None if mode is None else check_mode(mode)  # noqa: SLF001 -- only this class may set it
        else:
            self._mode = check_mode(mode)

    def mode_of(self, session: Session | None) -> Mode:
        """Return the mode that counts for a call of *session*."""
        session_mode = None if session is None else session.mode
        return self._mode if session_mode is None else check_mode(session_mode)

    @staticmethod
    def grant(
        session: Session,
        grant: Grant | Tool,
        *,
        folder: str | PathLike[str] | None = None,
        command: str | None = None,
    ) -> Grant:
        """
        Add a grant to *session*, so that it answers in place of a person for the rest of the session, and return it.

            Permissions.grant(session, catalog["write"])
            Permissions.grant(session, catalog["write"], folder=Path("docs").resolve())
            Permissions.grant(session, catalog["bash"], command="npm test")

        Args:
            session: The session that the grant holds in.
            grant: The tool that may run, or a `Grant` that a request has offered. The name of a tool is not enough,
                because another tool may have the same name later.
            folder: Answer only for calls that touch nothing but files under this folder, an absolute path.
            command: Answer only for commands that begin with these words.

        Raises:
            TypeError: *grant* is neither a tool nor a grant, or *session* is not a session.
            ValueError: The grant could never answer a call. The message says why, and what to write instead.
        """
        _check_session(session)
        if isinstance(grant, Tool):
            new_grant = build_grant(grant, folder=folder, command=command)
        else:
            new_grant = check_grant(grant)
            if folder is not None or command is not None:
                raise TypeError("a Grant has its own folder or command; give folder= and command= with a tool")
        if new_grant not in session.grants:
            session._grants = (*session.grants, new_grant)  # noqa: SLF001 -- only this class may set it
        return new_grant

    @staticmethod
    def revoke(session: Session, grant: Grant | Tool | None = None) -> None:
        """Take back *grant*, all grants for a tool, or all grants of *session* if none is named."""
        _check_session(session)
        if not isinstance(grant, (Grant, Tool, NoneType)):
            raise TypeError(
                f"a grant to take back is one of session.grants, or the tool that it is for; got {describe_type(grant)}"
            )
        identity = identity_of(grant) if isinstance(grant, Tool) else None
        remaining = (
            ()
            if grant is None
            else tuple(other for other in session.grants if other != grant and other.tool != identity)
        )
        session._grants = remaining  # noqa: SLF001 -- only this class may set it

    def mistakes(self, tools: Iterable[Tool]) -> list[str]:
        """Return the rules that can never match a call of one of *tools*, each with the reason."""
        tools = list(tools)
        messages = [
            f"{_describe_rule(rule)}: {mistake}"
            for tool in tools
            for rule in self._rules
            if rule.concerns(tool, frozenset({tool.name})) and (mistake := find_mistake(rule, tool))
        ]
        tool_names = {name for tool in tools for name in (tool.name, *tool.facts.aliases, *tool.former)}
        for rule in self._rules:
            name = rule.text.partition("(")[0]
            # A rule in a file may be meant for other programs. A rule without a source is meant for these tools.
            if not rule.source and name not in tool_names and name.isidentifier():
                near = difflib.get_close_matches(name.lower(), tool_names, n=1, cutoff=0.75)
                messages += (
                    [f"{_describe_rule(rule)}: there is no tool `{name}`; did you mean `{near[0]}`?"] if near else []
                )
        return messages

    def warnings(self, tools: Iterable[Tool], request: PermissionRequest) -> list[str]:
        """Return a warning for each tool that does what a rule forbids another tool to do."""
        return find_gaps(self._rules, list(tools), request)

    # The methods below judge calls.

    def _rules_about(self, tool: Tool, names: frozenset[str]) -> tuple[Rule, ...]:
        """Return the rules that concern *tool*, which has or had *names*."""
        if not self._rules:
            return ()
        cached = self._rules_by_tool.get(tool)
        if cached is None or cached[0] != names:
            cached = names, tuple(widen(rule, tool) for rule in self._rules if rule.concerns(tool, names))
            self._rules_by_tool[tool] = cached
        return cached[1]

    def judge(self, request: PermissionRequest) -> Verdict:
        """Return the verdict on whether the call may run."""
        rules = self._rules_about(request.tool, request.names)
        mode = self.mode_of(request.session)
        return _judge_request(request, rules, mode)

    def gate(self, tool: Tool, names: frozenset[str], build_request: RequestBuilder) -> CallGate | None:
        """
        Return a function that tells quickly whether a call of *tool* may run; None if every call has to be judged.

        An allow rule about arguments does not count here: without it, the call is only judged more often.
        """
        rules = self._rules_about(tool, names)
        if type(self) is not Permissions:
            return None  # A subclass may judge in another way.
        if JUDGED_INSIDE_KEY in (tool.facts.metadata or {}):
            return None  # It depends on the place of the call.
        if tool.facts.preflight is None and not tool.signature.accesses:
            # The tool states no access before it runs, so no access rule holds for the call.
            rules = tuple(rule for rule in rules if rule.access is None)
        request = PermissionRequest(call=ToolCall(tool.name, tool=tool), tool=tool, names=names)
        other_rules = [rule for rule in rules if not rule.needs_arguments]
        allowing_modes = {mode for mode in MODES if _judge_request(request, other_rules, mode).word == "allow"}
        forbidding = [rule for rule in rules if rule.needs_arguments and rule.word != "allow"]
        if forbidding and tool.facts.preflight is not None:
            return None  # Only the judgement knows what the call states.

        def may_run(session: Session | None, arguments: Mapping[str, Any] | None) -> bool:
            return (self._mode if session is None or session._mode is None else session._mode) in allowing_modes  # noqa: SLF001

        def may_run_with(session: Session | None, arguments: Mapping[str, Any] | None) -> bool:
            if arguments is None or not may_run(session, arguments):
                return False
            try:
                call_request = build_request(arguments)
                return not any(rule.matches(call_request) for rule in forbidding)
            except Exception:  # noqa: BLE001 -- a value may raise any error when it is read; then the call is judged
                return False

        return may_run_with if forbidding else may_run

    def could_allow(self, tool: Tool, names: frozenset[str], session: Session | None = None) -> bool:
        """
        Return whether any call of *tool*, which has or had *names*, could ever run in *session*.

        A call that would run only after a person approves it counts too. The arguments are not known yet, so the
        answer is True if in doubt. A search uses this to decide which tools it may show. Each call is judged again
        when it is made.
        """
        return self.visibility(session).could_allow(tool, names)

    def visibility(self, session: Session | None) -> Visibility:
        """Return what `could_allow` answers in *session* as its mode and its grants are now."""
        mode = self.mode_of(session)
        # Only where no person can be asked do grants count, so most sessions with one mode have one key.
        grants = () if session is None or TABLE["asked"][mode] != "deny" else session.grants
        return Visibility((mode, grants), lambda tool, names: self._could_allow(tool, names, mode, grants))

    def _could_allow(self, tool: Tool, names: frozenset[str], mode: Mode, grants: Sequence[Grant]) -> bool:
        rules = self._rules_about(tool, names)
        mode_word = TABLE[find_row(tool)][mode]
        if any(rule.word == "deny" and rule.is_total for rule in rules):
            return False
        if TABLE["asked"][mode] != "deny":  # Where people can be asked, only plan mode refuses a tool for good.
            return not (mode == "plan" and mode_word == "deny")
        if grants and any(grant.tool == identity_of(tool) for grant in grants):
            return True
        is_allowed = any(rule.word == "allow" for rule in rules)
        is_asked = tool.facts.approval == "always" or any(rule.word == "ask" and rule.is_total for rule in rules)
        return not is_asked and (is_allowed or (mode_word == "allow" and not tool.facts.open_world))

    def opens_port(self, tool: Tool, names: frozenset[str], url: str) -> bool:
        """Return whether an allow rule about *tool*, which has or had *names*, names the host and the port of *url*."""
        return any(rule.opens_port(url) for rule in self._rules_about(tool, names))


def _check_session(session: object) -> None:
    if not isinstance(session, Session):
        raise TypeError(f"a session is a Session, got {describe_type(session)}; give the one that calls are made with")


def _judge_request(request: PermissionRequest, rules: Sequence[Rule], mode: Mode) -> Verdict:
    findings = [*request.findings, *_rule_findings(request, rules)]
    refusals = [finding for finding in findings if finding.word == "deny"]
    if refusals:
        return _build_verdict("deny", refusals, findings)
    row = find_row(request.tool)
    mode_word = TABLE[row][mode]
    mode_reason = _MODE_REASONS.get((row, mode), "mode `{mode}` allows it").format(tool=request.tool.name, mode=mode)
    is_judged_inside = (request.tool.facts.metadata or {}).get(JUDGED_INSIDE_KEY)
    if mode_word == "ask" and callable(is_judged_inside) and is_judged_inside():
        mode_word, mode_reason = "allow", f"everything that `{request.tool.name}` does inside is judged by itself"
    by_mode = Finding(mode_word, f"mode `{mode}`", mode_reason, "mode")
    if mode == "plan" and mode_word == "deny":  # No rule and no grant lifts this denial.
        return _build_verdict("deny", [by_mode], [*findings, by_mode])
    asks = [finding for finding in findings if finding.word == "ask"]
    allows = [rule for rule in rules if rule.word == "allow"]
    if request.tool.facts.open_world and not _names_place(allows, request):
        reason = f"`{request.tool.name}` reaches outside, and no allow rule names the place"
        if request.tool.origin != OWN_ORIGIN:
            reason += f", as `allow {request.tool.origin}/{request.tool.original or request.tool.name}` does"
        asks.append(Finding("ask", "fact `open_world`", reason, "open_world"))
    if mode_word != "allow" and not (allows and allows_together(allows, request)):
        asks.append(by_mode)
    if mode == "bypass" or not asks:
        decisive = [finding for finding in findings if finding.word == "allow"] or [by_mode]
        return _build_verdict("allow", decisive, [*findings, by_mode])
    session = request.session
    grant = find_covering_grant(request, session) if session is not None and session.grants else None
    unanswered = [finding for finding in asks if grant is None or not is_answerable(finding, request.tool)]
    if not unanswered and grant is not None:
        # The text that a person was shown has its own backticks.
        by = f"grant for {grant.shown}" if grant.shown else f"grant `{grant.scope}`"
        granted = Finding("allow", by, "a person agreed to it for this session", "grant")
        return _build_verdict("allow", [granted], [*findings, *asks])
    return _build_verdict(TABLE["asked"][mode], unanswered, [*findings, *asks], mode)


def find_row(tool: Tool) -> Row:
    """
    Return the row of `TABLE` for calls of *tool*.

    A destructive tool of this program that is contained, in a sandbox without a network, cannot reach beyond its
    workspace. It counts as "write", because it changes something and destroys nothing outside.
    """
    if tool.facts.read_only:
        return "read_only"
    sandbox = (tool.facts.metadata or {}).get("sandbox")
    # The statement of the tool's author is believed only for tools of this program.
    is_contained = tool.origin == "python" and isinstance(sandbox, Mapping) and sandbox.get("contained") is True
    return "destructive" if tool.facts.destructive and not is_contained else "write"


def _rule_findings(request: PermissionRequest, rules: Sequence[Rule]) -> list[Finding]:
    findings = [
        Finding(
            rule.word,
            _describe_rule(rule),
            f"a rule says {rule.word}: {rule.text}{_explain_doubt(rule, request)}",
            "rule",
        )
        for rule in rules
        if rule.word != "allow" and rule.matches(request)
    ]
    allows = [rule for rule in rules if rule.word == "allow"]
    if allows and allows_together(allows, request):
        touching = (rule for rule in allows if rule.access is not None and rule.values(request))
        first = next((rule for rule in allows if rule.matches(request)), None) or next(touching, allows[0])
        findings.append(Finding("allow", _describe_rule(first), "a rule allows it", "rule"))
    return findings


def _explain_doubt(rule: Rule, request: PermissionRequest) -> str:
    """Return the reason why a rule holds although it is unknown whether the rule is about the command."""
    commands = (
        [access.target for access in request.accesses if access.kind == "command"]
        if rule.needs_arguments and not rule.comparison
        else []
    )
    why = next(filter(None, map(why_unreadable, commands)), None)
    if why is None and rule.has_unknown_file(request):
        why = "the command redirects to or from an unknown file"
    return "" if why is None else f", because {why}"


def _describe_rule(rule: Rule) -> str:
    return f"rule `{rule}`" + (f" ({rule.source})" if rule.source else "")


def _names_place(allows: Sequence[Rule], request: PermissionRequest) -> bool:
    """
    Return whether an allow rule covers the call and names the place that the call goes to.

    A tool without parameters has no place to name. For such a tool, a rule with its name is enough.
    """
    takes_nothing = not request.tool.schema.get("properties")
    places = request.tool.signature.accesses
    placing_rules = [
        rule
        for rule in allows
        # If a tool marks the parameters that hold the place, a rule about another parameter names no place.
        if takes_nothing or (rule.names_where and (not places or rule.argument is None or rule.argument in places))
    ]
    return bool(placing_rules) and allows_together(placing_rules, request)


def _build_verdict(
    word: Word, decisive: Sequence[Finding], findings: Sequence[Finding], mode: Mode | None = None
) -> Verdict:
    first = decisive[0]
    reason = "; ".join(dict.fromkeys(finding.reason for finding in decisive))
    if word == "deny" and mode == "deny_unlisted":
        reason = f"{reason}; mode `deny_unlisted` never asks a person"
    others = [finding for finding in findings if finding not in decisive]
    return Verdict(word, first.by, reason, (*decisive, *dict.fromkeys(others)))


_MODE_REASONS: dict[tuple[Row, Mode], str] = {
    ("write", "plan"): "in mode `plan` only read-only tools run",
    ("destructive", "plan"): "in mode `plan` only read-only tools run",
    ("write", "default"): "`{tool}` may change something (it is not `read_only`), and mode `default` asks first",
    ("destructive", "default"): "`{tool}` cannot be undone, and mode `default` asks first",
    ("destructive", "auto"): "`{tool}` cannot be undone, and mode `auto` asks first",
    ("write", "deny_unlisted"): "`{tool}` may change something (it is not `read_only`), and no rule allows it",
    ("destructive", "deny_unlisted"): "`{tool}` cannot be undone, and no rule allows it",
}
"""Why a mode asks about or denies a tool, by the row of the tool in `TABLE`. In all other cases the mode allows it."""
