"""
Measure whether a model chooses the right tool with the right arguments.

The cases have the form of the Berkeley Function Calling Leaderboard, one JSON object a line:

    {"id": "late", "question": "Where is order 7?", "ground_truth": [{"look_up": {"order": [7], "lines": [3, ""]}}]}

Each argument lists the values that are right; an empty text among them lets the model leave the argument out. An empty
`ground_truth` wants no call. `alternatives` lists further lists of calls that are right as well.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from .._plumbing.versioned_json import remove_version
from ..catalogs.views import CatalogView
from ..errors import CatalogError, find_nearest
from ..providers.base import Provider, Request, Usage
from ..providers.messages import AssistantMessage, Message, UserMessage
from ..results import ToolCall
from ..session import Session

__all__ = [
    "NO_CALL",
    "Case",
    "CaseResult",
    "Evaluation",
    "EvaluationChange",
    "Score",
    "compare_evaluations",
    "evaluate",
    "read_cases",
]

NO_CALL = "(no call)"
"""The name that stands in confusions where a tool was expected and none was called, or the other way round."""

_Z_95 = 1.959963984540054
_IGNORED = re.compile(r"[ ,./\-_*^]")
ExpectedCall: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]
_NamedCalls: TypeAlias = Sequence[tuple[str, Mapping[str, Sequence[Any]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """
    One question with its *id*, and the calls that are right.

    Attributes:
        answers: The lists of calls that are right, each call as `{tool: {argument: [values that are right]}}`.
    """

    id: str
    messages: tuple[Message, ...]
    system: str = ""
    answers: tuple[Sequence[ExpectedCall], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """
    What the model did with the case *id*.

    Attributes:
        expected: The names of the tools that were expected.
        called: The calls of the model.
        chose_tools: Whether these are the right tools.
        is_right: Whether the arguments are right too.
        reason: What is wrong; empty if nothing is.
    """

    id: str
    expected: tuple[str, ...]
    called: tuple[tuple[str, Any], ...]
    chose_tools: bool
    is_right: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """The number of *right* cases among the *total*, with the 95 % confidence interval of Wilson."""

    right: int
    total: int

    @property
    def rate(self) -> float:
        return self.right / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The lowest and the highest rate that this number of cases leaves likely."""
        if not self.total:
            return 0.0, 1.0
        spread = _Z_95**2 / self.total
        middle = self.rate + spread / 2
        reach = _Z_95 * math.sqrt(self.rate * (1 - self.rate) / self.total + spread / self.total / 4)
        return max(0.0, (middle - reach) / (1 + spread)), min(1.0, (middle + reach) / (1 + spread))

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.right} of {self.total} right: {self.rate:.0%} ({low:.0%} to {high:.0%})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """
    The results of all cases.

    Attributes:
        usage: The tokens of all cases.
    """

    model: str
    results: tuple[CaseResult, ...]
    usage: Usage

    @property
    def score(self) -> Score:
        """How many cases are right: the tools and the arguments."""
        return _score(result.is_right for result in self.results)

    @property
    def tool_choice(self) -> Score:
        """In how many cases the right tools were chosen, with any arguments."""
        return _score(result.chose_tools for result in self.results)

    def scores_by_tool(self) -> dict[str, Score]:
        """Return the score of the cases that expect each tool; `NO_CALL` for those that expect none."""
        names = dict.fromkeys(name for result in self.results for name in result.expected or (NO_CALL,))
        return {
            name: _score(result.is_right for result in self.results if name in (result.expected or (NO_CALL,)))
            for name in sorted(names)
        }

    def confusions(self) -> dict[tuple[str, str], int]:
        """Return how often each pair occurred of a tool that was expected and one that was called instead."""
        pairs: Counter[tuple[str, str]] = Counter()
        for result in self.results:
            expected, called = Counter(result.expected), Counter(name for name, _ in result.called)
            missing, extra = (expected - called).elements(), (called - expected).elements()
            pairs.update(zip_longest(missing, extra, fillvalue=NO_CALL))
        return dict(pairs.most_common())

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON, which `from_json` reads."""
        results = [asdict(result) for result in self.results]
        return {"version": 1, "model": self.model, "usage": self.usage.to_json(), "results": results}

    @classmethod
    def from_json(cls, data: Any) -> Evaluation:
        """Return the evaluation that `to_json` wrote. Raise `ValueError` if *data* is something else."""
        fields = remove_version(data, "an evaluation", 1)
        try:
            results = tuple(CaseResult(**result) for result in fields["results"])  # lists in place of tuples do no harm
            return cls(model=fields["model"], results=results, usage=Usage.from_json(fields["usage"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not an evaluation: {error}") from error


@dataclass(frozen=True, slots=True)
class EvaluationChange:
    """
    How one evaluation differs from an earlier one, in the cases that both have.

    Attributes:
        newly_right: The ids of the cases that were wrong before.
        newly_wrong: The ids of the cases that were right before.
    """

    newly_right: tuple[str, ...]
    newly_wrong: tuple[str, ...]

    @property
    def chance(self) -> float:
        """How likely so uneven a change is if nothing but chance is behind it: the exact test of McNemar."""
        few, many = sorted((len(self.newly_right), len(self.newly_wrong)))
        count = few + many
        tail = sum(math.comb(count, number) for number in range(few + 1))
        return min(1.0, 2 * tail / int(2**count))


def compare_evaluations(old: Evaluation, new: Evaluation) -> EvaluationChange:
    """Return which cases have another outcome in *new* than in *old*."""
    before = {result.id: result.is_right for result in old.results}
    changed = [result for result in new.results if before.get(result.id, result.is_right) != result.is_right]
    return EvaluationChange(
        tuple(result.id for result in changed if result.is_right),
        tuple(result.id for result in changed if not result.is_right),
    )


def read_cases(path: str | PathLike[str], catalog: CatalogView) -> list[Case]:
    """
    Return the cases of the file *path*, which name tools and parameters of *catalog*.

    Raises:
        CatalogError: A line is no case, or names a tool or a parameter that is not there. The error names the line.
    """
    cases: dict[str, Case] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"cannot read the cases in {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = _read_case(json.loads(line), f"line {number}", catalog)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise CatalogError(f"{path}, line {number}: {reason}") from error
        if cases.setdefault(case.id, case) is not case:
            raise CatalogError(f"{path}, line {number}: the id {case.id!r} is there already")
    return list(cases.values())


async def evaluate(catalog: CatalogView, cases: Iterable[Case], provider: Provider, *, system: str = "") -> Evaluation:
    """
    Ask *provider* each of *cases* once, with all tools of *catalog*, and judge the calls. No tool is run.

    *system* is the system prompt of the cases that have none.
    """
    results: list[CaseResult] = []
    usage = Usage()
    for case in cases:
        session = Session()
        session.load(*(tool.name for tool in catalog if tool.facts.defer))
        request = Request(messages=case.messages, system=case.system or system, catalog=catalog, session=session)
        reply = await provider.reply(request)
        usage += reply.usage
        results.append(_judge(case, reply.message.calls, catalog))
    return Evaluation(model=provider.model, results=tuple(results), usage=usage)


def _score(outcomes: Iterable[bool]) -> Score:
    counted = list(outcomes)
    return Score(sum(counted), len(counted))


def _read_case(data: Mapping[str, Any], place: str, catalog: CatalogView) -> Case:
    messages, system = _read_question(data["question"])
    answers = [data["ground_truth"], *data.get("alternatives", ())]
    for answer in answers:
        for call in answer:
            _check_expected_call(call, catalog)
    return Case(id=str(data.get("id", place)), messages=tuple(messages), system=system, answers=tuple(answers))


def _read_question(question: Any) -> tuple[list[Message], str]:
    """Return the messages of a question and its system prompt. A question is a text, messages, or one turn of them."""
    if isinstance(question, str):
        return [UserMessage.of(question)], ""
    if question and isinstance(question[0], list):
        if len(question) > 1:
            raise ValueError("the question has several turns; write a case for each of them")
        (question,) = question
    messages: list[Message] = []
    for message in question:
        if message["role"] not in ("system", "user", "assistant"):
            raise ValueError(f"no message of a question has the role {message['role']!r}")
        if message["role"] != "system":
            text = message["content"]
            messages.append(UserMessage.of(text) if message["role"] == "user" else AssistantMessage(text=text))
    return messages, "\n".join(message["content"] for message in question if message["role"] == "system")


def _check_expected_call(call: ExpectedCall, catalog: CatalogView) -> None:
    """Raise `ValueError` if *call* names a tool or a parameter that *catalog* does not have, or has another form."""
    ((name, expected),) = call.items() if len(call) == 1 else [("", {})]
    tool = catalog.get(name)
    if tool is None:
        raise ValueError(f"there is no tool {name!r}{_suggest(name, catalog.names())}")
    parameters = tool.schema.get("properties", {})
    for parameter, values in expected.items():
        if parameter not in parameters and tool.schema.get("additionalProperties") is False:
            raise ValueError(f"`{name}` has no parameter {parameter!r}{_suggest(parameter, parameters)}")
        if not isinstance(values, list):
            raise ValueError(  # noqa: TRY004 -- unread JSON
                f"`{name}`, {parameter}: expected a list of the values that are right, such as [{values!r}]"
            )


def _suggest(name: str, names: Iterable[str]) -> str:
    return "".join(f"; did you mean {nearest!r}?" for nearest in find_nearest(name, names, max_items=1))


def _judge(case: Case, calls: Sequence[ToolCall], catalog: CatalogView) -> CaseResult:
    called = [(_resolve_alias(call.name, catalog), call.arguments) for call in calls]
    answers = [
        [(_resolve_alias(name, catalog), expected) for call in answer for name, expected in call.items()]
        for answer in case.answers
    ]
    names = sorted(name for name, _ in called)
    # The answer that comes nearest says what is wrong: one with the right tools if there is one.
    nearest = next((answer for answer in answers if sorted(name for name, _ in answer) == names), None)
    expected = answers[0] if nearest is None else nearest
    problems = [_find_problem(answer, called, catalog) for answer in answers]
    is_right = not all(problems)
    return CaseResult(
        id=case.id,
        expected=tuple(name for name, _ in expected),
        called=tuple(called),
        chose_tools=nearest is not None,
        is_right=is_right,
        reason="" if is_right else problems[answers.index(expected)],
    )


def _resolve_alias(name: str, catalog: CatalogView) -> str:
    tool = catalog.get(name)
    return name if tool is None else tool.name


def _find_problem(answer: _NamedCalls, called: Sequence[tuple[str, Any]], catalog: CatalogView) -> str:
    """Return what is wrong with the calls, which may come in any order; an empty text if they are right."""
    if Counter(name for name, _ in answer) != Counter(name for name, _ in called):
        expected_names, names = (", ".join(name for name, _ in part) or NO_CALL for part in (answer, called))
        return f"called {names}, expected {expected_names}"
    if not answer:
        return ""
    (name, expected), *others = answer
    first_problem = ""
    for index, (called_name, arguments) in enumerate(called):
        if called_name != name:
            continue
        wrong = _find_wrong_argument(catalog[name].schema.get("properties", {}), expected, arguments)
        others_called = [*called[:index], *called[index + 1 :]]
        problem = f"{name}: {wrong}" if wrong else _find_problem(others, others_called, catalog)
        if not problem:
            return ""
        first_problem = first_problem or problem
    return first_problem


def _find_wrong_argument(parameters: Mapping[str, Any], expected: Mapping[str, Sequence[Any]], actual: Any) -> str:
    if not isinstance(actual, Mapping):
        return "the arguments are no JSON object"
    defaults = {name: schema["default"] for name, schema in parameters.items() if "default" in schema}
    for name, values in expected.items():
        # An argument that is left out stands for its default, and for the empty text of the case.
        candidates = [actual[name]] if name in actual else ["", *([defaults[name]] if name in defaults else [])]
        if not any(_is_same(candidate, value) for candidate in candidates for value in values):
            shown = json.dumps(actual[name]) if name in actual else "left out"
            return f"{name} is {shown}, expected {' or '.join(map(json.dumps, values))}"
    for name, value in actual.items():
        if name not in expected and not _is_same(value, defaults.get(name)):
            return f"{name} is {json.dumps(value)}, expected it to be left out"
    return ""


def _is_same(actual: Any, expected: Any) -> bool:
    """Return whether *actual* is right. Texts are compared as in BFCL: without case, blanks and punctuation."""
    if isinstance(actual, str) and isinstance(expected, str):
        return _IGNORED.sub("", actual).casefold() == _IGNORED.sub("", expected).casefold()
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        # In BFCL the values inside an object are lists of values that are right.
        return actual.keys() <= expected.keys() and all(
            _is_same(actual.get(name, ""), value)
            or (isinstance(value, list) and any(_is_same(actual.get(name, ""), candidate) for candidate in value))
            for name, value in expected.items()
        )
    if isinstance(actual, list) and isinstance(expected, list):
        return len(actual) == len(expected) and all(map(_is_same, actual, expected))
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)
