"""What the addresses of the inspector have in common: how they read a request, and how they answer and refuse it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..approvals.records import ApprovalError
from ..durable.errors import DurableError
from ..errors import DefinitionError, ToolkitError, UnknownTool
from ..policies.audit import encode_line
from ..values.strictjson.checks import loads

__all__ = [
    "ApiError",
    "Endpoint",
    "answer_json",
    "read_body",
    "read_id",
    "read_number",
    "read_seconds",
    "refuse",
    "refuse_http",
    "require_text",
]

Endpoint: TypeAlias = Callable[[Request], Awaitable[Any]]

_STATUS_BY_REASON = {
    "store": 503,
    "unknown": 404,
    **dict.fromkeys(("arguments", "answers", "grant", "id", "value"), 400),
}


class ApiError(ToolkitError):
    """What a request gets instead of its answer: a *status*, a sentence, and further *fields* for the page."""

    def __init__(self, status: int, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.status = status
        self.fields = fields

    @classmethod
    def of(cls, error: ToolkitError) -> ApiError:
        """Return *error* as an error of an address."""
        if isinstance(error, ApiError):
            return error
        if isinstance(error, UnknownTool):
            return cls(404, str(error))
        if isinstance(error, (ApprovalError, DurableError)):
            return cls(_STATUS_BY_REASON.get(error.why, 409), str(error), why=error.why)
        return cls(400 if isinstance(error, DefinitionError) else 503, str(error))


def answer_json(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that sends what *endpoint* returns: an object, or its JSON text."""

    async def answer(request: Request) -> Response:
        data = await endpoint(request)
        if not isinstance(data, bytes):
            data = await asyncio.to_thread(encode_line, data)
        return Response(data, media_type="application/json")

    return answer


async def refuse(request: Request, error: ToolkitError) -> Response:
    """Return the response to a request that has failed with *error*."""
    refusal = ApiError.of(error)
    text = encode_line({"error": str(refusal), **refusal.fields})
    return Response(text, refusal.status, media_type="application/json")


async def refuse_http(request: Request, error: HTTPException) -> Response:
    """Return the response to an address that does not exist, or does not take the method."""
    texts = {
        404: f"there is no {request.url.path[:200]}",
        405: f"{request.url.path[:200]} does not take {request.method}",
    }
    text = encode_line({"error": texts.get(error.status_code, error.detail)})
    return Response(text, error.status_code, error.headers, media_type="application/json")


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request, whose size the guard has limited."""
    try:
        body = loads(await request.body())
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ApiError(400, "the body has to be a JSON object")
    return body


def require_text(request: Request, name: str) -> str:
    """Return the parameter *name* of the address."""
    text = request.query_params.get(name)
    if not text:
        raise ApiError(400, f"`{name}` is missing in the address")
    return text


def read_number(request: Request, name: str, default: int) -> int:
    """Return the parameter *name* of the address as a number."""
    text = request.query_params.get(name, "")
    if text and not (text.isdecimal() and len(text) < 16):
        raise ApiError(400, f"`{name}` has to be a whole number, got {text[:60]!r}")
    return int(text) if text else default


def read_id(body: dict[str, Any], kind: str) -> str:
    """Return the id in *body*, which is that of a *kind*."""
    if isinstance(body.get("id"), str):
        return str(body["id"])
    raise ApiError(400, f"`id` has to be the id of a {kind}")


def read_seconds(body: dict[str, Any], name: str) -> float | None:
    """Return the seconds in the field *name* of *body*; None if there are none."""
    seconds = body.get(name)
    if seconds is None or (type(seconds) in (int, float) and seconds > 0):
        return seconds
    raise ApiError(400, f"`{name}` has to be above 0, got {seconds!r:.60}")
