"""Reader for simple commands: their words, the variables that are set for them, and their redirections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..._plumbing.wording import in_backticks
from .expansions import ExpansionReader
from .heredocs import read_heredoc_text
from .nodes import BLANK, EXPANSIONS, IN_WORDS, JOINED_LINES, SPACE, Chunk, NodeContext, descendants, utf8
from .records import Assignment, CannotParse, Redirection, SimpleCommand
from .words import ShellWord, remove_quotes

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["SimpleCommandReader"]

_RESERVED = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "in", "{", "}", "!", "[[", "]]", "time", "coproc",
})  # fmt: skip
_COVERS_SIGNS = EXPANSIONS | {"string", "raw_string", "ansi_c_string"}
_SIGNS_IN_TESTS = {"[": re.compile(r"[;&|<>()\n`]"), "[[": re.compile(r"[;\n`]|[<>]\(|(?<!&)&(?!&)")}
_LOOKS_ASSIGNED = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
# Bash computes every value of these variables as a number.
_NUMBERS = frozenset({"RANDOM", "SECONDS", "OPTIND", "LINENO", "HISTCMD", "SRANDOM", "BASHPID", "PPID", "UID", "EUID"})
# Matches `a=([i]=x)`, in which bash computes `i`.
_SUBSCRIPT_IN_ARRAY = re.compile(r"=\((?:.*\s)?\[", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_DESCRIPTOR_BEFORE = re.compile(r"(?:(?<![^\s;&|()])\d+|\{[A-Za-z_]\w*\})\Z")
# These two are reserved words to the shell, but a plain command after them is read like any other.
_LIKE_COMMANDS = frozenset({"time", "coproc"})
_NEVER_COMMANDS = _RESERVED - _LIKE_COMMANDS


class SimpleCommandReader(ExpansionReader):
    """The reader for commands that contain no other statements."""

    def visit_command(self, node: Node, context: NodeContext) -> None:
        mark = len(self.commands)
        inner_context = context.for_words()
        redirections: list[Redirection] = []
        assignments: list[Assignment] = []
        parts: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                new_redirections, words = self.read_redirection(child, inner_context)
                if words:
                    raise CannotParse("words after a redirection")
                redirections += new_redirections
            elif kind == "subshell" and [self.source_of(part) for part in parts] == ["time"]:
                self.visit(child, context)
            elif kind == "variable_assignment" and not parts:
                assignments.append(self.read_assignment(child, inner_context))
            else:
                if kind in IN_WORDS or kind in EXPANSIONS or child.child_count == 0:
                    self.visit(child, inner_context)
                else:
                    raise CannotParse(f"a {kind} among a command's words")
                parts.append(child)
        self.refuse_text_between(node, BLANK)
        self.refuse_joined_words(node.children)
        chunks = self.group_words(parts)
        end = node.end_byte
        if context.tail is not None:
            redirections += context.tail.redirections
            chunks += context.tail.words
            end = max([end, *(chunk[1] for chunk in context.tail.words)])
        chunks = self._split_off_assignments(chunks, assignments)
        self.word_spans.add(tuple(chunk[:2] for chunk in chunks))
        words_read = [self.word_of(chunk, tilde_after="=") for chunk in chunks]
        sources = [self.text_between(start, stop) for start, stop, _ in chunks]
        if not sources:
            raise CannotParse("a command without a name")
        first = sources[0]
        if _LOOKS_ASSIGNED.match(first.replace("\\\n", "")):
            raise CannotParse(f"{in_backticks(first[:40])} sets a variable, or runs a program of that name")
        if first in _NEVER_COMMANDS or (first in _LIKE_COMMANDS and _RESERVED.intersection(sources[1:3])):
            raise CannotParse(f"{in_backticks(first)} is not understood here")
        substitutions = (
            *self.commands[mark:],
            *context.substitutions,
            *(context.tail.substitutions if context.tail else ()),
        )
        self.add(
            SimpleCommand(
                words=tuple(
                    word.plain if word.is_literal else source for word, source in zip(words_read, sources, strict=True)
                ),
                literal=tuple(word.is_literal for word in words_read),
                plain=tuple(word.plain for word in words_read),
                source=self.text_between(node.start_byte, end),
                nesting=context.nesting,
                fed_by=context.fed_by,
                substitutions=substitutions,
                assignments=tuple(assignments),
                redirections=(*context.redirections, *redirections),
                shares_input=context.shares_input and not any(own.is_standard_input for own in redirections),
            )
        )

    def _split_off_assignments(self, chunks: list[Chunk], assignments: list[Assignment]) -> list[Chunk]:
        """
        Remove the assignments that follow `time` or `coproc` from the words.

        The grammar reads them as plain words.
        """
        at = 1
        if not chunks or assignments or self.text[slice(*chunks[0][:2])] not in _LIKE_COMMANDS:
            return chunks
        for option in ("-p", "--"):
            if (
                len(chunks) > at
                and self.text[slice(*chunks[0][:2])] == "time"
                and self._source_of_chunk(chunks[at]) == option
            ):
                at += 1
        first = at
        while at < len(chunks) and (match := _LOOKS_ASSIGNED.match(self._source_of_chunk(chunks[at]))):
            start, end, nodes = chunks[at]
            if match.end() != end - start and self._source_of_chunk(chunks[at])[match.end()] == "(":
                raise CannotParse(f"an array behind {in_backticks(self._source_of_chunk(chunks[0]))}")
            if not _NAME.fullmatch(match.group().rstrip("+=")):
                raise CannotParse(
                    f"{in_backticks(match.group())} behind {in_backticks(self._source_of_chunk(chunks[0]))}"
                )
            value = self.word_of((start, end, nodes), tilde_after=":")
            name, _, plain = value.plain.partition("=")
            literal = value.is_literal and not name.endswith("+")
            self.evaluates = self.evaluates or (name.rstrip("+") in _NUMBERS and not plain.isdigit())
            assignments.append(
                Assignment(name=name.rstrip("+"), value=plain, is_literal=literal, unexpanded=value.unexpanded)
            )
            at += 1
        self.assignments += assignments
        return [*chunks[:first], *chunks[at:]]

    def _source_of_chunk(self, chunk: Chunk) -> str:
        return self.text[chunk[0] : chunk[1]]

    def visit_test(self, node: Node, context: NodeContext) -> None:
        """Read `[ ... ]`, `[[ ... ]]` or `(( ... ))` as a command of three words."""
        self.evaluates = True
        self.refuse_text_between(node, SPACE)
        mark = len(self.commands)
        inner_context = context.for_words()
        for child in node.children:
            self.visit(child, inner_context)
        self._refuse_quoted_substitutions(node)
        self._refuse_other_signs(node)
        self.word_spans.add(((node.start_byte, node.end_byte),))
        context = context.for_statements()
        opening, closing = node.children[0], node.children[-1]
        between = self.text_between(opening.end_byte, closing.start_byte).strip()
        is_literal = len(self.commands) == mark and not any(
            descendant.type in EXPANSIONS for descendant in descendants(node)
        )
        self.add(
            SimpleCommand(
                words=(self.source_of(opening), between, self.source_of(closing)),
                literal=(True, is_literal, True),
                plain=(self.source_of(opening), between, self.source_of(closing)),
                source=self.source_of(node),
                nesting=context.nesting,
                fed_by=context.fed_by,
                substitutions=(*self.commands[mark:], *context.substitutions),
                redirections=context.redirections,
            )
        )

    def _refuse_quoted_substitutions(self, node: Node) -> None:
        """
        Refuse a test that holds a substitution once its quotes are removed.

        Bash runs `'x[$(id)]' -eq 0`, however the word is quoted: `$'x[\\44(id)]'`, `'x[$'"(id)]"`.
        """
        begins, ends = node.start_byte, node.end_byte
        without_expansions, at = "", begins
        marked = list(self.text[begins:ends])
        for expansion in (part for part in descendants(node) if part.type in EXPANSIONS):
            # The substitutions that run at once are read elsewhere. What they hold counts, and so does the text around
            # them, which may close up: `'x[$'$a"(id)]"`.
            marked[expansion.start_byte - begins] = marked[expansion.end_byte - begins - 1] = "x"
            if expansion.start_byte >= at:
                without_expansions += self.text[at : expansion.start_byte]
                at = expansion.end_byte
        for quoted in ("".join(marked), without_expansions + self.text[at:ends]):
            text = remove_quotes(quoted)
            if "$(" in text or "`" in text or ("[" in text and "${" in text):
                raise CannotParse("a quoted substitution that a test may run")

    def _refuse_other_signs(self, node: Node) -> None:
        """
        Refuse signs such as `&` or `;` inside a test.

        Inside `[ ]` the shell still ends a command at these signs, even if the grammar reads them differently.
        """
        kind = node.children[0].type
        covered = [descendant for descendant in descendants(node) if descendant.type in _COVERS_SIGNS]
        uncovered, at = "", node.children[0].end_byte
        for descendant in covered:
            if descendant.start_byte >= at:
                uncovered += self.text[at : descendant.start_byte] + "x"
                at = descendant.end_byte
        uncovered += self.text[at : node.children[-1].start_byte]
        if kind in _SIGNS_IN_TESTS and _SIGNS_IN_TESTS[kind].search(re.sub(r"\\.", "x", uncovered, flags=re.DOTALL)):
            raise CannotParse(f"a sign inside `{kind}` that ends a command")

    def read_assignment(self, node: Node, context: NodeContext) -> Assignment:
        self.refuse_text_between(node, JOINED_LINES)
        name, *_ = re.split(r"[\[+=]", self.source_of(node), maxsplit=1)
        if _NAME.fullmatch(name) is None:
            raise CannotParse(f"`{name}` is no name for a variable")
        self.evaluates = self.evaluates or "[" in self.source_of(node.children[0])
        self.evaluates = self.evaluates or _SUBSCRIPT_IN_ARRAY.search(self.source_of(node)) is not None
        equals = next(child for child in node.children if child.type in ("=", "+="))
        for child in node.children:
            self.visit(child, context._replace(tail=None))
        word = self.word_of((equals.end_byte, node.end_byte, [node]), tilde_after=":")
        literal = word.is_literal and equals.type == "=" and name == self.source_of(node.children[0])
        self.evaluates = self.evaluates or (name in _NUMBERS and not word.plain.isdigit())
        result = Assignment(
            name=name, value=word.plain, is_literal=literal, unexpanded=self._value_without_expansions(node, word)
        )
        self.assignments.append(result)
        return result

    def _value_without_expansions(self, node: Node, word: ShellWord) -> str:
        """Return the value of an assignment without its expansions. For an array, join those of all its values."""
        values = [part for child in node.children if child.type == "array" for part in child.children if part.is_named]
        if not values:
            return word.unexpanded
        return " ".join(self.word_of(chunk).unexpanded for chunk in self.group_words(values))

    def visit_bare_redirection(self, node: Node, context: NodeContext) -> None:
        if self.read_redirection(node, context)[1]:
            raise CannotParse("words after a redirection without a command")

    def read_redirection(self, node: Node, context: NodeContext) -> tuple[list[Redirection], list[Chunk]]:
        """Return the redirections in *node*, and the words behind its target, which belong to the command."""
        context = context.for_words()
        if node.type == "heredoc_redirect":
            return self.read_heredoc(node, context)
        if node.type not in ("file_redirect", "herestring_redirect"):
            raise CannotParse(f"a redirection of kind `{node.type}` is not understood")
        self.refuse_text_between(node, BLANK)
        operator, *targets = (child for child in node.children if child.type != "file_descriptor")
        first = node.children[0]
        if first != operator and (not self.source_of(first).isdigit() or not self.begins_word(first)):
            raise CannotParse(f"{in_backticks(self.source_of(first))} before a redirection is not understood")
        for child in targets:
            self.visit(child, context)
        chunks = self.group_words(targets, before_redirection=True)
        if operator.type.endswith("-"):
            # `<&-` closes a descriptor. The words that follow belong to the command, even if they touch the sign.
            target, chunks_behind = ShellWord("", is_literal=True), chunks
        elif chunks:
            target, chunks_behind = self.word_of(chunks[0]), chunks[1:]
            self.targets.add(chunks[0][:2])
        else:
            raise CannotParse("a redirection without a target")
        if operator.type in (">&", "<&") and re.search(r"[$`]", target.plain):
            raise CannotParse(f"bash expands the target of `{operator.type}` twice")
        redirection = Redirection(
            operator=operator.type,
            target=target.plain,
            is_literal=target.is_literal,
            descriptor=self._descriptor_before(node, operator),
        )
        self.redirections.append(redirection)
        return [redirection], chunks_behind

    def _descriptor_before(self, node: Node, operator: Node) -> str:
        """Return the number before a redirection, or the `{name}` that the grammar reads as a word, or ""."""
        if node.children[0] != operator:
            return self.source_of(node.children[0])
        match = _DESCRIPTOR_BEFORE.search(self.text[: operator.start_byte])
        return match[0] if match else ""

    def read_heredoc(self, node: Node, context: NodeContext) -> tuple[list[Redirection], list[Chunk]]:
        heredoc = read_heredoc_text(node, self.text)
        self.refuse_joined_words(node.children)
        redirections: list[Redirection] = []
        parts: list[Node] = []
        for child in node.children:
            if child.type == "heredoc_body":
                for part in child.children if heredoc.expands else ():
                    self.visit(part, context._replace(quoted=True))
            elif child.type in ("file_redirect", "herestring_redirect"):
                new_redirections, words = self.read_redirection(child, context)
                if words:
                    raise CannotParse("words after a redirection")
                redirections += new_redirections
            elif self.is_word(child):
                self.visit(child, context)
                parts.append(child)
        operator = next(child for child in node.children if child.type != "file_descriptor")
        heredoc_redirection = Redirection(
            operator=operator.type,
            target=utf8(heredoc.text),
            is_literal=heredoc.is_exact,
            descriptor=self._descriptor_before(node, operator),
        )
        self.redirections.append(heredoc_redirection)
        return [heredoc_redirection, *redirections], self.group_words(parts)
