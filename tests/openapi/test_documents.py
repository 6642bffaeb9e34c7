"""
Reading documents: mappings, files and addresses, in JSON and YAML.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from toolkit import Catalog, DefinitionError
from toolkit.openapi.documents import read_document

from .kit import document

PETS = document(
    {"get /pets": {"operationId": "listPets", "responses": {"200": {"description": "ok"}}}},
    servers=[{"url": "https://pets.example/v1"}],
)
YAML = """
openapi: 3.0.3
info: {title: Pets, version: 2024-01-01}
servers: [{url: https://pets.example}]
paths:
  /pets:
    get:
      operationId: listPets
      responses:
        200:
          description: ok
          content:
            application/json:
              schema: {type: string, example: 2024-01-01}
"""


def names(catalog):
    return [tool.name for tool in catalog]


def test_a_mapping_a_file_and_an_address_are_read(tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(PETS))

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(path.read_bytes())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        for source in (PETS, path, str(path), f"http://127.0.0.1:{site.server_port}/openapi.json"):
            assert names(Catalog.from_openapi(source)) == ["listPets"]
        site.shutdown()


def test_yaml_has_the_keys_and_the_dates_of_json(tmp_path):
    path = tmp_path / "openapi.yaml"
    path.write_text(YAML)
    content = read_document(path)
    responses = content.data["paths"]["/pets"]["get"]["responses"]
    assert list(responses) == ["200"]
    assert responses["200"]["content"]["application/json"]["schema"]["example"] == "2024-01-01"
    assert names(Catalog.from_openapi(path)) == ["listPets"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("a: [", "is not YAML"),
        ("- 1", "is an object, got list"),
        ("{}", "is not an OpenAPI document"),
        ('{"openapi": "4.0.0"}', "is not an OpenAPI document"),
        ('{"openapi": "3.1.0", "paths": []}', "`paths` has to be an object"),
        ("a: " + "{b: " * 600 + "1" + "}" * 600, "nested|YAML"),
    ],
)
def test_a_file_that_is_not_a_document_is_refused_with_its_name(tmp_path, text, message):
    path = tmp_path / "openapi.yaml"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=message) as caught:
        Catalog.from_openapi(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_an_address_that_does_not_answer_are_refused(tmp_path):
    with pytest.raises(DefinitionError, match="cannot be read: No such file"):
        Catalog.from_openapi(tmp_path / "missing.yaml")
    with pytest.raises(DefinitionError, match="cannot be fetched"):
        Catalog.from_openapi("http://127.0.0.1:9/openapi.json")
    with pytest.raises(DefinitionError, match="a mapping, a path or an address"):
        Catalog.from_openapi(b"openapi.json")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("https://evil.example/pet.json", "leads outside the document"),
        ("../pet.yaml#/Pet", "leads outside the document"),
        ("#/components/parameters/missing", "names nothing in the document"),
        ("#/components/parameters/a", "leads back to itself"),
    ],
)
def test_a_wrong_reference_refuses_its_operation_alone(reference, message):
    parameters = {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}}
    data = document(
        {"get /bad": {"parameters": [{"$ref": reference}]}, "get /good": {"operationId": "good"}},
        components={"parameters": parameters},
        servers=[{"url": "https://pets.example"}],
    )
    with pytest.warns(match="1 operations are no tools"):
        catalog = Catalog.from_openapi(data)
    assert names(catalog) == ["good"]
    (refused,) = catalog.refused
    assert refused.place == "paths./bad.get"
    assert message in refused.reason
