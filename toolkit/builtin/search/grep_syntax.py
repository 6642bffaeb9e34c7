"""
The regular expressions of `grep`: the syntax that Python and ripgrep read alike.

The syntax has literals, `.`, sets such as `[a-z]` and `[^,]`, `\\d \\w \\s` and their opposites, `\\b`, `^`, `$`,
groups, `|`, and the repeats `* + ? {2,5}`, greedy or not. `(?i)` in front ignores case. Each line is searched
separately.

Syntax that only backtracking could match (lookaround, backreferences) is refused, and so is syntax that the two engines
read differently. For the rest, the result of Python decides. ripgrep only says which files can be skipped. The
expression that it gets may find too much, but never too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import BadArgs, Problem
from ...values.patterns import Pattern, compile_pattern
from ...values.patterns.automaton import MAX_STATES, count_states, find_irregular
from ...values.patterns.charsets import Chars
from ...values.patterns.syntax_tree import UNBOUNDED, At, Either, Node, Repeat, Seq, read_tree

__all__ = ["Query", "build_query"]

_MAX_CHARACTERS = 1000


class Query(NamedTuple):
    """
    A pattern that is ready for a search.

    Attributes:
        line_pattern: Matches each line that is searched for.
        text_pattern: Matches each text with such a line, and perhaps other texts.
        needle: A literal text that every such line holds; empty if none is known.
        ripgrep_pattern: The expression with which ripgrep finds each file with such a line, and perhaps other files. It
            matches bytes, not characters.
    """

    line_pattern: Pattern
    text_pattern: Pattern
    needle: str
    ripgrep_pattern: str


def build_query(pattern: str, *, fixed: bool = False, ignore_case: bool = False) -> Query:
    """
    Return the `Query` for *pattern*, in which with *fixed* every character stands for itself.

    Raise `BadArgs`, which says what would be right, if the pattern is not in the supported syntax.
    """
    if objection := _find_problem(pattern, fixed=fixed):
        raise BadArgs(Problem(objection, ("pattern",)))
    if fixed:
        source = re.escape(pattern)
    else:
        flags = _FLAGS_IN_FRONT.match(pattern)
        source = pattern[flags.end() :] if flags else pattern
        ignore_case = ignore_case or flags is not None
    case = "i" if ignore_case else ""
    try:
        line = compile_pattern(f"(?{case}:{source})" if case else source)
        text = compile_pattern(f"(?{case}m:{source})")
        tree = read_tree(line.source)
    except ValueError as error:
        remedy = "mend it, or search with fixed=true to take every character as it is"
        raise BadArgs(Problem(f"{error}; {remedy}", ("pattern",))) from error
    if feature := find_irregular(tree):
        raise BadArgs(Problem(f"it has {feature}, which is not searched for; {_SEARCH_ADVICE}", ("pattern",)))
    if count_states(tree) > MAX_STATES:
        raise BadArgs(Problem("its repeats, written out, are too long; make them shorter", ("pattern",)))
    return Query(line, text, _longest_literal(tree), f"(?m-u){_build_ripgrep_pattern(tree)}")


# Refused patterns.

_FLAGS_IN_FRONT = re.compile(r"\(\?i\)")
_SEARCH_ADVICE = "search for the wider text, and look at the lines that are found"
_ESCAPES = {
    "n": "lines are searched one by one, and none holds a newline; search for a part of one line",
    "A": "lines are searched one by one; write `^` for the start of a line",
    "Z": "lines are searched one by one; write `$` for the end of a line",
    "z": "lines are searched one by one; write `$` for the end of a line",
    "<": "write `\\b` for the edge of a word, or `<` for the sign",
    ">": "write `\\b` for the edge of a word, or `>` for the sign",
    "p": "write the characters as a set, such as `[a-zà-ÿ]`, or `\\w` for all letters and digits",
    "P": "write the characters as a set that starts with `^`",
    "N": "write the character itself, or its code as `\\u00e9`",
    **dict.fromkeys("123456789", "it refers back to a group, which is not searched for; write the text again"),
    "0": "write the code as `\\x00`",
}
_TOKENS = re.compile(
    r"""
    \\(?P<escape>.)
    | (?P<set>\[\^?\]?)                                # a `]` in front belongs to the set
    | \(\?(?P<group>P?[=!><\#(]{1,2}|[a-zA-Z-]*[:)])   # what follows `(?`
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_SET_TOKENS = re.compile(r"\\(?P<escape>.)|(?P<odd>\[|--|&&|~~|\|\|)|(?P<end>\])|.", re.DOTALL)
_SUPPORTED_GROUPS = {":", "i)", "i:", "-i:", "P<"}
_SUPPORTED_GROUPS_TEXT = "`(?:...)`, `(?i:...)`, `(?P<name>...)`, and `(?i)` in front"


def _find_problem(pattern: str, *, fixed: bool) -> str | None:
    """Return what is wrong with *pattern* before it is parsed, or None."""
    if not pattern:
        return "it is empty; write `.` for every line that is not"
    if len(pattern) > _MAX_CHARACTERS:
        return f"it is longer than {_MAX_CHARACTERS:,} characters; search for a part of it"
    if "\n" in pattern:
        return _ESCAPES["n"]
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return "it holds half a character, which no text does; write the whole one"
    return None if fixed else next(_find_oddities(pattern), None)


def _find_oddities(pattern: str) -> Iterator[str]:
    """Yield a message for each part of *pattern* that the engines would read differently."""
    at = 0
    in_set = False
    while at < len(pattern):
        token = (_SET_TOKENS if in_set else _TOKENS).match(pattern, at)
        assert token is not None  # noqa: S101 -- both expressions match any character
        at = token.end()
        groups = token.groupdict()
        if escape := groups["escape"]:
            if escape in _ESCAPES:
                yield f"`\\{escape}`: {_ESCAPES[escape]}"
            elif in_set and escape == "b":
                yield "`\\b` in a set: write the code as `\\x08`"
        elif in_set:
            if odd := groups["odd"]:
                yield f"`{odd}` in a set means different things to different engines; write `\\{odd[0]}`"
            in_set = not groups["end"]
        elif groups["set"]:
            in_set = True
        elif (group := groups["group"]) and group not in _SUPPORTED_GROUPS:
            yield f"`(?{group}` is not searched for; there are {_SUPPORTED_GROUPS_TEXT}; {_SEARCH_ADVICE}"


# The text that every match holds.

_LITERAL = re.compile(r"\\U([0-9a-f]{8})")


def _literal(node: Node) -> str:
    """Return the one character that *node* matches, or an empty string if it can match several."""
    if not isinstance(node, Chars) or node.flags & re.IGNORECASE:
        return ""
    match = _LITERAL.fullmatch(node.source)
    # Bytes that cannot be decoded are read as U+FFFD, so this character stands for many different bytes.
    return chr(int(match[1], 16)) if match and match[1] != "0000fffd" else ""


def _longest_literal(tree: Node) -> str:
    best = run = ""
    for node in _flatten(tree):
        run = run + char if (char := _literal(node)) else ""
        best = max(best, run, key=len)
    return best


def _flatten(node: Node) -> Iterator[Node]:
    """Yield the parts of *node* in their order. Every match contains all of them."""
    if isinstance(node, Seq):
        for item in node.items:
            yield from _flatten(item)
    else:
        yield node


# The expression for ripgrep.

_ASCII = (1 << 128) - 1
_NEWLINE = 1 << ord("\n")
# Any character beyond ASCII, and bytes that are no character.
_NON_ASCII = r"[\x80-\xff]{1,4}"
_MAX_REPEATS = 50


def _build_ripgrep_pattern(node: Node) -> str:
    """Return an expression over bytes that matches wherever *node* matches in the text."""
    match node:
        case Chars():
            return _byte_pattern(node)
        case At("start" | "line start"):
            return "^"
        case At("end" | "line end"):
            return r"\r?$"
        case Seq(items):
            return "".join(map(_build_ripgrep_pattern, items))
        case Either(items):
            return f"(?:{'|'.join(map(_build_ripgrep_pattern, items))})"
        case Repeat(low, high, body):
            # Fewer rounds match more text, and cost ripgrep less.
            rounds = f"{{{min(low, _MAX_REPEATS)},{'' if high >= UNBOUNDED or high > _MAX_REPEATS else high}}}"
            return f"(?:{_build_ripgrep_pattern(body)}){rounds}"
        case _:
            return ""  # Python checks the edges of words later


def _byte_pattern(chars: Chars) -> str:
    char = _literal(chars)
    if char:
        return "".join(f"\\x{byte:02x}" for byte in char.encode())
    bits = chars.mask & _ASCII & ~_NEWLINE
    members = "".join(f"\\x{code:02x}" for code in range(128) if bits >> code & 1)
    choices = [f"[{members}]"] * bool(members) + [_NON_ASCII] * bool(chars.mask >> 128)
    return f"(?:{'|'.join(choices)})"
