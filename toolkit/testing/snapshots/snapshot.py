"""
A snapshot of a catalog: the schemas, facts and definitions of its tools, in a file that is committed.

A change of a tool is then a difference in a review, and `compare_snapshots` says in words what it breaks for callers:
models with a conversation under way, programs that call the tool, and programs that read its results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._plumbing.versioned_json import split_version
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
        split_version(data, "a snapshot", (_VERSION,))
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
        *_compare_inputs(old["input_schema"], new["input_schema"]),
        *_compare_outputs(old["output_schema"], new["output_schema"]),
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


def _compare_inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    for narrowing in find_narrowings(old, new):
        yield True, _word(narrowing, _INPUT_BREAKS, "parameter", swapped=False)
    for narrowing in find_narrowings(new, old):
        if text := _word(narrowing, _INPUT_WIDENED, "parameter", swapped=True):
            yield False, text
    old_parameters, new_parameters = old.get("properties", {}), new.get("properties", {})
    for name in [name for name in old_parameters if name in new_parameters]:
        before, after = (_read_default(parameters[name]) for parameters in (old_parameters, new_parameters))
        if before != after:
            yield False, f"parameter `{name}`, if it is left out, is {after} now, and was {before}"


def _compare_outputs(old: Any, new: Any) -> Iterator[tuple[bool, str]]:
    """Yield what changed for programs that read the result: for them, a result that can be more is what breaks."""
    old_schema, new_schema = ({} if schema is None else schema for schema in (old, new))
    for narrowing in find_narrowings(new_schema, old_schema):
        if text := _word(narrowing, _OUTPUT_BREAKS, "its result", swapped=True):
            yield narrowing.kind != "absent", text
    for narrowing in find_narrowings(old_schema, new_schema):
        if text := _word(narrowing, _OUTPUT_NARROWED, "its result", swapped=False):
            yield False, text


def _compare_facts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if name == "aliases":
            gone = [alias for alias in before or () if alias not in (after or ())]
            yield from ((True, f"does not answer to the name `{alias}` any more") for alias in gone)
            yield from (
                (False, f"answers to the name `{alias}` too") for alias in after or () if alias not in (before or ())
            )
        elif before != after:
            yield (
                name in _STRICTER_FACTS and after is _STRICTER_FACTS[name],
                f"states {name}={after!r}, and stated {before!r}",
            )


_INPUT_BREAKS = {
    "takes": "does not take {} any more",
    "absent": "is gone, and a call that sends it is refused",
    "required": "has to be sent now",
    "new-required": "is new, and has to be sent",
    "names": "takes no further names any more",
    "limit": "is limited more: {}",
    "form": "is limited more: {}",
}
_INPUT_WIDENED = {
    "takes": "takes {} too",
    "absent": "is new, and may be left out",
    "required": "may be left out now",
    "new-required": "",  # the parameter is gone, which breaks callers, and is said there
    "names": "takes further names too",
    "limit": "is limited less: {}",
    "form": "is limited less: {}",
}
_OUTPUT_BREAKS = {
    "takes": "may be {} now",
    "absent": "is new",
    "required": "may be missing now",
    "new-required": "is gone",
    "names": "may have further names now",
    "limit": "is limited less: {}",
    "form": "is limited less: {}",
}
_OUTPUT_NARROWED = {
    "takes": "is never {} any more",
    "absent": "is gone, and could be missing before",
    "required": "is always there now",
    "new-required": "is new",
    "names": "has no further names any more",
    "limit": "is limited more: {}",
    "form": "is limited more: {}",
}


def _word(narrowing: Narrowing, phrases: Mapping[str, str], subject: str, *, swapped: bool) -> str:
    """Return *narrowing* in words; an empty text if it is said elsewhere. *swapped* says that its old schema is new."""
    phrase = phrases[narrowing.kind]
    if not phrase or ("required" in narrowing.details and phrases is not _INPUT_BREAKS):
        return ""  # the other direction says that the name is new and required, or gone
    place = "".join(part if part == "[]" else f".{part}" for part in narrowing.path).removeprefix(".")
    where = f"{subject} `{place}`" if place else {"parameter": "as a whole", "its result": subject}[subject]
    return f"{where} {phrase.format(_word_details(narrowing, swapped))}"


def _word_details(narrowing: Narrowing, swapped: bool) -> str:
    if narrowing.kind not in ("limit", "form"):
        return " and ".join(map(str, narrowing.details))
    keyword, *values = narrowing.details
    before, after = (
        ("nothing" if value is None else json.dumps(value)) for value in (reversed(values) if swapped else values)
    )
    return f"`{keyword}` was {before}, and is {after}"


def _read_default(schema: Any) -> str:
    has_default = isinstance(schema, Mapping) and "default" in schema
    return json.dumps(schema["default"]) if has_default else "nothing"
