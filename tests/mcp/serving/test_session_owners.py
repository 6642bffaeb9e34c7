"""A session over HTTP belongs to the user who opened it. No message of another user reaches it."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from mcp_types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS
from starlette.authentication import SimpleUser

from tests.clocks import until
from tests.mcp.serving.kit import NEW
from toolkit import Catalog, Context, Dispatcher
from toolkit.mcp import Auth, http_app

pytestmark = pytest.mark.anyio

OLD_VERSION = "2025-11-25"
TOKENS = {"the-long-token-of-ada": "ada", "the-long-token-of-bob": "bob"}
SENDERS = {
    "token": lambda user: ([(b"authorization", f"Bearer the-long-token-of-{user}".encode())], {}),
    # An application that mounts this one may have an authentication of its own, whose users the SDK does not know.
    "mounted": lambda user: ([], {"user": SimpleUser(user)}),
}
CLIENT = {
    "protocolVersion": OLD_VERSION,
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "a", "version": ""},
}
ANSWERS = [
    {"id": number, "result": {"action": "accept", "content": {"approve": True}}} for number in (0, 1, 2, "1", "2")
]
MESSAGES = [
    *({"id": 9, "method": method, "params": {"name": "wait"}} for method in sorted(SPEC_CLIENT_METHODS)),
    *({"method": method, "params": {"requestId": 7}} for method in sorted(SPEC_CLIENT_NOTIFICATION_METHODS)),
    {"method": "notifications/cancelled", "params": {"requestId": "7"}},
    *ANSWERS,
]


class Users:
    """Two users of one server. Ada has a session in which a call waits and another one asks for approval."""

    def __init__(self, way):
        self._way = way
        self.released, self.waiting, self.ran = asyncio.Event(), [], []
        catalog = Catalog()

        @catalog.tool(read_only=True)
        async def wait() -> str:
            """Wait, without progress and questions."""
            self.waiting.append("wait")
            await self.released.wait()
            return "waited"

        @catalog.tool(read_only=True)
        async def wait_slowly(context: Context) -> str:
            """Wait, with progress."""
            self.waiting.append("wait_slowly")
            await self.released.wait()
            return "waited"

        @catalog.tool
        async def write() -> str:
            """Write."""
            self.ran.append("write")
            return "written"

        self.app = http_app(Dispatcher(catalog), auth=Auth.token(TOKENS) if way == "token" else None)

    async def send(self, user, message=None, *, method="POST", sent=None, version=OLD_VERSION, more=(), session=None):
        """Send one request as *user*, and return its status and what was sent back."""
        further, scope = SENDERS[self._way](user)
        headers = [
            (b"host", b"localhost"),
            (b"accept", b"application/json, text/event-stream"),
            (b"content-type", b"application/json"),
            (b"mcp-protocol-version", version.encode()),
            *further,
            *([(b"mcp-session-id", session)] if session else []),
            *more,
        ]
        body = json.dumps({"jsonrpc": "2.0", **(message or {})}).encode()
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        responses = [] if sent is None else sent

        async def receive():
            return parts.pop() if parts else await asyncio.Event().wait()

        async def note(part):
            responses.append(part)

        scope |= {"type": "http", "method": method, "path": "/mcp", "headers": headers, "query_string": b""}
        await self.app(scope, receive, note)
        return responses[0]["status"], b"".join(part.get("body", b"") for part in responses[1:])

    async def open(self):
        """Open the session of Ada, and start her calls."""
        sent = []
        message = {"id": 1, "method": "initialize", "params": CLIENT}
        await self.send("ada", message, sent=sent)
        self.session = dict(sent[0]["headers"])[b"mcp-session-id"]
        await self.send("ada", {"method": "notifications/initialized"}, session=self.session)
        self.questions = []
        self.calls = [
            asyncio.create_task(self.call(7, "wait")),
            asyncio.create_task(self.call(8, "wait_slowly")),
            asyncio.create_task(self.call(10, "write", sent=self.questions)),
        ]
        await until(lambda: len(self.waiting) == 2 and b"elicitation/create" in self.read_questions())

    def read_questions(self):
        return b"".join(part.get("body", b"") for part in self.questions)

    async def call(self, number, name, **options):
        message = {"id": number, "method": "tools/call", "params": {"name": name, "arguments": {}}}
        return await self.send("ada", message, session=self.session, **options)

    async def check_untouched(self):
        """Check that the calls of Ada go on: two end as they should, and the third one still asks."""
        assert (len(self.waiting), self.ran) == (2, [])
        assert not any(call.done() for call in self.calls)
        self.released.set()
        assert [b"waited" in (await call)[1] for call in self.calls[:2]] == [True, True]
        [line] = [line for line in self.read_questions().splitlines() if b"elicitation/create" in line]
        question = json.loads(line.removeprefix(b"data: "))["id"]
        answer = {"id": question, "result": {"action": "accept", "content": {"approve": True}}}
        await self.send("ada", answer, session=self.session)
        assert b"written" in (await self.calls[2])[1]


@contextlib.asynccontextmanager
async def two_users(way):
    users = Users(way)
    async with users.app.running():
        await users.open()
        try:
            yield users
        finally:
            for call in users.calls:
                call.cancel()


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("way", SENDERS)
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.get("method", "answer"))
async def test_no_message_of_another_user_touches_a_session(way, message):
    """Every method of the protocol, every notification and every answer gets the same 404."""
    async with two_users(way) as users:
        status, body = await users.send("bob", message, session=users.session)
        assert (status, b"Session not found" in body) == (404, True)
        await users.check_untouched()


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("way", SENDERS)
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.get("method", "answer"))
async def test_no_message_in_the_newer_revision_touches_a_session(way, message):
    """There, a session id means nothing."""
    async with two_users(way) as users:
        status, _ = await users.send("bob", message, version=NEW, session=users.session)
        assert status < 500
        await users.check_untouched()


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("way", SENDERS)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"])
@pytest.mark.parametrize("more", [(), [(b"last-event-id", b"1")]], ids=["", "resumed"])
async def test_another_user_cannot_read_or_end_a_session(way, method, more):
    """This holds for its stream, its end, and the events that were missed."""
    async with two_users(way) as users:
        status, _ = await users.send("bob", method=method, session=users.session, more=more)
        assert status == 404
        await users.check_untouched()


@pytest.mark.parametrize("way", SENDERS)
@pytest.mark.parametrize("message", [{"method": "notifications/cancelled", "params": {"requestId": 7}}, *ANSWERS[:2]])
@pytest.mark.parametrize("is_own_first", [True, False])
async def test_a_request_with_two_session_ids_is_refused(way, message, is_own_first):
    """One reader uses the first of two headers, and another one the last."""
    async with two_users(way) as users:
        sent = []
        await users.send("bob", {"id": 1, "method": "initialize", "params": CLIENT}, sent=sent)
        own = dict(sent[0]["headers"])[b"mcp-session-id"]
        first, last = (own, users.session) if is_own_first else (users.session, own)
        status, body = await users.send("bob", message, session=first, more=[(b"mcp-session-id", last)])
        assert (status, b"mcp-session-id" in body) == (400, True)
        await users.check_untouched()


async def test_the_owner_may_end_the_session():
    """Its id is unknown afterwards, and no part of it is kept."""
    async with two_users("token") as users:
        assert (await users.send("ada", method="DELETE", session=users.session))[0] == 200
        assert (await users.send("ada", {"id": 3, "method": "ping"}, session=users.session))[0] == 404
        await until(lambda: not users.app._manager._session_owners)
