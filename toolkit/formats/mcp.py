"""
The Model Context Protocol from the side of a server: it lists tools, reads a call, and returns results.

Parts become content blocks, and content blocks of other servers become parts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..content import AudioPart, FilePart, ImagePart, Part, ResourcePart, TextPart
from ..errors import ProviderError
from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from ..values.part_texts import describe_resource, render_part
from ..values.schemas.vocabulary import map_subschemas
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .media import encode_base64
from .responses import build_call, build_response_error, get_field, get_first_field, has_field
from .result_content import check_results, text_of
from .schemas.merging import types_of

__all__ = ["calls", "definitions", "read_content", "results", "unwrap_output_schema", "unwrap_value"]

NAMING = Naming(provider="MCP", allows_dots=True, max_chars=128)

_WRAPPER_KEY = "result"
_WRAPPER_PLACE = f"#/properties/{_WRAPPER_KEY}"
_WRAPPER_MARK = "x-fastmcp-wrap-result"
"""The keyword that says that an object only wraps a value. FastMCP has it in its schemas, and looks for it."""

WRAPPER_META: dict[str, Any] = {"fastmcp": {"wrap_result": True}}
"""The `_meta` of a result that says the same, because a tool need not have a schema."""

_COMPARED_CHARS = 100
"""By how many characters a text that was cut is found to be that of a resource, which was cut at another place."""

_MEDIA_TYPE = ("mimeType", "mime_type")


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """
    Return the `tools` of a `tools/list` result.

    MCP has no strict tools: *strict* changes nothing, and a note says so.
    """
    notes = [Note("", "MCP has no strict tools; the schemas are sent as usual")] if strict else []
    tools = list_offered_tools(catalog, session, NAMING, notes)
    return Definitions([build_definition(tool) for tool in tools], notes)


def calls(request: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the one call in *request*: a `CallToolRequest`, its `params`, or the JSON of either.

    The list always has exactly one call.
    """
    params = get_field(request, "params") if has_field(request, "params") else request
    if not has_field(params, "name"):
        raise build_response_error("mcp", request, "name")
    number = None if params is request else get_field(request, "id")
    return [build_call(NAMING, catalog, get_field(params, "name"), get_field(params, "arguments"), number)]


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """
    Return a `CallToolResult` for each result, in the same order.

    Values are sent as `structuredContent`. A value that is not an object is wrapped in one. Images, sound, resources
    and files are blocks of their own: in their places among the texts, or after a text that says more than the parts.
    """
    return [build_result(result) for result in check_results(results)]


def build_definition(tool: Tool) -> dict[str, Any]:
    """Return *tool* as `tools/list` shows it."""
    facts = tool.facts
    schema = _mark_secrets(tool.schema, tool.signature.secrets)
    definition: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": schema}
    if tool.output_schema is not None:
        definition["outputSchema"] = _wrap_output_schema(tool.output_schema)
    definition["annotations"] = {
        "readOnlyHint": facts.read_only,
        "destructiveHint": facts.destructive,
        "idempotentHint": facts.idempotent,
        "openWorldHint": facts.open_world,
    }
    return definition


def _mark_secrets(schema: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return *schema* with the format `password` for the properties *names*, so that a client hides them too."""
    if not names:
        return schema
    marked = {name: {"format": "password", **part} for name, part in schema["properties"].items() if name in names}
    return {**schema, "properties": {**schema["properties"], **marked}}


def _wrap_output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of `structuredContent`, which has to be an object for clients before 2026."""
    definitions = schema.get("$defs", {})
    types = types_of(schema, definitions)
    if types == ["object"]:
        return {**schema, "type": "object"}
    if not types or "object" in types:
        return {"type": "object"}  # the value may or may not be wrapped: no more can be promised
    moved = _move_references(schema, _wrap_reference)
    # A schema with an address of its own is the root of its references wherever it stands.
    definitions = moved.pop("$defs", {}) if "$id" not in moved else {}
    wrapper: dict[str, Any] = {"type": "object", "properties": {_WRAPPER_KEY: moved}, "required": [_WRAPPER_KEY]}
    wrapper[_WRAPPER_MARK] = True
    return {**wrapper, "$defs": definitions} if definitions else wrapper


def _move_references(schema: Any, move: Callable[[str], str]) -> Any:
    """Return *schema* with each reference to a place in the same document changed by *move*."""
    if not isinstance(schema, Mapping):
        return schema
    if "$id" in schema:
        return dict(schema)
    moved = map_subschemas(schema, lambda inner: _move_references(inner, move))
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        moved["$ref"] = move(reference)
    return moved


def _wrap_reference(reference: str) -> str:
    """Return *reference*: `$defs` move to the root of the wrapper, and the rest to its place there."""
    return reference if reference.startswith("#/$defs/") else f"{_WRAPPER_PLACE}{reference[1:]}"


def _unwrap_reference(reference: str) -> str:
    return f"#{reference.removeprefix(_WRAPPER_PLACE)}" if reference.startswith(_WRAPPER_PLACE) else reference


def unwrap_output_schema(schema: Any) -> tuple[Any, bool]:
    """Return the schema of the value that *schema* of a server wraps, and True; *schema* itself, and False, if none."""
    if not isinstance(schema, Mapping) or schema.get(_WRAPPER_MARK) is not True:
        return schema, False
    members = schema.get("properties")
    if not isinstance(members, Mapping) or not isinstance(members.get(_WRAPPER_KEY), Mapping):
        return schema, False
    try:
        inner = _move_references(members[_WRAPPER_KEY], _unwrap_reference)
        if "$defs" in schema and "$id" not in inner:
            moved = _move_references({"$defs": schema["$defs"]}, _unwrap_reference)
            inner["$defs"] = {**moved["$defs"], **inner.get("$defs", {})}
    except TypeError:  # a list is no list, or a mapping no mapping; the check of the schema says so
        return schema, False
    return inner, True


def unwrap_value(content: Any, meta: Any, *, is_wrapped: bool) -> Any:
    """Return the value that structured *content* wraps, if its schema (*is_wrapped*) or its *meta* says so."""
    says_so = isinstance(meta, Mapping) and meta.get("fastmcp") == WRAPPER_META["fastmcp"]
    if (is_wrapped or says_so) and isinstance(content, Mapping) and content.keys() == {_WRAPPER_KEY}:
        return content[_WRAPPER_KEY]
    return content


def build_result(result: ToolResult) -> dict[str, Any]:
    """Return *result* as a `CallToolResult`."""
    blocks = [build_block(part) for part in result.parts]
    if result.kind == "ok" and any(blocks) and result.text == "\n".join(map(render_part, result.parts)):
        # The text says no more than the parts, which a client can show in their order.
        content = [block or _build_text(render_part(part)) for block, part in zip(blocks, result.parts, strict=True)]
    else:
        content = [_build_text(_text(result)), *filter(None, blocks)]
    answer: dict[str, Any] = {"content": content, "isError": result.is_error}
    value = result.value
    if result.kind == "ok" and not (value is None and result.parts):
        answer["structuredContent"] = value if isinstance(value, dict) else {_WRAPPER_KEY: value}
        if not isinstance(value, dict):
            answer["_meta"] = WRAPPER_META
    return answer


def _build_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _text(result: ToolResult) -> str:
    """Return the text of *result* without the texts of its resources, which are blocks of their own."""
    text = text_of(result, None)
    for part in result.parts:
        if isinstance(part, ResourcePart) and isinstance(part.content, str):
            text = text.replace(render_part(part), describe_resource(part), 1)
            if result.truncated:
                text = _leave_beginning_out(text, part)
    return text


def _leave_beginning_out(text: str, part: ResourcePart) -> str:
    """Return *text*, which ends with a note that it was cut, without the beginning of *part* if it was cut in there."""
    before, line, after = text.partition(f"{describe_resource(part)}\n")
    is_cut_in_part = bool(line) and after.startswith(str(part.content)[:_COMPARED_CHARS])
    return f"{before}{line}{after.rpartition(chr(10))[2]}" if is_cut_in_part else text


def build_block(part: Part) -> dict[str, Any] | None:
    """Return the content block for *part*; None for texts and values, which the text of a result has."""
    match part:
        case ImagePart(data=data, media_type=media_type):
            return {"type": "image", "data": encode_base64(data), "mimeType": media_type}
        case AudioPart(data=data, media_type=media_type):
            return {"type": "audio", "data": encode_base64(data), "mimeType": media_type}
        case FilePart(uri=uri, media_type=media_type, name=name):
            return _add_media_type({"type": "resource_link", "uri": uri, "name": name or uri}, media_type)
        case ResourcePart(uri=uri, content=None, media_type=media_type):
            return _add_media_type({"type": "resource_link", "uri": uri, "name": uri}, media_type)
        case ResourcePart(uri=uri, content=str() as text, media_type=media_type):
            return {"type": "resource", "resource": _add_media_type({"uri": uri, "text": text}, media_type)}
        case ResourcePart(uri=uri, content=bytes() as data, media_type=media_type):
            blob = {"uri": uri, "blob": encode_base64(data)}
            return {"type": "resource", "resource": _add_media_type(blob, media_type)}
        case _:
            return None


def _add_media_type(block: dict[str, Any], media_type: str | None) -> dict[str, Any]:
    return block if media_type is None else {**block, "mimeType": media_type}


def read_content(blocks: Iterable[Any]) -> list[Part]:
    """
    Return the parts that content *blocks* of a server describe: objects of the SDK, or JSON.

    A link whose name is not its URI becomes a `FilePart`, which has a name. Any other link becomes a `ResourcePart`
    without content.

    Raises:
        ProviderError: A block is not valid. The error names its place.
    """
    parts = []
    for index, block in enumerate(blocks):
        try:
            parts.append(read_block(block))
        except ValueError as error:
            raise ProviderError(f"mcp: content[{index}]: {error}") from error
    return parts


def read_block(block: Any) -> Part:
    """Return the part that *block* describes, or raise `ValueError` that says why it is not valid."""
    kind = get_field(block, "type")
    if not isinstance(kind, str) or kind not in _READERS:
        raise ValueError(f"a block of type {kind!r} cannot be read; known are {', '.join(_READERS)}")
    try:
        return _READERS[kind](block)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a block of type {kind!r} is not valid: {error}") from error


def _read_resource(block: Any) -> ResourcePart:
    resource = get_field(block, "resource")
    uri, media_type = _read_text(resource, "uri"), get_first_field(resource, *_MEDIA_TYPE) or None
    if get_field(resource, "blob") is None:
        return ResourcePart(uri, _read_text(resource, "text"), media_type)
    if get_field(resource, "text") is not None:
        raise ValueError("its resource has both `text` and `blob`")
    return ResourcePart(uri, _read_base64(resource, "blob"), media_type)


def _read_link(block: Any) -> Part:
    link = ResourcePart(_read_text(block, "uri"), None, get_first_field(block, *_MEDIA_TYPE) or None)  # checks the URI
    if get_field(block, "name") in (None, "", link.uri):
        return link
    return FilePart(link.uri, link.media_type, _read_text(block, "name"))


_READERS: dict[str, Callable[[Any], Part]] = {
    "text": lambda block: TextPart(_read_text(block, "text")),
    "image": lambda block: ImagePart(_read_base64(block, "data"), _read_text(block, *_MEDIA_TYPE)),
    "audio": lambda block: AudioPart(_read_base64(block, "data"), _read_text(block, *_MEDIA_TYPE)),
    "resource": _read_resource,
    "resource_link": _read_link,
}


def _read_text(holder: Any, *names: str) -> str:
    value = get_first_field(holder, *names)
    if not isinstance(value, str):
        raise TypeError(f"`{names[0]}` is {'missing' if value is None else f'no text but {type(value).__name__}'}")
    return value


def _read_base64(holder: Any, name: str) -> bytes:
    try:
        return base64.b64decode(_read_text(holder, name), validate=True)
    except ValueError as error:
        raise ValueError(f"`{name}` is not base64: {error}") from error
