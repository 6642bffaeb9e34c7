r"""
Translates the regular expressions of ECMAScript, which OpenAPI documents have, into those of Python.

The grammar is the lenient one that browsers read (Annex B of the standard): `-` beside `\d` in a class is a plain `-`,
and a letter without a meaning after `\` stands for itself. `\A`, `\Z`, `\z` and `\h`, which ECMAScript does not have,
mean what they mean elsewhere.

A property of Unicode, such as `\p{L}`, has no exact counterpart in Python. It becomes a class that has at least the
same characters, or at most the same ones under a negation, so that no value is refused that the server accepts. The
server still checks the value exactly.
"""

from __future__ import annotations

import re
from collections import deque

from ..errors import DefinitionError

__all__ = ["translate_pattern"]

_LETTERS = {
    **dict.fromkeys(["L", "L&", "LC", "Letter", "Alpha"], "A-Za-z"),
    **dict.fromkeys(["Lu", "Upper", "Uppercase_Letter"], "A-Z"),
    **dict.fromkeys(["Ll", "Lower", "Lowercase_Letter"], "a-z"),
    **dict.fromkeys(["Lt", "Lm", "Lo", "Titlecase_Letter", "Modifier_Letter", "Other_Letter"], ""),
}
"""The properties that only letters have, with their ASCII characters."""

_DIGITS = {
    **dict.fromkeys(["N", "Nd", "Number", "Digit", "Decimal_Number"], "0-9"),
    "Nl": "",
    "No": "",
    "XDigit": "0-9A-Fa-f",
    "Alnum": "0-9A-Za-z",
}
"""The properties that only letters and digits have, with their ASCII characters."""

_ANY, _NEVER = r"\s\S", "(?!)"
_SETS = frozenset([r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\h"])
_ANCHORS = {"A": r"\A", "B": r"\B", "Z": r"\Z", "z": r"\Z", "h": r"[ \t]"}

_ESCAPE = r"""\\(?:
    (?P<property>[pP])(?:\{(?P<caret>\^?)(?:Is|gc=|General_Category=)?(?P<long>[^{}]{1,60})\}|(?P<short>[A-Z]))
  | u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})
  | u\{(?P<point>[0-9a-fA-F]{1,6})\}
  | c(?P<control>[A-Za-z])
  | k<(?P<reference>[A-Za-z_]\w*)>
  | (?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?)
  | [dDwWsSbfnrtv] | x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4}
  | (?P<other>.)
)"""
_MEMBER = re.compile(rf"{_ESCAPE}|.", re.VERBOSE | re.DOTALL)
_TOKEN = re.compile(
    rf"""\\(?P<number>[1-9][0-9]*) | {_ESCAPE}
    | \[(?P<negation>\^?)(?P<members>(?:\\.|[^\]\\])*+)(?:(?P<end>\])|\\?\Z)
    | (?P<opening>\((?:\?<?[=!]|\?P?<(?P<name>[A-Za-z_]\w*)>|(?P<plain>(?!\?)))?)
    | (?P<closing>\)) | .""",
    re.VERBOSE | re.DOTALL,
)


def translate_pattern(pattern: str) -> str:
    """Return *pattern* in the syntax of Python, or raise `DefinitionError` if it has no meaning."""
    try:
        translated = _translate(pattern)
        re.compile(translated)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise DefinitionError(f"the pattern {pattern[:200]!r} has no meaning: {error}") from None
    return translated


def _translate(pattern: str) -> str:
    tokens = list(_TOKEN.finditer(pattern))
    group_count = sum(map(_is_captured, tokens))
    open_groups: list[tuple[int, bool]] = []  # the number of each, and whether what is in it counts as it stands
    closed_numbers: set[int] = set()
    pieces: list[str] = []
    number = 0
    for token in tokens:
        piece = token[0]
        is_wide = not open_groups or open_groups[-1][1]
        if token["opening"]:
            number += _is_captured(token)
            open_groups.append((number if _is_captured(token) else 0, is_wide != piece.endswith("!")))
            piece = f"(?P<{token['name']}>" if token["name"] else piece
        elif token["closing"] and open_groups:
            closed_numbers.add(open_groups.pop()[0])
        elif token["members"] is not None and not token["end"]:
            raise re.error("a `[` has no `]`")
        elif token["members"] is not None:
            piece = _translate_class(token["members"], is_negated=bool(token["negation"]), is_wide=is_wide)
        elif token["number"] and int(token["number"]) <= group_count:
            # A reference to a group that has not ended matches the empty text.
            piece = piece if int(token["number"]) in closed_numbers else "(?:)"
        elif token["number"]:
            piece = _MEMBER.sub(lambda member: _translate_escape(member, is_in_class=False, is_wide=True), piece)
        else:
            piece = _translate_escape(token, is_in_class=False, is_wide=is_wide)
        pieces.append(piece)
    return "".join(pieces)


def _is_captured(token: re.Match[str]) -> bool:
    return token["name"] is not None or token["plain"] is not None


def _translate_escape(token: re.Match[str], *, is_in_class: bool, is_wide: bool) -> str:
    """Return one character or escape. A set is at least as large if *is_wide*, and otherwise at most as large."""
    other = token["other"]
    if token["property"]:
        return _find_class(token, is_in_class=is_in_class, is_wide=is_wide)
    if token["high"]:
        return f"\\U{0x10000 + (int(token['high'], 16) - 0xD800 << 10) + int(token['low'], 16) - 0xDC00:08x}"
    if token["point"]:
        return f"\\U{int(token['point'], 16):08x}"
    if token["control"]:
        return f"\\x{ord(token['control']) % 32:02x}"
    if token["octal"]:
        return f"\\x{int(token['octal'], 8):02x}"
    if token["reference"]:
        return f"(?P={token['reference']})"
    if other in _ANCHORS and not is_in_class:
        return _ANCHORS[other]
    if other == "c":
        return r"\\c"
    if other == "h":
        return r" \t"
    return other if other and (other.isalnum() or other in "_/") else token[0]


def _translate_class(members: str, *, is_negated: bool, is_wide: bool) -> str:
    """Return a class. Between two characters `-` is a range, and beside a set it stands for itself."""
    waiting = deque(_MEMBER.finditer(members))
    pieces: list[str] = []

    def translate(member: re.Match[str], *, is_at_end: bool = False) -> str:
        if member[0] in ("[", "^") or (member[0] == "-" and not is_at_end):
            return f"\\{member[0]}"
        if member[0] in ("&", "~", "|") and pieces[-1:] == [member[0]]:
            return f"\\{member[0]}"  # Python warns of two, which may get a meaning
        return _translate_escape(member, is_in_class=True, is_wide=is_wide != is_negated)

    while waiting:
        first = waiting.popleft()
        if len(waiting) < 2 or waiting[0][0] != "-":
            pieces.append(translate(first, is_at_end=not (pieces and waiting)))
            continue
        waiting.popleft()
        last = waiting.popleft()
        is_range = not any(member["property"] or member[0] in _SETS for member in (first, last))
        pieces += [translate(first), "-" if is_range else r"\-", translate(last)]
    if not any(pieces):
        return f"[{_ANY}]" if is_negated else _NEVER
    return f"[{'^' * is_negated}{''.join(pieces)}]"


def _find_class(token: re.Match[str], *, is_in_class: bool, is_wide: bool) -> str:
    """Return a class for a property of Unicode: letters, letters and digits, or all; or ASCII characters of it."""
    name = token["long"] or token["short"]
    is_negated = (token["property"] == "P") != bool(token["caret"])
    is_letter = name in _LETTERS
    if not is_wide:
        characters = "" if is_negated else _LETTERS.get(name, _DIGITS.get(name, ""))
        return characters if is_in_class else f"[{characters}]" if characters else _NEVER
    if is_negated or not (is_letter or name in _DIGITS):
        return _ANY if is_in_class else f"[{_ANY}]"
    return r"\w" if is_in_class or not is_letter else r"[^\W\d_]"
