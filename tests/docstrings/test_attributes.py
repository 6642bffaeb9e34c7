"""The strings beneath the attributes of a class are their descriptions."""

import enum
from dataclasses import dataclass

import pytest
from typing_extensions import TypedDict

from toolkit.docstrings.attributes import attribute_docstrings


@dataclass
class Base:
    first: int
    """The first,
    wrapped."""

    second: int = 2
    """The :class:`second`."""

    third = 3
    "The third."

    fourth: int = 4
    ""

    fifth: int = 5
    len("")
    sixth = seventh = 6
    """Not said of which."""

    class Inner:
        hidden: int
        """Another class."""


class Heir(Base):
    second: str = ""
    """Overridden."""


class Colour(enum.Enum):
    RED = 1
    """Warm."""


class Small(TypedDict):
    a: int
    """The a."""


class Large(Small):
    b: int
    """The b."""


class Largest(Large):
    c: int
    """The c."""


def test_attributes_are_documented_beneath():
    """The string beneath an attribute is its text, joined and without markup; nothing else is."""
    assert attribute_docstrings(Base) == {
        "first": "The first, wrapped.",
        "second": "The `second`.",
        "third": "The third.",
    }


def test_attribute_docstrings_are_inherited():
    """A subclass has the texts of its bases, and its own come first."""
    assert attribute_docstrings(Heir) == {**attribute_docstrings(Base), "second": "Overridden."}


def test_enums_and_typed_dicts_are_classes_too():
    """Members and keys are documented like attributes, those of a TypedDict's bases included."""
    assert attribute_docstrings(Colour)["RED"] == "Warm."
    assert attribute_docstrings(Largest) == {"a": "The a.", "b": "The b.", "c": "The c."}


def test_classes_in_functions_are_read():
    """A class that is indented, even with text at the margin, gives its texts."""

    class Local:
        a: int
        """The a
is odd."""

    assert attribute_docstrings(Local) == {"a": "The a is odd."}


@pytest.mark.parametrize("cls", [int, type("Made", (), {"a": 1}), type("Base", (), {"__module__": "nowhere"}), object])
def test_a_class_without_source_has_no_texts(cls):
    """Built-in and made-up classes give nothing, and do not fail."""
    assert attribute_docstrings(cls) == {}
