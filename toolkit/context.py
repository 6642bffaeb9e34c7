"""
The values that a tool may request besides its arguments.

A parameter annotated `Context` or `Inject[T]` is filled by the code that runs the call. The parameter is not part of
the schema, and an argument of its name never reaches it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias, TypeVar, get_args, get_origin

from ._option_checks import add_other_words
from ._plumbing.records import record
from .errors import ToolError
from .facts import Facts

if TYPE_CHECKING:  # these modules take long to load, and reading a signature does not need them
    import logging

    from .access import Access
    from .decisions import Precondition
    from .questions import Question
    from .results import ToolCall
    from .session import Session

__all__ = [
    "AccessChecker",
    "ClientRequest",
    "Context",
    "Inject",
    "Injected",
    "Progress",
    "QuestionBook",
    "Secret",
    "ToolHost",
    "is_secret",
]

T = TypeVar("T")
Turns: TypeAlias = Sequence[Mapping[str, str]]


@record(frozen=True, slots=True, kw_only=True)
class Progress:
    """
    A progress report from a running call.

    Attributes:
        call_id: The id of the call.
        tool: The name of the tool.
        progress: How much is done, in the unit of `total`.
        total: How much there is to do; None if the tool does not know.
        message: What the tool says about it.
        value: The value that a streaming tool yielded, in JSON form.
    """

    call_id: str
    tool: str
    progress: float | None = None
    total: float | None = None
    message: str | None = None
    value: Any = None


@record(frozen=True, slots=True, kw_only=True, repr=False)
class ClientRequest:
    """
    The HTTP request that a call came with. Its text shows nothing of it, because texts are logged.

    Attributes:
        principal: On whose behalf the client acts.
        scopes: What the token of the client is good for.
        headers: The headers that `http_app(request_headers=[...])` names, by their names in small letters.
    """

    principal: str | None = None
    scopes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)


def _build_empty_call() -> ToolCall:
    from .results import ToolCall

    return ToolCall("")


def _get_logger() -> logging.Logger:
    import logging

    return logging.getLogger("toolkit")


class AccessChecker(Protocol):
    """Answers a running tool's questions about a further access."""

    @property
    def preconditions(self) -> tuple[Precondition, ...]:
        """
        The conditions that must still hold since a person approved this call.

        The code that changes a file checks them at that moment.
        """

    def check(self, access: Access) -> None:
        """Return if *access* is permitted now; otherwise raise `Safety` or `ToolError` with the reason."""

    @property
    def folders(self) -> list[str]:
        """The folders that the tools may touch."""

    def opens_port(self, url: str) -> bool:
        """Return whether an allow rule about this tool names the host and the port of *url*."""

    def permitted(self, catalog: Any) -> Any:
        """Return a view of *catalog* with the tools that this session's rules and mode could ever allow."""


class _UncheckedAccess:
    """The permissions of a function called outside a dispatcher: it may do everything that its caller may."""

    preconditions = ()

    @property
    def folders(self) -> list[str]:
        return [os.getcwd()]

    def check(self, access: Access) -> None:
        return

    def opens_port(self, url: str) -> bool:
        return False

    def permitted(self, catalog: Any) -> Any:
        return catalog


class QuestionBook(Protocol):
    """The questions of a running tool: those that its user has answered, and those that are open."""

    @property
    def open_count(self) -> int:
        """How many questions have no answer yet."""

    def ask(self, question: Question) -> bool:
        """Return whether *question* has an answer. If it has none, note it as open."""

    def get_answer(self, key: str) -> Any:
        """Return the user's answer, or raise `AnswersNeeded` with all open questions if there is none."""


def _refuse_questions() -> QuestionBook:
    raise RuntimeError("there is no user to ask: run the tool with a dispatcher, whose `approvals` ask a person")


class ToolHost(Protocol):
    """The program that a tool runs for, which may have a model and folders: an agent, or a client of an MCP server."""

    async def sample(self, context: Context, key: str, messages: Turns, system: str, max_tokens: int) -> str:
        """Return the answer of a model to *messages*; raise `ToolError` with the reason if there is none."""

    async def list_roots(self, context: Context) -> list[str] | None:
        """Return the folders that the user works in; None if they are those of the dispatcher."""


current_host: ContextVar[ToolHost | None] = ContextVar("toolkit_host", default=None)
"""The program that the running code works for; None if it has neither a model nor folders."""

current_run_id: ContextVar[str | None] = ContextVar("toolkit_run_id", default=None)
"""The id of the durable run that the running code belongs to; None if there is none."""

current_request: ContextVar[ClientRequest | None] = ContextVar("toolkit_request", default=None)
"""The HTTP request that the running code answers; None if there is none."""

_NO_MODEL = (
    "there is no model to ask: run the tool in an agent, or serve it over MCP, without an asker of the server's own, "
    "to a client that offers sampling"
)
_TEXT: Mapping[str, Any] = {"type": "string"}


@record(slots=True, kw_only=True, eq=False)
class Context:
    """
    The call as the tool sees it.

    Attributes:
        facts: What the tool's author stated about it.
        call: The call that was requested.
        attempt: The number of this attempt, counted from 1.
        deadline: The time by which the call has to finish, by `time.monotonic()`; None if there is no limit.
        resources: The objects provided for this call, by type.
        logger: The logger that the tool may write to. It has the name of the tool.
        permissions: Judges what else the tool is about to touch: `context.permissions.check(Writes(path))`.
        on_progress: Told how far the call has come; `report` calls it.
        stop: Set when the caller has stopped waiting for the result.
        open_questions: Returns the questions of the call, for `ask`. The dispatcher sets it.
        ask_at_once: Asks the dispatcher's asker a `Question` while the tool runs, and returns the answer or `DECLINED`.
            If no person has declined, the reason is added to a list that may be given beside the question.
            It is for a tool that could not run again from its start. It is None if the dispatcher has no asker.
        make_key: Returns the `idempotency_key`. The dispatcher sets it.
        run_id: The id of the durable run that the call belongs to; None if there is none.
        request: The HTTP request that the call came with; None if it did not come over HTTP.
    """

    facts: Facts
    call: ToolCall = field(default_factory=_build_empty_call)
    attempt: int = 1
    deadline: float | None = None
    resources: Mapping[type, Any] = field(default_factory=dict)
    logger: logging.Logger = field(default_factory=_get_logger)
    permissions: AccessChecker = field(default_factory=_UncheckedAccess, repr=False)
    on_progress: Callable[[Progress], object] = field(default=lambda progress: None, repr=False)
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    open_questions: Callable[[], QuestionBook] = field(default=_refuse_questions, repr=False)
    ask_at_once: Callable[..., Coroutine[Any, Any, Any]] | None = field(default=None, repr=False)
    make_key: Callable[[], str] = field(default=lambda: os.urandom(16).hex(), repr=False)
    run_id: str | None = field(default_factory=current_run_id.get)
    request: ClientRequest | None = field(default_factory=current_request.get, repr=False)
    _book: QuestionBook | None = field(default=None, init=False, repr=False)
    _key: str | None = field(default=None, init=False, repr=False)

    @property
    def idempotency_key(self) -> str:
        """
        A text that is the same for every attempt at this call, and for no other call.

        Pass it to a service that does nothing twice for the same key, such as a payment. It stays the same if the call
        is tried again, and if a durable run does it again after a crash.
        """
        if self._key is None:
            self._key = self.make_key()
        return self._key

    @property
    def session(self) -> Session | None:
        """The conversation that the call belongs to."""
        return self.call.session

    @property
    def cancelled(self) -> bool:
        """
        Whether the caller has stopped waiting for the result.

        Code that loops in a thread should check this from time to time.
        """
        return self.stop.is_set()

    def report(self, progress: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Report how far the work has come to the `on_progress` callback. Any thread may call this."""
        tool = self.call.name if self.call.tool is None else self.call.tool.name
        event = Progress(call_id=self.call.id, tool=tool, progress=progress, total=total, message=message)
        self.on_progress(event)

    async def ask(self, key: str, message: str, schema: Mapping[str, Any] = _TEXT) -> Any:
        """
        Ask the user a question: `size = await context.ask("size", "Which size?", {"enum": ["S", "M", "L"]})`.

        The first time, there is no answer. The call then ends here with an exception and waits for the user. After the
        user has answered, the tool runs again from its start, and `ask` returns the answer. So a tool has to ask before
        it changes anything. Questions that are asked at the same time, with `asyncio.gather` or in a task group, reach
        the user together.

        Args:
            key: The name of the question, which is unique in the call. The same key gives the same answer.
            message: What the user reads.
            schema: The JSON Schema that the answer has to fit. The default is any text.

        Returns:
            The answer in JSON form, or `DECLINED` if the user does not want to answer.
        """
        return await self.put_question(_build_question(key, message, schema))

    async def put_question(self, question: Question) -> Any:
        """Return the answer to *question*; the call waits for it as in `ask`."""
        import asyncio

        book = self._open_book()
        if not book.ask(question):
            # Other tasks of the tool get the time to ask as well.
            count = 0
            while book.open_count > count:
                count = book.open_count
                await asyncio.sleep(0)
        return book.get_answer(question.key)

    async def sample(
        self, messages: str | Turns, *, key: str = "sample", system: str = "", max_tokens: int = 1000
    ) -> str:
        """
        Ask a model, and return its text: `title = await context.sample("A title for this text: ...")`.

        The model is that of the agent that made the call, within the agent's budget, or that of the MCP client. For a
        client the call waits, and the tool runs again from its start, as for `ask`.

        Args:
            messages: A prompt, or messages such as `{"role": "user", "content": "Hello"}`, or of role "assistant".
            key: The name of this question to the model, which is unique in the call. The same key gives the same text.
            system: The system prompt.
            max_tokens: The most tokens that the model may write.

        Raises:
            ToolError: There is no model here, or it cannot be asked; the message says why.
        """
        turns = [{"role": "user", "content": messages}] if isinstance(messages, str) else [*map(dict, messages)]
        if not turns or any(turn.get("role") not in ("user", "assistant") or "content" not in turn for turn in turns):
            raise ValueError('sample: give a text, or messages such as {"role": "user", "content": "Hello"}')
        host = current_host.get()
        if host is None:
            raise ToolError(_NO_MODEL)
        return await host.sample(self, key, turns, system, max_tokens)

    async def roots(self) -> list[str]:
        """
        Return the folders that the user works in: those of the MCP client if it names some, or else the workspace's.

        They permit nothing. A root of a client that is no local folder is its URI.
        """
        host = current_host.get()
        folders = None if host is None else await host.list_roots(self)
        return self.permissions.folders if folders is None else folders

    def ask_sync(self, key: str, message: str, schema: Mapping[str, Any] = _TEXT) -> Any:
        """Ask the user a question as `ask` does, from a sync tool. Its questions are asked one after the other."""
        book = self._open_book()
        book.ask(_build_question(key, message, schema))
        return book.get_answer(key)

    def _open_book(self) -> QuestionBook:
        if self._book is None:
            self._book = self.open_questions()
        return self._book


add_other_words(
    Context,
    {
        "deps": "declare a parameter `name: Inject[Type]`, or read `context.resources[Type]`",
        "elicit": "write `await context.ask(key, message, schema)`",
        "report_progress": "write `context.report(progress, total, message)`",
    },
)


def _build_question(key: str, message: str, schema: Mapping[str, Any]) -> Question:
    from .questions import Question  # few tools ask

    return Question(key=key, message=message, schema=schema)


class Injected:
    """Marks a parameter that is filled from the resources of a call; `Inject[T]` adds this marker."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Injected()"


Inject = Annotated[T, Injected()]
"""`database: Inject[Database]` is a parameter that is filled from the resources, never by a model."""


class Secret:
    """Marks a parameter whose value is never shown: `key: Annotated[str, Secret]`."""


def is_secret(hint: Any) -> bool:
    """
    Return whether *hint* marks a secret, at the top or anywhere inside: `Annotated[str, Secret] | None`.

    The classes of pydantic for secrets, such as `SecretStr`, mark one too.
    """
    if hint is Secret or isinstance(hint, Secret):
        return True
    if any(parent.__name__ == "_SecretBase" for parent in getattr(get_origin(hint) or hint, "__mro__", ())):
        return True
    return any(map(is_secret, get_args(hint)))
