"""What a shell is given to run: the script or text that its words name, and the input that the line shows."""

from __future__ import annotations

import re
from typing import NamedTuple

from .records import SimpleCommand

__all__ = [
    "SHELLS",
    "KnownInput",
    "find_known_input",
    "find_placeholders",
    "find_shell_script",
    "is_descriptor",
    "is_standard_input",
    "reads_like_bash",
    "skip_shell_options",
]

SHELLS = frozenset({
    "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash", "posh", "osh",
    "oil", "ysh", "elvish", "rc", "es", "oksh", "loksh", "lksh", "pdksh", "ksh93", "sash", "bash4", "bash5",
    "bash-static", "zsh5", "zsh-static", "zsh-5.9",
})  # fmt: skip
# A name may be spelt `/dev/./stdin` or `../dev/stdin`, and after `cd /dev/fd` it is a number alone.
_STANDARD_INPUT = re.compile(r"-|(?:.*/)?(?:stdin|fd/+0+)/*", re.DOTALL)
_DESCRIPTOR = re.compile(r"(?:.*/)?\d+/*", re.DOTALL)
_FILL_IN = frozenset({"xargs", "parallel", "find", "fd", "fdfind"})
_REPLACE_OPTION = re.compile(r"-[A-Za-z0-9]*?[Ii](.*)|--rep[a-z]*(?:=(.*))?", re.DOTALL)
_EXPANDS = re.compile(r"[$`]")
# Shells that read `((...))`, `[[...]]` and `$'...'` as bash does.
_LIKE_BASH = re.compile(r"r?bash|zsh|(?:m|o|l|lo|pd)?ksh")
# What the shell does itself keeps its language.
_SAME_SHELL = re.compile(
    r"(?:eval|source|\.|trap|alias|(?:mapfile|readarray|compgen|complete) -[CW])\Z|(?:\$|<|>|.*)\(\)\Z|``\Z", re.DOTALL
)


class KnownInput(NamedTuple):
    """
    The text that a command reads from standard input, as far as the line shows it.

    Attributes:
        text: The text. Variables and substitutions, which the shell expands, stay as written.
        is_exact: Whether the command reads exactly this text.
    """

    text: str
    is_exact: bool


def is_standard_input(word: str) -> bool:
    """Return whether *word* names the standard input, as `-` and `/dev/stdin` do."""
    return _STANDARD_INPUT.fullmatch(word) is not None


def is_descriptor(word: str) -> bool:
    """Return whether *word* may name a descriptor other than the standard input: `/dev/fd/3`."""
    return _DESCRIPTOR.fullmatch(word) is not None and not is_standard_input(word)


def reads_like_bash(nesting: tuple[str, ...]) -> bool:
    """Return whether the text inside *nesting* is read by bash or by a shell like it, and not by a plain `sh`."""
    shell = next((wrapper for wrapper in reversed(nesting) if not _SAME_SHELL.match(wrapper)), "bash")
    return _LIKE_BASH.match(shell) is not None


def find_known_input(command: SimpleCommand) -> KnownInput | None:
    """Return what *command* reads from standard input, or None if the command line does not show it."""
    for redirection in reversed(command.redirections):
        if redirection.is_standard_input:
            if not redirection.operator.startswith("<<"):
                return None
            # A pattern is not expanded in a here-string, so only a variable or a substitution makes it unknown.
            is_exact = redirection.is_literal or not _EXPANDS.search(redirection.target)
            return KnownInput(redirection.target, is_exact and not command.shares_input)
    source = command.pipe_source
    # Several commands before the pipe (`{ echo a; echo b; } | sh`) print more than the last one does.
    if source is None or source.fed_by != command.fed_by[:-1] or not all(source.literal):
        return None
    text = None
    if source.name == "cat" and len(source.words) == 1:
        text = find_known_input(source)
    elif source.name in ("echo", "printf"):
        text = _printed_text(source)
    return text and KnownInput(text.text, text.is_exact and not command.shares_input)


def _printed_text(command: SimpleCommand) -> KnownInput | None:
    words = command.words[2:] if command.words[1:2] in (("-n",), ("--",)) else command.words[1:]
    text = " ".join(words)
    # Escapes and formats would change the text. A text without an end of line may be printed again, by a loop.
    is_exact = command.name == "echo" and len(words) == len(command.words) - 1
    return None if "\\" in text or "%" in text or text.startswith("-") else KnownInput(text, is_exact)


def find_placeholders(command: SimpleCommand) -> list[str]:
    """Return the texts that `xargs`, `parallel` or `find` replaces in the words of *command*: `{}`, or `%` of `-I%`."""
    placeholders: list[str] = []
    inside, outer = command, command.wrapper
    while outer is not None:
        if outer.name in _FILL_IN:
            options = outer.words[: len(outer.words) - len(inside.words)]
            replacing = [(at, match) for at, word in enumerate(options) if (match := _REPLACE_OPTION.fullmatch(word))]
            named = (match[1] or match[2] or "".join(options[at + 1 : at + 2]) for at, match in replacing)
            placeholders += ["{", *filter(None, named)]
        inside, outer = outer, outer.wrapper
    return placeholders


def find_shell_script(command: SimpleCommand) -> str | None:
    """Return the file that a shell is told to run, or None if it runs a text or its input."""
    at, has_text = skip_shell_options(command)
    return None if has_text or at >= len(command.words) else command.plain[at]


def skip_shell_options(command: SimpleCommand) -> tuple[int, bool]:
    """Return the place of a shell's first operand or of the word behind `-c`, and whether there is a `-c`."""
    at, has_text = 1, False
    while at < len(command.words):
        word = command.plain[at]
        if word in ("-rcfile", "-init-file", "--rcfile", "--init-file"):
            at += 2
        elif word in ("--", "-"):
            at += 1
            break
        elif word[:1] in ("-", "+"):
            if word[1:2] != "-":
                has_text = has_text or (word[0] == "-" and "c" in word)
                if word[0] == "-" and "s" in word and not has_text:
                    at = len(command.words)
                    break
                at += word.count("o") + word.count("O")  # `-eo pipefail`: each `o` takes a word
            at += 1
        else:
            break
    return at, has_text
