"""Parameters with the format `password`: those of schemas that no annotation describes are secrets too."""

import json

import httpx
import pytest

from toolkit import Catalog, Decision, Dispatcher, Permissions, Session, Tool, tool
from toolkit.mcp import RemoteServer, Servers, build_server

PASSWORD = {"type": "string", "format": "password"}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/login": {
            "post": {
                "operationId": "login",
                "description": "Log in.",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Login"}}}},
                "responses": {"200": {"description": "Fine."}},
            }
        }
    },
    "components": {
        "schemas": {
            "Login": {"type": "object", "properties": {"user": {"type": "string"}, "code": PASSWORD}},
        }
    },
}
ARGUMENTS = {"user": "ada", "code": "hunter-2-two"}


def login(user, code):
    """Log in."""
    seen.append(code)
    return f"{user} came with {code}"


seen = []
ALLOW = Permissions("auto", ["allow login", "allow openapi:Shop/*", "allow mcp:s0/*"])


def build_from_schema():
    schema = {"type": "object", "properties": {"user": {"type": "string"}, "code": PASSWORD}}
    return Catalog(Tool.from_schema("login", "Log in.", schema, lambda arguments: login(**arguments)))


def build_decorated():
    schema = {"type": "object", "properties": {"user": {"type": "string"}, "code": PASSWORD}}
    return Catalog(tool(catalog=None, schema=schema)(login))


def build_from_document():
    def answer(request):
        return httpx.Response(200, text=login(**json.loads(request.content)))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return Catalog.from_openapi(DOCUMENT, base_url="https://shop.example", client=client)


BUILD = {"from_schema": build_from_schema, "schema=": build_decorated, "OpenAPI": build_from_document}


@pytest.mark.parametrize("hops", [0, 1, 2])
@pytest.mark.parametrize("source", BUILD)
@pytest.mark.anyio
async def test_a_password_is_hidden_from_the_people_who_are_asked(source, hops):
    """This holds behind gateways too; the tool gets the value."""
    seen.clear()
    catalog, name, servers = BUILD[source](), "login", []
    for number in range(hops):
        remote = RemoteServer(
            build_server(Dispatcher(catalog, permissions=ALLOW)), tool_prefix=f"s{number}_", trusted=True
        )
        servers.append(Servers(None, {f"s{number}": remote}))
        catalog, name = await servers[-1].__aenter__(), f"s{number}_{name}"
    async with Dispatcher(catalog, permissions=Permissions("auto", [f"ask {name}"])) as dispatcher:
        session = Session()
        waiting = await dispatcher.call(name, ARGUMENTS, session=session)
        assert waiting.kind == "waiting"
        assert waiting.request.arguments == {"user": "ada", "code": "[redacted]"}
        assert "hunter" not in json.dumps(waiting.request.to_json())
        result = await dispatcher.resume(waiting, Decision.approve(by="eve"), session=session)
        assert (result.kind, seen) == ("ok", ["hunter-2-two"])
        assert "ada came with" in result.text
        assert "hunter" not in result.text
    for server in reversed(servers):
        await server.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("part", "is_secret"),
    [
        (PASSWORD, True),
        ({"anyOf": [PASSWORD, {"type": "null"}]}, True),
        ({"type": "array", "items": PASSWORD}, True),
        ({"type": "object", "properties": {"inner": PASSWORD}}, True),
        ({"$ref": "#/$defs/a~1b"}, True),
        ({"$ref": "#/$defs/round"}, False),
        ({"type": "object", "properties": {"format": {"const": "password"}}}, False),
        ({"type": "object", "default": {"format": "password"}}, False),
        ({"type": "object", "required": ["format"], "enum": [{"format": "password"}]}, False),
        ({"type": "string", "description": "the format password"}, False),
    ],
    ids=str,
)
def test_a_parameter_is_a_secret_if_a_part_of_it_is_a_password(part, is_secret):
    definitions = {"a/b": {"$ref": "#/$defs/c"}, "c": PASSWORD, "round": {"items": {"$ref": "#/$defs/round"}}}
    schema = {"type": "object", "properties": {"code": part, "user": {"type": "string"}}, "$defs": definitions}
    schema["required"] = ["user"]
    made = Tool.from_schema("login", "Log in.", schema, lambda arguments: None)
    assert made.signature.secrets == ({"code"} if is_secret else set())
