"""
Define codecs: the schema, the decoding and the encoding of one type.

A `Codec` holds all three, so the schema that a model sees and the value that a function receives always agree. A
`HintReader` turns annotations into codecs. It follows `CodecRules`. The other modules of this package each export the
rules for one family of types, and the module `rules` adds them up.

Decoding is strict: it raises `Refusal` for every JSON value that the codec's schema refuses. So a union can find the
member for which a value was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field as dataclass_field
from dataclasses import replace
from typing import Any, ForwardRef, TypeAlias, get_args, get_origin

from ..._lazy_names import lazy_pattern
from ..._plumbing.records import record
from ...errors import DefinitionError
from ..schemas.vocabulary import stated_types
from .annotation_texts import evaluate_annotation
from .code_writer import CodeWriter, InlineEncode
from .decode_cache import memoize_decode
from .plain_hints import MAX_PLAIN_CODECS, has_registered_plain_class, plain_key
from .ranks import CodecRank
from .refusals import Undescribable, Unresolved, UnsendableType
from .registered import find_registered_factory

__all__ = [
    "MAX_PROBLEMS",
    "UNKNOWN_BREADTH",
    "Codec",
    "CodecRules",
    "HintReader",
    "RecordParts",
    "Schema",
    "constant_factory",
    "type_name",
]

Schema: TypeAlias = dict[str, Any]

UNKNOWN_BREADTH = (CodecRank.UNKNOWN,)
"""The breadth of a codec that does not state its own."""


@record(frozen=True, slots=True, kw_only=True, eq=False)
class RecordParts:
    """
    How a record is taken apart, so that its fields can be the arguments of a tool.

    Attributes:
        hint: The type of the record.
        attributes: The attribute of each field that the record keeps, by the field's name in JSON.
        read: Returns the values in a record by their names in JSON.
        encode: Converts such values, all or some of them, to JSON.
        is_open: Whether the record keeps values of other names too.
    """

    hint: Any
    attributes: Mapping[str, str]
    read: Callable[[Any], dict[str, Any]]
    encode: Callable[[Mapping[str, Any]], dict[str, Any]]
    is_open: bool = False


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """
    The JSON form of one Python type.

    Attributes:
        schema: The schema that a model sees, draft 2020-12.
        decode: Converts JSON that fits the schema to the Python value. A `ValueError` is reported as a problem of the
            call.
        encode: Converts the Python value to JSON. It raises `ValueError` or `TypeError` if the value is not of the
            type. An `InlineEncode` can also be written into generated code.
        type: The class of the decoded values, if there is one. Unions use it to choose a member.
        breadth: A rough measure of how much JSON the schema accepts: a `CodecRank`, and then values that compare
            codecs of that rank. In a union, the narrowest member wins.
        decisive: Whether `UNSURE` from the generated code means that plain JSON does not fit.
        hashable: Whether decoded values can be in a set.
        tags: For records, the fields that hold one of a few constants.
        choices: For a finite set of constants, those constants.
        members: For a union, its members. An outer union takes them as its own members.
        description: The text about the value in the annotation itself. It wins over a docstring.
        parts: For records, how they are taken apart.
        emit: Writes the generated check-and-convert code. Without it, jsonschema checks every call.
    """

    schema: Schema
    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    type: type | None = None
    breadth: tuple[Any, ...] = UNKNOWN_BREADTH
    decisive: bool = False
    hashable: bool = True
    tags: Mapping[str, frozenset[str]] | None = None
    choices: tuple[Any, ...] | None = None
    members: tuple[Codec, ...] = ()
    description: str | None = None
    parts: RecordParts | None = None
    emit: Callable[[CodeWriter, str], str] | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """Return the JSON types that the schema accepts; empty if the schema does not state them directly."""
        return frozenset(stated_types(self.schema))


_MAX_VARIANTS = 16
"""The most variants of one generic that may be nested in each other. Deeper nesting is taken for a mistake."""

Factory: TypeAlias = Callable[[Any, "HintReader"], Codec]


@record(frozen=True, slots=True)
class CodecRules:
    """
    The factories for a family of hints.

    Attributes:
        by_origin: The factory for a hint, by its origin (`list` for `list[int]`) or by the hint itself.
        by_predicate: The factories for all other hints. The first entry that recognises the hint is used.
        plain_codecs: The codecs of the plain hints that were read already, by their `plain_key`.
    """

    by_origin: Mapping[Any, Factory] = dataclass_field(default_factory=dict)
    by_predicate: Sequence[tuple[Callable[[Any], bool], Factory]] = ()
    plain_codecs: dict[Any, Codec] = dataclass_field(default_factory=dict, compare=False, repr=False)

    def read_hint(self, hint: Any, reader: HintReader) -> Codec:
        """Return the codec for *hint* by the first of these rules that fits."""
        try:
            factory = self.by_origin.get(hint if type(hint) is type else get_origin(hint) or hint)
        except TypeError:  # an unhashable object is used where a type should be
            factory = None
        if factory is not None:
            return factory(hint, reader)
        for recognises, factory in self.by_predicate:
            if recognises(hint):
                return factory(hint, reader)
        raise UnsendableType(
            f"{type_name(hint)} has no JSON form",
            "use a type that has one, annotate with `Annotated[..., Codec(...)]`, or call `register_codec` for it",
            is_unknown=True,
            hint=hint,
        )


def constant_factory(codec: Codec) -> Factory:
    """Return a factory for a hint that always means *codec*, in every reader."""
    return lambda hint, reader: codec


MAX_PROBLEMS = 100
"""
The most problems that decoding collects. A model corrects a few at a time, and writing messages takes longer than
decoding.
"""


class HintReader:
    """
    Turns the hints of one tool into codecs.

    A reader knows the rules for all families of types, the namespaces in which forward references are looked up, the
    types that type variables stand for, and the definitions (`$defs`) that were made so far.

    Attributes:
        for_output: Whether the hints are those of a return value. A record then has all the fields that its objects
            have, also those that its constructor does not take.
        encodes_exactly: Whether everything that the codecs encode fits their schemas without a further check.
        has_metadata: Whether limits or validators beside a type check what is encoded.
        omitted_members: The members of unions that were left out because they have no JSON form; None if a union has
            to be described with all its members.
    """

    def __init__(
        self,
        rules: CodecRules,
        global_names: Mapping[str, Any] | None = None,
        local_names: Mapping[str, Any] | None = None,
        *,
        for_output: bool = False,
    ) -> None:
        self._rules = rules
        self.for_output = for_output
        self.encodes_exactly, self.has_metadata = True, False
        self.local_names: Mapping[str, Any] = local_names or {}
        self.namespaces: list[Mapping[str, Any]] = [global_names or {}, self.local_names]
        self.variables: Mapping[Any, Any] = {}
        self.omitted_members: list[str] | None = None
        self.definitions: dict[str, Schema] = {}
        self._codecs_by_key: dict[Any, tuple[str, Codec | None]] = {}
        self._codecs_by_name: dict[str, Codec] = {}
        self._recursive_keys: set[Any] = set()
        self._failures: dict[Any, UnsendableType] = {}

    def codec(self, hint: Any) -> Codec:
        """Return the codec for *hint*, or raise `Undescribable` with advice on what to write instead."""
        if type(hint) is type or self.for_output or (key := plain_key(hint)) is None or has_registered_plain_class():
            return self.read_hint(hint)
        codec = self._rules.plain_codecs.get(key)
        if codec is None:
            try:
                # Another reader, because the codec holds its reader, and this one holds the names of a module.
                codec = HintReader(self._rules).read_hint(hint)
            except DefinitionError:
                return self.read_hint(hint)  # it may leave out members of a union
            if len(self._rules.plain_codecs) < MAX_PLAIN_CODECS:
                self._rules.plain_codecs[key] = codec
        return codec

    def read_hint(self, hint: Any) -> Codec:
        """Return the same as `codec`, which is made anew."""
        origin = hint if type(hint) is type else get_origin(hint) or hint
        try:
            factory = find_registered_factory(origin)
        except TypeError:  # an unhashable object is used where a type should be
            factory = None
        if factory is None:
            return self._rules.read_hint(hint, self)
        self.encodes_exactly = False
        codec: Codec = factory(hint, self)
        return codec

    def argument_codecs(self, hint: Any, *defaults: Any) -> tuple[Codec, ...]:
        """Return the codecs of the types in the brackets of *hint*. Without brackets, *defaults* are the types."""
        arguments = get_args(hint) or defaults
        if len(arguments) != len(defaults):
            raise Undescribable(
                f"{type_name(hint)}: {len(defaults)} should stand in its brackets, not {len(arguments)}"
            )
        return tuple(map(self.codec, arguments))

    def resolve(self, name: str | ForwardRef) -> Any:
        """Return the object that the forward reference *name* means in the current namespaces."""
        if not isinstance(name, str):
            return self._resolve_reference(name)
        try:
            return evaluate_annotation(name, self.namespaces)
        except NameError as error:
            raise Unresolved(error.name or name) from error
        except SyntaxError as error:
            raise Undescribable(f"the annotation {name!r} cannot be evaluated: {error}") from error
        except RecursionError:  # the type contains itself, which the caller says in its own words
            raise
        except Exception as error:  # a type checker may accept what the running program cannot evaluate
            raise UnsendableType(f"the annotation {name!r} cannot be evaluated: {error}") from error

    def _resolve_reference(self, reference: ForwardRef) -> Any:
        module = reference.__forward_module__
        if module is None:
            return self.resolve(reference.__forward_arg__)
        from .type_checking_names import bind_references, module_names  # few references name their module

        names = module_names(module)
        with self.in_scope(names):
            return bind_references(self.resolve(reference.__forward_arg__), names.get("__name__", ""))

    @contextmanager
    def in_scope(self, *namespaces: Mapping[str, Any], variables: Mapping[Any, Any] | None = None) -> Iterator[None]:
        """Read hints with the meaning that they have elsewhere. A class has its own module and type variables."""
        outer = self.namespaces, self.variables
        self.namespaces = [*outer[0], *namespaces]
        self.variables = outer[1] if variables is None else variables
        try:
            yield
        finally:
            self.namespaces, self.variables = outer

    def define_codec(self, key: Any, name: str, make: Callable[[], Codec], *, inline: bool = False) -> Codec:
        """
        Return the codec that *make* returns, and keep its schema as a definition called *name*.

        If this method is called for the same *key* while the codec is being made, it returns a reference. So a record
        can contain itself. With *inline*, the definition is kept only if such a reference was made.
        """
        try:
            hash(key)
        except TypeError:  # the metadata of an `Annotated` argument may be any object
            key = repr(key)
        if key in self._codecs_by_key:
            name, codec = self._codecs_by_key[key]
            return codec if codec is not None else self._build_reference(key, name)
        if key in self._failures:  # reading it again for every union that has it as a member could take for ever
            raise self._failures[key].with_traceback(None)
        if self._count_unfinished(key) > _MAX_VARIANTS:
            raise Undescribable(f"{name[:60]} contains itself with other arguments each time; give it the same ones")
        name = self.free_name(name)
        tables: tuple[dict[Any, Any], ...] = (self._codecs_by_key, self.definitions, self._codecs_by_name)
        sizes = [len(table) for table in tables]
        self._codecs_by_key[key] = (name, None)
        self.definitions[name] = {}
        try:
            codec = make()
        except BaseException as error:
            # What was made meanwhile may refer to this definition.
            for table, size in zip(tables, sizes, strict=True):
                for newcomer in list(table)[size:]:
                    del table[newcomer]
            if isinstance(error, UnsendableType):
                self._failures[key] = error
            raise
        if inline and key not in self._recursive_keys:
            del self.definitions[name]
        else:
            self.definitions[name] = codec.schema
            self._codecs_by_name[name] = codec = replace(codec, schema={"$ref": f"#/$defs/{name}"}, members=())
        self._codecs_by_key[key] = (name, codec)
        return codec

    def _count_unfinished(self, key: Any) -> int:
        """Count the definitions of the same generic class or alias that are being made."""
        unfinished = [other_key for other_key, (_, codec) in self._codecs_by_key.items() if codec is None]
        return sum(
            isinstance(key, tuple) and isinstance(other_key, tuple) and other_key[0] is key[0]
            for other_key in unfinished
        )

    def schema_of(self, codec: Codec) -> Schema:
        """Return the schema of *codec*, or the schema of the definition to which *codec* only refers."""
        reference = codec.schema.get("$ref")
        return self.definitions[reference.removeprefix("#/$defs/")] if reference else codec.schema

    def dereference(self, codec: Codec) -> Codec:
        """Return the finished codec to which *codec* refers, once its definition is complete, or *codec* itself."""
        reference = codec.schema.get("$ref", "")
        return self._codecs_by_name.get(reference.removeprefix("#/$defs/"), codec)

    def _build_reference(self, key: Any, name: str) -> Codec:
        self._recursive_keys.add(key)

        def target() -> Codec:
            codec = self._codecs_by_key[key][1]
            assert codec is not None, "a reference is used before its definition is complete"  # noqa: S101
            return codec

        return Codec(
            schema={"$ref": f"#/$defs/{name}"},
            decode=memoize_decode(lambda value: target().decode(value)),
            encode=InlineEncode(
                lambda value: target().encode(value), lambda writer, value: writer.call(key, target, value)
            ),
            breadth=(CodecRank.RECORD,),
            hashable=True,
            emit=lambda writer, value: writer.call(key, target, value),
        )

    def free_name(self, name: str) -> str:
        """Return *name*, or the first numbered form of it that no definition has."""
        free, number = name, 2
        while free in self.definitions:
            free, number = f"{name}_{number}", number + 1
        return free


_REFERENCE = lazy_pattern(r"ForwardRef\('([^']*)'[^)]*\)")


def type_name(hint: Any) -> str:
    """Return *hint* as its author wrote it, close enough for a message."""
    if isinstance(hint, type) and not get_args(hint):
        return hint.__qualname__
    try:
        return _REFERENCE.sub(r"\1", repr(hint).replace("typing.", ""))
    except Exception:  # noqa: BLE001 -- an object that is not a type may raise anything
        return f"a {type(hint).__name__}"
