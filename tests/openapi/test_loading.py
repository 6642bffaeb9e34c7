"""
From operations to tools: names, groups, facts, arguments, and what is refused.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from toolkit import Catalog, DefinitionError

from .kit import call, client_for, document

SERVERS = [{"url": "https://pets.example/{stage}", "variables": {"stage": {"default": "v1"}}}]


def load(operations, version="3.1.0", **parts):
    parts.setdefault("servers", SERVERS)
    return Catalog.from_openapi(document(operations, version, **parts))


def body(schema, **options):
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}, **options}}


def test_names_are_legal_and_unique_by_a_stated_rule():
    catalog = load(
        {
            "get /pets": {"operationId": "getPet"},
            "get /pets/": {"operationId": "get_pet"},
            "get /pets/{id}": {},
            "post /pets": {"operationId": "pets:create now"},
            "put /pets": {"operationId": "web_search"},
            "patch /pets": {"operationId": "ünïcode"},
            "delete /pets": {"operationId": "x" * 100},
        }
    )
    names = [tool.name for tool in catalog]
    (long_name,) = [name for name in names if len(name) == 64]
    assert sorted({*names} - {long_name}) == [
        "_n_code",
        "api_web_search",
        "getPet",
        "get_pet_2",
        "get_pets_id",
        "pets_create_now",
    ]
    assert long_name.startswith("xxx")


def test_facts_follow_the_method():
    operations = {
        f"{method} /pets": {"operationId": method} for method in ("get", "head", "post", "put", "patch", "delete")
    }
    facts = {tool.name: tool.facts for tool in load(operations)}
    assert {name for name, fact in facts.items() if fact.read_only} == {"get", "head"}
    assert {name for name, fact in facts.items() if fact.idempotent} == {"get", "head", "put", "delete"}
    assert {name for name, fact in facts.items() if fact.destructive} == {"delete"}
    assert all(fact.open_world for fact in facts.values())


def test_an_extension_and_a_function_state_other_facts():
    operations = {
        "post /search": {"operationId": "search", "x-toolkit": {"read_only": True, "search_hint": "find"}},
        "get /wipe": {"operationId": "wipe"},
    }
    data = document(operations, servers=SERVERS)
    catalog = Catalog.from_openapi(data, facts=lambda operation: {"destructive": operation.path == "/wipe"})
    assert catalog.get("search").facts.read_only
    assert catalog.get("search").facts.search_hint == "find"
    assert catalog.get("wipe").facts.destructive
    assert not catalog.get("wipe").facts.read_only
    by_id = Catalog.from_openapi(data, facts={"wipe": {"timeout_seconds": 3}})
    assert by_id.get("wipe").facts.timeout_seconds == 3
    with pytest.raises(DefinitionError, match="has the id 'wype'"):
        Catalog.from_openapi(data, facts={"wype": {}})


def test_tags_are_groups_and_texts_are_descriptions():
    operation = {"operationId": "a", "tags": ["pets"], "summary": "List.", "description": "All <system>pets</system>."}
    tool = load({"get /pets": operation}).get("a")
    assert tool.facts.group == "pets"
    assert tool.description == "List.\n\nAll pets."
    assert tool.origin == "openapi:Pet-Shop"


def test_links_of_parameters_are_text_and_those_of_tools_stay():
    link = "See [pages](https://docs.example/pages)."
    parameter = {"name": "page", "in": "query", "schema": {"type": "integer"}, "description": link}
    tool = load({"get /pets": {"operationId": "a", "description": link, "parameters": [parameter]}}).get("a")
    assert tool.description == link
    assert tool.schema["properties"]["page"] == {"type": "integer", "description": "See pages."}


@pytest.mark.parametrize(("count", "is_deferred"), [(30, False), (31, True)])
def test_tools_are_deferred_beyond_30_operations(count, is_deferred):
    catalog = load({f"get /pets/{number}": {"operationId": f"get{number}"} for number in range(count)})
    assert {tool.facts.defer for tool in catalog} == {is_deferred}


def test_operations_are_selected_by_id_tag_or_function():
    data = document(
        {"get /a": {"operationId": "a", "tags": ["x"]}, "get /b": {"operationId": "b"}, "get /c": {"operationId": "c"}},
        servers=SERVERS,
    )
    assert [tool.name for tool in Catalog.from_openapi(data, select=["x", "b"])] == ["a", "b"]
    assert [tool.name for tool in Catalog.from_openapi(data, select=lambda operation: operation.id == "c")] == ["c"]
    with pytest.raises(DefinitionError, match="no operation and no tag 'd'"):
        Catalog.from_openapi(data, select=["d"])
    with pytest.raises(DefinitionError, match="expected a function or a list"):
        Catalog.from_openapi(data, select="a")


def test_a_body_with_names_that_no_parameter_has_is_merged():
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    }
    tool = load(
        {
            "post /pets/{id}": {
                "operationId": "a",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                **body(schema),
            }
        }
    ).get("a")
    assert list(tool.schema["properties"]) == ["id", "name", "age"]
    assert tool.schema["required"] == ["id", "name"]
    assert tool.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"id": {"type": "string"}}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"type": "array", "items": {"type": "string"}},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object"},
    ],
)
def test_another_body_is_one_argument(schema):
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    tool = load({"post /pets/{id}": {"operationId": "a", "parameters": parameters, **body(schema)}}).get("a")
    assert list(tool.schema["properties"]) == ["id", "body"]
    assert tool.schema["required"] == ["id", "body"]


def test_arguments_with_one_name_begin_with_their_place():
    parameters = [
        {"name": "id", "in": where, "required": where == "path", "schema": {"type": "string"}}
        for where in ("path", "query", "header")
    ]
    data = document({"get /pets/{id}": {"operationId": "a", "parameters": parameters}})
    result = call(data, "a", {"path_id": "1", "query_id": "2", "header_id": "3"}).unwrap()
    assert (result["path"], result["query"], result["headers"]["id"]) == ("/v1/pets/1", "id=2", "3")


def test_parameters_of_the_path_are_shared_and_can_be_replaced():
    data = document(
        {
            "get /pets": {
                "operationId": "a",
                "parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}],
            }
        },
        servers=SERVERS,
    )
    data["paths"]["/pets"]["parameters"] = [
        {"name": "n", "in": "query", "schema": {"type": "string"}},
        {"name": "m", "in": "query", "schema": {"type": "string"}},
    ]
    schema = Catalog.from_openapi(data).get("a").schema
    assert schema["properties"] == {"n": {"type": "integer"}, "m": {"type": "string"}}


def test_swagger_2_is_read():
    data = document(
        {
            "get /pets/{id}": {
                "operationId": "get",
                "parameters": [
                    {
                        "name": "id",
                        "in": "path",
                        "required": True,
                        "type": "integer",
                        "exclusiveMinimum": True,
                        "minimum": 0,
                    },
                    {
                        "name": "tags",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "pipes",
                    },
                ],
                "responses": {"200": {"description": "ok", "schema": {"$ref": "#/definitions/Pet"}}},
            },
            "post /pets": {
                "operationId": "add",
                "parameters": [
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                ],
            },
            "post /photos": {
                "operationId": "upload",
                "parameters": [{"name": "photo", "in": "formData", "type": "file", "required": True}],
            },
        },
        "2.0",
        host="pets.example",
        basePath="/v2",
        schemes=["http", "https"],
        definitions={"Pet": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    )
    catalog = Catalog.from_openapi(data)
    assert catalog.get("get").schema["properties"]["id"] == {"type": "integer", "exclusiveMinimum": 0}
    assert catalog.get("get").output_schema["required"] == ["name"]
    assert list(catalog.get("add").schema["properties"]) == ["name"]
    assert catalog.get("upload").schema["properties"]["photo"]["contentEncoding"] == "base64"
    operation = data["paths"]["/pets/{id}"]["get"]
    del operation["responses"]
    assert call(data, "get", {"id": 1, "tags": ["a", "b"]}).unwrap()["query"] == "tags=a%7Cb"


def test_one_bad_operation_is_refused_and_the_others_stay():
    operations = {
        "get /good": {"operationId": "good"},
        "get /pattern": {"parameters": [{"name": "p", "in": "query", "schema": {"type": "string", "pattern": "("}}]},
        "get /many": {"parameters": [{"name": f"p{number}", "in": "query"} for number in range(501)]},
        "get /nameless": {"parameters": [{"in": "query"}]},
        "get /list": {"parameters": {}},
        "get /facts": {"x-toolkit": {"read_only": "yes"}},
        "get /body": {"requestBody": {"content": []}},
        "post /text": 3,
    }
    with pytest.warns(match="7 operations are no tools") as caught:
        catalog = load(operations)
    assert [tool.name for tool in catalog] == ["good"]
    assert sorted(entry.place for entry in catalog.refused) == [
        "paths./body.get",
        "paths./facts.get",
        "paths./list.get",
        "paths./many.get",
        "paths./nameless.get",
        "paths./pattern.get",
        "paths./text.post",
    ]
    assert all(entry.place.split(".")[1] in entry.reason for entry in catalog.refused)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "data", [document({"get /a": {}, "put /b": {}}, version) for version in ("2.0", "3.0.0", "3.1.0")]
)
def test_a_document_without_a_server_needs_an_address(data):
    with pytest.raises(
        DefinitionError, match=r"^Pet Shop: the document names no server; give `base_url=...` or `client"
    ):
        Catalog.from_openapi(data)
    assert len(Catalog.from_openapi(data, client=client_for())) == 2
    catalog = Catalog.from_openapi(data, client=client_for(), base_url="https://b.example/v2/")
    assert list_reached_addresses(catalog)[0] == "https://b.example/v2/a"


def test_an_operation_without_a_server_beside_others_is_refused_once():
    operations = {"get /a": {"servers": [{"url": "https://a.example"}]}, "get /b": {}}
    with pytest.warns(match=r"tools \(`catalog.refused` has all\): paths./b.get: the document names no server"):
        assert list_reached_addresses(Catalog.from_openapi(document(operations))) == ["https://a.example/a"]


def list_reached_addresses(catalog):
    """Return the addresses that calls without arguments reach."""
    return [access.target for tool in catalog for access in tool.facts.preflight({})]


@pytest.mark.parametrize(
    ("version", "parts", "server"),
    [
        ("3.1.0", {}, ""),
        ("3.0.0", {"servers": []}, ""),
        ("3.1.0", {"servers": [{"url": ""}]}, ""),
        ("3.1.0", {"servers": [{"url": "/v1"}]}, "/v1"),
        ("3.1.0", {"servers": [{"url": "v1/"}]}, "/docs/v1"),
        ("2.0", {}, ""),
        ("2.0", {"basePath": "/v2"}, "/v2"),
    ],
)
def test_the_server_is_relative_to_the_address_of_the_document_after_redirects(version, parts, server):
    data = json.dumps(document({"get /items": {"operationId": "a"}}, version, **parts)).encode()

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/docs/openapi.json?x=1" else 302)
            self.send_header("Location", "/docs/openapi.json?x=1")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{site.server_port}"
        catalog = Catalog.from_openapi(f"{address}/openapi.json")
        site.shutdown()
    assert list_reached_addresses(catalog) == [f"{address}{server}/items"]


def test_an_output_schema_that_cannot_be_enforced_is_left_out_with_a_note():
    response = {
        "200": {"description": "", "content": {"application/json": {"schema": {"type": "string", "pattern": "("}}}}
    }
    catalog = load({"get /pets": {"operationId": "a", "responses": response}})
    assert catalog.get("a").output_schema is None
    assert "no output schema" in catalog.notes[0]


KEYED = document(
    {"get /pets": {"operationId": "a"}},
    servers=SERVERS,
    components={"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"client": httpx.Client()}, "client: expected an httpx.AsyncClient, got Client; write `httpx.AsyncClient"),
        ({"client": "https://a.example"}, r"client: .*, got str; write `httpx.AsyncClient\(base_url="),
        ({"base_url": "a.example"}, "base_url: expected an address such as https://"),
        ({"client": httpx.AsyncClient(base_url="/v1")}, "base_url: expected an address such as https://"),
        ({"auth": "S3CRET"}, "auth: expected a mapping by the name .*, got str; .* has the schemes: key"),
        ({"auth": ["S3CRET"]}, "auth: expected a mapping by the name .*, got list"),
        ({"auth": {"key": b"S3CRET"}}, "auth: the credential for 'key' has to be a text, got bytes; decode it"),
        ({"auth": {"key": 5}}, "auth: the credential for 'key' has to be a text, got int"),
        ({"auth": {"key": ["S3CRET"]}}, "auth: the credential for 'key' has to be a text, got list"),
        ({"auth": {"key": ("u", "S3CRET")}}, "auth: the credential for 'key' has to be one text; a user name"),
        *(
            ({"auth": {"key": value}}, "auth: the credential for 'key' is empty; look at where it is kept")
            for value in ("", " \n", None, ("", ""))
        ),
        ({"facts": {"a": {"readonly": True}}}, "facts of 'a': unknown option `readonly`; did you mean `read_only`?"),
        ({"facts": {"a": {"read_only": "yes"}}}, "facts of 'a': `read_only` has to be"),
        ({"facts": {"a": {"description": "x"}}}, "facts of 'a': `description` is no fact"),
        ({"facts": {"a": ["read_only"]}}, "facts of 'a': expected a mapping such as"),
        ({"facts": lambda operation: {"readonly": True}}, "facts of 'a': unknown option `readonly`"),
        ({"facts": ["a"]}, "facts: expected a function or a mapping by operation id, got list"),
        ({"select": 5}, "select: expected a function or a list of operation ids and tags, got int"),
    ],
)
def test_a_wrong_option_is_refused_when_the_catalog_is_made(options, message):
    with pytest.raises((DefinitionError, TypeError), match=message) as caught:
        Catalog.from_openapi(KEYED, **options)
    assert "S3CRET" not in str(caught.value)


def test_a_program_may_say_that_a_deletion_only_reads():
    data = document({"delete /search": {"operationId": "a"}}, servers=SERVERS)
    facts = Catalog.from_openapi(data, facts={"a": {"read_only": True}}).get("a").facts
    assert (facts.read_only, facts.destructive) == (True, False)
