"""
The facts that an author states about a tool.

The options of `@tool` are facts. The package acts on each of them and does not merely store it. They are checked where
they are given. Policies (retries, permissions, limits for all tools) belong to the dispatcher.
"""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from ._lazy_names import LazyModule, lazy_pattern
from ._plumbing.records import record
from .errors import DefinitionError, Problem, find_nearest

if TYPE_CHECKING:
    import decimal
else:  # few tools cost money
    decimal = LazyModule("decimal")

__all__ = [
    "FACT_NAMES",
    "OPTION_NAMES",
    "Arguments",
    "Dollars",
    "FactOptions",
    "Facts",
    "Options",
    "bind_call",
    "build_facts",
    "check_name",
    "check_origin",
    "fits_fact",
    "has_parameter",
    "is_amount",
]

Arguments: TypeAlias = Mapping[str, Any]
"""Decoded arguments with defaults filled in. Every function given as an option receives them."""

ValidationAnswer: TypeAlias = "bool | str | Problem | Mapping[str, str] | Iterable[str | Problem] | None"

Dollars: TypeAlias = "float | decimal.Decimal"
"""An amount of money, in US dollars."""

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_NAME_RULE = "at most 64 of A-Z a-z 0-9 _ - . that start with a letter or _"
# What the rule `mcp:github/*` has before its slash. A rule `group:...` names a group.
_ORIGIN = lazy_pattern(r"(?!group:)[^\s()*?]{1,200}(?<!/)")


class FactOptions(TypedDict, total=False):
    """
    The facts that an author can state about a tool, all by keyword.

    read_only: The tool changes nothing. It runs in plan mode, beside other calls, and may be cached.
    destructive: The tool does what cannot be undone. It asks even in auto mode, and is never re-run.
    idempotent: The tool may be re-run after a failure that leaves its effect in doubt; `read_only` unless stated.
    concurrency_safe: The tool may run beside others. A bool or a function of the arguments; `read_only` unless stated.
    open_world: The tool reaches outside, so it asks unless a rule names the destination.
    defer: The tool stays out of the definitions until a search finds it.
    search_hint: Words by which a search should find the tool.
    aliases: Other names that the tool can be called by; never listed.
    group: The group that the tool belongs to. Rules and searches can name it.
    approval: "never", "always", or a function of the arguments that returns whether a person must agree, or why.
    preflight: A function that returns what the call is about to touch. It gets the arguments, and also `call` and
        `permissions` if it has parameters of these names.
    preview: A function that returns what a person is shown before they agree. It gets the arguments, and also `call`
        if it has a parameter of that name.
    cost: What one call costs, in US dollars: a number, or a function of the arguments. Budgets count it, rules can
        compare it, and a person who is asked sees it.
    timeout_seconds: How long one attempt may take.
    max_chars: How many characters the text of a result may have.
    max_bytes: How many bytes the text of a result may have as UTF-8. The smaller of the two limits counts.
    thread: Where a sync function runs. True: in a thread of the dispatcher. False: on the event loop. "caller": in the
        thread that waits in `call_sync` or another sync method; on the event loop if the call is awaited.
    background: The tool may be started in the background. It gets a parameter `background`; a call that sets it
        returns the name of a job at once, and `job_output` and `job_stop` read and end the job.
    streaming: The tool yields values while it runs, and `on_progress` gets each; true of a generator function unless
        stated. False collects the values and reports none.
    validate: A function of the arguments that returns or raises the problems with them.
    examples: Arguments as a model should send them. They are checked.
    summary: A function of the arguments that returns the call in a few words, for people.
    activity: What the tool is doing while it runs, for people; a text, or a function of the arguments.
    version: The author's version of the tool.
    metadata: Any other data. It is stored with the tool.
    """

    read_only: bool
    destructive: bool
    idempotent: bool
    concurrency_safe: bool | Callable[[Arguments], bool | Awaitable[bool]]
    open_world: bool
    defer: bool
    search_hint: str
    aliases: Sequence[str]
    group: str
    approval: Literal["never", "always"] | Callable[[Arguments], bool | str | Awaitable[bool | str]]
    preflight: Callable[[Arguments], Any]
    preview: Callable[[Arguments], Any]
    cost: Dollars | Callable[[Arguments], Dollars | Awaitable[Dollars]]
    timeout_seconds: float
    max_chars: int
    max_bytes: int
    thread: bool | Literal["caller"]
    background: bool
    streaming: bool
    validate: Callable[[Arguments], ValidationAnswer | Awaitable[ValidationAnswer]]
    examples: Sequence[Mapping[str, Any]]
    summary: Callable[[Arguments], str]
    activity: str | Callable[[Arguments], str]
    version: str
    metadata: Mapping[str, Any]


class Options(FactOptions, total=False):
    """
    The options of `@tool`: the facts, and values that are otherwise read from the function.

    name: The name by which a model calls the tool; the function's name unless stated.
    description: What the tool does; the prose of the docstring unless stated.
    describe: "prose", or "full" to add what the docstring says in `Returns:` and `Raises:`; "prose" unless stated.
    schema: A hand-written schema of the arguments, draft 2020-12.
    hidden: The parameters that the model does not see. Each keeps its default.
    inject: The type of each parameter that is filled from the resources of a call, as `Inject[...]` does.
    flat: The function has one parameter that the model sends, a record, and the fields of the record are the arguments.
    parameters: What the model is told about each parameter that the function does not describe, or describes badly.
    """

    name: str
    description: str
    describe: Literal["prose", "full"]
    schema: Mapping[str, Any]
    hidden: Sequence[str]
    inject: Mapping[str, Any]
    flat: bool
    parameters: Mapping[str, str]


@record(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts stated about a tool, with defaults filled in. `FactOptions` explains each of them."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    concurrency_safe: bool | Callable[[Arguments], bool | Awaitable[bool]] = False
    open_world: bool = False
    defer: bool = False
    search_hint: str | None = None
    aliases: tuple[str, ...] = ()
    group: str | None = None
    approval: Literal["never", "always"] | Callable[[Arguments], bool | str | Awaitable[bool | str]] = "never"
    preflight: Callable[[Arguments], Any] | None = None
    preview: Callable[[Arguments], Any] | None = None
    cost: Dollars | Callable[[Arguments], Dollars | Awaitable[Dollars]] | None = None
    timeout_seconds: float | None = None
    max_chars: int | None = None
    max_bytes: int | None = None
    thread: bool | Literal["caller"] = True
    background: bool = False
    streaming: bool = False
    validate: Callable[[Arguments], Any] | None = None
    examples: tuple[Mapping[str, Any], ...] = ()
    summary: Callable[[Arguments], str] | None = None
    activity: str | Callable[[Arguments], str] | None = None
    version: str | None = None
    metadata: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """
        Return facts as JSON data.

        These are the five facts that rules use (`read_only`, `destructive`, `idempotent`, `open_world`, `defer`);
        `background` and `streaming` if they hold; and, if stated, the aliases, the group, the search hint, the version
        and the cost, which is "by arguments" if a function says it.
        """
        always = ("read_only", "destructive", "idempotent", "open_world", "defer")
        stated = ("background", "streaming", "aliases", "group", "search_hint", "version")
        data = {name: getattr(self, name) for name in always}
        data |= {name: value for name in stated if (value := getattr(self, name))}
        if self.aliases:
            data["aliases"] = list(self.aliases)
        if self.cost is not None:
            data["cost"] = "by arguments" if callable(self.cost) else float(self.cost)
        return data


def bind_call(function: Callable[..., Any], call: Any) -> Callable[..., Any]:
    """Return *function*, an option of a tool, with *call* filled in if it has a parameter of the name `call`."""
    return functools.partial(function, call=call) if has_parameter(function, "call") else function


def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Return whether *function*, an option of a tool, has a parameter of this *name* that is not filled in yet."""
    filled = 0
    while isinstance(function, functools.partial):
        if name in function.keywords:
            return False
        filled += len(function.args)
        function = function.func
    code = getattr(function, "__code__", None)
    return code is not None and name in code.co_varnames[filled : code.co_argcount + code.co_kwonlyargcount]


def check_name(name: object, subject: str) -> str:
    """Return *name* if models and people can call a tool by it, and raise `DefinitionError` otherwise."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DefinitionError(
            f"{subject}: {_short_repr(name)} cannot be a tool's name; give one with `name=`: {_NAME_RULE}"
        )
    return name


def check_origin(origin: object, subject: str) -> str:
    """Return *origin* if a rule can name it, and raise `DefinitionError` otherwise."""
    if not isinstance(origin, str) or _ORIGIN.fullmatch(origin) is None or not origin.isprintable():
        raise DefinitionError(
            f"{subject}: {_short_repr(origin)} cannot be a tool's origin, because no rule could name it; give one such "
            'as "mcp:github", without spaces, parentheses, `*` and `?`, of at most 200 characters'
        )
    return origin


def is_amount(value: object) -> bool:
    """Return whether *value* is an amount of money: a finite number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
        return False
    try:
        return 0 <= float(value) < float("inf")
    except (OverflowError, ValueError):  # an integer that is too large, a signalling NaN
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, kind) for item in value)
    )


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("read_only", "destructive", "idempotent", "open_world", "defer", "background", "streaming", "flat"),
        (lambda value: isinstance(value, bool), "True or False"),
    ),
    "thread": (
        lambda value: isinstance(value, bool) or (isinstance(value, str) and value == "caller"),
        'True, False or "caller"',
    ),
    "concurrency_safe": (
        lambda value: isinstance(value, bool) or callable(value),
        "True, False or a function of the arguments",
    ),
    "approval": (
        lambda value: callable(value) or (isinstance(value, str) and value in ("never", "always")),
        '"never", "always" or a function of the arguments',
    ),
    **dict.fromkeys(("preflight", "preview", "validate", "summary"), (callable, "a function of the arguments")),
    "activity": (lambda value: _is_text(value) or callable(value), "a text or a function of the arguments"),
    **dict.fromkeys(("search_hint", "group", "version", "name", "description"), (_is_text, "a text that is not empty")),
    "cost": (
        lambda value: callable(value) or is_amount(value),
        "a number of US dollars, 0 or more, or a function of the arguments",
    ),
    "timeout_seconds": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf"),
        "a number of seconds above 0",
    ),
    **dict.fromkeys(
        ("max_chars", "max_bytes"),
        (
            lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
            "a whole number above 0",
        ),
    ),
    "aliases": (_is_list_of(str), "a list of names"),
    "examples": (_is_list_of(Mapping), "a list of dictionaries"),
    "describe": (lambda value: isinstance(value, str) and value in ("prose", "full"), '"prose" or "full"'),
    "schema": (lambda value: isinstance(value, Mapping), "a dictionary"),
    "metadata": (lambda value: isinstance(value, Mapping), "a dictionary"),
    "hidden": (_is_list_of(str), "a list of names of parameters"),
    "inject": (
        lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
        "a dictionary of names of parameters and types",
    ),
    "parameters": (
        lambda value: (
            isinstance(value, Mapping) and all(isinstance(key, str) and _is_text(value[key]) for key in value)
        ),
        "a dictionary of names of parameters and their descriptions; a schema of your own is `schema`",
    ),
}

_OTHER_WORDS = {
    **dict.fromkeys(("retries", "max_retries", "retry"), "a policy belongs to `Dispatcher(retry=RetryPolicy(...))`"),
    **dict.fromkeys(("name_override", "tool_name"), "the name is `name`"),
    "description_override": "the description is `description`",
    **dict.fromkeys(("requires_approval", "needs_approval"), 'write `approval="always"`'),
    **dict.fromkeys(("args_schema", "input_schema"), "a schema of your own is `schema`"),
    "defer_loading": "write `defer=True`",
}
"""What other libraries call an option of a tool, and what to write here."""

FACT_NAMES = frozenset(field.name for field in fields(Facts))
OPTION_NAMES = frozenset(_CHECKS)


def build_facts(options: Mapping[str, Any], subject: str) -> Facts:
    """Return the facts in *options*, or raise one `DefinitionError` that reports every mistake."""
    # A caller that passes options on writes None for "not stated".
    options = {name: value for name, value in options.items() if value is not None}
    mistakes = [mistake for name, value in options.items() if (mistake := _find_mistake(name, value))]
    if options.get("read_only") is True and options.get("destructive") is True:
        mistakes.append("a tool cannot be both `read_only` and `destructive`; state the one that is true")
    if mistakes:
        separator = "; " if sum(map(len, mistakes)) < 400 else ";\n"  # a line that is too long loses its middle
        raise DefinitionError(f"{subject}: {separator.join(mistakes)}")
    values = {name: value for name, value in options.items() if name in FACT_NAMES}
    read_only = values.get("read_only", False)
    values.setdefault("idempotent", read_only)
    values.setdefault("concurrency_safe", read_only)
    for name in ("aliases", "examples"):
        values[name] = tuple(values.get(name, ()))
    return Facts(**values)


def fits_fact(name: str, value: Any) -> bool:
    """Return whether *value* has a type that the fact *name* may have."""
    return bool(_CHECKS[name][0](value))


def _find_mistake(name: str, value: Any) -> str | None:
    if name in _OTHER_WORDS:
        return f"unknown option `{name}`; {_OTHER_WORDS[name]}"
    if name not in _CHECKS:
        near = find_nearest(name, _CHECKS, max_items=1)
        names = f"the options are {', '.join(sorted(_CHECKS))}; data of your own goes into `metadata={{...}}`"
        remedy = f"did you mean `{near[0]}`?" if near else names
        return f"unknown option `{name}`; {remedy}"
    fits, expected = _CHECKS[name]
    if not fits(value):
        return f"`{name}` has to be {expected}, got {_short_repr(value)}"
    unfit = [alias for alias in value if _NAME.fullmatch(alias) is None] if name == "aliases" else []
    return f"`aliases`: {_short_repr(unfit[0])} cannot be a tool's name: {_NAME_RULE}" if unfit else None


def _short_repr(value: object) -> str:
    # `reprlib` cuts the text and never raises, which matters because the value can be any object.
    return reprlib.repr(value)
