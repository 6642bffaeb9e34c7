"""
The engine that never goes back: one pass over the text, whatever the pattern.

It follows all states of the automaton at once. Each set of states it meets is
kept with where every character leads from it, so a familiar text costs one
dictionary lookup a character. It runs in Python, where other threads get their
turn. What it keeps is bounded, and so is what it may spend on unfamiliar text.
"""

from __future__ import annotations

import re
from itertools import chain

from .charsets import Chars
from .nfa import ACCEPT, build
from .syntax_tree import Assertion, Node, anchors

__all__ = ["MOST_KEPT", "MOST_WORK", "Exhausted", "Linear"]

# About a hundred bytes each.
MOST_KEPT = 100_000
# A second or two; only unfamiliar text counts.
MOST_WORK = 5_000_000

# What learning takes beside the states, in the time of a state.
OVERHEAD = 4

# The symbols that are not characters: `$` has to know that a line break is the last one.
LAST_NEWLINE = "\n$"
END = ""

# What is known about the symbol before or behind a place, as bits.
EDGE, NEWLINE, FINAL, WORD, ASCII_WORD = 1, 2, 4, 8, 16

# Before Python 3.14 the empty text has no place that is not a word boundary.
EMPTY_HAS_NON_BOUNDARY = bool(re.search(r"\B", ""))

_MATTERS: dict[Assertion, int] = {
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


class Exhausted(Exception):  # noqa: N818 -- named by what happened, as all our errors are
    """The text was too unfamiliar for too long."""


class _State(dict[str, "_State"]):
    """A set of automaton states before a place, and where each symbol leads from it."""

    __slots__ = ("before", "kernel", "moves")

    def __init__(self, kernel: frozenset[int], before: int) -> None:
        self.kernel = kernel
        self.before = before
        # By what is known about the next symbol: what can be consumed, or None if there is a match already.
        self.moves: dict[int, list[tuple[_Members, int]] | None] = {}


FOUND = _State(frozenset(), 0)
LOST = _State(frozenset(), 0)


class _Members(dict[str, bool]):
    """Which characters belong to a set: `re` is asked once for each."""

    __slots__ = ("_match",)

    def __init__(self, chars: Chars) -> None:
        self._match = re.compile(chars.source, chars.flags).match

    def __missing__(self, character: str) -> bool:
        self[character] = belongs = self._match(character) is not None
        return belongs


class Linear:
    """An automaton that grows as it reads; threads may share it."""

    def __init__(self, node: Node, *, most_kept: int = MOST_KEPT, most_work: int = MOST_WORK) -> None:
        self._nfa = build(node)
        self._most_kept = most_kept
        self._most_work = most_work
        # Only what some assertion asks about tells two places apart.
        self._matters = 0
        for place, _ in self._nfa.places.values():
            self._matters |= _MATTERS[place]
        self._restart = frozenset[int]() if anchors(node) else frozenset({self._nfa.start})
        self._members = {chars: _Members(chars) for chars, _ in self._nfa.chars.values()}
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._kept = 0

    def search(self, text: str) -> bool:
        """
        Whether the pattern occurs in *text*.

        Raises:
            Exhausted: More than *most_work* was spent on what was not met before.
        """
        state = self._state(frozenset({self._nfa.start}), EDGE & self._matters)
        symbols = chain(text[:-1], (LAST_NEWLINE, END)) if text.endswith("\n") else chain(text, (END,))
        work = 0
        for symbol in symbols:
            try:
                state = state[symbol]
            except KeyError:
                # These two lead nowhere, so that reaching one of them ends the loop without a test in it.
                if state is FOUND or state is LOST:
                    break
                if work > self._most_work:
                    raise Exhausted from None
                state, spent = self._learn(state, symbol)
                work += spent
        return state is FOUND

    def _learn(self, state: _State, symbol: str) -> tuple[_State, int]:
        """Where *symbol* leads from *state*, and the work of finding out."""
        known = self._known(symbol) & self._matters
        try:
            moves, spent = state.moves[known], 0
        except KeyError:
            moves, spent = self._moves(state, known)
            state.moves[known] = moves
        spent += OVERHEAD
        if moves is None:
            following = FOUND
        elif symbol == END:
            following = LOST
        else:
            character = symbol[0]
            spent += len(moves)
            kernel = self._restart.union([target for members, target in moves if members[character]])
            following = self._state(kernel, known) if kernel else LOST
        self._kept += spent
        if self._kept > self._most_kept:
            self._forget()
        state[symbol] = following
        return following, spent

    def _moves(self, state: _State, known: int) -> tuple[list[tuple[_Members, int]] | None, int]:
        """What can be consumed at a place with *state* before it and a symbol *known* behind it."""
        nfa = self._nfa
        seen = set(state.kernel)
        pending = list(seen)
        moves = []
        while pending:
            number = pending.pop()
            if number == ACCEPT:
                return None, len(seen)
            if number in nfa.chars:
                chars, target = nfa.chars[number]
                moves.append((self._members[chars], target))
                continue
            if number in nfa.jumps:
                targets = nfa.jumps[number]
            else:
                place, target = nfa.places[number]
                targets = (target,) if _holds(place, state.before, known) else ()
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return moves, len(seen)

    def _state(self, kernel: frozenset[int], before: int) -> _State:
        key = (kernel, before)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(kernel, before)
            self._kept += len(kernel)
        return state

    @staticmethod
    def _known(symbol: str) -> int:
        if symbol == END:
            return EDGE
        if symbol == LAST_NEWLINE:
            return NEWLINE | FINAL
        if symbol == "\n":
            return NEWLINE
        if symbol.isalnum() or symbol == "_":
            return WORD | ASCII_WORD if symbol.isascii() else WORD
        return 0

    def _forget(self) -> None:
        # Emptied one by one, so that no circle of states keeps itself alive; a thread
        # that stands in one of them finds nothing there and learns it again.
        for state in list(self._states.values()):
            state.clear()
            state.moves.clear()
        for members in self._members.values():
            members.clear()
        self._states.clear()
        self._kept = 0


def _holds(place: Assertion, before: int, behind: int) -> bool:
    match place:
        case "start":
            return bool(before & EDGE)
        case "line start":
            return bool(before & (EDGE | NEWLINE))
        case "end":
            return bool(behind & (EDGE | FINAL))
        case "line end":
            return bool(behind & (EDGE | NEWLINE))
        case "very end":
            return bool(behind & EDGE)
        case "\\b" | "ascii \\b":
            return bool((before ^ behind) & (WORD if place == "\\b" else ASCII_WORD))
        case _:
            if before & behind & EDGE:
                return EMPTY_HAS_NON_BOUNDARY
            return not (before ^ behind) & (WORD if place == "\\B" else ASCII_WORD)
