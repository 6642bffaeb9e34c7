"""
File patterns such as `src/**/*.{ts,tsx}`, translated into regular expressions that cannot stall.

`*` and `?` stay within one name. `**` as a whole name stands for any number of folders. `[a-z]` is one character of a
set, and `[!a-z]` is one character outside it. `{a,b}` is one of several texts. A backslash takes the next character
literally. Without braces, this is exactly the language of `.gitignore`.
"""

from __future__ import annotations

import re
import string
from itertools import pairwise

from ...errors import ToolError
from ...values.patterns import Pattern, Undecidable, compile_pattern

__all__ = ["Glob", "expand_braces", "pattern_of", "regex_of"]

_MAX_CHARACTERS = 1000
_MAX_ALTERNATIVES = 100
_MAX_BRACES = 10


class Glob:
    """
    A pattern that is matched against whole paths. `alternatives` are the patterns that its braces stand for.

    Raises `ValueError` if the pattern cannot be read. The message says what would be right.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern:
            raise ValueError("it is empty; write `*` for everything in a folder, `**` for everything below it")
        if len(pattern) > _MAX_CHARACTERS:
            raise ValueError(f"it is longer than {_MAX_CHARACTERS:,} characters; shorten it")
        if "\0" in pattern:
            raise ValueError("it holds a NUL character, which no path can")
        self.alternatives = expand_braces(pattern)
        self._pattern = pattern_of("|".join(map(regex_of, self.alternatives)))

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches *path* from its first character to its last."""
        try:
            return self._pattern.search(path)
        except Undecidable as error:
            raise ToolError(f"the pattern has too many stars for a path of {len(path):,} characters") from error


def pattern_of(regex: str) -> Pattern:
    """Compile *regex* to match a whole path."""
    return compile_pattern(rf"(?s)\A(?:{regex})\Z")


def expand_braces(pattern: str) -> list[str]:
    """Return *pattern* once for each choice that its braces give. Braces without a comma are literal."""
    done: list[str] = []
    waiting = [(pattern, 0)]
    while waiting:
        text, depth = waiting.pop()
        braces = _first_braces(text)
        if braces is None:
            done.append(text)
        elif depth == _MAX_BRACES:
            raise ValueError(f"it has more than {_MAX_BRACES} braces; write fewer")
        else:
            start, end, choices = braces
            waiting += [(text[:start] + choice + text[end:], depth + 1) for choice in reversed(choices)]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise ValueError(f"its braces give more than {_MAX_ALTERNATIVES} patterns; write fewer")
    return list(dict.fromkeys(done))


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Return the start and the end of the first braces with a comma, and the choices in them, or None."""
    opened: list[tuple[int, list[int]]] = []
    at = 0
    braces: tuple[int, int, list[int]] | None = None
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _end_of_set(text, at)
        elif char == "{":
            opened.append((at, []))
        elif char == "," and opened:
            opened[-1][1].append(at)
        elif char == "}" and opened:
            start, commas = opened.pop()
            if commas and (braces is None or start < braces[0]):
                braces = (start, at, commas)
        at += 1
    if braces is None:
        return None
    start, end, commas = braces
    edges = [start, *commas, end]
    return start, end + 1, [text[left + 1 : right] for left, right in pairwise(edges)]


def _end_of_set(text: str, at: int) -> int:
    """Return the position of the `]` that ends the set at *at*, or *at* itself. A missing bracket is reported later."""
    try:
        return _read_set(text, at)[1] - 1
    except ValueError:
        return at


def regex_of(pattern: str) -> str:
    """Return the regular expression for a *pattern* without braces. Raise `ValueError` if it can match nothing."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            text, at = _read_stars(pattern, at)
        elif char == "[":
            text, at = _read_set(pattern, at)
        elif char == "?":
            text, at = "[^/]", at + 1
        else:
            if char == "\\":
                at += 1
                if at == len(pattern):
                    raise ValueError("it ends in a backslash, which takes the next character as it is; there is none")
            text, at = re.escape(pattern[at]), at + 1
        parts.append(text)
    return "".join(parts)


def _read_stars(pattern: str, start: int) -> tuple[str, int]:
    at = start
    while pattern[at : at + 1] == "*":
        at += 1
    rest = pattern[at : at + 2]
    is_name = start == 0 or pattern[start - 1] == "/"
    if at - start == 1 or not is_name or not (rest == "" or rest[0] == "/" or rest == "\\/"):
        return "[^/]*", at
    return ("(?:.*/)?", at + 1) if rest[:1] == "/" else (".*", at)


_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\r\v\f",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


def _read_set(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression of the set at *at*, read as git's `wildmatch` does, and where the pattern goes on."""
    first = at = at + 1
    is_negated = pattern[at : at + 1] in {"!", "^"}
    if is_negated:
        first = at = at + 1
    ranges: list[tuple[str, str]] = []
    before = ""  # the character with which a range would start
    while (char := pattern[at : at + 1]) != "]" or at == first:
        if char == "-" and before and pattern[at + 1 : at + 2] not in {"", "]"}:
            high, at = _read_member(pattern, at + 1)
            ranges.append((before, high))
            before = ""
        elif char == "[" and (char_class := _read_class(pattern, at)) is not None:
            members, at = char_class
            ranges += [(member, member) for member in members]
            before = ""
        else:
            before, at = _read_member(pattern, at)
            ranges.append((before, before))
    return _render_set(ranges, is_negated), at + 1


def _read_member(pattern: str, at: int) -> tuple[str, int]:
    at += pattern[at : at + 1] == "\\"
    if at >= len(pattern):
        raise ValueError("a `[` has no `]`; write `[[]` for the bracket itself")
    return pattern[at], at + 1


def _read_class(pattern: str, at: int) -> tuple[str, int] | None:
    """Return the characters of a class such as `[:alpha:]`, and its end, or None if *at* is only a bracket."""
    if pattern[at + 1 : at + 2] != ":":
        return None
    end = pattern.find("]", at + 2)
    if end < 0:
        raise ValueError("a `[` has no `]`; write `[[]` for the bracket itself")
    if end == at + 2 or pattern[end - 1] != ":":
        return None
    name = pattern[at + 2 : end - 1]
    if name not in _CLASSES:
        raise ValueError(f"there is no class [:{name}:]; there are {', '.join(_CLASSES)}")
    return _CLASSES[name], end + 1


def _render_set(ranges: list[tuple[str, str]], is_negated: bool) -> str:
    # A set never matches the `/`, because a match must stay within one name.
    if is_negated:
        ranges = [*ranges, ("/", "/")]
    else:
        ranges = [part for low, high in ranges for part in ((low, min(high, ".")), (max(low, "0"), high))]
    members = "".join(f"{_escape_char(low)}-{_escape_char(high)}" for low, high in ranges if low <= high)
    if not members:
        raise ValueError("a set in it has no characters that a name can have")
    return f"[{'^' * is_negated}{members}]"


def _escape_char(char: str) -> str:
    return f"\\U{ord(char):08x}"
