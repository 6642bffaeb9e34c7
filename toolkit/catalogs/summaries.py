"""
A summary of a catalog for a prompt: the names of its tools by group, within a budget of tokens.

The largest groups come first, each with the three names that say most about it. The room that is left is filled with
further names, from the groups in turn, so a large group does not push out the names of small groups.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from ..spec import Tool
from ..values.text_limits import CHARS_PER_TOKEN_OF_NAMES
from .search.finder import SearchResult, clean_description, group_of

__all__ = ["describe_fitting_tools", "summarise_tools"]

_MAX_LINE_CHARS = 160
_BEST_NAMES = 3
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def summarise_tools(tools: Iterable[Tool], max_tokens: int) -> str:
    """
    Return the names of *tools* by group, in at most *max_tokens* (estimated).

    A line looks like this: "files (3): read, write, edit".

    Raises:
        ValueError: *max_tokens* is less than 20.
    """
    if max_tokens < 20:
        raise ValueError(f"max_tokens has to be at least 20, got {max_tokens}")
    groups: dict[str, list[str]] = {}
    for tool in tools:
        groups.setdefault(group_of(tool), []).append(tool.name)
    room = int(max_tokens * CHARS_PER_TOKEN_OF_NAMES)
    lines: list[_GroupLine] = []
    footer = _describe_groups(len(groups))
    for group, names in sorted(groups.items(), key=lambda item: len(item[1]), reverse=True):
        line = _GroupLine(group, names)
        next_footer = _describe_groups(len(groups) - len(lines) - 1)
        if line.size + len(next_footer) > room:
            break
        lines.append(line)
        footer = next_footer
        room -= line.size
        for _ in range(_BEST_NAMES):
            room -= line.add_name(room - len(footer))
    room -= len(footer)
    growing_lines = lines
    while growing_lines:
        for line in growing_lines:
            room -= line.add_name(room)
        growing_lines = [line for line in growing_lines if line.has_more]
    return ("".join(map(str, lines)).removesuffix("\n") + footer).removeprefix("\n")


def describe_fitting_tools(matches: Iterable[SearchResult]) -> str:
    """Return a line for each of *matches*, which a search for the words of an unknown name found."""
    lines = [
        f"- `{match.tool.name}`: {clean_description(match.tool).strip().partition(chr(10))[0]}"[:_MAX_LINE_CHARS]
        for match in matches
    ]
    return "\n".join(["\nThese tools fit the words of the name:", *lines]) if lines else ""


def _describe_groups(count: int) -> str:
    return f"\n... {count} more groups" if count else ""


class _GroupLine:
    """The line of one group, with its line break. `size` is its length."""

    def __init__(self, group: str, names: Sequence[str]) -> None:
        self._head = f"{group} ({len(names)})"
        self._names = names
        best = _choose_best(names)
        self._waiting = deque([*best, *(number for number in range(len(names)) if number not in best)])
        self._shown: list[int] = []
        self._shown_chars = 0
        self.size = len(self._head) + 1

    @property
    def has_more(self) -> bool:
        return bool(self._waiting)

    def add_name(self, room: int) -> int:
        """Show one more name that takes at most *room* characters, and return how many it takes; 0 if there is none."""
        while self._waiting:
            number = self._waiting.popleft()
            chars = self._shown_chars + len(self._names[number]) + 2
            size = len(self._head) + chars + len(self._describe_rest(len(self._shown) + 1)) + 1
            growth = size - self.size
            if growth <= room:
                self._shown.append(number)
                self._shown_chars, self.size = chars, size
                return growth
        return 0

    def _describe_rest(self, shown_count: int) -> str:
        hidden_count = len(self._names) - shown_count
        return f", ... {hidden_count} more" if hidden_count else ""

    def __str__(self) -> str:
        if not self._shown:
            return f"{self._head}\n"
        names = ", ".join(self._names[number] for number in sorted(self._shown))
        return f"{self._head}: {names}{self._describe_rest(len(self._shown))}\n"


def _choose_best(names: Sequence[str]) -> list[int]:
    """Return the numbers of the names that say most: their words are in many of *names*, and each has other words."""
    words = [{word.lower() for word in _WORD.findall(name)} for name in names]
    weights = Counter(word for own_words in words for word in own_words)
    best: list[int] = []
    for _ in range(min(_BEST_NAMES, len(names))):
        others = (number for number in range(len(names)) if number not in best)
        number = max(others, key=lambda other: sum(weights[word] for word in words[other]))
        best.append(number)
        weights.update({word: -weights[word] for word in words[number]})
    return best
