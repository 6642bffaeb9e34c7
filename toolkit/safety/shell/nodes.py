"""
The grammar's syntax tree over a text, and the helpers that every part of the parser needs.

Offsets count bytes. So the text is kept with one character for each byte.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..._plumbing.wording import in_backticks
from .records import Assignment, CannotParse, Redirection, SimpleCommand, without_input
from .words import ShellWord, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = [
    "BLANK",
    "EXPANSIONS",
    "HEREDOC_PARTS",
    "IN_WORDS",
    "JOINED_LINES",
    "SPACE",
    "Chunk",
    "NodeContext",
    "NodeReader",
    "StatementTail",
    "descendants",
]

MAX_COMMANDS = 500

BLANK = re.compile(r"(?:[ \t]|\\\n)*")
SPACE = re.compile(r"(?:[ \t\n]|\\\n)*")
JOINED_LINES = re.compile(r"(?:\\\n)*")

_NAMED_DESCRIPTOR = re.compile(r"\{[A-Za-z_]\w*\}")
_ENDS_WORD = " \t\n;&|()<>"
EXPANSIONS = frozenset(
    ["simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "array"]
)
# Expansions of a word may lie inside these nodes. Any other node that is not a leaf cannot be part of a word.
IN_WORDS = frozenset({
    "command_name", "concatenation", "string", "translated_string", "brace_expression", "variable_assignment",
    "subscript",
})  # fmt: skip
REDIRECTIONS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
ENDS_WITH_WORD = frozenset({"variable_assignment", "file_redirect", "herestring_redirect"})
HEREDOC_PARTS = frozenset(
    ["heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "file_redirect", "herestring_redirect"]
)

Chunk: TypeAlias = "tuple[int, int, list[Node]]"


class NodeContext(NamedTuple):
    """
    The properties that a statement inherits from the statements around it. The tail belongs to its last command only.

    An object is created for nearly every node. So this is not a dataclass: a named tuple takes a third of the time.
    """

    nesting: tuple[str, ...] = ()
    level: int = 0
    parent: str = ""  # the kind of the node around; the tree itself is slow to tell it
    quoted: bool = False
    fed_by: tuple[SimpleCommand, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    substitutions: tuple[SimpleCommand, ...] = ()
    tail: StatementTail | None = None
    shares_input: bool = False

    def for_parts_of(self, kind: str) -> NodeContext:
        """
        Return the value for the parts of a node of this kind.

        `_replace` would take four times as long, and this method runs for every node.
        """
        via, level, _, quoted, fed_by, redirections, inner, tail, shares = self
        return NodeContext(via, level + 1, kind, quoted, fed_by, redirections, inner, tail, shares)

    def for_words(self) -> NodeContext:
        """Return the value for the words of a command. They do not share the command's input and its redirections."""
        return NodeContext(self.nesting, self.level, self.parent, self.quoted)

    def behind_pipe(self) -> NodeContext:
        """Return the value for a later stage of a pipeline. It reads the pipe, whatever the statements around read."""
        return self._replace(redirections=without_input(self.redirections)) if self.redirections else self

    def for_statements(self) -> NodeContext:
        """Return the value for the statements inside a compound. Each gets the redirections of the whole compound."""
        if self.tail is None:
            return self._replace(shares_input=True) if self.fed_by else self
        redirections = (*self.redirections, *self.tail.redirections)
        shares_input = self.shares_input or any(redirection.is_standard_input for redirection in redirections)
        return self._replace(
            redirections=redirections,
            substitutions=(*self.substitutions, *self.tail.substitutions),
            tail=None,
            shares_input=shares_input or bool(self.fed_by),
        )


@dataclass(frozen=True, slots=True)
class StatementTail:
    redirections: tuple[Redirection, ...]
    substitutions: tuple[SimpleCommand, ...]
    words: tuple[Chunk, ...]


class NodeReader(ABC):
    """
    One text that is being parsed into commands, and the commands and other things that were found in it.

    Args:
        text: The source, with one character for each byte.
        read_backticks: The function that reads the text inside backticks, which has its own quoting.
    """

    def __init__(self, text: str, read_backticks: Callable[[str, tuple[str, ...]], Any]) -> None:
        self.text = text
        self.read_backticks = read_backticks
        self.commands: list[SimpleCommand] = []
        self.redirections: list[Redirection] = []
        self.assignments: list[Assignment] = []
        self.functions: list[str] = []
        self.spawns = False
        self.has_substitution = False
        self.evaluates = False  # whether a number or a name is computed from the value of a variable
        # The positions of words, backticks and targets, which are compared with those of the second reading.
        self.word_spans: set[tuple[tuple[int, int], ...]] = set()
        self.backticks: set[tuple[int, int]] = set()
        self.targets: set[tuple[int, int]] = set()

    def add(self, command: SimpleCommand) -> None:
        """Add a command that was found. Raise `CannotParse` if there are too many."""
        if len(self.commands) >= MAX_COMMANDS:
            raise CannotParse(f"it runs more than {MAX_COMMANDS} commands")
        self.commands.append(command)

    @abstractmethod
    def visit(self, node: Node, context: NodeContext) -> None:
        """Read *node* and everything below it."""
        ...

    def require_field(self, node: Node, name: str) -> Node:
        """Return the part of *node* that the grammar calls *name*."""
        part = node.child_by_field_name(name)
        if part is None:
            raise CannotParse(f"a `{node.type}` without its {name}")
        return part

    def refuse_text_between(self, node: Node, allowed: re.Pattern[str]) -> None:
        """
        Refuse text between the parts of *node* that *allowed* does not match.

        Every *allowed* matches the empty text.
        """
        text, at = self.text, node.start_byte
        children = node.children
        for child in children:
            start = child.start_byte
            if at != start and allowed.fullmatch(text[at:start]) is None:
                raise CannotParse(f"{in_backticks(self.text_between(at, start).strip()[:40])} is not understood")
            at = child.end_byte
        end = node.end_byte
        if children and at != end and allowed.fullmatch(text[at:end]) is None:
            raise CannotParse(f"{in_backticks(self.text_between(at, end).strip()[:40])} is not understood")

    def stands_alone(self, node: Node) -> bool:
        """Return whether the shell takes a token for a word of its own."""
        after = self.text[node.end_byte : node.end_byte + 2]
        return self.begins_word(node) and after != "\\\n" and (not after or after[0] in _ENDS_WORD)

    def begins_word(self, node: Node) -> bool:
        """Return whether a node begins a word: the text before it does not belong to the same word for the shell."""
        before = self.text[max(node.start_byte - 2, 0) : node.start_byte]
        return not before or (before[-1] in _ENDS_WORD and before[:1] != "\\")

    def refuse_joined_words(self, nodes: Sequence[Node]) -> None:
        """Refuse a redirection or an assignment that continues where the grammar sees the next word."""
        for node, following in pairwise(nodes):
            between = self.text[node.end_byte : following.start_byte]
            ends = node.type in ENDS_WITH_WORD and following.type not in REDIRECTIONS
            if ends and JOINED_LINES.fullmatch(between):
                raise CannotParse(f"where {in_backticks(self.source_of(node)[:40])} ends is not understood")

    def group_words(self, nodes: Sequence[Node], *, before_redirection: bool = False) -> list[Chunk]:
        """Join the nodes that touch each other into one word, even if the grammar separates them."""
        chunks: list[Chunk] = []
        for node in nodes:
            between = self.text[chunks[-1][1] : node.start_byte] if chunks else " "
            if JOINED_LINES.fullmatch(between):
                start, _, before = chunks[-1]
                chunks[-1] = (start, node.end_byte, [*before, node])
            else:
                chunks.append((node.start_byte, node.end_byte, [node]))
        # `{name}` before a redirection is not a word. It names the variable that receives the descriptor's number.
        chunks = [chunk for chunk in chunks if not self.names_descriptor(chunk)]
        if before_redirection and len(chunks) > 1 and self.is_descriptor(chunks[-1]):
            # The grammar takes the `0` of `>& file 0>&1` for a word.
            chunks.pop()
        if any(map(self.is_descriptor, chunks)):
            raise CannotParse("a number before a redirection is not understood")
        return chunks

    def names_descriptor(self, chunk: Chunk) -> bool:
        start, end, _ = chunk
        follows = self.text[end : end + 1] in ("<", ">") and self.text[end + 1 : end + 2] != "("
        return follows and _NAMED_DESCRIPTOR.fullmatch(self.text, start, end) is not None

    def is_descriptor(self, chunk: Chunk) -> bool:
        start, end, _ = chunk
        return self.text[start:end].isdigit() and self.text[end : end + 1] in ("<", ">")

    def word_of(self, chunk: Chunk, *, tilde_after: str = "") -> ShellWord:
        start, end, nodes = chunk
        text = self.text[start:end]
        spans: dict[int, int] = {}
        for node in nodes:
            add_spans(node, spans)
        word = read_word(text, spans, start=start, tilde_after=tilde_after)
        return word if text.isascii() else ShellWord(utf8(word.plain), word.is_literal, utf8(word.unexpanded))

    def is_word(self, node: Node) -> bool:
        leaf = node.child_count == 0 and node.is_named and node.type not in HEREDOC_PARTS
        return leaf or node.type in IN_WORDS or node.type in EXPANSIONS

    def commands_at_level(self, mark: int, context: NodeContext) -> tuple[SimpleCommand, ...]:
        return tuple(command for command in self.commands[mark:] if command.nesting == context.nesting)

    def source_of(self, node: Node) -> str:
        return self.text_between(node.start_byte, node.end_byte)

    def text_between(self, start: int, end: int) -> str:
        return utf8(self.text[start:end])


def utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def add_spans(node: Node, spans: dict[int, int]) -> None:
    """Add to *spans* where the expansions in *node* begin and end."""
    kind = node.type
    if kind in EXPANSIONS:
        spans[node.start_byte] = node.end_byte
    elif kind in IN_WORDS:
        for child in node.children:
            add_spans(child, spans)


def descendants(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from descendants(child)
