"""A tool that needs credentials, or finds that something has changed, before it has done anything."""

from __future__ import annotations

import json

import pytest

from tests.calls.office import Notes, Token
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.decisions import AuthNeeded, AuthRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, Transient, UnknownTool
from toolkit.hooks import Ask, Proceed
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy

pytestmark = pytest.mark.anyio


class Hub:
    """A tool that needs a token, from a resource or by itself."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.attempts = 0
        self.catalog = Catalog()

        @self.catalog.tool(read_only=True)
        async def fetch(name: str, context: Context) -> str:
            """Fetch something."""
            token = context.resources.get(Token)
            self.attempts += 1
            if token is None:
                raise AuthNeeded(
                    AuthRequest(provider="hub", scopes=("read",), url="https://hub.example/login", reason="private")
                )
            self.tokens.append(token.text)
            context.logger.warning("fetching %s", name)
            return f"got {name}"

        @self.catalog.tool(read_only=True)
        async def plain(name: str) -> str:
            """Fetch without a context, on the short way."""
            raise AuthNeeded(AuthRequest(provider="hub"))

        @self.catalog.tool(read_only=True)
        async def flaky(name: str) -> str:
            """Fail once, and then want credentials."""
            self.attempts += 1
            if self.attempts == 1:
                raise Transient("try again", happened="no")
            raise AuthNeeded(AuthRequest(provider="hub"))


@pytest.mark.parametrize("tool", ["fetch", "plain", "flaky"])
async def test_a_tool_that_needs_credentials_waits_for_them(tool):
    """The request describes the credentials, and waits like one for approval."""
    retry = RetryPolicy(wait_initial=0.0)
    result = await Dispatcher(Hub().catalog, retry=retry).call(tool, {"name": "x"})
    assert (result.kind, result.request.auth.provider) == ("waiting", "hub")
    assert result.text.startswith("waiting for credentials: credentials of hub")
    assert result.request.grants == ()


async def test_a_resource_that_needs_credentials_makes_its_call_wait_before_the_function_starts():
    catalog = Catalog()
    ran = []

    class Client:
        pass

    def client(context: Context) -> Client:
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="hub", reason="no token"))
        return Client()

    @catalog.tool(read_only=True)
    async def fetch(client: Inject[Client]) -> str:
        """Fetch."""
        ran.append(client)
        return "got it"

    dispatcher = Dispatcher(catalog, resources={Client: client})
    request = (await dispatcher.call("fetch")).request
    assert (request.auth.provider, ran) == ("hub", [])
    result = await dispatcher.resume(request.id, Decision.approve(), resources={Token: Token("t")})
    assert (result.text, len(ran)) == ("got it", 1)


async def test_credentials_reach_the_tool_and_are_kept_nowhere(tmp_path, caplog):
    """They are not in the file of the store, the request, the result or the log."""
    hub, path = Hub(), tmp_path / "x.approvals.sqlite"
    dispatcher = Dispatcher(hub.catalog, approvals=Approvals(SQLiteApprovals(path)))
    request = (await dispatcher.call("fetch", {"name": "x"})).request
    token = Token("tok-sesame-secret")
    result = await dispatcher.resume(request.id, Decision.approve(), resources={Token: token})
    assert (result.text, hub.tokens) == ("got x", ["tok-sesame-secret"])
    texts = [path.read_bytes().decode(errors="replace"), json.dumps(request.to_json()), json.dumps(result.to_json())]
    assert all("sesame" not in text for text in [*texts, caplog.text])


@pytest.mark.parametrize("tool", ["fetch", "plain"])
async def test_a_request_for_credentials_that_cannot_be_kept_ends_the_call(tool):
    dispatcher = Dispatcher(Hub().catalog, approvals=Approvals(MemoryApprovals(size=1)))
    assert (await dispatcher.call(tool, {"name": "x"})).kind == "waiting"
    assert (await dispatcher.call(tool, {"name": "x"})).kind == "internal"


async def test_credentials_that_are_refused_end_the_call():
    """The model is told that there are none."""
    hub = Hub()
    dispatcher = Dispatcher(hub.catalog)
    request = (await dispatcher.call("fetch", {"name": "x"})).request
    result = await dispatcher.resume(request.id, Decision.deny("no account"))
    assert result.kind == "denied"
    assert "no account" in result.text
    assert hub.tokens == []


async def test_an_approval_without_the_credentials_asks_again():
    """The first request is used up."""
    hub = Hub()
    dispatcher = Dispatcher(hub.catalog)
    first = (await dispatcher.call("fetch", {"name": "x"})).request
    again = await dispatcher.resume(first.id, Decision.approve())
    assert (again.kind, again.request.id != first.id) == ("waiting", True)


async def test_an_approval_stays_bound_to_its_preview_while_credentials_are_fetched(tmp_path):
    """An approved change that then wants credentials is still bound to the file as it was shown."""
    notes = Notes(tmp_path)

    @notes.catalog.tool(preview=lambda a: file_change(notes.path, a["text"]))
    async def publish(text: str, context: Context) -> str:
        """Publish it."""
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="hub"))
        notes.seen.append(text)
        return "published"

    dispatcher = notes.dispatcher()
    waiting = (await dispatcher.call("publish", {"text": "new\n"})).request
    auth = (await dispatcher.resume(waiting.id, Decision.approve())).request
    assert auth.preconditions == waiting.preconditions
    notes.path.write_text("changed\n")
    resources = {Token: Token("t")}
    again = await dispatcher.resume(auth.id, Decision.approve(), resources=resources)
    assert (again.kind, notes.seen) == ("waiting", [])
    assert "-changed" in again.request.preview
    result = await dispatcher.resume(again.request.id, Decision.approve(), resources=resources)
    assert (result.text, notes.seen) == ("published", ["new\n"])


@pytest.mark.parametrize(
    ("mode", "kind", "expected"), [("plan", "denied", None), ("default", "waiting", (None, ("mode `default`",)))]
)
async def test_a_new_mode_counts_before_a_request_for_credentials(office, mode, kind, expected):
    """Credentials do not help a denied call, and giving them does not approve the call."""
    permissions = Permissions("bypass")

    @office.catalog.tool
    async def fetch() -> None:
        """Fetch."""
        permissions.set_mode(mode)
        raise AuthNeeded(AuthRequest(provider="hub"))

    result = await office.dispatcher(permissions=permissions).call("fetch")
    request = result.request
    assert (result.kind, request and (request.auth, request.asked_by)) == (kind, expected)


async def test_a_call_that_its_author_refuses_during_its_run_is_not_asked_about(office):
    """The call was valid when it began. No person is asked about a call that cannot run."""
    closed = []

    @office.catalog.tool(read_only=True, validate=lambda a: "closed" if closed else None)
    async def enter(door: str) -> None:
        """Enter."""
        closed.append(True)
        raise AuthNeeded(AuthRequest(provider="hub"))

    assert (await office.dispatcher().call("enter", {"door": "a"})).kind == "bad_args"


async def test_explain_repairs_arguments_as_a_call_would(office):
    """So both are about the same call. Arguments that cannot be repaired, or are missing, are refused."""
    dispatcher = office.dispatcher()
    assert (await dispatcher.explain("burn", {"target": "a", "depth": "2"})).word == "ask"
    with pytest.raises(ToolError, match="target"):
        await dispatcher.explain("burn", {})
    with pytest.raises(UnknownTool):
        await dispatcher.explain("bury", {})


async def test_the_reasons_of_all_hooks_that_ask_are_in_the_request(office):
    class Asks:
        def __init__(self, reason):
            self.reason = reason

        def before(self, call):
            return Ask(self.reason) if self.reason else Proceed()

    dispatcher = Dispatcher(office.catalog, hooks=[Asks("one"), Asks(""), Asks("two")])
    request = (await dispatcher.call("look", {"target": "a"})).request
    assert (request.reason, request.asked_by) == ("one; two", ("a hook",))
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "a"
