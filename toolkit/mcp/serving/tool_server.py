"""The server: the handlers of all requests, on the low-level server of the official SDK."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import mcp_types as types
from mcp.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..._lazy_names import LazyModule
from ..._option_checks import OptionTypes, check_option_names, check_option_types
from ...approvals.policy import Approvals
from ...catalog import Catalog
from ...catalogs.views import CatalogView
from ...dispatcher import Dispatcher
from ...permissions.judge import SupportsJudge
from ...permissions.policy import Permissions
from ...session import Session
from ...spec import Tool
from .calling import ToolCaller
from .changes import ChangeNotifier, ResourceChanges
from .client_log import ClientLog
from .conversations import Conversations, RequestContext
from .listing import ToolListing
from .progress import ProgressRouter
from .prompts import PromptCaller, build_completion, build_prompt, describe_prompt, find_skill, list_skills
from .resources import ResourceBook, ResourceCaller, Resources
from .sealed_state import Keys, StateSeal
from .tool_tasks import EXTENSION, ServedTask, ToolTasks, UpdateTaskParams
from .waiting_calls import WaitingCalls

if TYPE_CHECKING:
    from ..importing import remote_content
    from ..importing.servers import Servers
else:  # most servers pass on no others
    remote_content = LazyModule("toolkit.mcp.importing.remote_content")

__all__ = ["ServerOptions", "ToolServer", "build_judged_server", "build_server"]

CallerT = TypeVar("CallerT", bound=ToolCaller)
_ANSWER_SECONDS = 600.0


class ServerOptions(TypedDict, total=False):
    """
    The options of a server, all by keyword.

    name: The name of the server that clients show.
    version: The version of the server that clients show.
    instructions: What a model should know about the tools as a whole.
    key: At least 32 random bytes that all processes of one server share; or several keys, of which the first one is for
        new questions. Without a key, only the process that asked a question can take its answer.
    principal: For whom calls are made that come without authentication.
    lists_deferred: Whether deferred tools are listed; True unless given. If not, the tool `tool_search` finds them.
    page_size: How many tools are on one page of the list; 2,000 unless given.
    answer_seconds: How long a question can be answered; 600 unless given.
    sends_logs: Whether clients that ask for it get what tools write to `context.logger`; False unless given.
    prompts: A catalog of functions that are served as prompts, besides the skills among the tools. Their results are
        text or parts, and each part is a message.
    resources: The contents of resources by URI: a text, bytes, a `ResourcePart`, or a function. A URI such as
        "memo://{day}" is a template for a function with the parameter `day`.
    servers: `Servers` objects, whose resources and prompts are served too. A read is a call, so rules and limits hold
        for it.
    resource_changes: Says which resources have changed, to the clients that have subscribed to them.
    """

    name: str
    version: str
    instructions: str | None
    key: Keys | None
    principal: str | None
    lists_deferred: bool
    page_size: int
    answer_seconds: float
    sends_logs: bool
    prompts: CatalogView | None
    resources: Resources | None
    servers: Sequence[Servers]
    resource_changes: ResourceChanges | None


_OPTION_TYPES: OptionTypes = {
    "name": ((str,), "a text"),
    "version": ((str,), "a text"),
    "instructions": ((str, NoneType), "a text, or None"),
    "principal": ((str, NoneType), "the name of a user, or None"),
    "lists_deferred": ((bool,), "True or False"),
    "page_size": ((int,), "a whole number of tools"),
    "answer_seconds": ((int, float), "a number of seconds"),
    "sends_logs": ((bool,), "True or False"),
    "prompts": ((CatalogView, NoneType), "a catalog of functions, or None"),
    "resources": ((Mapping, NoneType), "a dictionary from URIs to contents, or None"),
    "servers": ((list, tuple), "a list of `Servers`"),
    "resource_changes": ((ResourceChanges, NoneType), "a ResourceChanges(), or None"),
}


def build_server(dispatcher: Dispatcher, **options: Unpack[ServerOptions]) -> ToolServer:
    """
    Return a server of the official SDK for the tools of *dispatcher*, for tests or for a transport of your own.

    A dispatcher without permissions gets those of mode `default`: a call that changes something asks the user of the
    client. `ServerOptions` explains the options.

    Raises:
        ValueError: There is a key for several processes, and the approvals have no store that they could share.
    """
    return build_judged_server(dispatcher, (), options)


def build_judged_server(
    dispatcher: Dispatcher, judges: Sequence[SupportsJudge], options: ServerOptions, *, is_stateless: bool = False
) -> ToolServer:
    """Return a server as `build_server` does, whose calls have to satisfy *judges* as well."""
    if not isinstance(dispatcher, Dispatcher):
        raise TypeError(f"a server wants a dispatcher, got {type(dispatcher).__name__}; write Dispatcher(catalog)")
    check_option_names(options, ServerOptions.__annotations__, {}, "a server")
    check_option_types(options, {name: kinds for name, kinds in _OPTION_TYPES.items() if name in options})
    if options.get("key") is not None and dispatcher.approvals.seal is not None:
        raise ValueError(
            "a server: key= lets every process take an answer, and Approvals(key=...) without a store cannot tell that "
            "another process has used it; share a store, such as Approvals(SQLiteApprovals(path), key=...), or leave "
            "key= out and run one process"
        )
    return ToolServer(dispatcher, options, judges, is_stateless=is_stateless)


def _shorten_requests(approvals: Approvals, answer_seconds: float) -> Approvals:
    """
    Return *approvals* whose requests expire soon after their questions.

    A client of revision 2026-07-28 may never come back with an answer. Its request takes up room in the store until it
    expires. An asker of the program has its own time.
    """
    if approvals.asker is not None:
        return approvals
    # A form that was filled in wrongly is asked again, with as much time as before.
    longest = 2 * answer_seconds
    shortened = copy.copy(approvals)
    shortened.expires_seconds = min(longest, approvals.expires_seconds or longest)
    return shortened


class ToolServer(Server[Any]):
    """
    The server for the tools of one dispatcher, with *options* that `build_server` has checked, and further *judges*.

    Attributes:
        conversations: The principals and sessions of the calls.
        waiting_calls: The calls that wait for an answer on a page, because their client cannot be asked.
        is_stateless: Whether there are no connections in older revisions either.
    """

    def __init__(
        self, dispatcher: Dispatcher, options: ServerOptions, judges: Sequence[SupportsJudge], *, is_stateless: bool
    ) -> None:
        self._options, self._judges = options, judges
        self._answer_seconds = options.get("answer_seconds", _ANSWER_SECONDS)
        self._router = ProgressRouter()
        self._listing = ToolListing(
            page_size=options.get("page_size", 2_000), lists_deferred=options.get("lists_deferred", True)
        )
        key = options.get("key")
        self._seal = StateSeal(key, max_age_seconds=self._answer_seconds)
        self.conversations = Conversations(self._seal, options.get("principal"))
        self.waiting_calls = WaitingCalls(
            dispatcher, self._seal, has_key=key is not None, expires_seconds=2 * self._answer_seconds
        )
        self.is_stateless = is_stateless
        prompts = options.get("prompts")
        self._prompts = Catalog() if prompts is None else prompts
        self._changes = ChangeNotifier(options.get("resource_changes"))
        super().__init__(
            options.get("name", "toolkit"),
            version=options.get("version", ""),
            instructions=options.get("instructions"),
            lifespan=self._live,
            get_tool_input_schema=self._find_schema,
            on_subscriptions_listen=self._changes.listen,
        )
        self._tasks: dict[str, ServedTask] = {}
        self.use(dispatcher, options.get("servers", ()))

    def use(self, dispatcher: Dispatcher, servers: Sequence[Servers] = ()) -> None:
        """
        Serve the tools of *dispatcher* and the resources of *servers* from now on, and tell the clients.

        Calls that are under way go on as they began. If the server runs, call this on its event loop.
        """
        has_judges = bool(dispatcher.settings.judges.find_all(object))
        self._dispatcher = dispatcher.extended(
            permissions=[*([] if has_judges else [Permissions("default")]), *self._judges] or None,
            on_progress=self._router,
            approvals=_shorten_requests(dispatcher.approvals, self._answer_seconds),
        )
        self.waiting_calls.dispatcher = self._dispatcher
        self._log = ClientLog(self._dispatcher.settings.redaction, is_on=self._options.get("sends_logs", False))
        resources = remote_content.RemoteResources(servers) if servers else None
        self._book = ResourceBook(self._options.get("resources") or {}, resources)
        self._remote_prompts = remote_content.RemotePrompts(servers) if servers else None
        prompts = self._prompts if self._remote_prompts is None else self._prompts.merged(self._remote_prompts.catalog)
        self._prompt_dispatcher = self._dispatcher.extended(prompts)
        self._prompt_caller = self._build_caller(PromptCaller, self._prompt_dispatcher)
        self._add_handlers()
        self._changes.follow_catalogs(dispatcher.catalog, self._prompts, book=self._book)

    def _build_caller(self, kind: type[CallerT], dispatcher: Dispatcher, **further: Any) -> CallerT:
        return kind(
            dispatcher,
            self.conversations,
            self._seal,
            self._router,
            on_load=self._changes.notify_soon,
            answer_seconds=self._answer_seconds,
            log=self._log,
            **further,
        )

    def _add_handlers(self) -> None:
        add = self.add_request_handler
        add("tools/list", types.PaginatedRequestParams, self._list_tools)
        # Another process of the server may be asked about a task of this one, and would not know it.
        tasks = self._tasks if self._options.get("key") is None and not self.is_stateless else None
        caller = self._build_caller(ToolTasks, self._dispatcher, waiting=self.waiting_calls, tasks=tasks)
        add("tools/call", types.CallToolRequestParams, caller.call)
        if tasks is not None:
            self.extensions[EXTENSION] = {}
            add("tasks/get", types.GetTaskRequestParams, caller.get)
            add("tasks/update", UpdateTaskParams, caller.update)
            add("tasks/cancel", types.GetTaskRequestParams, caller.cancel)
        add("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        add("completion/complete", types.CompleteRequestParams, self._complete)
        if self._log.is_on:
            add("logging/setLevel", types.SetLevelRequestParams, self._log.set_level)
        if self._options.get("resources") is not None or self._options.get("servers"):
            dispatcher = self._dispatcher.extended(self._book.catalog)
            reader = self._build_caller(ResourceCaller, dispatcher, book=self._book)
            add("resources/list", types.PaginatedRequestParams, self._book.list_fixed)
            add("resources/templates/list", types.PaginatedRequestParams, self._book.list_templates)
            add("resources/read", types.ReadResourceRequestParams, reader.read)
            if self._options.get("resource_changes") is not None:
                add("resources/subscribe", types.SubscribeRequestParams, self._changes.subscribe)
                add("resources/unsubscribe", types.UnsubscribeRequestParams, self._changes.unsubscribe)
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._changes.follow)

    @contextlib.asynccontextmanager
    async def _live(self, _: Server[Any]) -> AsyncIterator[None]:
        self._changes.start()
        try:
            yield
        finally:
            self._changes.stop()

    def end_subscriptions(self) -> None:
        """End the `subscriptions/listen` requests of all clients. Call this on the event loop that serves."""
        self._changes.listen.close()

    def get_capabilities(self, *arguments: Any, **keywords: Any) -> types.ServerCapabilities:
        """Return what the server offers. Its lists may change, and its resources if the program says so."""
        capabilities = super().get_capabilities(*arguments, **keywords)
        if self.is_stateless and keywords.get("protocol_version") not in MODERN_PROTOCOL_VERSIONS:
            # A client could not be told of changes, and the level of its log would be forgotten.
            capabilities.logging = None
            if capabilities.resources is not None:
                capabilities.resources.subscribe = False
            return capabilities
        for listed in (capabilities.tools, capabilities.prompts):
            if listed is not None:
                listed.list_changed = True
        if capabilities.resources is not None:
            capabilities.resources.subscribe = self._options.get("resource_changes") is not None
        return capabilities

    async def _list_tools(self, context: RequestContext, params: types.PaginatedRequestParams) -> dict[str, Any]:
        session = self._find_session(context)
        return self._listing.build_page(self._dispatcher.permitted(session), session, params.cursor)

    def _find_session(self, context: RequestContext) -> Session:
        return self.conversations.session_of(context, self.conversations.principal_of(context))

    def find_tool(self, name: str) -> Tool | None:
        """Return the tool with this name or alias, or None."""
        return self._dispatcher.catalog.get(name)

    def _find_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema of a tool, which says whether some of its arguments are repeated in HTTP headers."""
        tool = self.find_tool(name)
        return None if tool is None else tool.schema

    async def _list_prompts(self, context: RequestContext, params: types.PaginatedRequestParams) -> dict[str, Any]:
        session = self._find_session(context)
        functions = [tool for tool in self._prompt_dispatcher.permitted(session) if tool.name in self._prompts]
        skills = list_skills(self._dispatcher.permitted(session))
        tools = [*functions, *(skill for skill in skills if skill.name not in self._prompts)]
        prompts = [describe_prompt(tool) for tool in tools]
        if self._remote_prompts is not None:
            names = {*self._prompts.names(), *(tool.name for tool in tools)}
            prompts += [entry for entry in await self._remote_prompts.list_all() if entry["name"] not in names]
        return {"resultType": "complete", "prompts": prompts, "ttlMs": 0, "cacheScope": "private"}

    async def _get_prompt(self, context: RequestContext, params: types.GetPromptRequestParams) -> dict[str, Any]:
        if params.name in self._prompts:
            return await self._prompt_caller.get(context, params)
        skills = self._dispatcher.permitted(self._find_session(context))
        remote = None
        if self._remote_prompts is not None and find_skill(skills, params.name) is None:
            remote = await self._remote_prompts.find_reader(params.name)
        if remote is not None:
            return await self._prompt_caller.get_remote(context, params, *remote)
        return build_prompt(skills, params.name, params.arguments, other_names=self._prompts.names())

    async def _complete(self, context: RequestContext, params: types.CompleteRequestParams) -> dict[str, Any]:
        if isinstance(params.ref, types.PromptReference):
            session = self._find_session(context)
            tool = self._prompt_dispatcher.permitted(session).get(params.ref.name)
            if tool is None:
                tool = find_skill(self._dispatcher.permitted(session), params.ref.name)
        else:
            tool = self._book.find_template(params.ref.uri)
        return build_completion(tool, params.argument.name, params.argument.value)
