"""
The exceptions of this package, each named by what happens next.

    ToolkitError
    ├─ DefinitionError   the author must fix the tool; raised at decoration
    ├─ CatalogError      a catalog cannot do what it was asked
    │  ├─ UnknownTool      no tool has the name; the nearest names are suggested
    │  └─ DuplicateTool    the name is taken; the message names both places
    ├─ ProviderError     the caller of the agent decides
    ├─ ApprovalError     a person's answer cannot be accepted (`approvals`)
    ├─ AuditError        the audit log cannot be written, so the call does not run (`policies.audit`)
    ├─ RuleError         a permission rule has no effect, or not the intended one (`permissions`)
    ├─ SettingsError     there are mistakes in settings; no call should run without them (`settings`)
    ├─ TrustError        a folder cannot be trusted, or the trust file cannot be read or written (`settings`)
    └─ ToolError         a result that the model can read; it may choose another way
       ├─ BadArgs        the model should correct the call
       ├─ AuthNeeded     credentials are missing; the call waits for them (`decisions`)
       ├─ Safety         refused; the user is told why
       └─ Transient      a temporary failure outside the tool; retried if a retry is harmless

A tool raises the last five itself. Messages say what was wrong, where, and what would be right. A program that misuses
the package itself, for example with a timeout below 0, gets a plain `ValueError` or `TypeError`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

__all__ = [
    "BadArgs",
    "CatalogError",
    "DefinitionError",
    "DuplicateTool",
    "ErrorInfo",
    "Problem",
    "ProviderError",
    "Safety",
    "ToolError",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "find_nearest",
    "rebuild_error",
]

_MAX_PROBLEMS_SHOWN = 20
_MAX_MESSAGE_CHARS = 500
_MAX_PATH_CHARS = 100
_MAX_TEXT_CHARS = 4000
_MAX_LINE_CHARS = 499
_MAX_CANDIDATES = 2000
_MAX_COMPARED = 40
_MIN_RATIO = 0.6
_NON_LETTERS = re.compile(r"[\W_]+")
_PLAIN_KEY = re.compile(r"[^\W\d]\w{0,63}\Z")


class ToolkitError(Exception):
    """The base class of the errors of tools, calls, rules and providers."""


class ToolkitWarning(UserWarning):
    """A warning that code works, but should be changed to help a model or a reader."""


class DefinitionError(ToolkitError):
    """
    Raised if a function cannot become a tool as it is written.

    The names and types in a message may be of any length. A line that is too long loses its middle, because it begins
    with the place and ends with the remedy. A message has a line for each mistake.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= _MAX_LINE_CHARS else "\n".join(map(_cut_line, message.split("\n"))))


def _cut_line(line: str) -> str:
    half = _MAX_LINE_CHARS // 2 - 3
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[:half]} ... {line[-half:]}"


class CatalogError(ToolkitError):
    """Raised if a catalog cannot do what it was asked."""


class UnknownTool(CatalogError, KeyError):  # noqa: N818 -- the name says what happened, as the other names here do
    """
    Raised if no tool or alias has the name.

    Attributes:
        name: The name that was looked for.
        known: The names that there are.
    """

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(name)

    @property
    def suggestions(self) -> list[str]:
        """The nearest names, best first. They are computed when a program reads them."""
        return find_nearest(self.name, self.known) if isinstance(self.name, str) else []

    def __str__(self) -> str:
        hint = " or ".join(f"`{name}`" for name in self.suggestions)
        name = self.name[:100] if isinstance(self.name, str) else type(self.name).__name__
        return f"unknown tool `{name}`" + (f"; did you mean {hint}?" if hint else "")


class DuplicateTool(CatalogError):  # noqa: N818 -- see UnknownTool
    """Raised if another tool already has the name or alias."""


class ProviderError(ToolkitError):
    """Raised if a model's provider refused, failed or could not be reached."""


class ToolError(ToolkitError):
    """Raised by a tool that could not do what it was asked. The model reads the message."""


class Safety(ToolError):  # noqa: N818 -- errors are named by what happens next
    """Raised if a call is refused because it could do harm. The user is told why."""


class Transient(ToolError):  # noqa: N818 -- errors are named by what happens next
    """
    Raised for a failure outside the tool that will probably pass.

    Attributes:
        retry_after_seconds: How long the other side asked the program to wait, if it asked.
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
    One problem with a call's arguments: where it is, and what would be right.

    Attributes:
        path: Keys and indices from the arguments down to the value.
        message: What was given and what would be right, short enough for a model. It may be given as a function,
            which is called when the message is first read. A message that is too long is cut.
    """

    __slots__ = ("_message", "path")

    def __init__(self, message: str | Callable[[], str], path: Sequence[str | int] = ()) -> None:
        self._message = message
        self.path = tuple(path)

    @property
    def message(self) -> str:
        if not isinstance(self._message, str):
            self._message = self._message()
        if len(self._message) > _MAX_MESSAGE_CHARS:
            self._message = f"{self._message[: _MAX_MESSAGE_CHARS - 3]}..."
        return self._message

    def below(self, *keys: str | int) -> Problem:
        """Return the same problem, seen from the container that holds the value under *keys*."""
        return Problem(self._message, (*keys, *self.path))

    @property
    def where(self) -> str:
        """The path as a person writes it: `items[2].sku`."""
        path = self.path
        if len(path) == 1 and type(path[0]) is str and _is_plain_key(path[0]):  # most problems are of one parameter
            return path[0]
        text = ""
        for key in path[:16]:
            if isinstance(key, int):
                text += f"[{key}]"
            elif isinstance(key, str) and _is_plain_key(key):
                text += f".{key}" if text else key
            else:
                text += f"[{str(key)[:60]!r}]"
        is_cut = len(path) > 16 or len(text) > _MAX_PATH_CHARS
        return f"{text[: _MAX_PATH_CHARS - 3]}..." if is_cut else text

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


def _is_plain_key(key: str) -> bool:
    # Nearly all keys are names of parameters, for which Python has a quicker answer than the pattern.
    return (key.isascii() and key.isidentifier() and len(key) <= 64) or _PLAIN_KEY.match(key) is not None


class BadArgs(ToolError):  # noqa: N818 -- errors are named by what happens next
    """
    Raised if the arguments do not fit the tool. The model should correct the call.

    *problems* is a message, one or more `Problem`s, or a function that returns them. Writing the messages costs more
    than finding the problems, so such a function is called only when the problems are read.
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
        """All problems of the call."""
        if not isinstance(self._problems, tuple):
            all_problems = self._problems() if callable(self._problems) else self._problems
            self._problems = tuple(all_problems)
        return self._problems

    def __str__(self) -> str:
        text = ""
        for count, problem in enumerate(self.problems):
            line = str(problem)
            if count == _MAX_PROBLEMS_SHOWN or (count and len(text) + len(line) > _MAX_TEXT_CHARS):
                return f"{text}; and {len(self.problems) - count} more"
            text = f"{text}; {line}" if count else line
        return text

    def __reduce__(self) -> tuple[type[BadArgs], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class ErrorInfo:
    """
    What went wrong in a call.

    Args:
        message: The message for the model.
        details: Plain JSON for programs: the problems of `BadArgs`, or whether the effect may have happened. It may be
            a function that returns it. Most programs read only the text of a result, so the function is called when
            the details are first read.
        cause: The exception itself. It is never serialised.
    """

    __slots__ = ("_details", "cause", "message")

    def __init__(
        self,
        message: str,
        details: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
        cause: BaseException | None = None,
    ) -> None:
        self.message = message
        self._details = {} if details is None else details
        self.cause = cause

    @property
    def details(self) -> dict[str, Any]:
        """Plain JSON for programs."""
        if callable(self._details):
            self._details = self._details()
        return self._details

    @details.setter
    def details(self, value: dict[str, Any]) -> None:
        self._details = value

    def __repr__(self) -> str:
        return f"ErrorInfo(message={self.message!r}, details={self.details!r})"


def rebuild_error(kind: str, message: str, details: Mapping[str, Any], tool: str) -> ToolkitError:
    """Return the exception that a result of this *kind* stands for, if it was stored and has none any more."""
    if kind == "bad_args":
        problems = [Problem(problem["message"], problem["path"]) for problem in details.get("problems", ())]
        return BadArgs(problems or message)
    if kind in ("transient", "timeout"):
        return Transient(
            message,
            retry_after_seconds=details.get("retry_after_seconds"),
            happened="no" if details.get("happened") == "no" else "maybe",
        )
    if kind == "not_found":
        return UnknownTool(tool)
    return Safety(message) if kind == "safety" else ToolError(message)


def find_nearest(name: str, candidates: Iterable[str], *, max_items: int = 3) -> list[str]:
    """
    Return the names in *candidates* that *name* was probably meant to be, best first.

    With thousands of names it takes several milliseconds.
    """
    import difflib
    import heapq

    from ._plumbing.pauses import iterate_with_pauses

    # A long name is cut, because difflib takes quadratic time and no near name could be that long.
    folded_name = _fold(name[:100])
    shortest, longest = len(folded_name) - 10, len(folded_name) + 10
    folded: dict[str, str] = {}
    for known_name in iterate_with_pauses(candidates, 1000):
        candidate = _fold(known_name[:100])
        if shortest <= len(candidate) <= longest:
            folded.setdefault(candidate, known_name)
            if len(folded) == _MAX_CANDIDATES:
                break
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(folded_name)
    matches: list[tuple[float, str]] = []
    likely = list(folded)
    if len(folded) > _MAX_COMPARED:
        likely = _select_most_alike(folded_name, iterate_with_pauses(folded, 500))
    for candidate in iterate_with_pauses(likely, 20):
        matcher.set_seq1(candidate)
        is_possible = matcher.real_quick_ratio() >= _MIN_RATIO and matcher.quick_ratio() >= _MIN_RATIO
        if is_possible and (ratio := matcher.ratio()) >= _MIN_RATIO:
            matches.append((ratio, candidate))
    return [folded[candidate] for _, candidate in heapq.nlargest(max_items, matches)]


def _select_most_alike(folded_name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates that share the most pairs of letters with *folded_name*, the best first."""
    # Comparing two thousand names letter by letter takes many times as long as counting their shared pairs.
    padded_name, length = f" {folded_name} ", len(folded_name) + 2
    pairs = set(map(operator.add, padded_name, padded_name[1:]))
    shares = {name: sum(pair in f" {name} " for pair in pairs) / (length + len(name)) for name in candidates}
    least = sorted(shares.values())[-_MAX_COMPARED]
    likely = [name for name, share in shares.items() if share >= least]
    # Hundreds may share equally many pairs. The better ones come first, so that the cut does not remove them.
    return sorted(likely, key=shares.__getitem__, reverse=True)[: 2 * _MAX_COMPARED]


def _fold(name: str) -> str:
    return (name.replace("_", "") if name.isidentifier() else _NON_LETTERS.sub("", name)).lower()
