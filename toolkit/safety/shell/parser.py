"""
Parser that reads a command line as bash will read it, without running it.

`parse_script("sudo rm -rf build && git push")` lists every simple command. The list includes commands inside
substitutions, here-documents, functions and loops, and commands that another command would run (`sudo`, `env`, `xargs`,
`find -exec`, `sh -c`, `ssh`). The parser raises `CannotParse` for any text that it does not understand. It never leaves
a part out without an error.

This is a parser and not a boundary: a program that runs can still do anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from ..._plumbing.distribution import install_hint
from ..._plumbing.wording import in_backticks
from .evaluation import refuse_late_texts
from .known_input import reads_like_bash
from .nodes import MAX_COMMANDS
from .outline import read_outline
from .records import Assignment, CannotParse, Redirection, Script, SimpleCommand, without_input
from .tree import StatementReader
from .wrappers import ShellText, find_wrapped_commands

__all__ = ["Assignment", "CannotParse", "MissingShellParser", "Redirection", "Script", "SimpleCommand", "parse_script"]

_MAX_CHARACTERS = 20_000
# The parser's time grows with the square of their number.
_MAX_SIGN_COUNTS = (("<<", 50, "here-documents"), ("`", 200, "backticks"), ("|", MAX_COMMANDS, "pipes"))
_MAX_TOTAL_CHARACTERS = 60_000
_CHUNK_BYTES = 256
_MAX_WRAPPER_DEPTH = 12
# Control characters, and characters that make a text look different from what it is.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# Builtins that evaluate `a[$(id)]` where the name of a variable is expected.
_EVALUATE_NAMES = frozenset({
    "let", "declare", "typeset", "export", "readonly", "local", "unset", "read", "printf", "test", "[", "mapfile",
    "readarray", "wait", "getopts",
})  # fmt: skip


# Shells whose grammar is not that of `sh`.
_OTHER_LANGUAGES = frozenset({"fish", "csh", "tcsh", "rc", "es", "elvish", "oil", "ysh"})
# Signs that end a command in `sh`, and that `[[...]]` may hold.
_SEPARATOR = re.compile(r"[|&;<>()\n]")
# Builtins whose words set variables.
_DECLARE = frozenset({"declare", "typeset", "export", "readonly", "local"})
_SUBSCRIPT_WITH_VALUE = re.compile(r"""\w["'\\]*\[[^\]]*\$""")
_NAME = re.compile(r"(\w+)(?:\[.*\])?\+?", re.DOTALL)


class MissingShellParser(CannotParse):
    """The error for a grammar that is not installed."""

    def __init__(self) -> None:
        super().__init__(f"commands cannot be read without the extra; {install_hint('shell')}")


# The checks and every rule parse the same line, one after the other. A script is never changed, so it can be shared.
@lru_cache(maxsize=8)
def parse_script(text: str) -> Script:
    """Return everything that *text* would run. Raise `CannotParse` if any part of it is not understood."""
    parts = _ScriptParts()
    try:
        top = parts.read(text, (), 0)
    except RecursionError:
        raise CannotParse("it is nested too deeply") from None
    script = Script(
        commands=tuple(parts.commands),
        top=tuple(top),
        redirections=tuple(parts.redirections),
        assignments=tuple(parts.assignments),
        functions=tuple(parts.functions),
        spawns_in_loop=parts.spawns,
        has_substitution=parts.has_substitution,
        evaluates_subscript=parts.evaluates_subscript,
    )
    refuse_late_texts(script, evaluates=parts.evaluates)
    return script


class _ScriptParts:
    """Everything that was found so far, in all texts that were read."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.redirections: list[Redirection] = []
        self.assignments: list[Assignment] = []
        self.functions: list[str] = []
        self.spawns = False
        self._characters = 0
        self.has_substitution = False
        self.evaluates = False
        self.evaluates_subscript = False

    def read(self, text: str, nesting: tuple[str, ...], depth: int, wrapper: SimpleCommand | None = None) -> list[Any]:
        self._characters += len(text)
        if self._characters > _MAX_TOTAL_CHARACTERS:
            raise CannotParse("it gives too much text to shells inside shells")
        reader = _read_text(text, nesting)
        if not reads_like_bash(nesting):
            _refuse_other_shells(text, nesting[-1], reader.commands)
        self.evaluates_subscript = self.evaluates_subscript or _SUBSCRIPT_WITH_VALUE.search(text) is not None
        self.redirections += reader.redirections
        self.assignments += reader.assignments
        self.functions += reader.functions
        self.spawns = self.spawns or reader.spawns
        self.has_substitution = self.has_substitution or reader.has_substitution
        self.evaluates = self.evaluates or reader.evaluates
        for command in reader.commands:
            self._add(command if wrapper is None else _inherit(command, wrapper, len(reader.commands) > 1), depth)
        return reader.commands

    def _add(self, command: SimpleCommand, depth: int) -> None:
        self.commands.append(command)
        if len(self.commands) > MAX_COMMANDS or depth > _MAX_WRAPPER_DEPTH:
            raise CannotParse("it runs too many commands, or commands nested too deeply")
        if any(word.startswith("=") and len(word) > 1 for word in _words_that_zsh_expands(command)):
            raise CannotParse("zsh runs the program that a word with `=` before it names")
        if command.name in _DECLARE:
            existing = {(assignment.name, assignment.value) for assignment in self.assignments}
            self.assignments += [
                declaration
                for declaration in _assignments_of(command)
                if (declaration.name, declaration.value) not in existing
            ]
        if command.name in _EVALUATE_NAMES:
            self.evaluates = self.evaluates or command.name == "let" or not all(command.literal)
            # `declare -i b=a` evaluates `a` as a number.
            self.evaluates = self.evaluates or any(re.match(r"-\w*i", word) for word in command.plain[1:])
            # `read 'b[a]'` and `unset 'b[a]'` compute the subscript.
            self.evaluates = self.evaluates or any(re.match(r"\w+\[", word) for word in command.plain[1:])
            self.evaluates_subscript = self.evaluates_subscript or any(
                "[" in word and "$" in word for word in command.plain[1:]
            )
            if any("[" in word and ("$(" in word or "`" in word) for word in command.plain[1:]):
                raise CannotParse(f"`{command.name}` may run what stands in its brackets")
        for wrapped_command in find_wrapped_commands(command):
            if isinstance(wrapped_command, ShellText):
                self.read(wrapped_command.text, (*command.nesting, wrapped_command.wrapper), depth + 1, command)
            else:
                self.assignments += wrapped_command.assignments
                self._add(wrapped_command, depth + 1)


def _refuse_other_shells(text: str, wrapper: str, commands: list[SimpleCommand]) -> None:
    """
    Refuse a text that a shell other than bash may split into other commands.

    To `dash`, which is the `sh` of many systems, `((id))` is a subshell in a subshell, `[[ x || id ]]` is two commands,
    and a backslash does not keep the quote in `$'\\''` from ending the string. `fish` and `csh` have other grammars.
    """
    if wrapper.partition(" ")[0] in _OTHER_LANGUAGES:
        raise CannotParse(f"the language of `{wrapper}` is not read")
    is_split = any(
        command.words[0] == "((" or (command.words[0] == "[[" and _SEPARATOR.search(command.plain[1]))
        for command in commands
    )
    if is_split or ("$'" in text and "\\'" in text):
        raise CannotParse(f"the shell of `{wrapper}` may read it otherwise than bash")


def _words_that_zsh_expands(command: SimpleCommand) -> tuple[str, ...]:
    """Return the words in which `=rm` may stand for `/bin/rm`: the name, and for zsh every word."""
    return command.plain if any(wrapper.startswith("zsh") for wrapper in command.nesting) else command.plain[:1]


def _assignments_of(command: SimpleCommand) -> Iterator[Assignment]:
    """
    Yield the variables that `export a=1` and similar commands set.

    The grammar finds them only if the word `export` is not quoted. In `\\export` and `command export` it sees plain
    words.
    """
    for word, is_literal in zip(command.plain[1:], command.literal[1:], strict=True):
        if re.match(r"[-+]\w*n", word) and command.name not in ("export", "readonly"):
            raise CannotParse(f"{in_backticks(f'{command.name} {word}')} gives a variable a second name")
        name, sign, value = word.partition("=")
        if sign and (match := _NAME.fullmatch(name)):
            yield Assignment(name=match[1], value=value, is_literal=is_literal, unexpanded=value if is_literal else "")


def _inherit(command: SimpleCommand, wrapper: SimpleCommand, is_one_of_many: bool) -> SimpleCommand:
    """Return *command*, from a text that *wrapper* runs, with the input and the redirections of *wrapper*."""
    has_own_input = bool(command.fed_by) or any(own.is_standard_input for own in command.redirections)
    return replace(
        command,
        wrapper=wrapper if command.wrapper is None else command.wrapper,
        fed_by=command.fed_by or wrapper.fed_by,
        substitutions=(*command.substitutions, *wrapper.substitutions),
        # A pipe inside the text is nearer than the input of the wrapper.
        redirections=(
            *(without_input(wrapper.redirections) if command.fed_by else wrapper.redirections),
            *command.redirections,
        ),
        shares_input=command.shares_input or (not has_own_input and (is_one_of_many or wrapper.shares_input)),
    )


def _read_text(text: str, nesting: tuple[str, ...]) -> StatementReader:
    if len(text) > _MAX_CHARACTERS:
        raise CannotParse(f"it is longer than {_MAX_CHARACTERS} characters")
    if match := _INVISIBLE.search(text):
        raise CannotParse(f"it holds the character U+{ord(match.group()):04X}, which cannot be seen")
    for sign, max_count, name in _MAX_SIGN_COUNTS:
        if text.count(sign) > max_count:
            raise CannotParse(f"it has more than {max_count} {name}")
    try:
        source = text.encode()
    except UnicodeEncodeError:
        raise CannotParse("it is not valid Unicode") from None
    if not text.isascii():
        if match := _ODD_DELIMITER.search(text):
            raise CannotParse(f"the end of {in_backticks(match.group()[:20])} cannot be told from other lines")
        plain = _NOT_ASCII.sub(b"%", source)
    else:
        plain = source
    root = _parse_tree(plain).root_node
    if root.has_error:
        raise CannotParse("the shell's grammar does not fit")
    # The positions in the tree count bytes. So the reader gets a text with one character for each byte, and the text
    # inside backticks is decoded again before it is read.
    characters = source.decode("latin-1")
    reader = StatementReader(
        characters, lambda inner, path: _read_text(inner.encode("latin-1").decode(errors="replace"), path)
    )
    reader.read(root, nesting)
    if read_outline(characters) != (reader.word_spans, reader.backticks, reader.targets):
        raise CannotParse("bash may take it apart in another way than we do")
    return reader


# The grammar looks letters up in tables that end at 255. For other letters it reads the memory behind the table, and
# some texts then crash the process. To a shell, any such letter is as ordinary as `%`, byte for byte, so `%` takes its
# place. Only the line that ends a here-document could be mistaken, so such a delimiter is refused.
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ODD_DELIMITER = re.compile(r"<<[^\n]*?(?:%|[^\x00-\x7f])")


def _parse_tree(source: bytes) -> Any:
    """Return the grammar's tree. Raise `CannotParse` for a text that makes the parser read it again and again."""
    language = _language()
    from tree_sitter import Parser

    max_reads = 200 + len(source) // _CHUNK_BYTES * 8
    reads = 0

    def read_chunk(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        return source[offset : offset + _CHUNK_BYTES] if reads <= max_reads else b""

    # Threads must not share a parser, and a new one costs next to nothing. Only the language is cached.
    tree = Parser(language).parse(read_chunk)
    if reads > max_reads:
        raise CannotParse("it is too tangled")
    return tree


@cache
def _language() -> Any:
    try:
        import tree_sitter_bash
        from tree_sitter import Language
    except ImportError:
        raise MissingShellParser from None
    return Language(tree_sitter_bash.language())
