"""
Options that a line works out: after `x=-exec`, the harmless `find . $x reboot ';'` runs `reboot`.

Programs such as `find` and builtins such as `hash` run a program only if they have an option for it. A word that is
expanded may become this option. If the line shows the value, the command is read again with the value in place. If it
does not, and the value is made from a text of the line, the command leads to a question. Values from outside of the
line are accepted, as everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..shell.evaluation import decodes_text
from ..shell.records import CannotParse, Script, SimpleCommand
from ..shell.wrappers import OPTION_RUNNERS, find_wrapped_commands
from .printed_texts import find_known_output, input_text

__all__ = ["may_get_hidden_option", "runs_more_commands"]

_FINDERS = frozenset({"find", "fd", "fdfind"})
# `git $x` and `tar $x` are so common that only the values which the line shows count.
_STRICT = OPTION_RUNNERS - {"git", "tar", "gtar", "cmake", "set", "shopt"}
_SIMPLE = re.compile(r"\$\{\w+(?:\[[@*\d]+\])?\}")
_CHANGED = re.compile(r"\$\{[!#]?(\w+)")
_NAME = re.compile(r"\$\{?!?(\w+|[@*])")
_PRINTERS = frozenset({"echo", "printf"})
_SUBSTITUTION = re.compile(r"\$\(|`")
# A pattern may match a file that the line has made.
_OPTION_PATTERN = re.compile(r"-[^$]*[*?\[]")
_MAY_BE_OPTION = re.compile(r"[-$`{]")


def runs_more_commands(reading: SimpleCommand, command: SimpleCommand) -> bool:
    """Return whether *reading*, which is *command* with values filled in, runs more commands than *command* shows."""
    if command.name not in OPTION_RUNNERS:
        return False
    try:
        return len(list(find_wrapped_commands(reading))) > len(list(find_wrapped_commands(command)))
    except CannotParse:
        return True


def may_get_hidden_option(command: SimpleCommand, script: Script, values: Mapping[str, Sequence[str]]) -> bool:
    """Return whether *command* may get an option that the line makes from another text: `${x#a}`, `$(tr + - <<< x)`."""
    words = [
        (word, plain)
        for word, plain, is_literal in zip(command.words, command.plain, command.literal, strict=True)
        if not is_literal and _MAY_BE_OPTION.match(plain)
    ]
    if command.name not in _STRICT or not words:
        return False
    if any(_OPTION_PATTERN.match(plain) for _, plain in words):
        return True
    # A single word cannot be both the option of `find` and the sign that ends its command.
    if command.name == "find" and {";", "+"}.isdisjoint(command.plain):
        words = [(word, plain) for word, plain in words if not word.startswith('"') or "[@]" in word]
    texts = _texts_of([plain for _, plain in words], script, values)
    if any(name in values for text in texts for name in _CHANGED.findall(_SIMPLE.sub("", text))):
        return True
    return any(map(_SUBSTITUTION.search, texts)) and any(_changes_text(other, values) for other in script.commands)


def _texts_of(words: list[str], script: Script, values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return *words*, and the values of the variables in them, which may hold other variables."""
    texts, names = list(words), set[str]()
    for text in texts:  # it grows
        for name in set(_NAME.findall(text)) - names:
            names.add(name)
            texts += values.get(name, ())
            texts += [setting.value for setting in script.assignments if setting.name == name]
    return texts


def _changes_text(command: SimpleCommand, values: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a substitution prints another text than the line shows: `tr + - <<< +exec`, `echo $x`."""
    if not {"$()", "``"}.intersection(command.nesting) or find_known_output(command) is not None:
        return False
    names = {name for word in command.plain for name in _NAME.findall(word)} if command.name in _PRINTERS else ()
    return decodes_text(command) or bool(input_text(command)) or any(name in values for name in names)
