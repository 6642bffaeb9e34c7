"""
Conversion of the grammar's tree into simple commands.

The tree is checked in full: a node of an unknown kind, a character between two nodes, or a leaf that hides a
substitution raises `CannotParse`. Every child of every node is visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .nodes import HEREDOC_PARTS, SPACE, Chunk, NodeContext, StatementTail
from .records import Assignment, CannotParse, Redirection, SimpleCommand
from .simple_commands import SimpleCommandReader
from .words import ShellWord

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["StatementReader"]

_MAX_LEVELS = 120
# The grammar reads `!x` as `! x` and `[x ]` as `[ x ]`. To the shell they are words. Signs are listed with their parent
# (`_SIGNS`), because they have other meanings elsewhere.
_KEYWORDS = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "in", "[[", "]]", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv",
})  # fmt: skip
_CASE_ENDS = frozenset({";;", ";&", ";;&"})
# No node inside these is visited, so they need no `NodeContext` of their own.
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


class StatementReader(SimpleCommandReader):
    """The reader for statements: it records which command runs after, beside or inside another one."""

    def read(self, root: Node, nesting: tuple[str, ...]) -> StatementReader:
        """Visit the whole tree."""
        if SPACE.fullmatch(self.text[: root.start_byte]) is None:
            raise CannotParse("it does not begin with a command")
        if SPACE.fullmatch(self.text[root.end_byte :]) is None:
            raise CannotParse("it does not end with a command")
        self.visit(root, NodeContext(nesting=nesting))
        return self

    def visit(self, node: Node, context: NodeContext) -> None:
        if context.level > _MAX_LEVELS:
            raise CannotParse("it is nested too deeply")
        kind = node.type
        if not node.is_named:
            if kind in _CASE_ENDS and context.parent != "case_item":
                raise CannotParse(f"`{kind}` outside of `case`")
            keyword = kind in _KEYWORDS or (kind, context.parent) in _SIGNS
            if keyword and not self.stands_alone(node):
                raise CannotParse(f"`{kind}` in the middle of a word")
            return
        if context.tail is not None and context.tail.words and kind not in _TAKES_WORDS:
            raise CannotParse("words after a redirection that belong to no command")
        visit = _VISITS.get(kind)
        if visit is None:
            raise CannotParse(f"a part of kind `{kind}` is not understood")
        visit(self, node, context if kind in _HAVE_NO_PARTS else context.for_parts_of(kind))

    def visit_statements(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, SPACE)
        inner_context = context.for_statements()
        for child in node.children:
            self.visit(child, inner_context)

    def visit_for_loop(self, node: Node, context: NodeContext) -> None:
        name = self.require_field(node, "variable")
        values = node.children_by_field_name("value")
        words = [self.word_of(chunk) for chunk in self.group_words(values)] or [ShellWord("", is_literal=False)]
        for word in words:
            self.assignments.append(
                Assignment(
                    name=self.source_of(name),
                    value=word.plain,
                    is_literal=word.is_literal,
                    unexpanded=word.unexpanded,
                )
            )
        self.visit_statements(node, context)

    def visit_loop(self, node: Node, context: NodeContext) -> None:
        if any(child.type == "&" for child in self.require_field(node, "body").children):
            self.spawns = True
        self.refuse_text_between(node, SPACE)
        inner_context = context.for_statements()
        # `for ((;a;))` computes `a`.
        self.evaluates = self.evaluates or node.type == "c_style_for_statement"
        for child in node.children:
            if child.type == "variable_assignment" and node.type == "c_style_for_statement":
                # `for ((i = 0; ...))` is arithmetic, where spaces have no meaning.
                self.has_substitution = True
                self.assignments.append(Assignment(name=self.source_of(child.children[0]), value="", is_literal=False))
                self.visit_parts(child, inner_context)
            else:
                self.visit(child, inner_context)

    def visit_list(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, SPACE)
        *children_before, last = node.children
        for child in children_before:
            self.visit(child, context._replace(tail=None))
        self.visit(last, context)

    def visit_pipeline(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, SPACE)
        stages = [child for child in node.children if child.is_named]
        before, outer = context.fed_by, context
        for stage in stages:
            mark = len(self.commands)
            tail = outer.tail if stage == stages[-1] else None
            if stage.type == "list" and stage != stages[0]:
                # The grammar reads `a | b && c` as `a | (b && c)`. Only `b` is at the end of the pipe.
                self.refuse_text_between(stage, SPACE)
                self.visit(stage.children[0], context._replace(fed_by=before, tail=None))
                for child in stage.children[1:]:
                    self.visit(child, outer._replace(tail=tail if child == stage.children[-1] else None))
            else:
                self.visit(stage, context._replace(fed_by=before, tail=tail))
            before = (*before, *self.commands_at_level(mark, outer))
            context = outer.behind_pipe()

    def visit_redirected_statement(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, _BEFORE_REDIRECTION)
        self.refuse_joined_words(node.children)
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
            new_redirections, new_words = self.read_redirection(child, context)
            redirections += new_redirections
            words += new_words
        substitutions = tuple(self.commands[mark:])
        mark = len(self.commands)
        if context.tail is not None:
            redirections += context.tail.redirections
            substitutions += context.tail.substitutions
            words += context.tail.words
        tail = StatementTail(tuple(redirections), substitutions, tuple(words))
        if body is not None:
            self.visit(body, context._replace(tail=tail))
        elif words:
            raise CannotParse("words after a redirection without a command")
        if heredoc is not None:
            self.visit_after_heredoc(heredoc, context._replace(tail=None), self.commands_at_level(mark, context))

    def visit_after_heredoc(self, node: Node, context: NodeContext, fed_by: tuple[SimpleCommand, ...]) -> None:
        """Visit the commands behind `<<EOF` on the same line: `| sh`, `&& make`."""
        for child in node.children:
            if child.type == "pipeline":
                self.refuse_text_between(child, SPACE)
                for grandchild in child.children:
                    self.visit(grandchild, context.behind_pipe()._replace(fed_by=(*context.fed_by, *fed_by)))
            elif child.is_named and child.type not in HEREDOC_PARTS and not self.is_word(child):
                self.visit(child, context)

    def visit_function(self, node: Node, context: NodeContext) -> None:
        self.refuse_text_between(node, SPACE)
        name = self.require_field(node, "name")
        self.functions.append(self.source_of(name))
        # The redirections behind the body hold for every call.
        targets = [child for child in node.children if child.type.endswith("_redirect")]
        inner_context = context.for_statements()
        redirections = list(inner_context.redirections)
        for target in targets:
            new_redirections, words = self.read_redirection(target, context)
            if words:
                raise CannotParse("words behind a function")
            redirections += new_redirections
        inner_context = inner_context._replace(
            nesting=(*context.nesting, f"{self.source_of(name)}()"), redirections=tuple(redirections)
        )
        for child in node.children:
            if child != name and child not in targets:
                self.visit(child, inner_context)

    def visit_compound(self, node: Node, context: NodeContext) -> None:
        if node.children and node.children[0].type == "((":
            self.has_substitution = True
            self.visit_test(node, context)
        elif not node.named_children:
            # To the shell `{}` is a word.
            raise CannotParse("`{}` is not understood here")
        else:
            self.visit_statements(node, context)


_Visit: TypeAlias = "Callable[[StatementReader, Node, NodeContext], object]"


def _map_kinds(names: str, visit: _Visit) -> dict[str, _Visit]:
    return dict.fromkeys(names.split(), visit)


_VISITS: dict[str, _Visit] = {
    **_map_kinds("program subshell do_group if_statement elif_clause else_clause", StatementReader.visit_statements),
    **_map_kinds("case_statement case_item", StatementReader.visit_statements),
    **_map_kinds("while_statement c_style_for_statement", StatementReader.visit_loop),
    **_map_kinds("for_statement", StatementReader.visit_for_loop),
    **_map_kinds("compound_statement", StatementReader.visit_compound),
    **_map_kinds("negated_command", StatementReader.visit_parts),
    **_map_kinds("list", StatementReader.visit_list),
    **_map_kinds("pipeline", StatementReader.visit_pipeline),
    **_map_kinds("redirected_statement", StatementReader.visit_redirected_statement),
    **_map_kinds("file_redirect herestring_redirect", StatementReader.visit_bare_redirection),
    **_map_kinds("function_definition", StatementReader.visit_function),
    **_map_kinds("command declaration_command unset_command", StatementReader.visit_command),
    **_map_kinds("test_command", StatementReader.visit_test),
    **_map_kinds("variable_assignment", StatementReader.read_assignment),
    **_map_kinds("variable_assignments array subscript", StatementReader.visit_parts),
    **_map_kinds("concatenation command_name", StatementReader.visit_concatenation),
    **_map_kinds("brace_expression unary_expression binary_expression ternary_expression", StatementReader.visit_parts),
    **_map_kinds("postfix_expression parenthesized_expression", StatementReader.visit_parts),
    **_map_kinds("simple_expansion", StatementReader.visit_variable),
    **_map_kinds("expansion", StatementReader.visit_expansion),
    **_map_kinds("arithmetic_expansion", StatementReader.visit_arithmetic),
    **_map_kinds("command_substitution process_substitution", StatementReader.visit_substitution),
    **_map_kinds("string translated_string", StatementReader.visit_string),
    **_map_kinds("raw_string ansi_c_string heredoc_content", StatementReader.visit_single_quotes),
    **_map_kinds("comment", StatementReader.visit_comment),
    **_map_kinds("regex extglob_pattern", StatementReader.visit_pattern),
    **_map_kinds("word number string_content variable_name special_variable_name", StatementReader.visit_leaf),
    **_map_kinds("test_operator file_descriptor", StatementReader.visit_leaf),
}
