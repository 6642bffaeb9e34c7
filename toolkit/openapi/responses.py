"""
The result of a call, from the response of the API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ..catalogs.foreign_text import clean_text
from ..content import AudioPart, ImagePart, ResourcePart
from ..errors import ToolError
from ..policies.classify import classify_error
from ..results import ToolResult
from ..values.rendering import as_text
from .documents import ApiDocument
from .operations import Operation
from .parameters import choose_media_type, is_json
from .schemas import SchemaConverter

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["build_result", "read_output_schema", "status_error"]

_MAX_MESSAGE_CHARS = 1_000
_MAX_DEFINITIONS = 40
"""The most definitions of an output schema. Some APIs return objects that lead to every other object that they have."""

_MESSAGE_KEYS = ("title", "detail", "message", "error_description", "error", "errors")


def read_output_schema(
    document: ApiDocument, operation: Operation, converter: SchemaConverter
) -> dict[str, Any] | None:
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
    schema = response.get("schema") if isinstance(response, Mapping) else None
    converted = None if schema is None else converter.convert(schema, place)
    if not isinstance(converted, Mapping) or not converted:
        return None
    return dict(converter.add_definitions(converted, _MAX_DEFINITIONS))


def build_result(response: httpx.Response, body: bytes) -> Any:
    """Return the result for a *response* that is a success: JSON, text, an image, sound or a file."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.request.method == "HEAD":
        names = ("content-type", "content-length", "last-modified", "etag", "location", "link")
        return {"status": response.status_code} | {
            name: clean_text(response.headers[name], 500) for name in names if name in response.headers
        }
    if not body:
        return None
    if is_json(media_type):
        try:
            value = json.loads(body)
        except ValueError:
            raise ToolError("the API sent a body that is not JSON, although it says so; the call was made") from None
        return _add_link(value, response)
    if media_type.startswith("image/"):
        return ToolResult("", None, parts=[ImagePart(body, media_type)])
    if media_type.startswith("audio/"):
        return ToolResult("", None, parts=[AudioPart(body, media_type)])
    if media_type.startswith("text/") or media_type.endswith(("xml", "yaml", "javascript", "csv")) or not media_type:
        try:
            return body.decode(response.charset_encoding or "utf-8")
        except (UnicodeDecodeError, LookupError):
            pass
    address = str(response.request.url.copy_with(query=None))
    return ToolResult("", None, parts=[ResourcePart(address, body, media_type or "application/octet-stream")])


def _add_link(value: Any, response: httpx.Response) -> Any:
    """Return *value*, with the header `Link` in its text: it says where the next page is."""
    link = response.headers.get("link")
    if not link:
        return value
    return ToolResult(f"{as_text(value)}\n\nLink: {clean_text(link, _MAX_MESSAGE_CHARS)}", value)


def status_error(response: httpx.Response, body: bytes) -> ToolError:
    """Return the error for a *response* that is none, by the table for statuses, with the words of the API."""
    import httpx

    status = response.status_code
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "unknown status"
    words = _find_words(body)
    message = f"{status} {phrase}: {words}" if words else f"{status} {phrase}"
    return classify_error(httpx.HTTPStatusError(message, request=response.request, response=response))


def _find_words(body: bytes) -> str:
    """Return what the body of a failure says, in clean text: the title and the detail of a problem, or its start."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except ValueError:
        return clean_text(text, _MAX_MESSAGE_CHARS) if "<html" not in text[:500].lower() else ""
    if isinstance(data, Mapping):
        inner = data.get("error")
        words = inner if isinstance(inner, Mapping) else data
        parts = [words[key] for key in _MESSAGE_KEYS if words.get(key)]
        texts = [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts]
        if texts:
            return clean_text(": ".join(dict.fromkeys(texts)), _MAX_MESSAGE_CHARS)
    return clean_text(text, _MAX_MESSAGE_CHARS)
