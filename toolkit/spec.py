"""
The `Tool`: a callable, its description for a model, and the facts about it.

`Tool.of(function)` returns the tool of a function. `tool.schema` is what a model sees, and `tool.check(arguments)` is
the check that a call has to pass. A tool is a value: to change it, make another tool.
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from ._plumbing.markdown import show_tool
from ._plumbing.records import record
from .errors import BadArgs, DefinitionError, Problem
from .facts import FactOptions, Facts, Options, build_facts, check_name, check_origin
from .functions.callables import (
    derive_name,
    find_call_method,
    get_qualname,
    makes_context_manager,
    subject_of,
    unwrap_function,
)
from .functions.namespaces import is_in_class_body

if TYPE_CHECKING:  # the first tool loads them, because reading signatures takes long to load
    from .functions.checker import Validation
    from .functions.description import Description
    from .functions.signature import Signature, Style
    from .functions.tool_definition import Definition
    from .values.codecs.base import Schema

__all__ = ["Tool", "get_attached_tool"]


@record(frozen=True, slots=True, weakref_slot=True, eq=False, kw_only=True)
class Tool:
    """
    A callable that a model may call.

    Attributes:
        name: The name by which a model calls the tool.
        function: The callable itself, unchanged.
        facts: The facts that its author stated.
        options: The options as they were given.
        origin: Where the tool comes from: "python", "mcp:SERVER", or "dist:NAME" for a discovered tool.
        original: The name that the tool had before it was renamed; None if it was not renamed.
        former: Every name and alias that the tool had before. Rules that forbid one of them still apply to the tool.
        resources: The values that `catalog.provided` gives to its `Inject` parameters.
        is_method: Whether the tool was decorated in a class body, so that a call needs an instance.
    """

    name: str
    function: Callable[..., Any]
    facts: Facts
    options: Options
    about: Description = field(repr=False)
    origin: str = "python"
    original: str | None = None
    former: tuple[str, ...] = ()
    resources: Mapping[type, Any] = field(default_factory=dict, repr=False)
    is_method: bool = False

    def __repr__(self) -> str:
        facts = [name for name in ("read_only", "destructive", "defer") if getattr(self.facts, name)]
        origin = [] if self.origin == "python" else [self.origin]
        return f"<Tool {', '.join([self.name, *facts, *origin])}>"

    _repr_markdown_ = show_tool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Tool:
        """Return the tool of *function*. If the function is not decorated, it is described now."""
        tool = get_attached_tool(function)
        if tool is None and inspect.ismethod(function):
            tool = get_attached_tool(function.__func__)
            if tool is not None and not tool.is_method:  # a decorated function that later became a method
                return cls.described(function, **tool.options)
        if tool is None:
            return cls.described(function)
        return tool.bound(function) if tool.is_method and not tool.takes_object(function) else tool

    @classmethod
    def described(cls, function: Any, **options: Unpack[Options]) -> Tool:
        """Return a new tool for *function* with *options*, ignoring a tool that is already attached to the function."""
        subject = subject_of(function)
        if find_call_method(function) is not None:
            from .functions.object_options import read_call_options  # nearly all tools are functions

            options = cast("Options", {**read_call_options(function), **options})
        is_method = is_in_class_body(function) or isinstance(function, (staticmethod, classmethod))
        if (not callable(function) and not is_method) or isinstance(function, type):
            kind = "a class" if isinstance(function, type) else f"{reprlib.repr(function)}, which cannot be called,"
            name_hint = f", or if that is its name write `name={function!r}`" if isinstance(function, str) else ""
            raise DefinitionError(
                f"{subject}: {kind} is not a tool; decorate a function, or add an instance to a catalog{name_hint}"
            )
        facts = build_facts(options, subject)
        name = check_name(options.get("name") or derive_name(function), subject)
        if not is_method and _is_loose_method(function):
            raise DefinitionError(
                f"{subject} is a method without its object; decorate it in the class, or bind it first"
                f"{_SINGLE_DISPATCH if hasattr(function, 'register') else ''}"
            )
        _refuse_context_manager(function)
        from .functions.description import add_streaming

        _check_thread(function, facts, subject)
        inner = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        unbound = _is_unbound(function) if is_method else False
        about = _describe(inner, name, facts, options, unbound=unbound, is_method=is_method)
        facts = add_streaming(facts, _find_style(function), about, options)
        return cls(name=name, function=function, facts=facts, options=options, about=about, is_method=is_method)

    @overload  # the first one tells a type checker what a lambda gets
    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str | None,
        schema: Mapping[str, Any],
        handler: Callable[[dict[str, Any]], Any],
        *,
        output_schema: Mapping[str, Any] | None = None,
        origin: str = "python",
        **options: Unpack[FactOptions],
    ) -> Tool: ...
    @overload
    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str | None,
        schema: Mapping[str, Any],
        handler: Callable[..., Any],
        *,
        output_schema: Mapping[str, Any] | None = None,
        origin: str = "python",
        **options: Unpack[FactOptions],
    ) -> Tool: ...
    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str | None,
        schema: Mapping[str, Any],
        handler: Callable[..., Any],
        *,
        output_schema: Mapping[str, Any] | None = None,
        origin: str = "python",
        **options: Unpack[FactOptions],
    ) -> Tool:
        """
        Return a tool made from a hand-written schema and a *handler* that takes the whole JSON object.

        Further parameters of the handler have to be annotated `Context` or `Inject[T]`, or have a default. A value that
        *output_schema* does not allow is a failed call. Rules such as `allow mcp:github/search_*` name the *origin*.
        """
        subject = f"tool `{name}`"
        text = None if isinstance(description, str) and not description.strip() else description
        facts = build_facts({**options, "description": text}, subject)
        if unusable := options.keys() & {"hidden", "inject", "flat", "parameters"}:
            raise DefinitionError(
                f"{subject}: `{min(unusable)}` is about parameters, but a handler gets all arguments as one object; "
                f"say it in the schema instead"
            )
        check_name(name, subject)
        check_origin(origin, subject)
        if not callable(handler) or isinstance(handler, type):
            raise DefinitionError(f"{subject}: the handler has to be a function, got {reprlib.repr(handler)}")
        _refuse_context_manager(handler, f"{subject}: ")
        _check_thread(handler, facts, subject)
        from .functions.description import add_streaming
        from .functions.handlers import HandlerDescription

        about = HandlerDescription(
            handler,
            name=name,
            text=text,
            schema=schema,
            output_schema=output_schema,
            examples=facts.examples,
            background=facts.background,
            is_foreign=origin != "python",
        )
        facts = add_streaming(facts, about.signature.style, about, options)
        own_options = cast("Options", options)
        return cls(name=name, function=handler, facts=facts, options=own_options, about=about, origin=origin)

    def bound(self, function: Callable[..., Any]) -> Tool:
        """
        Return this tool, a method decorated in a class body, for *function*.

        *function* is the same method as the object provides it.
        """
        about = self.about
        is_documented = bool(self.options.get("description") or about.docstring.description)
        if about.unbound is not inspect.ismethod(function) or not is_documented:
            about = _describe(function, self.name, self.facts, self.options)
        return replace(self, function=function, about=about, is_method=False)

    def takes_object(self, function: Callable[..., Any]) -> bool:
        """Return whether *function*, which this tool describes, still needs the object that it is a method of."""
        return self.is_method and bool(self.about.unbound) and not inspect.ismethod(function)

    @property
    def description(self) -> str:
        """The description of the tool for a model."""
        return self.about.text

    @property
    def schema(self) -> Schema:
        """The JSON Schema of the arguments, draft 2020-12."""
        return self.about.schemas[0]

    @property
    def output_schema(self) -> Schema | None:
        """The JSON Schema of the return value; None if the return annotation says nothing usable."""
        return self.about.schemas[1]

    @property
    def signature(self) -> Signature:
        """How the tool is called: its codecs, and the values that have to be injected."""
        return self.about.signature

    @property
    def definition(self) -> Definition:
        """All data that a provider needs, as plain JSON."""
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
        Return the decoded arguments, with defaults filled in.

        *arguments* is a JSON object or JSON text.

        Raises:
            BadArgs: The arguments do not fit. The error lists every problem, and none of them contains the value of a
                parameter marked `Secret`.
        """
        decoded = self._decode_arguments(arguments, validation)
        if self.facts.validate is not None:
            from .functions.checker import run_custom_validator

            problems = run_custom_validator(self.facts.validate, dict(decoded), wait=False)
            if problems:
                raise self._build_refusal(BadArgs(cast("list[Problem]", problems)), arguments, decoded)
        return decoded

    async def check_async(
        self, arguments: Mapping[str, Any] | str | bytes, *, validation: Validation = "fast"
    ) -> dict[str, Any]:
        """Return the same as `check`, for a tool whose `validate` may be async."""
        decoded = self._decode_arguments(arguments, validation)
        if self.facts.validate is not None:
            from .functions.checker import run_custom_validator

            findings = run_custom_validator(self.facts.validate, dict(decoded), wait=True)
            problems = findings if isinstance(findings, list) else await findings
            if problems:
                raise self._build_refusal(BadArgs(problems), arguments, decoded)
        return decoded

    def _decode_arguments(self, arguments: Any, validation: Validation) -> dict[str, Any]:
        try:
            return self.about.checker.check(arguments, validation)
        except BadArgs as error:
            refusal = self._build_refusal(error, arguments)
        # Raised outside the `except` block, because otherwise the error with the secret would become its context.
        raise refusal

    def _build_refusal(self, error: BadArgs, *arguments: Any) -> BadArgs:
        """
        Return *error* itself if the tool has no parameters marked `Secret`.

        Otherwise return another error that quotes no secret.
        """
        from .policies.redaction import without_secrets

        secrets = self.signature.secrets
        return without_secrets(error, secrets, *arguments) if secrets else error

    def encode(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return Python arguments in their JSON form, as a model would have sent them."""
        encoded: dict[str, Any] = self.signature.codec.encode(arguments)
        return encoded

    def renamed(self, name: str) -> Tool:
        """
        Return a second tool under another name, which knows its original name.

        An alias is the simpler way to give a tool another name.
        """
        return replace(
            self,
            name=check_name(name, f"tool `{self.name}`"),
            facts=replace(self.facts, aliases=()),
            original=self.original or self.name,
            former=tuple(dict.fromkeys((*self.former, self.name, *self.facts.aliases))),
        )


def get_attached_tool(function: Any) -> Tool | None:
    """
    Return the tool attached to *function* itself, or None.

    A wrapper may copy the attribute from the function that it wraps; such a copy does not count.
    """
    try:
        tool = getattr(function, "__tool__", None)
    except Exception:  # noqa: BLE001 -- a proxy object may raise any exception when its attributes are read
        return None
    return tool if isinstance(tool, Tool) and tool.function is function else None


def _describe(function: Any, name: str, facts: Facts, options: Options, **binding: Any) -> Description:
    """Return the description of *function*; *binding* says whether it is a method, and needs its object."""
    from .functions.description import Description
    from .functions.unsent_parameters import ParameterOptions

    return Description(
        function,
        name=name,
        text=options.get("description"),
        describe=options.get("describe"),
        schema=options.get("schema"),
        examples=facts.examples,
        parameter_options=ParameterOptions.from_options(options),
        background=facts.background,
        **binding,
    )


def _find_style(function: Any) -> Style:
    from .functions.signature import style_of

    return style_of(function.__func__ if isinstance(function, (staticmethod, classmethod)) else function)


def _is_unbound(function: Any) -> bool | None:
    """
    Return whether the first parameter of a function in a class body is the object.

    Return None if this is known only once the class exists.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return isinstance(function, classmethod)
    code: Any = getattr(unwrap_function(function), "__code__", None)
    if code is None or not code.co_argcount or isinstance(function, functools.partial):
        return False
    # The next decorator may still be `staticmethod`. One of these parameter names shows that it is not.
    return True if code.co_varnames[0] in ("self", "cls", "mcs") else None


def _refuse_context_manager(function: Any, place: str = "") -> None:
    if makes_context_manager(function):
        raise DefinitionError(
            f"{place}{subject_of(function)}: a function that returns a context manager, which a model cannot enter, "
            f"is not a tool: use it in a function of your own (`with ...: return ...`), or give it as a resource for "
            f"`Inject[T]`"
        )


def _check_thread(function: Any, facts: Facts, subject: str) -> None:
    if facts.thread == "caller" and _find_style(function).startswith("async"):
        raise DefinitionError(
            f'{subject}: `thread="caller"` is for sync functions, and an async function runs on the event loop; '
            f"leave the option out, or write the function without `async`"
        )
    if facts.background and facts.thread is not True and not _find_style(function).startswith("async"):
        where = "the thread of its caller" if facts.thread == "caller" else "the event loop"
        raise DefinitionError(
            f"{subject}: `background=True` and `thread={facts.thread!r}` exclude each other, because a sync function "
            f"that runs in {where} holds up its caller until it ends; leave one of them out"
        )


_SINGLE_DISPATCH = (
    "; a `singledispatchmethod` does not say which object it is bound to, so write a method that calls it"
)


def _is_loose_method(function: Any) -> bool:
    owner = get_qualname(function).rpartition(".")[0]
    return (
        inspect.isfunction(function) and bool(owner) and not owner.endswith("<locals>") and bool(_is_unbound(function))
    )
