"""
What people and models type finds the tool that is meant, in `catalog.search` and in `tool_search`.
"""

from __future__ import annotations

import base64
import itertools
import math
import random
import threading
import uuid

import pytest

from toolkit import Catalog, Dispatcher, EmbeddingRanker, Tool
from toolkit.builtin import tool_search_for

SCHEMA = {"type": "object", "properties": {}}


def make_catalog(descriptions):
    catalog = Catalog()
    for name, description in descriptions.items():
        catalog.add(Tool.from_schema(name, description or "Do it.", SCHEMA, lambda arguments: None, defer=True))
    return catalog


def find(catalog, query, limit=5, ranker=None):
    """Return the names that both ways of searching find."""
    names = [result.tool.name for result in catalog.search(query, limit, ranker=ranker)]
    searching = Catalog()
    searching.add(tool_search_for(catalog, ranker=ranker))
    answer = Dispatcher(searching).call_sync("tool_search", {"query": query, "limit": limit}).unwrap()
    assert [tool["name"] for tool in answer["tools"]] == names
    return names


def test_a_rare_pair_of_words_does_not_shut_out_other_tools():
    descriptions = {
        "lamp_green": "A lamp that is green.",
        "depot": "Stores boxes, beside the green lamp, in a hall.",
        **{f"lamp_{number}": f"Lamp number {number}." for number in range(250)},
        **{f"green_{number}": f"Green number {number}." for number in range(250)},
    }
    names = find(make_catalog(descriptions), "green lamp")
    assert names[0] == "lamp_green"
    assert len(names) == 5


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("users", "create_user"),
        ("user", "count_users"),
        ("numbers", "check_number"),
        ("cancelled", "cancel_order"),
        ("cancellation", "cancel_order"),
        ("deletion", "delete_file"),
        ("registration", "register_device"),
        ("recommendation", "recommend_item"),
        ("execution", "execute_query"),
        ("payments", "pay_bill"),
        ("deploy", "start_deployment"),
        ("subscribe", "list_subscriptions"),
        ("notification", "notify_team"),
        ("summary", "summarize_text"),
        ("analyse", "run_analysis"),
        ("conversion", "convert_units"),
        ("approve", "ask_approval"),
        ("production", "produce_item"),
        ("definition", "define_term"),
        ("decision", "decide_case"),
        ("extension", "extend_lease"),
        ("expansion", "expand_node"),
        ("suspension", "suspend_user"),
        ("inclusion", "include_file"),
        ("permission", "permit_user"),
        ("transmission", "transmit_data"),
        ("reception", "receive_mail"),
        ("resolution", "resolve_issue"),
        ("solve", "list_solutions"),
        ("consumption", "consume_credit"),
        ("maintenance", "maintain_server"),
        ("assistance", "assist_user"),
        ("reference", "refer_patient"),
        ("renewal", "renew_license"),
        ("enrollment", "enroll_user"),
        ("comparison", "compare_files"),
        ("failure", "fail_job"),
        ("closure", "close_ticket"),
        ("visibility", "list_visible"),
        ("similarity", "find_similar"),
        ("synchronisation", "sync_files"),
        ("movement", "move_robot"),
        ("publication", "publish_post"),
        ("explanation", "explain_code"),
        ("storage", "store_file"),
        ("paid", "pay_bill"),
        ("sold", "sell_item"),
        ("sales", "sell_item"),
        ("written", "write_file"),
        ("wrote", "write_file"),
        ("bought", "buy_item"),
        ("indices", "create_index"),
        ("matrix", "list_matrices"),
        ("women", "find_woman"),
    ],
)
def test_one_form_of_a_word_finds_the_other(query, name):
    other_names = ["get_weather", "lend_book", "open_door", "paint_wall"]
    assert find(make_catalog({name: "", **dict.fromkeys(other_names, "")}), query) == [name]


@pytest.mark.parametrize(
    ("query", "exact", "other"),
    [
        ("users", "count_users", "create_user"),
        ("user", "create_user", "count_users"),
        ("registration", "start_registration", "register_device"),
        ("register", "register_device", "start_registration"),
        ("deletion", "undo_deletion", "delete_file"),
    ],
)
def test_the_exact_form_of_a_word_comes_before_the_others(query, exact, other):
    assert find(make_catalog({other: "", exact: "", "get_weather": ""}), query) == [exact, other]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("station", "state"),
        ("version", "convert"),
        ("comment", "com"),
        ("format", "form"),
        ("importance", "import"),
        ("commission", "commit"),
        ("position", "pose"),
        ("balance", "bal"),
        ("exception", "except"),
    ],
)
def test_words_that_only_look_related_are_not(word, other):
    assert find(make_catalog({f"get_{other}": "", "paint_wall": ""}), word) == []


def paste(length, seed):
    return base64.b64encode(random.Random(seed).randbytes(length * 3 // 4)).decode()


@pytest.mark.parametrize("length", [40, 400, 4_000, 40_000])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("template", ["delete {}", "{} delete", "delete this file: {} please"])
def test_a_long_paste_does_not_hide_a_known_word(length, seed, template):
    catalog = make_catalog(
        {"delete_file": "Delete a file.", "read_file": "Read a file.", "get_weather": "Tell the weather."}
    )
    assert find(catalog, template.format(paste(length, seed)))[0] == "delete_file"


@pytest.mark.parametrize("length", [40, 400, 4_000, 40_000])
@pytest.mark.parametrize(
    "write",
    [
        lambda data: base64.b64encode(data).decode(),
        lambda data: base64.encodebytes(data).decode(),
        lambda data: "eyJhbGciOiJIUzI1NiJ9." + base64.urlsafe_b64encode(data).decode(),
        bytes.hex,
        lambda data: data.hex(" "),
        lambda data: "".join(f"%{byte:02X}" for byte in data),
        lambda data: "\n".join(str(uuid.UUID(bytes=data[at : at + 16])) for at in range(0, len(data) - 15, 16)),
    ],
    ids=["base64", "lines", "token", "hex", "bytes", "percents", "uuids"],
)
def test_a_long_paste_hides_no_word_in_a_catalog_with_many_short_words(write, length):
    """Its letters are not words: `aB3x` is not the words "a", "b", "3" and "x"."""
    pairs = map("".join, itertools.product("abcdefghijklmnopqrstuvwxyz0123456789", repeat=2))
    catalog = make_catalog({"delete_file": "Delete a file.", **{f"use_{pair}_{pair[0]}": "" for pair in pairs}})
    text = write(random.Random(length).randbytes(length))
    assert "delete_file" in find(catalog, f"delete {text}")
    assert "delete_file" in find(catalog, f"{text} delete")


def test_a_long_paste_of_known_words_hides_no_word():
    catalog = make_catalog({"delete_file": "Delete a file.", **{f"use_{number}": "" for number in range(1_000)}})
    text = " ".join(map(str, range(1_000)))
    assert "delete_file" in find(catalog, f"delete {text}", 50)


def test_a_long_name_of_short_words_is_read():
    catalog = make_catalog({"set_reminder": "Set a reminder.", "open_door": "Open a door."})
    assert find(catalog, "SMS_v2__Set_a_reminder_by_id_now") == ["set_reminder"]


def test_a_misspelt_rare_word_counts_more_than_a_common_one():
    descriptions = {
        "set_reminder": "Set a reminder for a time.",
        **{f"calendar_{number}": "Do something with a calendar entry." for number in range(100)},
        **{f"tool_{number}": f"Work on the thing {number}." for number in range(400)},
    }
    catalog = make_catalog(descriptions)
    assert find(catalog, "remindre") == ["set_reminder"]
    assert find(catalog, "calendar remindre")[0] == "set_reminder"


FILLER = [
    "kind of",
    "could you please",
    "get me",
    "the name of",
    "some type of",
    "a list of things",
    "if you can",
    "value",
]


@pytest.mark.parametrize("seed", range(8))
def test_chance_words_of_a_long_request_do_not_hide_the_tool_that_is_meant(seed):
    nouns = ["car", "city", "river", "song", "team", "stone", "train", "plant", "star", "boat"]
    descriptions = {
        f"get_{noun}_{what}": f"Get the {what} of some kind of {noun}."
        for noun, what in itertools.product(nouns, ["name", "type", "list", "value", "thing"])
    }
    catalog = make_catalog({**descriptions, "archive_invoice": "Move an invoice to the archive."})
    chance = random.Random(seed)
    phrases = chance.sample(FILLER, 7)
    phrases.insert(chance.randrange(8), chance.choice(["move this invoice", "the invoice", "archive that one"]))
    assert "archive_invoice" in find(catalog, " ".join(phrases))


@pytest.mark.parametrize(
    "name", ["file_delete", "deleteFiles", "files.delete", "please-delete-a-file", "deletion_of_file"]
)
def test_a_name_that_no_tool_has_is_answered_with_tools_for_its_words(name):
    catalog = make_catalog({"delete_file": "Delete a file.", "get_weather": "Tell the weather.", "open_door": ""})
    line = "- `delete_file`: Delete a file."
    assert line in Dispatcher(catalog).call_sync(name, {}).text.splitlines()
    searching = Dispatcher(Catalog(tool_search_for(catalog)))
    assert line in searching.call_sync("tool_search", {"query": f"select:{name}"}).unwrap()["note"].splitlines()


@pytest.mark.parametrize("query", ["emials", "emali", "sned emials"])
def test_a_slip_in_another_form_of_a_word_is_repaired(query):
    assert find(make_catalog({"send_email": "Send an email.", "open_door": "Open a door."}), query)[0] == "send_email"


def test_the_request_of_the_user_counts_half_and_leaves_the_best_tool_first():
    catalog = make_catalog(
        {
            "read_invoice": "Read one thing.",
            "read_mail": "Read one thing.",
            "read_news": "Read new articles.",
        }
    )

    def names(*arguments, **options):
        return [result.tool.name for result in catalog.search(*arguments, **options)]

    assert names("read") == ["read_invoice", "read_mail", "read_news"]
    assert names("read", request="are there new articles") == ["read_invoice", "read_news", "read_mail"]
    assert names("xyzzy", request="the new articles") == ["read_news"]
    assert names("read", 1, request="new articles") == ["read_invoice"]


@pytest.mark.parametrize(
    "query", ["", " ", "the of and", "🦊", ".*+?[(", "\x00", "天気", "a" * 1_000_000, "( " * 500_000]
)
def test_odd_queries_have_no_hits(query):
    catalog = make_catalog({"delete_file": "Delete a file.", "get_weather": "Tell the weather."})
    assert find(catalog, query) == []


def test_names_that_differ_in_a_dot_are_two_tools():
    catalog = make_catalog({"files.read": "Read a file.", "files_read": "Read a file.", "get_weather": ""})
    assert find(catalog, "files.read") == ["files.read", "files_read"]
    assert find(catalog, "files_read") == ["files_read", "files.read"]


RELEASED = threading.Event()


def fail(texts):
    raise OSError("no route")


@pytest.mark.parametrize(
    "ranker",
    [
        EmbeddingRanker(fail),
        EmbeddingRanker(lambda texts: [[math.nan, 1.0] for _ in texts]),
        EmbeddingRanker(lambda texts: [[1.0] * (1 + len(text) % 3) for text in texts]),
        EmbeddingRanker(lambda texts: [[1.0, 2.0]] * (len(texts) + 1)),
        EmbeddingRanker(lambda texts: [["one"] for _ in texts]),
        EmbeddingRanker(lambda texts: None),
        EmbeddingRanker(lambda texts: RELEASED.wait(), timeout_seconds=0.01),
        lambda query, names: dict.fromkeys(names, math.nan),
        lambda query, names: {"no_such_tool": 1.0},
    ],
    ids=["raises", "nan", "lengths", "count", "words", "nothing", "hangs", "nan scores", "unknown names"],
)
def test_a_broken_ranker_leaves_the_plain_ranking(ranker):
    catalog = make_catalog({"read_mail": "Read mail.", "send_mail": "Send mail.", "get_weather": ""})
    assert find(catalog, "some mail", ranker=ranker) == find(catalog, "some mail") == ["read_mail", "send_mail"]
    RELEASED.set()  # the function that hangs ends with its test


def test_a_catalog_may_change_during_a_search():
    catalog = make_catalog({"read_mail": "Read mail.", "send_mail": "Send mail.", "old_tool": "Send mail."})
    numbers = itertools.count()

    def change(query, names):
        catalog.add(Tool.from_schema(f"tool_{next(numbers)}", "Open a door.", SCHEMA, lambda arguments: None))
        if "old_tool" in catalog:
            catalog.remove("old_tool")
        return {}

    first = [result.tool.name for result in catalog.search("some mail", ranker=change)]
    assert first == ["read_mail", "send_mail", "old_tool"]
    assert find(catalog, "some mail", ranker=change) == ["read_mail", "send_mail"]
