"""
Small documents, and an API that answers with the request that it got.
"""

from __future__ import annotations

import base64
import json

import httpx

from toolkit import Catalog, Dispatcher

BASE = "http://api.test/v1"


async def echo(scope, receive, send):
    """Answer with the raw request as JSON."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    answer = {
        "method": scope["method"],
        "path": scope["raw_path"].decode().partition("?")[0],
        "query": scope["query_string"].decode(),
        "headers": {name.decode(): value.decode() for name, value in scope["headers"]},
        "body": base64.b64encode(body).decode(),
    }
    await reply(send, json.dumps(answer).encode())


async def reply(send, body=b"", status=200, **headers):
    names = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in names.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})


def document(operations, version="3.1.0", **parts):
    """Return a document with *operations* by method and path, such as "get /pets"."""
    paths = {}
    for key, operation in operations.items():
        method, path = key.split(" ")
        paths.setdefault(path, {})[method] = operation
    kind = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    return {**kind, "info": {"title": "Pet Shop", "version": "1"}, "paths": paths, **parts}


def client_for(app=echo, **options):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, **options)


def dispatcher_for(data, app=echo, client_options=None, **options):
    """Return a dispatcher for the API *data*, which *app* answers."""
    return Dispatcher(Catalog.from_openapi(data, client=client_for(app, **(client_options or {})), **options))


def call(data, name, arguments=None, app=echo, **options):
    """Call one operation, and return the result."""
    return dispatcher_for(data, app, **options).call_sync(name, arguments or {})
