"""
Reads an OpenAPI document, finds what its references name, and lists its operations with names for their tools.

References are followed inside the document only. A reference to a file or to the network is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from .._plumbing.distribution import install_hint
from ..catalogs.foreign_names import fold_name, make_legal_name, reason_against
from ..catalogs.foreign_text import clean_text, explain_address
from ..errors import DefinitionError

__all__ = ["METHODS", "ApiDocument", "Operation", "iter_operations", "name_operations", "read_document"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

_MAX_BYTES = 100_000_000
_MAX_REFERENCES = 50
_MAX_TITLE_CHARS = 100
_MAX_DESCRIPTION_CHARS = 4_000
_MAX_DEPTH = 400
_MAX_NODES = 10_000_000


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """
    An OpenAPI document.

    Attributes:
        data: The whole document.
        version: The version that it states, such as "3.1.0" or "2.0".
        title: The title of the API.
        address: The address or the path from which it was read; "" if it was a mapping.
    """

    data: Mapping[str, Any]
    version: str
    title: str
    address: str = ""

    @property
    def is_swagger(self) -> bool:
        return self.version == "2.0"

    def follow(self, node: Any) -> Any:
        """Return what *node* stands for if it is a reference, and otherwise *node* itself."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node
            reference = node["$ref"]
            node = self.find(reference)
        raise DefinitionError(f"the reference {reference[:200]!r} leads back to itself")

    def find(self, reference: str) -> Any:
        """Return the part of the document that *reference* names, such as "#/components/schemas/Pet"."""
        if not reference.startswith("#"):
            raise DefinitionError(
                f"the reference {reference[:200]!r} leads outside the document; put what it names into the document"
            )
        node: Any = self.data
        for part in split_pointer(reference):
            if isinstance(node, Mapping) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            else:
                raise DefinitionError(f"the reference {reference[:200]!r} names nothing in the document")
        return node

    def iter_parts(self, schema: Any, keywords: Collection[str]) -> Iterator[Mapping[str, Any]]:
        """Yield *schema*, what its reference names, and the schemas that it has under *keywords*, each once."""
        open_parts, visited = [schema], set()
        while open_parts:
            part = open_parts.pop()
            if not isinstance(part, Mapping) or id(part) in visited:
                continue
            visited.add(id(part))
            yield part
            if isinstance(reference := part.get("$ref"), str):
                open_parts.append(self.find(reference))
            for keyword in keywords:
                inner = part.get(keyword, [])
                open_parts += inner if isinstance(inner, list) else [inner]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """
    One operation of an API.

    Attributes:
        method: The method of HTTP, in capitals.
        path: The path as the document has it: "/pets/{id}".
        id: Its `operationId`; None if it has none.
        tags: The tags that the document gives it. The first one is the group of its tool.
        description: Its summary and its description.
        is_deprecated: Whether the document says that it should no longer be used.
        place: Where it stands in the document: "paths./pets/{id}.get".
        data: The operation in the document, with its extensions.
        shared: The path in the document, which has what all operations of the path share.
    """

    method: str
    path: str
    id: str | None
    tags: tuple[str, ...]
    description: str
    is_deprecated: bool
    place: str
    data: Mapping[str, Any] = field(repr=False)
    shared: Mapping[str, Any] = field(repr=False)


def split_pointer(reference: str) -> list[str]:
    """Return the steps of a JSON pointer after `#`."""
    steps = unquote(reference).removeprefix("#").split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def read_document(source: Mapping[str, Any] | str | os.PathLike[str]) -> ApiDocument:
    """Return the document that *source* is or names: a mapping, the path of a file, or an address."""
    if isinstance(source, Mapping):
        return _check_document(source, "")
    address = os.fspath(source)
    if not isinstance(address, str):
        raise DefinitionError(f"a document is a mapping, a path or an address, got {type(source).__name__}")
    if address.startswith(("https://", "http://")):
        address, text = _fetch(address)
    else:
        try:
            with open(address, "rb") as file:
                text = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise DefinitionError(f"{address}: the document cannot be read: {error.strerror or error}") from error
    if len(text) > _MAX_BYTES:
        raise DefinitionError(f"{address}: the document has more than {_MAX_BYTES:,} bytes")
    return _check_document(_parse(text, address), address)


def _fetch(address: str) -> tuple[str, bytes]:
    """Return the address of the document after redirects, which its own addresses are relative to, and its text."""
    import httpx

    try:
        with httpx.stream("GET", address, timeout=30, follow_redirects=True) as response:
            response.raise_for_status()
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    break
            return str(response.url), bytes(body)
    except httpx.HTTPError as error:
        raise DefinitionError(f"{address}: the document cannot be fetched: {error}") from error


def _parse(text: bytes, address: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] in (b"{", b"["):
            raise DefinitionError(f"{address}: the document is not JSON: {error}") from None
    return _parse_yaml(text, address)


def _parse_yaml(text: bytes, address: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise DefinitionError(f"{address}: a document in YAML needs PyYAML: {install_hint('openapi')}") from None
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # the base is chosen at run time
        """Reads dates as texts, as JSON does."""

    Loader.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for letter, resolvers in base.yaml_implicit_resolvers.items()
    }
    try:
        depth = 0
        for event in yaml.parse(text, Loader=Loader):  # a text that is nested too deeply would end the process below
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise RecursionError(f"it is nested more than {_MAX_DEPTH} levels deep")  # noqa: TRY301 -- as the loader
        data = yaml.load(text, Loader=Loader)  # noqa: S506 -- the loader is a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{address}: the document is not YAML: {str(error)[:300]}") from None
    _name_keys(data, address, {})
    return data


def _name_keys(node: Any, address: str, sizes: dict[int, int], depth: int = 0) -> int:
    """
    Make texts of all keys, as in JSON: the status `200` of a response is a number in YAML. Return the size of *node*.

    An anchor of YAML may stand in several places, and counts in each of them. *sizes* has the nodes that were visited.
    """
    if not isinstance(node, dict | list):
        return 1
    if id(node) in sizes:
        size = sizes[id(node)]
    elif depth > _MAX_DEPTH:
        raise DefinitionError(f"{address}: the document is nested more than {_MAX_DEPTH} levels deep")
    else:
        sizes[id(node)] = _MAX_NODES + 1  # that of a node which contains itself
        if isinstance(node, dict):
            for key in [key for key in node if not isinstance(key, str)]:
                node[str(key)] = node.pop(key)
        children = node.values() if isinstance(node, dict) else node
        size = 1
        for child in children:  # not a generator: each level of it would count twice in Python's limit for recursion
            size += _name_keys(child, address, sizes, depth + 1)
        sizes[id(node)] = size
    if size > _MAX_NODES:
        raise DefinitionError(f"{address}: the anchors of the document make it larger than {_MAX_NODES:,} nodes")
    return size


def _check_document(data: Any, address: str) -> ApiDocument:
    subject = address or "the document"
    if not isinstance(data, Mapping):
        raise DefinitionError(f"{subject}: an OpenAPI document is an object, got {type(data).__name__}")
    version = data.get("openapi", data.get("swagger"))
    if not isinstance(version, str | float) or str(version)[:2] not in ("2.", "3."):
        raise DefinitionError(
            f"{subject} is not an OpenAPI document: `openapi` has to be 3.0, 3.1 or 3.2, or `swagger` 2.0, "
            f"got {version!r:.60}"
        )
    if not isinstance(data.get("paths", {}), Mapping):
        raise DefinitionError(f"{subject}: `paths` has to be an object")
    information = data.get("info")
    title = information.get("title") if isinstance(information, Mapping) else None
    title = clean_text(title, _MAX_TITLE_CHARS) if isinstance(title, str) else ""
    return ApiDocument(data, str(version), title or "api", address)


def iter_operations(document: ApiDocument) -> Iterator[Operation | tuple[str, DefinitionError]]:
    """Yield each operation of *document*, or its place and why it cannot be read."""
    for path, entry in document.data.get("paths", {}).items():
        if not path.startswith("x-"):
            try:
                yield from _iter_path(document, path, entry)
            except DefinitionError as error:
                yield f"paths.{path[:200]}", error


def _iter_path(document: ApiDocument, path: str, entry: Any) -> Iterator[Operation | tuple[str, DefinitionError]]:
    problem = explain_address(path) if path.startswith("/") else "a path begins with `/`"
    shared = document.follow(entry) if problem is None else None
    if not isinstance(shared, Mapping):
        raise DefinitionError(f"paths.{path[:200]}: {problem or 'a path has an object with its operations'}")
    operations = {method: shared[method] for method in METHODS if method in shared}
    if isinstance(further := shared.get("additionalOperations"), Mapping):  # since 3.2
        operations |= further
    for method, data in operations.items():
        place = f"paths.{path}.{method}"
        if isinstance(data, Mapping) and re.fullmatch("[A-Za-z]{1,20}", method):
            yield _read_operation(method.upper(), path, place, data, shared)
        else:
            yield place, DefinitionError(f"{place}: an operation is an object under the name of its method")


def _read_operation(
    method: str, path: str, place: str, data: Mapping[str, Any], shared: Mapping[str, Any]
) -> Operation:
    tags = data.get("tags")
    texts = [text.strip() for text in (data.get("summary"), data.get("description")) if isinstance(text, str)]
    key = data.get("operationId")
    return Operation(
        method=method,
        path=path,
        id=key if isinstance(key, str) and key.strip() else None,
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        description=clean_text("\n\n".join(dict.fromkeys(filter(None, texts))), _MAX_DESCRIPTION_CHARS)
        or f"{method} {clean_text(path, 200)}",
        is_deprecated=data.get("deprecated") is True,
        place=place,
        data=data,
        shared=shared,
    )


def name_operations(operations: list[Operation]) -> list[str]:
    """
    Return a legal name for the tool of each operation.

    The name is the `operationId`, or the method and the path, with `_` for each character that a name cannot have. If
    two names differ only in case or separators, the later one in the document gets a number: `getPet`, `get_pet_2`.
    """
    names: list[str] = []
    taken: set[str] = set()
    for operation in operations:
        text = operation.id or f"{operation.method.lower()}{operation.path}"
        base = make_legal_name(re.sub(r"[^\x20-\x7e]", "_", text.replace("{", "").replace("}", "")).strip())
        if reason_against(base) is not None:
            base = make_legal_name(f"api_{base}")
        name, number = base, 2
        while fold_name(name) in taken:
            name, number = make_legal_name(f"{base[:58]}_{number}"), number + 1
        taken.add(fold_name(name))
        names.append(name)
    return names
