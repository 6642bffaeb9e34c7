"""Find the schemas of a document of an older draft, each with its draft and address, and where references lead."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from ..._plumbing.records import record
from ...errors import DefinitionError
from ..strictjson.checks import show_value
from .drafts import DRAFTS, LATEST, Draft, find_draft
from .vocabulary import is_mapping, iter_subschemas

__all__ = ["DraftIndex", "DraftPart", "Path", "show_path"]

_ADDRESSES = frozenset(["$schema", "id", "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor"])

Path: TypeAlias = tuple[str | int, ...]
"""The steps from the top of a document to a place in it."""


@record(frozen=True, slots=True, eq=False)
class DraftPart:
    """
    A schema in the document.

    Attributes:
        schema: The schema itself.
        path: The steps to it.
        draft: The draft that it is written for.
        base: The address against which its references are resolved.
        resource: The steps to the nearest schema around it that has an address of its own; the top has none.
    """

    schema: Any
    path: Path
    draft: Draft
    base: str
    resource: Path


class DraftIndex:
    """
    The schemas of the document *root*, and their addresses and anchors.

    Unless *is_complete*, references cannot be resolved, and no time is spent on that.

    Attributes:
        top: The whole document.
        recursive: The schemas with an address of their own that have `$recursiveAnchor: true`.
        has_dynamic_references: Whether a schema of draft 2020-12 has a `$dynamicRef`.
    """

    def __init__(self, root: Mapping[str, Any], subject: str, *, is_complete: bool) -> None:
        self.recursive: set[Path] = set()
        self.has_dynamic_references = False
        self.anchors: dict[tuple[Path, str], list[Path]] = {}
        self._addresses: dict[str, list[Path]] = {"": [()]}
        self._root: Any = root
        self._subject = subject
        self._parts: dict[Path, DraftPart] = {}
        self.top = self._read_addresses(DraftPart(root, (), LATEST, "", ()))
        if is_complete:
            self._add(self.top)

    def read_part(self, outer: DraftPart, steps: Path, schema: Any) -> DraftPart:
        """Return the part at *steps* inside *outer*, which is *schema*."""
        path = outer.path + steps
        part = self._parts.get(path)
        if part is None:
            part = self._read_addresses(DraftPart(schema, path, outer.draft, outer.base, outer.resource))
        return part

    def find_part(self, path: Path) -> DraftPart:
        """Return the schema at *path*. If it is under an unknown keyword, it is read as the schema around it."""
        if path not in self._parts:
            length = next(length for length in range(len(path), -1, -1) if path[:length] in self._parts)
            outer = self._parts[path[:length]]
            part = DraftPart(self._get_value(path), path, outer.draft, outer.base, outer.resource)
            self._add(self._read_addresses(part))
        return self._parts[path]

    def resolve(self, part: DraftPart, reference: str) -> Path:
        """Return the steps to the schema that *reference* in *part* leads to, or raise `DefinitionError`."""

        def refuse(problem: str) -> DefinitionError:
            return DefinitionError(f"{self._subject}: {show_path(part.path)}: $ref {reference!r} {problem}")

        if reference.startswith("#"):
            address, fragment = part.base, reference[1:]
        else:
            address, fragment = urldefrag(urljoin(part.base, reference))
        resources = self._addresses.get(address, [])
        paths = [path for resource in resources for path in self._follow(resource, fragment)]
        if not paths:
            raise refuse(
                "is not answered by the schema itself; nothing is fetched, so put the definition under `definitions`"
            )
        values = [self._get_value(path) for path in paths]
        if any(value != values[0] for value in values):
            raise refuse("may mean several schemas, because they have the same address; give each its own")
        if not isinstance(values[0], (Mapping, bool)):
            raise refuse(f"leads to {show_value(values[0])}, which is not a schema; refer to a definition")
        return paths[0]

    def _follow(self, resource: Path, fragment: str) -> list[Path]:
        if fragment and not fragment.startswith("/"):
            return self.anchors.get((resource, fragment), [])
        path, value = resource, self._get_value(resource)
        for step in unquote(fragment)[1:].split("/") if fragment else ():
            if isinstance(value, list):
                if not (step.isascii() and step.isdigit() and int(step) < len(value)):
                    return []
                key: str | int = int(step)
            else:
                key = step.replace("~1", "/").replace("~0", "~")
                if not is_mapping(value) or key not in value:
                    return []
            path, value = (*path, key), value[key]
        return [path]

    def _get_value(self, path: Path) -> Any:
        return functools.reduce(operator.getitem, path, self._root)

    def _add(self, first: DraftPart) -> None:
        """Add *first* and all schemas inside it."""
        waiting = [first]
        while waiting:
            part = waiting.pop()
            self._parts[part.path] = part
            if is_mapping(part.schema):
                draft = part.draft
                inside = iter_subschemas(part.schema, lists=draft.lists, mappings=draft.mappings, values=draft.values)
                waiting += [self.read_part(part, *inner) for inner in inside]

    def _read_addresses(self, part: DraftPart) -> DraftPart:
        """Return *part* with its own draft and address, after its address and its anchors were noted."""
        if not is_mapping(part.schema) or _ADDRESSES.isdisjoint(part.schema):
            return part
        schema, path, draft, base, resource = part.schema, part.path, part.draft, part.base, part.resource
        if "$schema" in schema:
            draft = self._read_draft(schema["$schema"], path)
        identifier = schema.get(draft.identifier)
        if isinstance(identifier, str) and not (draft.ref_is_alone and "$ref" in schema):
            address, anchor = urldefrag(identifier)
            if address:
                base, resource = urljoin(base, address), path
                self._addresses.setdefault(base, []).append(path)
            if anchor and not draft.ref_is_alone:
                raise DefinitionError(
                    f"{self._subject}: {show_path(path)}: `{draft.identifier}` of {draft.name} has no `#`; "
                    f"write `$anchor` for {anchor!r}"
                )
            if anchor:
                self.anchors.setdefault((resource, anchor), []).append(path)
        if not draft.ref_is_alone:
            for keyword in ("$anchor", "$dynamicAnchor") if draft is LATEST else ("$anchor",):
                if isinstance(schema.get(keyword), str):
                    self.anchors.setdefault((resource, schema[keyword]), []).append(path)
            if draft is LATEST:
                self.has_dynamic_references |= "$dynamicRef" in schema
            elif schema.get("$recursiveAnchor") is True and resource == path:
                self.recursive.add(path)
        return DraftPart(schema, path, draft, base, resource)

    def _read_draft(self, dialect: object, path: Path) -> Draft:
        draft = find_draft(dialect)
        if draft is None:
            known = ", ".join(draft.name.removeprefix("draft ") for draft in DRAFTS)
            raise DefinitionError(
                f"{self._subject}: {show_path(path)}: the schema is written for {show_value(dialect)}; drafts {known} "
                f"are understood here, so adapt it to one of them"
            )
        return draft


def show_path(path: Path) -> str:
    """Return *path* as people read it."""
    return "/".join(map(str, path)) or "the top"
