"""
Refusal of texts that run later than they are written: as a number, through a prompt, or from a file.

When bash computes a number, it also runs a `$(...)` inside a subscript. It does this with the value of a variable too:
after `a='x[$(id)]'`, the harmless `((a))` runs `id`. Such a text is refused where it enters a variable. So `((i++))`
and `$((count + 1))` can be read with any variable in them, and a shell that stays open never holds such a value.

Some builtins also expand a subscript that a variable is inserted into: after `a='$(id)'`, `test -v "b[$a]"` runs `id`.
So a line that evaluates such a subscript must not hold a quoted substitution in any value.

The output of another program and the content of a file are not checked, unless the line shows the text or decodes it:
`n=$(cat size); ((n))` is accepted. Neither are values that are put together over several calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..._plumbing.wording import in_backticks
from .composed_texts import find_composed_texts
from .known_input import SHELLS, find_known_input, is_standard_input
from .prefix_programs import PREFIXES
from .records import CannotParse, Script, SimpleCommand
from .words import has_unescaped_substitution
from .wrappers import ShellText, find_wrapped_commands

__all__ = ["SUBSTITUTION_MARKS", "decodes_text", "prints_into_variable", "refuse_late_texts", "runs_unseen_text"]

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
_ASK_VERSION = frozenset({"--version", "--help"})
_HIDES_SUBSTITUTION = re.compile(r"`|\$[({]")
_QUOTES_SIGN = re.compile(r"['\\]")
# `\x24` and `\44` are a `$` for `printf` and `echo -e`.
_NUMBERED_SIGN = re.compile(r"\\(?:[xuU]|[0-7])")
_DECODERS = frozenset({"base64", "base32", "basenc", "xxd", "uudecode", "rev", "zcat", "gunzip", "bzcat", "xzcat"})
SUBSTITUTION_MARKS = frozenset({"$()", "``", "<()"})
"""The marks in the nesting of a command whose output becomes words, a value or a file."""


def refuse_late_texts(script: Script, *, evaluates: bool) -> None:
    """
    Raise `CannotParse` if a text in *script* may run although it is not a command.

    Args:
        evaluates: Whether the script computes numbers or names from variables.
    """
    _refuse_variables(script)
    values = [assignment.unexpanded for assignment in script.assignments]
    texts = [text for command in script.commands for text in _texts_of(command, script, evaluates=evaluates)]
    for value in (*values, *texts):
        if _runs_as_number(value):
            raise CannotParse(f"bash runs {in_backticks(value[:40])} if it is used as a number")
    if evaluates:
        _refuse_composed_numbers(script, values)
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
    reads = command.name in SHELLS or any(map(is_standard_input, command.plain[1:]))
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
        if is_standard_input(word):
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
    begins = _OPENS_SUBSCRIPT.search(value)
    while begins is not None:
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
        # The subscripts inside were looked at with this one.
        begins = None if depth else _OPENS_SUBSCRIPT.search(value, match.end())
    return False


def _refuse_variables(script: Script) -> None:
    for assignment in script.assignments:
        if assignment.name in _VARIABLES_THAT_RUN:
            raise CannotParse(f"shells run what `{assignment.name}` holds")
        if assignment.name in _EXPANDED_VARIABLES and has_unescaped_substitution(assignment.value):
            raise CannotParse(f"shells expand what `{assignment.name}` holds")


def _refuse_composed_numbers(script: Script, values: list[str]) -> None:
    """Refuse values that are harmless alone, and that bash may run after it has inserted them into a number or name."""
    inserted = [*values, *(text for command in script.commands for text in _inserted_texts(command, script))]
    may_join = any("[" in value for value in values) and any("$" in value or "`" in value for value in values)
    may_join = may_join or (
        any(value.endswith("$") for value in values) and any(value.startswith(("(", "{")) for value in values)
    )
    if may_join or (script.evaluates_subscript and any(map(_HIDES_SUBSTITUTION.search, inserted))):
        raise CannotParse("the values that it puts together may run if they are used as a number")
    if any(_decodes_into_variable(command) for command in script.commands):
        raise CannotParse("a value that it decodes may run if it is used as a number")


def _inserted_texts(command: SimpleCommand, script: Script) -> Iterator[str]:
    """Yield the words and texts that *command* hands to a variable or to a parameter, and that may quote a sign."""
    if _takes_values(command, script) or _goes_into_variable(command):
        words = zip(command.plain[1:], command.words[1:], command.literal[1:], strict=True)
        # A substitution in `$(date)` is done before; the one in `*'$(date)'` is quoted beside a pattern, and stays.
        yield from (plain for plain, word, is_literal in words if is_literal or _QUOTES_SIGN.search(word))
        yield from (redirection.target for redirection in command.redirections if redirection.operator.startswith("<<"))


def _decodes_into_variable(command: SimpleCommand) -> bool:
    """Return whether *command* prints a text into a variable, and the line shows that text only in a code."""
    return (_goes_into_variable(command) or prints_into_variable(command)) and decodes_text(command)


def decodes_text(command: SimpleCommand) -> bool:
    """Return whether *command* prints a text that the line shows only in a code: `printf '\\44'`, `base64 -d`."""
    words = command.plain[1:]
    if command.name in ("echo", "printf"):
        return any(map(_NUMBERED_SIGN.search, words))
    return command.name in _DECODERS or (command.name == "tr" and any("$" in word or "`" in word for word in words))


def prints_into_variable(command: SimpleCommand) -> bool:
    """Return whether *command* is `printf -v NAME`, also written as `printf -vNAME`."""
    return command.name == "printf" and any(word.startswith("-v") for word in command.plain[1:])


def _goes_into_variable(command: SimpleCommand) -> bool:
    return command.name in _READERS or not SUBSTITUTION_MARKS.isdisjoint(command.nesting)


def _takes_values(command: SimpleCommand, script: Script) -> bool:
    """Return whether the words of *command* become values: of variables, or of `$1` in a function or in `sh -c`."""
    if command.name in _TAKE_VALUES:
        return command.name != "printf" or prints_into_variable(command)
    return command.name in script.functions


def _texts_of(command: SimpleCommand, script: Script, *, evaluates: bool) -> Iterator[str]:
    """Yield the texts that a command may put into a variable."""
    into_variable = _goes_into_variable(command)
    takes_values = _takes_values(command, script) and (evaluates or command.name in _TAKE_VALUES)
    if evaluates and command.name in SHELLS:
        # The words behind the text of `sh -c` become `$0`, `$1` and so on.
        shell_texts = [text.text for text in find_wrapped_commands(command) if isinstance(text, ShellText)]
        yield from (word for word in command.plain[1:] if word not in shell_texts)
    if takes_values or (evaluates and (into_variable or command.name in ("echo", "printf"))):
        # The shell may join the words. Of a word with a live substitution only a subscript counts, because
        # `[info] $(date)` is a message.
        yield "".join(
            word if is_literal else "".join(_SUBSCRIPT.findall(word))
            for word, is_literal in _words_with_literal(command)
        )
    if evaluates or command.name in _READERS:
        for redirection in command.redirections:
            if redirection.operator.startswith("<<"):
                yield redirection.target


def _refuse_composed_texts(script: Script) -> None:
    """Refuse `trap "x $y"` and similar commands if the inserted value may hold further commands."""
    for command in find_composed_texts(script):
        # The rest of such a text may be worse than a question: `ssh "$host" 'rm -rf /'`. `data_flows` asks about it.
        if command.name not in SHELLS and command.name not in PREFIXES and command.name != "eval":
            raise CannotParse(f"`{command.name}` runs a text that is made while it runs")
