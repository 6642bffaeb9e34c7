"""A document and its application, for the tests of calls."""

from __future__ import annotations

from .kit import document, reply

__all__ = ["app_for", "PETS"]

PETS = document(
    {"get /pets": {"operationId": "list"}, "post /pets": {"operationId": "add"}, "head /pets": {"operationId": "look"}}
)


def app_for(body=b"", status=200, **headers):
    async def app(scope, receive, send):
        await reply(send, body, status, **headers)

    return app
