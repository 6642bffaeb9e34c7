"""
Comparison of shell globs with the names of protected files, without looking at the disk.

A glob is compared with the pattern of a protected file: `.e*` may stand for `.env`, and `f*.p?m` may stand for a
`*.pem`. `*` alone may stand for any name and says nothing about it, so it matches no protected file. Neither does
`*.json`, which says only what kind of file it is. As in the shell, a glob matches a leading dot only if the dot is
written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

__all__ = ["is_glob", "may_overlap", "regex_of"]

_GLOB = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"\*+|\?|\[[!^]?\]?(?:\[:\w+:\]|[^\]])*\]|.", re.DOTALL)
_TOKEN_OUTSIDE_CLASS = re.compile(r"\*+|.", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "lower": "a-z", "upper": "A-Z", "punct": "!-/:-@[-`{-~",
    "space": r"\s", "blank": r" \t", "word": r"\w", "xdigit": "0-9a-fA-F", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f",
}  # fmt: skip

# None stands for any text. A pattern stands for one letter.
_Token: TypeAlias = re.Pattern[str] | str | None


def is_glob(text: str) -> bool:
    """Return whether the shell would expand *text*."""
    return _GLOB.search(text) is not None


@lru_cache(maxsize=1024)
def regex_of(glob: str) -> str:
    """
    Return the regular expression for *glob*, which is one name of a path.

    The text between two stars is looked for once, at its first place. A later place would leave less to the rest of
    the glob. So no number of stars makes the search slow.
    """
    parts = [""]
    for token in _tokens(glob):
        if token is None:
            parts.append("")
        else:
            parts[-1] += re.escape(token) if isinstance(token, str) else token.pattern
    first, *middle = parts[:-1] or [parts[0]]
    return first + "".join(f"(?>[^\n]*?{part})" for part in middle) + (f"[^\n]*{parts[-1]}" if parts[1:] else "")


def may_overlap(glob: str, pattern: str, *, dots: bool = False, must_be_specific: bool = False) -> bool:
    """
    Return whether a name exists that both *glob* and *pattern* match.

    Args:
        dots: Whether `*` matches a leading dot, as after `shopt -s dotglob` and for `find -name`.
        must_be_specific: Whether *glob* also has to say something about the name. It does if one of its letters, or its
            leading dot, is a letter that *pattern* writes, and if it is not only a common ending.
    """
    if not dots and pattern.startswith(".") and not glob.startswith((".", "[.")):
        return False
    left, right = _tokens(glob), _tokens(pattern)
    if not left or not right or not (_may_be_equal(left[0], right[0]) and _may_be_equal(left[-1], right[-1])):
        return False
    if sum(token is not None for token in left) > _MAX_LETTERS:
        return False
    if must_be_specific and (ending := _only_ending(glob)) and pattern.lstrip("*?") != ending:
        return False
    return _have_common_name(left, right, is_specific=not must_be_specific)


def _have_common_name(left: tuple[_Token, ...], right: tuple[_Token, ...], *, is_specific: bool) -> bool:
    """
    Return whether one name fits both token lists.

    The search steps through both lists at once. A `*` takes any number of letters of the other list.
    """
    waiting, visited = [(0, 0, is_specific)], set()
    while waiting:
        state = waiting.pop()
        if state in visited:
            continue
        visited.add(state)
        i, j, aimed = state
        left_token = left[i] if i < len(left) else _END
        right_token = right[j] if j < len(right) else _END
        if left_token is _END and right_token is _END and aimed:
            return True
        if left_token is None:
            waiting.append((i + 1, j, aimed))
        if right_token is None:
            waiting.append((i, j + 1, aimed))
        if left_token is None and right_token is not _END:
            waiting.append((i, j + 1, aimed))
        if right_token is None and left_token is not _END:
            waiting.append((i + 1, j, aimed))
        if (
            left_token is not None
            and right_token is not None
            and _END not in (left_token, right_token)
            and _may_be_equal(left_token, right_token)
        ):
            says = isinstance(right_token, str) and _says_letter(left_token) and (right_token.isalnum() or i == j == 0)
            waiting.append((i + 1, j + 1, aimed or says))
    return False


_END = ""
_MAX_CLASS_CHARS = 5
_MAX_LETTERS = 255  # No file system has longer names.


def _says_letter(token: _Token) -> bool:
    """Return whether *token* stands for one letter or one of a few letters: `[ab]` does; `[a-z]` and `?` do not."""
    if isinstance(token, str):
        return True
    return token is not None and len(token.pattern) <= _MAX_CLASS_CHARS and not re.search(r"[\^-]", token.pattern[1:-1])


def _may_be_equal(left: _Token, right: _Token) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, re.Pattern) and isinstance(right, str):
        return left.fullmatch(right) is not None
    if isinstance(left, str) and isinstance(right, re.Pattern):
        return right.fullmatch(left) is not None
    return True


@lru_cache(maxsize=2048)
def _tokens(glob: str) -> tuple[_Token, ...]:
    *with_classes, rest = glob.rsplit("]", 1)  # A `[` in the rest is never closed.
    texts = [text for part in with_classes for text in _TOKEN.findall(f"{part}]")]
    return tuple(map(_parse_token, [*texts, *_TOKEN_OUTSIDE_CLASS.findall(rest)]))


def _parse_token(text: str) -> _Token:
    if text.startswith("*"):
        return None
    if text == "?":
        return _ANY
    return _compile_class(text) if len(text) > 1 else text


_ANY = re.compile(r"[^\n]")


def _compile_class(text: str) -> re.Pattern[str]:
    """Return the regular expression for `[a-z]`. Text that cannot be compiled stands for any letter."""
    inner = text[1:-1]
    negated, inner = inner[:1] in ("!", "^"), inner.lstrip("!^") if inner[:1] in ("!", "^") else inner
    inner = inner.replace("\\", "\\\\").replace("]", r"\]")
    inner = re.sub(r"\[:(\w+):\\\]", lambda name: _CLASSES.get(name[1], r"\x00-\x7f"), inner).replace("[", r"\[")
    # Regular expressions warn of doubled signs in a class. The first of two hyphens at the start is a letter.
    inner = re.sub(r"\A--|[&|~]", r"\\\g<0>", inner)
    inner = re.sub(r"(?<!\\)--", r"-\\-", inner)
    try:
        return re.compile(f"[{'^' if negated else ''}{inner}]", re.IGNORECASE)
    except re.error:
        return _ANY


def _only_ending(glob: str) -> str:
    """Return the ending of a glob like `*.json`, or an empty text if *glob* says anything else."""
    stem, dot, ending = glob.rpartition(".")
    return dot + ending if dot and stem and not stem.strip("*?") and not is_glob(ending) else ""
