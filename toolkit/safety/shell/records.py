"""The records that describe a command line after it has been parsed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

__all__ = [
    "Assignment",
    "CannotParse",
    "Redirection",
    "Script",
    "ShellText",
    "SimpleCommand",
    "WrappedCommand",
    "program_name",
    "slice_command",
    "without_input",
]


# With a `g` before them, these are the programs of GNU on a system with others: `grm` is `rm`.
_GNU_PROGRAMS = frozenset({
    "rm", "rmdir", "unlink", "mv", "cp", "ln", "dd", "chmod", "chown", "chgrp", "install", "shred", "truncate", "tee",
    "touch", "mknod", "env", "nice", "nohup", "stdbuf", "chroot", "kill", "xargs", "find", "sort", "split",
})  # fmt: skip


def program_name(word: str) -> str:
    """Return the program's name without its folder."""
    name = word.rsplit("/", 1)[-1]
    return name[1:] if name.startswith("g") and name[1:] in _GNU_PROGRAMS else name


class CannotParse(ValueError):  # noqa: N818 -- the name says what happened, and a question to the user follows
    """A text that the shell may understand and this parser does not. It never counts as harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """
    A variable that is set, before a command or alone.

    Attributes:
        name: The variable's name, without an index.
        value: The value that is assigned, with quotes removed and expansions left as written.
        is_literal: Whether the value is known exactly.
        unexpanded: The value with an `x` for every part that the shell expands. A `$(` in it was quoted, and is text.
    """

    name: str
    value: str
    is_literal: bool
    unexpanded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirection:
    """
    A redirection of the input or the output.

    Attributes:
        operator: The operator as written, without the descriptor: `>`, `>>`, `<`, `<<`, `<<<`, `>&`.
        target: The file, with quotes removed. For a here-document or a here-string, the text that the command reads.
            Variables and substitutions stay as written.
        is_literal: Whether the target is known exactly.
        descriptor: The descriptor that is written before the operator, or "".
    """

    operator: str
    target: str
    is_literal: bool
    descriptor: str = ""

    @property
    def is_standard_input(self) -> bool:
        """Whether the command's standard input comes from the target."""
        return self.operator.startswith("<") and self.descriptor in ("", "0")

    @property
    def writes(self) -> bool:
        """Whether a file is written. `2>&1` and `>&-` only move descriptors."""
        return ">" in self.operator and not (self.operator.startswith((">&", "<&")) and self.moves)

    @property
    def moves(self) -> bool:
        """Whether the target is a descriptor and not a file."""
        return self.operator.endswith("-") or self.target.rstrip("-").isdigit() or self.target == "-"


def without_input(redirections: tuple[Redirection, ...]) -> tuple[Redirection, ...]:
    """Return *redirections* without those of standard input, which a command at the end of a pipe does not inherit."""
    return tuple(redirection for redirection in redirections if not redirection.is_standard_input)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """
    One command with its words.

    Attributes:
        words: The words as the command receives them, with quotes and escapes removed. A word that is not literal keeps
            its source text.
        literal: For each word, whether it is known exactly: it has no expansion, pattern, braces or tilde.
        plain: The same words, but with the quotes removed in every word: `"$HOME"/x` is `$HOME/x`.
        source: The command as written.
        nesting: The way that leads to the command, from the outside in: () at the top, ("sudo",), ("sh -c",), ("$()",),
            or ("f()",) inside a function.
        wrapper: The wrapper that runs this command, if there is one: `sudo`, `find -exec`, `sh -c`.
        fed_by: The commands whose output it reads through a pipe.
        substitutions: The commands in substitutions among its words, assignments and redirections.
        assignments: The variables that are set for this command alone.
        redirections: Its own redirections, and those of the compound command around it.
        shares_input: Whether other commands read the same input before this one, so that it gets only a part.
    """

    words: tuple[str, ...]
    literal: tuple[bool, ...]
    plain: tuple[str, ...]
    source: str
    nesting: tuple[str, ...] = ()
    wrapper: SimpleCommand | None = None
    fed_by: tuple[SimpleCommand, ...] = ()
    substitutions: tuple[SimpleCommand, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    shares_input: bool = False

    @property
    def gets_words_from_input(self) -> bool:
        """Whether `xargs` or `parallel` adds words to the command that the line does not show."""
        return "xargs" in self.nesting or "parallel" in self.nesting

    @property
    def name(self) -> str:
        """The program's name without its folder, or its source text if the name is not known."""
        return program_name(self.words[0]) if self.literal[0] else self.words[0]

    @property
    def pipe_source(self) -> SimpleCommand | None:
        """The command just before the pipe, or None."""
        return self.fed_by[-1] if self.fed_by else None

    def with_words(self, words: Iterable[str]) -> SimpleCommand:
        """Return the command with other *words*, each of which is known exactly."""
        words = tuple(words)
        return replace(self, words=words, plain=words, literal=(True,) * len(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    Everything that a command line would run.

    Attributes:
        commands: Every simple command, in order. This includes commands inside substitutions, here-documents,
            functions, loops and wrappers. The wrapper itself is listed too.
        top: The commands that a person sees in the text, including those in substitutions, but not those inside
            wrappers.
        redirections: All redirections.
        assignments: All assignments, including `export` and loop variables.
        functions: The names of the functions that are defined.
        spawns_in_loop: Whether a loop that may never end starts commands in the background.
        has_substitution: Whether there is any `$()`, backtick, `<()`, `$name` or arithmetic.
        evaluates_subscript: Whether a subscript may hold the value of a variable: `test -v "a[$i]"`.
    """

    commands: tuple[SimpleCommand, ...]
    top: tuple[SimpleCommand, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    functions: tuple[str, ...] = ()
    spawns_in_loop: bool = False
    has_substitution: bool = False
    evaluates_subscript: bool = False

    @property
    def has_redirection(self) -> bool:
        """Whether there is any redirection, including those of descriptors."""
        return bool(self.redirections)

    @property
    def has_assignment(self) -> bool:
        """Whether any variable is set."""
        return bool(self.assignments)


class ShellText(NamedTuple):
    """A text that a command passes to a shell."""

    text: str
    wrapper: str


WrappedCommand: TypeAlias = SimpleCommand | ShellText


def slice_command(
    command: SimpleCommand,
    start: int,
    end: int,
    assignments: list[Assignment] | None = None,
    *,
    first_word: str | None = None,
) -> SimpleCommand:
    """Return the inner command. *first_word* is its name if that is joined to an option."""
    own = () if first_word is None else (first_word,)
    return replace(
        command,
        words=(*own, *command.words[start + len(own) : end]),
        literal=command.literal[start:end],
        plain=(*own, *command.plain[start + len(own) : end]),
        nesting=(*command.nesting, command.name),
        wrapper=command,
        assignments=(*command.assignments, *(assignments or ())),
    )
