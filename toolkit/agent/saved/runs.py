"""
A run as a value: the conversation, how it ended, and what it waits for.

A run can be written as JSON with a version, and read back. A run that was read back is data, not authority: it has no
mode, no grants and no principal, and nothing in it says what a tool may do. (`run_seal.py` restores the authority.) The
messages, the plan and the amounts spent are those that the data states, so seal a run if untrusted users can write to
the place where it is stored.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, cast, overload

from typing_extensions import TypeVar

from ..._option_checks import add_other_words
from ..._plumbing.markdown import show_run
from ..._plumbing.versioned_json import remove_version
from ..._plumbing.wording import format_count
from ...decisions import ApprovalRequest
from ...errors import BadArgs
from ...providers.base import Provider, Usage
from ...providers.messages import AssistantMessage, Message, ToolMessage, UserMessage, message_from_json
from ...results import ToolResult
from ...session import Session
from ...steps.expense import Expense
from ...steps.notes import read_pause
from ...values.rendering import as_json
from ..budgets import Budget
from ..conversation.summaries import Summary
from ..conversation.valid_messages import find_message_flaw
from ..final_answers import UNREAD, AnswerFormat, FinalAnswer
from .missing_answers import NoAnswer, explain_missing_answer
from .run_fields import Status, Stop, check_run_fields, check_sub_run_fields, read_items, read_user_message

__all__ = ["Run", "SubRun", "check_run", "read_answer"]

_VERSION = 1
_MAX_NESTING = 32
_PLAIN_FIELDS = ("id", "status", "reason", "stop", "plan", "refused_answers", "reply_count", "agent")
_log = logging.getLogger("toolkit")

H = TypeVar("H")
T_co = TypeVar("T_co", default=str, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Run(Generic[T_co]):
    """
    The outcome of a prompt, with the whole conversation up to that point.

    `Run[Model]` is the run of an agent with `output=Model`. A plain `Run` is a run whose answer is a text.

    Attributes:
        id: The id of the run.
        status: "done": the model has answered. "waiting": people have to answer `requests`. "stopped": see `stop`.
            "failed": an exception ended the run, such as a failure of the provider; see `error`. "planned": the host
            has to decide about `plan`. "running": the run had not ended when this value was made.
        reason: Why the run is not done, in words.
        stop: What stopped the run, in one word for programs.
        spent: The amounts used since the prompt.
        usage: The tokens of the whole conversation.
        plan: The plan of the model, if it had to plan.
        summary: What stands for turns that were summed up because the conversation was too long; None if there are
            none. The first of `messages` shows it to the model.
        error: The exception, if the run failed in this process. It is not saved.
        unread: What was said to the run with `agent.say` and not read by the model. It is read when the run goes on.
        subs: The sub-runs that wait. Each names the call that it belongs to.
        answer: The typed answer, as JSON and decoded; None if the agent has no type for it, or the run is not done.
        refused_answers: How many answers since the prompt were not of the type.
        reply_count: How many replies of the model the run has had, if the agent has `steps`. It counts the keys of the
            steps, and goes on after a pause.
        agent: The name of the agent that the conversation was handed over to, which goes on with it; empty if that is
            the agent that was asked.
        session: The session of the conversation, with its mode and grants. Only its id and its loaded tools are saved.
    """

    status: Status
    messages: tuple[Message, ...] = ()
    reason: str = ""
    stop: Stop | None = None
    spent: Expense = Expense()  # noqa: RUF009 -- it is immutable
    usage: Usage = Usage()  # noqa: RUF009 -- as above
    plan: str | None = None
    answer: FinalAnswer | None = None
    refused_answers: int = 0
    unread: tuple[UserMessage, ...] = ()
    subs: tuple[SubRun, ...] = ()
    summary: Summary | None = None
    reply_count: int = 0
    agent: str = ""
    error: BaseException | None = field(default=None, compare=False)
    session: Session = field(default_factory=Session, compare=False)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    _has_warned: bool = field(default=False, init=False, repr=False, compare=False)

    _repr_markdown_ = show_run

    def __repr__(self) -> str:
        messages = format_count(len(self.messages), "message")
        return f"<Run {self.id} {self.status}, {messages}: {(self.reason or self._text())[:60]!r}>"

    @property
    def output(self) -> T_co:
        """The answer, as `unwrap` returns it. If the run has none, `NoAnswer` is raised."""
        __tracebackhide__ = True  # pytest then shows the line of the test, not the lines of this method
        return self.unwrap()

    def unwrap(self) -> T_co:
        """
        Return the answer of a run that is done: of the type that the agent has as `output`, or a text.

        Raises:
            NoAnswer: The run has no answer. The message says how it ended, why, and what to do.
        """
        __tracebackhide__ = True
        if self.status != "done":
            raise self._build_no_answer() from self.error
        if self.answer is None:
            return cast("T_co", self._text())
        if self.answer.value is UNREAD:
            raise NoAnswer(
                "the run was read without the type of its answer; read it with Run.loads(text, output=...)",
                status=self.status,
            )
        return cast("T_co", self.answer.value)

    @property
    def text(self) -> str:
        """
        The text of the model's last message since the prompt.

        If the run is done, this is the answer, and a typed answer is JSON text. It is empty if the last reply was
        empty. A run that failed or waits, and one that was stopped without a text, has no answer: the first read logs a
        warning that says so. `unwrap` raises an exception instead.
        """
        text = self._text()
        has_no_answer = self.status in ("failed", "waiting") or (self.status == "stopped" and not text)
        if has_no_answer and not self._has_warned:
            object.__setattr__(self, "_has_warned", True)  # the class is frozen
            _log.warning("`run.text` was read, and it is not an answer: %s", self._build_no_answer())
        return text

    def _build_no_answer(self) -> NoAnswer:
        message = explain_missing_answer(self.status, self.stop, self.reason, self.requests)
        return NoAnswer(message, status=self.status, reason=self.reason, requests=self.requests)

    def _text(self) -> str:
        if self.answer is not None:
            return json.dumps(self.answer.json, ensure_ascii=False)
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return message.text
            if self.status == "done" or isinstance(message, UserMessage):
                break  # an empty reply is not kept, and the text before it is not the answer
        return ""

    @property
    def turns(self) -> int:
        """The number of requests to the model since the prompt."""
        return self.spent.turns

    @property
    def requests(self) -> tuple[ApprovalRequest, ...]:
        """The requests that people have to answer, in the order of the calls, with those of runs inside them."""
        inner = {sub.call_id: sub.run for sub in self.subs}
        open_requests: list[ApprovalRequest] = []
        for result in self.waiting():
            if result.call_id in inner:
                open_requests += inner[result.call_id].requests
            elif (pause := read_pause(result)) is not None:
                open_requests += pause.requests
            elif result.request is not None and result.request.waits_for is None:
                open_requests.append(result.request)
        return tuple(open_requests)

    def waiting(self) -> Iterator[ToolResult]:
        """Yield the results of calls that wait for an answer, and of calls that are held back because of them."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ToolMessage):
            yield from (result for result in last.results if result.kind == "waiting")

    def to_json(self) -> dict[str, Any]:
        """Return the run as plain JSON with a version, without the exception and the session's authority."""
        return {
            "version": _VERSION,
            "id": self.id,
            "status": self.status,
            "reason": self.reason,
            "stop": self.stop,
            "messages": [message.to_json() for message in self.messages],
            "spent": self.spent.to_json(),
            "usage": self.usage.to_json(),
            "plan": self.plan,
            "answer": None if self.answer is None else {"json": self.answer.json},
            "refused_answers": self.refused_answers,
            "unread": [message.to_json() for message in self.unread],
            "subs": [sub.to_json() for sub in self.subs],
            "session": self.session.to_json(),
            "summary": None if self.summary is None else self.summary.to_json(),
            "reply_count": self.reply_count,
            **({"agent": self.agent} if self.agent else {}),
        }

    def dumps(self) -> str:
        """Return the run as JSON text; see `to_json`."""
        # The metadata that a hook adds to a result may not be JSON.
        return json.dumps(self.to_json(), default=as_json)

    @overload
    @classmethod
    def loads(cls, text: str | bytes, *, output: None = None) -> Run: ...
    @overload
    @classmethod
    def loads(cls, text: str | bytes, *, output: type[H]) -> Run[H]: ...
    @overload
    @classmethod
    def loads(cls, text: str | bytes, *, output: object) -> Run[Any]: ...
    @classmethod
    def loads(cls, text: str | bytes, *, output: Any = None) -> Run[Any]:
        """
        Return the run in *text*, which `dumps` wrote. Raise `ValueError` if *text* is not a run.

        *output* is the type of its answer, as the agent has it.
        """
        if isinstance(text, Mapping):
            raise TypeError("Run.loads wants a text, got a dictionary; Run.from_json(data) reads what to_json() wrote")
        try:
            data = json.loads(text)
        except RecursionError:
            raise ValueError("not a run: it is nested too deeply") from None
        return cls.from_json(data, output=output)

    @overload
    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, output: None = None) -> Run: ...
    @overload
    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, output: type[H]) -> Run[H]: ...
    @overload
    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, output: object) -> Run[Any]: ...
    @classmethod
    def from_json(cls, data: Any, *, output: Any = None) -> Run[Any]:
        """
        Return the run in *data*, which `to_json` wrote. *output* is the type of its answer, as the agent has it.

        Raises:
            DefinitionError: *output* cannot be the type of an answer.
            ValueError: *data* is not a run, or its conversation is not valid, or its answer is not an *output*. The
                message names the place.
        """
        if isinstance(data, (str, bytes)):
            raise ValueError("not a run: it is a text; Run.loads(text) reads what run.dumps() wrote")  # noqa: TRY004 -- as below
        run, answer_format = _read_run(data), AnswerFormat.of(output)
        if answer_format is not None and run.answer is None and run.status == "done":
            raise ValueError("not a run of this type: its answer is a text; read it without `output`")
        try:
            return read_answer(run, answer_format)
        except BadArgs as error:
            raise ValueError(f"not a run of this type: {error}") from error


_MESSAGES = "the messages are `run.messages`, and `agent.run(prompt, run=run)` goes on with them"
add_other_words(
    Run,
    {
        **dict.fromkeys(("data", "final_output"), "the answer is `run.output`"),
        **dict.fromkeys(("all_messages", "new_messages", "to_input_list"), _MESSAGES),
        "interruptions": "what people have to answer is `run.requests`",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubRun:
    """
    A run that waits inside a call of another run, its parent.

    Attributes:
        call_id: The id of the parent's call.
        tools: The names of the tools that it may call; if None, all tools of its parent.
        version: The version of the tool that started it. It is not resumed if the tool has another version then.
        output: The form of its answer, if that is not a text. Its schema is saved.
        provider: Its provider, or the text that names it; if None, that of its parent. An object is not saved.
        budget: Its own budget, besides that of its parent.
    """

    call_id: str
    run: Run[Any]
    system: str = ""
    tools: tuple[str, ...] | None = None
    version: str | None = None
    output: AnswerFormat | None = None
    provider: Provider | str | None = field(default=None, compare=False)
    budget: Budget | None = field(default=None, compare=False)

    @classmethod
    def from_json(cls, data: Any, session: Session) -> SubRun:
        """
        Return the sub-run that `to_json` wrote, with the *session* of its parent.

        Raises:
            ValueError: *data* is not a sub-run. The message names the place.
        """
        return _read_sub_run(data, session, 0)

    def to_json(self) -> dict[str, Any]:
        return {
            "call_id": self.call_id,
            "system": self.system,
            "tools": None if self.tools is None else list(self.tools),
            "version": self.version,
            "output": None if self.output is None else self.output.schema,
            "run": self.run.to_json(),
            **({} if self.provider is None else {"provider": self.provider if isinstance(self.provider, str) else ""}),
            **({} if self.budget is None else {"budget": self.budget.to_json()}),
        }


def read_answer(run: Run[Any], answer_format: AnswerFormat | None) -> Run[Any]:
    """Return *run*, which was read without the type of its answer, with its answer read as *answer_format* says."""
    if run.answer is None or answer_format is None:
        return run
    return replace(run, answer=answer_format.read_json(run.answer.json))


def check_run(run: Run[Any] | None) -> Run[Any]:
    """Return *run*. Raise `TypeError` if it is not a `Run`, such as a saved run that was not read back."""
    if not isinstance(run, Run):
        raise TypeError(f"a run is a Run, got {type(run).__name__}; read a saved one with Run.loads or Run.from_json")
    return run


def _read_run(data: Any, session: Session | None = None, depth: int = 0) -> Run[Any]:
    """Return the run in *data*. A sub-run gets the *session* of its parent."""
    if depth > _MAX_NESTING:
        raise ValueError(f"not a run: sub-runs are nested deeper than {_MAX_NESTING}")
    data = check_run_fields(remove_version(data, "a run", _VERSION))
    try:
        messages = tuple(read_items(data["messages"], message_from_json, "messages"))
        own_session = Session.from_json(data["session"]) if session is None else session
        run: Run[Any] = Run(
            **{name: data[name] for name in _PLAIN_FIELDS},
            messages=messages,
            spent=Expense.from_json(data["spent"]),
            usage=Usage.from_json(data["usage"]),
            answer=None if data["answer"] is None else FinalAnswer(data["answer"]["json"]),
            unread=tuple(read_items(data["unread"], read_user_message, "unread")),
            subs=tuple(read_items(data["subs"], lambda sub_data: _read_sub_run(sub_data, own_session, depth), "subs")),
            session=own_session,
            summary=None if data["summary"] is None else Summary.from_json(data["summary"]),
        )
    except RecursionError:
        raise ValueError("not a run: it is nested too deeply") from None
    if flaw := find_message_flaw(messages) or _find_run_flaw(run):
        raise ValueError(f"not a run: {flaw}")
    return run


def _read_sub_run(data: Any, session: Session, depth: int) -> SubRun:
    sub_data = check_sub_run_fields(data)
    tools, output, budget = sub_data["tools"], sub_data["output"], sub_data["budget"]
    return SubRun(
        call_id=sub_data["call_id"],
        system=sub_data["system"],
        tools=None if tools is None else tuple(tools),
        version=sub_data["version"],
        output=None if output is None else AnswerFormat.from_schema(output),
        provider=sub_data["provider"],
        budget=None if budget is None else Budget.from_json(budget),
        run=_read_run(sub_data["run"], session, depth + 1),
    )


def _find_run_flaw(run: Run[Any]) -> str | None:
    waiting = {result.call_id for result in run.waiting()}
    if (run.status == "waiting") != bool(run.requests):
        return "its status and the calls that wait contradict each other"
    if any(sub.call_id not in waiting or sub.run.status != "waiting" for sub in run.subs):
        return "a sub-run belongs to no call that waits"
    if run.answer is not None and run.status != "done":
        return "it has an answer, and is not done"
    if run.status == "planned" and not (run.plan or "").strip():
        return "it has planned, and there is no plan"
    if run.summary is not None and run.messages[:1] != (run.summary.to_message(),):
        return "its summary is not its first message"
    return None
