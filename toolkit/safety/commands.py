"""
Whether a command line is dangerous, as far as reading it can tell.

The line is read (`shell`), every command in it is held against the tables
(`dangers`) and against its neighbours (`shell_flows`). What cannot be read asks.
This is no boundary: a program that is allowed can do what it likes, and only a
sandbox keeps it from doing so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..verdicts import Finding
from .dangers import dangers
from .shell import CannotParse, Redirection, Script, SimpleCommand, parsed
from .shell_args import Args
from .shell_flows import flows, whole
from .shell_targets import Danger, is_secret, writing

__all__ = ["judged"]

_BY = "check `dangerous-command`"
_MOST_SHOWN = 80
_MOST_REASONS = 3
_MOST_READINGS = 2_000
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
    # What is denied is said first; the same reason once.
    found.sort(key=lambda each: each[1].word != "deny")
    reasons = list(dict.fromkeys(f"`{_shown(part)}` {danger.why}" for part, danger in found))
    more = f"; and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    return Finding(found[0][1].word, _BY, "; ".join(reasons[:_MOST_REASONS]) + more)


def _found(script: Script) -> Iterator[tuple[str, Danger]]:
    yield from whole(script)
    values, folders = _values(script), _folders(script)
    readings = 0
    for command in script.commands:
        for danger in flows(command):
            yield command.source, danger
        for reading in _readings(command, values, folders):
            readings += 1
            if readings > _MOST_READINGS:
                yield command.source, Danger("ask", "can mean too many things to look at all of them")
                return
            for danger in dangers(Args(reading)):
                yield command.source, danger
    for redirection in script.redirections:
        if not redirection.operator.startswith("<<"):
            for target in _filled_in(redirection.target, values):
                for path in (target, *(_below(folder, target) for folder in folders)):
                    yield from _redirected(redirection, path)


def _redirected(redirection: Redirection, path: str) -> Iterator[tuple[str, Danger]]:
    shown = f"{redirection.operator} {redirection.target}"
    if redirection.writes and (found := writing(path)):
        yield shown, found
    if is_secret(path):
        yield shown, Danger("ask", "reads or changes a file with keys or passwords")


def _values(script: Script) -> dict[str, list[str]]:
    """Every value that the text itself gives to a variable."""
    values: dict[str, list[str]] = {}
    for each in script.assignments:
        if each.is_literal and each.value not in values.setdefault(each.name, []):
            values[each.name].append(each.value)
    for command in script.commands:
        if command.name == "set":
            words = [word for word in command.plain[1:] if word != "--"]
            for name, value in [("@", " ".join(words)), ("*", " ".join(words)), *enumerate(words, start=1)]:
                values.setdefault(str(name), []).append(value)
    return values


def _folders(script: Script) -> list[str]:
    """Where the text goes to: relative names may be meant from there."""
    going = (each.plain[1] for each in script.commands if each.name in ("cd", "pushd") and len(each.plain) > 1)
    return [folder for folder in dict.fromkeys(going) if folder.startswith(("/", "~", "$HOME"))]


def _readings(
    command: SimpleCommand, values: Mapping[str, Sequence[str]], folders: Sequence[str]
) -> Iterator[SimpleCommand]:
    """The command as written, with its variables filled in, and as it reads after each `cd`."""
    for filled in [command, *_filled(command, values)]:
        yield filled
        for folder in folders:
            yield replace(filled, plain=(filled.plain[0], *(_below(folder, word) for word in filled.plain[1:])))


def _filled(command: SimpleCommand, values: Mapping[str, Sequence[str]]) -> Iterator[SimpleCommand]:
    """`$x` replaced by what it may be, and taken apart as the shell would if it is not quoted."""
    for turn in range(_turns(" ".join(command.plain), values)):
        words: list[str] = []
        for written, plain in zip(command.words, command.plain, strict=True):
            text = _at_turn(plain, values, turn)
            whole_word = text == plain or (written.startswith('"') and written != '"$@"')
            words += [text] if whole_word else text.split()
        if words:
            yield replace(command, words=tuple(words), plain=tuple(words), literal=(True,) * len(words))


def _filled_in(text: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield text
    for turn in range(_turns(text, values)):
        yield _at_turn(text, values, turn)


def _turns(text: str, values: Mapping[str, Sequence[str]]) -> int:
    """How often *text* has to be filled in until every value had its turn."""
    return max((len(values.get(found[1] or found[2], ())) for found in _VARIABLE.finditer(text)), default=0)


def _at_turn(text: str, values: Mapping[str, Sequence[str]], turn: int) -> str:
    def value(found: re.Match[str]) -> str:
        known = values.get(found[1] or found[2])
        return known[turn % len(known)] if known else found[0]

    return _VARIABLE.sub(value, text)


def _below(folder: str, word: str) -> str:
    return word if word.startswith(("-", "/", "~", "$")) else f"{folder.rstrip('/')}/{word}"


def _shown(part: str) -> str:
    text = " ".join(part.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
