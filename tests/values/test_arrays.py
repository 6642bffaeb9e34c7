"""Arrays, tables and numbers of other packages become JSON, without importing those packages."""

import datetime as dt
import subprocess
import sys
from typing import Any

import pytest

from toolkit import Catalog, Dispatcher
from toolkit.values.arrays import UNKNOWN, replace_arrays, to_plain_value
from toolkit.values.rendering import as_json, as_text, require_json
from toolkit.values.unsendable_value import UnsendableValue

NAN = float("nan")


class Dtype:
    def __init__(self, kind="f", text="<f8", names=None):
        self.kind, self.str, self.names = kind, text, names


class Array:
    """Has what arrays have."""

    def __init__(self, items: Any, dtype: Dtype | None = None, size: int = 1):
        self._items, self._dtype, self.size = items, dtype or Dtype(), size

    @property
    def dtype(self):
        return self._dtype

    def astype(self, kind):
        return self

    def tolist(self):
        return self._items


class Scalar:
    """Has what a number of such a package has."""

    dtype = Dtype("i")

    def item(self):
        return 3


class LongNumber:
    """Gives itself back, because no Python number holds it."""

    dtype = Dtype("f", "<f16")
    size = 1

    def tolist(self):
        return self

    def __float__(self):
        return 1.5


class Index:
    def __index__(self):
        return 7


def pandas_class(name: str, **members: Any) -> Any:
    """Return an object of a class that looks like one of pandas."""
    return type(name, (), {"__module__": "pandas.core", **members})()


class RangeIndex:
    start, step, name = 0, 1, None


class Labels:
    """An index with labels."""

    nlevels, name = 1, None
    size, dtype = 2, Dtype("O")

    def __init__(self, labels: list[Any], names: list[Any] | None = None):
        self.labels, self.names = labels, names or [None]
        self.nlevels = len(self.names)

    def tolist(self):
        return self.labels

    def get_level_values(self, level):
        return self if self.nlevels == 1 else Labels([label[level] for label in self.labels])


class Series:
    __module__ = "pandas.core.series"

    def __init__(self, items, index=None, kind="i"):
        self.items, self.index, self.dtype, self.size = items, index or RangeIndex(), Dtype(kind), len(items)

    def tolist(self):
        return self.items


class DataFrame:
    __module__ = "pandas.core.frame"

    def __init__(self, columns: list[tuple[Any, Series]], index=None):
        self.parts, self.index = columns, index or RangeIndex()
        self.columns = Labels([name for name, _ in columns])
        self.size = sum(series.size for _, series in columns)

    def __len__(self):
        return self.parts[0][1].size if self.parts else 2

    @property
    def iloc(self):
        parts = self.parts

        class Located:
            def __getitem__(self, place):
                return parts[place[1]][1]

        return Located()


DAYS = Dtype("m", "<m8[D]")
FRAME = DataFrame([("a", Series([1, 2])), ("b", Series(["x", NAN], kind="O"))])


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Scalar(), 3),
        (Index(), 7),
        (LongNumber(), 1.5),
        (Array([1.5, NAN]), [1.5, "nan"]),
        (Array([[1, 2], [3, 4]], Dtype("i")), [[1, 2], [3, 4]]),
        (Array(True, Dtype("b")), True),
        (Array([(1, "a")], Dtype("V", names=("x", "y"))), [{"x": 1, "y": "a"}]),
        (Array(["2024-05-01T12:00:00.120000000", "NaT", None, "2024"], Dtype("M")), ["2024-05-01T12:00:00.12", None, None, "2024"]),
        (Array(["2024-05-01T12:00:00.000000000"], Dtype("M")), ["2024-05-01T12:00:00"]),
        (Array([0, 1, -(2**63)], DAYS), ["PT0S", "P1D", None]),
        (Array([1_500_000_001, -60_000_000_000], Dtype("m", "<m8[ns]")), ["PT1.500000001S", "-PT1M"]),
        (Array([90], Dtype("m", "<m8[25s]")), ["PT37M30S"]),
        (Array([-14, 3], Dtype("m", "<m8[M]")), ["-P14M", "P3M"]),
        (Array([5], Dtype("m", "<m8")), [5]),
        (Array([1, 2], Dtype("m", "<m8[W]")), ["P7D", "P14D"]),
        (pandas_class("NaTType"), None),
        (pandas_class("NAType"), None),
        (pandas_class("Timestamp", isoformat=lambda self: "2024-05-01T12:00:00"), "2024-05-01T12:00:00"),
        (pandas_class("Timedelta", to_timedelta64=lambda self: Array(1, DAYS)), "P1D"),
        (pandas_class("Period", __str__=lambda self: "2024Q1"), "2024Q1"),
        (pandas_class("Interval", __str__=lambda self: "(0, 1]"), "(0, 1]"),
        (Series([1, 2]), [1, 2]),
        (Series([1.0, NAN], kind="f"), [1.0, "nan"]),
        (Series(["a", NAN, None], kind="O"), ["a", None, None]),
        (Series([1, 2, 3], Labels(["x", "y", "x"])), {"x": 1, "y": 2, "x (2)": 3}),
        (FRAME, [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        (DataFrame([]), [{}, {}]),
        (DataFrame([("a", Series([1])), ("a", Series([2]))]), [{"a": 1, "a (2)": 2}]),
        (DataFrame([("a", Series([1]))], Labels(["x"])), [{"index": "x", "a": 1}]),
        (DataFrame([("a", Series([1]))], Labels(["x"], ["city"])), [{"city": "x", "a": 1}]),
        (DataFrame([("a", Series([1]))], Labels([(1, 2)], ["x", None])), [{"x": 1, "level_1": 2, "a": 1}]),
        ({"deep": [(Array([1]), {"deeper": Index()})]}, {"deep": [[[1], {"deeper": 7}]]}),
        ({Index(): 1}, {"7": 1}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_array_like_value_has_a_json_form(value, form):
    """Use `__index__`, `.item()`, `.tolist()`; the index of a table is not lost."""
    assert require_json(value) == form
    assert as_json(value) == form
    assert type(require_json(value)) is type(form)


def test_a_table_has_the_shape_that_is_wanted():
    """A return annotation may ask for an array or an object."""
    labelled = Series([1, 2], Labels(["x", "y"]))
    assert require_json(labelled, "array") == [1, 2]
    assert require_json(labelled, "object") == {"x": 1, "y": 2}
    assert require_json(FRAME, "object") == {"a": [1, 2], "b": ["x", None]}
    assert require_json([labelled], "array") == [{"x": 1, "y": 2}]


def test_only_arrays_are_replaced_by_plain_values():
    """An object of any other class, and a container without arrays, stays what it is."""
    plain: list[Any] = [1, "a", {"b": (object(), 2)}]
    assert replace_arrays(plain) is plain
    assert replace_arrays([Index(), {"a": (Array([1]), "x")}]) == [7, {"a": ([1], "x")}]


def test_an_array_that_is_too_large_is_refused():
    """Its list would fill the memory. The error has the remedy."""
    with pytest.raises(UnsendableValue, match="6,000,000 items, and at most 5,000,000 can be given; return a part"):
        require_json(Array([], size=6_000_000))


@pytest.mark.parametrize("value", [object(), 1.5j, dt.date(2024, 5, 1), ValueError()], ids=type)
def test_a_value_that_is_not_an_array_is_left_to_its_codec(value):
    assert to_plain_value(value) is UNKNOWN


def test_the_library_imports_none_of_the_packages():
    """A program pays only for what it uses."""
    code = (
        "import sys, toolkit; print([n for n in ('numpy', 'pandas', 'polars', 'attr', 'pydantic') if n in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


# The real packages.


def test_values_of_numpy():
    """Numbers, arrays of any shape, dates, records and masks."""
    np = pytest.importorskip("numpy")
    numbers = [np.int64(3), np.uint8(3), np.float32(1.5), np.float64(1.5), np.longdouble(1.5), np.bool_(True)]
    assert require_json(numbers) == [3, 3, 1.5, 1.5, 1.5, True]
    assert [type(item) for item in require_json(numbers)] == [int, int, float, float, float, bool]
    assert require_json(np.arange(2000)) == list(range(2000))
    assert require_json(np.zeros((2, 0, 3))) == [[], []]
    assert require_json(np.array(5)) == 5
    assert require_json([np.float64("nan"), np.float32("inf")]) == ["nan", "inf"]
    assert require_json([np.str_("a"), np.bytes_(b"a"), np.complex64(1 + 2j)]) == ["a", "YQ==", "(1+2j)"]
    assert require_json(np.datetime64("2024-05-01")) == "2024-05-01"
    assert require_json(np.array(["2024-05-01T12:00:00.5", "NaT"], "M8[ns]")) == ["2024-05-01T12:00:00.5", None]
    assert require_json(np.array([90, "NaT"], "m8[m]")) == ["PT1H30M", None]
    assert require_json(np.array([(1, 2.5)], [("x", "i4"), ("y", "f8")])) == [{"x": 1, "y": 2.5}]
    assert require_json([np.ma.array([1, 2], mask=[0, 1]), np.ma.masked]) == [[1, None], None]
    assert require_json(np.array([{"a": np.int8(1)}, None])) == [{"a": 1}, None]
    assert require_json({np.int64(3): np.int64(4)}) == {"3": 4}
    with pytest.raises(UnsendableValue, match="items"):
        require_json(np.broadcast_to(0, (10**9,)))


def test_values_of_pandas():
    """Times, missing values, columns and tables."""
    pd = pytest.importorskip("pandas")
    assert require_json([pd.Timestamp("2024-05-01 12:00", tz="UTC"), pd.NaT, pd.NA]) == [
        "2024-05-01T12:00:00+00:00",
        None,
        None,
    ]
    assert require_json([pd.Timedelta("1h"), pd.Timedelta("-1ns")]) == ["PT1H", "-PT0.000000001S"]
    assert require_json([pd.Period("2024-01"), pd.Interval(0, 1)]) == ["2024-01", "(0, 1]"]
    assert require_json(pd.Categorical(["a", None])) == ["a", None]
    assert require_json(pd.Series([1.5, None])) == [1.5, "nan"]
    assert require_json(pd.Series([1, None], dtype="Int64")) == [1, None]
    assert require_json(pd.Series(["a", None])) == ["a", None]
    assert require_json(pd.Series(["a", "b", "a"]).value_counts()) == {"a": 2, "b": 1}
    assert require_json(pd.Index([1, 2])) == [1, 2]
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-05-01", None]), "n": [1, 2], "k": ["x", None]})
    rows = [{"day": "2024-05-01T00:00:00", "n": 1, "k": "x"}, {"day": None, "n": 2, "k": None}]
    assert require_json(frame) == rows
    assert require_json(frame.set_index("k")[["n"]]) == [{"k": "x", "n": 1}, {"k": None, "n": 2}]
    assert require_json(frame[frame.n > 1][["n"]]) == [{"index": 1, "n": 2}]
    assert require_json(frame.groupby(["n", "k"]).size()) == {'[1,"x"]': 1}
    wide = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert require_json(wide) == [{'["a","b"]': 1, '["a","c"]': 2}]
    assert as_text(require_json(frame)).startswith('[{"day":"2024-05-01T00:00:00"')


def test_columns_and_tables_of_polars_have_a_json_form():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, 2], "day": [dt.date(2024, 5, 1), None]})
    assert require_json(frame) == [{"a": 1, "day": "2024-05-01"}, {"a": 2, "day": None}]
    assert require_json(frame["a"]) == [1, 2]
    assert require_json(frame[["a"]], "object") == {"a": [1, 2]}


@pytest.mark.anyio
async def test_a_tool_may_return_a_numpy_number_for_an_int():
    """The value, the text and the output schema are those of an int. A boolean and an array work as well."""
    np = pytest.importorskip("numpy")
    catalog = Catalog()

    @catalog.tool
    async def count() -> int:
        """Count."""
        return np.int64(3)

    @catalog.tool
    async def check() -> bool:
        """Check."""
        return np.bool_(True)

    @catalog.tool
    async def measure() -> list[float]:
        """Measure."""
        return np.arange(2000.0)

    dispatcher = Dispatcher(catalog)
    results = [await dispatcher.call(name) for name in ("count", "check", "measure")]
    assert [result.kind for result in results] == ["ok"] * 3
    assert [result.value for result in results] == [3, True, list(map(float, range(2000)))]
    assert [result.text for result in results][:2] == ["3", "true"]
    assert isinstance(results[0].returned, np.int64)
