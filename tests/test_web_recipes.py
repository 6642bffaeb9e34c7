"""
The recipes of docs/web.md with the real packages: FastAPI, Django and Flask.

Each section of the page is one program. It runs as it stands, and shows what it says it shows.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from tests.markdown import load_section

PAGE = Path(__file__).parents[1] / "docs" / "web.md"


def load_recipe(heading: str, package: str):
    """Load the module of one section for a test, which is skipped without *package*."""
    pytest.importorskip(package, reason=f"the recipe needs {package}, which is in the dependency group `dev`")
    module = load_section(PAGE, heading)
    yield module
    del sys.modules[module.__name__]
    module.dispatcher.close()


@pytest.fixture(scope="module")
def fastapi_app():
    """The section about FastAPI."""
    yield from load_recipe("FastAPI", "fastapi")


@pytest.fixture(scope="module")
def django_site():
    """The section about Django; its settings hold for the whole process, so it runs once."""
    for module in load_recipe("Django", "django"):
        yield module
        module.connection.close()
        module.folder.cleanup()


@pytest.fixture(scope="module")
def flask_app():
    """The section about Flask."""
    for module in load_recipe("Flask", "flask"):
        yield module
        module.folder.cleanup()


# FastAPI.


@pytest.mark.long
def test_the_fastapi_recipe_runs(fastapi_app):
    """`docs/web.md` with FastAPI, Django and Flask recipes that are run by tests with the real packages."""
    assert fastapi_app.done.status_code == 200


@pytest.mark.long
def test_fastapi_answers_to_wrong_requests(fastapi_app):
    """The model's mistakes are results; a request without a login, or for nothing, is an HTTP error."""
    client = fastapi_app.TestClient(fastapi_app.app)
    ada = {"X-User": "ada"}
    assert client.post("/tools/whoami", json={}).status_code == 422
    assert client.post("/tools/whoami", json={"user": "eve"}, headers=ada).json()["kind"] == "bad_args"
    assert client.post("/tools/nothing", json={}, headers=ada).json()["kind"] == "not_found"
    assert client.post("/approvals/nothing?approve=true", headers=ada).status_code == 404


@pytest.mark.long
def test_fastapi_a_denied_call_does_not_run(fastapi_app):
    """An answer that comes twice is a conflict."""
    client = fastapi_app.TestClient(fastapi_app.app, headers={"X-User": "bob"})
    request_id = client.post("/tools/refund", json={"order": 1, "euros": 1}).json()["request"]["id"]
    assert client.post(f"/approvals/{request_id}?approve=false").json()["kind"] == "denied"
    assert client.post(f"/approvals/{request_id}?approve=true").status_code == 409


# Django.


def test_the_django_recipe_runs(django_site):
    """...so that Django's `atomic()` and thread-local sessions hold."""
    assert django_site.bad["error"]["message"] == "a note must not have a password in it"


def post_note(site, tool: str, text: str) -> dict:
    return site.client.post(f"/tools/{tool}", {"text": text}, content_type="application/json").json()


def test_django_rolls_back_a_note_of_a_tool_in_the_transaction_of_the_view(django_site):
    """The tool has `thread="caller"`. A tool in another thread has another connection, and its note stays."""

    @django_site.catalog.tool
    def add_elsewhere(text: str) -> None:
        """Write a note in another thread, and fail."""
        try:
            django_site.Note.objects.create(text=text)
        finally:
            django_site.connection.close()
        raise django_site.ToolError("too late")

    before = django_site.Note.objects.count()
    assert post_note(django_site, "add_note", "password")["kind"] == "failed"
    assert django_site.Note.objects.count() == before
    assert post_note(django_site, "add_elsewhere", "password")["kind"] == "failed"
    assert django_site.Note.objects.count() == before + 1


def test_django_a_batch_is_one_transaction(django_site):
    """`call_many_sync` runs its tools in the thread of the view too."""
    before = django_site.Note.objects.count()
    with django_site.transaction.atomic():
        results = django_site.dispatcher.call_many_sync([("add_note", {"text": "a"}), ("add_note", {"text": "b"})])
        assert [result.value for result in results] == [before + 1, before + 2]
        django_site.transaction.set_rollback(True)
    assert django_site.Note.objects.count() == before


def test_django_refuses_the_database_to_a_tool_that_is_awaited(django_site):
    """The page says so: the tool would run on the event loop."""
    result = asyncio.run(django_site.dispatcher.call("add_note", {"text": "a"}))
    assert (result.kind, "async" in result.text) == ("failed", True)


def test_django_async_views_use_the_thread_for_sync_code(django_site):
    """`sync_to_async` runs the sync view, and the tool with it, where Django's connection is."""
    from django.db import connections
    from django.test import AsyncClient

    before = django_site.Note.objects.count()

    async def post():
        options = {"content_type": "application/json", "headers": {"X-User": "ada"}}
        good = await AsyncClient().post("/async/add_note", {"text": "tea"}, **options)
        bad = await AsyncClient().post("/async/add_note", {"text": "password"}, **options)
        await django_site.sync_to_async(connections.close_all)()
        return good.json()["value"], bad.json()["kind"]

    assert asyncio.run(post()) == (before + 1, "failed")
    assert django_site.Note.objects.count() == before + 1


# Flask.


def test_the_flask_recipe_runs(flask_app):
    """The run waits for the user, and goes on in another request."""
    with flask_app.app.app_context():
        assert flask_app.database().execute("select text from note").fetchall() == [("buy tea",)]


def test_flask_tools_see_the_request_in_every_thread(flask_app):
    """The proxies of Flask are context variables, which a call keeps."""

    def where() -> tuple[str, bool]:
        """Tell the path of the request, and whether this is the thread of the request."""
        return flask_app.request.path, flask_app.g.thread == threading.get_ident()

    flask_app.catalog.tool(name="in_pool", read_only=True)(where)
    flask_app.catalog.tool(name="in_caller", read_only=True, thread="caller")(where)
    with flask_app.app.test_request_context("/tea"):
        flask_app.g.thread = threading.get_ident()
        results = flask_app.dispatcher.call_many_sync([("in_pool", {}), ("in_caller", {})])
    assert [result.value for result in results] == [["/tea", False], ["/tea", True]]


def test_flask_a_tool_in_another_thread_cannot_use_the_connection(flask_app):
    """The driver refuses it, so the page says `thread="caller"`."""

    @flask_app.catalog.tool(read_only=True)
    def count_elsewhere() -> int:
        """Count the notes."""
        return flask_app.database().execute("select count(*) from note").fetchone()[0]

    with flask_app.app.app_context():
        flask_app.database()
        assert "thread" in flask_app.dispatcher.call_sync("count_elsewhere").text
