"""
Find the names of annotations that the running module does not have.

A module keeps an import out of the running program with `if TYPE_CHECKING:`, but its annotations use the name. The
block is found in the source text of the module. Only modules that the block names are imported, and only when an
annotation needs one of the names. A name that cannot be imported becomes a `MissingName`, which says why.

A module may also import an alias such as `Union["URL", str]` from another module, which alone knows the name `URL`.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import re
import sys
import tokenize
import types
import warnings
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ForwardRef, Literal, TypeAlias, Union, get_args, get_origin

from ..._plumbing.records import record

__all__ = ["MissingName", "TypeCheckingNames", "bind_references", "module_names"]


class MissingName(type):
    """
    The class of the types that stand for names that cannot be imported.

    Such a type can be a part of an annotation, as in `str | URL`, so that the other parts can still be read.
    """

    reason: str

    @classmethod
    def create(cls, name: str, reason: str) -> MissingName:
        """Return the type that stands for *name*."""
        return cls(name, (), {"reason": reason})

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return MissingName.create(f"{cls.__name__}.{name}", cls.reason)

    def __getitem__(cls, arguments: Any) -> MissingName:
        return cls


@record(frozen=True, slots=True)
class _Definition:
    """
    How a block defines a name.

    Attributes:
        module: The module to import, with a dot for each level of a relative import.
        attribute: The name to take from the module; None for the module itself.
        is_top: Whether the name stands for the outermost package, as in `import a.b`.
        expression: The right side of an assignment; None if the name is imported, or defined in another way.
    """

    module: str = ""
    attribute: str | None = None
    is_top: bool = False
    expression: ast.expr | None = None


class _TooEarly(KeyError):  # noqa: N818 -- it means "wait", and is not an error yet
    """A module that has to be complete first is still being imported."""


class TypeCheckingNames(Mapping[str, Any]):
    """
    The names that a module defines under `TYPE_CHECKING`, or that stand in an alias that it imports.

    A name is imported when it is read. Only the names under `TYPE_CHECKING` are counted and listed.

    A `KeyError` means that the module defines no such name there, or that it is too early to read the name, because a
    module is still being imported.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._definitions, self._imports = _read_source(namespace)

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def __bool__(self) -> bool:
        return bool(self._definitions or self._imports)

    def __contains__(self, name: object) -> bool:
        return name in self._definitions

    def __getitem__(self, name: str) -> Any:
        if name not in self._definitions:
            return self._find_in_aliases(name, set())
        home, reason = self._namespace["__name__"], ""
        for definition in self._definitions[name]:
            if not definition.module and definition.expression is None:
                reason = reason or f"{home} defines it only under TYPE_CHECKING"
                continue
            try:
                return self._evaluate(definition)
            except _TooEarly:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001 -- importing runs code that may raise anything
                reason = reason or f"{home} has it only under TYPE_CHECKING: {type(error).__name__}: {error}"
        return MissingName.create(name, reason)

    def _find_in_aliases(self, name: str, visited: set[str]) -> Any:
        """Return what *name* means in the module from which an alias with this name was imported."""
        for alias, relative in self._imports.items():
            if alias not in self._namespace or not _has_reference(self._namespace[alias], name):
                continue
            module = self._complete_name(relative)
            if module in visited:
                continue
            visited.add(module)
            names = module_names(module)
            if name in names:
                return bind_references(names[name], module)
            for_checkers = TypeCheckingNames(names)
            try:
                if name in for_checkers:
                    return for_checkers[name]
                return for_checkers._find_in_aliases(name, visited)
            except KeyError:
                continue
        raise KeyError(name)

    def _complete_name(self, module: str) -> str:
        return importlib.util.resolve_name(module, self._namespace.get("__package__") or "")

    def _evaluate(self, definition: _Definition) -> Any:
        home = self._namespace["__name__"]
        if definition.expression is None:
            return _import_name(self._complete_name(definition.module), definition, importer=home)
        names: Any = ChainMap(self, self._namespace)  # type: ignore[arg-type]  # it is only read
        code = compile(ast.Expression(definition.expression), f"<{home}>", "eval", dont_inherit=True)
        try:
            # The expression is a type or a type variable. Annotations of the module are evaluated the same way.
            value = eval(code, {}, names)  # noqa: S307
        except NameError as error:
            raise _TooEarly(error.name) from error
        return bind_references(value, home)


def _import_name(module: str, definition: _Definition, importer: str) -> Any:
    """Return the name that *definition* takes from *module*, or raise `_TooEarly`."""
    if module not in sys.modules and _is_being_imported(importer):
        # The block may be there to break a circle of imports, which must not be closed while the importer is half done.
        raise _TooEarly(module)
    imported = importlib.import_module(module)
    if definition.is_top:
        return sys.modules[module.partition(".")[0]]
    name = definition.attribute
    if name is None:
        return imported
    for_checkers = TypeCheckingNames(vars(imported))
    if name in for_checkers and not isinstance(value := for_checkers[name], MissingName):
        return value
    if not hasattr(imported, name):
        if _is_being_imported(module):
            raise _TooEarly(name)
        return importlib.import_module(f"{module}.{name}")
    return bind_references(getattr(imported, name), module)


def _is_being_imported(module: str) -> bool:
    return bool(getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False))


def module_names(module: Any) -> Mapping[str, Any]:
    """Return the namespace of a module, given as an object or by name. It is empty if the module cannot be found."""
    module_object = sys.modules.get(module) if isinstance(module, str) else module
    return getattr(module_object, "__dict__", {})


def bind_references(hint: Any, module: str) -> Any:
    """Return *hint* with its forward references bound to *module*, in which they were written."""
    if isinstance(hint, (str, ForwardRef)):
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        if isinstance(hint, ForwardRef) and hint.__forward_module__ is not None:
            return hint
        try:
            return ForwardRef(text, module=module)
        except SyntaxError:  # a text that is no annotation; reading it says so
            return hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal or not arguments:
        return hint
    if isinstance(arguments[0], list):  # the parameters of a Callable, which has no JSON form
        return hint
    metadata = arguments[1:] if origin is Annotated else ()
    bound = tuple(bind_references(argument, module) for argument in arguments[: len(arguments) - len(metadata)])
    if all(new is old for new, old in zip(bound, arguments, strict=False)):
        return hint
    if origin is Annotated:
        return Annotated[(*bound, *metadata)]
    if origin in (Union, types.UnionType):
        return Union[bound]  # noqa: UP007 -- the members are known only now
    return hint.copy_with(bound) if hasattr(hint, "copy_with") else origin[bound]


def _has_reference(hint: Any, name: str) -> bool:
    """Return whether a forward reference in *hint* mentions *name*."""
    if isinstance(hint, (str, ForwardRef)):
        return name in re.findall(r"\w+", hint if isinstance(hint, str) else hint.__forward_arg__)
    if get_origin(hint) is Literal:
        return False
    return any(_has_reference(argument, name) for argument in get_args(hint))


# Reading the source.

_Definitions: TypeAlias = Mapping[str, tuple[_Definition, ...]]


def _read_source(namespace: Mapping[str, Any]) -> tuple[_Definitions, Mapping[str, str]]:
    """Return the definitions under `TYPE_CHECKING` in a module, and the module of each name that it imports."""
    filename = namespace.get("__file__")
    if not isinstance(filename, str) or not filename.endswith(".py") or not isinstance(namespace.get("__name__"), str):
        return {}, {}
    try:
        status = os.stat(filename)
    except OSError:
        return {}, {}
    return _parse_source(filename, (status.st_mtime_ns, status.st_size))


@functools.lru_cache(maxsize=200)
def _parse_source(filename: str, stamp: object) -> tuple[_Definitions, Mapping[str, str]]:
    try:
        with tokenize.open(filename) as file, warnings.catch_warnings(action="ignore"):
            statements = ast.parse(file.read()).body  # it may warn of an escape in the text of another package
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}, {}
    definitions: dict[str, tuple[_Definition, ...]] = {}
    for statement in _iter_type_checking(statements):
        for name, definition in _iter_definitions(statement):
            definitions[name] = (*definitions.get(name, ()), definition)
    imports = {
        name: definition.module
        for statement in _iter_simple(statements)
        if isinstance(statement, ast.ImportFrom)
        for name, definition in _iter_definitions(statement)
    }
    return definitions, imports


def _iter_type_checking(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that only type checkers see."""
    for statement in statements:
        if isinstance(statement, ast.If):
            is_negated = isinstance(statement.test, ast.UnaryOp) and isinstance(statement.test.op, ast.Not)
            if not _mentions_type_checking(statement.test):
                yield from _iter_type_checking([*statement.body, *statement.orelse])
            else:
                yield from _iter_simple(statement.orelse if is_negated else statement.body)
        elif isinstance(statement, ast.Try):
            yield from _iter_type_checking(_blocks_of(statement))


def _mentions_type_checking(test: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING")
        or (isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING")
        for node in ast.walk(test)
    )


def _blocks_of(statement: ast.If | ast.Try) -> list[ast.stmt]:
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    return [*statement.body, *(inner for handler in handlers for inner in handler.body), *statement.orelse]


def _iter_simple(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield *statements*, and in place of an `if` or a `try` the statements of all its blocks."""
    for statement in statements:
        if isinstance(statement, (ast.If, ast.Try)):
            yield from _iter_simple(_blocks_of(statement))
        else:
            yield statement


def _iter_definitions(statement: ast.stmt) -> Iterator[tuple[str, _Definition]]:
    """Yield each name that *statement* defines."""
    match statement:
        case ast.Import(names=names):
            for alias in names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, _Definition(alias.name, is_top=alias.asname is None)
        case ast.ImportFrom(names=names):
            module = "." * statement.level + (statement.module or "")
            for alias in names:
                yield alias.asname or alias.name, _Definition(module, alias.name)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            yield name, _Definition(expression=value if value is not None and _is_alias(value) else None)
        case ast.ClassDef(name=name):
            yield name, _Definition()
        case _ if isinstance(statement, _TYPE_STATEMENT):
            value = None if statement.type_params or not _is_alias(statement.value) else statement.value
            yield statement.name.id, _Definition(expression=value)


_ALIAS_NODES = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
    ast.Call,
    ast.keyword,
)
_TYPE_STATEMENT: Any = getattr(ast, "TypeAlias", ())  # `type X = ...` came with Python 3.12
_VARIABLES = ("TypeVar", "ParamSpec", "TypeVarTuple")


def _is_alias(expression: ast.expr) -> bool:
    """Return whether evaluating *expression* looks up names, and calls nothing but the classes of type variables."""
    return all(
        isinstance(node, _ALIAS_NODES)
        and (not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] in _VARIABLES)
        for node in ast.walk(expression)
    )
