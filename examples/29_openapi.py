"""Turn an HTTP API into tools, from its OpenAPI document."""

import httpx

from toolkit import Catalog, Dispatcher

ORDER = {"name": "order", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {"/orders/{order}": {"get": {"operationId": "get_order", "summary": "Find it.", "parameters": [ORDER]}}},
}


def answer(request: httpx.Request) -> httpx.Response:
    """Stand in for the shop."""
    return httpx.Response(200, json={"address": request.url.path, "status": "shipped"})


client = httpx.AsyncClient(base_url="https://shop.example/v1", transport=httpx.MockTransport(answer))
dispatcher = Dispatcher(Catalog.from_openapi(DOCUMENT, client=client))
print(dispatcher.call_sync("get_order", {"order": 7}).text)
print(dispatcher.call_sync("get_order", {"order": 0}).text)
