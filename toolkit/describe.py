"""
What can be read from a callable: its text, its schema, its way of being called.

Reading happens at decoration, so that mistakes show where they were made.
Only an annotation that names something not defined yet waits: for the first
use, or for `finish`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .codecs import Codec, Schema, Unresolved, plain_emitter
from .docstrings import parse, words
from .errors import BadArgs, DefinitionError, ToolkitWarning
from .jsonschemas import check_schema
from .scope import Scope, underlying
from .signature import Signature, read_signature, style_of
from .validation import Checker

__all__ = ["Description", "Handled", "place_of", "subject_of"]


class Description:
    """What is known of one function; shared by all tools that stand for it."""

    __slots__ = (
        "_checker",
        "_examples",
        "_schema",
        "_scope",
        "_shown",
        "_signature",
        "docstring",
        "subject",
        "text",
        "unbound",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        text: str | None = None,
        schema: Mapping[str, Any] | None = None,
        examples: Sequence[Mapping[str, Any]] = (),
        unbound: bool = False,
    ) -> None:
        self.subject = subject_of(function)
        self.docstring = parse(_documentation(function))
        self.text = text or self.docstring.description or _named_only(function, name)
        self.unbound = unbound
        self._schema = None if schema is None else _own_copy(schema, self.subject)
        self._examples = examples
        self._scope: Scope | None = Scope(function)
        self._signature: Signature | None = None
        self._checker: Checker | None = None
        self._shown: tuple[Schema, Schema | None] | None = None
        try:
            self._read(function, self._scope)
        except Unresolved:
            self._scope.waits_for = function

    @property
    def signature(self) -> Signature:
        """The finished reading; `DefinitionError` if an annotation still names what is not defined."""
        if self._signature is None:
            scope = self._scope
            assert scope is not None  # noqa: S101 -- kept until the signature is there
            try:
                return self._read(scope.waits_for, scope)
            except Unresolved as missing:
                raise DefinitionError(
                    f"{self.subject}: an annotation names `{missing.name}`, which is not defined; "
                    f"define or import it before the tool is used (not only under TYPE_CHECKING)"
                ) from None
        return self._signature

    @property
    def schemas(self) -> tuple[Schema, Schema | None]:
        """Input and output schema to show; what the checks use is kept apart, so that nobody can change it."""
        if self._shown is None:
            signature = self.signature
            self._shown = copy.deepcopy(signature.schema), copy.deepcopy(signature.output_schema)
        return self._shown

    @property
    def checker(self) -> Checker:
        """What checks the arguments; kept, and so is what it generates."""
        if self._checker is None:
            signature = self.signature
            self._checker = Checker(self.subject, signature.schema, signature.codec)
        return self._checker

    def _read(self, function: Any, scope: Scope) -> Signature:
        signature = read_signature(function, self.docstring, scope, subject=self.subject, unbound=self.unbound)
        if self._schema is not None:
            signature = _enforcing(signature, self._schema, self.subject)
        self._signature = signature
        self._scope = None
        for example in self._examples:
            try:
                self.checker.check(dict(example))
            except BadArgs as error:
                self._signature = None
                self._scope = scope
                raise DefinitionError(f"{self.subject}: an example does not fit the schema: {error}") from error
        return signature


class Handled(Description):
    """A schema and a handler that takes the whole JSON object: nothing to read, the same path to take."""

    __slots__ = ()

    def __init__(self, handler: Callable[..., Any], *, name: str, text: str, schema: Mapping[str, Any]) -> None:
        self.subject = f"tool `{name}`"
        self.docstring = parse(None)
        self.text = text
        self.unbound = False
        own = _own_copy(schema, self.subject)
        codec = Codec(schema=own, decode=_same, encode=_same, emit=plain_emitter(own))
        self._schema = own
        self._examples = ()
        self._scope = None
        self._checker = None
        self._shown = None
        self._signature = Signature(
            codec=codec,
            schema=own,
            output=None,
            output_schema=None,
            wanted={},
            bind=lambda values: ([values], {}),
            style=style_of(handler),
        )


def _same(value: Any) -> Any:
    return value


def _own_copy(schema: Mapping[str, Any], subject: str) -> Schema:
    own: Schema = copy.deepcopy(dict(schema))
    check_schema(own, subject)
    if own.get("type", "object") != "object":
        raise DefinitionError(f'{subject}: arguments are a JSON object, so the schema\'s type has to be "object"')
    own.setdefault("type", "object")
    return own


def _enforcing(signature: Signature, schema: Schema, subject: str) -> Signature:
    """*signature* under a hand-written schema: that is judged first, then the arguments are decoded as annotated."""
    ours, closed = signature.schema["properties"], signature.schema.get("additionalProperties") is False
    unknown = [name for name in schema.get("properties", {}) if closed and name not in ours]
    if unknown:
        raise DefinitionError(
            f"{subject}: the schema has properties that the function does not take: {', '.join(unknown)}; "
            f"add parameters for them, or **kwargs"
        )
    write_check, inner = plain_emitter(schema), signature.codec.emit

    def emit(writer: Any, value: str) -> str:
        assert write_check is not None and inner is not None  # noqa: S101, PT018 -- used only then
        write_check(writer, value)
        return inner(writer, value)

    known = write_check is not None and inner is not None
    codec = replace(signature.codec, schema=schema, emit=emit if known else None)
    return replace(signature, codec=codec, schema=schema)


def _documentation(function: Any) -> str | None:
    if isinstance(function, functools.partial):
        return _documentation(function.func)
    if not hasattr(function, "__code__") and not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        # A callable object: its class says what it is, its __call__ what it does.
        return type(function).__call__.__doc__ or type(function).__doc__
    text = getattr(function, "__doc__", None)
    return text if isinstance(text, str) and text.strip() else inspect.getdoc(function)


def _named_only(function: Any, name: str) -> str:
    text = words(name)
    file, line = place_of(function)
    warnings.warn_explicit(
        f"{subject_of(function)} has no docstring, so a model is told only {text!r}; write one, or give `description=`",
        ToolkitWarning,
        file,
        line,
    )
    return text


def subject_of(function: Any) -> str:
    """The function's name as its author would look for it."""
    plain = underlying(function)
    module = getattr(plain, "__module__", None)
    name = getattr(plain, "__qualname__", None) or type(plain).__qualname__
    return f"{module}.{name}" if module else str(name)


def place_of(function: Any) -> tuple[str, int]:
    """File and line where *function* was written."""
    code = getattr(underlying(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (f"<{subject_of(function)}>", 1)
