"""
Convert a value of one of several types.

The member with the narrowest JSON form wins, then the one that is declared first. For text, `str` wins over paths,
patterns and bytes, because their schemas cannot tell which text was meant for them. If records have a literal tag, the
tag chooses the record.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Optional, Union, get_args

from ...errors import Problem
from ..schemas.messages import describe_expectation, join_with_or
from ..schemas.vocabulary import ANNOTATION_KEYWORDS, KEYWORDS_FOR_ANY_TYPE, stated_types
from .base import Codec, CodecRules, HintReader, Schema, type_name
from .code_writer import CodeWriter, InlineEncode
from .ranks import CodecRank
from .refusals import OutputRefusal, Refusal, Undescribable, UnsendableType, problems_of

__all__ = ["RULES"]

_JSON_TYPES: dict[type, set[str]] = {
    str: {"string"},
    int: {"integer", "number"},
    float: {"number"},
    bool: {"boolean"},
    type(None): {"null"},
    list: {"array"},
    dict: {"object"},
}
"""The JSON types to which a value of a Python type belongs. A float may also be an integer."""


def _read_union(hint: Any, reader: HintReader) -> Codec:
    if hint is types.UnionType:
        raise UnsendableType("UnionType has no JSON form: a model cannot send a type", "take a Literal of names")
    if not get_args(hint):
        raise Undescribable(f"{type_name(hint)} alone has no members; write them in brackets")
    hidden = [get_args(member)[0] for member in get_args(hint) if _is_hidden(member)]
    visible = [member for member in get_args(hint) if not _is_hidden(member)]
    codec = _union_codec(_read_members(visible or get_args(hint), reader), reader)
    if not hidden:
        return codec
    # The values of hidden members are encoded too, but no call can send them.
    members = (codec, *map(reader.codec, hidden))
    return replace(codec, encode=functools.partial(_encode_member, members, reader), members=())


def _is_hidden(member: Any) -> bool:
    """Return whether pydantic's `SkipJsonSchema` hides *member* from the schema: `int | SkipJsonSchema[None]`."""
    return any(
        "SkipJsonSchema" in (type(item).__name__, getattr(item, "__name__", ""))
        for item in getattr(member, "__metadata__", ())
    )


def _read_members(members: Sequence[Any], reader: HintReader) -> list[Codec]:
    """
    Return the codecs of the members of a union.

    If the reader notes omitted members, a member without a JSON form is left out. Null alone is not enough to remain.
    """
    codecs: list[Codec] = []
    omitted: list[tuple[Any, UnsendableType]] = []
    for member in members:
        try:
            codecs.append(reader.codec(member))
        except UnsendableType as error:
            omitted.append((member, error))
    if omitted and (reader.omitted_members is None or all(codec.schema == {"type": "null"} for codec in codecs)):
        raise omitted[0][1]
    if reader.omitted_members is not None:
        reader.omitted_members += [type_name(member) for member, _ in omitted]
    return codecs


def _union_codec(members: Sequence[Codec], reader: HintReader) -> Codec:
    """Return the codec for any one of *members*."""
    members = [inner_member for member in members for inner_member in member.members or (member,)]

    @functools.cache
    def sort_members() -> list[Codec]:
        # The order is computed at the first use, because a record that contains itself has no tags until it is
        # complete.
        return sorted(_combine_tagged(members, reader), key=lambda member: reader.dereference(member).breadth)

    def decode(value: Any) -> Any:
        return _decode_first(sort_members(), value, reader)

    @functools.cache
    def is_ambiguous() -> bool:
        kinds = [kind for member in sort_members() for kind in stated_types(reader.schema_of(member))]
        return any(kinds.count(kind) > 1 for kind in ("array", "object"))

    def encode(value: Any) -> Any:
        form = _encode_member(members, reader, value)
        return (
            _stabilize_form(form, decode, members, reader)
            if is_ambiguous() and isinstance(form, (dict, list))
            else form
        )

    def emit(writer: CodeWriter, value: str) -> str:
        return _emit_union(writer, value, sort_members(), reader)

    def emit_encoding(writer: CodeWriter, value: str) -> str:
        return _emit_member_encoding(writer, value, [] if is_ambiguous() else members, reader)

    descriptions = [member.description for member in members if member.schema != {"type": "null"}]
    return Codec(
        schema=_union_schema(members),
        decode=decode,
        encode=InlineEncode(encode, emit_encoding),
        breadth=max(member.breadth for member in members),
        # In records, a tag with a default may be left out. Then generated code cannot decide.
        decisive=all(member.decisive for member in members) and sum(member.tags is not None for member in members) < 2,
        hashable=all(member.hashable for member in members),
        choices=_collect_choices(members),
        members=tuple(members),
        description=descriptions[0] if len(descriptions) == 1 else None,
        emit=emit,
    )


def _collect_choices(members: Sequence[Codec]) -> tuple[Any, ...] | None:
    choices: list[Any] = []
    for member in members:
        if member.choices is None:
            return None
        choices += member.choices
    return tuple(choices)


# The schema.


def _union_schema(members: Sequence[Codec]) -> Schema:
    """Return `anyOf`, or the shorter `type: [...]` if it means the same."""
    schemas: list[Schema] = []
    takes_any_text = any(member.breadth == (CodecRank.TEXT,) for member in members)
    for member in members:
        is_unreachable = takes_any_text and CodecRank.TEXT < member.breadth[0] <= CodecRank.CONVERTED_TEXT
        if is_unreachable and ANNOTATION_KEYWORDS.isdisjoint(member.schema):
            continue  # every text goes to `str`, so a model should not prepare text for this member
        if member.schema not in schemas:
            schemas.append(member.schema)
    if {} in schemas:
        return {}
    if len(schemas) == 1:
        return schemas[0]
    rich = [schema for schema in schemas if schema.keys() != {"type"}]
    if not rich:
        return {"type": list(dict.fromkeys(kind for schema in schemas for kind in stated_types(schema)))}
    if len(schemas) == 2 and {"type": "null"} in schemas:
        return _nullable(rich[0]) or {"anyOf": schemas}
    return {"anyOf": schemas}


def _nullable(schema: Schema) -> Schema | None:
    """Return one schema for *schema* or null, or None if that cannot be expressed."""
    general = schema.keys() & set(KEYWORDS_FOR_ANY_TYPE)
    kinds = {"type": list(dict.fromkeys([*stated_types(schema), "null"]))} if "type" in schema else {}
    if general == {"enum"}:
        return {**schema, **kinds, "enum": [*schema["enum"], *([] if None in schema["enum"] else [None])]}
    return {**schema, **kinds} if kinds and not general else None


# Choosing a member.


def _decode_first(members: Sequence[Codec], value: Any, reader: HintReader) -> Any:
    failed: list[tuple[Codec, Exception]] = []
    for member in members:
        try:
            return member.decode(value)
        except Exception as error:  # noqa: BLE001 -- a constructor may refuse with an exception of any class
            failed.append((member, error))
    kinds = _JSON_TYPES.get(type(value), set()) | ({"integer"} if isinstance(value, float) else set())
    likely_errors = [error for member, error in failed if kinds & set(stated_types(reader.schema_of(member)) or kinds)]
    fewest = min((len(problems_of(error)) for error in likely_errors), default=0)
    nearest = [error for error in likely_errors if len(problems_of(error)) == fewest]
    if len(nearest) == 1:
        raise Refusal(*problems_of(nearest[0])) from nearest[0]
    places = {problems_of(error)[0].path for error in nearest}
    if fewest == 1 and len(places) == 1 and places != {()}:
        raise Refusal(
            Problem(" or ".join(dict.fromkeys(problems_of(error)[0].message for error in nearest)), places.pop())
        )
    expectations = [
        getattr(error, "wanted", None) or describe_expectation(reader.schema_of(member)) for member, error in failed
    ]
    raise Refusal.mismatch(join_with_or(list(dict.fromkeys(expectations)), max_items=len(expectations)), value)


def _encode_member(members: Sequence[Codec], reader: HintReader, value: Any) -> Any:
    refusal: OutputRefusal | None = None
    for member in _sort_by_type(members, reader, value):
        try:
            return member.encode(value)
        except OutputRefusal as error:
            refusal = refusal or error
        except Exception:  # noqa: BLE001, S112 -- the value is not of this member's type; the next member may accept it
            continue
    if refusal is not None:
        raise refusal
    raise TypeError(f"expected one of the union's types, got {type(value).__name__}")


def _sort_by_type(members: Sequence[Codec], reader: HintReader, value: Any) -> Iterator[Codec]:
    """Yield the *members* of exactly the type of *value*, and then the others, the narrowest first."""
    exact = [member for member in members if reader.dereference(member).type is type(value)]
    yield from exact  # nearly always the first one encodes the value, and the others need not be sorted
    yield from sorted((member for member in members if member not in exact), key=lambda member: member.breadth)


def _stabilize_form(form: Any, decode: Callable[[Any], Any], members: Sequence[Codec], reader: HintReader) -> Any:
    """Return *form* as it will be read back. Another member that accepts it may have defaults to add."""
    for _ in range(3):
        try:
            next_form = _encode_member(members, reader, decode(form))
        except Exception:  # noqa: BLE001 -- the class cannot be made from its own fields, so its form stays as it is
            return form
        if next_form == form:
            break
        form = next_form
    return form


def _combine_tagged(members: Sequence[Codec], reader: HintReader) -> list[Codec]:
    """Return *members*, but with all records that a literal field tells apart combined into one codec."""
    records = [member for member in members if reader.dereference(member).tags is not None]
    tag = _find_tag(records, reader) if len(records) > 1 else None
    if tag is None:
        return list(members)
    return [_codec_by_tag(*tag, records, reader), *(member for member in members if member not in records)]


def _find_tag(records: Sequence[Codec], reader: HintReader) -> tuple[str, Mapping[str, Codec]] | None:
    """Return the field whose constants tell the records apart, and the record for each constant, or None."""
    for field in reader.dereference(records[0]).tags or ():
        table: dict[str, Codec] = {}
        for record in records:
            constants = (reader.dereference(record).tags or {}).get(field, frozenset())
            if not constants or constants & table.keys():
                break
            table.update(dict.fromkeys(sorted(constants), record))
        else:
            return field, table
    return None


def _codec_by_tag(field: str, table: Mapping[str, Codec], records: Sequence[Codec], reader: HintReader) -> Codec:
    ordered = sorted(records, key=lambda record: record.breadth)

    def decode(value: Any) -> Any:
        constant = value.get(field) if isinstance(value, dict) else None
        chosen = table.get(constant) if isinstance(constant, str) else None
        # If the tag is absent, which a default allows, the records are tried like other members.
        return _decode_first(ordered, value, reader) if chosen is None else chosen.decode(value)

    def emit(writer: CodeWriter, value: str) -> str:
        result, tag = writer.new_name(), writer.new_name()
        writer.require(f"type({value}) is dict")
        writer.line(f"{tag} = {value}.get({field!r})")
        word = "if"
        for constant, record in table.items():
            with writer.block(f"{word} {tag} == {constant!r}:"):
                writer.line(f"{result} = {writer.convert(record, value)}")
            word = "elif"
        writer.line("else: return U")
        return result

    encode = functools.partial(_encode_member, ordered, reader)
    return Codec(schema={"type": "object"}, decode=decode, encode=encode, breadth=ordered[0].breadth, emit=emit)


# The generated code.


def _emit_union(writer: CodeWriter, value: str, members: Sequence[Codec], reader: HintReader) -> str:
    """Write one branch for each Python type that JSON values have, with the members that accept it."""
    kinds = {id(member): set(stated_types(reader.schema_of(member))) for member in members}
    branches: dict[tuple[int, ...], tuple[list[type], list[Codec]]] = {}
    for python, names in _JSON_TYPES.items():
        accepting = [member for member in members if not kinds[id(member)] or kinds[id(member)] & names]
        if accepting:
            branches.setdefault(tuple(map(id, accepting)), ([], accepting))[0].append(python)
    has_integer = any("integer" in member_kinds and "number" not in member_kinds for member_kinds in kinds.values())
    result, kind = writer.new_name(), writer.new_name()
    writer.line(f"{kind} = type({value})")
    word = "if"
    for types_of_branch, accepting in branches.values():
        test = " or ".join(f"{kind} is {writer.constant(python_type)}" for python_type in types_of_branch)
        with writer.block(f"{word} {test}:"):
            if float in types_of_branch and has_integer:
                # 3.0 is an integer in JSON, and the integer member is the narrower one.
                writer.line(f"if {kind} is float and {value}.is_integer(): return U")
            _emit_attempts(writer, value, accepting, result)
        word = "elif"
    writer.line("else: return U")
    return result


def _emit_attempts(writer: CodeWriter, value: str, members: Sequence[Codec], result: str) -> None:
    if len(members) == 1:
        writer.line(f"{result} = {writer.convert(members[0], value)}")
        return
    writer.line(f"{result} = {writer.attempt(members[0], value)}")
    for earlier, member in pairwise(members):
        if not earlier.decisive:
            break  # its `UNSURE` may not mean "no", so no later member may answer
        with writer.block(f"if {result} is U:"):
            writer.line(f"{result} = {writer.attempt(member, value)}")
    writer.line(f"if {result} is U: return U")


def _emit_member_encoding(writer: CodeWriter, value: str, members: Sequence[Codec], reader: HintReader) -> str:
    """Write one branch for each member whose class no other member has. All other values are left to `encode`."""
    kinds = [reader.dereference(member).type for member in members]
    result = writer.new_name()
    word = "if"
    for member, kind in zip(members, kinds, strict=True):
        if kind is not None and kinds.count(kind) == 1:
            with writer.block(f"{word} type({value}) is {writer.constant(kind)}:"):
                writer.line(f"{result} = {writer.convert(member, value)}")
            word = "elif"
    writer.line("return U" if word == "if" else "else: return U")
    return result


RULES = CodecRules({Union: _read_union, Optional: _read_union, types.UnionType: _read_union})
