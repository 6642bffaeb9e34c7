"""
A value in every place and style arrives as it was drawn, read back by the rules of the style, or nothing is sent.
"""

from __future__ import annotations

import base64
import email
import json
import re
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit import Catalog
from toolkit.errors import ToolkitWarning

from .kit import call, document, echo

DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
STYLES = {
    "path": ["simple", "label", "matrix", *DELIMITERS],
    "query": ["form", "deepObject", *DELIMITERS],
    "header": ["simple", *DELIMITERS],
    "cookie": ["form", "cookie"],
    "form": ["form", "deepObject", *DELIMITERS],
    "multipart": ["form", "deepObject", *DELIMITERS],
}
TEXTS = st.text("ab .,;|=&%/[]{}\"\\+ä\t?#:@'~", max_size=4) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
SCALARS = {
    "string": TEXTS,
    "integer": st.integers(-(10**6), 10**6),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
}


@st.composite
def schemas_and_values(draw, depth=0):
    """Draw a schema, and a value for it. What stands deeper than a list or an object is JSON in most styles."""
    kind = draw(st.sampled_from([*SCALARS, "array", "object"] if depth < 2 else list(SCALARS)))
    if kind in SCALARS:
        schema, value = {"type": kind}, draw(SCALARS[kind])
    else:
        item_schema, item = draw(schemas_and_values(depth + 1))
        items = draw(st.lists(st.just(item) | SCALARS.get(item_schema["type"][0], st.nothing()), max_size=3))
        schema = {"type": kind, ("items" if kind == "array" else "additionalProperties"): item_schema}
        names = st.lists(TEXTS, min_size=len(items), max_size=len(items), unique=True)
        value = items if kind == "array" else dict(zip(draw(names), items, strict=True))
    is_null = draw(st.integers(0, 9)) == 0
    return {**schema, "type": [schema["type"], "null"]}, None if is_null else value


def read_sent(place, style, explode, schema, request):
    """Return the value in *request*, or None if it has none."""
    kind = schema["type"][0]
    decode = str if place in ("header", "multipart") or style == "cookie" else unquote
    if place in ("path", "header"):
        text = request["path"].removeprefix("/v1/x/") if place == "path" else request["headers"].get("value")
        return None if text is None else _read_text(place, style, explode, schema, text, decode)
    pairs = _list_pairs(place, request)
    if not pairs:
        return None
    if style == "deepObject":
        return _read_deep(schema, [(decode(name), decode(text)) for name, text in pairs])
    if explode and kind == "object":
        return {decode(name): _read_typed(schema["additionalProperties"], decode(text)) for name, text in pairs}
    texts = [text for name, text in pairs if name == "value"]
    if explode and kind == "array":
        return [_read_typed(schema["items"], decode(text)) for text in texts]
    (text,) = texts
    return _read_text(place, style, explode, schema, text, decode)


def _list_pairs(place, request):
    if place == "cookie":
        return [pair.split("=", 1) for pair in request["headers"].get("cookie", "").split("; ") if pair]
    body = base64.b64decode(request["body"])
    if place != "multipart":
        text = request["query"] if place == "query" else body.decode()
        return [pair.split("=", 1) for pair in text.split("&") if pair]
    header = f"Content-Type: {request['headers'].get('content-type', '')}\n\n".encode()
    message = email.message_from_bytes(header + body)
    parts = message.get_payload() if body else []
    names = [re.search('name="(.*?)"', part["content-disposition"], re.DOTALL)[1] for part in parts]
    return [(name, part.get_payload(decode=True).decode()) for name, part in zip(names, parts, strict=True)]


def _read_text(place, style, explode, schema, text, decode):
    kind, separator = schema["type"][0], DELIMITERS.get(style, ",")
    separator = separator if decode is str or separator == "," else {" ": "%20", "|": "%7C", "\t": "%09"}[separator]
    if style == "label":
        text, separator = text[1:], "." if explode else ","
    if style == "matrix":
        separator = ";" if explode else ","
        text = text[1:] if explode and kind in ("array", "object") else text.removeprefix(";value=")
    if kind in SCALARS:
        return _read_typed(schema, decode(text))
    items = text.split(separator)
    if kind == "array":
        if style == "matrix" and explode:
            items = [item.removeprefix("value=") for item in items]
        return [_read_typed(schema["items"], decode(item)) for item in items]
    pairs = [item.split("=", 1) for item in items] if explode else zip(items[::2], items[1::2], strict=True)
    return {decode(name): _read_typed(schema["additionalProperties"], decode(item)) for name, item in pairs}


def _read_typed(schema, text):
    return text if schema["type"][0] == "string" else json.loads(text)


def _read_deep(schema, pairs):
    """Return the object that names such as `value[a][b]` spell, as servers read them after decoding."""
    kind = schema["type"][0]
    if kind in SCALARS:
        return _read_typed(schema, pairs[0][1])
    groups = {}
    for name, text in pairs:
        _, key, rest = re.fullmatch(r"([^\[]*)\[([^\[\]]+)\](.*)", name, re.DOTALL).groups()
        groups.setdefault(key, []).append((f"value{rest}", text))
    if kind == "array":
        return [_read_deep(schema["items"], groups[str(index)]) for index in range(len(groups))]
    return {key: _read_deep(schema["additionalProperties"], group) for key, group in groups.items()}


def is_plain(value):
    """Return whether *value* can be written in every style: letters, nothing null, nothing empty."""
    if isinstance(value, dict):
        return bool(value) and all(is_plain(name) and is_plain(item) for name, item in value.items())
    if isinstance(value, list):
        return bool(value) and all(map(is_plain, value))
    return isinstance(value, bool | int) or (isinstance(value, str) and re.fullmatch("[ab]+", value))


def list_names(value):
    """Return the names in *value*, at every level."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*(value if isinstance(value, dict) else ()), *(name for item in inner for name in list_names(item))]


def operation_for(place, style, explode, schema, required):
    """Return a document with one operation, whose argument `value` is *schema* in *place*."""
    form = {"style": style, "explode": explode}
    if place in ("form", "multipart"):
        media_type = "application/x-www-form-urlencoded" if place == "form" else "multipart/form-data"
        whole = {"type": "object", "properties": {"value": schema}, "required": ["value"] * required}
        content = {media_type: {"schema": whole, "encoding": {"value": form}}}
        return document({"post /x": {"operationId": "send", "requestBody": {"required": True, "content": content}}})
    parameter = {"name": "value", "in": place, "required": required, "schema": schema, **form}
    return document(
        {f"get /x{'/{value}' if place == 'path' else ''}": {"operationId": "send", "parameters": [parameter]}}
    )


@pytest.mark.parametrize("place", STYLES)
@given(data=st.data(), explode=st.booleans(), required=st.booleans())
def test_a_value_arrives_exactly_or_is_refused_before_anything_is_sent(place, data, explode, required):
    style = data.draw(st.sampled_from(STYLES[place]))
    schema, value = data.draw(schemas_and_values())
    # Names that are spread over a form, and brackets of a name in multipart, are the server's to tell apart.
    assume(place != "multipart" or all(map(is_plain, list_names(value))))
    requests = []

    async def app(scope, receive, send):
        requests.append(scope)
        await echo(scope, receive, send)

    result = call(operation_for(place, style, explode, schema, required), "send", {"value": value}, app=app)

    if result.kind == "bad_args":
        assert requests == []
        assert re.match(r"error: invalid arguments: value.*`value` \(style `\w+`\)", result.text, re.DOTALL)
        is_list_of_cookies = (place, style, explode) == ("cookie", "form", True) and isinstance(value, list)
        # JSON in a list has commas and quotes, which these places cannot hold.
        is_joined = place in ("header", "cookie") or (place, explode) == ("multipart", False)
        is_nested = is_joined and sum(map(json.dumps(value).count, "[{")) > 1
        assert not is_plain(value) or is_list_of_cookies or is_nested
    else:
        arrived = read_sent(place, style, explode, schema, result.unwrap())
        if value in (None, [], {}):
            assert arrived is None
            assert not required
        else:
            assert arrived == value


@pytest.mark.parametrize(
    ("place", "style", "kind", "value", "words"),
    [
        (
            *("query", "spaceDelimited", "array", ["a", "b c"]),
            "value[1]: ` ` separates items in the query parameter `value` (style `spaceDelimited`); write each item",
        ),
        (
            *("query", "spaceDelimited", "object", {"a": "b c"}),
            "value.a: ` ` separates items in the query parameter `value` (style `spaceDelimited`); write each item",
        ),
        (
            *("header", "simple", "string", "ä"),
            "value: only printable ASCII without a space at its ends can stand in the header parameter `value` (style",
        ),
        (
            *("header", "simple", "array", ["d/e", "f,g"]),
            "value[1]: `,` separates items in the header parameter `value` (style `simple`); write each item without",
        ),
        (
            *("header", "simple", "array", ["ä", "&"]),
            "value: only printable ASCII without a space at its ends can stand in the header parameter `value` (style",
        ),
        (
            *("header", "simple", "object", {"g": "h,i"}),
            "value.g: `,` separates items in the header parameter `value` (style `simple`); write each item without",
        ),
        (
            *("query", "form", "array", []),
            "value: an empty list cannot be written in the query parameter `value` (style `form`); give a value",
        ),
        (
            *("query", "deepObject", "object", {"a": {"b]": 1}}),
            "brackets cannot stand in the query parameter `value` (style `deepObject`)",
        ),
    ],
)
def test_a_refusal_names_the_parameter_the_style_and_the_remedy(place, style, kind, value, words):
    data = operation_for(place, style, False, {"type": kind}, True)
    result = call(data, "send", {"value": value})
    assert result.kind == "bad_args"
    assert words in result.text


def test_null_is_refused_if_omission_means_another_value():
    schema = {"type": ["integer", "null"], "default": 5}
    result = call(operation_for("query", "form", True, schema, False), "send", {"value": None})
    assert "give a value, or leave it out for the server's default" in result.text


@pytest.mark.parametrize("name", ["page", "key"])
def test_a_property_cannot_take_the_name_of_another_parameter_or_of_a_credential(name):
    parameters = [
        {"name": "filter", "in": "query", "schema": {"type": "object"}},
        {"name": "page", "in": "query", "schema": {"type": "integer"}},
    ]
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"}}}
    data = document({"get /x": {"operationId": "send", "parameters": parameters}}, components=schemes)
    result = call(data, "send", {"filter": {name: "1"}, "page": 2})
    assert result.kind == "bad_args"
    assert f"filter.{name}: another parameter has this name" in result.text


def test_a_parameter_that_is_the_whole_query_is_a_form():
    content = {"application/x-www-form-urlencoded": {"schema": {"type": ["object", "string"]}}}
    parameter = {"name": "search", "in": "querystring", "content": content}
    data = document({"get /x": {"operationId": "send", "parameters": [parameter]}}, "3.2.0")
    sent = call(data, "send", {"search": {"words": ["a", "b"], "where": {"c": 1}}}).unwrap()
    assert sent["query"] == "words=a&words=b&where=%7B%22c%22%3A%201%7D"
    assert call(data, "send", {"search": "words=a"}).kind == "bad_args"
    parameter["content"] = {"application/json": {"schema": {"type": "object"}}}
    with pytest.warns(ToolkitWarning, match="a query that is JSON as a whole is not supported"):
        Catalog.from_openapi(data, base_url="https://a.example")


def test_a_path_needs_exactly_the_parameters_in_its_braces():
    """This holds even if the document does not describe them. Braces would be sent unchanged otherwise."""
    parameters = [{"name": "other", "in": "path", "required": True, "schema": {"type": "string"}}]
    data = document({"get /x/{id}": {"operationId": "send", "parameters": parameters}})
    assert call(data, "send", {"id": "a"}).unwrap()["path"] == "/v1/x/a"


@pytest.mark.parametrize(
    ("collection_format", "sent"), [(None, "a,b"), ("ssv", "a b"), ("pipes", "a|b"), ("tsv", "a\tb")]
)
def test_lists_of_swagger_have_their_delimiter_in_every_place(collection_format, sent):
    kind = {"type": "array", "items": {"type": "string"}}
    kind |= {"collectionFormat": collection_format} if collection_format else {}
    places = [{"name": place, "in": place, "required": True, **kind} for place in ("path", "header", "query")]
    form = {"name": "form", "in": "formData", **kind}
    data = document({"post /x/{path}": {"operationId": "send", "parameters": [*places, form]}}, "2.0")
    request = call(data, "send", dict.fromkeys(("path", "header", "query", "form"), ["a", "b"])).unwrap()
    assert unquote(request["path"]) == f"/v1/x/{sent}"
    assert request["headers"]["header"] == sent
    assert unquote(request["query"]) == f"query={sent}"
    assert unquote(base64.b64decode(request["body"]).decode()) == f"form={sent}"


def test_a_list_of_objects_in_a_deep_object_has_numbers():
    schema = {"type": "array", "items": {"type": "object"}}
    items = [{"price": "p1", "quantity": 2}, {"price": "p2", "tags": ["a", "b"]}]
    sent = call(operation_for("form", "deepObject", True, schema, True), "send", {"value": items}).unwrap()
    assert base64.b64decode(sent["body"]).decode().split("&") == [
        *("value[0][price]=p1", "value[0][quantity]=2", "value[1][price]=p2"),
        *("value[1][tags][0]=a", "value[1][tags][1]=b"),
    ]
