"""
The operations of an OpenAPI document, with names for their tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..catalogs.foreign_names import fold_name, make_legal_name, reason_against
from ..catalogs.foreign_text import clean_text, explain_address
from ..errors import DefinitionError
from .documents import ApiDocument

__all__ = ["Operation", "iter_operations", "name_operations"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_MAX_DESCRIPTION_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """
    One operation of an API.

    Attributes:
        method: The method of HTTP, in capitals.
        path: The path as the document has it: "/pets/{id}".
        id: Its `operationId`; None if it has none.
        tags: Its tags.
        description: Its summary and its description.
        is_deprecated: Whether the document says that it should not be used.
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


def iter_operations(document: ApiDocument) -> Iterator[Operation | tuple[str, DefinitionError]]:
    """Yield each operation of *document*, or its place and why it cannot be read."""
    for path, entry in document.data.get("paths", {}).items():
        if not path.startswith("/") or (problem := explain_address(path)):
            if not path.startswith("x-"):
                problem = problem if path.startswith("/") else "a path begins with `/`"
                yield f"paths.{path[:200]}", DefinitionError(f"paths.{path[:200]}: {problem}")
            continue
        try:
            shared = document.follow(entry)
        except DefinitionError as error:
            yield f"paths.{path}", error
            continue
        if not isinstance(shared, Mapping):
            yield f"paths.{path}", DefinitionError(f"paths.{path}: a path has an object with its operations")
            continue
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
