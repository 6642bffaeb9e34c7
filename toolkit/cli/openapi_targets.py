"""
Targets that are HTTP APIs: an OpenAPI document in a file or at an address, or `openapi:` before its path or address.

    openapi.yaml                                  the operations of the document, at the server that it names
    openapi.yaml --base-url http://localhost:80   the same, at this address
    https://api.example/openapi.json              a document at an address
    openapi:https://api.example/docs              the same, if the address does not end in `.json`, `.yaml` or `.yml`
"""

from __future__ import annotations

import json
import os
from urllib.parse import urlsplit

import click

from ..catalogs.views import CatalogView
from ..errors import CatalogError, DefinitionError
from ..safety import SafetyChecks

__all__ = ["base_url_option", "find_base_url", "is_document", "load_document"]

_PREFIX = "openapi:"
_START_BYTES = 4_096
_BASE_URL = "toolkit.base_url"


def _keep_base_url(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.meta[_BASE_URL] = value


base_url_option = click.option(
    "--base-url",
    metavar="URL",
    expose_value=False,
    callback=_keep_base_url,
    help="The address of the API, if TARGET is an OpenAPI document.",
)


def find_base_url() -> str | None:
    """Return the address that `--base-url` gives to the running command; None if there is none."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_BASE_URL) if context is not None else None


def is_document(target: str) -> bool:
    if target.startswith(_PREFIX) or target.endswith((".yaml", ".yml")):
        return True
    if target.startswith(("https://", "http://")):
        return urlsplit(target).path.endswith((".json", ".yaml", ".yml"))
    if not target.endswith(".json") or not os.path.isfile(target):
        return False
    with open(target, "rb") as file:
        start = file.read(_START_BYTES)
        if b'"openapi"' not in start and b'"swagger"' not in start and b'"mcpServers"' in start:
            return False
        file.seek(0)
        try:
            data = json.load(file)
        except ValueError:
            return False
    return isinstance(data, dict) and ("openapi" in data or "swagger" in data)


def load_document(target: str) -> tuple[CatalogView, SafetyChecks | None]:
    """
    Return the tools of the document *target*, and the safety checks that let them reach the address of `--base-url`.

    Raises:
        CatalogError: The document cannot be read.
    """
    import httpx

    from ..openapi import load_openapi
    from ..openapi.servers import MissingServer

    base_url = find_base_url()
    client, safety = None, None
    if base_url is not None:
        place = urlsplit(base_url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise CatalogError(f"--base-url: {base_url!r} is not an address such as https://api.example.com")
        client = httpx.AsyncClient(base_url=base_url)
        safety = SafetyChecks(allowed_hosts=[place.netloc])
    try:
        return load_openapi(target.removeprefix(_PREFIX), client=client), safety
    except MissingServer as error:
        raise CatalogError(error.advise("give `--base-url URL`")) from error
    except DefinitionError as error:
        raise CatalogError(str(error)) from error
