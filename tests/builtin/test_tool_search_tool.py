"""`tool_search`, and deferred tools called with and without it."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from toolkit import Catalog, Dispatcher, Permissions, Session, Tool
from toolkit.builtin import tool_search_for
from toolkit.catalogs.search.finder import shorten_description
from toolkit.values.text_limits import estimate_tokens

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(read_only=True, group="files")
    def read(path: str) -> str:
        """Read a file."""
        return path

    @catalog.tool(defer=True, group="mail")
    def send_email(to: str, body: str) -> str:
        """Send an email to a person."""
        return f"sent to {to}"

    @catalog.tool(defer=True, destructive=True, group="mail")
    def wipe_mailbox() -> str:
        """Delete every email of a mailbox."""
        return "gone"

    catalog.add(tool_search_for(catalog))
    return catalog


async def search_tools(dispatcher, query, session=None, **options):
    result = await dispatcher.call("tool_search", {"query": query, **options}, session=session)
    assert result.kind == "ok", result.text
    assert json.loads(result.text) == result.value
    return result.value


def list_defined(catalog, session):
    return [definition["name"] for definition in catalog.definitions(session=session)]


async def test_a_tool_that_was_found_comes_with_its_schema_and_is_loaded(catalog):
    """The answer is enough to call the tool, and the next definitions end with it."""
    session, dispatcher = Session(), Dispatcher(catalog)
    assert list_defined(catalog, session) == ["read", "tool_search"]
    answer = await search_tools(dispatcher, "send email", session, limit=1)
    assert answer["tools"] == [
        {
            "name": "send_email",
            "description": "Send an email to a person.",
            "group": "mail",
            "input_schema": catalog["send_email"].schema,
        }
    ]
    assert list_defined(catalog, session) == ["read", "tool_search", "send_email"]


async def test_a_tool_that_the_model_has_already_is_named_without_its_schema(catalog):
    """The model has the tools that are always defined and the loaded ones."""
    session, dispatcher = Session(), Dispatcher(catalog)
    session.load("send_email")
    answer = await search_tools(dispatcher, "read file, send email, wipe mailbox", session)
    entries = {entry["name"]: entry for entry in answer["tools"]}
    assert entries["read"]["already_loaded"]
    assert entries["send_email"]["already_loaded"]
    assert "input_schema" not in entries["read"]
    assert "input_schema" in entries["wipe_mailbox"]
    assert session.loaded == ("send_email", "wipe_mailbox")


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_the_definition_of_tool_search_is_small(catalog, provider):
    """It has at most 110 tokens by our estimate, and is sent with each request."""
    (definition,) = catalog.filtered(lambda tool: tool.name == "tool_search").definitions(provider)
    assert estimate_tokens(len(json.dumps(definition, separators=(",", ":")))) <= 110


async def test_the_search_does_not_find_the_search_tool(catalog):
    answer = await search_tools(Dispatcher(catalog), "find further tools")
    assert "tool_search" not in [entry["name"] for entry in answer["tools"]]


async def test_tools_are_selected_by_name_in_the_order_named(catalog):
    """`select:` takes several; an alias selects its tool, once."""
    catalog.alias("mail", "send_email")
    session = Session()
    answer = await search_tools(Dispatcher(catalog), " select: wipe_mailbox , mail,send_email", session)
    assert [entry["name"] for entry in answer["tools"]] == ["wipe_mailbox", "send_email"]
    assert session.loaded == ("wipe_mailbox", "send_email")
    assert "note" not in answer


async def test_unknown_names_are_answered_with_near_ones(catalog):
    """The others are loaded all the same."""
    answer = await search_tools(Dispatcher(catalog), "select:send_emial,read")
    assert [entry["name"] for entry in answer["tools"]] == ["read"]
    assert answer["note"].splitlines()[:3] == [
        "unknown tool `send_emial`; did you mean `send_email`?",
        "These tools fit the words of the name:",
        "- `send_email`: Send an email to a person.",
    ]


async def test_only_the_first_three_unknown_names_are_answered_with_similar_ones(catalog):
    """Each answer compares every name of the catalog, and a model can send many names."""
    note = (await search_tools(Dispatcher(catalog), "select:send_emai,reed,sendemal,read_,send_mail"))["note"]
    assert note.count("unknown tool") == 5
    assert note.count("did you mean") == 3


async def test_a_tool_that_cannot_be_described_is_not_loaded(catalog):
    """The others are found, and the conversation can go on."""

    @catalog.tool(defer=True)
    def email_later(when: "Sometime") -> str:  # noqa: F821, UP037 -- it is never defined
        """Send an email later."""
        return "later"

    session, dispatcher = Session(), Dispatcher(catalog)
    answer = await search_tools(dispatcher, "send an email later", session)
    assert [tool["name"] for tool in answer["tools"]] == ["send_email"]
    assert "`email_later` cannot be called: its author has to mend it" in answer["note"]
    assert session.loaded == ("send_email",)


async def test_select_without_names_is_answered_with_its_form(catalog):
    assert "select:read,write" in (await search_tools(Dispatcher(catalog), "select:"))["note"]


async def test_a_search_without_a_result_names_the_groups(catalog):
    session = Session()
    answer = await search_tools(Dispatcher(catalog), "xylophone", session)
    assert answer == {"tools": [], "note": "nothing fits; the groups are mail (2), files (1)"}
    assert session.loaded == ()


async def test_tools_that_fit_less_are_named_without_their_schema(catalog):
    """Five tools come with their schema and are loaded, and fifteen more are named. The model can select them."""
    text = "Send a fax to people far away."
    for number in range(30):
        catalog.add(Tool.from_schema(f"fax_{number}", text, {"type": "object"}, print, defer=True))
    session = Session()
    answer = await search_tools(Dispatcher(catalog), "fax", session)
    assert len(answer["tools"]) == len(session.loaded) == 5
    assert len(answer["further"]) == 15
    assert set(answer["further"].values()) == {"Send a fax to people far"}
    assert set(answer["further"]).isdisjoint(session.loaded)
    first = next(iter(answer["further"]))
    assert (await search_tools(Dispatcher(catalog), f"select:{first}", session))["tools"][0]["name"] == first


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("Pay a bill. It takes days.", "Pay a bill"),
        ("Go. Then come back again, please do so.", "Go. Then come back again, please"),
        ("Pay.", "Pay"),
        ("Pay it\nby transfer, or by card, or in cash", "Pay it by transfer, or by"),
        ("x" * 500, "x" * 100),
    ],
)
def test_a_description_is_shortened_to_three_to_six_words(description, words):
    assert shorten_description(Tool.from_schema("pay", description, {"type": "object"}, print)) == words


async def test_a_group_narrows_the_search(catalog):
    """Only tools of that group are found."""
    answer = await search_tools(Dispatcher(catalog), "read email", group="files")
    assert [entry["name"] for entry in answer["tools"]] == ["read"]


@pytest.mark.parametrize("limit", [0, 51])
async def test_a_limit_outside_1_to_50_is_refused(catalog, limit):
    result = await Dispatcher(catalog).call("tool_search", {"query": "email", "limit": limit})
    assert result.kind == "bad_args"
    assert "1 to 50" in result.text


@pytest.mark.parametrize("query", ["delete mailbox", "select:wipe_mailbox", "select:wipe_mailbo"])
async def test_a_tool_that_the_session_could_never_run_is_not_found(catalog, query):
    """Words and its name do not find it. Its name is not suggested, and its group does not count it."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto", ["deny wipe_mailbox"]))
    session = Session()
    answer = await search_tools(dispatcher, query, session)
    assert "wipe_mailbox" not in json.dumps(answer).replace("unknown tool `wipe_mailbox`", "")
    assert "wipe_mailbox" not in session.loaded


async def test_a_search_in_plan_mode_finds_only_read_only_tools(catalog):
    """Plan mode would deny the others."""
    answer = await search_tools(Dispatcher(catalog, permissions=Permissions("plan")), "email file", Session())
    assert [entry["name"] for entry in answer["tools"]] == ["read"]


async def test_an_imported_tool_names_its_origin(catalog):
    """The model can tell whose words it reads."""
    tool = Tool.from_schema("pay", "Pay a bill.\x1b[2J", {"type": "object"}, print, defer=True)
    catalog.add(replace(tool, origin="mcp:shop"))
    (entry,) = (await search_tools(Dispatcher(catalog), "pay bill"))["tools"]
    assert entry["origin"] == "mcp:shop"
    assert "\x1b" not in entry["description"]


async def test_the_given_ranker_is_asked(catalog):
    """Its scores are fused with ours."""
    catalog.remove("tool_search")
    catalog.add(tool_search_for(catalog, ranker=lambda query, names: {"send_email": 1.0}))
    answer = await search_tools(Dispatcher(catalog), "postcard")
    assert [entry["name"] for entry in answer["tools"]] == ["send_email"]


@pytest.mark.parametrize("answer", [ConnectionError("no embeddings"), ["send_email"], {"send_email": "high"}])
async def test_the_words_decide_if_the_ranker_gives_no_answer(catalog, caplog, answer):
    def rank(query, names):
        if isinstance(answer, Exception):
            raise answer
        return answer

    catalog.add(tool_search_for(catalog, ranker=rank), replace=True)
    answer_of_search = await search_tools(Dispatcher(catalog), "email")
    assert answer_of_search["tools"][0]["name"] == "send_email"
    assert "the ranker of `tool_search` failed" in caplog.text


async def test_a_deferred_tool_runs_by_name_without_a_search(catalog):
    """If its arguments fit, no look at its schema is needed first."""
    session = Session()
    result = await Dispatcher(catalog).call("send_email", {"to": "ada", "body": "hi"}, session=session)
    assert result.text == "sent to ada"
    assert session.loaded == ()


async def test_wrong_arguments_for_a_tool_never_seen_are_answered_with_its_schema(catalog):
    """Once: from then on it is among the definitions."""
    session, dispatcher = Session(), Dispatcher(catalog)
    first = await dispatcher.call("send_email", {"to": 7}, session=session)
    assert first.kind == "bad_args"
    assert json.dumps(catalog["send_email"].schema, separators=(",", ":")) in first.text
    assert session.loaded == ("send_email",)
    second = await dispatcher.call("send_email", {"to": 7}, session=session)
    assert "JSON Schema" not in second.text
    assert "JSON Schema" not in (await dispatcher.call("read", {}, session=session)).text


async def test_a_call_without_a_session_gets_the_schema_every_time(catalog):
    dispatcher = Dispatcher(catalog)
    for _ in range(2):
        assert "JSON Schema" in (await dispatcher.call("send_email", {})).text


async def test_a_forbidden_tool_does_not_show_its_schema(catalog):
    """It could never run."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("plan"))
    session = Session()
    assert "JSON Schema" not in (await dispatcher.call("send_email", {}, session=session)).text
    assert session.loaded == ()


async def test_one_can_call_the_function_by_hand(catalog):
    """Like every tool it is a plain function."""
    from toolkit import Context

    tool = catalog["tool_search"]
    assert tool.function("email", context=Context(facts=tool.facts))["tools"]


async def test_the_index_is_built_in_a_thread(catalog):
    """The first search of thousands of tools takes a second; the event loop works on meanwhile."""
    threads = []

    def rank(query, names):
        threads.append(threading.current_thread())
        return {}

    catalog.add(tool_search_for(catalog, ranker=rank), replace=True)
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("tool_search", {"query": "email"})
    assert result.value["tools"][0]["name"] == "send_email"
    assert threads[0] is not threading.current_thread()


async def test_an_index_that_is_built_in_slices_is_the_same_index():
    """Pauses let an event loop go on, and change nothing about what is found."""
    catalog = Catalog()
    for number in range(45):

        @catalog.tool(name=f"forecast_{number}", defer=True, read_only=True)
        async def forecast(day: str) -> str:
            """Tell the weather."""
            return day

    other = Catalog(*catalog)
    here = [(hit.tool.name, hit.score) for hit in catalog.search("weather forecast", 50)]
    there = await asyncio.to_thread(other.search, "weather forecast", 50)
    assert [(hit.tool.name, hit.score) for hit in there] == here
    assert len(here) == 45


async def test_the_words_of_the_user_count_half():
    """An agent tells the session what its user asked for last."""
    catalog = Catalog()
    for name, text in {
        "read_a": "Read one thing.",
        "read_b": "Read one thing.",
        "read_c": "Read new articles.",
    }.items():
        catalog.add(Tool.from_schema(name, text, {"type": "object"}, lambda arguments: None, defer=True))
    catalog.add(tool_search_for(catalog))
    session, dispatcher = Session(), Dispatcher(catalog)

    async def find():
        answer = await dispatcher.call("tool_search", {"query": "read"}, session=session)
        return [tool["name"] for tool in answer.unwrap()["tools"]]

    assert await find() == ["read_a", "read_b", "read_c"]
    session.last_prompt = "Are there new articles?"
    assert await find() == ["read_a", "read_c", "read_b"]
