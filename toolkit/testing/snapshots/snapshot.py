"""
A snapshot of a catalog: the schemas, facts and definitions of its tools, in a file that is committed.

A change of a tool is then a difference in a review, and `compare_snapshots` says in words what it breaks for callers:
models with a conversation under way, programs that call the tool, and programs that read its results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._plumbing.versioned_json import remove_version
from ...catalog import Catalog
from ...catalogs.views import CatalogView
from ...errors import CatalogError
from ...formats import FORMATS, definitions_for
from ...session import Session
from ...spec import Tool
from ...storage.shared_files import write_atomically
from .schema_changes import Narrowing, find_narrowings

__all__ = ["ToolChange", "build_snapshot", "check_snapshot", "compare_snapshots"]

_VERSION = 1
_STRICTER_FACTS = {"read_only": False, "idempotent": False, "destructive": True, "open_world": True, "defer": True}
"""The values of facts that make calls wait for a person, hide the tool, or forbid to try a call again."""


@dataclass(frozen=True, slots=True)
class ToolChange:
    """
    One difference between a catalog and its snapshot.

    Attributes:
        tool: The name of the tool.
        breaks: Whether it breaks something for callers that worked before.
        text: What is different, in words.
    """

    tool: str
    breaks: bool
    text: str

    def __str__(self) -> str:
        return f"{'breaks callers' if self.breaks else 'compatible'}: `{self.tool}` {self.text}"


def check_snapshot(catalog: CatalogView, path: str | os.PathLike[str], *, update: bool = False) -> list[ToolChange]:
    """
    Return how the tools of *catalog* differ from the snapshot at *path*. With *update*, write it anew afterwards.

    Raises:
        CatalogError: There is no snapshot at *path*, or the file is none, and *update* is false.
    """
    current = build_snapshot(catalog)
    changes = [] if update and not Path(path).exists() else list(compare_snapshots(_read_snapshot(path), current))
    if update:
        write_atomically(path, json.dumps(current, indent=1, ensure_ascii=False) + "\n")
    return changes


def build_snapshot(catalog: CatalogView) -> dict[str, Any]:
    """Return the snapshot of *catalog* as JSON, with the tools in the order of their names."""
    tools = sorted(catalog, key=lambda tool: tool.name)
    return {"version": _VERSION, "tools": {tool.name: _describe_tool(tool) for tool in tools}}


def compare_snapshots(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ToolChange]:
    """Yield how the tools of the snapshot *new* differ from those of *old*."""
    old_tools, new_tools = old["tools"], new["tools"]
    aliases = {alias: name for name, tool in new_tools.items() for alias in tool["facts"].get("aliases", ())}
    for name, tool in old_tools.items():
        if name in new_tools:
            yield from _compare_tools(name, tool, new_tools[name])
        elif name in aliases:
            yield ToolChange(name, False, f"is called `{aliases[name]}` now, and still answers to the old name")
            yield from _compare_tools(name, tool, new_tools[aliases[name]])
        else:
            yield ToolChange(name, True, "is gone")
    yield from (ToolChange(name, False, "is new") for name in new_tools if name not in old_tools)


def _describe_tool(tool: Tool) -> dict[str, Any]:
    session = Session()
    session.load(tool.name)
    shared = {
        "(the description)": tool.description,
        "(the input schema)": tool.schema,
        "(the parameters)": tool.schema.get("properties"),
        "(the output schema)": tool.output_schema,
    }
    formats: dict[str, list[str]] = {}
    for name in FORMATS:
        (definition,) = definitions_for(name, Catalog(tool), session)
        # A part that stands above already is only named, so that one change of a tool is one change of the file.
        formats.setdefault(json.dumps(_name_shared_parts(definition, shared)), []).append(name)
    return {
        "description": tool.description.splitlines(),
        "input_schema": tool.schema,
        "output_schema": tool.output_schema,
        "facts": tool.facts.as_json(),
        "definitions": {", ".join(names): json.loads(text) for text, names in formats.items()},
    }


def _name_shared_parts(value: Any, shared: Mapping[str, Any]) -> Any:
    for name, part in shared.items():
        if part and value == part:
            return name
    if isinstance(value, Mapping):
        return {name: _name_shared_parts(item, shared) for name, item in value.items()}
    return [_name_shared_parts(item, shared) for item in value] if isinstance(value, list) else value


def _read_snapshot(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        remove_version(data, "a snapshot", _VERSION)
        for tool in data["tools"].values():
            _ = [tool[name] for name in ("description", "input_schema", "output_schema", "facts", "definitions")]
    except FileNotFoundError:
        remedy = "write it with --update-snapshot, in pytest with --toolkit-update-snapshots"
        raise CatalogError(f"there is no snapshot {path} yet; {remedy}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CatalogError(f"cannot read the snapshot {path}: {error}; delete it, and write it again") from error
    return dict(data)


def _compare_tools(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ToolChange]:
    changes = [
        *_compare_schemas(old["input_schema"], new["input_schema"], is_result=False),
        *_compare_defaults(old["input_schema"], new["input_schema"]),
        *_compare_schemas(old["output_schema"] or {}, new["output_schema"] or {}, is_result=True),
        *_compare_facts(old["facts"], new["facts"]),
    ]
    if old["description"] != new["description"]:
        changes.append((False, "is described in other words, by which a model may choose it more or less often"))
    if not changes and old["input_schema"] != new["input_schema"]:
        changes.append((False, "describes its parameters in other words"))
    if not changes and old["definitions"] != new["definitions"]:
        names = [names for names, value in new["definitions"].items() if old["definitions"].get(names) != value]
        changes.append((False, f"is sent in another form to {', '.join(names)}"))
    yield from (ToolChange(name, breaks, text) for breaks, text in changes)


def _compare_schemas(old: Any, new: Any, *, is_result: bool) -> Iterator[tuple[bool, str]]:
    """
    Yield what the schema *new* takes less and more than *old*, and whether that breaks callers.

    A call breaks if less is taken. A program that reads the result breaks if the result can be more.
    """
    for is_wider, narrowings in ((False, find_narrowings(old, new)), (True, find_narrowings(new, old))):
        for narrowing in narrowings:
            phrase = _PHRASES[narrowing.kind][2 * is_result + is_wider]
            # The other direction says that a name is gone, or that it is new and required.
            is_said = "required" in narrowing.details and (is_result or is_wider)
            if phrase and not is_said:
                breaks = is_wider == is_result and not (is_result and narrowing.kind == "absent")
                yield breaks, f"{_name_place(narrowing.path, is_result)} {phrase.format(_word(narrowing, is_wider))}"


def _compare_defaults(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    old_parameters, new_parameters = old.get("properties", {}), new.get("properties", {})
    for name in [name for name in old_parameters if name in new_parameters]:
        before, after = (
            json.dumps(schema["default"]) if isinstance(schema, Mapping) and "default" in schema else "nothing"
            for schema in (old_parameters[name], new_parameters[name])
        )
        if before != after:
            yield False, f"parameter `{name}`, if it is left out, is {after} now, and was {before}"


def _compare_facts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if name == "aliases":
            old_names, new_names = before or (), after or ()
            gone, added = set(old_names) - set(new_names), set(new_names) - set(old_names)
            yield from ((True, f"does not answer to the name `{alias}` any more") for alias in sorted(gone))
            yield from ((False, f"answers to the name `{alias}` too") for alias in sorted(added))
        elif before != after:
            is_stricter = name in _STRICTER_FACTS and after is _STRICTER_FACTS[name]
            yield is_stricter, f"states {name}={after!r}, and stated {before!r}"


# In this order: a parameter takes less, it takes more, a result can be less, it can be more.
_PHRASES = {
    "takes": ("does not take {} any more", "takes {} too", "is never {} any more", "may be {} now"),
    "absent": (
        *("is gone, and a call that sends it is refused", "is new, and may be left out"),
        *("is gone, and could be missing before", "is new"),
    ),
    "required": ("has to be sent now", "may be left out now", "is always there now", "may be missing now"),
    # A parameter that is gone breaks callers, and is reported as absent.
    "new-required": ("is new, and has to be sent", "", "is new", "is gone"),
    "names": (
        *("takes no further names any more", "takes further names too"),
        *("has no further names any more", "may have further names now"),
    ),
    "limit": ("is limited more: {}", "is limited less: {}", "is limited more: {}", "is limited less: {}"),
}


def _name_place(path: Sequence[str], is_result: bool) -> str:
    place = "".join(part if part == "[]" else f".{part}" for part in path).removeprefix(".")
    if not place:
        return "its result" if is_result else "as a whole"
    return f"{'its result' if is_result else 'parameter'} `{place}`"


def _word(narrowing: Narrowing, is_wider: bool) -> str:
    """Return the details of *narrowing* in words. If *is_wider*, its old schema is the new one."""
    if narrowing.kind != "limit":
        return " and ".join(map(str, narrowing.details))
    keyword, *values = narrowing.details
    before, after = ("nothing" if value is None else json.dumps(value) for value in values)
    return f"`{keyword}` was {after}, and is {before}" if is_wider else f"`{keyword}` was {before}, and is {after}"
