"""Evaluate annotations that are text, in the namespaces in which they were written."""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

__all__ = ["evaluate_annotation", "evaluate_running"]


def evaluate_annotation(annotation: str, namespaces: Sequence[Mapping[str, Any]]) -> Any:
    """
    Return the object that *annotation* means in *namespaces*, of which the last is searched first.

    If a namespace belongs to a module, the names that the module has only under `TYPE_CHECKING` are found too.

    Raises:
        NameError: No namespace has one of the names, or it is too early to import it.
    """
    try:
        return evaluate_running(annotation, namespaces)
    except Exception as error:
        from .type_checking_names import TypeCheckingNames  # most annotations have no such name

        extended: list[Mapping[str, Any]] = []
        for namespace in namespaces:
            pair = [TypeCheckingNames(namespace), namespace]
            # If no name is missing, one may be a stand-in for the running program, such as None.
            extended += pair if isinstance(error, NameError) else reversed(pair)
        if not any(isinstance(namespace, TypeCheckingNames) and namespace for namespace in extended):
            raise
        return evaluate_running(annotation, extended)


def evaluate_running(annotation: str, namespaces: Sequence[Mapping[str, Any]]) -> Any:
    """Return the same as `evaluate_annotation`, with the names of the running program alone. Nothing is imported."""
    names: Any = ChainMap(*reversed(namespaces))
    # The annotation is source text of the tool's author. `typing.get_type_hints` evaluates the same text.
    return eval(_compile(annotation), {}, names)  # noqa: S307


@functools.lru_cache(maxsize=1000)
def _compile(annotation: str) -> CodeType:
    """Compile *annotation*. Most parameters use the same few, and parsing costs more than all other work on them."""
    source = annotation.strip()
    if source.startswith("*"):  # the annotation of `*args: *tuple[int, str]` is not an expression on its own
        source = f"({source},)[0]"
    return compile(source, "<annotation>", "eval", dont_inherit=True)
