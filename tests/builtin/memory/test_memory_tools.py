"""**Memory tools:** `remember`, `recall`, `forget` over a store the host gives, scoped by principal."""

from __future__ import annotations

import pytest

from toolkit import Catalog, Decision, Dispatcher, Permissions, Session
from toolkit.builtin import MemoryFolder, MemoryNote, memory_tools
from toolkit.policies.secret_patterns import find_secret


class DictStore:
    """A store of a host, in memory."""

    def __init__(self):
        self.kept: dict[str | None, dict[str, MemoryNote]] = {}

    def notes(self, principal):
        return list(self.kept.get(principal, {}).values())

    def save(self, principal, note):
        self.kept.setdefault(principal, {})[note.name] = note

    def delete(self, principal, name):
        return self.kept.get(principal, {}).pop(name, None) is not None


@pytest.fixture(params=["folder", "the host's own"])
def store(request, tmp_path):
    """Each kind of store, empty."""
    return MemoryFolder(tmp_path / "notes") if request.param == "folder" else DictStore()


@pytest.fixture
def dispatcher(store):
    """A dispatcher with the three tools, which asks no one."""
    own = Dispatcher(Catalog(*memory_tools(store)))
    yield own
    own.close()


def call(dispatcher, tool, principal=None, /, **arguments):
    """Call a tool on behalf of a principal."""
    return dispatcher.call_sync(tool, arguments, principal=principal)


def test_a_note_is_written_found_by_words_and_deleted(dispatcher):
    """`remember`, `recall`, `forget` over a store the host gives; `recall` finds by words."""
    assert call(dispatcher, "recall").text == "(no notes)"
    assert call(dispatcher, "remember", name="tea", text="Ada drinks green tea.").text == "Wrote the note `tea`"
    call(dispatcher, "remember", name="deploys", text="# Deployments\nRelease on Tuesdays with `make ship`.")
    assert "green tea" in call(dispatcher, "recall", query="what does she drink?").text
    assert "green" not in call(dispatcher, "recall", query="release", limit=1).text
    assert call(dispatcher, "recall", query="deploys", limit=1).text.startswith("## deploys")
    listed = [line.partition(":")[2] for line in call(dispatcher, "recall").text.splitlines()]
    assert sorted(listed) == [" Ada drinks green tea.", " Deployments"]
    assert call(dispatcher, "remember", name="tea", text="Ada drinks black tea.").text == "Replaced the note `tea`"
    assert call(dispatcher, "forget", name="tea").text == "Deleted the note `tea`"
    assert call(dispatcher, "recall", query="tea").text == "(no note fits)\nnotes: deploys"


def test_one_principal_never_reads_anothers_notes(dispatcher):
    """Scoped by principal: one principal can never read, replace or delete another's notes."""
    principals = ["ada", "Ada", "ada ", "ada/../bob", "bob", "", None, "default", "ada\0", "\ud800"]
    for number, principal in enumerate(principals):
        call(dispatcher, "remember", principal, name="mine", text=f"The number is {number}.")
    for number, principal in enumerate(principals):
        expected = principals.index(None) if principal == "" else number  # an empty principal is none
        assert f"The number is {expected}." in call(dispatcher, "recall", principal, query="number", limit=20).text
    call(dispatcher, "forget", "ada", name="mine")
    assert call(dispatcher, "recall", "ada").text == "(no notes)"
    assert "number is 4" in call(dispatcher, "recall", "bob").text


def test_the_principal_of_the_session_counts(dispatcher):
    """The principal is that of the call or of its session, and no argument of a model can name another."""
    session = Session(principal="ada")
    dispatcher.call_sync("remember", {"name": "x", "text": "Ada's."}, session=session)
    assert "Ada's." in call(dispatcher, "recall", "ada").text
    assert call(dispatcher, "recall").text == "(no notes)"
    assert dispatcher.call_sync("recall", {"principal": "ada"}).kind == "bad_args"


@pytest.mark.parametrize(
    "name",
    ["", "..", "../x", "/etc/passwd", "a/b", "a\\b", "A", "tea.md", ".lock", "-x", "a b", "a\n", "a\0b", "con", "nul"]
    + ["lpt1", "x" * 65, "é", "\u202ex"],
)
@pytest.mark.parametrize("tool", ["remember", "forget"])
def test_names_are_safe_file_names(dispatcher, tool, name):
    """Names are safe file names: any other is refused, with what would be right."""
    arguments = {"name": name, "text": "x"} if tool == "remember" else {"name": name}
    result = dispatcher.call_sync(tool, arguments)
    assert result.kind == "bad_args"
    assert "use 1 to 64 of a-z 0-9 - _" in result.text


def test_a_refused_name_comes_with_a_good_one(dispatcher):
    """The nearest name is suggested, for a name that cannot be and for a note that is not there."""
    assert "such as 'my-note'" in call(dispatcher, "remember", name="My Note!", text="x").text
    call(dispatcher, "remember", name="preferences", text="x")
    assert "did you mean `preferences`?" in call(dispatcher, "forget", name="preference").text


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "use sk-ant-REDACTED-0000",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "AKIAABCDEFGHIJKLMNOP",
        "password: hunter2!",
        'api_key = "abc123def456"',
        "postgres://ada:hunter2@db.example/app",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln",
        "DB_PASSWORD=hunter22",
        "OPENAI_API_KEY=abc123def456",
        "client_secret: 9f8e7d6c5b",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG",
        "PGPASSWORD=hunter22",
    ],
)
def test_secrets_are_refused(dispatcher, text):
    """Secrets: a note that looks as if it held one is refused, and the message does not repeat it."""
    result = call(dispatcher, "remember", name="x", text=text)
    assert result.kind == "bad_args"
    assert "say where it is kept instead" in result.text
    assert text not in result.text
    assert call(dispatcher, "recall").text == "(no notes)"


@pytest.mark.parametrize(
    "text",
    [
        "The password is in the vault, ask Ada.",
        "Tokens are counted per turn; see docs/token.md.",
        "Use https://example.com:8443/a@b for the API.",
        "secret: none",
        "The api key lives in $API_KEY.",
    ],
)
def test_a_text_about_a_secret_is_not_a_secret(text):
    """A note may say where a secret is kept."""
    assert find_secret(text) is None


def test_a_host_may_allow_secrets(store):
    """A host whose store is meant for them says so."""
    dispatcher = Dispatcher(Catalog(*memory_tools(store, allow_secrets=True)))
    assert call(dispatcher, "remember", name="x", text="password: hunter2!").kind == "ok"
    dispatcher.close()


def test_answers_are_bounded(dispatcher):
    """Sizes are bounded: what does not fit into an answer is named, and the list is cut."""
    for number in range(5):
        call(dispatcher, "remember", name=f"long-{number}", text=f"tea {number} " + "x" * 15_000)
    text = call(dispatcher, "recall", query="tea", limit=5).text
    assert len(text) < 45_000
    assert "(too long to show here: long-" in text
    assert call(dispatcher, "recall", limit=21).kind == "bad_args"


def test_the_modes_ask_as_for_any_tool(store):
    """Permissions hold: `recall` only reads, `remember` writes, `forget` cannot be undone; a person sees the note."""
    tools = memory_tools(store)
    kinds = {}
    for mode in ("plan", "default", "auto"):
        dispatcher = Dispatcher(Catalog(*tools), permissions=Permissions(mode))
        kinds[mode] = [
            call(dispatcher, "recall").kind,
            call(dispatcher, "remember", name="x", text="y").kind,
            call(dispatcher, "forget", name="x").kind,
        ]
        dispatcher.close()
    assert kinds == {
        "plan": ["ok", "denied", "denied"],
        "default": ["ok", "waiting", "waiting"],
        "auto": ["ok", "ok", "waiting"],
    }


@pytest.mark.anyio
async def test_a_person_sees_the_note_that_is_replaced_or_deleted(store):
    """The preview has the new note and the old one, of the principal of the call."""
    async with Dispatcher(Catalog(*memory_tools(store)), permissions=Permissions("default")) as dispatcher:
        store.save("ada", MemoryNote(name="tea", text="green"))
        store.save("bob", MemoryNote(name="tea", text="none of your business"))
        waiting = await dispatcher.call("remember", {"name": "tea", "text": "black"}, principal="ada")
        assert waiting.request.preview == "the note `tea`, in place of the one below:\nblack\n\nwas:\ngreen"
        await dispatcher.resume(waiting.request.id, Decision.approve(by="eve"), principal="ada")
        loss = await dispatcher.call("forget", {"name": "tea"}, principal="ada")
        assert loss.request.preview == "delete the note `tea`:\nblack"
        assert [note.text for note in store.notes("ada")] == ["black"]


@pytest.mark.parametrize("wrong", [5, None, DictStore, object()])
def test_an_object_that_is_not_a_store_is_refused(wrong):
    """The error names the methods that a store has."""
    with pytest.raises(TypeError, match="an object with the methods notes, save, delete"):
        memory_tools(wrong)
