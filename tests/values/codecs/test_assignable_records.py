"""Generated code assigns the fields of a plain dataclass itself, and calls every constructor that does more."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Any

import pytest

from toolkit.values.codecs.code_writer import UNSURE, compile_codec
from toolkit.values.codecs.rules import create_hint_reader


class Counting(type):
    """Counts the objects that are made."""

    count = 0

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        Counting.count += 1
        return super().__call__(*arguments, **named)


def decode(cls: type, value: Any) -> Any:
    codec = create_hint_reader(globals()).codec(cls)
    decoded = compile_codec(codec, "it")(value, 0)
    assert vars(decoded) == vars(codec.decode(value))
    assert list(vars(decoded)) == list(vars(codec.decode(value)))
    return decoded


@dataclass
class Plain:
    late: int = 3
    early: str = "x"
    tags: list[int] = field(default_factory=list)


def test_a_plain_dataclass_has_its_fields_in_order():
    decoded = decode(Plain, {"early": "y"})
    assert decoded == Plain(early="y")
    assert decoded.tags is not decode(Plain, {}).tags


def test_slots_are_filled():
    @dataclass(slots=True)
    class Slotted:
        a: int
        b: int = 2

    codec = create_hint_reader(globals()).codec(Slotted)
    assert compile_codec(codec, "it")({"a": 1}, 0) == Slotted(1, 2)


@dataclass
class Checked:
    a: int

    def __post_init__(self) -> None:
        self.a += 1


@dataclass
class Written:
    a: int

    def __init__(self, a: int) -> None:
        self.a = a * 10


@dataclass
class Child(Written):
    pass


@dataclass
class Made:
    a: int

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        instance = super().__new__(cls)
        instance.extra = 1
        return instance


@dataclass
class Setting:
    a: int

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 2)


@dataclass
class Computed:
    a: int
    b: list[int] = field(init=False, default_factory=lambda: [5])


@dataclass
class Given:
    a: int
    scale: InitVar[int] = 3


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (Checked, {"a": 2}),
        (Written, {"a": 10}),
        (Made, {"extra": 1, "a": 1}),
        (Setting, {"a": 2}),
        (Computed, {"a": 1, "b": [5]}),
        (Given, {"a": 1}),
    ],
)
def test_the_constructor_of_a_class_runs(cls: type, expected: Any):
    assert vars(decode(cls, {"a": 1})) == expected


def test_a_subclass_with_a_generated_constructor_is_decoded():
    """`dataclass` writes one, which does not call the constructor of the base."""
    assert vars(decode(Child, {"a": 1})) == {"a": 1}


def test_a_frozen_dataclass_is_made_by_its_constructor():
    @dataclass(frozen=True)
    class Frozen:
        a: int

    codec = create_hint_reader(globals()).codec(Frozen)
    assert compile_codec(codec, "it")({"a": 1}, 0) == Frozen(1)


def test_a_metaclass_that_counts_is_called():
    @dataclass
    class Counted(metaclass=Counting):
        a: int

    before = Counting.count
    compile_codec(create_hint_reader(globals()).codec(Counted), "it")({"a": 1}, 0)
    assert Counting.count == before + 1


def test_a_constructor_in_code_without_a_file_is_called():
    """Code from `python -c` has the same file name as the code of `dataclass`."""
    source = """
@dataclass
class Transfer:
    amount: int

    def __init__(self, amount: int) -> None:
        if amount <= 0:
            raise ValueError("too little")
        self.amount = amount
"""
    names: dict[str, Any] = {"dataclass": dataclass, "__name__": __name__}
    exec(compile(source, "<string>", "exec"), names)  # noqa: S102 -- our own text
    check = compile_codec(create_hint_reader(globals()).codec(names["Transfer"]), "it")
    assert check({"amount": 5}, 0).amount == 5
    assert check({"amount": -5}, 0) is UNSURE
