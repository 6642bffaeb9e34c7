"""
Convert arrays, tables and their numbers to plain Python values: those of numpy, pandas, polars and similar packages.

None of these packages is imported. A class is known by the name of its package, or by the methods that arrays have.

The index of a pandas object is kept unless it only counts the rows. A `Series` with an index of its own becomes a
dictionary, and a `DataFrame` gets its index as the first columns.
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from .._lazy_names import lazy_pattern
from .unsendable_value import UnsendableValue

__all__ = [
    "UNKNOWN",
    "Shape",
    "check_stream_size",
    "is_array_class",
    "limit_items",
    "number_repeated",
    "replace_arrays",
    "to_plain_value",
    "write_duration",
]

UNKNOWN: Any = object()
"""The answer for a value that is neither an array nor a table nor a number of such a package."""

Shape: TypeAlias = Literal["array", "object"]
"""The JSON type that is wanted, where a value has a form of either type."""

MAX_ITEMS = 5_000_000
"""The most items that a result may have. More of them would only fill the memory."""


def to_plain_value(value: Any, shape: Shape | None = None) -> Any:
    """
    Return *value* as Python values: numbers, texts, dates, lists and dictionaries. Return `UNKNOWN` for other classes.

    The items may be of any class. A missing value (`NaT`, `NA`, a masked item) is None.

    Raises:
        UnsendableValue: There are too many items.
    """
    kind = type(value)
    for package in _iter_packages(kind):
        read = _READERS.get(package)
        if read is not None:
            return read(value, kind, shape)
    if hasattr(kind, "tolist") and hasattr(kind, "dtype"):
        return _read_array(value, kind)
    if hasattr(kind, "item") and hasattr(kind, "dtype"):
        return value.item()
    return operator.index(value) if hasattr(kind, "__index__") else UNKNOWN


def is_array_class(kind: type) -> bool:
    """Return whether `to_plain_value` may convert objects of the class *kind*."""
    names = ("tolist", "item") if hasattr(kind, "dtype") else ("__index__",)
    return any(package in _READERS for package in _iter_packages(kind)) or any(hasattr(kind, name) for name in names)


def replace_arrays(value: Any) -> Any:
    """Return *value* with plain Python values in place of arrays at any depth, or *value* itself if it has none."""
    kind = type(value)
    if kind is list or kind is tuple:
        items = [replace_arrays(item) for item in value]
        return value if all(map(operator.is_, items, value)) else kind(items)
    if kind is dict:
        items = [replace_arrays(item) for item in value.values()]
        return value if all(map(operator.is_, items, value.values())) else dict(zip(value, items, strict=True))
    if issubclass(kind, (str, bytes, int, float, enum.Enum)):
        return value
    plain_value = to_plain_value(value)
    return value if plain_value is UNKNOWN else replace_arrays(plain_value)


def _iter_packages(kind: type) -> Iterator[str]:
    """Yield the packages in which *kind* and its bases are defined."""
    for cls in kind.__mro__:
        module = cls.__module__
        if isinstance(module, str):
            yield module.partition(".")[0]


def limit_items(items: Iterable[Any]) -> Iterator[Any]:
    """Yield *items*, and raise `UnsendableValue` if they are too many, because an iterator may never end."""
    for count, item in enumerate(items, 1):
        check_stream_size(count)
        yield item


def check_stream_size(count: int) -> None:
    """Raise `UnsendableValue` if *count* items, which were read from a stream so far, are too many for a result."""
    if count > MAX_ITEMS:
        raise UnsendableValue(f"it gives more than {MAX_ITEMS:,} items; return a part or a summary")


def _check_size(count: int) -> None:
    if count > MAX_ITEMS:
        raise UnsendableValue(
            f"it has {count:,} items, and at most {MAX_ITEMS:,} can be given; return a part or a summary"
        )


# Arrays, and numbers that know their `dtype`.


def _read_array(value: Any, kind: type) -> Any:
    dtype: Any = getattr(value, "dtype", None)
    size = getattr(value, "size", 0)
    _check_size(size if isinstance(size, int) else 0)
    letter = getattr(dtype, "kind", "")
    if letter == "M":
        return _map_items(value.astype(str).tolist(), _trim_time)
    if letter == "m":
        return _map_items(value.astype("int64").tolist(), _duration_writer(dtype.str))
    items = value.tolist()
    if names := getattr(dtype, "names", None):
        return _map_items(items, lambda row: dict(zip(names, row, strict=False)))
    if type(items) is kind:
        # A number with more digits than a Python `float` gives itself back.
        return complex(value) if letter == "c" else float(value)
    return items


def _map_items(items: Any, convert: Callable[[Any], Any]) -> Any:
    """Return nested lists with *convert* applied to every item that is not missing."""
    if isinstance(items, list):
        return [_map_items(item, convert) for item in items]
    return None if items is None else convert(items)


def _trim_time(text: str) -> str | None:
    """Return a date or a time without the zeros at its end, or None for "not a time"."""
    if text == "NaT":
        return None
    return text.rstrip("0").rstrip(".") if "." in text else text


# Durations. They are computed with whole numbers, because a `timedelta` has no nanoseconds.

_NOT_A_TIME = -(2**63)
_DURATION_TYPE = lazy_pattern(r".m8\[(\d*)(\w+)\]")
_UNITS = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
_FRACTIONS = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


def _duration_writer(dtype: str) -> Callable[[int], str | int | None]:
    """Return a function that writes a count of the units of *dtype*, such as `<m8[ns]`, as an ISO 8601 duration."""
    match = _DURATION_TYPE.fullmatch(dtype)
    multiple, unit = (int(match[1] or 1), match[2]) if match else (1, "")

    def write(count: int) -> str | int | None:
        if count == _NOT_A_TIME:
            return None
        count *= multiple
        if unit in ("Y", "M"):
            return f"{'-' if count < 0 else ''}P{abs(count)}{unit}"
        if unit in _UNITS:
            return write_duration(count * _UNITS[unit], 1)
        return write_duration(count, _FRACTIONS[unit]) if unit in _FRACTIONS else count

    return write


def write_duration(count: int, per_second: int) -> str:
    """Return *count* parts of a second, of which there are *per_second*, as an ISO 8601 duration."""
    sign, count = ("-", -count) if count < 0 else ("", count)
    seconds, fraction = divmod(count, per_second)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    decimals = f".{fraction:0{len(str(per_second)) - 1}d}".rstrip("0") if fraction else ""
    day_part = f"{days}D" if days else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    parts.append(f"{seconds}{decimals}S" if seconds or decimals else "")
    time_part = "".join(parts)
    if not day_part and not time_part:
        return "PT0S"
    return f"{sign}P{day_part}{'T' if time_part else ''}{time_part}"


# pandas.


def _read_pandas(value: Any, kind: type, shape: Shape | None) -> Any:
    names = {cls.__name__ for cls in kind.__mro__}
    if names & {"NaTType", "NAType"}:
        return None
    if "Timestamp" in names:
        return value.isoformat()
    if "Timedelta" in names:
        return to_plain_value(value.to_timedelta64())
    if names & {"Period", "Interval"}:
        return str(value)
    if "DataFrame" in names:
        return _read_frame(value, shape)
    if "Series" in names:
        return _read_series(value, shape)
    return _list_column(value) if hasattr(kind, "tolist") else UNKNOWN


def _list_column(column: Any) -> list[Any]:
    """Return the values of a column. Among numbers NaN is a number; in any other column it stands for no value."""
    _check_size(column.size)
    values: list[Any] = column.tolist()
    if getattr(column.dtype, "kind", "") in ("f", "c"):
        return values
    return [None if type(value) is float and math.isnan(value) else value for value in values]


def _read_series(series: Any, shape: Shape | None) -> Any:
    values = _list_column(series)
    if shape == "array" or (shape is None and _only_counts(series.index)):
        return values
    return dict(zip(number_repeated(series.index.tolist()), values, strict=True))


def _read_frame(frame: Any, shape: Shape | None) -> Any:
    _check_size(frame.size)
    names = frame.columns.tolist()
    columns = [_list_column(frame.iloc[:, position]) for position in range(len(names))]
    if not _only_counts(frame.index):
        index = frame.index
        levels = range(index.nlevels)
        unnamed = ["index"] if index.nlevels == 1 else [f"level_{level}" for level in levels]
        names = [name if name is not None else unnamed[level] for level, name in enumerate(index.names)] + names
        columns = [_list_column(index.get_level_values(level)) for level in levels] + columns
    names = number_repeated(names)
    if shape == "object":
        return dict(zip(names, columns, strict=True))
    if not names:
        return [{} for _ in range(len(frame))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _only_counts(index: Any) -> bool:
    """Return whether *index* is the one that pandas makes itself: 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def number_repeated(names: Sequence[Any]) -> list[Any]:
    """Return *names* with numbers added to those that come again, as in `a (2)`."""
    if len(set(names)) == len(names):
        return list(names)
    unique: dict[Any, None] = {}
    times: dict[Any, int] = {}
    for name in names:
        new_name = name
        while new_name in unique:
            times[name] = times.get(name, 1) + 1
            new_name = f"{name} ({times[name]})"
        unique[new_name] = None
    return list(unique)


# polars.


def _read_polars(value: Any, kind: type, shape: Shape | None) -> Any:
    if hasattr(kind, "to_dicts"):
        _check_size(value.height * value.width)
        return value.to_dict(as_series=False) if shape == "object" else value.to_dicts()
    if hasattr(kind, "to_list"):
        _check_size(len(value))
        return value.to_list()
    return UNKNOWN


_READERS: dict[str, Callable[[Any, type, Shape | None], Any]] = {
    "numpy": lambda value, kind, shape: _read_array(value, kind) if hasattr(kind, "tolist") else UNKNOWN,
    "pandas": _read_pandas,
    "polars": _read_polars,
}
