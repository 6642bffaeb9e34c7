"""
A summary of a catalog for a prompt: the names of its tools by group, within a budget of tokens.

Every group keeps its line as long as there is room for lines at all. The names are taken from the groups in turn, so a
large group does not push out the names of small groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..spec import Tool
from ..values.token_estimates import CHARS_PER_TOKEN_OF_NAMES
from .search.finder import SearchResult, clean_description, group_of

__all__ = ["describe_fitting_tools", "summarise_tools"]

_MAX_LINE_CHARS = 160
_ELLIPSIS_CHARS = len(", ... 999999 more")


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
    heads = {group: f"{group} ({len(names)}): " for group, names in groups.items()}
    shown_groups = list(_groups_that_fit(heads, room))
    room -= sum(len(heads[group]) + _ELLIPSIS_CHARS + 1 for group in shown_groups) + _ELLIPSIS_CHARS
    shown_names = _pick_names({group: groups[group] for group in shown_groups}, room)
    lines = [_format_line(heads[group], shown_names[group], len(groups[group])) for group in shown_groups]
    if len(shown_groups) < len(groups):
        lines.append(f"... {len(groups) - len(shown_groups)} more groups")
    return "\n".join(lines)


def describe_fitting_tools(matches: Iterable[SearchResult]) -> str:
    """Return a line for each of *matches*, which a search for the words of an unknown name found."""
    lines = [
        f"- `{match.tool.name}`: {clean_description(match.tool).strip().partition(chr(10))[0]}"[:_MAX_LINE_CHARS]
        for match in matches
    ]
    return "\n".join(["\nThese tools fit the words of the name:", *lines]) if lines else ""


def _groups_that_fit(heads: dict[str, str], room: int) -> Iterator[str]:
    room_left = room - _ELLIPSIS_CHARS
    for group, head in heads.items():
        room_left -= len(head) + _ELLIPSIS_CHARS + 1
        if room_left < 0:
            return
        yield group


def _pick_names(groups: dict[str, list[str]], room: int) -> dict[str, list[str]]:
    """Return as many names as there is room for, taking one name from each group in turn."""
    picked: dict[str, list[str]] = {group: [] for group in groups}
    for turn in range(max(map(len, groups.values()), default=0)):
        for group, names in groups.items():
            if turn < len(names):
                room -= len(names[turn]) + 2
                if room < 0:
                    return picked
                picked[group].append(names[turn])
    return picked


def _format_line(head: str, shown_names: list[str], count: int) -> str:
    hidden_count = count - len(shown_names)
    if not shown_names:
        return head.removesuffix(": ")
    return head + ", ".join(shown_names) + (f", ... {hidden_count} more" if hidden_count else "")
