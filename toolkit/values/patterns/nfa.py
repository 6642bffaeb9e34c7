"""
Build the automaton of a pattern as a graph of states, before it runs.

A repeat is written out as many times as needed, so the graph may be larger than the pattern. `count_states` computes
beforehand how large it will be. Greedy and lazy repeats are the same here, because the search only asks whether there
is a match.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .charsets import Chars
from .syntax_tree import UNBOUNDED, Assertion, At, Either, Node, Repeat, Seq

__all__ = ["ACCEPT", "MAX_STATES", "Nfa", "build_nfa", "count_states", "find_irregular"]

MAX_STATES = 10_000

ACCEPT = 0


@dataclass(slots=True)
class Nfa:
    """
    The states of an automaton by number. `ACCEPT` is the first.

    Attributes:
        start: The state in which a match begins.
        chars: For a state that consumes a character, the set of characters and the next state.
        assertions: For a state that makes an assertion, the assertion and the next state.
        jumps: For a state that only stands for other states, those states.
    """

    start: int = ACCEPT
    chars: dict[int, tuple[Chars, int]] = field(default_factory=dict)
    assertions: dict[int, tuple[Assertion, int]] = field(default_factory=dict)
    jumps: dict[int, tuple[int, ...]] = field(default_factory=dict)
    count: int = 1

    def new_state(self) -> int:
        self.count += 1
        return self.count - 1


def find_irregular(node: Node) -> str:
    """Return the name of the first construct in *node* that no automaton can follow, or empty text."""
    match node:
        case Chars() | At():
            return ""
        case Seq(items) | Either(items):
            return next(filter(None, map(find_irregular, items)), "")
        case Repeat():
            return find_irregular(node.body)
        case _:
            return node.construct


def count_states(node: Node) -> int:
    """Return how many states a regular *node* needs at most."""
    match node:
        case Seq(items) | Either(items):
            return 1 + sum(map(count_states, items))
        case Repeat(low, high):
            return 2 + (count_states(node.body) + 1) * (low + 1 if high >= UNBOUNDED else high)
        case _:
            return 1


def build_nfa(node: Node) -> Nfa:
    """Build the graph of *node*, which must be regular and not too large."""
    nfa = Nfa()
    nfa.start = _prepend(nfa, node, ACCEPT)
    return nfa


def _prepend(nfa: Nfa, node: Node, after: int) -> int:
    """Add *node* in front of the state *after*, and return the state in which *node* begins."""
    match node:
        case Chars():
            state = nfa.new_state()
            nfa.chars[state] = (node, after)
        case At(place):
            state = nfa.new_state()
            nfa.assertions[state] = (place, after)
        case Seq(items):
            state = after
            for item in reversed(items):
                state = _prepend(nfa, item, state)
        case Either(items):
            state = nfa.new_state()
            nfa.jumps[state] = tuple(_prepend(nfa, item, after) for item in items)
        case Repeat():
            state = _add_repeat(nfa, node, after)
        case _:
            raise TypeError(f"no automaton follows {node.construct}")
    return state


def _add_repeat(nfa: Nfa, node: Repeat, after: int) -> int:
    if node.high >= UNBOUNDED:
        state = nfa.new_state()
        nfa.jumps[state] = (_prepend(nfa, node.body, state), after)
    else:
        state = after
        for _ in range(node.high - node.low):
            skip = nfa.new_state()
            nfa.jumps[skip] = (_prepend(nfa, node.body, state), after)
            state = skip
    for _ in range(node.low):
        state = _prepend(nfa, node.body, state)
    return state
