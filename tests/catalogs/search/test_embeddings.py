"""
Search by meaning: the vectors of a function of the caller.
"""

from __future__ import annotations

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from toolkit import Catalog, EmbeddingRanker, Tool

MEANINGS = {
    "bill": "money",
    "customer": "people",
    "invoice": "money",
    "moola": "money",
    "client": "people",
    "rain": "sky",
    "forecast": "sky",
}
DIRECTIONS = ["money", "people", "sky"]
DESCRIPTIONS = {
    "create_invoice": "Write an invoice for a client.",
    "get_forecast": "Tell the forecast of the next days.",
    "open_door": "Open a door.",
}


def embed(texts):
    """Return vectors by a table of meanings: a stand-in for a model that always answers the same."""
    vectors = []
    for text in texts:
        meanings = [MEANINGS.get(word.strip(".:")) for word in text.lower().replace("_", " ").split()]
        vectors.append([meanings.count(direction) + 0.1 for direction in DIRECTIONS])
    return vectors


class CountedEmbed:
    """Embed like `embed`, and note the texts of each call."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return embed(texts)


@pytest.fixture
def catalog():
    catalog = Catalog()
    for name, description in DESCRIPTIONS.items():
        catalog.add(Tool.from_schema(name, description, {"type": "object", "properties": {}}, lambda arguments: None))
    return catalog


def names(results):
    return [result.tool.name for result in results]


def patient(embed, **options):
    return EmbeddingRanker(embed, timeout_seconds=60, **options)


def test_a_tool_is_found_by_the_meaning_of_the_words(catalog):
    assert names(catalog.search("moola")) == []
    assert names(catalog.search("moola", ranker=patient(embed)))[0] == "create_invoice"
    assert names(catalog.search("rain", ranker=patient(embed)))[0] == "get_forecast"


def test_a_tool_whose_name_is_the_query_stays_first(catalog):
    assert names(catalog.search("open_door", ranker=patient(embed)))[0] == "open_door"


def test_each_tool_and_each_query_is_embedded_once(catalog):
    counted = CountedEmbed()
    ranker = patient(counted)
    catalog.search("rain", ranker=ranker)
    catalog.search("rain", ranker=ranker)
    catalog.search("bill", ranker=ranker)
    texts = [text for call in counted.calls for text in call]
    assert sorted(texts) == sorted({*texts})
    assert len(texts) == len(DESCRIPTIONS) + 2


def test_many_tools_are_embedded_in_parts():
    catalog = Catalog()
    for number in range(300):
        schema = {"type": "object", "properties": {}}
        catalog.add(Tool.from_schema(f"tool_{number}", "Do it.", schema, lambda arguments: None))
    counted = CountedEmbed()
    catalog.search("rain", ranker=patient(counted))
    assert max(map(len, counted.calls)) <= 128
    assert sum(map(len, counted.calls)) == 301


def test_the_file_keeps_the_vectors_for_the_next_process(catalog, tmp_path):
    path = tmp_path / "kept" / "vectors.jsonl"
    first = names(catalog.search("bill", ranker=patient(embed, path=path)))
    counted = CountedEmbed()
    assert names(catalog.search("bill", ranker=patient(counted, path=path))) == first
    assert counted.calls == [["bill"]]


def test_the_vectors_of_another_model_are_not_used(catalog, tmp_path):
    path = tmp_path / "vectors.jsonl"
    catalog.search("bill", ranker=patient(embed, path=path, model="small"))
    counted = CountedEmbed()
    catalog.search("bill", ranker=patient(counted, path=path, model="large"))
    assert sum(map(len, counted.calls)) == 1 + len(DESCRIPTIONS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) - 20],
        lambda data: data.replace(b'"digest"', b'"digset"', 1),
        lambda data: b"\xff\xfe" + data,
        lambda data: b'[1]\n{"digest": 3}\n{"digest": "a", "vector": "*"}\n',
        lambda data: b"",
    ],
)
def test_a_damaged_file_costs_only_the_lines_that_are_damaged(catalog, tmp_path, damage):
    path = tmp_path / "vectors.jsonl"
    expected = names(catalog.search("bill", ranker=patient(embed, path=path)))
    path.write_bytes(damage(path.read_bytes()))
    assert names(catalog.search("bill", ranker=patient(embed, path=path))) == expected
    counted = CountedEmbed()
    assert names(catalog.search("bill", ranker=patient(counted, path=path))) == expected
    assert counted.calls == [["bill"]]


def test_vectors_of_another_length_in_the_file_are_made_again(catalog, tmp_path):
    path = tmp_path / "vectors.jsonl"
    catalog.search("bill", ranker=patient(lambda texts: [[1.0, 2.0] for _ in texts], path=path))
    assert names(catalog.search("bill the customer", ranker=patient(embed, path=path)))[0] == "create_invoice"


def raise_error(texts):
    raise httpx.ConnectError("no route to the endpoint")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (raise_error, "no route to the endpoint"),
        (lambda texts: [[float("nan")] * 3 for _ in texts], "without a direction"),
        (lambda texts: [[0.0, 0.0] for _ in texts], "without a direction"),
        (lambda texts: [], "0 vectors for 1 texts"),
        (lambda texts: None, "TypeError"),
        (lambda texts: [["x"] for _ in texts], "ValueError"),
        (lambda texts: [[1.0] * len(text) for text in texts], "different lengths"),
    ],
)
def test_a_broken_function_leaves_the_plain_ranking(catalog, caplog, broken, message):
    ranker = patient(broken)
    with caplog.at_level(logging.WARNING, "toolkit"):
        assert names(catalog.search("write invoice", ranker=ranker)) == names(catalog.search("write invoice"))
        assert names(catalog.search("open door", ranker=ranker)) == names(catalog.search("open door"))
    (record,) = caplog.records
    assert message in record.getMessage()


def test_a_function_that_hangs_leaves_the_plain_ranking(catalog):
    release = threading.Event()

    def hang(texts):
        release.wait()
        return embed(texts)

    ranker = EmbeddingRanker(hang, timeout_seconds=0.01)
    try:
        for _ in range(3):
            assert names(catalog.search("write invoice", ranker=ranker)) == ["create_invoice"]
        assert names(catalog.search("moola", ranker=ranker)) == []
    finally:
        release.set()


def test_vectors_that_arrive_too_late_serve_the_next_search(catalog):
    release, answered = threading.Event(), threading.Event()

    def slow(texts):
        release.wait()
        vectors = embed(texts)
        if len(texts) > 1:
            answered.set()
        return vectors

    ranker = EmbeddingRanker(slow, timeout_seconds=0.01)
    assert names(catalog.search("moola", ranker=ranker)) == []
    release.set()
    assert answered.wait(60)
    ranker.timeout_seconds = 60
    with ranker._is_busy:  # noqa: SLF001 -- the thread of the first search has ended
        pass
    assert names(catalog.search("bill the customer", ranker=ranker))[0] == "create_invoice"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed": "model"}, "embed has to be a function"),
        ({"embed": embed, "blend": 1.5}, "blend has to be between 0 and 1"),
        ({"embed": embed, "blend": float("nan")}, "blend has to be between 0 and 1"),
        ({"embed": embed, "timeout_seconds": 0}, "timeout_seconds has to be positive"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        EmbeddingRanker(**options)


def test_an_endpoint_on_the_network_gives_the_vectors(catalog):
    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            body = json.dumps({"data": [{"embedding": vector} for vector in embed(texts)]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server, httpx.Client() as client:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def ask_endpoint(texts):
            answer = client.post(f"http://127.0.0.1:{server.server_port}/v1/embeddings", json={"input": texts})
            return [entry["embedding"] for entry in answer.raise_for_status().json()["data"]]

        assert names(catalog.search("bill the customer", ranker=patient(ask_endpoint)))[0] == "create_invoice"
        server.shutdown()
