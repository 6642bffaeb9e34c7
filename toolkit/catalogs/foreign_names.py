"""
The names that a tool from outside the program may have.

A tool that the program did not write (its `origin` is not "python") must not be mistaken for something else: for one of
the provider's own tools, or for another tool of the catalog. The program's own tools may have any legal name, because
their author sees all of them.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import CatalogError, DefinitionError, DuplicateTool
from ..facts import check_name
from ..spec import Tool
from .snapshot import Table, describe_place, is_foreign

__all__ = ["check_foreign_names", "fold_name", "leave_out_misleading", "make_legal_name", "reason_against"]

_log = logging.getLogger("toolkit")

_MAX_CHARS = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_HASH_CHARS = 6

RESERVED_NAMESPACES = frozenset({"functions", "multi_tool_use", "browser"})
"""
The namespaces that OpenAI's models use. They address every tool as `functions.NAME`, and their own tools in the other
namespaces.
"""

_ANTHROPIC_NAMES = """
code_execution computer str_replace_based_edit_tool str_replace_editor tool_search_tool_bm25 tool_search_tool_regex
web_fetch web_search
"""
_OPENAI_NAMES = """
apply_patch code_interpreter computer_use_preview file_search image_generation local_shell python web_search_preview
"""
_GEMINI_NAMES = "google_search google_search_retrieval url_context"
_AGENT_NAMES = "exit_plan tool_search"

RESERVED_NAMES = frozenset(f"{_ANTHROPIC_NAMES} {_OPENAI_NAMES} {_GEMINI_NAMES} {_AGENT_NAMES}".split())
"""
The names that a provider or the agent uses for its own tools: the provider runs them, or its model was trained on them.

Plain words that many servers use (`read`) are not here.
"""


def check_foreign_names(table: Table, newcomers: Iterable[str] | None = None) -> None:
    """
    Raise `CatalogError` if a tool from outside has a reserved name, or a name that looks like another tool's name.

    With *newcomers*, only these names and aliases are checked. The caller has checked the other names before.
    """
    names = {**{name: name for name in table.tools}, **table.aliases}
    names_to_check = names if newcomers is None else [name for name in newcomers if name in names]
    for name in names_to_check:
        tool = table.tools[names[name]]
        if is_foreign(tool) and (reason := reason_against(name)) is not None:
            raise CatalogError(
                f"{describe_place(tool)} cannot be called `{name}`: {reason}; "
                f'add it under another name, with `prefixed("...")` or `renamed("...")`'
            )
    for lookalikes in _group_lookalikes(names, names_to_check):
        _check_lookalikes(lookalikes, names, table.tools)


def leave_out_misleading(tables: Sequence[Table], prefix: str = "") -> list[Table]:
    """
    Return *tables* without the tools from outside that could be mistaken for something else.

    Each tool that is left out is logged. The names are checked with *prefix* before each of them. All of the program's
    own tools stay. If the names of two tools from outside look alike, the first tool stays.
    """
    owners: dict[str, Tool] = {}
    for table in tables:
        for key, names in _all_names(table, prefix).items():
            if not is_foreign(table.tools[key]):
                owners.update(dict.fromkeys(map(fold_name, names), table.tools[key]))
    return [_drop_misleading(table, prefix, owners) for table in tables]


def _drop_misleading(table: Table, prefix: str, owners: dict[str, Tool]) -> Table:
    """Return *table* without the misleading tools from outside, and add the names of those that stay to *owners*."""
    tools: dict[str, Tool] = {}
    for key, names in _all_names(table, prefix).items():
        tool = table.tools[key]
        if is_foreign(tool):
            is_free = all(owners.get(fold_name(name), tool) is tool for name in names)
            if not is_free or any(map(reason_against, names)) or not all(map(_is_legal_name, names)):
                _log.error("`%s` is left out, because it cannot be called so: %s", names[0], describe_place(tool))
                continue
            owners.update(dict.fromkeys(map(fold_name, names), tool))
        tools[key] = tool
    return Table(tools, {alias: name for alias, name in table.aliases.items() if name in tools})


def _all_names(table: Table, prefix: str) -> dict[str, list[str]]:
    """Return the name and the aliases of each tool, with *prefix*, by the tool's name in *table*."""
    return {name: [f"{prefix}{alias}" for alias in (name, *table.aliases_of(name))] for name in table.tools}


def _is_legal_name(name: str) -> bool:
    try:
        check_name(name, name)
    except DefinitionError:
        return False
    return True


def reason_against(name: str) -> str | None:
    """Return the reason why a tool from outside cannot be called *name*, or None if it can."""
    namespace = name.replace("--", ".").partition(".")[0].casefold()
    if namespace in RESERVED_NAMESPACES:
        return f"`{namespace}.*` is a namespace of the providers' own"
    if fold_name(name) in _RESERVED:
        return "providers and agents have a tool of their own that is called so"
    return None


def make_legal_name(name: str, prefix: str = "") -> str:
    """
    Return *name*, a text of printable ASCII, as a legal name with *prefix*.

    Characters that a name cannot have become `_`. A name that is too long is cut, and ends with a digest of the whole.
    """
    legal = prefix + _ILLEGAL.sub("_", name)
    if not re.match(r"[A-Za-z_]", legal):
        legal = f"_{legal}"
    if len(legal) <= _MAX_CHARS:
        return legal
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARS]
    return f"{legal[: _MAX_CHARS - _HASH_CHARS - 1]}_{digest}"


def _check_lookalikes(lookalikes: Iterable[str], names: Mapping[str, str], tools: Mapping[str, Tool]) -> None:
    """Raise `DuplicateTool` if *lookalikes* are names of two tools, and one of the tools comes from outside."""
    for first, other in itertools.combinations(lookalikes, 2):
        first_tool, other_tool = tools[names[first]], tools[names[other]]
        if first_tool is not other_tool and (is_foreign(first_tool) or is_foreign(other_tool)):
            raise DuplicateTool(
                f"`{first}` and `{other}` differ only in case or separators, and one of them comes from outside: "
                f"{describe_place(first_tool)} and {describe_place(other_tool)}; "
                f'use `prefixed("...")` on one, or leave one out with `filtered`'
            )


def _group_lookalikes(names: Iterable[str], names_to_check: Iterable[str]) -> list[list[str]]:
    """
    Return the groups of *names* that differ only in case or separators, if a group has one of *names_to_check*.

    Names are ASCII, so a letter has no other forms than upper and lower case.
    """
    groups: dict[str, list[str]] = {fold_name(name): [] for name in names_to_check}
    for name in names:
        group = groups.get(fold_name(name))
        if group is not None:
            group.append(name)
    return [group for group in groups.values() if len(group) > 1]


def fold_name(name: str) -> str:
    """Return *name* in lower case and without separators."""
    return _fold_cached(name) if len(name) <= _MAX_CACHED_CHARS else _fold(name)


def _fold(name: str) -> str:
    # `str.translate` would take seven times as long.
    return name.casefold().replace("_", "").replace("-", "").replace(".", "")


_MAX_CACHED_CHARS = 64
# Adding one tool checks all names again, so the folded form of each short name is kept. The cache takes at most 7 MB.
_fold_cached = functools.lru_cache(maxsize=20_000)(_fold)
_RESERVED = frozenset(map(fold_name, RESERVED_NAMES))
