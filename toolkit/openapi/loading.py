"""
A catalog from an OpenAPI document: each operation becomes a tool, or is refused with its place and the reason.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..catalog import Catalog
from ..catalogs.foreign_text import clean_text
from ..errors import DefinitionError, ToolkitWarning
from ..facts import FactOptions, build_facts
from ..providers.http.loop_clients import LoopClients
from ..spec import Tool
from .calls import Caller
from .credentials import Credential, Credentials
from .documents import ApiDocument, Operation, iter_operations, name_operations, read_document
from .parameters import read_inputs, read_output_schema
from .schemas import SchemaConverter
from .servers import MissingServer, check_base_url, find_server

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["OpenAPICatalog", "RefusedOperation", "load_openapi"]

Select: TypeAlias = "Callable[[Operation], bool] | Collection[str]"
FactsOf: TypeAlias = "Callable[[Operation], Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]"

_MAX_SHOWN_TOOLS = 30
"""With more operations, all tools are deferred: a model finds them with `tool_search`."""

_EXTENSION = "x-toolkit"
_READ_ONLY = frozenset(["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
_MAX_NAMED_IN_WARNING = 3
_MAX_REASON_CHARS = 500
_MAX_GROUP_CHARS = 60


@dataclass(frozen=True, slots=True)
class RefusedOperation:
    """An operation that is no tool: its *place* in the document, and the *reason*."""

    place: str
    reason: str


class OpenAPICatalog(Catalog):
    """
    The tools of an HTTP API.

    Attributes:
        refused: The operations that could not become tools.
        notes: What was left out of a tool, such as an output schema that cannot be enforced.
    """

    def __init__(self, *tools: Tool) -> None:
        super().__init__(*tools)
        self.refused: tuple[RefusedOperation, ...] = ()
        self.notes: tuple[str, ...] = ()


def load_openapi(
    document: Mapping[str, Any] | str | os.PathLike[str],
    *,
    client: httpx.AsyncClient | None = None,
    base_url: str | None = None,
    select: Select | None = None,
    facts: FactsOf | None = None,
    auth: Mapping[str, Credential] | None = None,
) -> OpenAPICatalog:
    """
    Return the tools of the API that *document* describes.

    Args:
        document: The document as a mapping, the path of a file, or an address.
        client: The client that sends the requests. With a `base_url`, they go there and not to the document's server.
        base_url: The address that the requests go to, in place of the client's and the document's.
        select: The operations to take: a function of the `Operation`, or a collection of operation ids and tags.
        facts: Facts of tools that differ from those of their method: a function of the `Operation`, or a mapping by
            operation id.
        auth: Credentials by the name of the security scheme: a key, a user name and a password, an `httpx.Auth`, or a
            function that returns a key.

    Raises:
        DefinitionError: The document cannot be read or names no server, or *auth*, *facts* or *select* has what does
            not exist.
        TypeError: An option has another type.
    """
    _check_client(client)
    content = read_document(document)
    entries = list(iter_operations(content))
    refused = [_refuse(*entry) for entry in entries if not isinstance(entry, Operation)]
    operations = [entry for entry in entries if isinstance(entry, Operation)]
    names = dict(zip((operation.place for operation in operations), name_operations(operations), strict=True))
    operations = _select(operations, select)
    _check_facts(operations, facts)
    builder = _ToolBuilder(content, client, base_url, auth, defer=len(operations) > _MAX_SHOWN_TOOLS)
    tools: list[Tool] = []
    without_server: list[MissingServer] = []
    for operation in operations:
        own_facts = _find_facts(operation, facts)
        try:
            tools.append(builder.build(operation, names[operation.place], own_facts))
        except DefinitionError as error:
            if isinstance(error, MissingServer):
                without_server.append(error)
            refused.append(_refuse(operation.place, error))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            words = f"a part has another type than the standard says: {type(error).__name__}: {error}"
            refused.append(_refuse(operation.place, f"{operation.place}: {words}"))
    if operations and len(without_server) == len(operations):
        raise MissingServer(f"{content.address or content.title}: {without_server[0]}")
    catalog = OpenAPICatalog(*tools)
    catalog.refused, catalog.notes = tuple(refused), tuple(builder.notes)
    if refused:
        _warn(content, refused)
    return catalog


def _refuse(place: str, reason: object) -> RefusedOperation:
    return RefusedOperation(clean_text(place, _MAX_REASON_CHARS), clean_text(str(reason), _MAX_REASON_CHARS))


def _select(operations: list[Operation], select: Select | None) -> list[Operation]:
    if select is None:
        return operations
    if callable(select):
        return [operation for operation in operations if select(operation)]
    if isinstance(select, str):
        raise DefinitionError(f"select: expected a function or a list of operation ids and tags, got {select!r:.60}")
    if not isinstance(select, Collection):
        raise TypeError(f"select: expected a function or a list of operation ids and tags, got {type(select).__name__}")
    wanted = set(select)
    known = {name for operation in operations for name in (operation.id, *operation.tags) if name}
    if unknown := wanted - known:
        raise DefinitionError(f"select: the document has no operation and no tag {min(unknown)!r}")
    return [operation for operation in operations if wanted & {operation.id, *operation.tags}]


def _check_facts(operations: list[Operation], facts: FactsOf | None) -> None:
    if facts is None or callable(facts):
        return
    if not isinstance(facts, Mapping):
        raise TypeError(f"facts: expected a function or a mapping by operation id, got {type(facts).__name__}")
    if unknown := facts.keys() - {operation.id for operation in operations}:
        raise DefinitionError(f"facts: no operation that was selected has the id {min(unknown)!r}")


def _find_facts(operation: Operation, facts: FactsOf | None) -> Mapping[str, Any]:
    """Return what the program states in *facts* about *operation*, or raise `DefinitionError` if it is no fact."""
    own = facts(operation) if callable(facts) else (facts or {}).get(operation.id or "")
    if not own:
        return {}
    subject = f"facts of {operation.id or operation.place!r}"
    if not isinstance(own, Mapping):
        raise TypeError(f"{subject}: expected a mapping such as {{'read_only': True}}, got {type(own).__name__}")
    build_facts(own, subject)
    if others := own.keys() - FactOptions.__annotations__.keys():
        raise DefinitionError(f"{subject}: `{min(others)}` is no fact; change it in the document")
    return own


def _check_client(client: Any) -> None:
    """Raise `TypeError` if *client* cannot be awaited: the request would be sent, and its answer lost."""
    if client is None:
        return
    import httpx

    if not isinstance(client, httpx.AsyncClient):
        remedy = "write `httpx.AsyncClient(...)` with the same options"
        if isinstance(client, str):
            remedy = "write `httpx.AsyncClient(base_url=...)` with it"
        raise TypeError(f"client: expected an httpx.AsyncClient, got {type(client).__name__}; {remedy}")


def _warn(document: ApiDocument, refused: list[RefusedOperation]) -> None:
    reasons = [
        entry.reason if entry.reason.startswith(entry.place) else f"{entry.place}: {entry.reason}"
        for entry in refused[:_MAX_NAMED_IN_WARNING]
    ]
    shown = "; ".join(reason[:300] for reason in reasons)
    more = f"; and {len(refused) - _MAX_NAMED_IN_WARNING} more" if len(refused) > _MAX_NAMED_IN_WARNING else ""
    warnings.warn(
        f"{document.title}: {len(refused)} operations are no tools (`catalog.refused` has all): {shown}{more}",
        ToolkitWarning,
        stacklevel=4,
    )


class _ToolBuilder:
    """What the tools of one document share."""

    def __init__(
        self,
        document: ApiDocument,
        client: httpx.AsyncClient | None,
        base_url: str | None,
        auth: Mapping[str, Credential] | None,
        *,
        defer: bool,
    ) -> None:
        self.notes: list[str] = []
        self._document = document
        self._defer = defer
        self._credentials = Credentials(document, auth)
        self._requests = SchemaConverter(document, "request")
        self._responses = SchemaConverter(document, "response")
        self._clients = LoopClients(client)
        self._base_url = check_base_url(base_url or ("" if client is None else str(client.base_url)))
        self._is_signed = client is not None and (client.auth is not None or "authorization" in client.headers)
        self._origin = f"openapi:{re.sub(r'[^A-Za-z0-9_.-]+', '-', document.title).strip('-')[:100] or 'api'}"

    def build(self, operation: Operation, name: str, own_facts: Mapping[str, Any]) -> Tool:
        caller = Caller(
            server=find_server(self._document, operation, self._base_url),
            operation=operation,
            inputs=read_inputs(self._document, operation, self._requests, self._credentials.hidden_parameters),
            credentials=self._credentials,
            requirements=self._credentials.requirements_of(operation),
            clients=self._clients,
            is_signed=self._is_signed,
        )
        description = f"{operation.description}\n\nDeprecated." if operation.is_deprecated else operation.description
        facts = self._facts_of(operation, caller, own_facts)
        make = partial(Tool.from_schema, name, description, caller.inputs.schema, origin=self._origin, **facts)
        try:
            if output := read_output_schema(self._document, operation, self._responses):
                return make(replace(caller, output=output).call, output_schema=output.schema)
        except DefinitionError as error:
            self.notes.append(clean_text(f"{operation.place}: no output schema: {error}", _MAX_REASON_CHARS))
        try:
            return make(caller.call)
        except DefinitionError as error:
            raise DefinitionError(f"{operation.place}: {error}") from None

    def _facts_of(self, operation: Operation, caller: Caller, own_facts: Mapping[str, Any]) -> FactOptions:
        method = operation.method
        own: dict[str, Any] = {
            "read_only": method in _READ_ONLY,
            "idempotent": method in _READ_ONLY or method in ("PUT", "DELETE"),
            "destructive": method == "DELETE",
            "open_world": True,
            "defer": self._defer,
            "preflight": caller.list_accesses,
            "preview": caller.preview,
            "metadata": {"openapi": {"method": method, "path": operation.path}},
        }
        if operation.tags and (group := clean_text(operation.tags[0], _MAX_GROUP_CHARS)):
            own["group"] = group
        extension = operation.data.get(_EXTENSION, {})
        if not isinstance(extension, Mapping) or "preflight" in extension:  # by that the address is judged
            raise DefinitionError(f"{operation.place}.{_EXTENSION}: expected an object with facts, without `preflight`")
        own |= {**extension, **own_facts}
        if own["read_only"] and own["destructive"]:
            if own_facts.get("read_only") is True:
                own["destructive"] = False
            elif "read_only" not in extension:
                own["read_only"] = False
        return own  # type: ignore[return-value]  # `from_schema` checks the names and the values
