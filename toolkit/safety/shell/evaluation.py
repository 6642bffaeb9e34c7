"""
Refusal of texts that run later than they are written: as a number, through a prompt, or from a file.

When bash computes a number, it also runs a `$(...)` inside a subscript. It does this with the value of a variable too:
after `a='x[$(id)]'`, the harmless `((a))` runs `id`. Such a text is refused where it enters a variable. So `((i++))`
and `$((count + 1))` can be read with any variable in them, and a shell that stays open never holds such a value.

The output of another program and the content of a file are not checked: `n=$(cat size); ((n))` is accepted. Neither are
values that are put together over several calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..._plumbing.wording import in_backticks
from .records import CannotParse, Script, SimpleCommand
from .words import has_unescaped_substitution
from .wrappers import SHELLS, STANDARD_INPUT, find_known_input

__all__ = ["refuse_late_texts", "runs_unseen_text"]

_OPENS_SUBSCRIPT = re.compile(r"\w\[")
_IN_SUBSCRIPT = re.compile(r"\$[({]|[`\[\]'\"\\]")
_SUBSCRIPT = re.compile(r"\w\[[^\]]*")
_READERS = frozenset({"read", "mapfile", "readarray"})
_TAKE_VALUES = frozenset(
    {"set", "read", "mapfile", "readarray", "printf", "declare", "typeset", "export", "readonly", "local"}
)
# Bash expands the values of these variables, or reads them as commands, by itself.
_EXPANDED_VARIABLES = frozenset({"PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "ENV", "BASH_ENV", "MAILPATH"})
_VARIABLES_THAT_RUN = frozenset({"BASH_ENV", "PROMPT_COMMAND", "BASH_ALIASES", "BASH_CMDS"})
_SUBSTITUTES = re.compile(r"\$\(|`|<\(")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_SIGNS = re.compile(r"[;&|<>()$`\n]")
# These programs pass a text to a shell. `data_flows` covers `eval` and the shells themselves.
_RUN_TEXTS = frozenset({
    "trap", "mapfile", "readarray", "compgen", "complete", "alias", "su", "runuser", "script", "sg", "nix-shell",
    "flock", "npx",
})  # fmt: skip
_ASK_VERSION = frozenset({"--version", "--help"})
_SUBSTITUTION_MARKS = frozenset({"$()", "``", "<()"})


def refuse_late_texts(script: Script, *, evaluates: bool) -> None:
    """
    Raise `CannotParse` if a text in *script* may run although it is not a command.

    Args:
        evaluates: Whether the script computes numbers or names from variables.
    """
    _refuse_variables(script)
    values = [assignment.unexpanded for assignment in script.assignments]
    texts = [text for command in script.commands for text in _texts_of(command, evaluates=evaluates)]
    for value in (*values, *texts):
        if _runs_as_number(value):
            raise CannotParse(f"bash runs {in_backticks(value[:40])} if it is used as a number")
    if evaluates and any("[" in value for value in values) and any("$" in value or "`" in value for value in values):
        raise CannotParse("the values that it puts together may run if they are used as a number")
    _refuse_composed_texts(script)


def runs_unseen_text(command: SimpleCommand) -> bool:
    """Return whether *command* runs a text that exists only at run time: input piped to a shell, or `eval "x $(y)"`."""
    if not command.literal[0]:
        return False
    if command.name in ("eval", "trap"):
        return any(not is_literal and _SUBSTITUTES.search(word) for word, is_literal in _words_with_literal(command))
    if command.name not in (*SHELLS, "source", "."):
        return False
    if any(not is_literal and _SUBSTITUTES.search(word) for word, is_literal in _words_with_literal(command)):
        return True
    reads = command.name in SHELLS or not STANDARD_INPUT.isdisjoint(command.plain[1:])
    if not reads or any(_shell_texts(command)):
        return False
    known = find_known_input(command)
    if known is not None:
        return not known.is_exact
    # A script that is named, as in `bash < script`, is judged by its name. Any other input may come from elsewhere in
    # the line: through a function, a descriptor or `exec`.
    names_script = any(redirection.operator == "<" for redirection in command.redirections)
    return not names_script and not _ASK_VERSION.intersection(command.plain)


def _words_with_literal(command: SimpleCommand) -> Iterator[tuple[str, bool]]:
    return zip(command.plain[1:], command.literal[1:], strict=True)


def _shell_texts(command: SimpleCommand) -> Iterator[bool]:
    """Yield True if the shell has a script or a text, so that its input is only data. The first operand decides."""
    for at, word in enumerate(command.plain[1:], start=1):
        if word in STANDARD_INPUT:
            return
        if word.startswith(("-", "+")):
            if "s" in word and not word.startswith("--"):
                return
        elif command.plain[at - 1] not in ("-o", "+o", "-O", "+O"):
            yield True
            return


def _runs_as_number(value: str) -> bool:
    """
    Return whether a subscript in *value* holds a substitution.

    Bash runs this substitution if it uses the value as a number or a name.
    """
    for begins in _OPENS_SUBSCRIPT.finditer(value):
        depth = 1
        for match in _IN_SUBSCRIPT.finditer(value, begins.end()):
            sign = match.group()
            if sign in ("$(", "${", "`"):
                return True
            # A quoted bracket does not end a subscript. So after a quote or a backslash the subscript counts as never
            # closed.
            depth += (sign == "[") - (sign == "]") + (sign in "'\"\\") * len(value)
            if not depth:
                break
    return False


def _refuse_variables(script: Script) -> None:
    for assignment in script.assignments:
        if assignment.name in _VARIABLES_THAT_RUN:
            raise CannotParse(f"shells run what `{assignment.name}` holds")
        if assignment.name in _EXPANDED_VARIABLES and has_unescaped_substitution(assignment.value):
            raise CannotParse(f"shells expand what `{assignment.name}` holds")


def _texts_of(command: SimpleCommand, *, evaluates: bool) -> Iterator[str]:
    """Yield the texts that a command may put into a variable."""
    into_variable = command.name in _READERS or not _SUBSTITUTION_MARKS.isdisjoint(command.nesting)
    takes_values = command.name in _TAKE_VALUES and (command.name != "printf" or "-v" in command.plain)
    if takes_values or (evaluates and (into_variable or command.name in ("echo", "printf"))):
        # The shell may join the words. Of a word with a live substitution only a subscript counts, because
        # `[info] $(date)` is a message.
        yield "".join(
            word if is_literal else "".join(_SUBSCRIPT.findall(word))
            for word, is_literal in _words_with_literal(command)
        )
    if (
        command.name in _READERS
        or (evaluates and into_variable)
        or any(source.name in _READERS for source in command.fed_by)
    ):
        for redirection in command.redirections:
            if redirection.operator.startswith("<<"):
                yield redirection.target


def _refuse_composed_texts(script: Script) -> None:
    """Refuse `trap "x $y"` and similar commands if the inserted value may hold further commands."""
    odd = {assignment.name for assignment in script.assignments if _SIGNS.search(assignment.unexpanded)}
    for command in script.commands:
        if command.name not in _RUN_TEXTS:
            continue
        for word, is_literal in _words_with_literal(command):
            if not is_literal and (_SUBSTITUTES.search(word) or not odd.isdisjoint(_VARIABLE.findall(word))):
                raise CannotParse(f"`{command.name}` runs a text that is made while it runs")
