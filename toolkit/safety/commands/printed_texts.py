"""The texts that a line itself shows: what a command prints, and what another command reads from it."""

from __future__ import annotations

import re

from ..shell.records import SimpleCommand
from ..shell.wrappers import find_known_input

__all__ = ["input_text", "output_text"]

_PASSES_THROUGH = frozenset({"cat", "tee", "sponge"})


def input_text(command: SimpleCommand) -> str | None:
    """Return the text that *command* reads from standard input, or None if the line does not show it."""
    text = find_known_input(command)
    if text is not None:
        return text
    if command.pipe_source is not None:
        return output_text(command.pipe_source)
    is_substituted = any(
        redirection.operator == "<" and redirection.target.startswith("<(") for redirection in command.redirections
    )
    return output_text(command.substitutions[-1]) if is_substituted and command.substitutions else None


def output_text(command: SimpleCommand) -> str | None:
    """Return the text that *command* prints, or None if the line does not show it."""
    if command.name in _PASSES_THROUGH and (command.name != "cat" or len(command.words) == 1):
        return input_text(command)
    if command.name not in ("echo", "printf") or not all(command.literal):
        return None
    words = [word for word in command.words[1:] if not re.fullmatch(r"-[neE]+|--", word)]
    if command.name == "echo":
        # It depends on the shell and its options whether `echo` interprets a backslash.
        return None if any("\\" in word for word in words) else " ".join(words)
    if len(words) == 1 and not re.search(r"%|\\(?!n)", words[0]):
        return words[0].replace("\\n", "\n")
    if len(words) == 2 and re.fullmatch(r"%s(\\n)?", words[0]):
        return words[1]
    return None
