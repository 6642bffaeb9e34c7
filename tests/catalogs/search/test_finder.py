"""Searching a catalog: what is found, what is not, and what it follows."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from toolkit import Catalog, Tool
from toolkit.catalogs.search.finder import clean_description, document_of


def made(name: str, description: str = "Do something.", **options) -> Tool:
    """Return a tool without parameters."""
    return Tool.from_schema(name, description, {"type": "object"}, lambda arguments: None, **options)


def imported(name: str, description: str = "Do something.", **options) -> Tool:
    """Return a tool as a server would offer it."""
    return replace(made(name, description, **options), origin="mcp:shop")


@pytest.fixture
def catalog():
    return Catalog(
        made("send_email", "Send an email to a person.", group="mail", aliases=["post"]),
        made("read_mail", "Read the inbox.", group="mail"),
        made("get_weather", "Tell the weather of a city.", group="web"),
        made("count_words", "Count words of a text."),
    )


def test_the_best_fit_is_first_with_its_score_and_words(catalog):
    """An answer says what was found, how well, and by which words."""
    matches = catalog.search("send an email")
    assert matches[0].tool is catalog["send_email"]
    assert matches[0].score > 0
    assert set(matches[0].words) == {"send", "email"}
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)


def test_a_search_result_is_a_sequence(catalog):
    """It can be counted and sliced."""
    matches = catalog.search("email mail inbox", 2)
    assert len(matches) == 2
    assert [match.tool for match in matches] == matches.tools
    assert matches[:1] == (matches[0],)
    assert "read_mail" in repr(matches)


def test_a_search_without_a_fit_returns_no_tools_and_names_the_groups(catalog):
    """The largest group comes first."""
    matches = catalog.search("xylophone quartz")
    assert not matches
    assert matches.groups == {"mail": 2, "web": 1, "(none)": 1}
    assert matches.advice == "nothing fits; the groups are mail (2), web (1), (none) (1)"
    assert "nothing fits" in repr(matches)
    assert catalog.search("email").advice == ""


def test_an_empty_catalog_says_that_it_is_empty():
    """There are no groups to name."""
    assert Catalog().search("anything").advice == "nothing fits; there are no tools"


def test_the_advice_names_only_some_of_many_groups():
    catalog = Catalog(*(made(f"tool_{number}", group=f"group{number}") for number in range(40)))
    assert catalog.search("xylophone").advice.endswith(" and 10 more")


@pytest.mark.parametrize("group", ["mail", "MAIL"])
def test_a_group_is_searched_alone(catalog, group):
    """The name of the group may be written in any form."""
    assert {match.tool.name for match in catalog.search("email inbox weather words", group=group)} == {
        "send_email",
        "read_mail",
    }


def test_a_search_in_an_unknown_group_names_the_groups_that_exist(catalog):
    assert "mail (2)" in catalog.search("mail", group="post office").advice


@pytest.mark.parametrize(
    ("query", "limit", "group", "error", "message"),
    [
        (7, 5, None, TypeError, "search wants words, got int"),
        ("mail", 0, None, ValueError, "limit has to be at least 1"),
        ("mail", 2.5, None, TypeError, "limit has to be a whole number"),
        ("mail", "2", None, TypeError, "limit has to be a whole number"),
        ("mail", 5, 7, TypeError, "group a name, got 5 and 7"),
    ],
)
def test_nonsense_is_refused(catalog, query, limit, group, error, message):
    """A query is text, a limit a whole number and at least one, a group a name."""
    with pytest.raises(error, match=message):
        catalog.search(query, limit, group=group)


def test_an_alias_given_later_is_found(catalog):
    """Aliases of the catalog count as much as those of the author, from when they are there."""
    assert not catalog.search("missive")
    catalog.alias("missive", "send_email")
    assert catalog.search("missive")[0].tool.name == "send_email"


def test_the_index_follows_added_and_removed_tools(catalog):
    """The index is brought up to date, not built again."""
    catalog.search("mail")
    catalog.add(made("brew_coffee", "Make a cup of coffee."))
    assert catalog.search("coffee")[0].tool.name == "brew_coffee"
    catalog.remove("brew_coffee")
    assert not catalog.search("coffee")
    catalog.remove("send_email")
    assert [match.tool.name for match in catalog.search("email inbox")] == ["read_mail"]


def test_a_replaced_tool_is_found_by_its_new_words_only(catalog):
    catalog.search("mail")
    catalog.add(made("count_words", "Tally terms."), replace=True)
    assert catalog.search("tally")[0].tool is catalog["count_words"]
    assert catalog.search("count text")[0].tool is catalog["count_words"]
    assert "text" not in catalog.search("count text")[0].words


def test_a_view_is_searched_as_the_view_shows_its_tools(catalog):
    """A filtered view finds only its own tools, and a prefixed one has its own names."""
    view = catalog.filtered(lambda tool: tool.facts.group != "mail")
    assert not view.search("email")
    assert view.search("weather")[0].tool.name == "get_weather"
    assert set(view.search("xylophone").groups) == {"web", "(none)"}
    assert catalog.prefixed("x_").search("weather")[0].tool.name == "x_get_weather"


def test_a_filtered_view_shares_the_index_of_its_source(catalog):
    """Asking a view about one query asks only about what fits, not about every tool."""
    asked = []
    view = catalog.filtered(lambda tool: asked.append(tool.name) or True)
    assert view.search("weather")[0].tool.name == "get_weather"
    assert asked == ["get_weather"]


def test_the_hint_of_an_imported_tool_is_ignored_and_a_local_tool_wins_a_tie():
    """Words that its server would like to be found by do not count, and a local tool goes first."""
    catalog = Catalog(
        imported("aa_pay", "Pay a bill.", search_hint="weather forecast rain"),
        made("zz_pay", "Pay a bill."),
    )
    assert not catalog.search("weather")
    assert [match.tool.name for match in catalog.search("pay a bill")] == ["zz_pay", "aa_pay"]


def test_an_imported_description_is_bounded_and_cleaned():
    """A flood of words and hidden characters are not indexed and not shown."""
    tool = imported("pay", "Pay a bill.\u202e" + " filler" * 1000 + " treasure")
    assert len(clean_description(tool)) < 1100
    assert "\u202e" not in clean_description(tool)
    assert clean_description(tool).endswith("...")
    assert not Catalog(tool).search("treasure")
    assert document_of(tool).is_imported


def test_an_imported_schema_is_bounded_and_cleaned():
    """A thousand parameters bring no more words than a description may."""
    schema = {"type": "object", "properties": {"amount\u202e": {}, **{f"filler_{n}": {} for n in range(1_000)}}}
    schema["properties"]["treasure"] = {}
    tool = replace(Tool.from_schema("pay", "Pay.", schema, lambda arguments: None), origin="mcp:shop")
    assert document_of(tool).parameters[0].startswith("amount")
    assert not Catalog(tool).search("treasure")
    assert "\u202e" not in "".join(document_of(tool).parameters)
    assert sum(map(len, document_of(tool).parameters)) < 1100


def test_hints_of_tools_from_an_installed_package_count():
    """They run in this process."""
    tool = replace(made("pay", search_hint="settle an invoice"), origin="dist:shop")
    assert Catalog(tool).search("invoice")


@pytest.mark.parametrize("word", ["temperature", "kelvin", "hot"])
def test_a_tool_is_found_by_its_parameters(word):
    """The names, the descriptions and the possible values count."""
    catalog = Catalog()

    @catalog.tool
    def convert(temperature: float, unit: str) -> float:
        """Convert it.

        Args:
            temperature: How hot it is.
            unit: Kelvin, or another one.
        """
        return temperature

    assert catalog.search(word)[0].tool.name == "convert"


def test_a_tool_that_waits_for_a_name_is_found_without_its_parameters():
    """An annotation that is not defined yet does not spoil the search."""
    catalog = Catalog()

    @catalog.tool
    def fly(to: Nowhere) -> None:  # noqa: F821 -- that is the point
        """Fly to the moon."""

    assert catalog.search("moon")[0].tool.name == "fly"


def test_the_scores_of_a_ranker_are_fused(catalog):
    """A tool that only the ranker knows is found, but no tool outside the catalog."""
    matches = catalog.search("umbrella", ranker=lambda query, names: {"get_weather": 0.9, "unheard_of": 1.0})
    assert [match.tool.name for match in matches] == ["get_weather"]


def test_searches_beside_changes_never_fail(catalog):
    """Threads that search while others add see the tools of one moment."""
    problems = []

    def look():
        try:
            for _ in range(100):
                for match in catalog.search("mail weather coffee"):
                    assert match.tool.name
        except Exception as error:  # noqa: BLE001 -- told to the test, which runs in another thread
            problems.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(100):
        catalog.add(made(f"coffee_{number}", "Make coffee."))
        if number % 2:
            catalog.remove(f"coffee_{number}")
    for thread in threads:
        thread.join()
    assert problems == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("count", "in_thread", "is_logged"), [(500, False, True), (499, False, False), (500, True, False)]
)
async def test_an_index_that_is_built_in_the_event_loop_is_logged(caplog, count, in_thread, is_logged):
    """The loop stands still meanwhile, and the log says how to avoid it; once, because the next search has it."""
    catalog = Catalog(*(made(f"tool_{number}") for number in range(count)))
    for _ in range(2):
        matches = await asyncio.to_thread(catalog.search, "tool_3") if in_thread else catalog.search("tool_3")
        assert matches[0].tool.name == "tool_3"
    assert caplog.text.count("asyncio.to_thread(catalog.search") == is_logged


def test_a_script_gets_no_warning(caplog):
    """It has no event loop that a search could hold up."""
    Catalog(*(made(f"tool_{number}") for number in range(500))).search("tool_3")
    assert caplog.text == ""


SERVICES = {
    "slack": ["post_message", "open_dm", "get_channel_history", "set_topic", "invite_user", "upload_file"],
    "gmail": ["send_email", "search_emails", "trash_email", "list_labels"],
    "twilio": ["send_sms", "send_whatsapp", "list_messages", "make_call"],
    "jira": ["create_issue", "transition_issue", "get_board", "add_worklog"],
    "zendesk": ["create_ticket", "close_ticket", "list_macros"],
}
TEXTS = {"send_email": "Send an email message.", "send_sms": "Send a text message.", "post_message": "Post a message."}


def build_services(*, has_names):
    """Return the tools of several services: by the names of the services too, or only in groups."""
    catalog = Catalog()
    for service, names in SERVICES.items():
        for name in names:
            text = TEXTS.get(name, name.replace("_", " ").capitalize() + ".")
            full_name = f"{service}_{name}" if has_names else f"t{len(catalog)}_{name}"
            catalog.add(Tool.from_schema(full_name, text, {"type": "object"}, lambda arguments: None, group=service))
    return catalog


@pytest.mark.parametrize(
    ("query", "service", "names"),
    [
        ("send slack message", "slack", {"post_message"}),
        ("send a slack message to bob", "slack", {"post_message"}),
        ("close jira issue", "jira", {"create_issue", "transition_issue"}),
        ("create a jira ticket", "jira", {"create_issue"}),
        ("zendesk ticket", "zendesk", {"create_ticket", "close_ticket"}),
    ],
)
def test_a_query_that_names_a_group_finds_its_tools_first(query, service, names):
    best = build_services(has_names=True).search(query, 3)[0].tool
    assert best.facts.group == service
    assert best.name.endswith(tuple(names))


@pytest.mark.parametrize("service", SERVICES)
def test_tools_are_found_by_their_group_alone(service):
    """The name of the tool need not repeat it."""
    matches = build_services(has_names=False).search(f"what {service} can do", 10)
    assert {match.tool.facts.group for match in matches} == {service}
    assert len(matches) == len(SERVICES[service])


def test_a_group_is_forgotten_with_its_last_tool():
    """Then its name is an ordinary word."""
    catalog = build_services(has_names=True)
    catalog.search("slack")
    for name in list(catalog.names()):
        if name.startswith("slack_"):
            catalog.remove(name)
    assert {match.tool.facts.group for match in catalog.search("send slack message", 2)} <= {"gmail", "twilio"}
