"""
The address of an API: that of the program, or the server that the document names, and how a path is joined to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..catalogs.foreign_text import explain_address
from ..errors import DefinitionError
from .documents import ApiDocument, Operation

__all__ = ["MissingServer", "check_base_url", "find_server", "join_address"]


_REMEDY = "give `base_url=...` or `client=httpx.AsyncClient(base_url=...)`"


class MissingServer(DefinitionError):  # noqa: N818 -- the name says what is missing
    """The document names no server that requests can go to, and the program gives no address."""

    def advise(self, remedy: str) -> str:
        """Return the message with another *remedy*, for a program that gives the address in another way."""
        return str(self).replace(_REMEDY, remedy)


def join_address(server: str, path: str, query: str = "") -> str:
    """
    Return the address of *path* at *server*, with the queries of both and *query*.

    A fragment of either is left out: it is never sent, and documents have it to tell operations of one path apart.
    """
    start, _, server_query = server.partition("#")[0].partition("?")
    path, _, path_query = path.partition("#")[0].partition("?")
    queries = "&".join(filter(None, (server_query, path_query, query)))
    return f"{start.rstrip('/')}{path}{'?' if queries else ''}{queries}"


def find_server(document: ApiDocument, operation: Operation, base_url: str) -> str:
    """
    Return the address before the path of *operation*: *base_url* if the program gives one, or the document's.

    A document without a server stands for `/` at the address that it was read from.
    """
    if base_url:
        return base_url
    if document.is_swagger:
        address = _find_swagger_server(document)
    else:
        owners = (operation.data, operation.shared, document.data)
        address = next((found for owner in owners if (found := _first_server(owner))), "/")
    address = urljoin(document.address, address) if document.address.startswith("http") else address
    if not _is_whole(address) or "{" in address or explain_address(address):
        shown = "" if address == "/" else f" with a whole address, only {address[:200]!r}"
        raise MissingServer(f"the document names no server{shown}; {_REMEDY}")
    return _refuse_password(address)


def check_base_url(address: str) -> str:
    """Return *address*, which the program gives, or raise `DefinitionError` if no request can go there."""
    address = address.rstrip("/")  # the client of httpx adds one, also after a query
    if address and not _is_whole(address):
        raise DefinitionError(f"base_url: expected an address such as https://api.example.com, got {address[:200]!r}")
    return _refuse_password(address)


def _is_whole(address: str) -> bool:
    return address.startswith(("https://", "http://")) and bool(urlsplit(address).hostname)


def _refuse_password(address: str) -> str:
    """Return *address*, or raise `DefinitionError` if it holds credentials: it is shown in logs and approvals."""
    if "@" in urlsplit(address).netloc:
        raise DefinitionError(
            f"the address of {urlsplit(address).hostname} has credentials in it, and addresses are shown; "
            f"give them as `auth=`, or to the client: `httpx.AsyncClient(auth=(user, password))`"
        )
    return address


def _find_swagger_server(document: ApiDocument) -> str:
    host, path = document.data.get("host"), document.data.get("basePath") or "/"
    schemes = document.data.get("schemes") or ["http" if document.address.startswith("http:") else "https"]
    scheme = "https" if "https" in schemes else schemes[0]
    return f"{scheme}://{host}{path}" if isinstance(host, str) else str(path)


def _first_server(owner: Mapping[str, Any]) -> str:
    """Return the first server that *owner* lists, with the defaults of its variables."""
    servers = owner.get("servers")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], Mapping):
        return ""
    address = str(servers[0].get("url", ""))
    variables = servers[0].get("variables")
    for name, variable in (variables if isinstance(variables, Mapping) else {}).items():
        default = variable.get("default", "") if isinstance(variable, Mapping) else ""
        address = address.replace(f"{{{name}}}", str(default))
    return address
