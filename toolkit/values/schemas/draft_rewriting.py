"""
Rewrite schemas of drafts 04, 06, 07 and 2019-09 to draft 2020-12, so that they accept the same values.

A keyword that the older draft does not have is not a check there, so it is left out of the new schema; a note says so.
A keyword that cannot be said in draft 2020-12 is refused by name. References become pointers within the one document,
so the addresses of its parts are left out, except where the target of a reference depends on the path to it.

One difference remains: draft 04 says that 1.0 is no integer. Draft 2020-12 cannot say that, and most JSON parsers
cannot see it.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import DefinitionError
from ..strictjson.checks import show_value
from .draft_index import DraftIndex, DraftPart, Path, show_path
from .drafts import DRAFTS, LATEST, find_draft, is_schema
from .engine import iter_mappings
from .vocabulary import ANNOTATION_KEYWORDS, is_mapping

__all__ = ["rewrite_schema"]

_ALONE = frozenset().union(*(draft.keywords for draft in DRAFTS)) - {"$ref", "definitions"}
"""The keywords that have no effect beside a `$ref`, where a draft says that it stands alone."""

_SILENT = frozenset(["$defs", "contentSchema", "then", "else"])
"""Keywords of later drafts that check nothing by themselves."""

_REFERENCES = frozenset(["$ref", "$recursiveRef", "$dynamicRef"])
_ADDRESSES = frozenset(["$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"])


def rewrite_schema(schema: dict[str, Any], subject: str) -> tuple[dict[str, Any], list[str]]:
    """
    Return *schema* for draft 2020-12, and notes about what it says without effect, each with its place.

    If no part of *schema* is written for an older draft, it is returned as it is.

    Raises:
        DefinitionError: A keyword or a value has no meaning in its draft, or none in draft 2020-12, or a reference
            leads nowhere.
    """
    dialects = [part["$schema"] for part in iter_mappings(schema) if "$schema" in part]
    if all(find_draft(dialect) is LATEST for dialect in dialects if isinstance(dialect, str)):
        return schema, []
    has_references = any(not _REFERENCES.isdisjoint(part) for part in iter_mappings(schema))
    try:
        rewriting = _Rewriting(DraftIndex(schema, subject, is_complete=has_references), subject)
        new_schema = rewriting.run()
    except ValueError as error:
        raise DefinitionError(f"{subject}: an `$id` or `$ref` of the schema is not an address: {error}") from None
    # If no schema of an older draft was found, what looked like one is data.
    return (new_schema, rewriting.notes) if rewriting.is_needed else (schema, [])


class _Reference(NamedTuple):
    """A `$ref` of the new document that is not written yet: its schema there, and the old schema that it leads to."""

    schema: dict[str, Any]
    place: Path
    target: Path


class _Rewriting:
    """
    The rewriting of one document.

    Attributes:
        notes: What the old document says without effect.
        is_needed: Whether a part of the document is written for an older draft.
    """

    def __init__(self, index: DraftIndex, subject: str) -> None:
        self.notes: list[str] = []
        self.is_needed = False
        self._index = index
        self._subject = subject
        self._places: dict[Path, Path] = {}  # where each old schema is in the new document
        self._references: list[_Reference] = []
        self._resources: dict[Path, str] = {}  # the addresses of new schemas, by their places
        # Several parts could be meant by a recursive reference only if several of them are recursive.
        self._is_dynamic = index.has_dynamic_references or len(index.recursive) > 1
        names = {name for _, name in index.anchors}
        self._anchor = next(name for number in itertools.count() if (name := f"recursive{number or ''}") not in names)

    def run(self) -> dict[str, Any]:
        """Return the new document."""
        top: dict[str, Any] = self._rewrite(self._index.top, ())
        while self._references:
            reference = self._references.pop()
            self._add_definition(top, self._index.find_part(reference.target))
            reference.schema["$ref"] = self._write_reference(reference.place, self._places[reference.target])
        return top

    def _add_definition(self, top: Any, part: DraftPart) -> None:
        """Add *part* to `$defs` if it has no place in the new document, because it checked nothing where it stood."""
        if part.path in self._places:
            return
        holder_place: Path = ()
        if self._is_dynamic and part.resource != part.path:  # what it means depends on the schema around it
            self._add_definition(top, self._index.find_part(part.resource))
            holder_place = self._places[part.resource]
        definitions = functools.reduce(operator.getitem, holder_place, top).setdefault("$defs", {})
        stem = str(part.path[-1])
        names = itertools.chain([stem], (f"{stem}_{number}" for number in itertools.count(2)))
        name = next(name for name in names if name not in definitions)
        definitions[name] = self._rewrite(part, (*holder_place, "$defs", name))

    def _write_reference(self, place: Path, target: Path) -> str:
        if not self._is_dynamic:
            return _write_pointer(target)
        here, there = self._find_resource(place), self._find_resource(target)
        return ("" if here == there else self._resources.get(there, "")) + _write_pointer(target[len(there) :])

    def _find_resource(self, place: Path) -> Path:
        lengths = range(len(place), 0, -1)
        return next((place[:length] for length in lengths if place[:length] in self._resources), ())

    def _rewrite(self, part: DraftPart, place: Path) -> Any:
        """Return the schema *part* for draft 2020-12, which will stand at *place*."""
        self._places.setdefault(part.path, place)
        old, draft = part.schema, part.draft
        if not is_mapping(old):
            self._check_boolean(part)
            return old
        self.is_needed |= draft is not LATEST
        new: dict[str, Any] = {}
        if self._is_dynamic and part.resource == part.path and part.base:
            self._resources[place] = new["$id"] = part.base
        elif not place and isinstance(old.get(draft.identifier), str) and part.base:
            new["$id"] = part.base
        is_alone = draft.ref_is_alone and isinstance(old.get("$ref"), str)
        for keyword, value in old.items():
            if is_alone and keyword in _ALONE:
                continue
            if keyword in _COPIED:
                new[keyword] = value
            elif keyword in _REWRITERS and draft is not LATEST:
                _REWRITERS[keyword](self, part, keyword, new, place)
            elif keyword in _ADDRESSES or keyword == draft.identifier:
                if self._keeps_address(part, keyword):
                    new[keyword] = value
            elif keyword == "$ref":
                self._add_reference(part, value, new, place)
            elif keyword in draft.keywords or keyword not in LATEST.keywords:
                new_value = self._rewrite_value(part, keyword, keyword, place)
                # A recursive reference before this keyword may have added a schema to it.
                new[keyword] = new_value + new["allOf"] if keyword == "allOf" and "allOf" in new else new_value
            elif keyword not in _SILENT:
                self._add_note(part, keyword)
        return new

    def _keeps_address(self, part: DraftPart, keyword: str) -> bool:
        """Return whether the new document needs the address or anchor, or has to show that it is wrong."""
        if keyword == part.draft.identifier:
            return not isinstance(part.schema[keyword], str)
        return part.draft is LATEST and self._is_dynamic and keyword in ("$anchor", "$dynamicAnchor")

    def _add_note(self, part: DraftPart, keyword: str, remedy: str = "name a later draft in `$schema`") -> None:
        problem = f"`{keyword}` at {show_path(part.path)} is no keyword of {part.draft.name}, so it checks nothing"
        self.notes.append(f"{problem}; {remedy} to have it checked")

    def _rewrite_value(self, part: DraftPart, keyword: str, new_keyword: str, place: Path) -> Any:
        """Return the value of *keyword*, with the schemas in it rewritten, for *new_keyword* at *place*."""
        value, draft, read_part = part.schema[keyword], part.draft, self._index.read_part
        if keyword in draft.mappings and is_mapping(value):
            return {
                name: self._rewrite(read_part(part, (keyword, name), item), (*place, new_keyword, name))
                if is_schema(item)
                else item
                for name, item in value.items()
            }
        if isinstance(value, list) and keyword in draft.lists:
            return [
                self._rewrite(read_part(part, (keyword, at), item), (*place, new_keyword, at))
                if is_schema(item)
                else item
                for at, item in enumerate(value)
            ]
        if keyword in draft.values and is_schema(value):
            return self._rewrite(read_part(part, (keyword,), value), (*place, new_keyword))
        return value

    def _add_reference(self, part: DraftPart, reference: Any, new: dict[str, Any], place: Path) -> None:
        new["$ref"] = reference  # the text is written once all schemas have their places
        if isinstance(reference, str):
            self._references.append(_Reference(new, place, self._index.resolve(part, reference)))

    def _check_boolean(self, part: DraftPart) -> None:
        if part.draft.name == "draft 04" and part.path[-1] not in ("additionalItems", "additionalProperties"):
            remedy = "{}" if part.schema else '{"not": {}}'
            raise self._refuse(part, f"draft 04 has no schema `{show_value(part.schema)}`; write {remedy}")

    def _refuse(self, part: DraftPart, problem: str) -> DefinitionError:
        return DefinitionError(f"{self._subject}: {show_path(part.path)}: {problem}")

    # Keywords that older drafts write in another way.

    def rewrite_definitions(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        new_keyword = "$defs" if part.draft.ref_is_alone else keyword
        new[new_keyword] = self._rewrite_value(part, keyword, new_keyword, place)

    def rewrite_items(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        if not isinstance(part.schema[keyword], list):
            new[keyword] = self._rewrite_value(part, keyword, keyword, place)
        elif part.schema[keyword]:
            new["prefixItems"] = self._rewrite_value(part, keyword, "prefixItems", place)

    def rewrite_additional_items(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        if isinstance(part.schema.get("items"), list):  # otherwise there are no additional ones
            new["items"] = self._rewrite_value(part, keyword, "items", place)

    def rewrite_dependencies(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        value = part.schema[keyword]
        if not part.draft.ref_is_alone:
            self._add_note(part, keyword, "write `dependentRequired` and `dependentSchemas`")
            return
        if not is_mapping(value):
            raise self._refuse(part, f"`dependencies` has to be an object, got {show_value(value)}")
        names = {name: item for name, item in value.items() if isinstance(item, list)}
        schemas = {}
        for name in [name for name in value if name not in names]:
            if not is_schema(value[name]):
                problem = f"`dependencies` of {name!r} has to be a list of names or a schema"
                raise self._refuse(part, f"{problem}, got {show_value(value[name])}")
            inner = self._index.read_part(part, (keyword, name), value[name])
            schemas[name] = self._rewrite(inner, (*place, "dependentSchemas", name))
        new |= {"dependentRequired": names} if names else {}
        new |= {"dependentSchemas": schemas} if schemas else {}

    def rewrite_limit(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        exclusive = _EXCLUSIVE[keyword]
        is_exclusive = part.draft.name == "draft 04" and part.schema.get(exclusive) is True
        new[exclusive if is_exclusive else keyword] = part.schema[keyword]

    def rewrite_exclusive_limit(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        value, limit = part.schema[keyword], _INCLUSIVE[keyword]
        if part.draft.name != "draft 04":
            new[keyword] = value
        elif not isinstance(value, bool):
            remedy = f'write `"{limit}": {show_value(value)}, "{keyword}": true`'
            raise self._refuse(part, f"`{keyword}` of draft 04 is true or false, got {show_value(value)}; {remedy}")
        elif value and limit not in part.schema:
            raise self._refuse(part, f"`{keyword}` of draft 04 is about `{limit}`, which is missing; add it")

    def rewrite_recursive_anchor(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        value = part.schema[keyword]
        if part.draft.ref_is_alone:
            return
        if not isinstance(value, bool):
            raise self._refuse(part, f"`{keyword}` is true or false, got {show_value(value)}; draft 2020-12 has names")
        if self._is_dynamic and part.path in self._index.recursive:
            new["$dynamicAnchor"] = self._anchor

    def rewrite_recursive_reference(self, part: DraftPart, keyword: str, new: dict[str, Any], place: Path) -> None:
        if part.draft.ref_is_alone:
            self._add_note(part, keyword)
            return
        if part.schema[keyword] != "#":
            value = show_value(part.schema[keyword])
            raise self._refuse(part, f"`{keyword}` is always `#`, got {value}; write `$ref` for any other target")
        if self._is_dynamic and part.resource in self._index.recursive:
            new["$dynamicRef"] = f"#{self._anchor}"
        elif "$ref" not in part.schema:
            self._add_reference(part, "#", new, place)
        else:  # a schema has only one `$ref`, so the second one stands in a schema of its own
            second: dict[str, Any] = {}
            self._add_reference(part, "#", second, place)
            new["allOf"] = [*new.get("allOf", []), second]


_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_INCLUSIVE = {exclusive: limit for limit, exclusive in _EXCLUSIVE.items()}

_COPIED = (ANNOTATION_KEYWORDS | DRAFTS[0].checks) - {"$ref", *_EXCLUSIVE, *_INCLUSIVE}
"""The keywords that are the same in all drafts and contain no schemas."""

_REWRITERS: dict[str, Callable[[_Rewriting, DraftPart, str, dict[str, Any], Path], None]] = {
    "definitions": _Rewriting.rewrite_definitions,
    "items": _Rewriting.rewrite_items,
    "additionalItems": _Rewriting.rewrite_additional_items,
    "dependencies": _Rewriting.rewrite_dependencies,
    **dict.fromkeys(_EXCLUSIVE, _Rewriting.rewrite_limit),
    **dict.fromkeys(_INCLUSIVE, _Rewriting.rewrite_exclusive_limit),
    "$recursiveAnchor": _Rewriting.rewrite_recursive_anchor,
    "$recursiveRef": _Rewriting.rewrite_recursive_reference,
}
"""The keywords of older drafts that are written in another way in draft 2020-12."""


def _write_pointer(path: Path) -> str:
    """Return *path* as the fragment of an address."""
    steps = (str(step).replace("~", "~0").replace("/", "~1").replace("%", "%25") for step in path)
    return "#" + "".join(f"/{step}" for step in steps)
