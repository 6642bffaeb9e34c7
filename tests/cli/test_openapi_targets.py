"""
`toolkit list|show|call|check openapi.yaml`: an HTTP API as the target of a command.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from toolkit.cli.main import cli

PETS = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://pets.example"}],
    "paths": {
        "/pets/{id}": {
            "get": {
                "operationId": "getPet",
                "summary": "Return one pet.",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            }
        }
    },
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(PETS))
    return str(path)


@pytest.fixture
def address():
    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            data = {name: part for name, part in PETS.items() if name != "servers"}
            body = json.dumps(data if "/openapi" in self.path else {"path": self.path}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}/v2"
        site.shutdown()


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_operations_are_listed(path):
    result = run("list", path, "--json")
    assert result.exit_code == 0, result.output
    assert [tool["name"] for tool in json.loads(result.stdout)] == ["getPet"]


def test_an_operation_is_called_at_the_address(path, address):
    result = run("call", path, "getPet", "id=3", "--base-url", address, "--mode", "bypass")
    assert result.exit_code == 0, result.output
    assert "/v2/pets/3" in result.output


def test_a_wrong_address_and_a_wrong_document_are_refused(path, tmp_path):
    result = run("list", path, "--base-url", "nowhere")
    assert result.exit_code != 0
    assert "is not an address such as" in result.output
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("a: 1")
    result = run("list", wrong)
    assert result.exit_code != 0
    assert "is not an OpenAPI document" in result.output


def test_a_document_without_a_server_needs_an_address(tmp_path):
    path = tmp_path / "pets.json"
    path.write_text(json.dumps({name: part for name, part in PETS.items() if name != "servers"}))
    result = run("list", path)
    assert result.exit_code != 0
    assert "the document names no server; give `--base-url URL`" in result.output
    assert run("list", path, "--base-url", "https://a.example").exit_code == 0


@pytest.mark.parametrize("ending", ["/openapi.json", "/openapi.yaml", "/openapi.yml?a=1", "/openapi.json?v=1,2#x"])
def test_a_document_at_an_address_is_read(address, ending):
    result = run("list", f"{address}{ending}", "--json")
    assert result.exit_code == 0, result.output
    assert [tool["name"] for tool in json.loads(result.stdout)] == ["getPet"]
