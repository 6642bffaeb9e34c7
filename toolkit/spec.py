"""
A tool: a callable, what a model is told of it, and the facts about it.

`Tool.of(function)` is the way to it, `tool.schema` what a model sees,
`tool.check(arguments)` what a call has to pass. A tool is a value: it is
changed by making another.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from typing_extensions import TypedDict, Unpack

from .codecs import Schema
from .describe import Description, Handled, subject_of
from .errors import BadArgs, DefinitionError
from .facts import FactOptions, Facts, Options, check_name, stated
from .scope import is_in_class_body, underlying
from .signature import Signature
from .validation import Validation, objections

__all__ = ["Definition", "Tool", "attached"]


class Definition(TypedDict):
    """A tool as any provider can be told of it: plain JSON."""

    name: str
    description: str
    input_schema: Schema
    output_schema: Schema | None
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tool:
    """
    A callable that a model may ask for.

    Attributes:
        name: What a model calls it.
        function: The callable itself, untouched.
        facts: What its author stated.
        options: The options as they were given.
        origin: Where it comes from: "python", or e.g. "dist:NAME" for a discovered one.
        original: The name it had before it was renamed; None if it was not.
        resources: What `catalog.provided` gives to its `Inject` parameters.
        is_method: Whether it was decorated in a class body: it takes an instance to be called.
    """

    name: str
    function: Callable[..., Any]
    facts: Facts
    options: Options
    about: Description = field(repr=False)
    origin: str = "python"
    original: str | None = None
    resources: Mapping[type, Any] = field(default_factory=dict, repr=False)
    is_method: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Tool:
        """The tool that *function* is; described now if nobody has decorated it."""
        found = attached(function)
        if found is not None:
            return found
        plain = attached(underlying(function)) if inspect.ismethod(function) else None
        return cls.described(function, **(plain.options if plain is not None else {}))

    @classmethod
    def described(cls, function: Any, **options: Unpack[Options]) -> Tool:
        """A new tool for *function* with *options*; what someone else attached to the function is not looked at."""
        subject = subject_of(function)
        in_class = is_in_class_body(function) or isinstance(function, (staticmethod, classmethod))
        if (not callable(function) and not in_class) or isinstance(function, type):
            what = "a class" if isinstance(function, type) else f"{function!r}, which cannot be called,"
            raise DefinitionError(
                f"{subject}: {what} is not a tool; decorate a function, or add an instance to a catalog"
            )
        facts = stated(options, subject)
        name = check_name(options.get("name") or _own_name(function), subject)
        unbound = in_class and _takes_self(function)
        if not in_class and _is_loose_method(function):
            raise DefinitionError(
                f"{subject} is a method without its object; decorate it in the class, or bind it first"
            )
        about = Description(
            function.__func__ if isinstance(function, (staticmethod, classmethod)) else function,
            name=name,
            text=options.get("description"),
            schema=options.get("schema"),
            examples=facts.examples,
            unbound=unbound,
        )
        return cls(name=name, function=function, facts=facts, options=options, about=about, is_method=in_class)

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        handler: Callable[[dict[str, Any]], Any],
        **options: Unpack[FactOptions],
    ) -> Tool:
        """A tool from a hand-written schema and a *handler* that takes the whole JSON object."""
        subject = f"tool `{name}`"
        facts = stated({**options, "description": description}, subject)
        check_name(name, subject)
        if not callable(handler):
            raise DefinitionError(f"{subject}: the handler has to be a function, got {handler!r}")
        about = Handled(handler, name=name, text=description, schema=schema)
        tool = cls(name=name, function=handler, facts=facts, options=cast("Options", options), about=about)
        for example in facts.examples:
            try:
                about.checker.check(dict(example))
            except BadArgs as error:
                raise DefinitionError(f"{subject}: an example does not fit the schema: {error}") from error
        return tool

    @property
    def description(self) -> str:
        """What a model is told it does."""
        return self.about.text

    @property
    def schema(self) -> Schema:
        """What its arguments have to be, draft 2020-12."""
        return self.about.schemas[0]

    @property
    def output_schema(self) -> Schema | None:
        """What it returns; None if its return annotation says nothing usable."""
        return self.about.schemas[1]

    @property
    def signature(self) -> Signature:
        """How it is called: codecs, and what it wants to be given."""
        return self.about.signature

    @property
    def definition(self) -> Definition:
        """Everything a provider needs, as plain JSON."""
        input_schema, output_schema = self.about.schemas
        return {
            "name": self.name,
            "description": self.about.text,
            "input_schema": input_schema,
            "output_schema": output_schema,
            "facts": self.facts.as_json(),
        }

    def check(self, arguments: Mapping[str, Any] | str | bytes, *, validation: Validation = "fast") -> dict[str, Any]:
        """
        The decoded arguments, defaults filled in.

        *arguments* is a JSON object or JSON text. Raises `BadArgs` with every problem.
        """
        decoded = self.about.checker.check(arguments, validation)
        if self.facts.validate is not None:
            found = objections(self.facts.validate, decoded)
            if not isinstance(found, list):
                found.close()  # type: ignore[attr-defined]  # a coroutine of ours
                raise DefinitionError(f"tool `{self.name}`: its `validate` is async; use `await tool.check_async(...)`")
            if found:
                raise BadArgs(found)
        return decoded

    async def check_async(
        self, arguments: Mapping[str, Any] | str | bytes, *, validation: Validation = "fast"
    ) -> dict[str, Any]:
        """The same as `check`, for a tool whose `validate` may be async."""
        decoded = self.about.checker.check(arguments, validation)
        if self.facts.validate is not None:
            found = objections(self.facts.validate, decoded)
            problems = found if isinstance(found, list) else await found
            if problems:
                raise BadArgs(problems)
        return decoded

    def encode(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Python arguments in their JSON form: what a model would have sent."""
        encoded: dict[str, Any] = self.signature.codec.encode(arguments)
        return encoded

    def renamed(self, name: str) -> Tool:
        """A second tool under another name, which knows its original. An alias is the lighter way."""
        facts = replace(self.facts, aliases=())
        return replace(
            self, name=check_name(name, f"tool `{self.name}`"), facts=facts, original=self.original or self.name
        )


def attached(function: Any) -> Tool | None:
    """The tool that is on *function* itself; a wrapper's copy of someone else's does not count."""
    found = getattr(function, "__tool__", None)
    return found if isinstance(found, Tool) and found.function is function else None


def _own_name(function: Any) -> str:
    plain = function
    while not hasattr(plain, "__name__") and hasattr(plain, "func"):  # a partial has the name of what it calls
        plain = plain.func
    name = getattr(plain, "__name__", None)
    if name is None and isinstance(function, (staticmethod, classmethod)):
        name = function.__func__.__name__
    if name is None:  # a callable object is called what its class is called
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in type(plain).__name__)
        name = name.lstrip("_")
    return str(name)


def _takes_self(function: Any) -> bool:
    if isinstance(function, (staticmethod, classmethod)):
        return isinstance(function, classmethod)
    # In a class body nobody knows yet what the next decorator makes of it; the first name tells.
    code: Any = getattr(underlying(function), "__code__", None)
    return code is not None and code.co_argcount > 0 and code.co_varnames[0] in ("self", "cls", "mcs")


def _is_loose_method(function: Any) -> bool:
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return inspect.isfunction(function) and bool(owner) and not owner.endswith("<locals>") and _takes_self(function)
