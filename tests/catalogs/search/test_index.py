"""
The right tool comes first, what fits nothing finds nothing, and the index follows its tools.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading

import pytest

from tests.line_counts import count_steps
from toolkit.catalogs.search import Document, Hit, Index
from toolkit.catalogs.search import vocabulary as vocabulary_module
from toolkit.catalogs.search.postings import Postings
from toolkit.catalogs.search.vocabulary import Vocabulary

FORECAST = Document(
    name="get_forecast", description="The weather of the next days.", parameters=("city",), texts=("Name of the city.",)
)
READ = Document(name="read_file", aliases=("cat",), description="Read a text file.", parameters=("path", "encoding"))
WRITE = Document(name="write_file", description="Write a text file.", parameters=("path", "content"))
MAIL = Document(name="sendMail", hint="letter postbox", description="Send a message.", parameters=("recipient",))
PAY = Document(name="pay_invoice", description="Pay a bill.", parameters=("currency",), texts=("EUR", "USD"))
TOOLS = [FORECAST, READ, WRITE, MAIL, PAY]


def names(hits):
    return [hit.name for hit in hits]


@pytest.fixture
def index():
    return Index(TOOLS)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("weather", "get_forecast"),
        ("What will the weather be like tomorrow?", "get_forecast"),
        ("forecasts", "get_forecast"),
        ("city", "get_forecast"),
        ("reading a file", "read_file"),
        ("write text", "write_file"),
        ("postbox", "sendMail"),
        ("mail", "sendMail"),
        ("SENDING MAILS", "sendMail"),
        ("recipients", "sendMail"),
        ("usd", "pay_invoice"),
        ("invoices", "pay_invoice"),
        ("send_mail", "sendMail"),
    ],
)
def test_every_field_is_searched(index, query, first):
    """Names, aliases, hints, descriptions, parameters and their texts; whatever the form of the word."""
    assert names(index.search(query))[0] == first


@pytest.mark.parametrize(
    ("query", "first", "word"),
    [
        ("wether", "get_forecast", "wether -> weather"),
        ("forceast", "get_forecast", "forceast -> forecast"),
        ("xeather", "get_forecast", "xeather -> weather"),
        ("recipiant", "sendMail", "recipiant -> recipient"),
        ("invioce", "pay_invoice", "invioce -> invoice"),
        ("forec", "get_forecast", "forec -> forecast"),
        ("curr", "pay_invoice", "curr -> currency"),
    ],
)
def test_misspelt_and_unfinished_words_are_understood(index, query, first, word):
    """The hit says which word was taken for which."""
    assert index.search(query)[0] == Hit(first, pytest.approx(0.2, abs=0.19), (word,))


@pytest.mark.parametrize(
    "query", ["asdfgh qwerty", "the of and", "", "   ", "?!", "z", "文件", "\ud800", "\x00", "12345", "_"]
)
def test_a_query_that_fits_no_tool_has_no_hits(index, query):
    assert index.search(query) == []


def test_a_tool_far_behind_the_best_is_not_a_hit():
    """Such a tool shares only a passing word with the query."""
    passing = Document(name="log", description="note " * 60 + "weather", texts=("weather",))
    index = Index([FORECAST, passing, *(Document(name=f"other{n}", description="else") for n in range(50))])
    assert names(index.search("get the weather forecast of the next days in a city")) == ["get_forecast"]


@pytest.mark.parametrize("query", ["read_file", "readFile", "read file", "READ-FILE", "cat", " Cat "])
def test_a_name_or_alias_comes_first(index, query):
    """The tool has the full score."""
    index.add(Document(name="files", description="read file cat read file cat", hint="read file cat"))
    best = index.search(query)[0]
    assert (best.name, best.score) == ("read_file", 1.0)


def test_the_literally_equal_name_comes_before_a_similar_one():
    """`readFile` asks for that, not for `read_file`."""
    index = Index([READ, Document(name="readFile", is_imported=True)])
    assert names(index.search("readFile")) == ["readFile", "read_file"]
    assert names(index.search("read_file")) == ["read_file", "readFile"]


def test_a_tool_whose_name_is_a_stop_word_is_found_by_the_name(index):
    index.add(Document(name="help"))
    assert index.search("help") == [Hit("help", 1.0, ())]


@pytest.mark.parametrize("query", ["", " ", "?!", "__", "📧"])
def test_a_name_of_marks_is_found_only_by_itself(query):
    """A query without words is compared as `_`, and does not ask for that tool."""
    index = Index([Document(name="_"), READ])
    assert index.search(query) == []
    assert names(index.search("_")) == ["_"]


def test_an_imported_tool_loses_a_tie():
    """Its name does not matter."""
    local = Document(name="zz_lookup", description="Find a word.")
    foreign = Document(name="aa_lookup", description="Find a word.", is_imported=True)
    assert names(Index([foreign, local]).search("find word")) == ["zz_lookup", "aa_lookup"]


def test_other_ties_are_decided_by_name():
    """The order of adding does not matter."""
    same = [Document(name=name, description="Find a word.") for name in ("b_x", "c_x", "a_x")]
    assert names(Index(same).search("find word")) == ["a_x", "b_x", "c_x"]


def test_a_rare_word_counts_more_than_a_common_one():
    """A word that many tools share distinguishes them least."""
    crowd = [Document(name=f"get_{n}", description="Get a record.") for n in range(20)]
    index = Index([*crowd, Document(name="fetch", description="Fetch the ledger.")])
    assert names(index.search("get record ledger"))[0] == "fetch"


def test_a_name_counts_more_than_a_mention():
    """A tool that is about something comes before one that speaks of it."""
    index = Index([Document(name="invoice"), Document(name="other", description="Not for an invoice of any kind.")])
    assert names(index.search("an invoice please")) == ["invoice", "other"]


def test_the_form_that_was_written_counts_more_than_another():
    """Asked for a relation, a tool for relations comes before one for what is related."""
    others = [Document(name=f"other{n}") for n in range(9)]
    index = Index(
        [Document(name="a", description="Relate people."), Document(name="b", description="Relation people.")]
    )
    assert names(index.search("relation")) == ["b", "a"]
    assert names(index.search("relate")) == ["a", "b"]
    index = Index([*others, Document(name="a", description="calls"), Document(name="b", description="calling")])
    assert [names(index.search(query)) for query in ("calls", "calling")] == [["a", "b"], ["b", "a"]]


def test_a_smaller_limit_only_shortens_the_answer():
    """The first of one hit is the first of ten."""
    passing = Document(name="b", description="Relation people, places and things that are here.")
    index = Index([Document(name="a", description="Relate people."), passing])
    assert names(index.search("relation")) == ["b", "a"]
    assert index.search("relation", 1) == index.search("relation")[:1]


@pytest.mark.parametrize(
    "where", ["/srv/invoices/list.csv", "~/invoices", "../invoices", "https://example.org/invoices", "ftp://invoices"]
)
def test_a_word_in_a_path_counts_less(where):
    """A word that the query also has outside of the path counts in full."""
    index = Index([Document(name="a", description="Invoices."), Document(name="b", description="Letters.")])
    assert names(index.search(f"letters {where}")) == ["b", "a"]
    assert names(index.search(f"letters {where} invoices")) == ["a", "b"]


@pytest.mark.parametrize("query", ["letters/invoices", "letters 1/2 invoices", "letters / invoices"])
def test_a_slash_between_words_makes_no_path(query):
    """Words on either side of it count in full."""
    index = Index([Document(name="a", description="Invoices."), Document(name="b", description="Letters.")])
    assert names(index.search(query)) == ["a", "b"]


@pytest.mark.parametrize("count", [50, 3000])
def test_the_best_of_many_that_share_a_word_are_found(count):
    """Many tools have the common word, and those come first that have the other one as well."""
    crowd = [Document(name=f"tool{n}", description="Get a record.") for n in range(count)]
    wanted = [Document(name=f"wanted{n}", description="Get a record of the ledger.") for n in range(5)]
    hits = Index([*crowd, *wanted]).search("get record ledger", 5)
    assert names(hits) == [f"wanted{n}" for n in range(5)]


def test_neighbouring_words_count_as_such():
    """`home page` in that order is more than both words somewhere."""
    apart = Document(name="a", description="Page through what you find at home.")
    together = Document(name="b", description="Find through the home page what you.")
    assert names(Index([apart, together]).search("home page")) == ["b", "a"]


@pytest.mark.parametrize("query", ["web hook", "webhook", "WebHook", "web_hook"])
@pytest.mark.parametrize("name", ["webhook", "web_hook", "WebHook", "add_webhook"])
def test_a_word_written_apart_is_the_same_word(query, name):
    """Two words are also looked for as one, and one that was split as a whole."""
    assert names(Index([*TOOLS, Document(name=name)]).search(query)) == [name]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Réservez un café", "cafe reservez"),
        ("Straßenkarte", "STRASSENKARTE"),
        ("查询天气预报", "天气"),
        ("查询天气预报", "气"),
        ("東京の天気", "天気"),
        ("ＡＰＩ", "api"),
        ("날씨 예보", "날씨"),
        ("Прогноз погоды", "ПРОГНОЗ"),
        ("محمد", "مُحَمَّد"),
        ("שָׁלוֹם", "שלום"),
        ("查询" * 40 + "天气", "天气"),
        ("ภาษาไทย" * 15 + "อากาศ", "อากาศ"),
    ],
)
def test_every_script_is_searched(written, asked):
    """Accents, case and width do not matter; what writes no spaces is found by its characters."""
    assert names(Index([*TOOLS, Document(name="it", description=written)]).search(asked)) == ["it"]


def test_words_are_shown_as_the_query_has_them(index):
    """Each is shown once, in the order of the query and without stop words."""
    assert index.search("Text FILES, to be Read or files")[0].words == ("Text", "FILES", "Read")


def test_two_words_that_were_found_as_one_are_shown_as_the_query_has_them():
    """This holds also if other tools have each word alone."""
    index = Index([Document(name=word, description=word) for word in ("webhook", "web", "hook")])
    index.add(Document(name="x", description="webhook"))
    words_by_name = {hit.name: hit.words for hit in index.search("a web hook of some kind")}
    assert (words_by_name["x"], words_by_name["web"]) == (("web hook",), ("web",))
    assert Index([Document(name="x", description="webhook")]).search("webhook web hook")[0].words == ("webhook",)
    assert Index([Document(name="x", description="abcd")]).search("getAbCd")[0].words == ("getAbCd",)


def test_a_tool_that_fits_more_of_the_query_has_a_higher_score(index):
    """Words of a description do not give the full score."""
    some, more = index.search("weather balloons")[0].score, index.search("weather forecast")[0].score
    assert 0 < some < more < 1


def test_limit_bounds_the_answer(index):
    """The best hits are in it."""
    everything = index.search("text file city invoice mail", 10)
    assert len(everything) == 5
    assert index.search("text file city invoice mail", 2) == everything[:2]
    assert index.search("file", 0) == index.search("file", -1) == []


def test_a_hidden_tool_takes_no_place_in_the_results(index):
    assert names(index.search("text file", 1, predicate=lambda name: name != "read_file")) == ["write_file"]
    assert index.search("read_file", predicate=lambda name: False) == []


def test_a_hidden_tool_does_not_raise_the_threshold():
    """A weak fit is a hit if only a hidden tool fits better."""
    passing = Document(name="log", description="note " * 60 + "weather", texts=("weather",))
    index = Index([FORECAST, passing, *(Document(name=f"other{n}", description="else") for n in range(50))])
    query = "get the weather forecast of the next days in a city"
    assert names(index.search(query, predicate=lambda name: name != "get_forecast")) == ["log"]


def test_keeping_looks_beyond_the_best():
    """If a thousand better ones may not be shown, the next one is still found."""
    crowd = [Document(name=f"weather_{n}", description="weather weather") for n in range(1000)]
    index = Index([*crowd, FORECAST, WRITE])
    assert names(index.search("weather text of the days", 3, predicate=lambda name: "_file" in name)) == ["write_file"]
    assert names(index.search("weather", 3, predicate=lambda name: name == "get_forecast")) == ["get_forecast"]


def test_the_predicate_may_use_the_index(index):
    """The index holds no lock while the predicate runs."""
    assert names(index.search("weather", predicate=lambda name: bool(index.search(name)))) == ["get_forecast"]


def test_adding_replaces_a_tool_of_the_same_name(index):
    """The old words are forgotten with it."""
    index.add(Document(name="sendMail", description="Throw a stone."))
    assert names(index.search("stone")) == ["sendMail"]
    assert index.search("postbox") == []
    assert len(index) == len(TOOLS)


def test_a_removed_tool_is_not_found(index):
    """This holds for a word, its name, and a misspelling that only it explained."""
    assert "read_file" in index
    index.remove("read_file")
    assert "read_file" not in index
    assert index.search("cat") == index.search("encodin") == []
    assert names(index.search("text file")) == ["write_file"]


def test_removing_an_unknown_tool_raises_an_error_with_its_name(index):
    with pytest.raises(KeyError, match="no tool named `nothing`"):
        index.remove("nothing")


def test_an_empty_index_has_no_hits():
    assert Index().search("weather wether") == []


def test_an_index_without_tools_holds_no_words(index):
    index.search("wether")
    for document in TOOLS:
        index.remove(document.name)
    assert not index._postings._places
    assert not index._tools_by_name
    assert not [*index._postings.vocabulary.forms, *index._postings._places.joined]


@pytest.mark.parametrize(
    "query",
    [
        "w",
        "file " * 5000,
        " ".join(f"wrod{chr(97 + n % 26) * (n % 7)}ther" for n in range(5000)),
        "x" * 1_000_000,
        "é" * 9000,
        "_" * 7999 + "/",
        "a" + "\u0315" * 4000 + "\u0323" * 4000,
        "\ufdfa" * 8000,
    ],
)
def test_no_query_takes_long(index, query):
    """A letter, five thousand words and a word without end are all answered at once."""
    assert len(index.search(query)) <= 10
    assert count_steps(index.search, query) < 300_000


def test_tools_that_all_say_the_same_take_hardly_longer():
    """Forty words that every tool of a server has are not added up for every tool."""
    words = [f"{one}{other}{one}{other}" for one in "bdfgklmn" for other in "aeiou"]
    text = " ".join(words)
    index = Index(Document(name=f"tool{n}", description=text, is_imported=n != 2999) for n in range(3000))
    assert names(index.search(text, 3)) == ["tool2999", "tool0", "tool1"]
    assert count_steps(index.search, text) < 100_000


def test_long_queries_are_ranked_by_all_words():
    """When rare words have named enough tools, the common words still decide between those."""
    crowd = [Document(name=f"thing{n}", description="common") for n in range(2000)]
    rare = [Document(name=f"rare{n}", description="scarce plain") for n in range(100)]
    index = Index([*crowd, *rare, Document(name="target0", description="scarce common")])
    assert names(index.search("common scarce", 3)) == ["target0", "rare0", "rare1"]


def test_searching_while_tools_come_and_go_is_safe(index):
    """Every answer is that of some moment: what always fits is always there, and nothing raises."""
    stop, failures = threading.Event(), []

    def search():
        while not stop.is_set():
            try:
                hits = index.search("weather forcast tempo", 50)
                assert hits[0].name == "get_forecast"
                assert len({hit.name for hit in hits}) == len(hits)
            except BaseException as error:  # noqa: BLE001 -- reported below, in the thread that may fail
                failures.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(600):
        index.add(Document(name=f"tempo_{n % 50}", description=f"A storm of kind {n}{'abc'[n % 3] * 5}."))
        if n % 3 == 0:
            index.remove(f"tempo_{n % 50}")
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("step", range(1, 9))
def test_a_search_that_is_interrupted_leaves_the_index_whole(monkeypatch, step):
    """No word is lost or counted twice, in whichever word the search is interrupted."""
    documents = [Document(name=name, description="mails mailing mailed mailer") for name in ("one", "two")]
    index, count = Index(documents), itertools.count(1)

    def interrupt(function):
        def run(word):
            if next(count) == step:
                raise KeyboardInterrupt
            return function(word)

        return run

    for name in ("stem", "find_root"):
        monkeypatch.setattr(vocabulary_module, name, interrupt(getattr(vocabulary_module, name)))
    with contextlib.suppress(KeyboardInterrupt):
        index.search("mail")
    monkeypatch.undo()
    assert index.search("mail") == Index(documents).search("mail")
    for name in ("one", "two"):
        index.remove(name)
    assert index.search("mail") == []


def count_tracked_objects(root):
    """Return how many containers that belong to *root* a full collection visits."""
    waiting, seen, count = list(vars(root).values()), set(), 0
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Postings | Vocabulary):
            waiting += vars(part).values()
        elif isinstance(part, (dict, set, list, tuple)):
            count += gc.is_tracked(part)
            waiting += gc.get_referents(part)
    return count


def test_tools_in_an_index_are_no_work_for_the_garbage_collector():
    """A full collection visits every object that may be in a cycle, and stops the event loop meanwhile."""
    documents = [
        Document(name=f"get_weather_{number}", aliases=(f"weather{number}",), description=f"The weather of {number}.")
        for number in range(500)
    ]
    index = Index(documents)
    gc.collect()  # a tuple is found to need no visits when it is visited first
    assert len(index) == 500
    assert 2 < count_tracked_objects(index) < 50


def test_words_of_queries_are_not_kept_in_the_index() -> None:
    index = Index([Document(name="send_mail"), Document(name="open_door")])
    index.search("send mail")
    sizes = [len(vars(index._postings)[table]) for table in ("_uses", "_tools")]
    for number in range(50):
        index.search(f"unheard{number} strange bill word{number} mai")
    assert [len(vars(index._postings)[table]) for table in ("_uses", "_tools")] == sizes
