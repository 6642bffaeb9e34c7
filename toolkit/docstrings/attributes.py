"""Read the strings that an author wrote below the attributes of a class."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise

from .markup import join_lines
from .parsing import parse

__all__ = ["attribute_docstrings"]


def attribute_docstrings(cls: type) -> Mapping[str, str]:
    """Return the strings below the attributes of *cls* and its bases. A class without readable source has none."""
    attribute_texts: dict[str, str] = {}
    # A TypedDict keeps its bases only in this attribute.
    for base in filter(inspect.isclass, vars(cls).get("__orig_bases__", ())):
        attribute_texts |= attribute_docstrings(base)
    for owner in reversed(cls.__mro__):
        with suppress(Exception):  # the source may be missing, outdated or broken in any way
            # The classes of a framework do not describe the user's fields, and reading them takes 50 ms.
            if owner.__module__.partition(".")[0] not in _FRAMEWORKS:
                texts = _attribute_texts(inspect.getsource(sys.modules[owner.__module__]))
                attribute_texts |= texts.get(owner.__qualname__.replace(".<locals>", ""), {})
    return {name: text for name, text in attribute_texts.items() if text}


_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FRAMEWORKS = sys.stdlib_module_names | {"attr", "msgspec", "pydantic", "typing_extensions"}


@lru_cache(maxsize=16)  # one pass for each module; `inspect.getsource(cls)` would parse it again for each class
def _attribute_texts(source: str) -> dict[str, dict[str, str]]:
    """Return the texts below attributes, by the qualified name of the class."""
    texts: dict[str, dict[str, str]] = {}
    nodes: list[tuple[str, ast.AST]] = [("", ast.parse(source))]
    for outer, node in nodes:  # the list grows during the loop
        name = f"{outer}.{node.name}".strip(".") if isinstance(node, _SCOPES) else outer
        nodes += [(name, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        for pair in pairwise(node.body) if isinstance(node, ast.ClassDef) else ():
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=attribute)) | ast.Assign(targets=[ast.Name(id=attribute)]),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    texts.setdefault(name, {})[attribute] = join_lines(parse(text).description)
    return texts
