"""What the tests of the server share: a client of the official SDK in the same process, and a person who answers."""

from __future__ import annotations

import contextlib

import mcp_types as types
from mcp import Client

from toolkit.mcp import build_server

OLD = "legacy"
NEW = "2026-07-28"
MODES = (OLD, NEW)
YES = types.ElicitResult(action="accept", content={"approve": True})
NO = types.ElicitResult(action="accept", content={"approve": False})
DECLINE = types.ElicitResult(action="decline")
CANCEL = types.ElicitResult(action="cancel")


class Person:
    """A user of a client: gives the answers in their order, the last one again and again, and notes the questions."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.questions = []

    async def __call__(self, context, params):
        """Answer one elicitation request."""
        self.questions.append(params)
        return self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)


@contextlib.asynccontextmanager
async def connected(dispatcher, mode, person=None, *, client=None, **options):
    """Connect a client of the official SDK to a server for the dispatcher."""
    server = build_server(dispatcher, **options)
    async with Client(server, mode=mode, elicitation_callback=person, **(client or {})) as connection:
        yield connection


def text_of(result):
    """Return the text of a result that has one part."""
    [part] = result.content
    return part.text


async def call_once(client, name, arguments=None, *, responses=None, state=None):
    """Send one `tools/call` request in the newer revision, without the loop that answers questions."""
    return await client.session.call_tool(
        name, arguments, input_responses=responses, request_state=state, allow_input_required=True
    )


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": NEW,
}
