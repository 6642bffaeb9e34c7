"""
A pattern as a graph of states: the automaton before it is run.

A repeat is written out as often as it must be, so the graph may be larger than
the pattern; how large is computed beforehand. Greedy and lazy make no
difference, because the question is only whether there is a match.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .charsets import Chars
from .syntax_tree import UNBOUNDED, Assertion, At, Either, Node, Repeat, Seq

__all__ = ["ACCEPT", "MOST_STATES", "Nfa", "build", "irregular", "size"]

MOST_STATES = 10_000

ACCEPT = 0


@dataclass(slots=True)
class Nfa:
    """
    States by number, `ACCEPT` being the first.

    Attributes:
        start: Where a match begins.
        chars: The set a state consumes a character of, and the state behind it.
        places: The assertion a state makes, and the state behind it.
        jumps: The states a state stands for.
    """

    start: int = ACCEPT
    chars: dict[int, tuple[Chars, int]] = field(default_factory=dict)
    places: dict[int, tuple[Assertion, int]] = field(default_factory=dict)
    jumps: dict[int, tuple[int, ...]] = field(default_factory=dict)
    count: int = 1

    def new(self) -> int:
        self.count += 1
        return self.count - 1


def irregular(node: Node) -> str:
    """The first thing in *node* that no automaton can follow, or nothing."""
    match node:
        case Chars() | At():
            return ""
        case Seq(items) | Either(items):
            return next(filter(None, map(irregular, items)), "")
        case Repeat():
            return irregular(node.body)
        case _:
            return node.what


def size(node: Node) -> int:
    """How many states a regular *node* takes, at most."""
    match node:
        case Seq(items) | Either(items):
            return 1 + sum(map(size, items))
        case Repeat(low, high):
            return 2 + (size(node.body) + 1) * (low + 1 if high >= UNBOUNDED else high)
        case _:
            return 1


def build(node: Node) -> Nfa:
    """The graph of *node*, which is regular and not too large."""
    nfa = Nfa()
    nfa.start = _before(nfa, node, ACCEPT)
    return nfa


def _before(nfa: Nfa, node: Node, after: int) -> int:
    """Add *node* in front of the state *after*, and return where it begins."""
    match node:
        case Chars():
            state = nfa.new()
            nfa.chars[state] = (node, after)
        case At(place):
            state = nfa.new()
            nfa.places[state] = (place, after)
        case Seq(items):
            state = after
            for item in reversed(items):
                state = _before(nfa, item, state)
        case Either(items):
            state = nfa.new()
            nfa.jumps[state] = tuple(_before(nfa, item, after) for item in items)
        case Repeat():
            state = _repeated(nfa, node, after)
        case _:
            raise TypeError(f"no automaton follows {node.what}")
    return state


def _repeated(nfa: Nfa, node: Repeat, after: int) -> int:
    if node.high >= UNBOUNDED:
        state = nfa.new()
        nfa.jumps[state] = (_before(nfa, node.body, state), after)
    else:
        state = after
        for _ in range(node.high - node.low):
            skip = nfa.new()
            nfa.jumps[skip] = (_before(nfa, node.body, state), after)
            state = skip
    for _ in range(node.low):
        state = _before(nfa, node.body, state)
    return state
