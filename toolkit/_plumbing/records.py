"""
Dataclasses that cost little to import.

`dataclasses.dataclass` compiles six methods for each class, which takes about half a millisecond. `record` takes the
same options and gives a class the same methods, but `dataclass` writes them when a program first uses one. It is
for the modules that `from toolkit import Dispatcher, tool` loads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(
        *,
        frozen: bool = False,
        slots: bool = False,
        weakref_slot: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 -- `dataclass` names it so
    ) -> Callable[[type], type]:
        """Return a decorator that makes a class the dataclass that `dataclasses.dataclass` makes with these options."""
        options = {"frozen": frozen, "slots": slots, "weakref_slot": weakref_slot, "kw_only": kw_only}

        def decorate(cls: type) -> type:
            if any(map(dataclasses.is_dataclass, cls.__bases__)):
                return dataclasses.dataclass(**options, eq=eq, repr=repr)(cls)
            # `dataclass` would make a docstring of the signature, which takes long.
            cls.__doc__ = cls.__doc__ or f"The record `{cls.__name__}`."
            methods = _Methods(cls, options)
            cls = dataclasses.dataclass(**{**options, "frozen": False}, init=False, eq=False, repr=False)(cls)
            params: Any = cls.__dataclass_params__
            params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen
            _add_methods(cls, methods)
            if frozen:
                _freeze(cls, slots=slots)
            return cls

        return decorate


class _Methods:
    """The methods that `dataclass` writes for one class: for a class of its own with the same fields."""

    def __init__(self, cls: type, options: dict[str, Any]) -> None:
        self._name = cls.__name__
        self._options = options
        self._namespace = {
            "__annotations__": cls.__annotations__,
            "__doc__": cls.__doc__,
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            **{name: vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)},
        }
        if hasattr(cls, "__post_init__"):
            self._namespace["__post_init__"] = cls.__post_init__

    def write(self, name: str) -> Any:
        parts = {"init": name == "__init__", "repr": name == "__repr__", "eq": name in ("__eq__", "__hash__")}
        cls = type(self._name, (), dict(self._namespace))
        return vars(dataclasses.dataclass(**self._options, **parts)(cls))[name]


class _UnwrittenMethod:
    """Stands for a method until it is first used."""

    def __init__(self, cls: type, name: str, methods: _Methods) -> None:
        self._cls = cls
        self._name = name
        self._methods = methods

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        method = self._methods.write(self._name)
        if vars(self._cls).get(self._name) is self:
            setattr(self._cls, self._name, method)
        return method.__get__(instance, owner)


def _add_methods(cls: Any, methods: _Methods) -> None:
    """Add what the class does not define itself."""
    params = cls.__dataclass_params__
    names = ["__init__"]
    if params.repr:
        names.append("__repr__")
    if params.eq:
        names.append("__eq__")
        # Python gives a class that defines `__eq__` alone a hash of None.
        has_hash = "__hash__" in vars(cls) and not (vars(cls)["__hash__"] is None and "__eq__" in vars(cls))
        if not has_hash:
            cls.__hash__ = _UnwrittenMethod(cls, "__hash__", methods) if params.frozen else None
    for name in names:
        if name not in vars(cls):
            setattr(cls, name, _UnwrittenMethod(cls, name, methods))


def _freeze(cls: Any, *, slots: bool) -> None:
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def refuse_assignment(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_deletion(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    methods = {"__setattr__": refuse_assignment, "__delattr__": refuse_deletion}
    if slots:
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in vars(cls):
            setattr(cls, name, method)


# A frozen class with slots needs these two to be copied and pickled.
def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
