"""
Reader for the parts that the shell expands before a command runs: `$name`, `${name}`, `$()`, backticks, arithmetic.

The grammar is lenient here, and differs from bash. Where the two may split a text differently, the reader raises
`CannotParse`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..._plumbing.wording import in_backticks
from .nodes import JOINED_LINES, SPACE, NodeContext, NodeReader, descendants
from .records import Assignment, CannotParse
from .words import has_unescaped_substitution

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["ExpansionReader"]

# Characters that the shell may read differently inside `${...}`.
_ODD_IN_EXPANSION = re.compile(r"['\"\\{}\n`]")
_ODD_IN_PATTERN = re.compile(r"[\s;&'\"`]")
# Matches `${!name}`, `${name[index]}` and `${name:offset}`.
_EVALUATES = re.compile(r"\$\{!|\[|:[^-=+?]")
# In `${x/Q/$}` the `$` may become the beginning of a substitution.
_LONE_DOLLAR = re.compile(r"/[^/]*\$(?=[/}]|\Z)|/[^/]*\\\$")
# Matches `${name=value}` and `${name:=value}`.
_SETS_VARIABLE = re.compile(r"\$\{(!?\w+)(?:\[.*\])?:?=(.*)\}", re.DOTALL)
_OPENINGS = {"`": "``", "``": "``", "<(": "<()", ">(": ">()"}


class ExpansionReader(NodeReader):
    """The reader for the parts of words and for comments."""

    def visit_substitution(self, node: Node, context: NodeContext) -> None:
        self.has_substitution = True
        opening = node.children[0].type
        inner_context = NodeContext(nesting=(*context.nesting, _OPENINGS.get(opening, "$()")), level=context.level)
        if opening == "$`":
            raise CannotParse("`$` before a backtick is not understood")
        if opening not in ("`", "``"):
            self.refuse_text_between(node, SPACE)
            for child in node.children:
                self.visit(child, inner_context)
            return
        self.backticks.add((node.start_byte, node.end_byte))
        text = self.text[node.start_byte + 1 : node.end_byte - 1]
        if re.search(r"(?<!\\)(?:\\\\)*`", text) or not self.source_of(node).endswith("`"):
            raise CannotParse("backticks that do not match")
        if "\\\\\n" in text:
            raise CannotParse("a joined line inside backticks")
        # Inside backticks the shell removes one more level of backslashes before it reads the text.
        text = re.sub(r'\\([$`\\"])' if context.quoted else r"\\([$`\\])", r"\1", text)
        reader = self.read_backticks(text, inner_context.nesting)
        self.commands += reader.commands
        self.redirections += reader.redirections
        self.assignments += reader.assignments
        self.functions += reader.functions
        self.spawns = self.spawns or reader.spawns
        self.evaluates = self.evaluates or reader.evaluates

    def visit_expansion(self, node: Node, context: NodeContext) -> None:
        """Read `${name...}`. The grammar and the shell read it differently as soon as it holds quotes."""
        self.has_substitution = True
        self.evaluates = self.evaluates or _EVALUATES.search(self.source_of(node)) is not None
        if _LONE_DOLLAR.search(self.source_of(node)):
            raise CannotParse("a `$` that `${...}` inserts")
        if match := _SETS_VARIABLE.fullmatch(self.source_of(node)):
            name, value = match[1], match[2]
            if name.startswith("!"):
                raise CannotParse("`${!name=...}` sets a variable whose name is only worked out when it runs")
            literal = not re.search(r"[$`]", value)
            self.assignments.append(Assignment(name=name, value=value, is_literal=literal, unexpanded=value))
        for child in node.children:
            if child.type in ("raw_string", "ansi_c_string") or (child.type == "string" and context.quoted):
                raise CannotParse("quotes inside `${...}`")
            if child.type in ("word", "regex", "concatenation", "extglob_pattern"):
                for leaf in (child, *descendants(child)):
                    if leaf.child_count == 0 and leaf.is_named and _ODD_IN_EXPANSION.search(self.source_of(leaf)):
                        raise CannotParse("quotes inside `${...}`")
            if child.type == "P":
                raise CannotParse("`${...@P}` runs what the variable holds")
            self.visit(child, context)

    def visit_arithmetic(self, node: Node, context: NodeContext) -> None:
        self.has_substitution = self.evaluates = True
        self.refuse_text_between(node, SPACE)
        for descendant in descendants(node):
            if descendant.type in ("string", "raw_string", "ansi_c_string"):
                raise CannotParse("quotes inside arithmetic")
        self.visit_parts(node, context)

    def visit_variable(self, node: Node, context: NodeContext) -> None:
        self.has_substitution = True
        if "".join(map(self.source_of, node.children)) != self.source_of(node):
            raise CannotParse(f"{in_backticks(self.source_of(node)[:40])} is not understood")
        self.visit_parts(node, context)

    def visit_concatenation(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, JOINED_LINES)
        self.visit_parts(node, context)

    def visit_parts(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, SPACE)
        for child in node.children:
            self.visit(child, context)

    def visit_string(self, node: Node, context: NodeContext) -> None:
        # The text between the parts belongs to the string. `read_word` reads it again.
        for child in node.children:
            self.visit(child, context._replace(quoted=True))

    def visit_leaf(self, node: Node, context: NodeContext) -> None:
        if has_unescaped_substitution(self.text[node.start_byte : node.end_byte]):
            raise CannotParse(f"a substitution in {in_backticks(self.source_of(node)[:40])} is not understood")

    def visit_pattern(self, node: Node, context: NodeContext) -> None:
        self.visit_leaf(node, context)
        if _ODD_IN_PATTERN.search(self.source_of(node)):
            raise CannotParse(f"the pattern {in_backticks(self.source_of(node)[:40])} is not understood")

    def visit_single_quotes(self, node: Node, context: NodeContext) -> None:
        """Accept text in single quotes. The shell expands no part of it."""

    def visit_comment(self, node: Node, context: NodeContext) -> None:
        before = self.text[: node.start_byte]
        # After a joined line, `#` is in the middle of a word, and the text behind it runs.
        if before and (before[-1] not in " \t\n;&|()" or re.search(r"(?<!\\)(?:\\\\)*\\[ \t\n]$", before[-100:])):
            raise CannotParse("`#` in the middle of a word")
        if "\n" in self.source_of(node):
            raise CannotParse("a comment of several lines")
