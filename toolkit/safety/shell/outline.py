"""
A second reading of a command line, by the rules that bash itself follows.

The grammar behind the module `tree` was written to colour text, and it splits some lines differently from bash. So this
module reads the same text once more, from left to right, with bash's own rules for words: where a word ends, which
words are reserved at which places, and what an assignment or a redirection is. It records only the positions of things,
not their meaning. The module `parser` compares both readings, and raises `CannotParse` for a line on which they differ.

Constructs that are rare and hard to read correctly (a subscript with blanks, `$[1]`, quotes in `${...}`, extended
globs) are refused.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from ..._plumbing.wording import in_backticks
from .outline_words import Span, WordOutline, refuse
from .records import CannotParse

__all__ = ["Outline", "read_outline"]

Outline: TypeAlias = "tuple[set[tuple[Span, ...]], set[Span], set[Span]]"

_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|in|time|coproc|\{|\}|!|\[\[)"
    r"(?=[ \t\n;&|()<>]|$)"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_DESCRIPTOR = re.compile(r"(?:\d+|\{[A-Za-z_]\w*(?:\[[^\]]*\])?\})\Z")
_OPERATOR = re.compile(r"<<<|<<-?|<&|<>|<(?!\()|>>|>&|>\||>(?!\()|&>>?")
_TIME_OPTION = re.compile(r"(-p|--)(?=[ \t\n;&|()<>]|$)")
_NAME = re.compile(r"[A-Za-z_]\w*(?=[ \t\n;]|$)")
_CASE_END = re.compile(r";;&|;;|;&")
_WORD_ENDS = frozenset("\n;&|()")
_COMPOUND = frozenset({"if", "for", "while", "until", "case", "select", "function", "{", "[["})
_DECLARES = frozenset({"declare", "typeset", "export", "readonly", "local"})
_JOINED = "\\\n"


class LineOutline(WordOutline):
    """The second reading of statements, one after the other."""

    def read(self) -> Outline:
        """Read the whole text. Return the words of its commands, its backticks, and the targets of redirections."""
        self.read_statements(frozenset())
        if self.at < len(self.text):
            refuse(f"{in_backticks(self.text[self.at : self.at + 20])} is not understood")
        if self.heredocs:
            refuse("a here-document without an end")
        return self.commands, self.backticks, self.targets

    def read_substitution(self, at: int) -> int:
        """Read the statements of a substitution that begins at *at*. Return the place behind its `)`."""
        before, self.heredocs, self.at = self.heredocs, [], at
        self.read_statements(frozenset(")"))
        self.expect(")")
        if self.heredocs:
            refuse("a here-document that does not end inside its substitution")
        self.heredocs = before
        return self.at

    def read_statements(self, stops: frozenset[str]) -> None:
        """Read statements up to one of *stops*. The caller reads the stop itself."""
        while True:
            self.skip_newlines()
            if self.at >= len(self.text) or self.find_stop(stops):
                return
            self.read_chain(stops)
            self.skip_blanks()
            sign = self.text[self.at : self.at + 1]
            if self.text.startswith((";;", ";&"), self.at):
                if ";;" not in stops:
                    refuse("`;;` outside of `case`")
                return
            if sign in (";", "&"):
                self.at += 1
            elif sign != "\n":
                return

    def find_stop(self, stops: frozenset[str]) -> str | None:
        sign = self.text[self.at : self.at + 1]
        if sign == ")":
            return ")" if ")" in stops else refuse("`)` is not understood here")
        if self.text.startswith((";;", ";&"), self.at):
            return ";;" if ";;" in stops else refuse("`;;` outside of `case`")
        word = self.find_reserved_word()
        return word if word in stops else None

    def find_reserved_word(self) -> str | None:
        """Return the reserved word that stands here, or None. Words are reserved only where a command may begin."""
        match = _RESERVED.match(self.text, self.at)
        return match.group() if match else None

    def expect(self, word: str) -> None:
        """Step over a sign or a reserved word that has to stand here."""
        self.skip_newlines()
        if not (self.text.startswith(word, self.at) if word in ")(" else self.find_reserved_word() == word):
            refuse(f"`{word}` is missing")
        self.at += len(word)

    def read_chain(self, stops: frozenset[str]) -> None:
        """Read commands joined by `|`, `|&`, `&&` and `||`."""
        piped = False
        while True:
            self.read_command(stops, piped=piped)
            self.skip_blanks()
            sign = self.text[self.at : self.at + 2]
            if sign in ("&&", "||", "|&"):
                self.at += 2
            elif sign[:1] == "|":
                self.at += 1
            else:
                return
            piped = sign not in ("&&", "||")
            self.skip_newlines()

    def read_command(self, stops: frozenset[str], *, piped: bool = False) -> None:
        self.skip_blanks()
        prefix: list[Span] = []
        word = self.find_reserved_word()
        if piped and word == "time":
            # Behind a pipe, `time` is not a reserved word but a program.
            word = None
        while word in ("!", "time", "coproc"):
            if prefix or piped:
                refuse(f"`{word}` is not understood here")
            begins, self.at = self.at, self.at + len(word)
            if word != "!":
                prefix.append((begins, self.at))
            self.skip_blanks()
            while word == "time" and (match := _TIME_OPTION.match(self.text, self.at)) and len(prefix) < 3:
                if match[1] == "-p" and len(prefix) > 1:
                    break
                prefix.append(match.span())
                self.at = match.end()
                self.skip_blanks()
                if match[1] == "--":
                    break
            word = self.find_reserved_word()
        if self.text.startswith("(", self.at):
            self.read_parenthesis()
        elif word in _COMPOUND:
            self.read_compound(word)
        elif word is not None:
            refuse(f"`{word}` is not understood here")
        else:
            self.read_simple_command(prefix)
            return
        if prefix:
            self.commands.add(tuple(prefix))
        self.read_redirections()

    def read_redirections(self) -> None:
        """Read the redirections of a whole compound command."""
        while True:
            self.skip_blanks()
            begins = self.at
            if not self.read_redirection():
                if self.text[begins : begins + 1] not in ("", *_WORD_ENDS) and self.find_reserved_word() is None:
                    end = self.skip_word()
                    if not (self.is_descriptor(begins, end) and self.read_redirection()):
                        refuse("words behind a compound command")
                    continue
                return

    def read_simple_command(self, prefix: list[Span]) -> None:
        """Read assignments, redirections and words, up to the sign that ends the command."""
        words: list[Span] = []
        assigns = redirects = 0
        declares = False
        while True:
            self.skip_blanks()
            if self.read_redirection():
                redirects += 1
                continue
            begins = self.at
            sign = self.text[begins : begins + 1]
            if not sign or sign in _WORD_ENDS:
                break
            end = self.skip_word(assigns=not words, arrays=declares or (not words and not redirects))
            if self.is_descriptor(begins, end):
                if not self.read_redirection():
                    refuse("a descriptor without a redirection")
                redirects += 1
                continue
            word = self.text[begins:end].replace(_JOINED, "")
            if not words and _ASSIGNMENT.match(word):
                assigns += 1
                continue
            if not words and _JOINED in self.text[begins:end] and _RESERVED.fullmatch(word):
                refuse("a reserved word over two lines")
            words.append((begins, end))
            declares = declares or (len(words) == 1 and word in _DECLARES)
        if sign == "(":
            if len(words) != 1 or assigns or redirects or prefix:
                refuse("`(` is not understood here")
            self.read_function(words[0])
            return
        is_coproc = bool(prefix) and self.text[slice(*prefix[0])] == "coproc"
        if is_coproc and len(words) > 1 and _RESERVED.match(self.text, words[1][0]):
            refuse("`coproc` is not understood here")
        if words and self.text[slice(*words[0])] == "[":
            words = [(words[0][0], words[-1][1])]
        if prefix or words:
            self.commands.add((*prefix, *words))
        elif not assigns and not redirects:
            refuse(f"{in_backticks(sign)} is not understood here")

    def is_descriptor(self, begins: int, end: int) -> bool:
        """Return whether a word is the number or the `{name}` that a redirection begins with."""
        if self.text[end : end + 1] not in ("<", ">"):
            return False
        return _DESCRIPTOR.match(self.text[begins:end].replace(_JOINED, "")) is not None

    def read_redirection(self) -> bool:
        """Read one redirection, beginning at its operator. Return whether there is one."""
        match = _OPERATOR.match(self.text, self.at)
        if match is None:
            return False
        operator, self.at = match.group(), match.end()
        if self.text.startswith(_JOINED, self.at) and self.text[self.at + 2 : self.at + 3] in (
            "<",
            ">",
            "&",
            "|",
            "-",
            "(",
        ):
            refuse(f"`{operator}` over two lines")
        self.skip_blanks()
        begins = self.at
        if operator in ("<&", ">&") and self.text.startswith("-", begins):
            self.at += 1
            return True
        if self.text[begins : begins + 1] in ("", *_WORD_ENDS):
            refuse("a redirection without a target")
        end = self.skip_word()
        if end == begins or self.is_descriptor(begins, end):
            refuse("a redirection without a target")
        if operator.startswith("<<") and operator != "<<<":
            self.heredocs.append((self.text[begins:end], operator == "<<-"))
        else:
            self.targets.add((begins, end))
        return True

    def read_function(self, name: Span | None) -> None:
        """Read `()` and the body of a function. *name* is None if no `()` follows the name behind `function`."""
        if name is not None:
            if not re.fullmatch(r"[\w.:-]+", self.text[slice(*name)]):
                refuse("the name of a function is not understood")
            self.expect("(")
            self.expect(")")
        self.skip_newlines()
        word = self.find_reserved_word()
        if self.text.startswith("(", self.at):
            self.read_parenthesis()
        elif word in _COMPOUND and word != "function":
            self.read_compound(word)
        else:
            refuse("the body of a function is not understood")
        self.read_redirections()

    def read_parenthesis(self) -> None:
        begins = self.at
        if self.text.startswith("((", begins):
            self.at = self.arithmetic_end(begins + 2)
            self.commands.add(((begins, self.at),))
        else:
            self.refuse_joined_parenthesis(begins + 1)
            self.at += 1
            self.read_statements(frozenset(")"))
            self.expect(")")

    def read_compound(self, word: str) -> None:
        begins, self.at = self.at, self.at + len(word)
        if word == "if":
            self.read_branches()
        elif word in ("while", "until"):
            self.read_statements(frozenset({"do"}))
            self.read_block("do", "done")
        elif word in ("for", "select"):
            self.read_loop()
        elif word == "case":
            self.read_case()
        elif word == "{":
            self.at = begins
            self.read_block("{", "}")
        elif word == "[[":
            self.at = self.condition_end(self.at)
            self.commands.add(((begins, self.at),))
        else:
            self.skip_blanks()
            start = self.at
            end = self.skip_word()
            self.skip_blanks()
            self.read_function((start, end) if self.text.startswith("(", self.at) else None)

    def read_block(self, opening: str, closing: str) -> None:
        self.expect(opening)
        self.read_statements(frozenset({closing}))
        self.expect(closing)

    def read_branches(self) -> None:
        """Read an `if` from behind its keyword."""
        self.read_statements(frozenset({"then"}))
        self.expect("then")
        while True:
            self.read_statements(frozenset({"elif", "else", "fi"}))
            word = self.find_reserved_word()
            if word == "elif":
                self.expect("elif")
                self.read_statements(frozenset({"then"}))
                self.expect("then")
            elif word == "else":
                self.read_block("else", "fi")
                return
            else:
                self.expect("fi")
                return

    def read_loop(self) -> None:
        """Read a `for` or a `select` from behind its keyword."""
        self.skip_blanks()
        if self.text.startswith("((", self.at):
            self.at = self.arithmetic_end(self.at + 2)
            self.skip_blanks()
            if self.text.startswith(";", self.at):
                self.at += 1
        else:
            match = _NAME.match(self.text, self.at)
            if match is None:
                refuse("the variable of a loop is not understood")
            self.at = match.end()
            self.skip_newlines()
            if self.find_reserved_word() == "in":
                self.at += 2
                self.read_loop_words()
            elif self.text.startswith(";", self.at):
                self.at += 1
        self.skip_newlines()
        if self.find_reserved_word() == "{":
            self.read_block("{", "}")
        else:
            self.read_block("do", "done")

    def read_loop_words(self) -> None:
        while True:
            self.skip_blanks()
            sign = self.text[self.at : self.at + 1]
            if sign in (";", "\n"):
                self.at += sign == ";"
                return
            begins = self.at
            if not sign or sign in _WORD_ENDS or self.skip_word() == begins:
                refuse("the words of a loop are not understood")

    def read_case(self) -> None:
        """Read a `case` from behind its keyword."""
        self.skip_blanks()
        begins = self.at
        if self.skip_word() == begins:
            refuse("`case` without a word")
        self.expect("in")
        while True:
            self.skip_newlines()
            if self.find_reserved_word() == "esac":
                self.expect("esac")
                return
            if self.text.startswith("(", self.at):
                self.at += 1
            self.read_case_patterns()
            self.read_statements(frozenset({";;", "esac"}))
            match = _CASE_END.match(self.text, self.at)
            if match:
                self.at = match.end()

    def read_case_patterns(self) -> None:
        while True:
            self.skip_blanks()
            begins = self.at
            if self.skip_word() == begins:
                refuse("a pattern of `case` is not understood")
            self.skip_blanks()
            sign = self.text[self.at : self.at + 1]
            if sign not in ("|", ")"):
                refuse("a pattern of `case` is not understood")
            self.at += 1
            if sign == ")":
                return


def read_outline(text: str) -> Outline:
    """Read *text*, with one character for each byte. Raise `CannotParse` if it is not understood."""
    try:
        return LineOutline(text).read()
    except IndexError:
        raise CannotParse("it ends in the middle") from None
