"""
Conversion of the grammar's tree into simple commands.

The tree is checked in full: a node of an unknown kind, a character between two nodes, or a leaf that hides a
substitution raises `CannotParse`. Every child of every node is visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .nodes import PARTS_OF_HEREDOC, SPACE, Around, Chunk, Tail
from .records import Assignment, CannotParse, Redirection, SimpleCommand
from .simple_commands import SimpleCommands
from .words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Reader"]

_MOST_LEVELS = 120
# The grammar reads `!x` as `! x` and `[x ]` as `[ x ]`. To the shell they are words. Signs are listed with their parent
# (`_SIGNS`), because they have other meanings elsewhere.
_KEYWORDS = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "in", "[[", "]]", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv",
})  # fmt: skip
_CASE_ENDS = frozenset({";;", ";&", ";;&"})
# No node inside these is visited, so they need no `Around` of their own.
_HAVE_NO_PARTS = frozenset({
    "word", "number", "string_content", "variable_name", "special_variable_name", "test_operator", "file_descriptor",
    "raw_string", "ansi_c_string", "heredoc_content", "comment", "regex", "extglob_pattern",
})  # fmt: skip
# Nodes with a last command, to which words behind a redirection belong.
_TAKES_WORDS = frozenset({
    "command", "declaration_command", "unset_command", "list", "pipeline", "negated_command", "redirected_statement",
})  # fmt: skip
_SIGNS = frozenset({
    ("{", "compound_statement"), ("}", "compound_statement"), ("[", "test_command"), ("]", "test_command"),
    ("!", "negated_command"),
})  # fmt: skip
_BEFORE_REDIRECTION = re.compile(r"(?:[ \t]|\\\n)*(?:-[ \t]+)?")


class Reader(SimpleCommands):
    """The reader for statements: it records which command runs after, beside or inside another one."""

    def read(self, root: Node, via: tuple[str, ...]) -> Reader:
        """Visit the whole tree."""
        if SPACE.fullmatch(self.text[: root.start_byte]) is None:
            raise CannotParse("it does not begin with a command")
        if SPACE.fullmatch(self.text[root.end_byte :]) is None:
            raise CannotParse("it does not end with a command")
        self.visit(root, Around(via=via))
        return self

    def visit(self, node: Node, around: Around) -> None:
        if around.level > _MOST_LEVELS:
            raise CannotParse("it is nested too deeply")
        kind = node.type
        if not node.is_named:
            if kind in _CASE_ENDS and around.parent != "case_item":
                raise CannotParse(f"`{kind}` outside of `case`")
            keyword = kind in _KEYWORDS or (kind, around.parent) in _SIGNS
            if keyword and not self.stands_alone(node):
                raise CannotParse(f"`{kind}` in the middle of a word")
            return
        if around.tail is not None and around.tail.words and kind not in _TAKES_WORDS:
            raise CannotParse("words after a redirection that belong to no command")
        visit = _VISITS.get(kind)
        if visit is None:
            raise CannotParse(f"a part of kind `{kind}` is not understood")
        visit(self, node, around if kind in _HAVE_NO_PARTS else around.inside(kind))

    def statements(self, node: Node, around: Around) -> None:
        self.no_text_between(node, SPACE)
        inside = around.opened()
        for child in node.children:
            self.visit(child, inside)

    def for_loop(self, node: Node, around: Around) -> None:
        name = self.field(node, "variable")
        values = node.children_by_field_name("value")
        words = [self.word_of(chunk) for chunk in self.chunks(values)] or [Word("", is_literal=False)]
        for word in words:
            self.assignments.append(
                Assignment(
                    name=self.source_of(name),
                    value=word.plain,
                    is_literal=word.is_literal,
                    unexpanded=word.unexpanded,
                )
            )
        self.statements(node, around)

    def loop(self, node: Node, around: Around) -> None:
        if any(child.type == "&" for child in self.field(node, "body").children):
            self.spawns = True
        self.no_text_between(node, SPACE)
        inside = around.opened()
        for child in node.children:
            if child.type == "variable_assignment":
                # `for ((i = 0; ...))` is arithmetic, where spaces have no meaning.
                self.has_substitution = self.evaluates = True
                self.assignments.append(Assignment(name=self.source_of(child.children[0]), value="", is_literal=False))
                self.parts(child, inside)
            else:
                self.visit(child, inside)

    def negated(self, node: Node, around: Around) -> None:
        self.no_text_between(node, SPACE)
        for child in node.children:
            self.visit(child, around)

    def chain(self, node: Node, around: Around) -> None:
        self.no_text_between(node, SPACE)
        *children_before, last = node.children
        for child in children_before:
            self.visit(child, around._replace(tail=None))
        self.visit(last, around)

    def pipeline(self, node: Node, around: Around) -> None:
        self.no_text_between(node, SPACE)
        stages = [child for child in node.children if child.is_named]
        before = around.fed_by
        for stage in stages:
            mark = len(self.commands)
            tail = around.tail if stage == stages[-1] else None
            if stage.type == "list" and stage != stages[0]:
                # The grammar reads `a | b && c` as `a | (b && c)`. Only `b` is at the end of the pipe.
                self.no_text_between(stage, SPACE)
                self.visit(stage.children[0], around._replace(fed_by=before, tail=None))
                for child in stage.children[1:]:
                    self.visit(child, around._replace(tail=tail if child == stage.children[-1] else None))
            else:
                self.visit(stage, around._replace(fed_by=before, tail=tail))
            before = (*before, *self.at_level(mark, around))

    def redirected(self, node: Node, around: Around) -> None:
        self.no_text_between(node, _BEFORE_REDIRECTION)
        self.separated(node.children)
        mark, heredoc = len(self.commands), None
        redirections: list[Redirection] = []
        words: list[Chunk] = []
        body = node.child_by_field_name("body")
        if body is not None and self.text[body.end_byte : node.children[1].start_byte].strip(" \t\n\\") == "-":
            # The grammar drops the `-` of `python - <<EOF`.
            at = self.text.index("-", body.end_byte)
            words.append((at, at + 1, []))
        for child in node.children:
            if body is not None and child == body:
                continue
            if child.type == "heredoc_redirect":
                if heredoc is not None:
                    raise CannotParse("two here-documents for one command")
                heredoc = child
            new_redirections, new_words = self.redirect(child, around)
            redirections += new_redirections
            words += new_words
        inner = tuple(self.commands[mark:])
        mark = len(self.commands)
        if around.tail is not None:
            redirections += around.tail.redirections
            inner += around.tail.inner
            words += around.tail.words
        tail = Tail(tuple(redirections), inner, tuple(words))
        if body is not None:
            self.visit(body, around._replace(tail=tail))
        elif words:
            raise CannotParse("words after a redirection without a command")
        if heredoc is not None:
            self.after_heredoc(heredoc, around._replace(tail=None), self.at_level(mark, around))

    def after_heredoc(self, node: Node, around: Around, fed_by: tuple[SimpleCommand, ...]) -> None:
        """Visit the commands behind `<<EOF` on the same line: `| sh`, `&& make`."""
        for child in node.children:
            if child.type == "pipeline":
                self.no_text_between(child, SPACE)
                for grandchild in child.children:
                    self.visit(grandchild, around._replace(fed_by=(*around.fed_by, *fed_by)))
            elif child.is_named and child.type not in PARTS_OF_HEREDOC and not self.is_word(child):
                self.visit(child, around)

    def function(self, node: Node, around: Around) -> None:
        self.no_text_between(node, SPACE)
        name = self.field(node, "name")
        self.functions.append(self.source_of(name))
        inside = around.opened()._replace(via=(*around.via, f"{self.source_of(name)}()"))
        for child in node.children:
            if child != name:
                self.visit(child, inside)

    def compound(self, node: Node, around: Around) -> None:
        if node.children and node.children[0].type == "((":
            self.has_substitution = True
            self.test(node, around)
        elif not node.named_children:
            # To the shell `{}` is a word.
            raise CannotParse("`{}` is not understood here")
        else:
            self.statements(node, around)


_Visit: TypeAlias = "Callable[[Reader, Node, Around], None]"


def _kinds(names: str, visit: _Visit) -> dict[str, _Visit]:
    return dict.fromkeys(names.split(), visit)


_VISITS: dict[str, _Visit] = {
    **_kinds("program subshell do_group if_statement elif_clause else_clause", Reader.statements),
    **_kinds("case_statement case_item", Reader.statements),
    **_kinds("while_statement c_style_for_statement", Reader.loop),
    **_kinds("for_statement", Reader.for_loop),
    **_kinds("compound_statement", Reader.compound),
    **_kinds("negated_command", Reader.negated),
    **_kinds("list", Reader.chain),
    **_kinds("pipeline", Reader.pipeline),
    **_kinds("redirected_statement", Reader.redirected),
    **_kinds("file_redirect herestring_redirect", Reader.bare_redirect),
    **_kinds("function_definition", Reader.function),
    **_kinds("command declaration_command unset_command", Reader.command),
    **_kinds("test_command", Reader.test),
    **_kinds("variable_assignment", Reader.assigned),
    **_kinds("variable_assignments array subscript", Reader.parts),
    **_kinds("concatenation command_name", Reader.joined),
    **_kinds("brace_expression unary_expression binary_expression ternary_expression", Reader.parts),
    **_kinds("postfix_expression parenthesized_expression", Reader.parts),
    **_kinds("simple_expansion", Reader.variable),
    **_kinds("expansion", Reader.expansion),
    **_kinds("arithmetic_expansion", Reader.arithmetic),
    **_kinds("command_substitution process_substitution", Reader.substitution),
    **_kinds("string translated_string", Reader.string),
    **_kinds("raw_string ansi_c_string heredoc_content", Reader.quoted),
    **_kinds("comment", Reader.comment),
    **_kinds("regex extglob_pattern", Reader.pattern),
    **_kinds("word number string_content variable_name special_variable_name", Reader.leaf),
    **_kinds("test_operator file_descriptor", Reader.leaf),
}
