"""
Estimate what `re` could cost: an upper bound of its backtracking for any text of a given length.

Two numbers are computed for every part of a pattern. The *ways* of a part are how often the search can go on after the
part for one entry into it. The *cost* of a part is the number of steps inside it for all these ways. In a sequence,
ways multiply. In a repeat, they are raised to the number of rounds, which is where patterns explode. A way is not
counted if the next character rules it out at once: `[a-z]+` before `-` has only one way. Then only the price of finding
that out is added. The bound may be too high, but never too low.
"""

from __future__ import annotations

import bisect
import functools
import math
import operator

from .charsets import ALL, END, NEWLINE, Chars
from .syntax_tree import At, Atomic, Backref, Either, Look, Node, Opaque, Repeat, Seq, count_anchors, min_width

__all__ = ["MAX_STEPS", "estimate_steps", "longest_affordable"]

# `re` makes 20 to 500 million steps a second, so this takes a tenth of a second at most.
MAX_STEPS = 2_000_000
# The lengths are powers of the square root of two, so that six estimates find the right one.
LENGTHS = [0, *sorted({math.isqrt(1 << power) for power in range(53)})]
# The ceiling is larger than any affordable cost, and its square is still a float.
CEILING = 1e18

# Describes what comes after a part: the characters with which the search goes on, and the price of finding out that it
# does not.
Next = tuple[int, float]
# Reaching the end of a pattern ends the search, so nothing comes after it.
ACCEPTED: Next = (0, 1)


def longest_affordable(node: Node, groups: int) -> int:
    """
    Return the length of the longest text in which `re` may search for *node*.

    The pattern has *groups* capturing groups. The result is -1 if even the empty text is too expensive.
    """
    affordable = bisect.bisect_left(LENGTHS, True, key=lambda length: estimate_steps(node, length, groups) > MAX_STEPS)
    return LENGTHS[affordable - 1] if affordable else -1


def estimate_steps(node: Node, length: int, groups: int = 0) -> float:
    """Return an upper bound of the steps that `re.search` makes for *node* in a text of *length* characters."""
    estimate = _Estimate(length, groups)
    once = estimate.measure(node, ACCEPTED)[1]
    if count := count_anchors(node):
        # `re` tries the other places too, and the anchors fail there.
        return min(once + (length + 1) * (count + 1), CEILING)
    # A place costs steps only when it fails, and a repeat at the very end can fail only in the rounds that it must
    # make.
    return min(once + (length + 1) * (estimate.measure(_trim_last_repeat(node), ACCEPTED)[1] + 1), CEILING)


class _Estimate:
    def __init__(self, length: int, groups: int) -> None:
        self.length = length
        # Before each round and each branch, `re` saves all captures, which takes time and memory.
        self.save_cost = 1 + groups
        # Each level needs the cost of a lookaround twice, once in `measure` and once in `peek`.
        self.look_costs: dict[int, float] = {}

    def measure(self, node: Node, after: Next) -> tuple[float, float]:
        """Return the ways and the cost of *node*."""
        match node:
            case Chars():
                return 1, node.price + after[1]
            case At():
                return 1, 1 + after[1]
            case Seq(items):
                return self.measure_sequence(items, after)
            case Either(items) | Opaque(items):
                return self.measure_either(items, after)
            case Repeat():
                return self.measure_repeat(node, after)
            case Look():
                return 1, self.measure_look(node) + after[1]
            case Atomic(body):
                return 1, self.measure(body, ACCEPTED)[1] + after[1]
            case Backref():
                return 1, self.length + after[1]
            case _:
                return CEILING, CEILING

    def measure_sequence(self, items: tuple[Node, ...], after: Next) -> tuple[float, float]:
        nexts = [after]
        for item in reversed(items[1:]):
            nexts.append(self.peek(item, nexts[-1]))
        ways, cost = 1.0, after[1]
        for item, following in zip(items, reversed(nexts), strict=False):
            item_ways, item_cost = self.measure(item, following)
            cost = min(cost + ways * item_cost, CEILING)
            ways = min(ways * item_ways, CEILING)
        return 1 if _ends_once(items, after[0]) else ways, cost

    def measure_either(self, items: tuple[Node, ...], after: Next) -> tuple[float, float]:
        measured = [self.measure(item, after) for item in items]
        earlier_masks, are_disjoint = 0, True
        for item in items:
            mask = self.peek(item, after)[0]
            are_disjoint = are_disjoint and not earlier_masks & mask
            earlier_masks |= mask
        item_ways = [ways for ways, _ in measured]
        # If no character can start two of the items, at most one item goes on.
        ways = max(item_ways, default=1) if are_disjoint else sum(item_ways)
        return min(ways, CEILING), min(1 + sum(self.save_cost + cost for _, cost in measured), CEILING)

    def measure_repeat(self, node: Repeat, after: Next) -> tuple[float, float]:
        low, body = node.low, node.body
        # A round that consumes nothing is the last one, except among the *low* rounds that are required.
        rounds = min(node.high, self.length // node.width if node.width else low + self.length + 1)
        round_counts = max(rounds - low + 1, 1)
        body_next = self.peek(body, after)
        is_disjoint = not body_next[0] & after[0]
        if isinstance(body, Chars):
            # `re` counts how often the character comes and then goes back step by step, without a stack.
            return 1 if is_disjoint else round_counts, 1 + rounds * body.price + round_counts * after[1]
        either = (body_next[0] | after[0], body_next[1] + after[1] + 1)
        ways, cost = self.measure(body, after if node.high == 1 else either)
        cost += after[1] + self.save_cost
        if not node.width:
            ways = max(ways, 2)
        if ways > 1:
            return _sum_powers(ways, rounds), min(_sum_powers(ways, rounds) * cost, CEILING)
        return 1 if is_disjoint else round_counts, min((rounds + 1) * cost, CEILING)

    def measure_look(self, node: Look) -> float:
        cost = self.look_costs.get(id(node))
        if cost is None:
            cost = self.look_costs[id(node)] = self.measure(node.body, ACCEPTED)[1] + 1
        return cost

    def peek(self, node: Node, after: Next) -> Next:
        """Return the next characters with which the search can enter *node*, and the price of ruling out the others."""
        match node:
            case Chars():
                return node.mask, node.price
            case At("end" | "line end" | "very end"):
                return after[0] & (END | NEWLINE), after[1] + 1
            case At():
                return after[0], after[1] + 1
            case Seq(items):
                for item in reversed(items):
                    after = self.peek(item, after)
                return after
            case Either(items) | Opaque(items):
                entries = [self.peek(item, after) for item in items]
                mask = functools.reduce(operator.or_, [mask for mask, _ in entries], 0)
                return mask, 1 + sum(self.save_cost + price for _, price in entries)
            case Repeat(low, _, body, width) if width:
                mask, price = self.peek(body, after)
                return (mask, price + self.save_cost) if low else (mask | after[0], price + after[1] + self.save_cost)
            case Look():
                return after[0], self.measure_look(node) + after[1]
            case Atomic(body) if min_width(body):
                return self.peek(body, after)
            case _:
                # No character is ruled out, so the price is never paid.
                return ALL, 1


def _ends_once(items: tuple[Node, ...], following: int) -> bool:
    """
    Return whether at most one way through *items* ends before a character of *following*.

    This is so if only one item varies, as in `[a-z-]{0,61}[a-z]`, and no item consumes a character of *following*. A
    longer way would have to pass over such a character.
    """
    varying = 0
    for item in items:
        chars = item.body if isinstance(item, Repeat) else item
        if not isinstance(chars, Chars) or chars.mask & following:
            return False
        varying += isinstance(item, Repeat) and item.low != item.high
    return varying <= 1


def _sum_powers(base: float, last: int) -> float:
    """Return the sum of the powers of *base* from 0 to *last*."""
    if last * math.log2(base) > 60:
        return CEILING
    return sum(base**exponent for exponent in range(last + 1))


def _trim_last_repeat(node: Node) -> Node:
    """Return *node* with its final repeat cut to the rounds that are required."""
    match node:
        case Seq(items) if items:
            return Seq((*items[:-1], _trim_last_repeat(items[-1])))
        case Either(items):
            return Either(tuple(map(_trim_last_repeat, items)))
        case Repeat(low):
            return node._replace(high=low)
        case _:
            return node
