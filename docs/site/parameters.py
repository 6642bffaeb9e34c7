"""
Complete tables of parameters, as an extension of griffe, which reads the package for mkdocstrings.

A class explains the parameters of its constructor in its docstring, under `Args:` or `Attributes:`, and many take their
options from a `TypedDict`. The table of a class or of a function has them all: name, type, default and description.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import griffe

__all__ = ["CompleteParameters", "list_objects"]

_UNKNOWN = {"None", "Any"}
_UNLISTED = {"self", "cls", "unknown"}
"""Names without a row. `**unknown` takes what a caller has misspelt, for a message."""
_USUAL = {
    "call_id": "The id of the call.",
    "chance": "A function that returns a random number from 0 to 1; tests give their own.",
    "clock": "A function that returns the time in seconds; tests give their own.",
    "message": "What went wrong, where, and what would be right.",
    "messages": "The conversation, in order.",
    "model": "The name of the model, as its provider writes it.",
    "results": "The results, in order.",
    "sleep": "An async function that waits for so many seconds; tests give their own.",
    "strict": "Whether the provider is to hold the model to the schema.",
    "system": "The system prompt.",
    "time_ns": "A function that returns the time in nanoseconds; tests give their own.",
    "tool": "The name of the tool.",
}
"""What a name means wherever nothing else is said about it."""
_ATTRIBUTES = griffe.DocstringSectionKind.attributes
_PARAMETERS = griffe.DocstringSectionKind.parameters


class CompleteParameters(griffe.Extension):
    """Writes one section of parameters for each class and function that has parameters."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_kwargs: Any) -> None:
        """Complete all classes and functions of *pkg*, once all of its modules are there."""
        for item in list_objects(pkg, griffe.Module):
            if "record" in item.members and item.members["record"].is_alias:
                item.members["record"].target_path = "dataclasses.dataclass"  # it makes the same classes
        griffe.DataclassesExtension().on_package(pkg=pkg, loader=loader)
        for function in list_objects(pkg, griffe.Function):
            function.parameters = griffe.Parameters(*_expand(function))
        for item in [*list_objects(pkg, griffe.Class), *list_objects(pkg, griffe.Function)]:
            _write_section(item)


def list_objects(parent: griffe.Object, kind: type[Any]) -> Iterator[Any]:
    """Return *parent* and what is defined in it, at any depth, if it is of this kind."""
    if isinstance(parent, kind):
        yield parent
    for member in parent.members.values():
        if not member.is_alias:
            yield from list_objects(member, kind)


def _expand(function: griffe.Function) -> list[griffe.Parameter]:
    """Return the parameters, with those of the overloads where these say more, and each key of `Unpack[Options]`."""
    parameters = {}
    for parameter in function.parameters:
        others = [o.parameters[parameter.name] for o in function.overloads or () if parameter.name in o.parameters]
        annotations = [parameter.annotation, *(other.annotation for other in others[::-1])]
        parameter.annotation = next((a for a in annotations if str(a) not in _UNKNOWN), parameter.annotation)
        if others and all(other.default is None for other in others) and len(others) == len(function.overloads):
            parameter.default = None  # it is required; the default that is there is for a message
        keys = _read_keys(function, parameter)
        parameters.update({key.name: key for key in keys} or {parameter.name: parameter})
    return list(parameters.values())


def _read_keys(function: griffe.Function, parameter: griffe.Parameter) -> list[griffe.Parameter]:
    """Return a parameter for each key of the `TypedDict` that *parameter* unpacks; none if it is another one."""
    annotation = parameter.annotation
    if parameter.kind is not griffe.ParameterKind.var_keyword or not str(annotation).startswith("Unpack["):
        return []
    options = function.modules_collection[annotation.slice.canonical_path]
    keys, explained = {}, {}
    for cls in [*reversed(options.mro()), options]:
        names = frozenset(cls.attributes)
        defaults = _read_defaults(function.module, names) | _read_defaults(cls.module, names)
        explained |= _explain(cls)
        for key in cls.attributes.values():
            default = defaults.get(key.name, "None" if "None" in str(key.annotation) else "not given")
            keys[key.name] = griffe.Parameter(
                key.name,
                annotation=key.annotation,
                kind=griffe.ParameterKind.keyword_only,
                default=default,
                docstring=griffe.Docstring(explained[key.name]) if key.name in explained else None,
            )
    return list(keys.values())


@cache
def _read_defaults(module: griffe.Module, names: frozenset[str]) -> dict[str, Any]:
    """Return the defaults of the options *names*: of `options.get("name", default)`, and of the record of options."""
    defaults = {}
    for call in ast.walk(ast.parse(module.source)):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="options"), attr="get" | "pop"),
                args=[ast.Constant(value=str(name)), default],
            ):
                defaults[name] = ast.unparse(default)
    records = [cls.members["__init__"].parameters for cls in module.classes.values() if "dataclass" in cls.labels]
    shared = [[field for field in record if field.name in names] for record in records]
    # A record of options has most of their names; another record may have a field of the same name.
    fields = max(shared, key=len, default=[])
    if len(fields) > len(names) / 2:
        defaults |= {field.name: field.default for field in fields if field.default is not None}
    private = {name: constant.value for name, constant in module.attributes.items() if name.startswith("_")}
    return {name: private.get(str(default), default) for name, default in defaults.items()}


def _write_section(item: griffe.Class | griffe.Function) -> None:
    """Give the docstring of *item* one section with all parameters, and leave the other sections as they are."""
    constructor = item if item.is_function else item.all_members.get("__init__")
    if item.docstring is None or constructor is None or not constructor.is_function:
        return
    explained: dict[str, str] = {}
    for source in [*_list_sources(item), item]:
        explained |= _explain(source)
    parameters = [
        griffe.DocstringParameter(
            parameter.name,
            annotation=parameter.annotation,
            description=explained.get(parameter.name) or _describe(item, parameter),
            value=parameter.default,
        )
        for parameter in constructor.parameters
        if parameter.name not in _UNLISTED and not parameter.name.startswith("_")
    ]
    if not parameters:
        return
    names = {parameter.name for parameter in parameters}
    sections = [s for s in item.docstring.parse("google", warnings=False) if s.kind is not _PARAMETERS]
    for section in sections:
        if section.kind is _ATTRIBUTES:
            section.value = [entry for entry in section.value if entry.name not in names]
    texts = [section for section in sections if section.kind is griffe.DocstringSectionKind.text]
    rest = [section for section in sections if section not in texts and section.value]
    item.docstring.parsed = [*texts, griffe.DocstringSectionParameters(parameters), *rest]


def _list_sources(item: griffe.Class | griffe.Function) -> list[griffe.Class]:
    """
    Return where a parameter may be explained too.

    For a class, that is in options beside it, and in its base classes. For a function, that is in the class that it
    returns, and in a function beside it that its docstring names.
    """
    if item.is_function:
        named = re.findall(r"`(\w+)`", item.docstring.value)
        return [*_find_class(item, item.returns), *(f for name, f in item.module.functions.items() if name in named)]
    beside = [cls for cls in item.module.classes.values() if "TypedDict" in map(str, cls.bases)]
    return [*beside, *reversed(item.mro())]


def _explain(item: griffe.Class | griffe.Function) -> dict[str, str]:
    """Return what the docstring of *item* says about each name; a `TypedDict` explains its keys without a heading."""
    if item.docstring is None:
        return {}
    sections = item.docstring.parse("google", warnings=False)
    found = {
        entry.name.lstrip("*"): entry.description
        for kind in (_ATTRIBUTES, _PARAMETERS)
        for section in sections
        if section.kind is kind
        for entry in section.value
    }
    plain = re.findall(r"^(\w+): (.+(?:\n {4}.+)*)", item.docstring.value, flags=re.MULTILINE)
    return found or {name: " ".join(text.split()) for name, text in plain}


def _describe(item: griffe.Object, parameter: griffe.Parameter) -> str:
    """Return what is written below the field of that name, what the option says, or what the type is."""
    text = " ".join(item.docstring.value.split())
    sentences = re.findall(rf"[^.]*[*`]{parameter.name}[*`][^.]*\.", text)
    for documented in (item.members.get(parameter.name), parameter, *_find_class(item, parameter.annotation)):
        if documented is not None and documented.docstring is not None:
            return documented.docstring.value.strip().partition("\n\n")[0]
    if sentences or parameter.name in _USUAL:
        return sentences[0].strip() if sentences else _USUAL[parameter.name]
    # The summary of a class says what its only field is.
    is_only = item.is_class and {row.name for row in item.parameters} <= {"self", parameter.name}
    return item.docstring.value.partition("\n\n")[0] if is_only else ""


def _find_class(item: griffe.Object, annotation: Any) -> list[Any]:
    """Return the class or the type of our package that *annotation* names; none if it is another one."""
    path = getattr(getattr(annotation, "left", annotation), "canonical_path", "")  # the left one of `Session | None`
    with suppress(KeyError, griffe.GriffeError):
        if path.startswith(f"{item.package.name}."):
            return [item.modules_collection[path]]
    return []
