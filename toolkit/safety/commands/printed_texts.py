"""The texts that a line itself shows: what a command prints, and what another command reads from it."""

from __future__ import annotations

import re

from ..shell.known_input import KnownInput, find_known_input
from ..shell.records import SimpleCommand
from ..shell.words import decode_ansi

__all__ = ["find_known_output", "guess_output", "input_text"]

_PASSES_THROUGH = frozenset({"cat", "tee", "sponge"})


def input_text(command: SimpleCommand) -> str:
    """Return the text that *command* reads from standard input, or "" if the line does not show it."""
    known = _find_input(command)
    return known.text if known is not None else ""


def find_known_output(command: SimpleCommand) -> KnownInput | None:
    """Return the text that *command* prints, or None if the line does not show it."""
    if command.name in _PASSES_THROUGH and (command.name != "cat" or len(command.words) == 1):
        return _find_input(command)
    if command.name not in ("echo", "printf") or not all(command.literal):
        return None
    words = [word for word in command.words[1:] if not re.fullmatch(r"-[neE]+|--", word)]
    text = None
    if command.name == "echo":
        ends = "" if any(re.fullmatch(r"-[eE]*n[neE]*", word) for word in command.words[1:]) else "\n"
        # It depends on the shell and its options whether `echo` interprets a backslash.
        text = None if any("\\" in word for word in words) else " ".join(words) + ends
    elif len(words) == 1 and not re.search(r"%|\\(?!n)", words[0]):
        text = words[0].replace("\\n", "\n")
    elif len(words) == 2 and re.fullmatch(r"%s(\\n)?", words[0]):
        text = words[1] + words[0][2:].replace("\\n", "\n")
    return None if text is None else KnownInput(text, is_exact=True)


def guess_output(command: SimpleCommand) -> str | None:
    """Return about what `echo` and `printf` print, with words for `%s` and characters for escapes; None if unknown."""
    words = [word for word in command.plain[1:] if not re.fullmatch(r"-[neE]+|--", word)]
    if command.name not in ("echo", "printf"):
        known = find_known_output(command)
        return known and known.text
    rest = iter(words[1:])
    if command.name == "printf" and words:
        words = [re.sub(r"%-?\d*[sbq]", lambda match: next(rest, ""), words[0]), *rest]
    return decode_ansi(" ".join(words))[0]


def _find_input(command: SimpleCommand) -> KnownInput | None:
    known = find_known_input(command)
    if known is not None:
        return known
    source = _find_only_source(command)
    known = find_known_output(source) if source is not None else None
    return known and KnownInput(known.text, known.is_exact and not command.shares_input)


def _find_only_source(command: SimpleCommand) -> SimpleCommand | None:
    """Return the command that prints all that *command* reads, or None. A redirection is nearer than a pipe."""
    inputs = [redirection for redirection in command.redirections if redirection.is_standard_input]
    if inputs:
        is_substituted = inputs[-1].operator == "<" and inputs[-1].target.startswith("<(")
        return command.substitutions[0] if is_substituted and len(command.substitutions) == 1 else None
    source = command.pipe_source
    # Several commands before the pipe (`{ echo a; echo b; } | tee f`) print more than the last one does.
    return source if source is not None and source.fed_by == command.fed_by[:-1] else None
