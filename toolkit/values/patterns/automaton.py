"""
Search with an automaton that never goes back: it makes one pass over the text, for any pattern.

The automaton is first built as a graph of states. A repeat is written out as many times as needed, so the graph may be
larger than the pattern, and `count_states` computes beforehand how large it will be. Greedy and lazy repeats are the
same here, because the search only asks whether there is a match.

The automaton follows all its states at once. It keeps each set of states that it meets, and where each character leads
from that set. So a familiar text costs one dictionary lookup for each character. The code runs in Python, so other
threads get their turn. The memory that it keeps is limited, and so is the work that it may spend on unfamiliar text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain

from .charsets import Chars
from .syntax_tree import UNBOUNDED, Assertion, At, Either, Node, Repeat, Seq, count_anchors

__all__ = ["MAX_STATES", "LazyDfa", "SearchExhausted", "build_nfa", "count_states", "find_irregular"]

# The limit of states that a pattern may need, all repeats written out.
MAX_STATES = 10_000
# The limit of units that are kept. One unit takes about a hundred bytes.
MAX_KEPT_UNITS = 100_000
# The limit of work for one search, which is a second or two. Only unfamiliar text counts.
MAX_WORK = 5_000_000

# The fixed work of learning one step. The unit is the work for one state.
OVERHEAD = 4

# The symbols that are not characters. `$` must know whether a line break is the last character.
LAST_NEWLINE = "\n$"
END = ""

# Bits that describe the symbol before or after a place.
EDGE, NEWLINE, FINAL, WORD, ASCII_WORD = 1, 2, 4, 8, 16

# Before Python 3.14, `\B` does not match in the empty text.
EMPTY_HAS_NON_BOUNDARY = bool(re.search(r"\B", ""))

_RELEVANT_FACTS: dict[Assertion, int] = {
    "start": EDGE,
    "line start": EDGE | NEWLINE,
    "end": EDGE | FINAL,
    "line end": EDGE | NEWLINE,
    "very end": EDGE,
    "\\b": EDGE | WORD,
    "\\B": EDGE | WORD,
    "ascii \\b": EDGE | ASCII_WORD,
    "ascii \\B": EDGE | ASCII_WORD,
}


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


class SearchExhausted(Exception):  # noqa: N818 -- named after what happened, like all our errors
    """A search spent too much work on unfamiliar text."""


class _State(dict[str, "_State"]):
    """A set of automaton states before a place, with the next state for each symbol."""

    __slots__ = ("before", "kernel", "moves")

    def __init__(self, kernel: frozenset[int], before: int) -> None:
        self.kernel = kernel
        self.before = before
        # The key describes the next symbol. The value lists the character sets that can be consumed, or is None if
        # there is already a match.
        self.moves: dict[int, list[tuple[_Members, int]] | None] = {}


MATCHED = _State(frozenset(), 0)
DEAD = _State(frozenset(), 0)


class _Members(dict[str, bool]):
    """The characters that belong to a set. `re` is asked once for each character."""

    __slots__ = ("_match",)

    def __init__(self, chars: Chars) -> None:
        self._match = re.compile(chars.source, chars.flags).match

    def __missing__(self, character: str) -> bool:
        self[character] = belongs = self._match(character) is not None
        return belongs


class LazyDfa:
    """An automaton that grows while it reads. Threads may share it."""

    def __init__(self, node: Node, *, max_kept_units: int = MAX_KEPT_UNITS, max_work: int = MAX_WORK) -> None:
        self._nfa = build_nfa(node)
        self._max_kept_units = max_kept_units
        self._max_work = max_work
        # Two places differ only in the facts that some assertion checks.
        self._relevant_facts = 0
        for place, _ in self._nfa.assertions.values():
            self._relevant_facts |= _RELEVANT_FACTS[place]
        self._restart = frozenset[int]() if count_anchors(node) else frozenset({self._nfa.start})
        self._members = {chars: _Members(chars) for chars, _ in self._nfa.chars.values()}
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._kept_units = 0

    def search(self, text: str) -> bool:
        """
        Return whether the pattern occurs in *text*.

        Raises:
            SearchExhausted: The search spent more than `max_work` on symbols and states that it had not met before.
        """
        state = self._get_state(frozenset({self._nfa.start}), EDGE & self._relevant_facts)
        symbols = chain(text[:-1], (LAST_NEWLINE, END)) if text.endswith("\n") else chain(text, (END,))
        work = 0
        for symbol in symbols:
            try:
                state = state[symbol]
            except KeyError:
                # These two states have no next states. So the loop ends when it reaches one of them, without a test in
                # each step.
                if state is MATCHED or state is DEAD:
                    break
                if work > self._max_work:
                    raise SearchExhausted from None
                state, spent = self._learn(state, symbol)
                work += spent
        return state is MATCHED

    def _learn(self, state: _State, symbol: str) -> tuple[_State, int]:
        """Return the state to which *symbol* leads from *state*, and the work that it took to find it."""
        facts = self._describe_symbol(symbol) & self._relevant_facts
        try:
            moves, spent = state.moves[facts], 0
        except KeyError:
            moves, spent = self._compute_moves(state, facts)
            state.moves[facts] = moves
        spent += OVERHEAD
        if moves is None:
            following = MATCHED
        elif symbol == END:
            following = DEAD
        else:
            character = symbol[0]
            spent += len(moves)
            kernel = self._restart.union([target for members, target in moves if members[character]])
            following = self._get_state(kernel, facts) if kernel else DEAD
        self._kept_units += spent
        if self._kept_units > self._max_kept_units:
            self._clear_cache()
        state[symbol] = following
        return following, spent

    def _compute_moves(self, state: _State, facts: int) -> tuple[list[tuple[_Members, int]] | None, int]:
        """
        Return the possible moves at a place, or None if there is already a match; also return the work.

        *state* comes before the place, and *facts* describes the symbol after it.
        """
        nfa = self._nfa
        reached = set(state.kernel)
        pending = list(reached)
        moves = []
        while pending:
            number = pending.pop()
            if number == ACCEPT:
                return None, len(reached)
            if number in nfa.chars:
                chars, target = nfa.chars[number]
                moves.append((self._members[chars], target))
                continue
            if number in nfa.jumps:
                targets = nfa.jumps[number]
            else:
                place, target = nfa.assertions[number]
                targets = (target,) if _holds(place, state.before, facts) else ()
            for target in targets:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return moves, len(reached)

    def _get_state(self, kernel: frozenset[int], before: int) -> _State:
        key = (kernel, before)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(kernel, before)
            self._kept_units += len(kernel)
        return state

    @staticmethod
    def _describe_symbol(symbol: str) -> int:
        if symbol == END:
            return EDGE
        if symbol == LAST_NEWLINE:
            return NEWLINE | FINAL
        if symbol == "\n":
            return NEWLINE
        if symbol.isalnum() or symbol == "_":
            return WORD | ASCII_WORD if symbol.isascii() else WORD
        return 0

    def _clear_cache(self) -> None:
        # Each state is emptied, so that no cycle of states keeps itself alive. A thread that is in one of these states
        # finds it empty and learns its moves again.
        for state in list(self._states.values()):
            state.clear()
            state.moves.clear()
        for members in self._members.values():
            members.clear()
        self._states.clear()
        self._kept_units = 0


def _holds(place: Assertion, before: int, after: int) -> bool:
    match place:
        case "start":
            return bool(before & EDGE)
        case "line start":
            return bool(before & (EDGE | NEWLINE))
        case "end":
            return bool(after & (EDGE | FINAL))
        case "line end":
            return bool(after & (EDGE | NEWLINE))
        case "very end":
            return bool(after & EDGE)
        case "\\b" | "ascii \\b":
            return bool((before ^ after) & (WORD if place == "\\b" else ASCII_WORD))
        case _:
            if before & after & EDGE:
                return EMPTY_HAS_NON_BOUNDARY
            return not (before ^ after) & (WORD if place == "\\B" else ASCII_WORD)
