"""
One of several types.

The member with the narrowest JSON form wins, then the order of declaration;
records that carry a literal tag are chosen by it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args

from .base import FORMS, Codec, Reader, Refusal, Schema, one_of
from .writer import Writer

__all__ = ["union_of"]

_PYTHON_TYPE = {"string": str, "integer": int, "boolean": bool, "null": type(None), "array": list, "object": dict}


def _union(hint: Any, reader: Reader) -> Codec:
    return union_of([reader.codec(member) for member in get_args(hint)], reader)


def union_of(members: Sequence[Codec], reader: Reader) -> Codec:
    """The codec for any one of *members*."""
    if len(members) == 1:
        return members[0]
    ordered = sorted(members, key=lambda member: member.breadth)  # stable: declaration decides between equals
    tag = _tag(ordered)

    def decode(value: Any) -> Any:
        if tag is not None and isinstance(value, dict):
            chosen = tag[1].get(value.get(tag[0]))
            if chosen is not None:
                return chosen.decode(value)
        wanted: list[str] = []
        for member in ordered:
            try:
                return member.decode(value)
            except Refusal as refusal:
                wanted.append(refusal.wanted or str(refusal))
            except Exception as error:  # noqa: BLE001 -- a constructor's own refusal, of whatever class
                wanted.append(str(error))
        raise Refusal.expected(one_of(list(dict.fromkeys(wanted))), value)

    def encode(value: Any) -> Any:
        exact = [member for member in ordered if member.type is type(value)]
        for member in exact + [member for member in ordered if member not in exact]:
            try:
                return member.encode(value)
            except Exception:  # noqa: BLE001, S112 -- not of this member's type; the next may know it
                continue
        raise TypeError(f"expected one of the union's types, got {type(value).__name__}")

    def emit(writer: Writer, value: str) -> str:
        if tag is not None:
            return _emit_tagged(writer, value, *tag)
        branches = _branches(ordered, reader)
        if branches is not None:
            return _emit_branches(writer, value, branches)
        return _emit_attempts(writer, value, ordered)

    return Codec(
        schema=_union_schema(members),
        decode=decode,
        encode=encode,
        breadth=max(member.breadth for member in members),
        decisive=all(member.decisive for member in members),
        hashable=all(member.hashable for member in members),
        choices=_all_choices(members),
        emit=emit,
    )


def _all_choices(members: Sequence[Codec]) -> tuple[Any, ...] | None:
    choices: list[Any] = []
    for member in members:
        if member.choices is None:
            return None
        choices += member.choices
    return tuple(choices)


def _union_schema(members: Sequence[Codec]) -> Schema:
    """`anyOf`, or the shorter `type: [...]` where it says the same."""
    schemas = [member.schema for member in members]
    bare = [schema for schema in schemas if schema.keys() == {"type"}]
    rich = [schema for schema in schemas if schema.keys() != {"type"}]
    if any(not schema for schema in schemas):
        return {}
    if len(rich) == 1 and len(bare) == 1 and bare[0]["type"] == "null":
        # Optional: keywords such as minLength speak only of their own type, constants of all.
        schema = rich[0]
        if "enum" in schema:
            kinds = [schema["type"], "null"] if isinstance(schema.get("type"), str) else None
            return {**schema, **({"type": kinds} if kinds else {}), "enum": [*schema["enum"], None]}
        if isinstance(schema.get("type"), (str, list)) and not schema.keys() & {"const", "not", "anyOf"}:
            kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            return {**schema, "type": [*kinds, "null"]}
    if not rich:
        kinds = [
            kind
            for schema in bare
            for kind in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
        ]
        return {"type": list(dict.fromkeys(kinds))}
    unique: list[Schema] = []
    for schema in schemas:
        if schema not in unique:
            unique.append(schema)
    return {"anyOf": unique}


def _tag(members: Sequence[Codec]) -> tuple[str, Mapping[Any, Codec]] | None:
    """The field by whose constant the members, all records, can be told apart."""
    first = members[0].tags
    for field in first or ():
        table: dict[Any, Codec] = {}
        for member in members:
            constants = (member.tags or {}).get(field, frozenset())
            if not constants or constants & table.keys():
                break
            table.update(dict.fromkeys(constants, member))
        else:
            return field, table
    return None


def _emit_tagged(writer: Writer, value: str, field: str, table: Mapping[Any, Codec]) -> str:
    result, tag = writer.fresh(), writer.fresh()
    writer.unless(f"type({value}) is dict")
    writer.line(f"{tag} = {value}.get({field!r})")
    word = "if"
    for constant, member in table.items():
        with writer.block(f"{word} {tag} == {constant!r}:"):
            writer.line(f"{result} = {writer.convert(member, value)}")
        word = "elif"
    writer.line("else: return U")
    return result


def _branches(members: Sequence[Codec], reader: Reader) -> list[tuple[list[type], Codec]] | None:
    """The Python types by which the members can be told apart at once, if no two share one."""
    taken: set[type] = set()
    branches: list[tuple[list[type], Codec]] = []
    for member in members:
        schema = reader.definition(member)
        kinds = schema.get("type", ())
        wanted: list[type] = []
        for kind in (kinds,) if isinstance(kinds, str) else kinds:
            wanted += [_PYTHON_TYPE[kind]] if kind in _PYTHON_TYPE else [float, int]
        if int in wanted and int in taken and float in wanted:
            wanted.remove(int)  # the integer's own member is narrower
        if not wanted or taken & set(wanted):
            return None
        taken.update(wanted)
        branches.append((wanted, member))
    return branches


def _emit_branches(writer: Writer, value: str, branches: Sequence[tuple[list[type], Codec]]) -> str:
    nullable = [member for wanted, member in branches if wanted == [_PYTHON_TYPE["null"]]]
    if nullable and len(branches) == 2:
        # The usual case, an optional value: the other member checks its type itself.
        (other,) = (member for _, member in branches if member not in nullable)
        result = writer.fresh()
        with writer.block(f"if {value} is None:"):
            writer.line(f"{result} = None")
        with writer.block("else:"):
            writer.assign(result, writer.convert(other, value))
        return result
    result, kind = writer.fresh(), writer.fresh()
    writer.line(f"{kind} = type({value})")
    has_integer = any(int in wanted and float not in wanted for wanted, _ in branches)
    word = "if"
    for wanted, member in branches:
        test = " or ".join(f"{kind} is {writer.constant(each)}" for each in wanted)
        with writer.block(f"{word} {test}:"):
            if float in wanted and has_integer:
                # 3.0 is an integer in JSON, and the integer's member is the narrower one.
                writer.line(f"if {kind} is float and {value}.is_integer(): return U")
            writer.line(f"{result} = {writer.convert(member, value)}")
        word = "elif"
    writer.line("else: return U")
    return result


def _emit_attempts(writer: Writer, value: str, members: Sequence[Codec]) -> str:
    # "Don't know" from one member must mean "no" before the next may answer.
    if not all(member.decisive for member in members[:-1]):
        writer.line("return U")
        return "U"
    result = writer.attempt(members[0], value)
    for member in members[1:]:
        with writer.block(f"if {result} is U:"):
            writer.line(f"{result} = {writer.attempt(member, value)}")
    writer.line(f"if {result} is U: return U")
    return result


FORMS.update({Union: _union, types.UnionType: _union})
