"""Fetch a page from a server of the tests."""

from __future__ import annotations

from toolkit.builtin.web.addresses import ReachableHosts
from toolkit.builtin.web.fetcher import Fetcher, FetchLimits

from .hostile_server import (
    SERVER_PORTS,
    loopback_is_public,
    names,
)

__all__ = ["QUICK", "anywhere", "fetch_page", "fetcher"]

QUICK = FetchLimits(timeout_seconds=1.5)


def fetcher(resolve=None, *, limits=None, ssl_context=None, **options) -> Fetcher:
    doors = ReachableHosts(resolve=resolve or names(), judge=loopback_is_public, **{"ports": SERVER_PORTS, **options})
    return Fetcher(doors, limits=limits, ssl_context=ssl_context)


def anywhere(url: str) -> None:
    """Let every redirect pass, as an application may."""


async def fetch_page(server, path="/", **options):
    return await fetcher(**options).fetch(server.url(path), check=anywhere)
