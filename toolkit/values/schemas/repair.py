"""
Repair arguments before they are refused, and note each repair.

Models send a list as JSON text, `"5"` for an integer, one item for a list, the name of an enum member for its value. A
repair changes only values that the schema refused, only where the schema shows what was meant, and only if the whole
value is valid afterwards. Otherwise the call is refused as it was sent. A repair has a budget of work that does not
depend on the input, so large input is not repaired.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from ..._plumbing.records import record
from ...errors import Problem
from ..strictjson.checks import MAX_DEPTH, copy_json, count_values, find_flaws, loads, show_value
from .keywords import MAX_ERRORS
from .member_names import FLAG_NAMES, MEMBER_NAMES, NO_VALUE, TEXT_NAMES, find_named_value, fold_name
from .vocabulary import KEYWORDS_FOR_CHILDREN, KEYWORDS_FOR_SAME_VALUE, UNION_KEYWORDS, stated_types

__all__ = ["RepairedArguments", "repair_arguments"]

# Visiting a value, or applying a schema to it, is one unit of work and takes about a microsecond. Handling an error
# takes about ten times as long.
_MAX_WORK = 60_000
_WORK_PER_ERROR = 10
_MAX_ERRORS_PER_ROUND = 1_000
# An error that cannot be repaired may vanish when another one is repaired, but so many errors hardly ever do.
_MAX_UNREPAIRED = 20
_REPAIRABLE_KEYWORDS = ("type", "enum", "const", *UNION_KEYWORDS)
_JSON_WORDS = {"true": True, "false": False, "null": None, "none": None}

Path: TypeAlias = tuple[Any, ...]
Candidate: TypeAlias = tuple[Any, str | None]
"""What a value may mean, and a description with a gap for the value; None if the value is a name."""


@record(frozen=True, slots=True)
class RepairedArguments:
    """Arguments that are valid after the repair, and a note for each change."""

    arguments: dict[str, Any]
    notes: tuple[str, ...]


def repair_arguments(
    arguments: Any, validator: Any, *, hidden: Collection[str] = (), errors: Sequence[Any] = ()
) -> RepairedArguments | None:
    """
    Repair *arguments* until *validator*, a jsonschema validator, finds no errors; return None if that is impossible.

    The notes do not show the values of *hidden* parameters. *errors* are those that *validator* has just found in
    *arguments*, which are strict JSON then, so that it does not look for them again.
    """
    # A longer list of errors may not be complete.
    known_errors = list(errors) if 0 < len(errors) < MAX_ERRORS else None
    if not isinstance(arguments, (dict, str)) or (count := count_values(arguments, _MAX_WORK)) >= _MAX_WORK:
        return None
    if known_errors is None and find_flaws(arguments):
        return None
    try:
        run = _RepairRun(hidden)
        if known_errors is not None:
            run.spend_on_check(count, validator, known_errors)
        result = run.fit(copy_json(arguments), validator, (), known_errors)
    except Exception:  # noqa: BLE001 -- a repair is optional; without it the call is refused
        return None
    if result is None or not result.notes or not isinstance(result.value, dict) or find_flaws(result.value):
        return None
    return RepairedArguments(result.value, tuple(result.notes))


@record(slots=True)
class _FittedValue:
    """A value that fits its schema after the repair."""

    value: Any
    notes: list[str]


class _TooMuchWork(Exception):  # noqa: N818 -- caught here; it only ends the repair
    """The work budget of a repair is used up."""


class _RepairRun:
    """The state of one repair: how much work is left, and which parameters the notes must not show."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._work_left = _MAX_WORK
        self._hidden = hidden
        # The key is the identity of an object. The value is the object, so that its identity is not reused, and its
        # folded keys.
        self._folded_keys: dict[int, tuple[Any, Counter[str]]] = {}

    def fit(self, value: Any, validator: Any, place: Path, errors: list[Any] | None = None) -> _FittedValue | None:
        """
        Return *value* repaired until *validator* finds no errors, or None if that is impossible.

        *place* is the path of the value. The repair may change *value* itself. *errors* are those of *value*, if they
        are known already.
        """
        # The value is in a list, so that it can be replaced in the same way as its parts.
        box = [value]
        notes: list[str] = []
        # If a schema contains itself, a value could be wrapped in lists without end.
        while len(place) < MAX_DEPTH:
            if errors is None:
                errors = self._collect_errors(box[0], validator)
            if not errors:
                return _FittedValue(box[0], notes)
            new_notes = self._repair_errors(errors, box, validator, place)
            if not new_notes:
                return None
            notes += new_notes
            errors = None
        return None

    def _repair_errors(self, errors: list[Any], box: list[Any], validator: Any, place: Path) -> list[str]:
        """Try to repair each of *errors*. Return the notes, or an empty list if too many errors cannot be repaired."""
        notes: list[str] = []
        repaired_paths: set[Path] = set()
        failures_left = _MAX_UNREPAIRED
        for error in errors:
            path = tuple(error.absolute_path)
            # Two errors of one value usually have one cause. The next round handles the errors that remain.
            if repaired_paths and not repaired_paths.isdisjoint(path[:length] for length in range(len(path) + 1)):
                continue
            new_notes = self._repair_error(error, box, validator, place)
            if new_notes:
                repaired_paths.add(path)
                notes += new_notes
            else:
                failures_left -= 1
            if not failures_left:
                return []
        return notes

    def _collect_errors(self, value: Any, validator: Any) -> list[Any]:
        """Return the errors that *validator* finds in *value*, and subtract the work from the budget."""
        self._spend(count_values(value, self._work_left + 1))
        errors = list(validator.iter_errors(value, max_errors=_MAX_ERRORS_PER_ROUND))
        self.spend_on_check(0, validator, errors)
        return errors

    def spend_on_check(self, value_count: int, validator: Any, errors: list[Any]) -> None:
        """Subtract the work of the last check of *validator*, which found *errors*, from the budget."""
        self._spend(value_count + validator.steps_taken + _WORK_PER_ERROR * len(errors))

    def _spend(self, work: int) -> None:
        self._work_left -= work
        if self._work_left < 0:
            raise _TooMuchWork

    def _repair_error(self, error: Any, box: list[Any], validator: Any, place: Path) -> list[str]:
        """Try to repair one error in place. Return the notes."""
        path = [0, *error.absolute_path]
        holder: Any = functools.reduce(operator.getitem, path[:-1], box)
        key = path[-1]
        if error.validator == "additionalProperties" and error.validator_value is False:
            return self._rename_key(holder, key, error.schema, (*place, *path[1:-1]))
        if error.validator not in _REPAIRABLE_KEYWORDS or (error.validator == "oneOf" and not error.context):
            return []  # without a context, more than one member fits, so the value itself has no error
        where = (*place, *path[1:])
        if list(error.schema_path)[-2:-1] == ["propertyNames"]:
            return self._rename_to_member(holder[key], error, where)
        value = holder[key]
        parsed, named_value = _parse_text(value), find_named_value(error.schema, value)
        # "none" may be the name of an enum member.
        is_null = (value is None or parsed is None) and named_value is NO_VALUE
        candidates: list[Candidate] = [
            candidate for candidate in _candidates(value, parsed) if _may_fit(error.schema, candidate[0])
        ]
        if named_value is not NO_VALUE:
            candidates.insert(0, (named_value, None))
        is_union = error.validator in UNION_KEYWORDS and bool(error.context)
        if not (is_null or is_union or candidates):
            return []
        whole = validator.evolve(schema=error.schema)
        if is_null and not whole.is_valid(None) and self._remove_null(error, holder, key, box[0], validator):
            return [f"{Problem('', where).where}: left out, because null was sent for an optional parameter"]
        members = [validator.evolve(schema=member) for member in error.validator_value] if is_union else []
        result = self._find_meaning(value, candidates, members, whole, where)
        if result is None:
            return []
        holder[key] = result.value
        return result.notes

    def _find_meaning(
        self, value: Any, candidates: list[Candidate], member_validators: list[Any], whole_validator: Any, where: Path
    ) -> _FittedValue | None:
        """Return what *value* probably means, or None. A reading that fits at once comes before all others."""
        for candidate, text in candidates:
            self._spend(count_values(candidate, self._work_left + 1))
            if whole_validator.is_valid(candidate):
                return _FittedValue(candidate, [self._note(where, value, candidate, text)])
        readings: list[_FittedValue] = []
        for member_validator in member_validators:
            result = self.fit(copy_json(value), member_validator, where)
            readings += [result] if result is not None and whole_validator.is_valid(result.value) else []
        for candidate, text in candidates:
            if isinstance(candidate, (dict, list)):
                result = self.fit(copy_json(candidate), whole_validator, where)
                if result is not None:
                    note = self._note(where, value, candidate, text)
                    readings.append(_FittedValue(result.value, [note, *result.notes]))
        # The reading with the fewest repairs wins. Among equals, the first one wins.
        return min(readings, key=lambda reading: len(reading.notes), default=None)

    def _note(self, where: Path, value: Any, candidate: Any, text: str | None) -> str:
        """Return the note that *candidate* was taken for *value*. Without a *text*, *value* is a name."""
        place = Problem("", where).where or "arguments"
        if text is not None:
            return f"{place}: took {text.format('a value' if self._is_hidden(where) else show_value(value))}"
        if self._is_hidden(where):
            return f"{place}: took a name as its value"
        names = f"the names in {show_value(value)}" if isinstance(value, list) else f"the name {show_value(value)}"
        return f"{place}: took {names} as {show_value(candidate)}"

    def _is_hidden(self, where: Path) -> bool:
        return where[0] in self._hidden if where else bool(self._hidden)

    def _rename_key(self, holder: dict[str, Any], wrong: str, schema: Any, place: Path) -> list[str]:
        """Rename the key *wrong* to the one declared name that differs from it only in case or separators."""
        folded = fold_name(wrong)
        declared = [name for name in schema.get("properties", {}) if fold_name(name) == folded]
        # If two keys would become one, the repair cannot know which value was meant.
        if len(declared) != 1 or not folded or self._count_folded(holder)[folded] > 1:
            return []
        name = declared[0]
        holder[name] = holder.pop(wrong)
        return [f"{Problem('', (*place, name)).where}: took the key {show_value(wrong)} for {show_value(name)}"]

    def _rename_to_member(self, holder: dict[str, Any], error: Any, place: Path) -> list[str]:
        """Rename a key that is the name of an enum member to the value of that member."""
        wrong, key = error.instance, find_named_value(error.schema, error.instance)
        if not isinstance(key, str) or key in holder:
            return []
        holder[key] = holder.pop(wrong)
        self._folded_keys.pop(id(holder), None)
        return [f"{Problem('', (*place, key)).where}: took the key {show_value(wrong)} for {show_value(key)}"]

    def _count_folded(self, holder: dict[str, Any]) -> Counter[str]:
        """Return how often each folded key occurs in *holder*. Renaming a key does not change these counts."""
        if id(holder) not in self._folded_keys:
            self._folded_keys[id(holder)] = (holder, Counter(map(fold_name, holder)))
        return self._folded_keys[id(holder)][1]

    def _remove_null(self, error: Any, holder: Any, key: Any, root: Any, validator: Any) -> bool:
        """Remove a null that is the value of a declared property which is not required. Return whether it was."""
        steps = list(error.absolute_schema_path)
        pairs = [index for index in range(len(steps) - 1) if steps[index] == "properties" and steps[index + 1] == key]
        # The steps after the key's own `properties` must not lead deeper. If they do, the null is an entry of a
        # dictionary.
        if (
            not isinstance(holder, dict)
            or not pairs
            or not KEYWORDS_FOR_CHILDREN.isdisjoint(map(str, steps[pairs[-1] + 2 :]))
        ):
            return False
        backup = dict(holder)
        del holder[key]
        place = list(error.absolute_path)
        for other in self._collect_errors(root, validator):
            if other.validator == "required" and list(other.absolute_path) == place:
                holder.clear()
                holder.update(backup)
                return False
        # The object lost a key, so its folded keys must be counted again.
        self._folded_keys.pop(id(holder), None)
        return True


def _candidates(value: Any, parsed: Any) -> Iterator[Candidate]:
    """Yield what *value*, or the JSON that it holds as text, may mean, the most literal first, with a description."""
    if parsed is not NO_VALUE:
        yield parsed, "the text {} as the JSON it holds"
    if value is not None and not isinstance(value, list):
        yield [value], "{} as a list of one item"
        if parsed is not NO_VALUE and parsed is not None and not isinstance(parsed, list):
            yield [parsed], "the text {} as a list of one item"


def _may_fit(schema: Any, candidate: Any) -> bool:
    """Return False if *candidate* is a list, and no repair of it could fit *schema*, which wants another type."""
    if type(candidate) is not list or "array" in (types := stated_types(schema)) or not types:
        return True
    # No other meaning of a list is tried than the names of flags and the members of unions.
    return not schema.keys().isdisjoint(_KEYWORDS_FOR_LISTS)


_KEYWORDS_FOR_LISTS = KEYWORDS_FOR_SAME_VALUE | {MEMBER_NAMES, FLAG_NAMES, TEXT_NAMES, "$ref", "$dynamicRef"}


def _parse_text(value: Any) -> Any:
    """Return the JSON value that the text *value* holds; `NO_VALUE` if it holds none, or another text."""
    if not isinstance(value, str):
        return NO_VALUE
    text = value.strip()
    if not text or text[0] not in "{[-0123456789":  # the error of the parser would take ten times as long
        return _JSON_WORDS.get(text.lower(), NO_VALUE)
    try:
        parsed = loads(value)
    except ValueError:
        return NO_VALUE
    return NO_VALUE if find_flaws(parsed) else parsed
