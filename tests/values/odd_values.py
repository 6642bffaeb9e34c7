"""Values of every kind, also those that have no text or no JSON form."""

import dataclasses
import enum
from typing import Any, NamedTuple

import attrs
from hypothesis import strategies as st


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class PointTuple(NamedTuple):
    x: int
    y: float


@dataclasses.dataclass
class OrderLine:
    sku: str
    price: float = 1.5
    inner: Any = None


@attrs.define
class Attrs:
    x: float
    more: Any = None


class Nothing:
    def __str__(self):
        return "just words"


class BadStr:
    def __str__(self):
        raise RuntimeError("no")


def is_hashable(value):
    try:
        return hash(value) is not None
    except TypeError:
        return False


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary(max_size=5)
    | st.complex_numbers()
    | st.decimals()
    | st.datetimes()
    | st.uuids()
    | st.sampled_from(
        [Colour.RED, Level.LOW, PointTuple(1, 2.0), Nothing(), BadStr(), OrderLine("a"), object, ValueError("x")]
    )
)


_ANYTHING = st.recursive(
    _LEAVES,
    lambda deeper: (
        st.lists(deeper, max_size=3)
        | st.tuples(deeper, deeper)
        | st.dictionaries(_LEAVES.filter(is_hashable), deeper, max_size=3)
        | st.builds(OrderLine, deeper, deeper, deeper)
        | st.builds(Attrs, deeper, deeper)
    ),
    max_leaves=10,
)
