"""
Apply limits to decoded values: time zones, files on the disk, versions of UUIDs, classes, stripped texts.

JSON Schema cannot express these limits, so most of them add a sentence to the description. After a validator has
changed a value, the plain limits are checked here too, because the schema is about the value before the change.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_origin

from ..._lazy_names import LazyModule
from .base import Codec
from .code_writer import CodeWriter
from .limits import Limit, build_digits_limit, build_pattern_limit, build_predicate_limit, check_limits
from .ranks import narrow_breadth
from .refusals import OutputRefusal, Refusal, RefusedMetadata

if TYPE_CHECKING:
    import datetime as dt
    import pathlib
    import uuid
else:
    dt, pathlib, uuid = LazyModule("datetime"), LazyModule("pathlib"), LazyModule("uuid")

__all__ = [
    "apply_text_options",
    "build_instance_limit",
    "build_path_limit",
    "build_timezone_limit",
    "build_version_limit",
    "iter_value_limits",
    "list_text_options",
]


def build_timezone_limit(codec: Codec, zone: Any) -> Limit:
    """
    Return the limit of `Timezone(zone)` from annotated-types.

    *zone* is None for a time without a zone, `...` for any zone, the name of a zone, or a `tzinfo`.
    """
    _require_type(codec, (dt.datetime, dt.time), "Timezone", "a datetime")
    if isinstance(zone, str):
        import zoneinfo  # importing it takes longer than most modules of the package, and few annotations need it

        try:
            zone = zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise RefusedMetadata(f"Timezone: there is no time zone {zone!r} here; check its name") from None

    def holds(value: Any) -> bool:
        if not isinstance(value, (dt.datetime, dt.time)):
            return True
        if zone is None:
            return value.tzinfo is None
        if value.tzinfo is None:
            return False
        if zone is ...:
            return True
        local = value.astimezone(zone) if isinstance(value, dt.datetime) else value.replace(tzinfo=zone)
        return local.utcoffset() == value.utcoffset()

    if zone is None:
        return Limit({}, holds, "a time without a time zone", on_decoded=True, note="Without a time zone.")
    words = "with a time zone" if zone is ... else f"in the time zone {zone}"
    return Limit({}, holds, f"a time {words}", on_decoded=True, note=f"{words[0].upper()}{words[1:]}.")


_PATH_CHECKS: Mapping[str, tuple[str, Callable[[pathlib.Path], bool]]] = {
    "file": ("a file that exists", operator.methodcaller("is_file")),
    "dir": ("a folder that exists", operator.methodcaller("is_dir")),
    "new": (
        "a path that does not exist yet, in a folder that exists",
        lambda path: not path.exists() and path.parent.exists(),
    ),
    "socket": ("a socket that exists", operator.methodcaller("is_socket")),
}


def build_path_limit(codec: Codec, kind: str) -> Limit:
    """Return the limit of pydantic's `FilePath`, `DirectoryPath`, `NewPath` and `SocketPath`."""
    _require_type(codec, (pathlib.Path,), f"PathType({kind!r})", "a Path")
    if kind not in _PATH_CHECKS:
        raise RefusedMetadata(f"PathType({kind!r}) is not known here; use FilePath, DirectoryPath or NewPath")
    words, check = _PATH_CHECKS[kind]

    def holds(value: Any) -> bool:
        return not isinstance(value, pathlib.Path) or check(value)

    return Limit({}, holds, words, on_decoded=True, note=f"{words[0].upper()}{words[1:]}.")


def build_version_limit(codec: Codec, version: int) -> Limit:
    """Return the limit of pydantic's `UUID4` and its siblings."""
    _require_type(codec, (uuid.UUID,), f"UuidVersion({version})", "a UUID")

    def holds(value: Any) -> bool:
        # `UUID.version` is None if the variant is another one, but the digit still says the version.
        return not isinstance(value, uuid.UUID) or (value.int >> 76) & 0xF == version

    return Limit({"format": f"uuid{version}"}, holds, f"a UUID of version {version}", on_decoded=True)


def build_instance_limit(codec: Codec, hint: Any) -> Limit:
    """Return the limit of pydantic's `InstanceOf`: the decoded value is an instance of *hint*."""
    cls = get_origin(hint) or hint
    if not isinstance(cls, type):
        cls = codec.type  # the hint may be the name of a class, or a type variable
    if cls is None:
        raise RefusedMetadata(f"InstanceOf stands beside a class, not beside {hint!r}; leave it out")
    return Limit({}, lambda value: isinstance(value, cls), f"an instance of {cls.__name__}", on_decoded=True)


def _require_type(codec: Codec, classes: tuple[type, ...], name: str, wanted: str) -> None:
    """Raise `RefusedMetadata` if no value of *codec* can be an instance of *classes*."""
    types = [member.type for member in codec.members or (codec,)]
    if not any(kind is None or issubclass(kind, classes) for kind in types):
        names = " | ".join(kind.__name__ for kind in types if kind is not None)
        raise RefusedMetadata(f"{name} is about {wanted}, and {names} is none; leave it out, or change the type")


_COMPARISONS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "more than"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "less than"),
    "min_length": (lambda value, count: len(value) >= count, "a length of at least"),
    "max_length": (lambda value, count: len(value) <= count, "a length of at most"),
    "multiple_of": (lambda value, factor: not value % factor, "a multiple of"),
}


def iter_value_limits(codec: Codec, item: Any) -> Iterator[Limit]:
    """Yield the limits that the metadata *item* states about a value that a validator may have changed."""
    for name, (compare, words) in _COMPARISONS.items():
        bound = getattr(item, name, None)
        if bound is not None:
            yield _build_comparison(compare, bound, words)
    for name in ("max_digits", "decimal_places"):
        if (count := getattr(item, name, None)) is not None:
            yield build_digits_limit(name, count)
    if (pattern := getattr(item, "pattern", None)) is not None:
        limit = build_pattern_limit(pattern)
        yield Limit({}, limit.holds, limit.message, on_decoded=True)
    if any(cls.__name__ == "Predicate" for cls in type(item).__mro__):
        yield build_predicate_limit(codec, item.func)


def _build_comparison(compare: Callable[[Any, Any], bool], bound: Any, words: str) -> Limit:
    return Limit({}, lambda value: compare(value, bound), f"{words} {bound}", on_decoded=True)


# The options of pydantic's `StringConstraints` that change a text, in the order in which they do.

_TEXT_OPTIONS: Mapping[str, Callable[[str], str]] = {
    "strip_whitespace": str.strip,
    "to_lower": str.lower,
    "to_upper": str.upper,
}


def list_text_options(items: Sequence[Any]) -> list[str]:
    """Return the names of the changes of a text that the metadata *items* ask for."""
    return [name for name in _TEXT_OPTIONS if any(getattr(item, name, None) for item in items)]


def apply_text_options(base: Codec, options: Sequence[str], limits: Sequence[Limit], *, on_output: bool) -> Codec:
    """
    Return *base* with *options* applied to its texts.

    The *limits* hold for the text as it was sent, because the schema states them. They also have to hold for the text
    without the white space around it.
    """
    if base.type not in (None, str) or (base.kinds and "string" not in base.kinds):
        raise RefusedMetadata(
            f"StringConstraints is about text, and {base.type.__name__ if base.type else 'the type'} is none; "
            f"leave it out, or use an AfterValidator"
        )

    def change(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        stripped = text.strip() if "strip_whitespace" in options else text
        check_limits(limits, stripped, stripped)
        return functools.reduce(lambda result, name: _TEXT_OPTIONS[name](result), options, text)

    def emit(writer: CodeWriter, value: str) -> str:
        return f"{writer.constant(change)}({writer.convert(base, value)})"

    def encode_changed(value: Any) -> Any:
        form = base.encode(value)
        try:
            return change(form)
        except Refusal as refusal:
            raise OutputRefusal(*refusal.problems) from None

    return replace(
        base,
        decode=lambda value: change(base.decode(value)),
        encode=encode_changed if on_output else base.encode,
        type=None if on_output else base.type,
        breadth=narrow_breadth(base.breadth),
        members=(),
        emit=None if base.emit is None else emit,
    )
