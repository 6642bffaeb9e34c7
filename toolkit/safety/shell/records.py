"""
What a command line consists of, once somebody has read it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Assignment", "CannotParse", "Redirection", "Script", "SimpleCommand"]


class CannotParse(ValueError):  # noqa: N818 -- named by what happened, and what happens next is a question
    """A text that the shell may understand and we do not; it is never taken for harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """
    A variable that is set, before a command or alone.

    Attributes:
        name: The variable's name, without an index.
        value: What it is set to, quotes removed, expansions left as written.
        is_literal: Whether the value is known exactly.
        unexpanded: The value with an `x` for all that the shell expands; a `$(` in it was quoted, and is text.
    """

    name: str
    value: str
    is_literal: bool
    unexpanded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirection:
    """
    Where input comes from or output goes.

    Attributes:
        operator: As written, without the descriptor: `>`, `>>`, `<`, `<<`, `<<<`, `>&`.
        target: The file, quotes removed; for a here-document or here-string, its text.
        is_literal: Whether the target is known exactly.
    """

    operator: str
    target: str
    is_literal: bool

    @property
    def writes(self) -> bool:
        """Whether a file is written; `2>&1` and `>&-` only move descriptors."""
        return ">" in self.operator and not (self.operator.startswith((">&", "<&")) and self.moves)

    @property
    def moves(self) -> bool:
        """Whether the target is a descriptor and not a file."""
        return self.operator.endswith("-") or self.target.rstrip("-").isdigit() or self.target == "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """
    One command with its words.

    Attributes:
        words: As the command will get them, quotes and escapes removed; one that is not literal keeps its source.
        literal: For each word, whether it is known exactly: no expansion, pattern, braces or tilde.
        plain: Like *words*, but quotes are removed in every word: `"$HOME"/x` is `$HOME/x`.
        source: As written.
        via: How it was reached: () at the top, ("sudo",), ("sh -c",), ("$()",), ("f()",)
            inside a function; from the outside in.
        outer: The command that runs this one, if it is a wrapper: `sudo`, `find -exec`, `sh -c`.
        fed_by: The commands whose output it reads through a pipe.
        inner: The commands in substitutions among its words, assignments and redirections.
        assignments: The variables set for it alone.
        redirections: Its own, and those of the compound it stands in.
    """

    words: tuple[str, ...]
    literal: tuple[bool, ...]
    plain: tuple[str, ...]
    source: str
    via: tuple[str, ...] = ()
    outer: SimpleCommand | None = None
    fed_by: tuple[SimpleCommand, ...] = ()
    inner: tuple[SimpleCommand, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()

    @property
    def name(self) -> str:
        """The program's name without its folder; its source if it is not known."""
        return self.words[0].rsplit("/", 1)[-1] if self.literal[0] else self.words[0]

    @property
    def piped_from(self) -> SimpleCommand | None:
        """The command just before the pipe."""
        return self.fed_by[-1] if self.fed_by else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    Everything that a command line would run.

    Attributes:
        commands: Every simple command, in order: also inside substitutions, here-documents, functions, loops,
            and inside wrappers; the wrapper is listed too.
        top: Those that a person sees in the text: substitutions yes, wrappers not opened.
        redirections: All of them.
        assignments: All of them, `export` and loop variables included.
        functions: The names of functions that are defined.
        spawns_in_loop: Whether a loop that may never end starts commands in the background.
        has_substitution: Whether there is any `$()`, backtick, `<()`, `$name` or arithmetic.
    """

    commands: tuple[SimpleCommand, ...]
    top: tuple[SimpleCommand, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    functions: tuple[str, ...] = ()
    spawns_in_loop: bool = False
    has_substitution: bool = False

    @property
    def has_redirection(self) -> bool:
        """Whether anything is redirected, descriptors included."""
        return bool(self.redirections)

    @property
    def has_assignment(self) -> bool:
        """Whether any variable is set."""
        return bool(self.assignments)
