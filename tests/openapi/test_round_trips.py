"""
Arguments that were drawn arrive as they were drawn, in every place and style.
"""

from __future__ import annotations

import base64
import email
import json
from functools import cache
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .kit import call, dispatcher_for, document

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
HEADER_TEXTS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
NUMBERS = st.integers(-(10**9), 10**9)
SCHEMAS = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "list": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "object": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
}


def draw(data, kind, texts):
    values = {
        "text": texts.filter(lambda text: text not in (".", "..")),
        "number": NUMBERS,
        "list": st.lists(texts, min_size=1, max_size=3),
        "object": st.dictionaries(texts, texts, min_size=1, max_size=3),
    }
    return data.draw(values[kind])


@cache
def api(place, style, explode, kind):
    parameter = {"name": "value", "in": place, "required": True, "style": style, "explode": explode}
    path = "/things/{value}" if place == "path" else "/things"
    return dispatcher_for(
        document({f"get {path}": {"operationId": "send", "parameters": [{**parameter, "schema": SCHEMAS[kind]}]}})
    )


def send(place, style, explode, kind, value):
    return api(place, style, explode, kind).call_sync("send", {"value": value}).unwrap()


def unite(items):
    return dict(zip(items[::2], items[1::2], strict=True))


def read_items(items, kind, explode):
    """Return the value from its parts, which are still encoded."""
    if kind == "object":
        pairs = [item.split("=") for item in items] if explode else zip(items[::2], items[1::2], strict=True)
        return {unquote(name): unquote(text) for name, text in pairs}
    return [unquote(item) for item in items]


def as_kind(text, kind):
    return int(text) if kind == "number" else text


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("explode", [False, True])
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@given(data=st.data())
def test_a_path_arrives(style, explode, kind, data):
    value = draw(data, kind, TEXTS)
    step = send("path", style, explode, kind, value)["path"].rpartition("/")[2]
    if style == "matrix" and not (kind == "object" and explode):
        names, texts = zip(*(part.split("=", 1) for part in step[1:].split(";")), strict=True)
        assert set(names) == {"value"}
        items = list(texts) if explode else texts[0].split(",")
    else:
        separator = {"simple": ",", "label": ".", "matrix": ";"}[style] if explode or style == "matrix" else ","
        body = step if style == "simple" else step[1:]
        if style == "label" and explode:
            # A dot in a value cannot be told from a separator: the standard has no way to write it.
            items = body.split(separator)
            if "." in unquote(json.dumps(value)).replace("...", ""):
                return
        else:
            items = body.split(separator)
    if kind in ("text", "number"):
        assert as_kind(unquote(",".join(items) if style != "matrix" else items[0]), kind) == value
    else:
        assert read_items(items, kind, explode) == value


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize(
    ("style", "explode", "separator"),
    [("form", True, "&"), ("form", False, ","), ("spaceDelimited", False, "%20"), ("pipeDelimited", False, "%7C")],
)
@given(data=st.data())
def test_a_query_arrives(style, explode, separator, kind, data):
    value = draw(data, kind, TEXTS.filter(lambda text: not set(text) & {" ", "|"}))
    query = send("query", style, explode, kind, value)["query"]
    pairs = [part.split("=", 1) for part in query.split("&")]
    if kind in ("text", "number"):
        assert as_kind(unquote(pairs[0][1]), kind) == value
    elif explode:
        assert read_items([text for _, text in pairs] if kind == "list" else query.split("&"), kind, True) == value
    else:
        assert read_items(pairs[0][1].split(separator), kind, False) == value


@given(
    value=st.dictionaries(TEXTS, TEXTS | st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=2), min_size=1, max_size=3)
)
def test_a_deep_object_arrives(value):
    schema = {"type": "object"}
    parameter = {"name": "value", "in": "query", "style": "deepObject", "explode": True, "schema": schema}
    data = document({"get /things": {"operationId": "send", "parameters": [parameter]}})
    query = call(data, "send", {"value": value}).unwrap()["query"]
    read = {}
    for pair in query.split("&"):
        name, _, text = pair.partition("=")
        steps = [unquote(step.rstrip("]")) for step in name.split("[")[1:]]
        target = read
        for step in steps[:-1]:
            target = target.setdefault(step, {})
        target[steps[-1]] = unquote(text)
    assert read == value


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("explode", [False, True])
@given(data=st.data())
def test_a_header_arrives(explode, kind, data):
    value = draw(data, kind, HEADER_TEXTS.filter(lambda text: not set(text) & {",", "="}))
    text = send("header", "simple", explode, kind, value)["headers"]["value"]
    if kind in ("text", "number"):
        assert as_kind(text, kind) == value
    else:
        items = text.split(",")
        expected = value if kind == "list" else None
        if kind == "object":
            assert (dict(item.split("=", 1) for item in items) if explode else unite(items)) == value
        else:
            assert items == expected


@given(value=TEXTS)
def test_a_cookie_arrives(value):
    cookie = send("cookie", "form", True, "text", value)["headers"]["cookie"]
    name, _, text = cookie.partition("=")
    assert (name, unquote(text)) == ("value", value)


def body_document(media_type, schema, encoding=None):
    content = {media_type: {"schema": schema, **({"encoding": encoding} if encoding else {})}}
    return document({"post /things": {"operationId": "send", "requestBody": {"required": True, "content": content}}})


FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
}
FORMS = st.fixed_dictionaries({"name": TEXTS}, optional={"tags": st.lists(TEXTS, min_size=1, max_size=3)})


@given(
    value=st.recursive(
        st.none() | st.booleans() | NUMBERS | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_a_json_body_arrives(value):
    result = call(body_document("application/json", {}), "send", {"body": value}).unwrap()
    assert json.loads(base64.b64decode(result["body"])) == value
    assert result["headers"]["content-type"] == "application/json"


@given(value=FORMS)
def test_a_form_arrives(value):
    result = call(body_document("application/x-www-form-urlencoded", FORM), "send", value).unwrap()
    pairs = parse_qsl(base64.b64decode(result["body"]).decode(), keep_blank_values=True, strict_parsing=True)
    assert [text for name, text in pairs if name == "name"] == [value["name"]]
    assert [text for name, text in pairs if name == "tags"] == value.get("tags", [])


@given(name=TEXTS, content=st.binary(max_size=50))
def test_a_multipart_body_arrives(name, content):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
    }
    arguments = {"name": name, "file": base64.b64encode(content).decode()}
    result = call(body_document("multipart/form-data", schema), "send", arguments).unwrap()
    header = f"Content-Type: {result['headers']['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(header + base64.b64decode(result["body"]))
    parts = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message.get_payload()
    }
    raw = base64.b64decode(result["body"])
    assert content in raw
    assert parts.keys() == {"name", "file"}
    assert name.encode() in raw


@given(content=st.binary(max_size=50))
def test_bytes_arrive(content):
    result = call(
        body_document("application/octet-stream", {}), "send", {"body": base64.b64encode(content).decode()}
    ).unwrap()
    assert base64.b64decode(result["body"]) == content


@given(value=TEXTS)
def test_a_text_body_arrives(value):
    result = call(body_document("text/plain", {"type": "string"}), "send", {"body": value}).unwrap()
    assert base64.b64decode(result["body"]).decode() == value
