"""
A request from the arguments of a call: each value is written in the place and in the style that the document states.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
            parts.query += [(_encode(name), _encode(_text(item))) for name, item in _iter_items(value)]
        elif argument.place == "header":
            parts.headers[argument.name] = _write_header(argument, value)
        else:
            parts.cookies += _write_pairs(argument, value)
    if inputs.body is not None:
        _write_body(parts, inputs.body, arguments)
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


def _iter_items(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else ()


def _list_texts(value: Any) -> list[str]:
    """Return the items of a list, or the names and values of an object in turn."""
    if isinstance(value, Mapping):
        return [_text(part) for item in value.items() for part in item]
    return [_text(item) for item in value]


def _refuse_delimiter(argument: RequestArgument, texts: Iterable[str], delimiter: str) -> None:
    """Raise `BadArgs` if one of *texts* has *delimiter*, which would end it for the server."""
    if any(delimiter in text for text in texts):
        raise BadArgs(Problem(f"{delimiter!r} separates items here, so no item can have it", [argument.key]))


def _is_single(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _join(value: Any, separator: str, *, explode: bool, safe: str = "") -> str:
    """Return a list or an object, encoded and joined by *separator*; an object as `name=value` if *explode*."""
    texts = [_encode(text, safe=safe) for text in _list_texts(value)]
    if explode and isinstance(value, Mapping):
        texts = [f"{name}={text}" for name, text in zip(texts[::2], texts[1::2], strict=True)]
    return separator.join(texts)


def _write_path(argument: RequestArgument, value: Any) -> str:
    if argument.is_json:
        return _encode(json.dumps(value, ensure_ascii=False))
    name, explode = _encode(argument.name), argument.explode
    if argument.style == "matrix":
        if _is_single(value):
            return f";{name}={_encode(_text(value))}"
        if not explode:
            return f";{name}={_join(value, ',', explode=False)}"
        if isinstance(value, Mapping):
            return f";{_join(value, ';', explode=True)}"
        return "".join(f";{name}={_encode(text)}" for text in _list_texts(value))
    if argument.style == "label":
        if not _is_single(value) and explode:
            _refuse_delimiter(argument, _list_texts(value), ".")
            return f".{_join(value, '.', explode=True)}"
        return f".{_encode(_text(value)) if _is_single(value) else _join(value, ',', explode=False)}"
    return _encode(_text(value)) if _is_single(value) else _join(value, ",", explode=explode)


def _write_header(argument: RequestArgument, value: Any) -> str:
    """Return the value of a header, which is not percent-encoded."""
    if argument.is_json:
        text = json.dumps(value)
    elif _is_single(value):
        text = _text(value)
    else:
        texts = _list_texts(value)
        _refuse_delimiter(argument, texts, ",")
        if argument.explode and isinstance(value, Mapping):
            _refuse_delimiter(argument, value, "=")
            texts = [f"{name}={item}" for name, item in zip(texts[::2], texts[1::2], strict=True)]
        text = ",".join(texts)
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
    if _is_single(value):
        return [(name, _encode(_text(value), safe=safe))]
    if argument.style == "deepObject":
        return list(_write_deep(name, value, safe))
    if argument.explode and argument.style == "form":
        if isinstance(value, Mapping):
            return [(_encode(key), _encode(_text(item), safe=safe)) for key, item in value.items()]
        return [(name, _encode(text, safe=safe)) for text in _list_texts(value)]
    if delimiter := _DELIMITERS.get(argument.style):
        _refuse_delimiter(argument, _list_texts(value), delimiter)
    return [(name, _join(value, _encode(delimiter) if delimiter else ",", explode=False, safe=safe.replace(",", "")))]


def _write_deep(name: str, value: Any, safe: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _write_deep(f"{name}[{_encode(key)}]", item, safe)
    elif isinstance(value, list):
        for item in value:
            yield name, _encode(_text(item), safe=safe)
    else:
        yield name, _encode(_text(value), safe=safe)


def _write_body(parts: RequestParts, body: RequestBody, arguments: Mapping[str, Any]) -> None:
    if body.key is None:
        value: Any = {name: arguments[key] for key, name in body.properties.items() if key in arguments}
        is_empty = not value
    elif body.key in arguments:
        value = arguments[body.key]
        is_empty = value is None
    else:
        return
    if is_empty and not is_json(body.media_type):
        return
    media_type = body.media_type.partition(";")[0].strip().lower()
    if media_type.startswith("multipart/") and isinstance(value, Mapping):
        parts.files = [part for name, item in _iter_items(value) for part in _write_part(name, item, body)]
        return
    if is_json(media_type):
        media_type = "application/json" if "*" in media_type else media_type
        parts.content = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    elif media_type == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        pairs = [pair for name, item in _iter_items(value) for pair in _write_field(name, item, body)]
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
