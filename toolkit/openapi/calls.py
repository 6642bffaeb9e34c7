"""
One call of an operation: its request is built, sent and answered.

Requests go to the server of the document or to the address that the program gives, and never to a host that an argument
names. A redirect is followed on the same host only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from .._plumbing.decompression import read_limited
from ..access import Access, Url
from ..catalogs.foreign_text import clean_text
from ..content import AudioPart, ImagePart, ResourcePart
from ..errors import BadArgs, ToolError
from ..policies.classify import classify_error
from ..policies.credentials import redact_credentials
from ..policies.redaction import Redaction
from ..providers.http.loop_clients import LoopClients
from ..results import ToolResult, UndescribedResult
from ..values.rendering import as_text
from .credentials import Credentials, Requirement, list_secrets
from .documents import Operation
from .files import is_text_type
from .parameters import Inputs, OutputSchema, is_json
from .requests import RequestParts, build_request_parts
from .servers import join_address

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Caller"]

_PORTS = {"http": 80, "https": 443}
_MAX_RESPONSE_BYTES = 20_000_000
_MAX_ERROR_BYTES = 20_000
_MAX_UNCHECKED_BYTES = 10_000
_MAX_REDIRECTS = 5
_MAX_MESSAGE_CHARS = 1_000
_ACCEPT = "application/json, */*;q=0.8"
_MESSAGE_KEYS = ("title", "detail", "message", "error_description", "error", "errors")
_SHOWN_HEADERS = ("content-type", "content-length", "last-modified", "etag", "location", "link")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """
    The calls of one operation.

    Attributes:
        server: The address before the path of the operation.
        is_signed: Whether the client of the program has credentials of its own.
        output: The output schema of the tool, if it has one.
    """

    operation: Operation
    inputs: Inputs
    server: str
    credentials: Credentials
    requirements: list[Requirement]
    clients: LoopClients
    is_signed: bool
    output: OutputSchema | None = None

    async def call(self, arguments: dict[str, Any]) -> Any:
        parts = build_request_parts(self.operation.path, self.inputs, arguments)
        auth = None if self.is_signed else await self.credentials.apply(self.requirements, parts)
        client = await self.clients.get()
        response, body = await self._send(client, self._build_request(client, parts), auth)
        redaction = redact_credentials(list_secrets(parts, response.request, client))
        if not response.is_success:
            raise _build_status_error(response, body, redaction)
        try:
            result = _mask(_build_result(response, body), body, redaction)
        except RecursionError:
            raise ToolError("the answer of the API is nested too deeply to be read; the call was made") from None
        if self.output is None or (body and self.output.describes(response.status_code)):
            return result
        return _leave_unchecked(result)

    def list_accesses(self, arguments: Mapping[str, Any]) -> list[Access]:
        """Return the address that a call with *arguments* reaches, for rules and safety checks."""
        try:
            parts = build_request_parts(self.operation.path, self.inputs, arguments)
        except BadArgs:
            return [Url(self.server.partition("?")[0])]  # the call itself reports what is wrong
        # The query of the server may be a key, and is not shown.
        return [Url(join_address(self.server.partition("?")[0], parts.path))]

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """Return the method and the address of a call with *arguments*, for the person who is asked."""
        return f"{self.operation.method} {self.list_accesses(arguments)[0].target}"

    def _build_request(self, client: httpx.AsyncClient, parts: RequestParts) -> httpx.Request:
        address = join_address(self.server, parts.path, parts.query_text)
        headers = {"Accept": _ACCEPT, **parts.headers}
        if parts.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in parts.cookies)
        return client.build_request(
            self.operation.method, address, headers=headers, content=parts.content, files=parts.files or None
        )

    async def _send(
        self, client: httpx.AsyncClient, request: httpx.Request, auth: httpx.Auth | None
    ) -> tuple[httpx.Response, bytes]:
        options = {} if auth is None else {"auth": auth}
        for _ in range(_MAX_REDIRECTS + 1):
            response = await client.send(request, stream=True, follow_redirects=False, **options)
            try:
                body = await self._read(response)
            finally:
                await response.aclose()
            target = response.headers.get("location")
            if not response.has_redirect_location or target is None:
                return response, body
            address = urljoin(str(request.url), target)
            if _origin(address) != _origin(str(request.url)):
                raise ToolError(
                    f"{self.operation.method} {self.operation.path} redirects to another host, "
                    f"{_origin(address)[1]!r:.100}, which is refused"
                )
            if request.method not in ("GET", "HEAD"):
                raise ToolError(
                    f"{self.operation.method} {self.operation.path} is answered with the redirect "
                    f"{response.status_code}, which is followed only for GET and HEAD"
                )
            request = client.build_request(request.method, address, headers=_without_body_headers(request))
        raise ToolError(f"{self.operation.method} {self.operation.path} redirects more than {_MAX_REDIRECTS} times")

    async def _read(self, response: httpx.Response) -> bytes:
        limit = _MAX_RESPONSE_BYTES if response.is_success else _MAX_ERROR_BYTES
        body, is_longer = await read_limited(response.aiter_bytes(), limit)
        if is_longer and response.is_success:
            raise ToolError(
                f"the answer is longer than {limit:,} bytes, and was not read to its end; the call was made"
            )
        return body


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _without_body_headers(request: httpx.Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name.lower() not in ("host", "content-length")}


def _build_result(response: httpx.Response, body: bytes) -> Any:
    """Return the result for a *response* that is a success: JSON, text, an image, sound or a file."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.request.method == "HEAD":
        headers = response.headers
        shown = {name: clean_text(headers[name], 500) for name in _SHOWN_HEADERS if name in headers}
        return {"status": response.status_code, **shown}
    if not body:
        return None
    if is_json(media_type):
        try:
            value = _read_json(response, body)
        except (ValueError, LookupError):
            raise ToolError("the API sent a body that is not JSON, although it says so; the call was made") from None
        # The header `Link` says where the next page is.
        link = response.headers.get("link")
        return ToolResult(f"{as_text(value)}\n\nLink: {clean_text(link, _MAX_MESSAGE_CHARS)}", value) if link else value
    if media_type.startswith("image/"):
        return ToolResult("", None, parts=[ImagePart(body, media_type)])
    if media_type.startswith("audio/"):
        return ToolResult("", None, parts=[AudioPart(body, media_type)])
    if is_text_type(media_type) or not media_type:
        try:
            return body.decode(response.charset_encoding or "utf-8")
        except (UnicodeDecodeError, LookupError):
            pass
    address = str(response.request.url.copy_with(query=None))
    return ToolResult("", None, parts=[ResourcePart(address, body, media_type or "application/octet-stream")])


def _read_json(response: httpx.Response, body: bytes) -> Any:
    """Return the value of *body*, which is in UTF-8 as the standard says, or in the charset that *response* states."""
    try:
        return json.loads(body)
    except UnicodeDecodeError:
        return json.loads(body.decode(response.charset_encoding or "utf-8"))


def _leave_unchecked(result: Any) -> UndescribedResult:
    """Return *result*, of which the document says nothing: an empty body, or a success of another status."""
    if isinstance(result, ToolResult):
        return UndescribedResult(result.text, result.value, parts=result.parts)
    return UndescribedResult(as_text(result), result)


def _mask(result: Any, body: bytes, redaction: Redaction) -> Any:
    """Return *result*, which was built from *body*, with the credentials in it masked."""
    if not redaction:
        return result
    if isinstance(result, ToolResult):
        return redaction.mask_result(result)
    if len(body) > _MAX_UNCHECKED_BYTES and not isinstance(result, str):
        # To look into each of many values takes longer. The body itself may have escapes of any kind.
        text = json.dumps(result, ensure_ascii=False)
        if redaction.mask_text(text) == text:
            return result
    return redaction.mask_value(result)


def _build_status_error(response: httpx.Response, body: bytes, redaction: Redaction) -> ToolError:
    """Return the error for a *response* that is no success, by the table for statuses, with the words of the API."""
    import httpx

    message = f"{response.status_code} {httpx.codes.get_reason_phrase(response.status_code) or 'unknown status'}"
    try:
        text = body.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:
        text = body.decode("utf-8", "replace")
    # They are masked twice: a cut may leave a part of a credential, and cleaning may put one together.
    if words := redaction.mask_text(_find_words(redaction.mask_text(text))):
        message = f"{message}: {words}"
    if response.status_code == httpx.codes.UNAUTHORIZED:
        message = f"{message}; the program gives credentials as `auth=`, or with its client"
    return classify_error(httpx.HTTPStatusError(message, request=response.request, response=response))


def _find_words(text: str) -> str:
    """Return what the body of a failure says, in clean text: the title and the detail of a problem, or its start."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return clean_text(text, _MAX_MESSAGE_CHARS) if "<html" not in text[:500].lower() else ""
    if isinstance(data, Mapping):
        inner = data.get("error")
        words = inner if isinstance(inner, Mapping) else data
        parts = [words[key] for key in _MESSAGE_KEYS if words.get(key)]
        texts = [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts]
        if texts:
            return clean_text(": ".join(dict.fromkeys(texts)), _MAX_MESSAGE_CHARS)
    return clean_text(text, _MAX_MESSAGE_CHARS)
