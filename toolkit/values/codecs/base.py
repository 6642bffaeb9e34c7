"""
One type, three directions: its schema, decoding, encoding.

A `Codec` holds all three, so what a model is promised and what a function
receives cannot drift. A `Reader` turns annotations into codecs by two tables
that the sibling modules fill: `FORMS` by what stands before the brackets,
`KINDS` by a question asked of the hint.

Decoding is strict: it raises `Refusal` for every JSON value that its schema
refuses. That is what lets a union find the member a value was meant for.
"""

from __future__ import annotations

import builtins
import functools
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, TypeAlias, get_args, get_origin

from ...errors import DefinitionError, Problem
from ..strictjson.checks import show
from .code_writer import Writer
from .decode_cache import remembered

__all__ = [
    "FORMS",
    "KINDS",
    "MAX_PROBLEMS",
    "UNKNOWN",
    "Codec",
    "Reader",
    "Refusal",
    "Schema",
    "Undescribable",
    "Unresolved",
    "always",
    "below",
    "one_of",
    "told",
    "type_name",
]

Schema: TypeAlias = dict[str, Any]

UNKNOWN = (50,)
"""The breadth of a form about which nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """
    How one Python type looks in JSON.

    Attributes:
        schema: What a model is told, draft 2020-12.
        decode: From JSON that fits the schema to the Python value; a `ValueError` is a problem of the call.
        encode: From the Python value to JSON; a `ValueError` or `TypeError` if it is not of the type.
        type: The class the decoded values have, if there is one; unions choose by it.
        breadth: How much JSON the schema takes, roughly: in a union the narrowest member wins.
        decisive: Whether "don't know" from the generated code means "no" for plain JSON.
        hashable: Whether decoded values can be in a set.
        tags: For records, the fields that hold one of a few constants.
        choices: For a finite set of constants, those constants.
        members: For a union, its members; a union around it takes them for its own.
        description: What an annotation on the spot says about the value; it wins over a docstring.
        emit: Writes the generated check-and-convert code; without it jsonschema decides every call.
    """

    schema: Schema
    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    type: type | None = None
    breadth: tuple[Any, ...] = UNKNOWN
    decisive: bool = False
    hashable: bool = True
    tags: Mapping[str, frozenset[str]] | None = None
    choices: tuple[Any, ...] | None = None
    members: tuple[Codec, ...] = ()
    description: str | None = None
    emit: Callable[[Writer, str], str] | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that the schema takes; empty if that is not plain from it."""
        kind = self.schema.get("type", ())
        return frozenset((kind,) if isinstance(kind, str) else kind)


_MOST_VARIANTS = 16
"""Of one generic, inside one another; more are never meant."""

Factory: TypeAlias = Callable[[Any, "Reader"], Codec]

FORMS: dict[Any, Factory] = {}
"""What to do with a hint, by its origin (`list` for `list[int]`) or by the hint itself."""

KINDS: list[tuple[Callable[[Any], bool], Factory]] = []
"""What to do with any other hint: the first entry that recognises it."""


def always(codec: Codec) -> Factory:
    """What a table holds for a hint that means one codec, whoever reads it."""
    return lambda hint, reader: codec


MAX_PROBLEMS = 100
"""How many problems decoding collects. A model corrects a few at a time, and wording takes longer than decoding."""


class Refusal(ValueError):  # noqa: N818 -- named by what happens next
    """JSON that a codec cannot convert: every problem, with its path."""

    def __init__(self, *problems: Problem, wanted: str | None = None) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.wanted = wanted

    @classmethod
    def expected(cls, what: str, got: Any) -> Refusal:
        """The refusal of one value; a union puts what its members *wanted* into one sentence."""
        return cls(Problem(f"expected {what}, got {show(got)}"), wanted=what)

    def __str__(self) -> str:
        return "; ".join(map(str, self.problems))


def told(error: Exception) -> Sequence[Problem]:
    """The problems that *error* stands for: a codec's refusal, or whatever a constructor raised."""
    return error.problems if isinstance(error, Refusal) else [Problem(str(error)[:300] or type(error).__name__)]


def below(key: str | int, error: Exception) -> list[Problem]:
    """The problems that *error* stands for, seen from one level up."""
    return [problem.below(key) for problem in told(error)]


class Undescribable(DefinitionError):  # noqa: N818 -- named by what it says of the hint
    """A hint that has no JSON form; whoever knows the parameter's name adds it."""


class Unresolved(Exception):  # noqa: N818 -- a state to wait in, not an error yet
    """A forward reference to a name that is not defined yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Reader:
    """
    Reads the hints of one tool.

    Knows the namespaces in which forward references are looked up, what type
    variables stand for, and the definitions (`$defs`) that were made on the way.
    """

    def __init__(self, module: Mapping[str, Any] | None = None, local: Mapping[str, Any] | None = None) -> None:
        self.local: Mapping[str, Any] = local or {}
        self.namespaces: list[Mapping[str, Any]] = [module or {}, self.local]
        self.variables: Mapping[Any, Any] = {}
        self.definitions: dict[str, Schema] = {}
        self._named: dict[Any, tuple[str, Codec | None]] = {}
        self._finished: dict[str, Codec] = {}
        self._recursive: set[Any] = set()

    def codec(self, hint: Any) -> Codec:
        """The codec for *hint*, or `Undescribable` with what to write instead."""
        origin = get_origin(hint) or hint
        try:
            factory = FORMS.get(origin)
        except TypeError:  # an unhashable object where a type should be
            factory = None
        if factory is not None:
            return factory(hint, self)
        for recognises, factory in KINDS:
            if recognises(hint):
                return factory(hint, self)
        raise Undescribable(
            f"{type_name(hint)} has no JSON form; use a type that has one, "
            f"annotate with `Annotated[..., Codec(...)]`, or call `register_codec` for it"
        )

    def arguments(self, hint: Any, *defaults: Any) -> tuple[Codec, ...]:
        """Codecs for what stands in the brackets of *hint*, one for each of *defaults*; for these if it is bare."""
        arguments = get_args(hint) or defaults
        if len(arguments) != len(defaults):
            raise Undescribable(
                f"{type_name(hint)}: {len(defaults)} should stand in its brackets, not {len(arguments)}"
            )
        return tuple(map(self.codec, arguments))

    def resolve(self, name: str) -> Any:
        """What a forward reference means here."""
        if name.isidentifier():
            for namespace in reversed(self.namespaces):
                if name in namespace:
                    return namespace[name]
            if hasattr(builtins, name):
                return getattr(builtins, name)
        try:
            # A reference is the author's own source text, exactly what `typing.get_type_hints` evaluates.
            return eval(_parsed(name), {}, ChainMap(*reversed(self.namespaces)))  # noqa: S307
        except NameError as error:
            raise Unresolved(error.name or name) from error
        except Exception as error:
            raise Undescribable(f"the annotation {name!r} cannot be evaluated: {error}") from error

    @contextmanager
    def inside(self, *namespaces: Mapping[str, Any], variables: Mapping[Any, Any] | None = None) -> Iterator[None]:
        """Read hints as they are meant in another place: a class's own module, with its own type variables."""
        kept = self.namespaces, self.variables
        self.namespaces = [*kept[0], *namespaces]
        self.variables = kept[1] if variables is None else variables
        try:
            yield
        finally:
            self.namespaces, self.variables = kept

    def named(self, key: Any, name: str, make: Callable[[], Codec], *, inline: bool = False) -> Codec:
        """
        The codec made by *make*, kept as a definition called *name*.

        Asked again for the same *key* while it is being made, it answers with a
        reference: that is how records contain themselves. With *inline* there is
        no definition unless that happened.
        """
        try:
            hash(key)
        except TypeError:  # the metadata of an `Annotated` argument may be anything
            key = repr(key)
        if key in self._named:
            name, codec = self._named[key]
            return codec if codec is not None else self._reference(key, name)
        if self._same_under_way(key) > _MOST_VARIANTS:
            raise Undescribable(f"{name[:60]} contains itself with other arguments each time; give it the same ones")
        name = self.free_name(name)
        self._named[key] = (name, None)
        self.definitions[name] = {}
        try:
            codec = make()
        except BaseException:
            del self._named[key], self.definitions[name]
            raise
        if inline and key not in self._recursive:
            del self.definitions[name]
        else:
            self.definitions[name] = codec.schema
            self._finished[name] = codec = replace(codec, schema={"$ref": f"#/$defs/{name}"}, members=())
        self._named[key] = (name, codec)
        return codec

    def _same_under_way(self, key: Any) -> int:
        """How many definitions of the same generic class or alias are being made."""
        unfinished = [each for each, (_, codec) in self._named.items() if codec is None]
        return sum(isinstance(key, tuple) and isinstance(each, tuple) and each[0] is key[0] for each in unfinished)

    def definition(self, codec: Codec) -> Schema:
        """The schema itself, where *codec* only refers to a definition."""
        reference = codec.schema.get("$ref")
        return self.definitions[reference.removeprefix("#/$defs/")] if reference else codec.schema

    def complete(self, codec: Codec) -> Codec:
        """What *codec* refers to, with all that is known once the definition is there."""
        reference = codec.schema.get("$ref", "")
        return self._finished.get(reference.removeprefix("#/$defs/"), codec)

    def _reference(self, key: Any, name: str) -> Codec:
        self._recursive.add(key)

        def target() -> Codec:
            codec = self._named[key][1]
            assert codec is not None, "a reference is used before its definition is complete"  # noqa: S101
            return codec

        return Codec(
            schema={"$ref": f"#/$defs/{name}"},
            decode=remembered(lambda value: target().decode(value)),
            encode=lambda value: target().encode(value),
            breadth=(20,),
            hashable=True,
            emit=lambda writer, value: writer.call(key, target, value),
        )

    def free_name(self, name: str) -> str:
        """*name*, or the first numbered one that no definition has."""
        free, number = name, 2
        while free in self.definitions:
            free, number = f"{name}_{number}", number + 1
        return free


@functools.lru_cache(maxsize=1000)
def _parsed(annotation: str) -> CodeType:
    """The same few annotations stand on most parameters, and parsing one costs more than all else about it."""
    return compile(annotation.strip(), "<annotation>", "eval", dont_inherit=True)


def type_name(hint: Any) -> str:
    """*hint* as its author wrote it, near enough for a message."""
    if isinstance(hint, type) and not get_args(hint):
        return hint.__qualname__
    try:
        return repr(hint).replace("typing.", "")
    except Exception:  # noqa: BLE001 -- an object that is no type at all may do anything
        return f"a {type(hint).__name__}"


def one_of(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
