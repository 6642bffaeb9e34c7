"""
Repairs before a refusal, and a note of each.

Models send a list as JSON text, `"5"` for an integer, one item for a list. Only
what the schema refused is touched, only where the schema says what was meant,
and only if everything then passes; otherwise the call is refused as it came.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import Problem
from .strictjson import MAX_DEPTH, flaws, loads, show

__all__ = ["Repaired", "repaired"]

_MOST_TRIES = 1000
_UNIONS = ("anyOf", "oneOf")
_MENDABLE = ("type", "enum", "const", *_UNIONS)
_DESCENTS = frozenset(["properties", "additionalProperties", "patternProperties", "items", "prefixItems"])
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_NOTHING = object()

Path: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """Arguments that fit now, and what was done to them."""

    arguments: dict[str, Any]
    notes: tuple[str, ...]


def repaired(arguments: Any, judge: Any, *, hidden: Collection[str] = ()) -> Repaired | None:
    """
    *arguments* mended until *judge*, a jsonschema validator, has no errors; None if that cannot be had.

    The values of *hidden* parameters are not shown in the notes.
    """
    if not isinstance(arguments, (dict, str)) or flaws(arguments):
        return None
    try:
        done = _Mending(hidden).fitted(copy.deepcopy(arguments), judge, ())
    except Exception:  # noqa: BLE001 -- a repair is a courtesy; without it the refusal stands
        return None
    if done is None or not done.notes or not isinstance(done.value, dict) or flaws(done.value):
        return None
    return Repaired(done.value, tuple(done.notes))


@dataclass(slots=True)
class _Done:
    """A value that fits its schema now."""

    value: Any
    notes: list[str]


class _Mending:
    """One repair: how much was tried, and what must not be shown."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._tries = 0
        self._hidden = hidden

    def fitted(self, value: Any, judge: Any, place: Path) -> _Done | None:
        """*value*, which stands at *place* and is ours to change, mended until *judge* has no errors."""
        # In a box, so that the value itself can be replaced like anything inside it.
        box = [value]
        notes: list[str] = []
        # A schema that contains itself could have a value wrapped in lists without end.
        while self._tries < _MOST_TRIES and len(place) < MAX_DEPTH:
            self._tries += 1
            errors = list(judge.iter_errors(box[0]))
            if not errors:
                return _Done(box[0], notes)
            touched: list[Path] = []
            for error in errors:
                path = tuple(error.absolute_path)
                # Two errors of one value have one cause; the next round sees what is left.
                if not any(path[: len(other)] == other for other in touched):
                    found = self._mend(error, box, judge, place)
                    if found:
                        touched.append(path)
                        notes += found
            if not touched:
                return None
        return None

    def _mend(self, error: Any, box: list[Any], judge: Any, place: Path) -> list[str]:
        """Try to answer one error in place; what was done."""
        path = [0, *error.absolute_path]
        holder, key = _at(box, path[:-1]), path[-1]
        if error.validator == "additionalProperties" and error.validator_value is False:
            return self._renamed(holder, key, error.schema, (*place, *path[1:-1]))
        if error.validator not in _MENDABLE or (error.validator == "oneOf" and not error.context):
            return []  # without a context, more than one member fits: nothing is wrong with the value itself
        where = (*place, *path[1:])
        value = holder[key]
        whole = judge.evolve(schema=error.schema)
        if _is_null(value) and not whole.is_valid(None) and _left_out(error, holder, key, box[0], judge):
            return [f"{Problem('', where).where}: left out, because null was sent for an optional parameter"]
        done = self._meant(value, error, judge, whole, where)
        if done is None:
            return []
        holder[key] = done.value
        return done.notes

    def _meant(self, value: Any, error: Any, judge: Any, whole: Any, where: Path) -> _Done | None:
        """What *value* was probably meant to be; what is right at once comes before what has to be mended further."""
        candidates = [(each, [self._note(where, value, what)]) for each, what in _candidates(value)]
        for candidate, note in candidates:
            if whole.is_valid(candidate):
                return _Done(candidate, note)
        found: list[_Done] = []
        if error.validator in _UNIONS and error.context:
            for member in error.validator_value:
                done = self.fitted(copy.deepcopy(value), judge.evolve(schema=member), where)
                found += [done] if done is not None and whole.is_valid(done.value) else []
        for candidate, note in candidates:
            if isinstance(candidate, (dict, list)):
                done = self.fitted(copy.deepcopy(candidate), whole, where)
                found += [_Done(done.value, note + done.notes)] if done is not None else []
        # The member that needs the fewest repairs; the first of equals.
        return min(found, key=lambda each: len(each.notes), default=None)

    def _note(self, where: Path, value: Any, what: str) -> str:
        is_hidden = where[0] in self._hidden if where else bool(self._hidden)
        return f"{Problem('', where).where or 'arguments'}: took {what.format('a value' if is_hidden else show(value))}"

    def _renamed(self, holder: dict[str, Any], wrong: str, schema: Any, place: Path) -> list[str]:
        folded = _folded(wrong)
        known = [name for name in schema.get("properties", {}) if _folded(name) == folded]
        # Two keys that would become one: nobody can tell which value was meant.
        twins = [name for name in holder if name != wrong and _folded(name) == folded]
        if len(known) != 1 or twins or not folded:
            return []
        holder[known[0]] = holder.pop(wrong)
        return [f"{Problem('', (*place, known[0])).where}: took the key {show(wrong)} for {show(known[0])}"]


def _candidates(value: Any) -> Iterator[tuple[Any, str]]:
    """What *value* may have been meant to be, the most literal reading first, and in words with a gap for it."""
    parsed = _parsed(value)
    if parsed is not _NOTHING:
        yield parsed, "the text {} as the JSON it holds"
    if value is not None and not isinstance(value, list):
        yield [value], "{} as a list of one item"
        if parsed is not _NOTHING and parsed is not None and not isinstance(parsed, list):
            yield [parsed], "the text {} as a list of one item"


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return _NOTHING
    try:
        parsed = loads(value)
    except ValueError:
        return _WORDS.get(value.strip().lower(), _NOTHING)
    return _NOTHING if isinstance(parsed, str) or flaws(parsed) else parsed


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, str) and _parsed(value) is None)


def _left_out(error: Any, holder: Any, key: Any, root: Any, judge: Any) -> bool:
    """Take a null out of its object, if it stands for a declared property that is not required."""
    steps = list(error.absolute_schema_path)
    pairs = [index for index in range(len(steps) - 1) if steps[index] == "properties" and steps[index + 1] == key]
    # What follows its own `properties` must not lead further down: then it is an entry of a dictionary.
    if not isinstance(holder, dict) or not pairs or not _DESCENTS.isdisjoint(map(str, steps[pairs[-1] + 2 :])):
        return False
    kept = dict(holder)
    del holder[key]
    place = list(error.absolute_path)
    for other in judge.iter_errors(root):
        if other.validator == "required" and list(other.absolute_path) == place:
            holder.clear()
            holder.update(kept)
            return False
    return True


def _folded(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).lower()


def _at(root: Any, path: list[Any]) -> Any:
    for key in path:
        root = root[key]
    return root
