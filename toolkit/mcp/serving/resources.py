"""
Resources: texts, bytes and functions that clients read by URI.

A server gets them as a dictionary from URIs to contents. A URI with `{name}` in it is a template, and its content is a
function with the parameters that the template names. A function runs as a call: its arguments are checked, the rules of
the dispatcher hold, and it may ask the user.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from mcp import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, ReadResourceRequestParams

from ...catalog import Catalog
from ...content import AudioPart, FilePart, ImagePart, JsonPart, Part, ResourcePart, TextPart, is_uri
from ...errors import DefinitionError
from ...results import ToolResult
from ...spec import Tool
from ...values.rendering import as_text
from .conversations import RequestContext
from .prompts import FunctionCaller

if TYPE_CHECKING:  # most servers pass on no others
    from ..importing.remote_content import RemoteResources

__all__ = ["ResourceBook", "ResourceCaller", "Resources"]

Resources: TypeAlias = "Mapping[str, str | bytes | ResourcePart | Callable[..., Any]]"
"""The contents of resources by URI, and functions by URI or URI template."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
_CACHE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class ResourceBook:
    """
    The resources of a server: *resources* by URI, and *remote*, those of other servers, which count after them.

    Attributes:
        catalog: The functions.

    Raises:
        DefinitionError: A key is no URI, a content is of another type, or a function lacks a parameter of its template.
    """

    def __init__(self, resources: Resources, remote: RemoteResources | None = None) -> None:
        self.catalog = Catalog() if remote is None else Catalog(*remote.catalog)
        self._remote = remote
        self._fixed: dict[str, ResourcePart] = {}
        self._functions: dict[str, Tool] = {}
        self._templates: dict[str, list[str]] = {}  # every second part is the name of a parameter
        for uri, content in resources.items():
            self._add(uri, content)

    def _add(self, uri: str, content: Any) -> None:
        names = _PLACEHOLDER.findall(uri) if isinstance(uri, str) else []
        if not isinstance(uri, str) or not is_uri(_PLACEHOLDER.sub("x", uri)):
            raise DefinitionError(f"a resource has a URI such as 'memo://today' or 'memo://{{day}}', got {uri!r:.100}")
        if isinstance(content, ResourcePart) and content.content is not None and not names:
            self._fixed[uri] = content
        elif isinstance(content, (str, bytes)) and not names:
            media_type = "text/plain" if isinstance(content, str) else "application/octet-stream"
            self._fixed[uri] = ResourcePart(uri, content, media_type)
        elif callable(content) or isinstance(content, Tool):
            self._add_function(uri, names, content if isinstance(content, Tool) else Tool.of(content))
        else:
            needed = "a function, because its URI is a template" if names else "a text, bytes, a part or a function"
            raise DefinitionError(f"the resource {uri} has to be {needed}; got {type(content).__name__}")

    def _add_function(self, uri: str, names: list[str], tool: Tool) -> None:
        properties = tool.schema.get("properties", {})
        missing = [name for name in names if name not in properties]
        unnamed = [name for name in tool.schema.get("required", ()) if name not in names]
        if missing or unnamed:
            raise DefinitionError(
                f"the resource {uri}: `{tool.name}` has to take the parameters that the URI names, and no other "
                f"required one; it differs in {', '.join([*missing, *unnamed])}"
            )
        self.catalog.add(tool)
        self._functions[uri] = tool
        if len(set(names)) < len(names):
            raise DefinitionError(f"the resource {uri}: a template names each parameter once")
        if names:
            self._templates[uri] = _PLACEHOLDER.split(uri)

    def find_fixed(self, uri: str) -> ResourcePart | None:
        """Return the resource *uri* if its content is fixed."""
        return self._fixed.get(uri)

    async def find_remote(self, uri: str) -> tuple[Tool, dict[str, str]] | None:
        """Return the tool that reads *uri* from another server, and its arguments; None if there is none."""
        return None if self._remote is None else await self._remote.find_reader(uri)

    def find_function(self, uri: str) -> tuple[Tool, dict[str, str]] | None:
        """Return the function that reads *uri*, and the arguments that the URI states; None if there is none."""
        if uri in self._functions and uri not in self._templates:
            return self._functions[uri], {}
        for template, parts in self._templates.items():
            values = _read_values(uri, parts)
            if values is not None:
                return self._functions[template], values
        return None

    async def list_fixed(self, context: RequestContext, params: PaginatedRequestParams) -> dict[str, Any]:
        """Return the result of `resources/list`."""
        entries = [_describe_part(uri, part) for uri, part in self._fixed.items()]
        entries += [
            {"uri": uri, "name": tool.name, "description": tool.description}
            for uri, tool in self._functions.items()
            if uri not in self._templates
        ]
        remote = [] if self._remote is None else await self._remote.list_fixed()
        uris = {entry["uri"] for entry in entries}
        return {**_CACHE, "resources": [*entries, *(entry for entry in remote if entry["uri"] not in uris)]}

    async def list_templates(self, context: RequestContext, params: PaginatedRequestParams) -> dict[str, Any]:
        """Return the result of `resources/templates/list`."""
        entries = [
            {"uriTemplate": uri, "name": self._functions[uri].name, "description": self._functions[uri].description}
            for uri in self._templates
        ]
        remote = [] if self._remote is None else await self._remote.list_templates()
        return {**_CACHE, "resourceTemplates": [*entries, *remote]}

    def find_template(self, uri: str) -> Tool | None:
        """Return the function of the URI template *uri*."""
        return self._functions.get(uri)


def _read_values(uri: str, parts: list[str]) -> dict[str, str] | None:
    """
    Return the values with which the template *parts* gives *uri*; None if it cannot give it.

    No value is empty or has a slash, and each is as long as those before it allow. What stands between two values is
    looked for from the end: a regular expression would try all ways to divide the URI, which a client may make long.
    """
    first, *between, last = parts[::2]
    if not (uri.startswith(first) and uri.endswith(last)):
        return None
    values: list[str] = []
    end = len(uri) - len(last)
    for text in reversed(between):
        start = uri.rfind(text, len(first), max(end - 1, 0))
        if start < 0:
            return None
        values.insert(0, uri[start + len(text) : end])
        end = start
    values.insert(0, uri[len(first) : end])
    return None if "" in values or "/" in "".join(values) else dict(zip(parts[1::2], map(unquote, values), strict=True))


def _describe_part(uri: str, part: ResourcePart) -> dict[str, Any]:
    name = uri.rstrip("/").rpartition("/")[2] or uri
    content = part.content or b""
    size = len(content.encode() if isinstance(content, str) else content)
    described = {"uri": uri, "name": name, "size": size}
    return described if part.media_type is None else {**described, "mimeType": part.media_type}


class ResourceCaller(FunctionCaller):
    """Answers `resources/read` requests: fixed contents at once, functions as `ToolCaller` answers `tools/call`."""

    kind = "resource"

    def __init__(self, *arguments: Any, book: ResourceBook, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._book = book

    async def read(self, context: RequestContext, params: ReadResourceRequestParams) -> dict[str, Any]:
        """Return the content, or the question that its function asks; raise `MCPError` if there is none or it fails."""
        part = self._book.find_fixed(params.uri)
        if part is not None:
            return {**_CACHE, "contents": [_build_contents(params.uri, part)]}
        function = self._book.find_function(params.uri) or await self._book.find_remote(params.uri)
        if function is None:
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri[:200]}", {"uri": params.uri})
        tool, texts = function
        answer = await self._call_function(context, params, tool.name, texts)
        for contents in answer.get("contents", ()):
            contents.setdefault("uri", params.uri)
        return answer

    def _answer(self, name: str, result: ToolResult) -> dict[str, Any]:
        if result.is_error:
            return super()._answer(name, result)
        tool = self._dispatcher.catalog.get(name)
        parts = result.parts or (_wrap_value(result, None if tool is None else tool.output_schema),)
        return {**_CACHE, "contents": [_build_contents(None, part) for part in parts]}


def _wrap_value(result: ToolResult, schema: Mapping[str, Any] | None) -> Part | bytes:
    """Return the value of *result*, whose function has the output schema *schema*. Bytes arrive as base64."""
    if not isinstance(result.value, str):
        return JsonPart(result.value)
    is_bytes = schema is not None and schema.get("contentEncoding") == "base64" and not result.truncated
    return base64.b64decode(result.value) if is_bytes else TextPart(result.text)


def _build_contents(uri: str | None, part: Part | bytes) -> dict[str, Any]:
    """Return *part* as an entry of the result of `resources/read`, under its own URI or else under *uri*."""
    content: str | bytes
    match part:
        case bytes():
            content, media_type = part, "application/octet-stream"
        case ResourcePart(content=body, media_type=media_type):
            content, uri = "" if body is None else body, uri or part.uri
        case TextPart(text=text):
            content, media_type = text, "text/plain"
        case JsonPart(value=value):
            content, media_type = as_text(value), "application/json"
        case ImagePart(data=data, media_type=media_type) | AudioPart(data=data, media_type=media_type):
            content = data
        case FilePart(uri=link):
            content, media_type = link, "text/uri-list"
    entry: dict[str, Any] = {} if uri is None else {"uri": uri}
    if isinstance(content, str):
        entry["text"] = content
    else:
        entry["blob"] = base64.b64encode(content).decode()
    return entry if media_type is None else {**entry, "mimeType": media_type}
