"""
Command lines by the thousand, in every form that bash knows, each with the name of the stand-in somewhere in it.

The forms are in `command_lines.txt`. The same seed gives the same lines. A line need not make sense, and need not even
be a command line: what matters is whether bash and the reader agree on what it starts.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["STAND_IN", "command_lines", "unescape"]

STAND_IN = "zap"

_FORMS = Path(__file__).with_suffix(".txt")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "\\": "\\"}
# In `${{{name}}}` the name is in braces of its own.
_PART = re.compile(r"\{\{([a-z_]+)\}\}")
_TOKEN = re.compile(r"\s+|[A-Za-z0-9_./-]+|'[^']*'|\"[^\"]*\"|[<>&|;]+|.", re.DOTALL)
# What is taken for a part that would nest too deep.
_FLAT = {
    "script": "leaf", "statement": "leaf", "simple": "leaf", "compound": "leaf", "wrapped": "leaf", "evaluated": "leaf",
    "documented": "leaf", "conditioned": "leaf", "written": "leaf", "edited": "leaf", "described": "leaf",
    "lifted": "leaf", "coded": "leaf",
    "word": "flat_word", "expansion": "plain", "value": "plain", "assignment": "flat_assignment",
    "redirection": "flat_redirection",
}  # fmt: skip
_DEEPER = frozenset({
    "compound", "wrapped", "evaluated", "expansion", "documented", "written", "conditioned", "described",
})  # fmt: skip


def command_lines(seed: int, real: Sequence[str] = ()) -> Iterator[str]:
    """
    Yield lines without an end.

    Args:
        seed: What decides on all of them.
        real: Lines as people write them, of which some are taken, changed and given the stand-in.
    """
    draw = random.Random(seed)  # noqa: S311 -- what is wanted is the same numbers again
    grammar = _Grammar(draw)
    while True:
        kind = draw.random()
        if real and kind < 0.15:
            line = _splice(draw, draw.choice(real), grammar)
        else:
            part = draw.choice(
                (*["script"] * 4, "documented", "conditioned", "written", "edited", "described", "lifted", "coded")
            )
            line = grammar.form(part, draw.choice((1, 1, 2, 2, 3)))
            if kind < 0.4:
                line = _mutate(draw, line, grammar)
        if STAND_IN not in line:
            line = grammar.form("place", 0).replace("{0}", line)
        elif draw.random() < 0.85:
            line = _with_one(draw, line)
        yield line


def unescape(text: str) -> str:
    r"""Return *text* with `\n`, `\\` and the like as the characters that they stand for."""
    return re.sub(r"\\([ntrfv\\])", lambda match: _ESCAPES[match[1]], text)


@functools.cache
def _forms() -> dict[str, list[list[str]]]:
    """Read the forms: under each name, and as often as they count, texts and names in turn."""
    forms: dict[str, list[list[str]]] = {}
    for line in _FORMS.read_text(encoding="utf-8").split("\n"):
        if match := re.fullmatch(r"\[([a-z_]+)\]", line):
            alternatives = forms.setdefault(match[1], [])
        elif line and not line.startswith("# "):
            for form in line.split("¦"):
                counted = re.fullmatch(r"(\d+)\*(.*)", form)
                times, text = (int(counted[1]), counted[2]) if counted else (1, form)
                alternatives += [_PART.split(unescape(text).replace("ZAP", STAND_IN))] * times
    return forms


class _Grammar:
    """The forms, and the source of chance that chooses among them."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    def form(self, name: str, depth: int) -> str:
        """Return a form of this name; *depth* bounds how deep it nests."""
        if depth <= 0:
            name = _FLAT.get(name, name)
        if name == "script":
            return self.script(depth)
        if name == "simple":
            return self.simple(depth)
        parts = self._draw.choice(_forms()[name])
        if len(parts) == 1:
            return parts[0]
        depth -= name in _DEEPER
        return "".join([self.form(part, depth) if at % 2 else part for at, part in enumerate(parts)])

    def script(self, depth: int) -> str:
        """Return statements and what separates them."""
        text = self._with_body(self.form("statement", depth))
        while self._draw.random() < 0.25:
            text += self.form("separator", 0) + self._with_body(self.form("statement", depth))
        return text + self.form("line_end", 0) if self._draw.random() < 0.08 else text

    def simple(self, depth: int) -> str:
        """Return assignments, redirections and words in any order, with a command of some kind."""
        chance = self._draw.random
        parts = []
        if chance() < 0.12:
            parts.append("prefix")
        while chance() < 0.4:
            parts.append("assignment" if chance() < 0.6 else "redirection")
        if chance() < 0.93:
            parts.append("name")
        while chance() < 0.5:
            kind = chance()
            parts.append("redirection" if kind < 0.25 else "assignment" if kind < 0.35 else "word")
        text = ""
        for part in parts:
            text += (self.form("blank", 0) if text else "") + self.form(part, depth)
        return text

    def _with_body(self, text: str) -> str:
        """Give the text of a here-document to the one that the last line begins."""
        if "<<" not in text or not re.search(r"<<-?\s*['\"\\]?E['\"]?O", text.rpartition("\n")[2]):
            return text
        lines = [self.form(part, 0) for part in ("heredoc_line", "heredoc_end")]
        return "\n".join([text, *lines]) + self.form("behind_heredoc", 0)


def _with_one(draw: random.Random, line: str) -> str:
    """Leave one stand-in in the line: two would hide each other, as one that is seen stops the line."""
    pieces = line.split(STAND_IN)
    at = draw.randrange(1, len(pieces))
    return "pwd".join(pieces[:at]) + STAND_IN + "pwd".join(pieces[at:])


def _splice(draw: random.Random, line: str, grammar: _Grammar) -> str:
    """Put the stand-in, or something odd, between or in place of the tokens of a real line."""
    tokens = _TOKEN.findall(line)
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(tokens) + 1)
        part = draw.choice(("name", "simple", "odd", "redirection", "word", "keyword", "assignment"))
        text = grammar.form(part, 1)
        tokens[at : at + draw.choice((0, 0, 1))] = [f" {text} " if draw.random() < 0.5 else text]
    return "".join(tokens)


def _mutate(draw: random.Random, line: str, grammar: _Grammar) -> str:
    """Delete, double, swap or insert a token or two."""
    tokens = _TOKEN.findall(line)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if not tokens:
            break
        at = draw.randrange(len(tokens))
        match draw.randrange(6):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                other = draw.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens.insert(at, grammar.form("odd", 0))
            case 4:
                tokens.insert(at, f" {grammar.form('keyword', 0)} ")
            case _:
                cut = draw.randrange(len(tokens[at]) + 1)
                tokens[at] = tokens[at][:cut] + grammar.form("odd", 0) + tokens[at][cut:]
    return "".join(tokens)
