"""
Allow, ask and deny rules, as objects and as text.

    Rule("deny", "bash(git push:*)")        read_rule("deny bash(git push:*)")

    NAME                        the tool; `names.py` says what a name can be
    NAME(PATTERN)               what the call is about to touch: commands, else addresses, else paths, else
                                anything else; if it says nothing of that, its first parameter
    NAME(argument=PATTERN)      that parameter; if there is none, what it touches of that kind
                                (`path`, `read`, `write`, `url`, `command`, or a kind of your own)

A pattern is compared with a path, an address or a command by the rules of
`paths.py`, `urls.py` and `commands.py`, with any other value by its whole text,
where `*` is any run of characters and `?` any one.

Deny and ask rules match every name a tool has or had, and if any value could
match. An allow rule matches the tool's present name and the origin it was
written for, and if all values certainly match. What cannot be compared is no
match for an allow, and a match for a deny or ask.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from ..errors import ToolkitError, nearest
from ..spec import Tool
from ..verdicts import Word
from .commands import CommandPattern, commands_allowed, commands_concerned
from .names import NamePattern, wildcard
from .paths import PathPattern
from .request import PermissionRequest
from .urls import UrlPattern
from .values import Kind, Value, kind_of, kind_of_name, parameters, values_of

__all__ = ["Rule", "RuleError", "allows_together", "read_rule"]

_WORDS = get_args(Word)
_MOST_CHARACTERS = 2000
_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(.*)")
_ADDRESS = re.compile(r"[A-Za-z*][A-Za-z0-9+.*-]*://")
_COMPONENTS = re.compile(r"[/\\]")
_ANYTHING = ("*", "**", ":*")


class RuleError(ToolkitError, ValueError):
    """A rule that says nothing, or something else than its author meant."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    What one line says about some calls.

    Attributes:
        word: "allow", "ask" or "deny".
        text: Which calls: "bash(git push:*)".
        source: Where it was written, for people; two rules that say the same are equal.
        argument: The parameter or kind of access that is compared; None if the rule names none.
        pattern: What it is compared with; None if every call is meant.
    """

    word: Word
    text: str
    source: str = field(default="", compare=False)
    argument: str | None = field(init=False, repr=False, compare=False)
    pattern: str | None = field(init=False, repr=False, compare=False)
    _name: NamePattern = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.word not in _WORDS:
            raise RuleError(f"rule {_shown(self.text)}: {_shown(self.word)} is not a word; write allow, ask or deny")
        try:
            name, argument, pattern = _taken_apart(self.text)
            found = NamePattern.read(name, exact_origin=self.word == "allow")
            if pattern is not None:
                _read_as(kind_of_name(argument) or _form(pattern, argument), pattern)
        except ValueError as error:
            raise RuleError(f"rule {_shown(self.text)}: {error}") from None
        for each, value in (("argument", argument), ("pattern", pattern), ("_name", found)):
            object.__setattr__(self, each, value)

    @property
    def needs_arguments(self) -> bool:
        """Whether `matches` looks at the call, and not only at the tool."""
        return self.pattern is not None

    @property
    def is_total(self) -> bool:
        """Whether it holds for every call of a tool it concerns."""
        return self.pattern is None or (self.argument is None and self.pattern in _ANYTHING)

    @property
    def names_where(self) -> bool:
        """Whether the rule says where to: by a pattern that is not just any, or by an origin."""
        return self._name.origin is not None or (self.pattern is not None and self.pattern not in _ANYTHING)

    def concerns(self, tool: Tool, names: frozenset[str]) -> bool:
        """Whether the rule is about *tool*, which has or had *names*; the same for every call of it."""
        if self.word == "allow":
            return self._name.fits_exactly(tool.name, tool.facts.group, tool.origin)
        every = {*names, *tool.facts.aliases, tool.name, tool.original or tool.name}
        return self._name.fits(every, tool.facts.group, tool.origin)

    def mistake(self, tool: Tool) -> str | None:
        """Why this rule, which concerns *tool*, cannot be compared with any call of it; None if it can."""
        if self.pattern is None:
            return None
        known = parameters(tool)
        marked = tool.signature.accesses
        if self.argument is None:
            kinds = [kind_of(each) for each in marked.values()]
        else:
            kinds = [kind_of(marked[self.argument])] if self.argument in marked else []
            is_open = tool.facts.preflight is not None or tool.signature.schema.get("additionalProperties") is not False
            if not (self.argument in known or kind_of_name(self.argument) or is_open):
                names = ", ".join(f"`{each}`" for each in nearest(self.argument, known, most=1) or known[:5])
                return f"`{tool.name}` has no parameter `{self.argument}`" + (f"; it has {names}" if names else "")
        kind = next((each for each in ("command", "url", "path") if each in kinds), None)
        try:
            _read_as(kind, self.pattern)
        except ValueError as error:
            return f"`{tool.name}` takes a {kind} here: {error}"
        return None

    def matches(self, request: PermissionRequest) -> bool:
        """Whether the rule, which concerns the tool, holds for this call of it."""
        if self.pattern is None:
            return True
        holds, together = (_allows, all) if self.word == "allow" else (_concerns, any)
        try:
            values = self.values(request)
            return bool(values) and together(holds(self.pattern, each, request.root) for each in values)
        except Exception:  # noqa: BLE001 -- a value may raise anything when it is looked at; then nobody can tell
            return self.word != "allow"

    def opens_port(self, url: str) -> bool:
        """Return whether this is an allow rule that names the host of *url* together with its port."""
        if self.word != "allow" or self.pattern is None or _form(self.pattern, self.argument) != "url":
            return False
        try:
            return _url(self.pattern).opens_port(url)
        except ValueError:  # an address that can be read in two ways
            return False

    def values(self, request: PermissionRequest) -> list[Value]:
        """What of the call the pattern is compared with."""
        return values_of(request, self.argument, _form(str(self.pattern), self.argument), widely=self.word != "allow")

    def __str__(self) -> str:
        return f"{self.word} {self.text}"


def read_rule(text: str, *, source: str = "") -> Rule:
    """The rule that one line writes, its word first: `deny bash(git push:*)`."""
    word, _, rest = text.partition(" ") if isinstance(text, str) else ("", "", "")
    if word not in _WORDS:
        raise RuleError(f"rule {_shown(text)}: it begins with allow, ask or deny: `deny bash(git push:*)`")
    return Rule(word, rest, source)  # type: ignore[arg-type]  # one of the words, as was just seen


def allows_together(rules: Sequence[Rule], request: PermissionRequest) -> bool:
    """
    Whether the allow rules among *rules*, which all concern the tool, cover the call.

    One rule has to; but of a command line each simple command may have its own.
    """
    allows = [rule for rule in rules if rule.word == "allow"]
    if any(rule.matches(request) for rule in allows):
        return True
    patterns: dict[tuple[Value, ...], list[str]] = {}
    try:
        for rule in allows:
            patterns.setdefault(tuple(rule.values(request)), []).append(str(rule.pattern))
        return any(
            commands and all(each.kind == "command" and commands_allowed(each.text, several) for each in commands)
            for commands, several in patterns.items()
        )
    except Exception:  # noqa: BLE001 -- see `Rule.matches`
        return False


def _allows(pattern: str, value: Value, root: str) -> bool:
    match value.kind:
        case "command":
            return commands_allowed(value.text, [pattern])
        case "url":
            return _url(pattern).allows(value.text)
        case "path":
            return _path(pattern).allows(value.text, root)
    # Nobody said that this is a path, but it may be one: what climbs is not what the pattern shows.
    climbs = ".." in _COMPONENTS.split(value.text) and ".." not in pattern
    return bool(wildcard(pattern).match(value.text)) and not climbs


def _concerns(pattern: str, value: Value, root: str) -> bool:
    match value.kind:
        case "command":
            return commands_concerned(value.text, pattern)
        case "url":
            return _url(pattern).concerns(value.text)
        case "path":
            return _path(pattern).concerns(value.text, root)
    return bool(wildcard(pattern).match(value.text))


@functools.lru_cache(maxsize=1024)
def _url(pattern: str) -> UrlPattern:
    return UrlPattern.read("*://**:*/**" if pattern in _ANYTHING else pattern)


@functools.lru_cache(maxsize=1024)
def _path(pattern: str) -> PathPattern:
    return PathPattern.read(pattern)


_READERS: dict[Kind, Callable[[str], object]] = {"command": CommandPattern.read, "url": _url, "path": _path}


def _read_as(kind: Kind | None, pattern: str) -> None:
    """Find what is wrong with a pattern that is compared in this way."""
    if kind in _READERS:
        _READERS[kind](pattern)


def _form(pattern: str, argument: str | None) -> Kind | None:
    """What a pattern looks like, whatever it is compared with; `key=user:*` may be about any text."""
    if _ADDRESS.match(pattern):
        return "url"
    return "command" if argument is None and pattern.endswith(":*") else None


def _taken_apart(text: str) -> tuple[str, str | None, str | None]:
    """Name, argument and pattern of a rule's text."""
    if not isinstance(text, str) or not text:
        raise ValueError("it names no tool; write `read`, or `bash(npm test)`")
    if len(text) > _MOST_CHARACTERS or not text.isprintable():
        raise ValueError(f"a rule is one line of at most {_MOST_CHARACTERS} printable characters")
    name, opening, rest = text.partition("(")
    if any(each.isspace() for each in name) or (opening and text != text.rstrip()):
        raise ValueError("there are no spaces outside the parentheses, and one rule in each text")
    if not opening:
        if ")" in name:
            raise ValueError("a parenthesis is closed that was not opened")
        return name, None, None
    if not _is_balanced(text):
        raise ValueError("its parentheses do not match; it ends with the one that closes the first")
    pattern = rest[:-1]
    named = _ARGUMENT.fullmatch(pattern)
    argument, pattern = (named[1], named[2]) if named else (None, pattern)
    if not pattern.strip():
        raise ValueError(f"the pattern is missing; write `{name}` for every call, or `{name}(*)`")
    return name, argument, pattern


def _is_balanced(text: str) -> bool:
    """Whether the parenthesis that was opened first is closed by the last character, and not before."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if each == ")" and depth == 0:
            return at == len(text) - 1
    return False


def _shown(text: object) -> str:
    return f"`{text[:80]}`" if isinstance(text, str) and text and text.isprintable() else repr(text)[:80]
