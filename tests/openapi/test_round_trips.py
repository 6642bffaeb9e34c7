"""
Arguments that were drawn arrive at a FastAPI application as they were drawn, in every place and style, or are refused.
"""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Dispatcher
from toolkit.safety import SafetyChecks

from .styles_app import PARAMETERS, build_app, serving

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORDS = TEXTS.filter(bool)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]"), min_size=1, max_size=8)
ITEMS = st.lists(WORDS, min_size=1, max_size=3)
NUMBERS = st.integers(-(10**9), 10**9)
TREES = st.recursive(
    st.fixed_dictionaries({"name": TEXTS}).map(lambda tree: {**tree, "children": []}),
    lambda trees: st.fixed_dictionaries({"name": TEXTS, "children": st.lists(trees, max_size=3)}),
    max_leaves=6,
)
JSON = st.recursive(
    st.booleans() | NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(st.none() | inner, max_size=3) | st.dictionaries(TEXTS, st.none() | inner, max_size=3),
    max_leaves=8,
)
CONTENTS = st.binary(max_size=50).map(lambda content: base64.b64encode(content).decode())
VALUES = {
    "text": TEXTS,
    "number": NUMBERS,
    "list": ITEMS,
    "object": st.dictionaries(WORDS, WORDS, min_size=1, max_size=3),
}
HEADER_TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)


@pytest.fixture(scope="module")
def api():
    """A dispatcher for the operations of the application, as its own document describes them."""
    app = build_app()
    with serving(app) as address:
        app.servers = [{"url": address}]
        catalog = Catalog.from_openapi(f"{address}/openapi.json")
        assert not catalog.refused
        dispatcher = Dispatcher(catalog, safety=SafetyChecks(allowed_hosts=[address.removeprefix("http://")]))
        yield dispatcher
        dispatcher.close()


def list_texts(value):
    """Return the texts that *value* consists of."""
    if isinstance(value, dict):
        return [text for item in value.items() for text in item]
    return value if isinstance(value, list) else [str(value)]


def can_be_written(parameter, value):
    """Return whether the standard has a form for *value* that cannot be read in another way."""
    texts = list_texts(value)
    is_single = parameter.kind in ("text", "number")
    if parameter.place == "path":
        if parameter.style == "label" and not is_single and parameter.explode:
            return not any("." in text for text in texts)
        step = value if parameter.style == "simple" else f".{value}"
        return not is_single or parameter.style == "matrix" or (value != "" and step not in (".", ".."))
    if parameter.place == "header":
        names = value if parameter.kind == "object" and parameter.explode else ()
        return (
            all(text.isascii() and text.isprintable() and text == text.strip() for text in texts)
            and (is_single or not any("," in text for text in texts))
            and not any("=" in name for name in names)
        )
    if parameter.style == "deepObject":
        return not any(sign in name for name in value for sign in "[]")
    delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style)
    return is_single or delimiter is None or not any(delimiter in text for text in texts)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
@given(data=st.data())
def test_a_parameter_arrives_or_is_refused(api, parameter, data):
    value = data.draw(VALUES[parameter.kind])
    result = api.call_sync(str(parameter), {"value": value})
    if can_be_written(parameter, value):
        assert result.unwrap() == {"value": value}
    else:
        assert result.kind == "bad_args"
        assert "value" in result.text


@pytest.mark.parametrize("parameter", [entry for entry in PARAMETERS if entry.place == "header"], ids=str)
@given(data=st.data())
def test_printable_texts_arrive_in_headers_or_are_refused(api, parameter, data):
    """Few texts that are drawn from all characters can be in a header."""
    texts = HEADER_TEXTS.filter(bool)
    values = {
        "text": HEADER_TEXTS,
        "number": NUMBERS,
        "list": st.lists(texts, min_size=1, max_size=3),
        "object": st.dictionaries(texts, texts, min_size=1, max_size=3),
    }
    value = data.draw(values[parameter.kind])
    result = api.call_sync(str(parameter), {"value": value})
    if can_be_written(parameter, value):
        assert result.unwrap() == {"value": value}
    else:
        assert result.kind == "bad_args"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tree", TREES),
        ("json", st.fixed_dictionaries({"value": JSON})),
        ("form", st.fixed_dictionaries({"name": WORDS, "tags": ITEMS})),
        (
            "files",
            st.fixed_dictionaries(
                {"name": WORDS, "file": CONTENTS, "more": st.lists(CONTENTS, min_size=1, max_size=3)}
            ),
        ),
        ("text", st.fixed_dictionaries({"body": TEXTS})),
        ("bytes", st.fixed_dictionaries({"body": CONTENTS})),
    ],
)
@given(data=st.data())
def test_a_body_arrives(api, name, arguments, data):
    value = data.draw(arguments)
    assert api.call_sync(name, value).unwrap() == value


@given(value=st.text("!#$&'()*+-./:<=>?@[]^_`{|}~aZ09", min_size=1))
def test_a_cookie_that_needs_no_code_arrives_at_a_server_that_decodes_none(api, value):
    assert api.call_sync("session", {"value": value}).unwrap() == {"value": value}


@given(value=st.dictionaries(NAMES, WORDS | st.dictionaries(NAMES, WORDS, min_size=1, max_size=2), min_size=1))
def test_a_deep_object_arrives_with_its_inner_objects(api, value):
    assert api.call_sync("query_deepObject_exploded_object", {"value": value}).unwrap() == {"value": value}


@pytest.mark.parametrize("parameter", [entry for entry in PARAMETERS if entry.kind in ("list", "object")], ids=str)
def test_an_empty_value_of_a_required_parameter_is_refused(api, parameter):
    """The standard has no form for an empty list or object, and an empty text means something else."""
    result = api.call_sync(str(parameter), {"value": [] if parameter.kind == "list" else {}})
    assert result.kind == "bad_args"
    assert f"an empty {parameter.kind} cannot be written in the {parameter.place} parameter `value`" in result.text
