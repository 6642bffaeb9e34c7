"""
Whether a command line is dangerous, as far as reading it can tell.

The line is read (`shell`), every command in it is held against the tables
(`dangers`) and against its neighbours (`shell_flows`). What cannot be read asks.
This is no boundary: a program that is allowed can do what it likes, and only a
sandbox keeps it from doing so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..verdicts import Finding
from .dangers import dangers
from .shell import CannotParse, Script, SimpleCommand, parsed
from .shell_args import Args
from .shell_flows import flows, whole
from .shell_targets import Danger, is_secret, writing

__all__ = ["judged"]

_BY = "check `dangerous-command`"
_MOST_SHOWN = 80
_MOST_REASONS = 3
_MOST_FOLDERS = 8
_VARIABLE = re.compile(r"\$(?:(\w+|[@*])|\{(\w+|[@*])\})")


def judged(text: str) -> Finding | None:
    """What is dangerous about the command line *text*; None if nothing is."""
    try:
        script = parsed(text)
    except CannotParse as problem:
        return Finding("ask", _BY, f"the command cannot be read, so nobody knows what it would do: {problem}")
    found = list(_found(script))
    if not found:
        return None
    word = "deny" if any(danger.word == "deny" for _, danger in found) else "ask"
    # What is denied is said first; the same reason once.
    found.sort(key=lambda each: each[1].word != "deny")
    reasons = list(dict.fromkeys(f"`{_shown(part)}` {danger.why}" for part, danger in found))
    more = f"; and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    return Finding("deny" if word == "deny" else "ask", _BY, "; ".join(reasons[:_MOST_REASONS]) + more)


def _found(script: Script) -> Iterator[tuple[str, Danger]]:
    yield from whole(script)
    values = _values(script)
    folders = [
        each.plain[1]
        for each in script.commands
        if each.name in ("cd", "pushd") and len(each.plain) > 1 and each.plain[1].startswith(("/", "~", "$HOME"))
    ][:_MOST_FOLDERS]
    for command in script.commands:
        for danger in flows(command):
            yield command.source, danger
        for variant in _variants(command, values, folders):
            for danger in dangers(Args(variant)):
                yield command.source, danger
    for redirection in script.redirections:
        if redirection.operator.startswith("<<"):
            continue
        target = _with_values(redirection.target, values)
        for path in (target, *(_below(folder, target) for folder in folders)):
            shown = f"{redirection.operator} {redirection.target}"
            if redirection.writes and (found := writing(path)):
                yield shown, found
            if is_secret(path):
                yield shown, Danger("ask", "reads or changes a file with keys or passwords")


def _values(script: Script) -> dict[str, str]:
    """The variables whose value the text itself gives; the last one counts."""
    values = {each.name: each.value for each in script.assignments if each.is_literal}
    for command in script.commands:
        if command.name == "set":
            words = [word for word in command.plain[1:] if word != "--"]
            values |= {"@": " ".join(words), "*": " ".join(words)}
            values |= {str(at): word for at, word in enumerate(words, start=1)}
    return values


def _variants(command: SimpleCommand, values: Mapping[str, str], folders: list[str]) -> Iterator[SimpleCommand]:
    """The command as written, with its variables filled in, and as it reads after each `cd`."""
    yield command
    filled = _filled(command, values)
    if filled is not command:
        yield filled
    for folder in folders:
        yield replace(filled, plain=(filled.plain[0], *(_below(folder, word) for word in filled.plain[1:])))


def _filled(command: SimpleCommand, values: Mapping[str, str]) -> SimpleCommand:
    """`$x` replaced by what *values* says, and taken apart as the shell would if it is not quoted."""
    words: list[str] = []
    for written, plain in zip(command.words, command.plain, strict=True):
        text = _with_values(plain, values)
        words += [text] if (written.startswith('"') and written != '"$@"') or text == plain else text.split() or [""]
    if tuple(words) == command.plain:
        return command
    return replace(command, words=tuple(words), plain=tuple(words), literal=(True,) * len(words))


def _with_values(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


def _below(folder: str, word: str) -> str:
    return word if word.startswith(("-", "/", "~", "$")) else f"{folder.rstrip('/')}/{word}"


def _shown(part: str) -> str:
    text = " ".join(part.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
