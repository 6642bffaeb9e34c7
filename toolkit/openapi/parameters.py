"""
The arguments of an operation: one schema for path, query, headers, cookies and body, and the way back.

A body that is an object, and whose properties have names of their own, is merged into the top level. Otherwise the
argument `body` holds it. If arguments in two places have one name, both names begin with their place: `path_id`,
`query_id`. The schema of the result is that of the response to a success.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..catalogs.foreign_text import clean_text, explain_name
from ..errors import DefinitionError
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, stated_types
from .documents import ApiDocument, Operation
from .files import BINARY, find_files
from .schemas import SchemaConverter, write_links_as_text

__all__ = ["Inputs", "OutputSchema", "RequestArgument", "RequestBody", "is_json", "read_inputs", "read_output_schema"]

_DELIMITED = ("spaceDelimited", "pipeDelimited", "tabDelimited")
_STYLES = {
    "path": ("simple", "label", "matrix", *_DELIMITED),
    "query": ("form", "deepObject", *_DELIMITED),
    "querystring": ("form",),
    "header": ("simple", *_DELIMITED),
    "cookie": ("form", "cookie"),
}
"""The styles that a place can have, its default first. Swagger 2.0 has those with delimiters in every place."""

_COLLECTION_FORMATS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
_OWN_HEADERS = frozenset(["accept", "content-type", "authorization"])
"""Headers that a document cannot describe as parameters: the media types and the credentials decide them."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIMPLE_BODY_KEYWORDS = ANNOTATION_KEYWORDS | {"type", "properties", "required", "additionalProperties"}
_MAX_PARAMETERS = 500
_MAX_TEXT_CHARS = 2_000
_MAX_DEFINITIONS = 40
"""The most definitions of an output schema. Some APIs return objects that lead to every other object that they have."""

_MEDIA_TYPES = ("application/json", r".*\+json", "application/x-www-form-urlencoded", "multipart/form-data", "text/.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestArgument:
    """
    An argument of a call that is a parameter of the request.

    Attributes:
        key: The name of the argument. `name` is that in the request.
        style: How lists and objects are written: "form", "deepObject" and so on.
        explode: Whether each item of a list or an object is written on its own.
        allow_reserved: Whether characters such as `/` stay as they are.
        is_json: Whether the value is written as JSON.
    """

    key: str
    place: str
    name: str
    schema: Any
    required: bool
    style: str
    explode: bool
    allow_reserved: bool = False
    is_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """
    The body of a request.

    Attributes:
        media_type: The media type that it is sent as.
        key: The argument that holds it; None if its properties are arguments of their own.
        styles: How the properties of a form are written, if the document says so.
        files: The properties of a form that are files.
        properties: The schemas of the properties of a form.
        required: The properties that a form needs.
    """

    media_type: str
    key: str | None
    styles: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The arguments of an operation, its schema, and the place and name of each parameter, credentials included."""

    schema: dict[str, Any]
    arguments: tuple[RequestArgument, ...]
    body: RequestBody | None
    taken: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The *schema* of the JSON of a success, and the *statuses* that it was written for, such as "200" and "2XX"."""

    schema: dict[str, Any]
    statuses: frozenset[str]

    def describes(self, status: int) -> bool:
        return not self.statuses.isdisjoint((str(status), "2XX"))


def read_inputs(
    document: ApiDocument, operation: Operation, converter: SchemaConverter, hidden: frozenset[tuple[str, str]]
) -> Inputs:
    """Return the arguments of *operation*. The parameters *hidden*, by place and name, are credentials and left out."""
    parameters = list(_iter_parameters(document, operation))
    arguments = [
        _read_argument(document, node, place, converter)
        for node, place in parameters
        if node["in"] in _STYLES
        and (node["in"], node["name"]) not in hidden
        and not (node["in"] == "header" and node["name"].lower() in _OWN_HEADERS)
    ]
    counts = Counter(argument.name for argument in arguments)
    body_parts = _find_body(document, operation, parameters)
    body, properties, required = _read_body(document, *body_parts, converter, counts)
    counts.update(list(properties))
    arguments = [
        replace(argument, key=f"{argument.place}_{argument.name}") if counts[argument.name] > 1 else argument
        for argument in arguments
    ]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.key: argument.schema for argument in arguments} | properties,
        "required": [argument.key for argument in arguments if argument.required] + required,
        "additionalProperties": False,
    }
    if len(schema["properties"]) < len(arguments) + len(properties):
        raise DefinitionError(f"{operation.place}: two arguments have one name")
    if not schema["required"]:
        del schema["required"]
    return Inputs(
        schema=converter.add_definitions(schema),
        arguments=tuple(arguments),
        body=body,
        taken=hidden.union((argument.place, argument.name) for argument in arguments),
    )


def _iter_parameters(document: ApiDocument, operation: Operation) -> Iterator[tuple[Mapping[str, Any], str]]:
    """
    Yield the parameters of *operation*, with those of its path that it does not define itself, and their places.

    What stands in braces in the path is a text if nothing describes it. A parameter that the path lacks has no place.
    """
    by_key: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
    path_place = operation.place.rpartition(".")[0]
    in_path = re.findall(r"\{([^{}]+)\}", operation.path)
    texts = {"parameters": [{"name": name, "in": "path", "schema": {"type": "string"}} for name in in_path]}
    owners = ((texts, path_place), (operation.shared, path_place), (operation.data, operation.place))
    for owner, owner_place in owners:
        nodes = owner.get("parameters", [])
        if not isinstance(nodes, list):
            raise DefinitionError(f"{owner_place}.parameters: expected a list")
        for index, entry in enumerate(nodes):
            place = f"{owner_place}.parameters[{index}]"
            node = document.follow(entry)
            name, where = (node.get("name"), node.get("in")) if isinstance(node, Mapping) else (None, None)
            if not isinstance(name, str) or not isinstance(where, str):
                raise DefinitionError(f"{place}: a parameter has a `name` and says where it is (`in`)")
            if problem := explain_name(name):
                raise DefinitionError(f"{place}: its name {problem}")
            if where == "header" and not _HEADER_NAME.fullmatch(name):
                raise DefinitionError(f"{place}: no header can have the name {name!r:.100}")
            by_key[where, name] = node, place
    if len(by_key) > _MAX_PARAMETERS:
        raise DefinitionError(f"{operation.place}: {len(by_key):,} parameters; at most {_MAX_PARAMETERS} are taken")
    yield from (entry for (where, name), entry in by_key.items() if where != "path" or name in in_path)


def _read_argument(
    document: ApiDocument, node: Mapping[str, Any], place: str, converter: SchemaConverter
) -> RequestArgument:
    where, name = node["in"], node["name"]
    schema, is_json_text = node.get("schema"), False
    if schema is None and isinstance(content := node.get("content"), Mapping) and content:
        media_type, entry = next(iter(content.items()))
        schema = entry.get("schema", {}) if isinstance(entry, Mapping) else {}
        is_json_text = is_json(media_type)
        if is_json_text and where == "querystring":
            raise DefinitionError(f"{place}: a query that is JSON as a whole is not supported; describe it as a form")
    if schema is None:  # Swagger 2.0 has the schema in the parameter itself
        schema = {key: value for key, value in node.items() if key not in ("name", "in", "required", "description")}
    converted = converter.convert(schema, place)
    if isinstance(text := node.get("description"), str) and text.strip():
        if isinstance(converted, bool):
            converted = {} if converted else {"not": {}}
        converted = {**converted, "description": clean_text(write_links_as_text(text), _MAX_TEXT_CHARS)}
    style, explode = _read_style(document, node, _STYLES[where])
    return RequestArgument(
        key=name,
        place=where,
        name=name,
        schema=converted,
        required=where == "path" or node.get("required") is True,
        style=style,
        explode=explode,
        allow_reserved=node.get("allowReserved") is True,
        is_json=is_json_text,
    )


def _read_style(document: ApiDocument, node: Mapping[str, Any], styles: tuple[str, ...]) -> tuple[str, bool]:
    """Return which of *styles* the parameter *node* has, and whether each of its items is written on its own."""
    if document.is_swagger:
        style, explode = _COLLECTION_FORMATS.get(node.get("collectionFormat", ""), ("form", False))
        return style if style in styles else styles[0], explode
    style = next((style for style in styles if style == node.get("style")), styles[0])
    return style, node.get("explode", style in ("form", "cookie")) is True


def _find_body(
    document: ApiDocument, operation: Operation, parameters: list[tuple[Mapping[str, Any], str]]
) -> tuple[Mapping[str, Any], bool, str]:
    """Return the body's schemas and encodings by media type, whether it is required, and its place."""
    if document.is_swagger:
        return _find_swagger_body(document, operation, parameters)
    place = f"{operation.place}.requestBody"
    node = document.follow(operation.data.get("requestBody", {}))
    content = node.get("content", {}) if isinstance(node, Mapping) else None
    if not isinstance(content, Mapping):
        raise DefinitionError(f"{place}: a body has `content`, an object by media type")
    return content, node.get("required") is True, place


def _find_swagger_body(
    document: ApiDocument, operation: Operation, parameters: list[tuple[Mapping[str, Any], str]]
) -> tuple[Mapping[str, Any], bool, str]:
    for node, place in parameters:
        if node["in"] == "body":
            media_types = operation.data.get("consumes", document.data.get("consumes"))
            media_type = choose_media_type(media_types or ["application/json"])
            return {media_type: {"schema": node.get("schema", {})}}, node.get("required") is True, place
    fields = [node for node, _ in parameters if node["in"] == "formData"]
    if not fields:
        return {}, False, operation.place
    schema = {
        "type": "object",
        "properties": {
            node["name"]: {key: value for key, value in node.items() if key not in ("name", "in", "required")}
            for node in fields
        },
        "required": [node["name"] for node in fields if node.get("required") is True],
    }
    has_file = any(node.get("type") == "file" for node in fields)
    media_type = "multipart/form-data" if has_file else "application/x-www-form-urlencoded"
    encoding = {}
    for node in fields:
        style, explode = _read_style(document, node, _STYLES["query"])
        encoding[node["name"]] = {"style": style, "explode": explode}
    return {media_type: {"schema": schema, "encoding": encoding}}, bool(schema["required"]), operation.place


def _read_body(
    document: ApiDocument,
    content: Mapping[str, Any],
    is_required: bool,
    place: str,
    converter: SchemaConverter,
    names: Mapping[str, int],
) -> tuple[RequestBody | None, dict[str, Any], list[str]]:
    """Return the body, the schemas of the arguments that it consists of, and which of them are required."""
    if not content:
        return None, {}, []
    media_type = choose_media_type(list(content))
    entry = content[media_type] if isinstance(content[media_type], Mapping) else {}
    place = f"{place}.content.{media_type}.schema"
    schema = converter.convert(entry.get("schema", {}), place)
    styles = {
        name: (item.get("style", "form"), item.get("explode", True) is True)
        for name, item in (entry.get("encoding") or {}).items()
        if isinstance(item, Mapping) and ("style" in item or "explode" in item)
    }
    whole = converter.inline(schema)
    types = stated_types(whole) if isinstance(whole, Mapping) else ()
    is_form = media_type.startswith(("application/x-www-form-urlencoded", "multipart/"))
    if not is_json(media_type) and not (is_form and (not types or "object" in types)):
        whole = schema = {"type": "string"} if media_type.startswith("text/") else BINARY
    files = find_files(document, entry.get("schema")) if media_type.startswith("multipart/") else frozenset()
    body = RequestBody(media_type=media_type, key=None, styles=styles, files=files)
    if is_form and isinstance(whole, Mapping):
        body = replace(body, properties=whole.get("properties", {}), required=frozenset(whole.get("required", ())))
    if _can_merge(whole, names, is_required):
        return body, whole["properties"], whole.get("required", [])
    if is_form and whole in ({}, True):
        schema = {"type": "object"}
    key = "body"
    while key in names:
        key = f"{key}_"
    return replace(body, key=key), {key: schema}, [key] * is_required


def _can_merge(schema: Any, names: Mapping[str, int], is_required: bool) -> bool:
    """Return whether the properties of the body can be arguments of their own."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return False
    properties, required = schema["properties"], schema.get("required", ())
    return (
        bool(properties)
        and schema.keys() <= _SIMPLE_BODY_KEYWORDS
        and schema.get("type", "object") == "object"
        and schema.get("additionalProperties", False) is False  # others have no name here
        and (is_required or not required)  # without a body, nothing is required
        and properties.keys().isdisjoint(names)
        and properties.keys() >= set(required)
    )


def read_output_schema(document: ApiDocument, operation: Operation, converter: SchemaConverter) -> OutputSchema | None:
    """Return the schema of the response of a success; None if it is not JSON or has no schema."""
    responses = operation.data.get("responses")
    if not isinstance(responses, Mapping):
        return None
    successes = sorted((status for status in responses if str(status).startswith("2")), key=str)
    if not successes or any(responses[status] != responses[successes[0]] for status in successes):
        return None  # a success of another status may have another form
    place = f"{operation.place}.responses.{successes[0]}"
    response = document.follow(responses[successes[0]])
    if not isinstance(response, Mapping):
        return None
    content = response.get("content")
    if not document.is_swagger and isinstance(content, Mapping) and content:
        media_type = choose_media_type(list(content))
        response = content[media_type] if is_json(media_type) else {}
    schema = converter.convert(response.get("schema", {}), place) if isinstance(response, Mapping) else {}
    if not isinstance(schema, Mapping) or not schema:
        return None
    schema = dict(converter.add_definitions(schema, _MAX_DEFINITIONS))
    return OutputSchema(schema, frozenset(str(status).upper() for status in successes))


def choose_media_type(media_types: list[str]) -> str:
    """Return the media type that is best for a model: JSON, a form, text, or the first one."""
    for pattern in _MEDIA_TYPES:
        for media_type in media_types:
            if re.fullmatch(pattern, media_type.partition(";")[0].strip().lower()):
                return media_type
    return media_types[0]


def is_json(media_type: str) -> bool:
    plain = media_type.partition(";")[0].strip().lower()
    return plain == "application/json" or plain.endswith("+json") or plain in ("*/*", "application/*")
