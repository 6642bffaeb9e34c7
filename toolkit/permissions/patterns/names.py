"""
Patterns for the tools that a rule is about: by name, by group, by origin.

    read            that tool
    fs_*            every tool whose name fits; `?` stands for one character
    group:files     every tool of a group
    mcp:github/*    tools of one origin, by the names that they have there
"""

from __future__ import annotations

import fnmatch
import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["NamePattern", "compile_wildcard", "fold_case", "matches_parts"]

OWN_ORIGIN = "python"
"""The origin that an allow rule means if it names none: tools written in this program, not tools from elsewhere."""

_NAME = re.compile(r"[A-Za-z_*?][A-Za-z0-9_.*?-]{0,63}")
_GROUP = re.compile(r"[^\s/()]+")
_ORIGIN = re.compile(r"[^\s()]+")


@functools.lru_cache(maxsize=1024)
def compile_wildcard(text: str) -> re.Pattern[str]:
    """Return the regular expression for *text*, where `*` is any run of characters and `?` is any one character."""
    # `fnmatch` writes atomic groups, so no value can make the search slow. `[` has no special meaning in a rule.
    return re.compile(fnmatch.translate(text.replace("[", "[[]")))


def fold_case(text: str) -> str:
    """Return *text* with case folded and Unicode composed (NFC), so that equal letters compare as equal."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def matches_parts(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """
    Return whether the parts of a path match *pattern* one by one, each as in `compile_wildcard`.

    `**` matches any number of parts.
    """
    pattern_index = part_index = 0
    star: tuple[int, int] | None = None
    while part_index < len(parts):
        if pattern_index < len(pattern) and pattern[pattern_index] == "**":
            star, pattern_index = (pattern_index, part_index), pattern_index + 1
        elif pattern_index < len(pattern) and compile_wildcard(pattern[pattern_index]).match(parts[part_index]):
            pattern_index, part_index = pattern_index + 1, part_index + 1
        elif star is not None:
            star = star[0], star[1] + 1
            pattern_index, part_index = star[0] + 1, star[1]
        else:
            return False
    return all(part == "**" for part in pattern[pattern_index:])


@dataclass(frozen=True, slots=True)
class NamePattern:
    """
    A pattern for tools: the part of a rule before its parentheses.

    Attributes:
        by: Whether the tool's name or its group is compared.
        pattern: The expression that the name or group has to match.
        origin: The origin that the tool has to have; None if the rule names none.
    """

    by: Literal["name", "group"]
    pattern: re.Pattern[str]
    origin: str | None = None

    @classmethod
    def read(cls, text: str, *, exact_origin: bool) -> NamePattern:
        """Return the pattern that *text* writes; raise `ValueError` with the mistake if *text* is wrong."""
        origin, slash, name = text.rpartition("/")
        if slash:
            _check(origin, _ORIGIN, "an origin is written before the slash: `mcp:github/*`")
            if origin.startswith("group:"):
                raise ValueError("a group has no origin and no slash; write `?` for a character that cannot be written")
            if exact_origin and ("*" in origin or "?" in origin):
                raise ValueError("an allow holds for one origin; write it out, without `*` and `?`")
        if name.startswith("group:") and not slash:
            group = name.removeprefix("group:")
            return cls("group", compile_wildcard(_check(group, _GROUP, "a group is written `group:files`")))
        legal = "a tool's name has at most 64 of A-Z a-z 0-9 _ - . and the wildcards * and ?"
        if ":" in name:
            legal = "a group is written `group:files`, an origin `mcp:github/NAME`, a command prefix `bash(git push:*)`"
        return cls("name", compile_wildcard(_check(name, _NAME, legal)), origin if slash else None)

    def matches(self, names: Iterable[str], group: str | None, origin: str) -> bool:
        """Return whether the pattern matches a tool with one of *names* or with *group*; origins may have wildcards."""
        if self.origin is not None and not compile_wildcard(self.origin).match(origin):
            return False
        return self._matches_name(names, group)

    def matches_exactly(self, name: str, name_at_origin: str, group: str | None, origin: str) -> bool:
        """
        Return whether an allow rule with this pattern covers the tool.

        The tool's origin has to be the one written, or `OWN_ORIGIN` if none is. A rule for another origin is about the
        name that the tool has there: a prefix that this program adds must not make further names match. Any other rule
        is about the present name.
        """
        if origin != (self.origin or OWN_ORIGIN):
            return False
        return self._matches_name((name if origin == OWN_ORIGIN else name_at_origin,), group)

    def _matches_name(self, names: Iterable[str], group: str | None) -> bool:
        if self.by == "group":
            return group is not None and bool(self.pattern.match(group))
        return any(map(self.pattern.match, names))


def _check(text: str, legal: re.Pattern[str], remedy: str) -> str:
    if not legal.fullmatch(text):
        raise ValueError(f"{text[:80]!r} cannot be right: {remedy}" if text else f"something is missing: {remedy}")
    return text
