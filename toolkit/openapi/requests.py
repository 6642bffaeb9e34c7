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
from urllib.parse import quote, unquote

from ..errors import BadArgs, Problem
from .parameters import Inputs, RequestArgument, RequestBody, is_json

__all__ = ["RequestParts", "build_request_parts"]

Pairs: TypeAlias = list[tuple[str, str]]

_encode = partial(quote, safe="")

_SAFE_RESERVED = ":/?@!$'()*,;[]"
"""The reserved characters that cannot be mistaken for the end of a value."""

_SAFE_IN_COOKIES = "!#$&'()*+/:<=>?@[]^`{|}"
"""What a cookie can hold. It is not encoded there, because many servers do not decode it. `,` separates items."""

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
"""What separates the items of a list. An item cannot have it, because it is encoded in the same way."""

_QUERY_STRING = RequestBody(media_type="application/x-www-form-urlencoded", key=None)
"""How a parameter is written that is the whole query."""


@dataclass(slots=True)
class RequestParts:
    """
    The parts of a request.

    Attributes:
        path: The path, with the arguments in it, percent-encoded.
        query: The names and values of the query, percent-encoded.
        files: The parts of a multipart body: the name, and the file name, content and media type.
        secrets: The keys among the other parts.
    """

    path: str
    query: Pairs = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: Pairs = field(default_factory=list)
    content: bytes | None = None
    files: list[tuple[str, tuple[str | None, bytes, str | None]]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)

    @property
    def query_text(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.query)


def build_request_parts(path: str, inputs: Inputs, arguments: Mapping[str, Any]) -> RequestParts:
    """Return the parts of the request for *arguments*, or raise `BadArgs` if one cannot be written where it belongs."""
    parts = RequestParts(path)
    for argument in inputs.arguments:
        if argument.key in arguments and not _is_left_out(argument, arguments[argument.key]):
            _write_argument(parts, inputs, argument, arguments[argument.key])
    if inputs.body is not None:
        _write_body(parts, inputs, inputs.body, arguments)
    return parts


def _refusal(argument: RequestArgument, words: str, *path: str | int) -> BadArgs:
    """Return the error for a value that would arrive as another one."""
    style = "JSON" if argument.is_json else f"style `{argument.style}`"
    where = f"in the {argument.place} parameter `{argument.name}` ({style})"
    return BadArgs(Problem(words.format(where=where), [argument.key, *path]))


def _is_left_out(argument: RequestArgument, value: Any) -> bool:
    """Return whether *value* is sent by leaving it out: null or empty. The standard has no form for either."""
    if argument.is_json or not (value is None or value in ([], {})):
        return False
    default = argument.schema.get("default", value) if isinstance(argument.schema, Mapping) else value
    if argument.required or default != value:
        kind = "null" if value is None else "an empty list" if value == [] else "an empty object"
        remedy = "give a value" if argument.required else "give a value, or leave it out for the server's default"
        raise _refusal(argument, f"{kind} cannot be written {{where}}; {remedy}")
    return True


def _write_argument(parts: RequestParts, inputs: Inputs, argument: RequestArgument, value: Any) -> None:
    if argument.place == "path":
        text = _write_path(argument, value)
        if not text:
            raise _refusal(argument, "an empty text {where} would name another address; give a value")
        parts.path = parts.path.replace(f"{{{argument.name}}}", text)
        if any(step in (".", "..") for step in parts.path.split("/")):
            raise _refusal(argument, "`.` and `..` {where} would name another address; give another value")
    elif argument.place == "header":
        parts.headers[argument.name] = _write_header(argument, value)
    elif argument.place == "cookie":
        parts.cookies += _write_pairs_beside(inputs, argument, value)
    else:
        parts.query += _write_pairs_beside(inputs, argument, value)


def _write_pairs_beside(inputs: Inputs, argument: RequestArgument, value: Any) -> Pairs:
    """Return the pairs of *value*, or raise `BadArgs` if a name in it is that of another parameter or a credential."""
    if argument.place == "querystring":
        if not isinstance(value, Mapping):
            raise _refusal(argument, "only an object can stand {where}; give its names and values")
        fields = _iter_fields(_QUERY_STRING, value)
        pairs = [pair for field_argument, item in fields for pair in _write_pairs(field_argument, item)]
    else:
        pairs = _write_pairs(argument, value)
    place = "cookie" if argument.place == "cookie" else "query"
    for name in {unquote(name) for name, _ in pairs} - {argument.name}:
        if (place, name) in inputs.taken:
            raise _refusal(argument, "another parameter has this name, so none can have it {where}", name)
    return pairs


def _text(value: Any) -> str:
    """Return a single value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _join(value: Any, separator: str, *, explode: bool, encode: Callable[[str], str] = _encode) -> str:
    """Return *value* as text, its parts joined by *separator*; those of an object as `name=value` if *explode*."""
    if isinstance(value, Mapping):
        sign = "=" if explode else separator
        return separator.join(f"{encode(name)}{sign}{encode(_text(item))}" for name, item in value.items())
    return separator.join(encode(_text(item)) for item in (value if isinstance(value, list) else [value]))


def _check_items(argument: RequestArgument, value: Any, separator: str | None = None) -> None:
    """Raise `BadArgs` if an item is null, or if *separator* or, in a header, a space would make it another one."""
    is_object, is_header = isinstance(value, Mapping), argument.place == "header"
    items: Iterable[tuple[Any, Any]] = value.items() if is_object else enumerate(value)
    for key, item in items:
        texts = [key, _text(item)] if is_object else [_text(item)]
        if item is None:
            words = "null cannot be written {where}; leave it out"
        elif separator and any(separator in text for text in texts):
            words = f"`{separator}` separates items {{where}}; write each item without it"
        elif is_header and any(not text or text != text.strip() for text in texts):
            words = "no item can be empty, or have a space at its ends, {where}; write it without"
        elif is_header and is_object and argument.explode and "=" in key:
            words = "`=` ends a name {where}; write the name without it"
        else:
            continue
        raise _refusal(argument, words, key)


def _write_path(argument: RequestArgument, value: Any) -> str:
    if argument.is_json:
        return _encode(json.dumps(value, ensure_ascii=False))
    name, explode, style = _encode(argument.name), argument.explode, argument.style
    is_label, delimiter = style == "label" and explode, _DELIMITERS.get(style)
    if isinstance(value, Mapping | list):
        _check_items(argument, value, "." if is_label else delimiter)
    if style == "matrix":
        if explode and isinstance(value, list):
            return "".join(f";{name}={_encode(_text(item))}" for item in value)
        if explode and isinstance(value, Mapping):
            return f";{_join(value, ';', explode=True)}"
        return f";{name}={_join(value, ',', explode=False)}"
    if style == "label":
        return f".{_join(value, '.' if explode else ',', explode=explode)}"
    return _join(value, _encode(delimiter) if delimiter else ",", explode=explode)


def _write_header(argument: RequestArgument, value: Any) -> str:
    """Return the value of a header, which is not percent-encoded."""
    delimiter = _DELIMITERS.get(argument.style, ",")
    if isinstance(value, Mapping | list) and not argument.is_json:
        _check_items(argument, value, delimiter)
    text = json.dumps(value) if argument.is_json else _join(value, delimiter, explode=argument.explode, encode=str)
    plain = text.replace("\t", "") if delimiter == "\t" else text
    if not (plain.isascii() and plain.isprintable()) or text != text.strip():
        raise _refusal(argument, "only printable ASCII without a space at its ends can stand {where}; write it so")
    return text


def _write_pairs(argument: RequestArgument, value: Any) -> Pairs:
    """Return *value* as names and values of a query, of cookies or of a form."""
    name = _encode(argument.name, safe="[]")
    safe = _SAFE_RESERVED if argument.allow_reserved else ""
    if argument.place == "cookie":
        safe = _SAFE_IN_COOKIES
    encode = partial(_encode, safe=safe)
    if argument.is_json:
        return [(name, encode(json.dumps(value, ensure_ascii=False)))]
    if argument.style == "cookie":
        encode = partial(_check_cookie, argument)
    if argument.style == "deepObject":
        return list(_write_deep(argument, name, value, encode, ()))
    if not isinstance(value, Mapping | list):
        return [(name, encode(_text(value)))]
    delimiter = None if argument.explode else _DELIMITERS.get(argument.style)
    _check_items(argument, value, delimiter)
    if not argument.explode:
        if "," in safe:
            encode = partial(_encode, safe=safe.replace(",", ""))
        return [(name, _join(value, _encode(delimiter) if delimiter else ",", explode=False, encode=encode))]
    if isinstance(value, Mapping):
        for key in value if argument.place == "cookie" else ():
            if not key or (argument.style == "cookie" and _encode(key) != key):
                raise _refusal(argument, "no cookie has such a name, so no property can {where}; rename it", key)
        return [(_encode(key), encode(_text(item))) for key, item in value.items()]
    if argument.place == "cookie" and argument.style == "form" and len(value) > 1:
        raise _refusal(argument, "servers read one of several cookies of one name, so one item can stand {where}")
    return [(name, encode(_text(item))) for item in value]


def _check_cookie(argument: RequestArgument, text: str) -> str:
    """Return *text*, which the style `cookie` does not encode, if a cookie can hold it."""
    if _encode(text, safe=f"{_SAFE_IN_COOKIES}%") != text:
        raise _refusal(argument, 'only ASCII without space, `"`, `,`, `;` and `\\` can stand {where}; encode it')
    return text


def _write_deep(
    argument: RequestArgument, name: str, value: Any, encode: Callable[[str], str], path: tuple[str | int, ...]
) -> Iterable[tuple[str, str]]:
    """Yield *value* as pairs, with a name such as `a[b]` or `a[0]` for what stands in it; *path* is its place."""
    if value is None or value in ([], {}):
        raise _refusal(argument, "what is null or empty cannot be written {where}; leave it out", *path)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not key or "[" in key or "]" in key:
                raise _refusal(argument, "a name that is empty or has brackets cannot stand {where}", *path, key)
            yield from _write_deep(argument, f"{name}[{_encode(key)}]", item, encode, (*path, key))
    elif isinstance(value, list):  # the standard is silent; APIs that are described so, such as Stripe's, read numbers
        for index, item in enumerate(value):
            yield from _write_deep(argument, f"{name}[{index}]", item, encode, (*path, index))
    else:
        yield name, encode(_text(value))


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
        parts.files = [
            part for argument, item in _iter_fields(body, value) for part in _write_part(argument, item, body)
        ]
        return
    if is_json(media_type):
        media_type = "application/json" if "*" in media_type else media_type
        parts.content = json.dumps(value, ensure_ascii=False).encode()
    elif media_type == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        pairs = [pair for argument, item in _iter_fields(body, value) for pair in _write_pairs(argument, item)]
        parts.content = "&".join(f"{name}={text}" for name, text in pairs).encode()
    elif media_type.startswith("text/"):
        parts.content = _text(value).encode()
        media_type = f"{media_type}; charset=utf-8"
    else:
        parts.content = _decode(value, body.key or "body")
        media_type = "application/octet-stream" if "*" in media_type else media_type
    parts.headers["Content-Type"] = media_type


def _iter_fields(body: RequestBody, fields: Mapping[str, Any]) -> Iterable[tuple[RequestArgument, Any]]:
    """Yield each of *fields* that is sent. An object is JSON unless the document gives it a style."""
    for name, value in fields.items():
        style, explode = body.styles.get(name, ("form", True))
        argument = RequestArgument(
            key=name,
            place="form",
            name=name,
            schema=body.properties.get(name),
            required=name in body.required,
            style=style,
            explode=explode,
            is_json=isinstance(value, Mapping) and name not in body.styles,
        )
        if not _is_left_out(argument, value):
            yield argument, value


def _write_part(
    argument: RequestArgument, value: Any, body: RequestBody
) -> Iterable[tuple[str, tuple[str | None, bytes, str | None]]]:
    """Yield the parts of a multipart body for one property: a file, a text, or several for a list."""
    name = argument.name
    if name in body.files and isinstance(value, str | list):
        for item in value if isinstance(value, list) else [value]:
            yield name, (name, _decode(item, name), "application/octet-stream")
    elif name in body.styles and isinstance(value, Mapping | list):
        if not argument.explode:
            _check_items(argument, value, _DELIMITERS.get(argument.style, ","))
        for key, text in _write_pairs(argument, value):
            yield unquote(key), (None, unquote(text).encode(), None)
    else:
        items = value if isinstance(value, list) else [value]
        _check_items(argument, items)
        for item in items:
            yield name, (None, _text(item).encode(), "application/json" if isinstance(item, Mapping | list) else None)


def _decode(value: Any, key: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise BadArgs(Problem("expected bytes in base64", [key])) from None
