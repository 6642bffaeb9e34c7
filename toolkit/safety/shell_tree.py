"""
From the grammar's tree to simple commands.

The grammar is lenient and bash is not the same program, so nothing is taken on
trust: a node of an unknown kind, a character between two nodes, or a leaf that
hides a substitution is `CannotParse`. Every child of every node is visited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from .shell_heredocs import heredoc_text
from .shell_records import Assignment, CannotParse, Redirection, SimpleCommand
from .shell_words import Word, read_word, unescaped_live

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Reader"]

_MOST_LEVELS = 120
_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_SPACE = re.compile(r"(?:[ \t\n]|\\\n)*")
_JOINED = re.compile(r"(?:\\\n)*")

_EXPANSIONS = frozenset(
    "simple_expansion expansion command_substitution process_substitution arithmetic_expansion array".split()
)
# Where a word's expansions may lie deeper; what is not here and not a leaf cannot be part of a word.
_IN_WORDS = frozenset(
    "command_name concatenation string translated_string brace_expression variable_assignment subscript".split()
)
_RESERVED = frozenset(
    "if then elif else fi for while until do done case esac select function in { } ! [[ ]] time coproc".split()
)
# These two are reserved words to the shell, but a plain command after them reads like any other.
_LIKE_COMMANDS = frozenset({"time", "coproc"})
# What the shell may take apart differently when it stands inside `${...}`.
_ODD_IN_EXPANSION = re.compile(r"['\"\\{}\n`]")
_ODD_IN_PATTERN = re.compile(r"[\s;&'\"`]")

Chunk: TypeAlias = "tuple[int, int, list[Node]]"


@dataclass(frozen=True, slots=True)
class _Around:
    """What a statement is given by those it stands in; the tail belongs to its last command only."""

    via: tuple[str, ...] = ()
    level: int = 0
    fed_by: tuple[SimpleCommand, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    inner: tuple[SimpleCommand, ...] = ()
    tail: _Tail | None = None

    def opened(self) -> _Around:
        """For the statements inside a compound: what was redirected for all is redirected for each."""
        if self.tail is None:
            return self
        if self.tail.words:
            raise CannotParse("words after a redirection of a compound command")
        redirections = (*self.redirections, *self.tail.redirections)
        return replace(self, redirections=redirections, inner=(*self.inner, *self.tail.inner), tail=None)


@dataclass(frozen=True, slots=True)
class _Tail:
    redirections: tuple[Redirection, ...]
    inner: tuple[SimpleCommand, ...]
    words: tuple[Chunk, ...]


@dataclass(slots=True)
class Reader:
    """
    One text on its way to commands.

    Attributes:
        text: The source, one character a byte, so that the grammar's offsets fit.
        reread: Reads the text inside backticks, which has a quoting of its own.
    """

    text: str
    reread: Callable[[str, tuple[str, ...]], Reader]
    commands: list[SimpleCommand] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    spawns: bool = False
    has_substitution: bool = False

    def read(self, root: Node, via: tuple[str, ...]) -> Reader:
        """Visit the whole tree."""
        if _SPACE.fullmatch(self.text[: root.start_byte]) is None:
            raise CannotParse("it does not begin with a command")
        if _SPACE.fullmatch(self.text[root.end_byte :]) is None:
            raise CannotParse("it does not end with a command")
        self._visit(root, _Around(via=via))
        return self

    def _visit(self, node: Node, around: _Around) -> None:
        if around.level > _MOST_LEVELS:
            raise CannotParse("it is nested too deeply")
        if not node.is_named:
            if node.type.startswith(";;") or node.type == ";&":
                if node.parent is None or node.parent.type != "case_item":
                    raise CannotParse(f"`{node.type}` outside of `case`")
            return
        visit = _VISITS.get(node.type)
        if visit is None:
            raise CannotParse(f"a part of kind `{node.type}` is not understood")
        visit(self, node, replace(around, level=around.level + 1))

    # Statements.

    def _statements(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        inside = around.opened()
        for child in node.children:
            self._visit(child, inside)

    def _for(self, node: Node, around: _Around) -> None:
        name = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            raise CannotParse("a loop without a variable")
        values = [child for child in node.children_by_field_name("value")]
        words = [self._word(chunk) for chunk in self._chunks(values)] or [Word("", is_literal=False)]
        for word in words:
            self.assignments.append(Assignment(name=self._source(name), value=word.plain, is_literal=word.is_literal))
        self._statements(node, around)

    def _loop(self, node: Node, around: _Around) -> None:
        body = node.child_by_field_name("body")
        if body is not None and any(child.type == "&" for child in body.children):
            self.spawns = True
        self._statements(node, around)

    def _negated(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        for child in node.children:
            self._visit(child, around)

    def _list(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        *most, last = node.children
        for child in most:
            self._visit(child, replace(around, tail=None))
        self._visit(last, around)

    def _pipeline(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        stages = [child for child in node.children if child.is_named]
        before = around.fed_by
        for stage in stages:
            mark = len(self.commands)
            tail = around.tail if stage == stages[-1] else None
            if stage.type == "list" and stage != stages[0]:
                # `a | b && c` is read as `a | (b && c)`; only `b` is at the end of the pipe.
                self._no_text_between(stage, _SPACE)
                self._visit(stage.children[0], replace(around, fed_by=before, tail=None))
                for child in stage.children[1:]:
                    self._visit(child, replace(around, tail=tail if child == stage.children[-1] else None))
            else:
                self._visit(stage, replace(around, fed_by=before, tail=tail))
            before = (*before, *self._at_level(mark, around))

    def _redirected(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, re.compile(r"(?:[ \t]|\\\n)*(?:-[ \t]+)?"))
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
            found, more = self._redirect(child, around)
            redirections += found
            words += more
        inner = tuple(self.commands[mark:])
        mark = len(self.commands)
        if around.tail is not None:
            redirections += around.tail.redirections
            inner += around.tail.inner
            words += around.tail.words
        tail = _Tail(tuple(redirections), inner, tuple(words))
        if body is not None:
            self._visit(body, replace(around, tail=tail))
        elif words:
            raise CannotParse("words after a redirection without a command")
        if heredoc is not None:
            self._after_heredoc(heredoc, replace(around, tail=None), self._at_level(mark, around))

    def _after_heredoc(self, node: Node, around: _Around, fed_by: tuple[SimpleCommand, ...]) -> None:
        """What stands on the line of `<<EOF` behind it: `| sh`, `&& make`."""
        for child in node.children:
            if child.type == "pipeline":
                self._no_text_between(child, _SPACE)
                for each in child.children:
                    self._visit(each, replace(around, fed_by=(*around.fed_by, *fed_by)))
            elif child.is_named and child.type not in _PARTS_OF_HEREDOC and not self._is_word(child):
                self._visit(child, around)

    def _function(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        name = node.child_by_field_name("name")
        if name is None:
            raise CannotParse("a function without a name")
        self.functions.append(self._source(name))
        inside = replace(around.opened(), via=(*around.via, f"{self._source(name)}()"))
        for child in node.children:
            if child != name:
                self._visit(child, inside)

    # Simple commands.

    def _command(self, node: Node, around: _Around) -> None:
        mark = len(self.commands)
        inside = replace(around, fed_by=(), redirections=(), inner=(), tail=None)
        redirections: list[Redirection] = []
        assignments: list[Assignment] = []
        parts: list[Node] = []
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                found, words = self._redirect(child, inside)
                if words:
                    raise CannotParse("words after a redirection")
                redirections += found
            elif child.type == "variable_assignment" and not parts:
                assignments.append(self._assignment(child, inside))
            else:
                if child.type in _IN_WORDS or child.type in _EXPANSIONS or child.child_count == 0:
                    self._visit(child, inside)
                else:
                    raise CannotParse(f"a {child.type} among a command's words")
                parts.append(child)
        self._no_text_between(node, _BLANK)
        chunks = self._chunks(parts)
        end = node.end_byte
        if around.tail is not None:
            redirections += around.tail.redirections
            chunks += around.tail.words
            end = max([end, *(chunk[1] for chunk in around.tail.words)])
        words_read = [self._word(chunk, tilde_after="=") for chunk in chunks]
        sources = [self._text(start, stop) for start, stop, _ in chunks]
        if not sources:
            raise CannotParse("a command without a name")
        first = sources[0]
        if first in _RESERVED - _LIKE_COMMANDS or (first in _LIKE_COMMANDS and _RESERVED.intersection(sources[1:3])):
            raise CannotParse(f"`{first}` is not understood here")
        inner = (*self.commands[mark:], *around.inner, *(around.tail.inner if around.tail else ()))
        self.commands.append(
            SimpleCommand(
                words=tuple(
                    word.plain if word.is_literal else source for word, source in zip(words_read, sources, strict=True)
                ),
                literal=tuple(word.is_literal for word in words_read),
                plain=tuple(word.plain for word in words_read),
                source=self._text(node.start_byte, end),
                via=around.via,
                fed_by=around.fed_by,
                inner=inner,
                assignments=tuple(assignments),
                redirections=(*around.redirections, *redirections),
            )
        )

    def _test(self, node: Node, around: _Around) -> None:
        """`[ ... ]`, `[[ ... ]]` and `(( ... ))` as commands of three words."""
        self._no_text_between(node, _SPACE)
        mark = len(self.commands)
        inside = replace(around, fed_by=(), redirections=(), inner=(), tail=None)
        for child in node.children:
            self._visit(child, inside)
        if any(each.type in ("raw_string", "ansi_c_string") and _hides(self._source(each)) for each in _below(node)):
            raise CannotParse("a quoted substitution that a test may run")
        around = around.opened()
        opening, closing = node.children[0], node.children[-1]
        between = self._text(opening.end_byte, closing.start_byte).strip()
        known = len(self.commands) == mark and not any(each.type in _EXPANSIONS for each in _below(node))
        self.commands.append(
            SimpleCommand(
                words=(self._source(opening), between, self._source(closing)),
                literal=(True, known, True),
                plain=(self._source(opening), between, self._source(closing)),
                source=self._source(node),
                via=around.via,
                fed_by=around.fed_by,
                inner=(*self.commands[mark:], *around.inner),
                redirections=around.redirections,
            )
        )

    def _compound(self, node: Node, around: _Around) -> None:
        if node.children and node.children[0].type == "((":
            self.has_substitution = True
            self._test(node, around)
        else:
            self._statements(node, around)

    def _assigned(self, node: Node, around: _Around) -> None:
        self._assignment(node, around)

    def _assignment(self, node: Node, around: _Around) -> Assignment:
        self._no_text_between(node, _JOINED)
        name, *_ = re.split(r"[\[+=]", self._source(node), maxsplit=1)
        equals = next(child for child in node.children if child.type in ("=", "+="))
        for child in node.children:
            self._visit(child, replace(around, tail=None))
        word = self._word((equals.end_byte, node.end_byte, [node]), tilde_after=":")
        literal = word.is_literal and equals.type == "=" and name == self._source(node.children[0])
        found = Assignment(name=name, value=word.plain, is_literal=literal)
        self.assignments.append(found)
        return found

    # Redirections.

    def _bare_redirect(self, node: Node, around: _Around) -> None:
        if self._redirect(node, around)[1]:
            raise CannotParse("words after a redirection without a command")

    def _redirect(self, node: Node, around: _Around) -> tuple[list[Redirection], list[Chunk]]:
        """The redirections that *node* makes, and the words behind its target, which are the command's."""
        around = replace(around, fed_by=(), redirections=(), inner=(), tail=None)
        if node.type == "heredoc_redirect":
            return self._heredoc(node, around)
        if node.type not in ("file_redirect", "herestring_redirect"):
            raise CannotParse(f"a redirection of kind `{node.type}` is not understood")
        self._no_text_between(node, _BLANK)
        operator, *targets = (child for child in node.children if child.type != "file_descriptor")
        for child in targets:
            self._visit(child, around)
        chunks = self._chunks(targets)
        if not chunks and not operator.type.endswith("-"):
            raise CannotParse("a redirection without a target")
        target = self._word(chunks[0]) if chunks else Word("", is_literal=True)
        found = Redirection(operator=operator.type, target=target.plain, is_literal=target.is_literal)
        self.redirections.append(found)
        return [found], chunks[1:]

    def _heredoc(self, node: Node, around: _Around) -> tuple[list[Redirection], list[Chunk]]:
        text, expands = heredoc_text(node, self.text)
        found: list[Redirection] = []
        parts: list[Node] = []
        for child in node.children:
            if child.type == "heredoc_body":
                for part in child.children if expands else ():
                    self._visit(part, around)
            elif child.type in ("file_redirect", "herestring_redirect"):
                more, words = self._redirect(child, around)
                if words:
                    raise CannotParse("words after a redirection")
                found += more
            elif self._is_word(child):
                self._visit(child, around)
                parts.append(child)
        known = not expands or ("$" not in text and "`" not in text and "\\" not in text)
        here = Redirection(operator=node.children[0].type, target=_utf8(text), is_literal=known)
        self.redirections.append(here)
        return [here, *found], self._chunks(parts)

    # Expansions and words.

    def _substitution(self, node: Node, around: _Around) -> None:
        self.has_substitution = True
        opening = node.children[0].type
        inside = _Around(via=(*around.via, _OPENINGS.get(opening, "$()")), level=around.level)
        if opening not in ("`", "``"):
            self._no_text_between(node, _SPACE)
            for child in node.children:
                self._visit(child, inside)
            return
        text = self.text[node.start_byte + 1 : node.end_byte - 1]
        if re.search(r"(?<!\\)(?:\\\\)*`", text) or not self._source(node).endswith("`"):
            raise CannotParse("backticks that do not match")
        quoted = any(parent.type == "string" for parent in _above(node))
        # Inside backticks a backslash is removed once more before anything is read.
        text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", text)
        found = self.reread(text, inside.via)
        self.commands += found.commands
        self.redirections += found.redirections
        self.assignments += found.assignments
        self.functions += found.functions
        self.spawns = self.spawns or found.spawns

    def _expansion(self, node: Node, around: _Around) -> None:
        """`${name...}`, of which the grammar and the shell have different ideas as soon as it holds quotes."""
        self.has_substitution = True
        quoted = any(parent.type in ("string", "heredoc_body") for parent in _above(node))
        for child in node.children:
            if child.type in ("raw_string", "ansi_c_string") or (child.type == "string" and quoted):
                raise CannotParse("quotes inside `${...}`")
            if child.type in ("word", "regex", "concatenation", "extglob_pattern"):
                for leaf in (child, *_below(child)):
                    if leaf.child_count == 0 and leaf.is_named and _ODD_IN_EXPANSION.search(self._source(leaf)):
                        raise CannotParse("quotes inside `${...}`")
            if child.type == "P":
                raise CannotParse("`${...@P}` runs what the variable holds")
            self._visit(child, around)

    def _arithmetic(self, node: Node, around: _Around) -> None:
        self.has_substitution = True
        self._no_text_between(node, _SPACE)
        for each in _below(node):
            if each.type in ("string", "raw_string", "ansi_c_string"):
                raise CannotParse("quotes inside arithmetic")
        self._parts(node, around)

    def _variable(self, node: Node, around: _Around) -> None:
        self.has_substitution = True
        self._parts(node, around)

    def _parts(self, node: Node, around: _Around) -> None:
        self._no_text_between(node, _SPACE)
        for child in node.children:
            self._visit(child, around)

    def _string(self, node: Node, around: _Around) -> None:
        # What lies between the parts is text here; `read_word` reads it again.
        for child in node.children:
            self._visit(child, around)

    def _leaf(self, node: Node, around: _Around) -> None:
        if unescaped_live(self._source(node)):
            raise CannotParse(f"a substitution in `{self._source(node)[:40]}` is not understood")

    def _pattern(self, node: Node, around: _Around) -> None:
        self._leaf(node, around)
        if _ODD_IN_PATTERN.search(self._source(node)):
            raise CannotParse(f"the pattern `{self._source(node)[:40]}` is not understood")

    def _quoted(self, node: Node, around: _Around) -> None:
        """Single quotes: nothing inside is alive."""

    def _comment(self, node: Node, around: _Around) -> None:
        before = self.text[: node.start_byte]
        # After a joined line `#` is in the middle of a word, and what follows it runs.
        if before and (before[-1] not in " \t\n;&|()" or re.search(r"(?<!\\)(?:\\\\)*\\[ \t\n]$", before[-100:])):
            raise CannotParse("`#` in the middle of a word")
        if "\n" in self._source(node):
            raise CannotParse("a comment of several lines")

    def _chunks(self, nodes: Sequence[Node]) -> list[Chunk]:
        """Nodes that touch are one word, whatever the grammar says."""
        chunks: list[Chunk] = []
        for node in nodes:
            between = self.text[chunks[-1][1] : node.start_byte] if chunks else " "
            if _JOINED.fullmatch(between):
                start, _, before = chunks[-1]
                chunks[-1] = (start, node.end_byte, [*before, node])
            else:
                chunks.append((node.start_byte, node.end_byte, [node]))
        for start, end, _ in chunks:
            if self.text[start:end].isdigit() and self.text[end : end + 1] in tuple("<>"):
                raise CannotParse("a number before a redirection is not understood")
        return chunks

    def _word(self, chunk: Chunk, *, tilde_after: str = "") -> Word:
        start, end, nodes = chunk
        spans = dict(span for node in nodes for span in _spans(node))
        word = read_word(self.text[start:end], spans, start=start, tilde_after=tilde_after)
        return Word(_utf8(word.plain), word.is_literal)

    def _is_word(self, node: Node) -> bool:
        leaf = node.child_count == 0 and node.is_named and node.type not in _PARTS_OF_HEREDOC
        return leaf or node.type in _IN_WORDS or node.type in _EXPANSIONS

    def _at_level(self, mark: int, around: _Around) -> tuple[SimpleCommand, ...]:
        return tuple(each for each in self.commands[mark:] if each.via == around.via)

    def _no_text_between(self, node: Node, allowed: re.Pattern[str]) -> None:
        at = node.start_byte
        for child in node.children:
            if allowed.fullmatch(self.text[at : child.start_byte]) is None:
                raise CannotParse(f"`{self._text(at, child.start_byte).strip()[:40]}` is not understood")
            at = child.end_byte
        if node.children and allowed.fullmatch(self.text[at : node.end_byte]) is None:
            raise CannotParse(f"`{self._text(at, node.end_byte).strip()[:40]}` is not understood")

    def _source(self, node: Node) -> str:
        return self._text(node.start_byte, node.end_byte)

    def _text(self, start: int, end: int) -> str:
        return _utf8(self.text[start:end])


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def _hides(text: str) -> bool:
    return "$(" in text or "`" in text


def _spans(node: Node) -> Iterator[tuple[int, int]]:
    if node.type in _EXPANSIONS:
        yield node.start_byte, node.end_byte
    elif node.type in _IN_WORDS:
        for child in node.children:
            yield from _spans(child)


def _below(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _below(child)


def _above(node: Node) -> Iterable[Node]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


_PARTS_OF_HEREDOC = frozenset("heredoc_start heredoc_body heredoc_end file_descriptor".split()) | {
    "file_redirect",
    "herestring_redirect",
}
_OPENINGS = {"`": "``", "``": "``", "<(": "<()", ">(": ">()"}
_Visit: TypeAlias = "Callable[[Reader, Node, _Around], None]"


def _kinds(names: str, visit: _Visit) -> dict[str, _Visit]:
    return dict.fromkeys(names.split(), visit)


_VISITS: dict[str, _Visit] = {
    **_kinds("program subshell do_group if_statement elif_clause else_clause", Reader._statements),
    **_kinds("case_statement case_item", Reader._statements),
    **_kinds("while_statement c_style_for_statement", Reader._loop),
    **_kinds("for_statement", Reader._for),
    **_kinds("compound_statement", Reader._compound),
    **_kinds("negated_command", Reader._negated),
    **_kinds("list", Reader._list),
    **_kinds("pipeline", Reader._pipeline),
    **_kinds("redirected_statement", Reader._redirected),
    **_kinds("file_redirect herestring_redirect", Reader._bare_redirect),
    **_kinds("function_definition", Reader._function),
    **_kinds("command declaration_command unset_command", Reader._command),
    **_kinds("test_command", Reader._test),
    **_kinds("variable_assignment", Reader._assigned),
    **_kinds("variable_assignments concatenation command_name array subscript", Reader._parts),
    **_kinds("brace_expression unary_expression binary_expression ternary_expression", Reader._parts),
    **_kinds("postfix_expression parenthesized_expression", Reader._parts),
    **_kinds("simple_expansion", Reader._variable),
    **_kinds("expansion", Reader._expansion),
    **_kinds("arithmetic_expansion", Reader._arithmetic),
    **_kinds("command_substitution process_substitution", Reader._substitution),
    **_kinds("string translated_string", Reader._string),
    **_kinds("raw_string ansi_c_string heredoc_content", Reader._quoted),
    **_kinds("comment", Reader._comment),
    **_kinds("regex extglob_pattern", Reader._pattern),
    **_kinds("word number string_content variable_name special_variable_name", Reader._leaf),
    **_kinds("test_operator file_descriptor", Reader._leaf),
}
