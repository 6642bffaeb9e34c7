"""
Files in forms: the bytes that arrive, in every form that a document can describe a file in.
"""

from __future__ import annotations

import base64

import pytest

from .kit import call, document

BYTES = b"\x89PNG\r\n\x00\xff"
WRITTEN = base64.b64encode(BYTES).decode()
FILE = {"type": "string", "format": "binary"}
NULL = {"type": "null"}
COMPONENTS = {
    "schemas": {
        "File": FILE,
        "MaybeFile": {"anyOf": [{"$ref": "#/components/schemas/File"}, NULL]},
        "Form": {"type": "object", "properties": {"file": FILE}},
    }
}


def form(file):
    return {"type": "object", "properties": {"file": file, "name": {"type": "string"}}}


def upload(schema, arguments, version="3.1.0", media_type="multipart/form-data"):
    """Send *arguments*, and return the body that arrives."""
    body = {"required": True, "content": {media_type: {"schema": schema}}}
    data = document({"post /f": {"operationId": "put", "requestBody": body}}, version, components=COMPONENTS)
    return base64.b64decode(call(data, "put", arguments).unwrap()["body"])


SINGLE = {
    "binary": FILE,
    "binary without type": {"format": "binary"},
    "anyOf": {"anyOf": [FILE, NULL]},
    "oneOf": {"oneOf": [NULL, FILE]},
    "allOf": {"allOf": [FILE], "description": "A file."},
    "types": {"type": ["string", "null"], "format": "binary"},
    "nullable": {"type": "string", "format": "binary", "nullable": True},
    "octets": {"type": "string", "contentMediaType": "application/octet-stream"},
    "media type": {"type": "string", "contentMediaType": "image/png"},
    "media type only": {"contentMediaType": "image/png"},
    "media type or null": {"anyOf": [{"contentMediaType": "image/png"}, NULL]},
    "reference": {"$ref": "#/components/schemas/File"},
    "reference to a choice": {"$ref": "#/components/schemas/MaybeFile"},
}
LISTS = {name: {"type": "array", "items": schema} for name, schema in SINGLE.items()}


@pytest.mark.parametrize("schema", SINGLE.values(), ids=SINGLE)
def test_the_bytes_of_a_file_arrive(schema):
    version = "3.0.3" if "nullable" in schema else "3.1.0"
    assert BYTES in upload(form(schema), {"file": WRITTEN, "name": "x"}, version)


@pytest.mark.parametrize("schema", [*LISTS.values(), *({"anyOf": [schema, NULL]} for schema in LISTS.values())])
def test_the_bytes_of_each_file_of_a_list_arrive(schema):
    other = base64.b64encode(b"\x00other").decode()
    body = upload(form(schema), {"file": [WRITTEN, other], "name": "x"})
    assert BYTES in body
    assert b"\x00other" in body


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [form(FILE)]},
        {"allOf": [{"$ref": "#/components/schemas/Form"}, {"properties": {"name": {"type": "string"}}}]},
        {"anyOf": [{"$ref": "#/components/schemas/Form"}, NULL]},
        {"$ref": "#/components/schemas/Form", "description": "A form."},
    ],
)
def test_the_bytes_of_a_file_of_a_composed_form_arrive(schema):
    assert BYTES in upload(schema, {"body": {"file": WRITTEN}})


def test_a_file_that_is_null_is_left_out():
    assert b'name="file"' not in upload(form({"anyOf": [FILE, NULL]}), {"file": None, "name": "x"})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/octet-stream"},
        {"type": "string", "format": "byte"},
        {"type": ["string", "null"], "format": "byte"},
        {"type": "string", "contentMediaType": "text/html"},
    ],
)
def test_a_text_is_sent_unchanged(schema):
    """The document itself may describe it as base64."""
    assert WRITTEN.encode() in upload(form(schema), {"file": WRITTEN, "name": "x"})
