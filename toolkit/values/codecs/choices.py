"""
Convert one of a few constants: `Literal`, enums, flags.

Constants are compared as JSON compares them, so `1`, `true` and `"1"` are three values. An enum member is sent as its
value, not as its name. If the values are not texts, the description of the schema tells the names.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from ...docstrings.parsing import Docstring, parse
from ..schemas.member_names import FLAG_NAMES, MEMBER_NAMES, TEXT_NAMES, MemberNames, fold_name
from ..schemas.messages import join_with_or
from ..schemas.vocabulary import scalar_key
from ..strictjson.checks import show_value
from .base import Codec, CodecRules, HintReader, Schema, type_name
from .code_writer import CodeWriter
from .ranks import CodecRank
from .refusals import Refusal, Undescribable, UnsendableType

__all__ = ["RULES"]

_JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_MAX_NAMES = 40
_MAX_NAMES_OF_MANY = 10
"""How many members a description names if there are more than `_MAX_NAMES`, because each costs tokens in every call."""


def _constants_codec(
    pairs: Sequence[tuple[Any, Any]], *, kind: type | None = None, annotations: Schema | None = None
) -> Codec:
    """Return a codec for (JSON form, Python value) pairs. *annotations* are keywords that refuse no value."""
    forms = [form for form, _ in pairs]
    decoding = {scalar_key(form): value for form, value in pairs}
    encoding = {_python_key(value): form for form, value in pairs}
    expected = join_with_or([show_value(form) for form in forms[:12]], more=len(forms) > 12)
    only_text = all(type(form) is str for form in forms)

    def decode(value: Any) -> Any:
        if isinstance(value, (str, int, float)) or value is None:
            key = scalar_key(value)
            if key in decoding:
                return decoding[key]
        raise Refusal.mismatch(expected, value)

    def encode(value: Any) -> Any:
        try:
            return encoding[_python_key(value)]
        except KeyError:
            raise ValueError(f"{value!r} is not one of the choices") from None

    def emit(writer: CodeWriter, value: str) -> str:
        table = writer.constant(dict(pairs) if only_text else decoding)
        writer.require(f"type({value}) is str" if only_text else f"type({value}) in {writer.constant(_JSON_TYPE)}")
        result = writer.new_name()
        key = value if only_text else f"({value}.__class__ is bool, {value})"
        writer.line(f"{result} = {table}.get({key}, U)")
        writer.line(f"if {result} is U: return U")
        return result

    return Codec(
        schema={**_constants_schema(forms), **(annotations or {})},
        decode=decode,
        encode=encode,
        type=kind,
        breadth=(CodecRank.CONSTANTS,),
        decisive=only_text,
        choices=tuple(forms),
        emit=emit,
    )


def _python_key(value: Any) -> tuple[type, Any]:
    # The name is used, because an enum with its own `__eq__` may have members that cannot be hashed.
    return type(value), value.name if isinstance(value, enum.Enum) else value


def _constants_schema(forms: Sequence[Any]) -> Schema:
    kinds = {_JSON_TYPE[type(form)] for form in forms}
    if len(kinds) > 1:
        return {"enum": list(forms)}
    if len(forms) == 1:
        return {"type": kinds.pop(), "const": forms[0]} if forms[0] is not None else {"type": "null"}
    return {"type": kinds.pop(), "enum": list(forms)}


def _read_literal(hint: Any, reader: HintReader) -> Codec:
    pairs: dict[tuple[bool, Any], tuple[Any, Any]] = {}
    if not get_args(hint):
        raise Undescribable("Literal alone has no choices; write them in brackets")
    for value in get_args(hint):
        if isinstance(value, enum.Enum):
            form = _enum_form(type(value), value, reader)
        elif type(value) not in _JSON_TYPE:
            raise UnsendableType(
                f"{type_name(hint)} holds {type_name(type(value))}, which has no JSON form of its own; "
                f"use strings, numbers, booleans, None or members of an enum"
            )
        else:
            form = value
        pairs.setdefault(scalar_key(form), (form, value))
    members = [(value.name, form) for form, value in pairs.values() if isinstance(value, enum.Enum)]
    counts = Counter(name for name, _ in members)
    # Members of two enums may have the same name, which then means none of them.
    names = {name: form for name, form in members if counts[name] == 1}
    return _constants_codec(list(pairs.values()), annotations=_name_members(members, names, parse(None)))


def _read_enum(hint: Any, reader: HintReader) -> Codec:
    pairs: dict[tuple[bool, Any], tuple[Any, enum.Enum]] = {}
    for member in hint:
        form = _enum_form(hint, member, reader)
        _, twin = pairs.setdefault(scalar_key(form), (form, member))
        if twin is not member:
            raise UnsendableType(
                f"{twin} and {member} look the same in JSON, {show_value(form)}; give one another value"
            )
    if not pairs:
        raise Undescribable(f"the enum {type_name(hint)} has no members; give it some")
    members = [(member.name, form) for form, member in pairs.values()]
    forms = dict(members)
    names = {name: forms[member.name] for name, member in hint.__members__.items()}
    return _constants_codec(
        list(pairs.values()), kind=hint, annotations=_name_members(members, names, parse(vars(hint).get("__doc__")))
    )


def _name_members(members: Sequence[tuple[str, Any]], names: Mapping[str, Any], docstring: Docstring) -> Schema:
    """
    Return the keywords that tell a model, a message and a repair the names of enum members.

    *names* has the form that each name means. A member may have several names.
    """
    # A text speaks for itself, and a name beside it would be a second word for the same thing. Only a repair knows it,
    # unless the name looks like the text of another member.
    if all(isinstance(form, str) for _, form in members):
        forms = {fold_name(form): form for _, form in members}
        own_names = {name: form for name, form in names.items() if forms.get(fold_name(name), form) == form}
        return {TEXT_NAMES: MemberNames(own_names)} if own_names else {}
    shown = [
        f"{show_value(form)} {name}" + (f" ({text.rstrip('.')})" if (text := docstring.parameters.get(name)) else "")
        for name, form in members[: _MAX_NAMES if len(members) <= _MAX_NAMES else _MAX_NAMES_OF_MANY]
    ]
    more = f", ... ({len(members):,} in all)" if len(members) > len(shown) else ""
    description = f"One of: {', '.join(shown)}{more}."
    if docstring.description:
        description = f"{_end_sentence(docstring.description)} {description}"
    return {"description": description, MEMBER_NAMES: MemberNames(names)}


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def _enum_form(kind: type[enum.Enum], member: enum.Enum, reader: HintReader) -> Any:
    value = member.value
    if type(value) in _JSON_TYPE:
        if isinstance(value, float) and value - value != 0:
            raise UnsendableType(f"{kind.__qualname__}.{member.name} is {value}, which has no JSON form")
        return value
    try:
        form = reader.codec(type(value)).encode(value)
    except Exception:  # noqa: BLE001 -- a registered codec is the user's code; the remedy is the same
        form = value
    if type(form) not in _JSON_TYPE:
        raise UnsendableType(
            f"{kind.__qualname__}.{member.name} has the value {value!r}; a model can send strings, numbers, "
            f"booleans and null, so give the member one of these as its value, or call `register_codec` for "
            f"{kind.__qualname__}, with the names of its members for example"
        )
    return form


def _read_flag(hint: Any, reader: HintReader) -> Codec:
    # Aliases are left out, unless one of their bits has no name of its own.
    own = [member for name, member in hint.__members__.items() if name == member.name]
    named = functools.reduce(operator.or_, (member.value for member in hint), 0)
    members = [member for member in own if member.value.bit_count() == 1 or member.value & ~named] or own
    if not members:
        raise Undescribable(f"the enum {type_name(hint)} has no members; give it some")
    mask = functools.reduce(operator.or_, (member.value for member in hint.__members__.values()))
    names = ", ".join(f"{member.value} {member.name}" for member in members)

    def decode(value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value & ~mask:
            raise Refusal.mismatch(f"a sum of {names}", value)
        try:
            return hint(value)
        except ValueError:
            raise Refusal.mismatch(f"a sum of {names}", value) from None

    def encode(value: Any) -> int:
        if not isinstance(value, hint) or value.value & ~mask:
            raise ValueError(f"{value!r} is not a combination of {type_name(hint)}")
        return int(value.value)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is int and not {value} & {~mask}")
        result = writer.new_name()
        writer.line(f"{result} = {writer.constant(hint)}({value})")
        return result

    docstring = parse(vars(hint).get("__doc__")).description
    sums = _list_sums(hint, mask, named)
    schema = {
        "type": "integer",
        **({"enum": list(sums)} if sums and len(sums) <= mask else {"minimum": 0, "maximum": mask}),
        "description": f"{_end_sentence(docstring)} A sum of: {names}." if docstring else f"A sum of: {names}.",
        FLAG_NAMES: MemberNames({name: member.value for name, member in hint.__members__.items()}),
    }
    return Codec(
        schema=schema, decode=decode, encode=encode, type=hint, breadth=(CodecRank.FLAGS,), choices=sums, emit=emit
    )


_MAX_SUMS = 4096
"""The most values that the schema of a flag lists."""


def _list_sums(kind: Any, mask: int, named: int) -> tuple[int, ...] | None:
    """
    Return the sums of the bits of *mask* that the class accepts, in order; None if there are too many.

    Bits that are not *named*, because only a member of several bits has them, may be allowed only together.
    """
    if 2 ** mask.bit_count() > _MAX_SUMS:
        return None
    sums = [0]
    for bit in (1 << place for place in range(mask.bit_length()) if mask >> place & 1):
        sums += [bit + smaller for smaller in sums]
    return tuple(value for value in sums if not value & ~named or _is_value(kind, value))


def _is_value(kind: Any, value: int) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda hint: isinstance(hint, type) and issubclass(hint, kind)


RULES = CodecRules({Literal: _read_literal}, [(_is_a(enum.Flag), _read_flag), (_is_a(enum.Enum), _read_enum)])
