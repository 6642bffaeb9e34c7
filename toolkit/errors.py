"""
What can go wrong, named by what happens next.

    ToolkitError
    ├─ DefinitionError   the author must fix the tool; raised at decoration
    ├─ CatalogError      a catalog cannot do what it was asked
    │  ├─ UnknownTool      no such name; the nearest ones are suggested
    │  └─ DuplicateTool    the name is taken; both places are named
    ├─ ProviderError     the caller of the agent decides
    ├─ ApprovalError     a person's answer cannot be taken (`approvals`)
    ├─ AuditError        the audit log cannot be written, so nothing runs (`audit`)
    ├─ RuleError         a permission rule says nothing, or not what was meant (`permissions`)
    ├─ RuleFileError     the same for a file of rules or of shell hooks (`permissions`)
    ├─ TrustError        a folder cannot be trusted, or it is not known which are (`permissions`)
    └─ ToolError         a result the model can read; it may choose another way
       ├─ BadArgs        the model should correct the call
       ├─ AuthNeeded     credentials are missing; the call waits for them (`requests`)
       ├─ Safety         refused; the user is told why
       └─ Transient      the world's fault: tried again if that is harmless

A tool raises the last five itself. Messages say what was wrong, where, and what would be right.
Who misuses the package itself, with a timeout below 0 say, gets a plain `ValueError` or `TypeError`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Literal

__all__ = [
    "BadArgs",
    "CatalogError",
    "DefinitionError",
    "DuplicateTool",
    "Problem",
    "ProviderError",
    "Safety",
    "ToolError",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "nearest",
]

_MOST_PROBLEMS_SHOWN = 20
_MOST_CHARACTERS = 500
_MOST_TEXT = 4000
_MOST_CANDIDATES = 2000
_MOST_COMPARED = 40
_FOLDED_AT_ONCE = 500
_NO_LETTERS = re.compile(r"[\W_]+")
_PLAIN_KEY = re.compile(r"[^\W\d]\w{0,63}\Z")


class ToolkitError(Exception):
    """What goes wrong with tools, calls, rules and providers."""


class ToolkitWarning(UserWarning):
    """Something works, but a model or a colleague would be better served."""


class DefinitionError(ToolkitError):
    """A function cannot become a tool as it is written."""


class CatalogError(ToolkitError):
    """A catalog cannot do what it was asked."""


class UnknownTool(CatalogError, KeyError):  # noqa: N818 -- named by what happened, like KeyError's cousins in the tree
    """No tool or alias has this name."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(name)

    @property
    def suggestions(self) -> list[str]:
        """The nearest names, best first; worked out when someone asks."""
        return nearest(self.name, self.known) if isinstance(self.name, str) else []

    def __str__(self) -> str:
        hint = " or ".join(f"`{name}`" for name in self.suggestions)
        name = self.name[:100] if isinstance(self.name, str) else type(self.name).__name__
        return f"unknown tool `{name}`" + (f"; did you mean {hint}?" if hint else "")


class DuplicateTool(CatalogError):  # noqa: N818 -- see UnknownTool
    """A name or alias is already taken by another tool."""


class ProviderError(ToolkitError):
    """A model's provider refused, failed or could not be reached."""


class ToolError(ToolkitError):
    """A tool could not do what it was asked, and says so to the model."""


class Safety(ToolError):  # noqa: N818 -- named by what happens next
    """Refused because it could do harm; the user is told why."""


class Transient(ToolError):  # noqa: N818 -- named by what happens next
    """
    The world's fault, and likely to pass.

    Attributes:
        retry_after_seconds: How long the other side asked us to wait, if it did.
        happened: "maybe" if the effect may have taken place although no answer came.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retry_after_seconds: float | None = None,
        happened: Literal["no", "maybe"] = "no",
    ) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.happened = happened


class Problem:
    """
    One thing wrong with a call's arguments: where, and what would be right.

    Attributes:
        path: Keys and indices from the arguments down to the value.
        message: What was given and what would be right, short enough for a model.
            May be given as a function that words it when someone reads. What is too long is cut.
    """

    __slots__ = ("_message", "path")

    def __init__(self, message: str | Callable[[], str], path: Sequence[str | int] = ()) -> None:
        self._message = message
        self.path = tuple(path)

    @property
    def message(self) -> str:
        if not isinstance(self._message, str):
            self._message = self._message()
        if len(self._message) > _MOST_CHARACTERS:
            self._message = f"{self._message[: _MOST_CHARACTERS - 3]}..."
        return self._message

    def below(self, *keys: str | int) -> Problem:
        """The same problem, seen from the container that holds the value under *keys*."""
        return Problem(self._message, (*keys, *self.path))

    @property
    def where(self) -> str:
        """The path as a person writes it: `items[2].sku`."""
        text = ""
        for key in self.path[:16]:
            if isinstance(key, int):
                text += f"[{key}]"
            elif isinstance(key, str) and _PLAIN_KEY.match(key):
                text += f".{key}" if text else key
            else:
                text += f"[{str(key)[:60]!r}]"
        return text + ("..." if len(self.path) > 16 else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.path else self.message

    def __repr__(self) -> str:
        return f"Problem({self.message!r}, {self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.path, self.message) == (other.path, other.message)

    def __hash__(self) -> int:
        return hash((self.path, self.message))

    def __reduce__(self) -> tuple[type[Problem], tuple[str, tuple[str | int, ...]]]:
        return type(self), (self.message, self.path)


class BadArgs(ToolError):  # noqa: N818 -- named by what happens next
    """
    The arguments do not fit the tool; the model should correct the call.

    *problems* is a message, one or more `Problem`s, or a function that words them:
    words cost more than finding out, and are made only when someone reads them.
    """

    def __init__(self, problems: str | Problem | Sequence[Problem] | Callable[[], Sequence[Problem]]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        if isinstance(problems, Problem):
            problems = (problems,)
        self._problems = problems
        super().__init__()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong with the call."""
        if not isinstance(self._problems, tuple):
            worded = self._problems() if callable(self._problems) else self._problems
            self._problems = tuple(worded)
        return self._problems

    def __str__(self) -> str:
        text = ""
        for count, problem in enumerate(self.problems):
            line = str(problem)
            if count == _MOST_PROBLEMS_SHOWN or (count and len(text) + len(line) > _MOST_TEXT):
                return f"{text}; and {len(self.problems) - count} more"
            text = f"{text}; {line}" if count else line
        return text

    def __reduce__(self) -> tuple[type[BadArgs], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Return the names in *known* that *name* was probably meant to be, best first."""
    import difflib

    # Long junk is cut: difflib is quadratic, and nothing near it could be long.
    wanted = _fold(name[:100])
    shortest, longest = len(wanted) - 10, len(wanted) + 10
    folded: dict[str, str] = {}
    names = iter(known)
    while len(folded) < _MOST_CANDIDATES and (some := list(islice(names, _FOLDED_AT_ONCE))):
        for candidate, known_name in zip(_fold_all([some_name[:100] for some_name in some]), some, strict=True):
            if shortest <= len(candidate) <= longest and len(folded) < _MOST_CANDIDATES:
                folded.setdefault(candidate, known_name)
    likely = _most_alike(wanted, folded)
    matches = difflib.get_close_matches(wanted, likely, n=most, cutoff=0.6)
    return [folded[match] for match in matches]


def _most_alike(wanted: str, candidates: Collection[str]) -> list[str]:
    """Return the candidates that share the most pairs of letters with *wanted*, in their order."""
    if len(candidates) <= _MOST_COMPARED:
        return list(candidates)
    # Comparing two thousand names letter by letter takes many times as long as counting the pairs they share.
    pairs, length = list(dict.fromkeys(_pairs(wanted))), len(wanted) + 2
    shares = {
        name: len([pair for pair in pairs if pair in padded]) / (length + len(name))
        for name in candidates
        for padded in [f" {name} "]
    }
    least = sorted(shares.values())[-_MOST_COMPARED]
    return [name for name, share in shares.items() if share >= least][: 2 * _MOST_COMPARED]


def _pairs(name: str) -> Iterable[str]:
    """Return the pairs of neighbouring letters of *name*, its beginning and its end among them."""
    padded = f" {name} "
    return map(operator.add, padded, padded[1:])


def _fold(name: str) -> str:
    return (name.replace("_", "") if name.isidentifier() else _NO_LETTERS.sub("", name)).lower()


def _fold_all(names: list[str]) -> list[str]:
    """Return all *names* folded, in a tenth of the time that folding each would take."""
    text = "\n".join(names)
    for separator in "_.-":
        text = text.replace(separator, "")
    lines = text.split("\n")
    # Only if nothing but letters and digits is left, each line is one name.
    return (
        text.lower().split("\n") if len(lines) == len(names) and "".join(lines).isalnum() else list(map(_fold, names))
    )
