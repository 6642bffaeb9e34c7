"""
Options that a line works out: after `x=-exec`, the harmless `find . $x reboot ';'` runs `reboot`.

Programs such as `find` and `git` run a program only if they have an option for it. A word that is expanded may become
this option. If the line shows the value, the command is read again with the value in place. For `find`, a text is
enough that may be such an option, because there are too many ways to insert it.
"""

from __future__ import annotations

import re

from ..shell.evaluation import decodes_text
from ..shell.records import CannotParse, Script, SimpleCommand
from ..shell.wrappers import OPTION_RUNNERS, find_wrapped_commands

__all__ = ["may_get_hidden_option", "runs_more_commands"]

_FINDERS = frozenset({"find", "fd", "fdfind"})
_EXEC = re.compile(r"-(?:exec|ok)(?:dir)?")
# A part of such an option, or the end of its command, in a text that may be inserted.
_INSERTED = {
    "find": re.compile(r"-ex?e?c?\Z|-ok?\Z|-(?:exec|ok)|(?:\A|[\s,]);\Z|\{\}\s*\+\Z"),
    "fd": re.compile(r"(?:\A|\s)-(?:\w*[xX]|-exec)"),
}
_SPLIT = re.compile(r"\[@\]|\$@|\$\{@")
# A pattern may match a file that the line has made.
_OPTION_PATTERN = re.compile(r"-[^$]*[*?\[]")


def runs_more_commands(reading: SimpleCommand, command: SimpleCommand) -> bool:
    """Return whether *reading*, which is *command* with values filled in, runs more commands than *command* shows."""
    if command.name not in OPTION_RUNNERS:
        return False
    try:
        return len(list(find_wrapped_commands(reading))) > len(list(find_wrapped_commands(command)))
    except CannotParse:
        return True


def may_get_hidden_option(command: SimpleCommand, script: Script) -> bool:
    """Return whether *command* is a `find` that may run a program because a word of it is expanded."""
    if command.name not in _FINDERS:
        return False
    expanded = [
        (word, plain)
        for word, plain, is_literal in zip(command.words, command.plain, command.literal, strict=True)
        if not is_literal
    ]
    if any(_OPTION_PATTERN.match(plain) or _EXEC.search(plain) for _, plain in expanded):
        return True
    if command.name == "find" and (expanded or command.gets_words_from_input) and _has_end_alone(command):
        return True
    # A single word cannot be both the option of `find` and the sign that ends its command.
    is_split = any(not word.startswith('"') or _SPLIT.search(word) for word, _ in expanded)
    if not command.gets_words_from_input and not (is_split if command.name == "find" else expanded):
        return False
    pattern = _INSERTED["find" if command.name == "find" else "fd"]
    return any(map(pattern.search, _other_texts(script))) or any(
        decodes_text(other) for other in script.commands if "$()" in other.nesting or "``" in other.nesting
    )


def _has_end_alone(command: SimpleCommand) -> bool:
    """Return whether a `;` or a `+` ends the command of no `-exec` that the line shows."""
    is_open = False
    for before, word in zip(("", *command.plain), command.plain, strict=False):
        if word == ";" or (word == "+" and before == "{}"):
            if not is_open:
                return True
            is_open = False
        else:
            is_open = is_open or _EXEC.fullmatch(word) is not None
    return False


def _other_texts(script: Script) -> list[str]:
    """Return the texts of the line that may be inserted: values, inputs, and the words of all but `find` itself."""
    others = [command for command in script.commands if command.name not in _FINDERS and not _is_inner(command)]
    return [
        *(setting.value for setting in script.assignments),
        *(setting.unexpanded for setting in script.assignments),
        *(redirection.target.strip() for redirection in script.redirections if redirection.operator.startswith("<<")),
        *(word for command in others for word in command.plain[1:]),
    ]


def _is_inner(command: SimpleCommand) -> bool:
    return command.wrapper is not None and command.wrapper.name in _FINDERS
