"""
Allow, ask and deny rules, as objects and as text.

    Rule("deny", "bash(git push:*)")        read_rule("deny bash(git push:*)")

    access:KIND                 every tool, if the call states that it touches something of this kind:
                                `read`, `write`, `path` for both, `url`, `command`, or a kind of your own
    access:KIND(PATTERN)        the same, if the target of the access matches the pattern
    NAME                        the tool; `patterns/names.py` says what a name can be
    NAME(PATTERN)               the targets that the call is about to touch: commands, else URLs, else paths, else
                                any other kind; if the call states none, its first parameter
    NAME(argument=PATTERN)      that parameter; if there is none, the targets of that kind
                                (`path`, `read`, `write`, `url`, `command`, or a kind of your own)
    NAME(argument~=PATTERN)     the same for a text, ignoring case; `NAME(~=PATTERN)` names no parameter
    NAME(cost>NUMBER)           what the call costs in US dollars, by the fact `cost`; also `>=`, `<` and `<=`.
                                No call of a tool that states no cost matches

A pattern is compared with a path, a URL or a command as `paths.py`, `urls.py` and `commands.py` in `patterns/`
describe. It is compared with the whole text of any other value, where `*` is any run of characters and `?` is any one
character. A deny or ask holds for every spelling of a value, as `spellings.py` says, and takes a text for a path too if
there is a slash in its pattern.

A deny or ask rule matches every name that a tool has or had. It holds if any value could match. An allow rule matches
the origin that the rule was written for, and the present name of the tool; a rule that names an origin matches the name
that the tool has there, before it was renamed here. It holds if all values certainly match. If a value cannot be
compared, an allow rule does not match, and a deny or ask rule does.

An access rule that allows holds for tools of this program, or of the origin that the rule names. It holds only if
everything that the call states, except reading, is allowed.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from .._plumbing.wording import in_backticks
from ..access import Access, Command, Reads
from ..errors import ToolkitError
from ..spec import Tool
from ..verdicts import Word
from .judge import PermissionRequest
from .patterns.commands import CommandPattern, commands_allowed, commands_concerned, find_redirected_paths
from .patterns.names import NamePattern, compile_wildcard, fold_case
from .patterns.paths import PathPattern
from .patterns.urls import UrlPattern
from .rule_texts import RuleParts, read_parts
from .rule_values import (
    Kind,
    RuleValue,
    kind_of_access,
    kind_of_name,
    values_of,
    values_of_access,
)
from .spellings import is_same_value, list_spellings

__all__ = ["Rule", "RuleError", "allows_together", "check_pattern_kind", "read_rule"]

_WORDS = get_args(Word)
_ADDRESS = re.compile(r"[A-Za-z*][A-Za-z0-9+.*-]*://")
_COMPONENTS = re.compile(r"[/\\]")
_ANYTHING = ("*", "**", ":*")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
# For each kind of access rule about files: whether it looks at redirections that write (True) or that read (False).
_REDIRECTION_DIRECTIONS = {"read": (False,), "write": (True,), "path": (False, True)}


class RuleError(ToolkitError, ValueError):
    """A rule that has no meaning, or a meaning that its author did not intend."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A rule that allows, asks about or denies the calls that it matches.

    Attributes:
        word: "allow", "ask" or "deny".
        text: The calls that the rule is about: "bash(git push:*)".
        source: The place where the rule was written, for people. It does not count when two rules are compared.
        argument: The parameter or kind of access that is compared; None if the rule names none.
        pattern: The pattern that it is compared with; None if every call is meant.
        access: The kind of access that the rule is about, by any tool; None if the rule names tools.
        ignores_case: Whether capital and small letters of a text count as the same.
        comparison: How the cost of the call is compared with `pattern`, a number: ">", ">=", "<" or "<="; empty if the
            rule is not about the cost.
    """

    word: Word
    text: str
    source: str = field(default="", compare=False)
    argument: str | None = field(init=False, repr=False, compare=False)
    pattern: str | None = field(init=False, repr=False, compare=False)
    access: str | None = field(init=False, repr=False, compare=False)
    ignores_case: bool = field(init=False, repr=False, compare=False)
    comparison: str = field(init=False, repr=False, compare=False)
    _name: NamePattern = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.word not in _WORDS:
            raise RuleError(f"rule {_quote(self.text)}: {_quote(self.word)} is not a word; write allow, ask or deny")
        try:
            parts = read_parts(self.text)
            name = NamePattern.read(parts.name, exact_origin=self.word == "allow")
            _check_pattern(parts)
        except ValueError as error:
            raise RuleError(f"rule {_quote(self.text)}: {error}") from None
        fields = {**parts._asdict(), "_name": name}
        del fields["name"]
        for attribute, value in fields.items():
            object.__setattr__(self, attribute, value)

    @property
    def needs_arguments(self) -> bool:
        """Whether `matches` looks at the call, and not only at the tool."""
        return self.pattern is not None or self.access is not None

    @property
    def is_total(self) -> bool:
        """Whether the rule holds for every call of a tool that it concerns."""
        return self.access is None and (self.pattern is None or (self.argument is None and self.pattern in _ANYTHING))

    @property
    def pattern_kind(self) -> Kind | None:
        """The kind that the pattern looks like; None if it looks like no kind in particular."""
        return _guess_kind(str(self.pattern), self.argument)

    @property
    def names_where(self) -> bool:
        """
        Whether the rule says which place outside a call may reach.

        It says so by a pattern that does not match everything, or by an origin.
        """
        if self.access is not None and kind_of_access(self.access) == "path":
            return False  # A file is no place outside.
        has_target = self.pattern is not None and not self.comparison and self.pattern not in _ANYTHING
        return self._name.origin is not None or has_target

    def concerns(self, tool: Tool, names: frozenset[str]) -> bool:
        """
        Return whether the rule is about *tool*, which has or had *names*.

        The answer is the same for every call of the tool.
        """
        if self.word == "allow":
            name_at_origin = tool.original or tool.name
            return self._name.matches_exactly(tool.name, name_at_origin, tool.facts.group, tool.origin)
        all_names = {*names, *tool.facts.aliases, tool.name, tool.original or tool.name}
        return self._name.matches(all_names, tool.facts.group, tool.origin)

    def matches(self, request: PermissionRequest) -> bool:
        """Return whether the rule, which concerns the tool, holds for this call."""
        if (self.pattern is None and self.access is None) or (self.word != "allow" and self.is_total):
            return True
        if self.comparison:
            return request.cost is not None and _COMPARISONS[self.comparison](request.cost, float(str(self.pattern)))
        try:
            if self.word == "allow":
                return self._allows(request)
            values = set(self.values(request))  # a marked parameter is named twice: by its name and by its access
            return any(self.concerns_value(value, request.root) for value in values) or self._concerns_files(request)
        except Exception:  # noqa: BLE001 -- a value may raise any error when it is read; then the match is unknown
            return self.word != "allow"

    def opens_port(self, url: str) -> bool:
        """Return whether this is an allow rule that names the host of *url* together with its port."""
        if self.word != "allow" or self.pattern is None or _guess_kind(self.pattern, self.argument) != "url":
            return False
        try:
            return _read_url(self.pattern).opens_port(url)
        except ValueError:  # a URL that can be read in two ways
            return False

    def allows_value(self, value: RuleValue, root: str) -> bool:
        """Return whether this allow rule certainly matches *value*."""
        if self.ignores_case:
            return value.kind == "text" and not _climbs(value, str(self.pattern)) and self._matches_ignoring_case(value)
        return self.pattern is None or _allows(self.pattern, value, root)

    def _allows(self, request: PermissionRequest) -> bool:
        if self.access is not None:
            return _accesses_allowed([self], request)
        values = self.values(request)
        return bool(values) and all(self.allows_value(value, request.root) for value in values)

    def concerns_value(self, value: RuleValue, root: str) -> bool:
        """Return whether this deny or ask rule could match *value*."""
        if self.ignores_case and value.kind != "null" and self._matches_ignoring_case(value):
            return True
        return self.pattern is None or _concerns(self.pattern, value, root)

    def _concerns_files(self, request: PermissionRequest) -> bool:
        """Return whether a rule about files matches a file that a command of the call redirects to or from."""
        paths = self._find_redirected_paths(request)
        return any(path is None or self.concerns_value(RuleValue(path, "path"), request.root) for path in paths)

    def has_unknown_file(self, request: PermissionRequest) -> bool:
        """Return whether this rule is about files and a command of the call redirects to or from an unknown file."""
        return None in self._find_redirected_paths(request)

    def _find_redirected_paths(self, request: PermissionRequest) -> list[str | None]:
        ways = _REDIRECTION_DIRECTIONS.get(self.access or "", ())
        commands = [access.target for access in request.accesses if access.kind == Command.kind] if ways else []
        return [
            path for command in commands for writes in ways for path in find_redirected_paths(command, writes=writes)
        ]

    def _matches_ignoring_case(self, value: RuleValue) -> bool:
        return bool(compile_wildcard(fold_case(str(self.pattern))).match(fold_case(value.text)))

    def values(self, request: PermissionRequest) -> list[RuleValue]:
        """Return the values of the call that the pattern is compared with."""
        if self.comparison:
            return []
        if self.access is not None:
            return values_of_access(request, self.access)
        return values_of(request, self.argument, self.pattern_kind, widely=self.word != "allow")

    def __str__(self) -> str:
        return f"{self.word} {self.text}"


def read_rule(text: str, *, source: str = "") -> Rule:
    """Return the rule that one line writes. The line begins with the word: `deny bash(git push:*)`."""
    word, _, rest = text.partition(" ") if isinstance(text, str) else ("", "", "")
    if word not in _WORDS:
        raise RuleError(f"rule {_quote(text)}: it begins with allow, ask or deny: `deny bash(git push:*)`")
    return Rule(word, rest, source)  # type: ignore[arg-type]  # the check above proves that it is a `Word`


def allows_together(rules: Sequence[Rule], request: PermissionRequest) -> bool:
    """
    Return whether the allow rules among *rules*, which all concern the tool, cover the call.

    One rule has to cover the whole call. For a command line, each simple command may be covered by another rule.
    The accesses that the call states may be covered by different access rules.
    """
    allows = [rule for rule in rules if rule.word == "allow"]
    if any(rule.matches(request) for rule in allows):
        return True
    patterns: dict[tuple[RuleValue, ...], list[str]] = {}
    try:
        if _accesses_allowed([rule for rule in allows if rule.access is not None], request):
            return True
        for rule in allows:
            patterns.setdefault(tuple(rule.values(request)), []).append(str(rule.pattern))
        return any(
            commands and all(value.kind == "command" and commands_allowed(value.text, allowed) for value in commands)
            for commands, allowed in patterns.items()
        )
    except Exception:  # noqa: BLE001 -- see `Rule.matches`
        return False


def _accesses_allowed(rules: Sequence[Rule], request: PermissionRequest) -> bool:
    """Return whether everything that the call states, except reading, is allowed by one of the access *rules*."""
    changes = [access for access in request.accesses if access.kind != Reads.kind]
    return bool(rules) and bool(changes) and all(_is_allowed(access, rules, request) for access in changes)


def _is_allowed(access: Access, rules: Sequence[Rule], request: PermissionRequest) -> bool:
    single_request = replace(request, accesses=(access,))
    values = [(rule, rule.values(single_request)) for rule in rules]
    relevant = [(rule, targets) for rule, targets in values if targets]
    if access.kind == Command.kind:  # Each simple command of the line may have its own rule.
        return bool(relevant) and commands_allowed(access.target, [rule.pattern or "*" for rule, _ in relevant])
    return any(all(rule.allows_value(value, request.root) for value in targets) for rule, targets in relevant)


def _climbs(value: RuleValue, pattern: str) -> bool:
    """Return whether a text may be a path with `..` that leads to another place than *pattern* shows."""
    return ".." in _COMPONENTS.split(value.text) and ".." not in pattern


def _allows(pattern: str, value: RuleValue, root: str) -> bool:
    match value.kind:
        case "command":
            return commands_allowed(value.text, [pattern])
        case "url":
            return _read_url(pattern).allows(value.text)
        case "path":
            return _read_path(pattern).allows(value.text, root)
        case "null":
            return pattern in ("null", "*")
    # This value is not marked as a path, but it may be one. A path with `..` leads elsewhere than the pattern shows.
    return bool(compile_wildcard(pattern).match(value.text)) and not _climbs(value, pattern)


def _concerns(pattern: str, value: RuleValue, root: str) -> bool:
    match value.kind:
        case "command":
            return commands_concerned(value.text, pattern)
        case "url":
            return _read_url(pattern).concerns(value.text)
        case "path":
            return _read_path(pattern).concerns(value.text, root)
        case "null":
            return pattern == value.text  # `*` is any value, and None is none.
    return (
        any(map(compile_wildcard(unicodedata.normalize("NFC", pattern)).match, list_spellings(value.text)))
        or is_same_value(pattern, value.text, is_float=value.is_float)
        or ("/" in pattern and _may_be_path(pattern, value.text, root))
    )


def _may_be_path(pattern: str, text: str, root: str) -> bool:
    """Return whether *text*, which is not marked as a path, could match *pattern* if both are paths."""
    for reading in {text, os.path.normpath(text), os.path.expanduser(text)}:
        with contextlib.suppress(ValueError):
            if _read_path(pattern).concerns(reading, root):
                return True
    return False


@functools.lru_cache(maxsize=1024)
def _read_url(pattern: str) -> UrlPattern:
    return UrlPattern.read("*://**:*/**" if pattern in _ANYTHING else pattern)


@functools.lru_cache(maxsize=1024)
def _read_path(pattern: str) -> PathPattern:
    return PathPattern.read(pattern)


_READERS: dict[Kind, Callable[[str], object]] = {"command": CommandPattern.read, "url": _read_url, "path": _read_path}


def check_pattern_kind(kind: Kind | None, pattern: str) -> None:
    """Raise `ValueError` if *pattern* is no valid pattern of this *kind*."""
    if kind in _READERS:
        _READERS[kind](pattern)


def _guess_kind(pattern: str, argument: str | None) -> Kind | None:
    """
    Return the kind that a pattern looks like, or None. The value that it is compared with does not matter.

    A pattern with a parameter never counts as a command, because `key=user:*` may be about any text.
    """
    if _ADDRESS.match(pattern):
        return "url"
    return "command" if argument is None and pattern.endswith(":*") else None


def _check_pattern(parts: RuleParts) -> None:
    """Raise `ValueError` if a pattern cannot be compared in the way that the rule asks for."""
    if parts.pattern is None:
        return
    kind = kind_of_name(parts.argument) if parts.access is None else kind_of_access(parts.access)
    if parts.ignores_case and kind not in (None, "text"):
        raise ValueError(
            f"`~=` compares texts, and this is a {kind}; write `=`: "
            "a deny of a path ignores case anyway, and so does the host of an address"
        )
    check_pattern_kind(kind or _guess_kind(parts.pattern, parts.argument), parts.pattern)


def _quote(text: object) -> str:
    return in_backticks(text[:80]) if isinstance(text, str) and text and text.isprintable() else repr(text)[:80]
