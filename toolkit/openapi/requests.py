"""
A request from the arguments of a call: each value is written in the place and in the style that the document states.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from ..errors import BadArgs, Problem
from .parameters import Inputs, RequestArgument, RequestBody, is_json

__all__ = ["RequestParts", "build_request_parts"]

Pairs: TypeAlias = list[tuple[str, str]]

_SAFE_RESERVED = ":/?@!$'()*,;[]"
"""The reserved characters that cannot be mistaken for the end of a value."""

_SAFE_IN_COOKIES = "!#$&'()*+/:<=>?@[]^`{|}"
"""What a cookie can hold. It is not encoded there, because many servers do not decode it. `,` separates items."""

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
"""What separates the items of a list. An item cannot have it, because it is encoded in the same way."""


@dataclass(slots=True)
class RequestParts:
    """
    The parts of a request.

    Attributes:
        path: The path, with the arguments in it, percent-encoded.
        query: The names and values of the query, percent-encoded.
        files: The parts of a multipart body: the name, and the file name, content and media type.
    """

    path: str
    query: Pairs = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: Pairs = field(default_factory=list)
    content: bytes | None = None
    files: list[tuple[str, tuple[str | None, bytes, str | None]]] = field(default_factory=list)

    @property
    def query_text(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.query)


def build_request_parts(path: str, inputs: Inputs, arguments: Mapping[str, Any]) -> RequestParts:
    """Return the parts of the request for *arguments*, or raise `BadArgs` if one cannot be written where it belongs."""
    parts = RequestParts(path)
    for argument in inputs.arguments:
        if argument.key not in arguments:
            continue
        value = arguments[argument.key]
        if argument.place == "path":
            text = _write_path(argument, value)
            if not text or value in ([], {}):
                raise BadArgs(Problem("an empty value would name another address", [argument.key]))
            parts.path = parts.path.replace(f"{{{argument.name}}}", text)
            if any(step in (".", "..") for step in parts.path.split("/")):
                raise BadArgs(Problem("`.` and `..` would name another address", [argument.key]))
        elif value in ([], {}) and not argument.is_json:
            continue  # the standard has no form for what is empty
        elif argument.place == "query":
            parts.query += _write_pairs(argument, value)
        elif argument.place == "querystring":
            pairs = value.items() if isinstance(value, Mapping) else ()
            parts.query += [(_encode(name), _encode(_text(item))) for name, item in pairs]
        elif argument.place == "header":
            parts.headers[argument.name] = _write_header(argument, value)
        else:
            parts.cookies += _write_pairs(argument, value)
    if inputs.body is not None:
        _write_body(parts, inputs, inputs.body, arguments)
    return parts


def _text(value: Any) -> str:
    """Return a single value as text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encode(text: str, *, safe: str = "") -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe=safe)


def _join(value: Any, separator: str, *, explode: bool, encode: Callable[[str], str] = _encode) -> str:
    """Return *value* as text, its parts joined by *separator*; those of an object as `name=value` if *explode*."""
    if isinstance(value, Mapping):
        sign = "=" if explode else separator
        return separator.join(f"{encode(name)}{sign}{encode(_text(item))}" for name, item in value.items())
    return separator.join(encode(_text(item)) for item in (value if isinstance(value, list) else [value]))


def _refuse_delimiter(argument: RequestArgument, value: Any, delimiter: str) -> None:
    """Raise `BadArgs` if a part of a list or an object has *delimiter*, which would end it for the server."""
    texts = [*value, *(value.values() if isinstance(value, Mapping) else ())]
    if any(delimiter in _text(text) for text in texts):
        raise BadArgs(Problem(f"{delimiter!r} separates items here, so no item can have it", [argument.key]))


def _write_path(argument: RequestArgument, value: Any) -> str:
    if argument.is_json:
        return _encode(json.dumps(value, ensure_ascii=False))
    name, explode = _encode(argument.name), argument.explode
    if argument.style == "matrix":
        if explode and isinstance(value, list):
            return "".join(f";{name}={_encode(_text(item))}" for item in value)
        if explode and isinstance(value, Mapping):
            return f";{_join(value, ';', explode=True)}"
        return f";{name}={_join(value, ',', explode=False)}"
    if argument.style == "label":
        if explode and isinstance(value, Mapping | list):
            _refuse_delimiter(argument, value, ".")
        return f".{_join(value, '.' if explode else ',', explode=explode)}"
    return _join(value, ",", explode=explode)


def _write_header(argument: RequestArgument, value: Any) -> str:
    """Return the value of a header, which is not percent-encoded."""
    if isinstance(value, Mapping | list) and not argument.is_json:
        _refuse_delimiter(argument, value, ",")
        if argument.explode and isinstance(value, Mapping):
            _refuse_delimiter(argument, list(value), "=")
    text = json.dumps(value) if argument.is_json else _join(value, ",", explode=argument.explode, encode=str)
    if not (text.isascii() and text.isprintable()) or text != text.strip():
        raise BadArgs(Problem("a header has printable ASCII characters only, and no space at its ends", [argument.key]))
    return text


def _write_pairs(argument: RequestArgument, value: Any) -> Pairs:
    """Return *value* as names and values of a query or of cookies."""
    name = _encode(argument.name, safe="[]")
    safe = _SAFE_RESERVED if argument.allow_reserved else ""
    if argument.place == "cookie":
        safe = _SAFE_IN_COOKIES
    if argument.is_json:
        return [(name, _encode(json.dumps(value, ensure_ascii=False), safe=safe))]
    if not isinstance(value, Mapping | list):
        return [(name, _encode(_text(value), safe=safe))]
    if argument.style == "deepObject":
        return list(_write_deep(name, value, safe))
    if argument.explode and argument.style == "form":
        if isinstance(value, Mapping):
            return [(_encode(key), _encode(_text(item), safe=safe)) for key, item in value.items()]
        return [(name, _encode(_text(item), safe=safe)) for item in value]
    if delimiter := _DELIMITERS.get(argument.style):
        _refuse_delimiter(argument, value, delimiter)
    encode = partial(_encode, safe=safe.replace(",", ""))
    return [(name, _join(value, _encode(delimiter) if delimiter else ",", explode=False, encode=encode))]


def _write_deep(name: str, value: Any, safe: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _write_deep(f"{name}[{_encode(key)}]", item, safe)
    elif isinstance(value, list):
        for item in value:
            yield name, _encode(_text(item), safe=safe)
    else:
        yield name, _encode(_text(value), safe=safe)


def _write_body(parts: RequestParts, inputs: Inputs, body: RequestBody, arguments: Mapping[str, Any]) -> None:
    parameters = {argument.key for argument in inputs.arguments}
    fields = {key: value for key, value in arguments.items() if key not in parameters}
    if body.key is not None and body.key not in fields:
        return
    value: Any = fields if body.key is None else fields[body.key]
    if not is_json(body.media_type) and (value is None or not fields):
        return
    media_type = body.media_type.partition(";")[0].strip().lower()
    if media_type.startswith("multipart/") and isinstance(value, Mapping):
        parts.files = [part for name, item in value.items() for part in _write_part(name, item, body)]
        return
    if is_json(media_type):
        media_type = "application/json" if "*" in media_type else media_type
        parts.content = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    elif media_type == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        pairs = [pair for name, item in value.items() for pair in _write_field(name, item, body)]
        parts.content = "&".join(f"{name}={text}" for name, text in pairs).encode()
    elif media_type.startswith("text/"):
        parts.content = _text(value).encode("utf-8", "surrogatepass")
        media_type = f"{media_type}; charset=utf-8"
    else:
        parts.content = _decode(value, body.key or "body")
        media_type = "application/octet-stream" if "*" in media_type else media_type
    parts.headers["Content-Type"] = media_type


def _write_field(name: str, value: Any, body: RequestBody) -> Pairs:
    if isinstance(value, Mapping) and name not in body.styles:
        return [(_encode(name), _encode(_text(value)))]
    style, explode = body.styles.get(name, ("form", True))
    argument = RequestArgument(
        key=name, place="query", name=name, schema={}, required=False, style=style, explode=explode
    )
    return _write_pairs(argument, value)


def _write_part(name: str, value: Any, body: RequestBody) -> Iterable[tuple[str, tuple[str | None, bytes, str | None]]]:
    """Return the parts of a multipart body for one property: a file, a text, or several for a list."""
    if name in body.files:
        for item in value if isinstance(value, list) else [value]:
            yield name, (name, _decode(item, name), "application/octet-stream")
    elif isinstance(value, list):
        for item in value:
            yield from _write_part(name, item, body)
    elif isinstance(value, Mapping):
        yield name, (None, json.dumps(value, ensure_ascii=False).encode(), "application/json")
    else:
        yield name, (None, _text(value).encode("utf-8", "surrogatepass"), None)


def _decode(value: Any, key: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise BadArgs(Problem("expected bytes in base64", [key])) from None
