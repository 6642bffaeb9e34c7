"""
Finding the right tool: how often, and how fast, beside other ways to rank.

Reads `../shared/search-dev` (9,133 real tools, 3,431 requests with their right
answers), and says so when it is not there. Each query is asked within its own
pool of tools. Our constants were chosen on the half of the queries that
`tuned_on` names, so the other half has a table of its own. It is not wholly
unseen: whether and how much the form of a word counts was judged on both
halves, so were the saturation, the weight of lengths, that of words in paths and
how many tools are chosen from, and the few queries of livemcp were looked at one
by one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from toolkit.catalogs.search import Document, Index

__all__ = ["DATA", "built_once", "main", "read_data"]

DATA = Path(__file__).parents[2] / "shared" / "search-dev"
POOLS = ["metatool", "seal", "bfcl", "toolbench", "livemcp"]
AT = (1, 3, 5, 10)
LIMIT = 10
SLIPS = 400
"""Misspelt queries of a pool, at least."""

Json = dict[str, Any]
Search = Callable[[str], Sequence[str]]
Answers = dict[str, list[Sequence[str]]]
"""By the id of a query what was found, once for each way in which it was written."""


def main() -> None:
    """Print every table, or why there are none."""
    if not (DATA / "queries.jsonl.gz").is_file():
        print(f"Searching: no data at {DATA}, so nothing was measured.")
        return
    tools, queries = read_data("tools"), read_data("queries")
    for table in TABLES:
        table(tools, queries)


def speed(tools: list[Json], queries: list[Json]) -> None:
    """What building, adding and asking cost at ten thousand tools; for each query its best round."""
    documents = _ten_thousand(tools)
    index = Index(documents)
    built = min(_build_seconds(documents) for _ in range(4))
    anew = min(float(subprocess.check_output([sys.executable, "-c", _BUILD_ANEW], cwd=_ROOT)) for _ in range(4))
    first = _seconds(lambda: index.search("wether forcast"), clock=time.process_time)
    again = documents[::50]
    replaced = sorted(min(_seconds(lambda each=each: index.add(each)) for _ in range(5)) for each in again)
    added = sorted(min(_added(index, each) for _ in range(5)) for each in again)
    print(f"\nSearching {len(documents):,} tools\n\n| | |\n|---|--:|")
    print(f"| built in a new process, best of four | {anew:.2f} s |\n| built again, best of four | {built:.2f} s |")
    print(f"| first query with an unknown word | {first * 1e3:.0f} ms |")
    for what, times in (("added", added), ("replaced", replaced)):
        print(f"| one tool {what}, median / worst | {_at(times, 50) * 1e6:.0f} / {times[-1] * 1e6:.0f} us |")
    theirs = _bm25s([{**tool, "name": each.name} for tool, each in zip(tools * 2, documents, strict=False)])
    texts = [query["q"] for query in queries]
    print("\n| microseconds a query | p50 | p95 | worst | p50 to bm25s |\n|---|--:|--:|--:|--:|")
    base = _print_times("bm25s", theirs, texts, None)
    for what, asked in (
        ("ours, all queries", texts),
        ("ours, three words", [query["q"] for query in queries if query["kind"] != "nl"]),
        ("ours, one letter wrong", [texts[0] for texts in _misspelt(queries).values()]),
    ):
        _print_times(what, lambda text: index.search(text, LIMIT), asked, base)


_ROOT = Path(__file__).parents[1]
_BUILD_ANEW = "from benchmarks import search; print(search.built_once())"


def built_once() -> float:
    """Seconds of the processor for ten thousand tools, where no word was seen before."""
    return _build_seconds(_ten_thousand(read_data("tools")))


def _build_seconds(documents: list[Document]) -> float:
    # Of a whole second other processes take their part, so here the processor's time counts.
    return _seconds(lambda: Index(documents), clock=time.process_time)


def _ten_thousand(tools: list[Json]) -> list[Document]:
    documents = [_document(tool, name=f"{tool['pool']}__{tool['name']}") for tool in tools]
    documents += [_document(tool, name=f"more__{tool['pool']}__{tool['name']}") for tool in tools]
    return documents[:10_000]


def _added(index: Index, document: Document) -> float:
    index.remove(document.name)
    return _seconds(lambda: index.add(document))


def quality(tools: list[Json], queries: list[Json]) -> None:
    """Recall and MRR, as asked and with one letter wrong."""
    asked = {"as asked": {query["id"]: [query["q"]] for query in queries}, "one letter wrong": _misspelt(queries)}
    found: dict[tuple[str, str], Answers] = {}
    for pool in POOLS:
        inside = [tool for tool in tools if tool["pool"] == pool]
        own = [query["id"] for query in queries if query["pool"] == pool]
        for ranker, make in RANKERS.items():
            search = make(inside)
            for how, texts in asked.items():
                found.setdefault((how, ranker), {}).update((each, [*map(search, texts[each])]) for each in own)
    for how in asked:
        answers = {ranker: found[how, ranker] for ranker in RANKERS}
        _print_recall(f"Recall@5 by pool, {how}", answers, queries)
        others = [query for query in queries if not tuned_on(query)]
        _print_recall(f"Recall@5 by pool, {how}, the half not tuned on", answers, others)
        _print_ranks(f"By kind, {how}", answers, queries)


TABLES: list[Callable[[list[Json], list[Json]], None]] = [speed, quality]


def tuned_on(query: Json) -> bool:
    """Whether our constants were chosen with *query* among others: half of them are, by their ids."""
    return bool(hashlib.sha1(query["id"].encode()).digest()[0] & 1)


def _ours(tools: list[Json], *, hints: bool = True) -> Search:
    index = Index(_document(tool, hints=hints) for tool in tools)
    return lambda query: [hit.name for hit in index.search(query, LIMIT)]


def _rank_bm25(tools: list[Json], kind: str) -> Search:
    import rank_bm25

    ranker = getattr(rank_bm25, kind)([_words(_text(tool)) for tool in tools])

    def search(query: str) -> list[str]:
        scores = ranker.get_scores(_words(query))
        best = sorted(range(len(tools)), key=lambda at: -scores[at])[:LIMIT]
        return [tools[at]["name"] for at in best if scores[at] > 0]

    return search


def _bm25s(tools: list[Json]) -> Search:
    import bm25s

    def split(texts: Any) -> Any:
        return bm25s.tokenize(texts, stopwords="en", show_progress=False)

    ranker = bm25s.BM25()
    ranker.index(split([_text(tool) for tool in tools]), show_progress=False)

    def search(query: str) -> list[str]:
        found, scores = ranker.retrieve(split(query), k=min(LIMIT, len(tools)), show_progress=False)
        return [tools[at]["name"] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def _fts5(tools: list[Json], tokenizer: str) -> Search:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE tools USING fts5(name, rest, tokenize='{tokenizer}')")
    rows = [(tool["name"], _text({**tool, "name": ""})) for tool in tools]
    database.executemany("INSERT INTO tools VALUES (?, ?)", rows)

    def search(query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _words(query))
        ask = "SELECT name FROM tools WHERE tools MATCH ? ORDER BY bm25(tools) LIMIT ?"
        return [row[0] for row in database.execute(ask, (words, LIMIT))] if words else []

    return search


def _fastmcp(tools: list[Json]) -> Search:
    from fastmcp.server.transforms.search import bm25

    index = bm25._BM25Index()  # noqa: SLF001 -- what its public transform asks, without a server around it
    index.build([_text(tool) for tool in tools])
    return lambda query: [tools[at]["name"] for at in index.query(query, LIMIT)]


RANKERS: dict[str, Callable[[list[Json]], Search]] = {
    "ours": _ours,
    "ours without hints": lambda tools: _ours(tools, hints=False),
    "rank_bm25 Okapi": lambda tools: _rank_bm25(tools, "BM25Okapi"),
    "rank_bm25 Plus": lambda tools: _rank_bm25(tools, "BM25Plus"),
    "bm25s": _bm25s,
    "SQLite FTS5": lambda tools: _fts5(tools, "unicode61"),
    "SQLite FTS5 porter": lambda tools: _fts5(tools, "porter unicode61"),
    "fastmcp": _fastmcp,
}


def read_data(what: str) -> list[Json]:
    with gzip.open(DATA / f"{what}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _document(tool: Json, *, name: str = "", hints: bool = True) -> Document:
    parameters = tool["parameters"]
    texts = [text for each in parameters.values() for text in (each.get("description"), *(each.get("enum") or ()))]
    return Document(
        name=name or tool["name"],
        hint=(tool["hint"] or "") if hints else "",
        description=tool["description"] or "",
        parameters=tuple(parameters),
        texts=tuple(str(text) for text in texts if text),
    )


def _text(tool: Json) -> str:
    """What the others are given, as fastmcp puts it together: name, description, parameters and their descriptions."""
    parameters = [f"{name} {each.get('description') or ''}" for name, each in tool["parameters"].items()]
    return " ".join([tool["name"], tool["description"] or "", *parameters])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _misspelt(queries: list[Json]) -> dict[str, list[str]]:
    """
    Each query with one letter of one word wrong: substituted, dropped, doubled or swapped. Always the same ones.

    Those of a small pool are misspelt in several ways, or a few lucky slips would decide.
    """
    chance = random.Random(20261115)
    once = {query["id"]: [_with_a_slip(query["q"], chance)] for query in queries}
    sizes = Counter(query["pool"] for query in queries)
    for query in queries:
        more = SLIPS // sizes[query["pool"]]
        once[query["id"]] += [_with_a_slip(query["q"], chance) for _ in range(more)]
    return once


def _with_a_slip(text: str, chance: random.Random) -> str:
    long = list(re.finditer(r"[^\W\d_]{4,}", text))
    if not long:
        return text
    found = chance.choice(long)
    word = found.group()
    at = chance.randrange(len(word))
    before = min(at, len(word) - 2)
    other = chance.choice("abcdefghijklmnopqrstuvwxyz".replace(word[at].lower(), ""))
    slips = [
        word[:at] + other + word[at + 1 :],
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
        word[:before] + word[before + 1] + word[before] + word[before + 2 :],
    ]
    return text[: found.start()] + chance.choice(slips) + text[found.end() :]


def _recall(found: list[Sequence[str]], query: Json, at: int) -> float:
    gold = set(query["gold"])
    return fmean(len(gold.intersection(names[:at])) / len(gold) for names in found)


def _reciprocal(found: list[Sequence[str]], query: Json) -> float:
    firsts = (next((place for place, name in enumerate(names, 1) if name in query["gold"]), 0) for names in found)
    return fmean(1 / place if place else 0.0 for place in firsts)


def _print_recall(title: str, answers: dict[str, Answers], queries: Iterable[Json]) -> None:
    pools = {pool: [query for query in queries if query["pool"] == pool] for pool in POOLS}
    print(f"\n{title}\n\n| | {' | '.join(f'{pool} ({len(inside)})' for pool, inside in pools.items())} | mean |")
    print("|---|" + "--:|" * (len(pools) + 1))
    for ranker, found in answers.items():
        means = [fmean(_recall(found[query["id"]], query, 5) for query in inside) for inside in pools.values()]
        print(f"| {ranker} | {' | '.join(f'{mean:.3f}' for mean in [*means, fmean(means)])} |")


def _print_ranks(title: str, answers: dict[str, Answers], queries: list[Json]) -> None:
    print(f"\n{title}\n\n| pool, kind | | {' | '.join(f'recall@{at}' for at in AT)} | MRR |\n|---|---|" + "--:|" * 5)
    for pool, kind in sorted({(query["pool"], query["kind"]) for query in queries}):
        own = [query for query in queries if (query["pool"], query["kind"]) == (pool, kind)]
        for ranker, found in answers.items():
            means = [fmean(_recall(found[query["id"]], query, at) for query in own) for at in AT]
            means.append(fmean(_reciprocal(found[query["id"]], query) for query in own))
            print(f"| {pool}, {kind} | {ranker} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


def _print_times(what: str, search: Callable[[str], object], texts: list[str], base: float | None) -> float:
    """Print how long the queries take, and return the median."""
    some = texts[:: max(1, len(texts) // 400)]
    # One query after the other, round after round: nobody asks the same thing ten times in a row.
    rounds = [[_seconds(lambda text=text: search(text)) * 1e6 for text in some] for _ in range(9)]
    best = sorted(map(min, zip(*rounds, strict=True)))
    middle = _at(best, 50)
    ratio = f"{middle / base:.2f}" if base else ""
    print(f"| {what} | {middle:.0f} | {_at(best, 95):.0f} | {best[-1]:.0f} | {ratio} |")
    return middle


def _seconds(run: Callable[[], object], *, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def _at(ordered: Sequence[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
