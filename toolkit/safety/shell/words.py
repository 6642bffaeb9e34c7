"""
The value of a word of a command line after the shell has removed its quotes.

This is a second reading. The grammar says where a word starts and ends and where its expansions are. This module reads
the same characters again. It raises `CannotParse` if the two readings differ, because then it is not known what will
run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..._plumbing.wording import in_backticks
from .braces import has_active_braces
from .records import CannotParse

__all__ = ["ShellWord", "decode_ansi", "has_unescaped_substitution", "read_word", "remove_quotes"]

# An ordinary word has no character that is special to the shell, at any position.
_ORDINARY = re.compile(r"[\w./,:=@%+#^!\]}-]+")
_SIMPLE_EXPANSION = re.compile(r"\$\{[^{}]*\}")
# Texts that would run or expand if the shell saw them outside single quotes and the grammar did not see them.
_SUBSTITUTION = re.compile(r"\\.|(`|\$[({\[]|[<>]\()", re.DOTALL)
_MAY_SUBSTITUTE = re.compile(r"[`$<>]")
_PARAMETER = re.compile(r"\$(\d)(\w+)")
_SIMPLE_NAME = re.compile(r"\$\w+")
_WORD_CHARACTER = re.compile(r"\w")
_ANSI = re.compile(
    r"\\(?:x(?P<x>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})"
    r"|(?P<o>[0-7]{1,3})|c(?P<c>[^\\\x80-\U0010ffff])|(?P<e>.))",
    re.DOTALL,
)
# Bash reads `\x{72}` as one character and leaves `\xg` as it is. Other shells, and other versions of bash, do not.
_DISPUTED_ESCAPES = frozenset("xuUc")
_ANSI_STRING = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI_NAMES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


class ShellWord(NamedTuple):
    """A word without its quotes, whether it is known exactly, and its text with an `x` for each expansion."""

    plain: str
    is_literal: bool
    unexpanded: str = ""


def has_unescaped_substitution(text: str) -> bool:
    """Return whether *text* holds a substitution that no backslash hides."""
    return _MAY_SUBSTITUTE.search(text) is not None and any(match.group(1) for match in _SUBSTITUTION.finditer(text))


def remove_quotes(text: str, *, of_ansi: str = "$") -> str:
    """
    Return *text* without any quotes and backslashes, and with what `$'...'` stands for.

    The `$` of `$'...'` stays unless *of_ansi* says otherwise, because it may belong to the text before: `'x$'"(y)"`.
    """
    decoded = _ANSI_STRING.sub(lambda match: f"{of_ansi}{decode_ansi(match[1])[0]}", text)
    return re.sub(r"""['"\\]""", "", decoded if of_ansi else decoded.replace('$"', '"'))


def read_word(text: str, spans: Mapping[int, int], *, start: int = 0, tilde_after: str = "") -> ShellWord:
    """
    Return the word that *text* stands for.

    Args:
        text: The source of one word. Each character is one byte.
        spans: The expansions that the grammar found, from start offset to end offset.
        start: The offset of *text* itself.
        tilde_after: Characters after which a tilde also means a home folder: `=` and `:` in an assignment.
    """
    if not spans and _ORDINARY.fullmatch(text):
        return ShellWord(text, is_literal=True, unexpanded=text)
    plain: list[str] = []
    expansions: list[int] = []
    # The text in which braces and patterns are searched. Each quoted part counts as a harmless letter.
    bare: list[str] = []
    # Quoted texts and expansions, each with its place in `bare`.
    shielded: list[tuple[int, str]] = []
    literal, spans_read, at, quoted = True, 0, 0, False
    while at < len(text):
        character = text[at]
        if (end := spans.get(start + at)) is not None:
            expansion = text[at : end - start]
            if expansion.startswith("${"):
                expansion = expansion.replace("\\\n", "")
            # The grammar takes `$1s` for one name. To the shell it is `${1}s`.
            digit = _PARAMETER.fullmatch(expansion)
            expansions.append(len(plain))
            plain += [f"${digit[1]}", digit[2]] if digit else [expansion]
            shielded.append((len(bare), _SIMPLE_EXPANSION.sub("", expansion)))
            bare.append("x")
            literal, spans_read, at = False, spans_read + 1, end - start
        elif character == "\\" and (not quoted or text[at + 1 : at + 2] in '$`"\\\n'):
            following = text[at + 1 : at + 2]
            if not following:
                raise CannotParse("it ends in a backslash")
            if following != "\n":
                plain.append(following)
                shielded.append((len(bare), following))
                bare.append("x")
            at += 2
        elif character == '"':
            quoted, at = not quoted, at + 1
            bare.append("x")
        elif not quoted and character == "'":
            end = _closing_quote(text, at + 1)
            plain += filter(None, [text[at + 1 : end]])
            shielded.append((len(bare), text[at + 1 : end]))
            bare.append("x")
            at = end + 1
        elif not quoted and text.startswith("$'", at):
            end = _closing_quote(text, at + 2, escapes=True)
            value, is_exact = decode_ansi(text[at + 2 : end])
            plain += filter(None, [value])
            shielded.append((len(bare), value))
            bare.append("x")
            literal, at = literal and is_exact, end + 1
        elif not quoted and text.startswith('$"', at):
            # This is a translated string. The words that it becomes depend on the locale.
            literal, at = False, at + 1
        elif character == "`" or (character == "$" and text[at + 1 : at + 2] in tuple("({[")):
            raise CannotParse(f"a substitution in {_quote(text)} is not understood")
        elif not quoted and character in " \t\n;|&<>()":
            raise CannotParse(f"{character!r} in {_quote(text)} is not understood")
        else:
            if character == "$" and re.match(r"[\w@*#?!$-]", text[at + 1 : at + 2]):
                literal = False  # the grammar takes `$IFS/` for text; the shell does not
            plain.append(character)
            if quoted:
                shielded.append((len(bare), character))
            bare.append("x" if quoted else character)
            at += 1
    if quoted or spans_read != sum(1 for offset in spans if start <= offset < start + len(text)):
        raise CannotParse(f"the quotes in {_quote(text)} are not understood")
    for place in expansions:
        # The `$a` of `"$a"s` must not look like the variable `as`.
        if _SIMPLE_NAME.fullmatch(plain[place]) and any(map(_WORD_CHARACTER.match, plain[place + 1 : place + 2])):
            plain[place] = f"${{{plain[place][1:]}}}"
    whole = "".join(plain)
    has_braces = has_active_braces("".join(bare))
    if has_braces:
        _refuse_shielded_braces(bare, shielded)
    for place in expansions:
        plain[place] = "x"
    return ShellWord(
        whole,
        literal and not has_braces and _stays_unchanged("".join(bare), tilde_after),
        "".join(plain) if expansions else whole,
    )


def _refuse_shielded_braces(bare: list[str], shielded: list[tuple[int, str]]) -> None:
    """Refuse `{a'{',b}`: without its quotes, the word has other braces and commas than those that the shell sees."""
    first, last = bare.index("{"), len(bare) - bare[::-1].index("}")
    for place, part in shielded:
        if "{" in part or "}" in part or ("," in part and first < place < last):
            raise CannotParse("braces with a quoted brace or comma among them are not understood")


def _stays_unchanged(bare: str, tilde_after: str) -> bool:
    """Return whether the shell leaves a word without `$` as it is: it has no pattern and no home folder."""
    pattern = "*" in bare or "?" in bare or ("[" in bare and "]" in bare[bare.index("[") :])
    home = bare.startswith("~") or any(f"{sign}~" in bare for sign in tilde_after)
    return not (pattern or home)


def _closing_quote(text: str, at: int, *, escapes: bool = False) -> int:
    while at < len(text):
        if text[at] == "'":
            return at
        at += 2 if escapes and text[at] == "\\" else 1
    raise CannotParse(f"the quotes in {_quote(text)} are not understood")


def decode_ansi(text: str) -> tuple[str, bool]:
    """Return the text inside `$'...'`, and whether every escape in it is certainly one character."""
    is_exact = True

    def decode_escape(match: re.Match[str]) -> str:
        nonlocal is_exact
        kind, escape = match.lastgroup or "e", match.group(match.lastgroup or "e")
        if kind == "e":
            if escape in _DISPUTED_ESCAPES:
                raise CannotParse(f"shells do not agree on the escape `\\{escape}` without its digits")
            return _ANSI_NAMES.get(escape, "\\" + escape)
        code = _control_code(escape) if kind == "c" else int(escape, 8 if kind == "o" else 16)
        if kind == "o":
            code &= 0xFF  # `\562` is the byte of `\162`
        if code == 0:
            raise CannotParse("it holds a NUL character, which ends a word before its end is seen")
        if code > 0x7F:  # such bytes may join with their neighbours
            is_exact = False
            return match.group()
        return chr(code)

    return _ANSI.sub(decode_escape, text), is_exact


def _control_code(character: str) -> int:
    """Return the code of the key *character* together with Ctrl, as in `\\cA`."""
    return 0x7F if character == "?" else ord(character.upper()) & 0x1F


def _quote(text: str) -> str:
    return in_backticks(f"{text[:40]}..." if len(text) > 40 else text)
