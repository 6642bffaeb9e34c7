"""`record` makes what `dataclasses.dataclass` makes, and writes the methods later."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
import subprocess
import sys
import weakref
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, ClassVar

import pytest

from toolkit._plumbing.records import record

OPTIONS = [
    dict(zip(("frozen", "slots", "kw_only", "eq", "repr"), values, strict=True))
    for values in itertools.product((False, True), repeat=5)
]


def make_classes(options: dict[str, Any]) -> list[type]:
    """Return the same class twice, as a dataclass and as a record."""

    def make(decorate: Any) -> type:
        @decorate(**options)
        class Point:
            """A point."""

            x: int
            y: int = 0
            names: list[str] = field(default_factory=list, compare=False)
            hidden: int = field(default=3, repr=False)
            area: int = field(init=False, default=1, hash=False)
            fixed: int = field(init=False, default=2)

            def __post_init__(self) -> None:
                object.__setattr__(self, "area", self.x * self.y)

            @property
            def double(self) -> int:
                return self.x * 2

        return Point

    return [make(dataclass), make(record)]


def describe(action: Any) -> Any:
    """Return the value of *what*, or its error in words."""
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def without_address(text: str) -> str:
    return text.partition(" object at ")[0]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_record_equals_a_dataclass_with_the_same_options(options):
    """This holds for its signature, texts, comparisons, copies and errors."""
    behaviours = []
    for cls in make_classes(options):
        instance, same, other = cls(x=1, y=2), cls(x=1, y=2, names=["a"]), cls(x=2)
        behaviours.append(
            [
                cls.__doc__,
                str(inspect.signature(cls)),
                str(inspect.signature(cls.__init__)),
                cls.__init__.__qualname__,
                cls.__init__.__annotations__,
                getattr(cls, "__match_args__", None),
                [repr(member) for member in dataclasses.fields(cls)],
                without_address(repr(cls.__dataclass_params__)),
                getattr(cls, "__slots__", None),
                hasattr(instance, "__dict__"),
                dataclasses.asdict(instance),
                without_address(repr(instance)),
                [instance == same, instance == other, instance == 1, instance != same],
                describe(lambda: hash(instance) == hash(same)),  # noqa: B023 -- called at once
                describe(lambda: setattr(instance, "x", 3)),  # noqa: B023 -- called at once
                # `dataclass` fails in another way for frozen classes with slots, which is a bug of Python 3.11.
                describe(lambda: options["slots"] or setattr(instance, "unknown", 3)),  # noqa: B023 -- called at once
                describe(lambda: delattr(instance, "y")),  # noqa: B023 -- called at once
                describe(lambda: cls()),  # noqa: B023 -- called at once
                describe(lambda: cls(1, 2, 3, 4, 5)),  # noqa: B023 -- called at once
                describe(lambda: cls(1, z=1)),  # noqa: B023 -- called at once
                dataclasses.asdict(copy.deepcopy(other)),
                dataclasses.asdict(copy.copy(other)),
                dataclasses.asdict(dataclasses.replace(other, x=4)),
                other.double,
            ]
        )
    assert behaviours[0] == behaviours[1]


@record(frozen=True, slots=True)
class Stored:
    """A record that can be found by its name."""

    number: int
    text: str = ""


def test_a_frozen_record_with_slots_can_be_pickled():
    assert pickle.loads(pickle.dumps(Stored(1, "a"))) == Stored(1, "a")  # noqa: S301 -- its own bytes


def test_methods_that_the_class_defines_stay():
    """As in a dataclass, `__eq__` alone does not remove the hash."""
    behaviours = []
    for decorate in (dataclass, record):

        @decorate(frozen=True)
        class Own:
            x: int

            def __eq__(self, other: object) -> bool:
                return True

            def __repr__(self) -> str:
                return "own"

        behaviours.append((repr(Own(1)), Own(1) == Own(2), hash(Own(1)) == hash(Own(1))))
    assert behaviours[0] == behaviours[1] == ("own", True, True)


def test_a_class_keeps_its_own_hash_and_init():
    """`dataclass` would not replace them either."""

    @record(frozen=True)
    class Own:
        x: int = 0

        def __init__(self) -> None:
            object.__setattr__(self, "x", 7)

        def __hash__(self) -> int:
            return 5

    assert (Own().x, hash(Own())) == (7, 5)


def test_subclasses_of_records_are_records():
    """A plain subclass, a record, and a dataclass, each frozen as its base is."""

    class Plain(Stored):
        """It has a dictionary of its own."""

    @record(frozen=True, slots=True, kw_only=True)
    class More(Stored):
        extra: int = 1

    @dataclass(frozen=True)
    class Most(More):
        other: int = 2

    plain = Plain(1)
    plain.note = "new"  # type: ignore[attr-defined]  # the subclass allows it
    assert (plain.note, Most(1, other=5)) == ("new", Most(1, "", 5))  # type: ignore[attr-defined]  # as above
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
        plain.number = 2  # type: ignore[misc]  # what is tested
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        record()(type("Wrong", (Stored,), {"__annotations__": {}}))


def test_a_record_may_have_annotations_that_are_not_fields():
    """`ClassVar`, `InitVar` and `KW_ONLY` mean what they mean in a dataclass, and all annotations stay as written."""
    behaviours = []
    for decorate in (dataclass, record):

        @decorate(slots=True)
        class Mixed:
            shared: ClassVar[int] = 5
            x: int
            start: InitVar[int]
            _: KW_ONLY
            y: list[str] = field(default_factory=list)

            def __post_init__(self, start: int) -> None:
                self.x += start

        fields = [(part.name, part.type, part.kw_only) for part in dataclasses.fields(Mixed)]
        behaviours.append((Mixed(1, 2, y=["a"]).x, Mixed.shared, fields, Mixed.__annotations__))
    assert behaviours[0] == behaviours[1]
    assert (behaviours[1][0], behaviours[1][3]["x"]) == (3, "int")


def test_a_record_may_have_a_weak_reference():
    """`dataclass` has the same option."""

    @record(frozen=True, slots=True, weakref_slot=True, eq=False)
    class Watched:
        x: int

    watched = Watched(1)
    assert weakref.ref(watched)() is watched


def test_methods_are_written_at_their_first_use():
    """A module with many records is imported quickly."""

    @record(frozen=True, slots=True)
    class Late:
        x: int

    assert type(vars(Late)["__init__"]).__name__ == "_UnwrittenMethod"
    late = Late(1)
    assert inspect.isfunction(vars(Late)["__init__"])
    assert type(vars(Late)["__repr__"]).__name__ == "_UnwrittenMethod"
    assert repr(late).endswith("Late(x=1)")
    assert Late.__repr__ is Late.__repr__


def test_importing_writes_no_method_that_is_not_used():
    """Every dataclass on the way to `Dispatcher` is a record, so no method is written that prints or compares."""
    code = """
import asyncio, dataclasses, inspect, sys
def is_early(cls):
    return any(inspect.isfunction(vars(cls).get(name)) and "<string>" in vars(cls)[name].__code__.co_filename
               for name in ("__repr__", "__eq__"))
from toolkit import Dispatcher, tool
modules = [module for name, module in sys.modules.items() if name.startswith("toolkit")]
classes = {cls for module in modules for cls in vars(module).values() if isinstance(cls, type)}
records = {cls for cls in classes if cls.__module__.startswith("toolkit") and dataclasses.is_dataclass(cls)}
print(len(records) > 20, [cls for cls in records if is_early(cls)])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "True []\n"
