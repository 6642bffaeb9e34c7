"""
Read a callable: its text, its schema, and the way to call it.

The callable is read when it is decorated, so that errors appear where they were made. Only an annotation with a name
that is not defined yet waits for the first use or for `Catalog.finish`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..docstrings.parsing import MAX_CHARACTERS, Docstring, parse, words
from ..errors import BadArgs, DefinitionError, ToolkitWarning
from ..facts import Facts
from ..values.codecs.base import Schema
from ..values.codecs.refusals import Unresolved
from ..values.schemas.vocabulary import stated_types
from .callables import find_source_location, subject_of
from .checker import Checker
from .namespaces import Scope
from .outputs import EncodeOutput, compile_output
from .signature import Signature, Style, read_signature
from .unsent_parameters import NO_OPTIONS, ParameterOptions

if TYPE_CHECKING:
    from . import background_parameter, handwritten_schemas
else:  # few tools have the fact `background`, or a schema that was written by hand
    background_parameter = LazyModule(f"{__package__}.background_parameter")
    handwritten_schemas = LazyModule(f"{__package__}.handwritten_schemas")

__all__ = ["Description", "add_streaming", "warn_of_missing_docstring"]


class Description:
    """
    The facts about one function. All tools that stand for this function share it.

    Attributes:
        subject: The function's name in the form in which its author would look for it.
        docstring: The docstring that its author wrote.
        text: The description that a model sees.
        unbound: Whether its first parameter is the object of which it is a method; None if only its class can tell.
        background: Whether a model may have a call run in the background.
    """

    __slots__ = (
        "_checker",
        "_encode_output",
        "_examples",
        "_parameter_options",
        "_schema",
        "_schema_copies",
        "_scope",
        "_signature",
        "background",
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
        describe: str | None = None,
        schema: Mapping[str, Any] | None = None,
        examples: Sequence[Mapping[str, Any]] = (),
        unbound: bool | None = False,
        is_method: bool = False,
        parameter_options: ParameterOptions = NO_OPTIONS,
        background: bool = False,
    ) -> None:
        self.subject = subject_of(function)
        self.background = background
        self.docstring: Docstring = parse(_find_docstring(function))
        self.text = text or self.docstring.description
        self.unbound = unbound
        self._schema = None if schema is None else self._copy_schema(schema, function)
        self._examples = examples
        self._parameter_options = parameter_options
        self._scope: Scope | None = Scope(function)
        self._signature: Signature | None = None
        self._checker: Checker | None = None
        self._encode_output: EncodeOutput | None = None
        self._schema_copies: tuple[Schema, Schema | None] | None = None
        if not self.text:
            self.text = words(name)
            # A method may inherit its docstring, but its class does not exist yet.
            if not is_method:
                warn_of_missing_docstring(self.subject, self.text, find_source_location(function))
        if self.docstring.is_too_long and not text:
            _warn(
                f"{self.subject}: its docstring has more than {MAX_CHARACTERS:,} characters, so a model gets only its "
                f"beginning; write a shorter one, or give `description=`",
                find_source_location(function),
            )
        if describe == "full":
            self.text += _describe_outcomes(self.docstring)
        with suppress(Unresolved):
            self._read(self._scope, is_final=False)

    @property
    def signature(self) -> Signature:
        """Return the finished signature, or raise `DefinitionError` if an annotation still has an undefined name."""
        scope = self._scope
        if scope is not None:
            try:
                return self._read(scope, is_final=True)
            except Unresolved as missing:
                raise DefinitionError(
                    f"{self.subject}: an annotation names `{missing.name}`, which is not defined; "
                    f"define or import it before the tool is used; "
                    f"if the module is not yours, wrap the function in one of your own"
                ) from None
        assert self._signature is not None  # noqa: S101 -- the scope is dropped only when the signature exists
        return self._signature

    @property
    def schemas(self) -> tuple[Schema, Schema | None]:
        """
        Return copies of the input schema and of the output schema, if there is one, for display.

        The schemas that the checks use are kept separately, so that no caller can change them.
        """
        if self._schema_copies is None:
            from ..values.schemas.member_names import copy_without_names  # a call does not need the copies

            signature = self.signature
            self._schema_copies = (
                copy_without_names(signature.schema),
                # A call in the background returns the name of a job, which this schema does not describe.
                None if self.background else copy_without_names(signature.returns.schema),
            )
        return self._schema_copies

    @property
    def returns_no_stream(self) -> bool:
        """Whether the return annotation, as far as it could be read, says that a call returns one value and no list."""
        schema = None if self._signature is None else self._signature.returns.schema
        types = stated_types(schema or {})
        return bool(types) and "array" not in types

    @property
    def checker(self) -> Checker:
        """Return the checker of arguments."""
        if self._checker is None:
            self._checker = self._build_checker(self.signature)
        return self._checker

    @property
    def encode_output(self) -> EncodeOutput:
        """Return the generated function that encodes return values, or answers `UNSURE`."""
        if self._encode_output is None:
            self._encode_output = compile_output(self.signature.returns, self.subject)
        return self._encode_output

    def is_equivalent(self, other: Description) -> bool:
        """Return whether *other* has the same text, hand-written schema and options for its parameters."""
        own = self.text, self._schema, self._parameter_options
        return own == (other.text, other._schema, other._parameter_options)

    def _read(self, scope: Scope, *, is_final: bool) -> Signature:
        # Several threads may read at once, so attributes are set only when the signature is complete.
        signature = read_signature(
            scope,
            self.docstring,
            self._parameter_options,
            subject=self.subject,
            unbound=self.unbound is not False,
            handwritten=self._schema,
            added=background_parameter.BACKGROUND_PARAMETER if self.background else None,
            is_complete=self.unbound is not None,
        )
        if self.background:
            signature = replace(signature, bind=background_parameter.drop_background(signature.bind), by_keyword=False)
        # If it is not known yet whether the first parameter is the object, the schema and the examples are checked
        # later.
        if self._schema is not None and self.unbound is not None:
            signature = handwritten_schemas.enforce_schema(signature, self._schema, self.subject)
        if self._examples and self.unbound is not None:
            self._check_examples(self._build_checker(signature))
        if self._signature is None:
            for omission in signature.omissions:
                _warn(f"{self.subject}: {omission}", find_source_location(scope.function))
        self._signature = signature
        if is_final or not signature.returns.has_undefined_names:
            self._scope = None
        return signature

    def _copy_schema(self, schema: Mapping[str, Any], function: Any) -> Schema:
        """Return a copy of a hand-written *schema*, with the parameter `background` if the tool has that fact."""
        own = handwritten_schemas.copy_input_schema(schema, self.subject, function)
        return background_parameter.add_background_property(own, self.subject) if self.background else own

    def _build_checker(self, signature: Signature) -> Checker:
        return Checker(self.subject, signature.schema, signature.codec)

    def _check_examples(self, checker: Checker) -> None:
        for number, example in enumerate(self._examples, 1):
            try:
                checker.check(dict(example))
            except BadArgs as error:
                raise DefinitionError(f"{self.subject}: example {number} does not fit the schema: {error}") from error


def add_streaming(facts: Facts, style: Style, about: Description, options: Mapping[str, Any]) -> Facts:
    """
    Return *facts* with `streaming` filled in: a generator function streams, unless its author states otherwise.

    *style* says how the function runs, and *options* are those that the author has given.

    Raises:
        DefinitionError: The author states that a function streams which cannot.
    """
    is_generator = style.endswith("generator")
    if options.get("streaming") is None:
        return replace(facts, streaming=True) if is_generator else facts
    if facts.streaming and not is_generator and (style == "async" or about.returns_no_stream):
        raise DefinitionError(
            f"{about.subject}: `streaming=True` is for a function that yields, and this one returns one value; "
            f"write `yield`, or leave the fact out"
        )
    return facts


def _describe_outcomes(docstring: Docstring) -> str:
    """Return the paragraphs that tell a model what the function returns and raises, with a gap before each."""
    returns = f"\n\nReturns: {docstring.returns}" if docstring.returns else ""
    raises = "".join(f"\n- {entry}" for entry in docstring.raises)
    return returns + (f"\n\nRaises:{raises}" if raises else "")


def _find_docstring(function: Any) -> str | None:
    if isinstance(function, functools.partial):
        own = vars(function).get("__doc__")
        return own if isinstance(own, str) else _find_docstring(function.func)
    if not hasattr(function, "__code__") and not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        # For a callable object, `__call__` says what it does, and the class says what it is.
        return type(function).__call__.__doc__ or _find_class_docstring(type(function))
    text = getattr(function, "__doc__", None)
    return text if isinstance(text, str) and text.strip() else inspect.getdoc(function)


def _find_class_docstring(cls: type) -> str | None:
    # Python gives a dataclass without a docstring its own signature as the docstring.
    is_generated = is_dataclass(cls) and (cls.__doc__ or "").startswith(f"{cls.__name__}(")
    return None if is_generated else cls.__doc__


def warn_of_missing_docstring(subject: str, text: str, place: tuple[str, int]) -> None:
    """Warn that a model is told only *text* about a tool."""
    _warn(f"{subject} has no docstring, so a model is told only {text!r}; write one, or give `description=`", place)


def _warn(message: str, place: tuple[str, int]) -> None:
    """Warn at the *place* where the function was written."""
    warnings.warn_explicit(message, ToolkitWarning, *place)
