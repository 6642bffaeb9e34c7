"""Read a class: the meaning of its annotations, and the descriptions that its author wrote."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ForwardRef, Self, TypeVar, get_args, get_origin

import typing_extensions

from ...docstrings.attributes import attribute_docstrings
from ...docstrings.parsing import Docstring
from ...docstrings.parsing import parse as parse_docstring
from .aliases import close_hint, substitute_variables, widest_type
from .base import Codec, HintReader, type_name
from .objects import MISSING
from .refusals import RefusedMetadata, Undescribable, UnsendableType
from .type_checking_names import module_names

__all__ = ["ClassHints", "class_key", "definition_name", "field_descriptions", "parse_class_docstring"]


class ClassHints:
    """The annotations of a class. Each is read with the meaning that it has where it was written."""

    def __init__(self, hint: Any, reader: HintReader) -> None:
        cls, arguments = class_key(hint, reader)
        self.cls: Any = cls
        self.hint = cls[arguments] if arguments else cls
        self.reader = reader
        self.annotations: dict[str, tuple[Any, type]] = {}
        for owner in _iter_bases(self.cls):
            for name, annotation in inspect.get_annotations(owner).items():
                # A TypedDict repeats the annotations of its bases, but they were written in the bases.
                if name not in self.annotations or annotation is not self.annotations[name][0]:
                    self.annotations[name] = (annotation, owner)
        self.variables = _bind_type_variables(cls, arguments)

    @contextmanager
    def scope(self, owner: Any) -> Iterator[None]:
        """Read hints with the meaning that they have in the body of *owner*."""
        parameters = {variable.__name__: variable for variable in getattr(owner, "__parameters__", ())}
        local = [self.reader.local_names] if "<locals>" in owner.__qualname__ else []
        # The name of a field may hide a type (`date: date = ...`), so the class body is searched last.
        names = [
            # A package may set `__module__` of its classes to its own name. Their code knows where it was written.
            getattr(vars(owner).get("__init__"), "__globals__", {}),
            vars(owner),
            vars(builtins),
            {owner.__name__: owner},
            module_names(owner.__module__),
            *local,
            parameters,
        ]
        with self.reader.in_scope(*names, variables={**self.variables.get(owner, {}), Self: self.hint}):
            yield

    def codec(self, name: str, annotation: Any = MISSING) -> Codec:
        """Return the codec of the field *name*, or of *annotation* as it would be read in the place of that field."""
        written, owner = self.annotations.get(name, (Any, self.cls))
        try:
            with self.scope(owner):
                return self.reader.codec(written if annotation is MISSING else annotation)
        except UnsendableType as error:
            raise error.below(f"{self.cls.__name__}.{name}: ") from error
        except (Undescribable, RefusedMetadata) as error:
            place = f"{self.cls.__name__}.{name}: "
            # A class that contains itself would name the same place at every level.
            raise type(error)(f"{place}{str(error).removeprefix(place)}") from error

    def evaluate(self, name: str) -> Any:
        """Return the annotation of *name* as an object; a forward reference is resolved."""
        written, owner = self.annotations[name]
        if not isinstance(written, ForwardRef):
            return written
        # On Python 3.11, a TypedDict loses its bases, but the reference keeps the module in which it was written.
        module = written.__forward_module__
        elsewhere = [] if module in (None, owner.__module__) else [module_names(module)]
        with self.scope(owner), self.reader.in_scope(*elsewhere):
            return self.reader.resolve(written.__forward_arg__)


def _iter_bases(cls: Any) -> Iterator[Any]:
    """Yield the bases of *cls* and then *cls*, including bases that a TypedDict does not inherit from."""
    if not typing_extensions.is_typeddict(cls):
        yield from reversed(cls.__mro__)
        return
    for base in vars(cls).get("__orig_bases__", ()):
        if typing_extensions.is_typeddict(origin := get_origin(base) or base):
            yield from _iter_bases(origin)
    yield cls


def _bind_type_variables(cls: Any, arguments: Sequence[Any]) -> dict[Any, dict[Any, Any]]:
    """Return the types that the type variables of *cls* and of its bases stand for."""
    parameters = getattr(cls, "__parameters__", ())
    own = {parameter: widest_type(parameter) for parameter in parameters if isinstance(parameter, TypeVar)}
    own.update(zip(parameters, arguments, strict=False))
    variables: dict[Any, dict[Any, Any]] = {cls: own}
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if isinstance(origin, type):
            variables.update(
                _bind_type_variables(origin, [substitute_variables(argument, own) for argument in get_args(base)])
            )
    return variables


def parse_class_docstring(cls: type) -> Docstring:
    """Return what the author of a class wrote about it. Python itself may write `Point(x, y)`, which is ignored."""
    text = cls.__dict__.get("__doc__") or ""
    return parse_docstring(None if text.startswith(f"{cls.__name__}(") else text)


def field_descriptions(cls: type) -> Mapping[str, str]:
    """Return the descriptions of the fields of *cls*: from docstrings, of its bases too, or from below the fields."""
    texts: dict[str, str] = {}
    for owner in _iter_bases(cls):
        if owner is not object:
            texts.update(parse_class_docstring(owner).parameters)
    return {**texts, **attribute_docstrings(cls)}


def class_key(hint: Any, reader: HintReader) -> Any:
    """
    Return a class and its arguments as a key: the same for `Box[T]` and `Box[int]` if T is int.

    `Box` and `Box[T]` have the same key if T is nothing else, so that a class that contains `Box[T]` contains itself.
    """
    cls, arguments = get_origin(hint) or hint, get_args(hint)
    if not arguments:
        return cls, ()
    arguments = tuple(close_hint(argument, reader.variables) for argument in arguments)
    return cls, () if arguments == tuple(map(widest_type, _type_variables(cls))) else arguments


def _type_variables(cls: Any) -> Sequence[Any]:
    """Return the parameters of a generic class if all are plain type variables, otherwise none."""
    parameters = getattr(cls, "__parameters__", ())
    return parameters if all(isinstance(parameter, TypeVar) for parameter in parameters) else ()


def definition_name(hint: Any, reader: HintReader) -> str:
    """Return a name for the definition of the class. A JSON pointer to this name needs no escaping."""
    cls, arguments = class_key(hint, reader)
    words = [cls.__name__, *map(type_name, arguments)]
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", "_".join(words)).strip("_") or "Record"
