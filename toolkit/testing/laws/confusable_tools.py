"""Find tools that a model or a reader could mistake for one another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ...spec import Tool
from .violations import Fault

__all__ = ["CATALOG_LAWS", "CatalogLaw", "skeleton", "words_of"]

_STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "given", "has", "have", "in", "into", "is", "it",
    "its", "of", "on", "or", "that", "the", "their", "this", "to", "with", "you", "your",
})  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_MIN_SHARED_RATIO = 0.9
_MAX_TOOLS = 2000


def descriptions_differ(tools: Sequence[Tool]) -> Iterator[tuple[Tool, Fault]]:
    """
    Yield a fault for each tool with nearly the same description as an earlier one.

    A model chooses by the description. Of several earlier tools the first is named, so that many tools with one
    description are as many faults, and not one for each pair of them.
    """
    first_tools: dict[frozenset[str], Tool] = {}
    for tool in tools[:_MAX_TOOLS]:
        words = words_of(tool.description)
        if not words:
            continue
        first = first_tools.get(words) or _find_similar(words, first_tools)
        first_tools.setdefault(words, tool)
        if first is not None:
            message = f"its description says what that of `{first.name}` says: {tool.description.splitlines()[0]!r}"
            remedy = "say in both what the one does that the other does not, and when to take which"
            yield tool, Fault("told-apart", message, remedy, f"beside `{first.name}`")


def _find_similar(words: frozenset[str], tools: Mapping[frozenset[str], Tool]) -> Tool | None:
    """Return the first of *tools* whose description has nearly the same *words*; None if there is none."""
    for other_words, tool in tools.items():
        if len(words & other_words) >= _MIN_SHARED_RATIO * len(words | other_words):
            return tool
    return None


def names_differ_on_the_wire(tools: Sequence[Tool]) -> Iterator[tuple[Tool, Fault]]:
    """Yield a fault for two tools that would be sent under the same name to a provider that forbids dots."""
    tool_names: dict[str, str] = {}
    for tool in tools:
        first = tool_names.setdefault(tool.name.replace(".", "--"), tool.name)
        if first != tool.name:
            message = f"most providers take no dots in names, so it and `{first}` would be sent under one name"
            yield tool, Fault("legal-name", message, "rename one of them", f"beside `{first}`")


CatalogLaw: TypeAlias = Callable[[Sequence[Tool]], Iterator[tuple[Tool, Fault]]]
CATALOG_LAWS: tuple[CatalogLaw, ...] = (descriptions_differ, names_differ_on_the_wire)


def words_of(text: str) -> frozenset[str]:
    """Return the words of *text* in lower case, without stop words and without plural endings."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return frozenset(_stem(word) for word in words - _STOP_WORDS)


def _stem(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes")) else word[:-1]


_LOOKALIKES = str.maketrans({"1": "l", "i": "l", "0": "o", "5": "s", "2": "z", "8": "b"})


def skeleton(name: str) -> str:
    """Return a key that is equal for names that look alike to a reader, such as `list_items` and `1ist-ltems`."""
    bare = re.sub(r"[_.\-]", "", name).lower().translate(_LOOKALIKES)
    return bare.replace("rn", "m").replace("vv", "w")
