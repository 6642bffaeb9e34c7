"""
The server: the handlers of all requests, on the low-level server of the official SDK.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Mapping
from types import NoneType
from typing import Any, TypedDict, Unpack

from mcp.server import InitializationOptions, NotificationOptions, Server, ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    NotificationParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from ..._option_checks import OptionTypes, check_option_types, explain_unknown_choice
from ...approvals.policy import Approvals
from ...catalog import Catalog
from ...catalogs.views import CatalogView
from ...dispatcher import Dispatcher
from ...permissions.policy import Permissions
from ...session import Session
from ...skills.records import Skill
from ...skills.skill_tools import skill_of
from ...spec import Tool
from .calling import ToolCaller
from .changes import ChangeNotifier
from .client_log import ClientLog
from .completion import build_completion, list_choices
from .conversations import Conversations
from .function_prompts import PromptCaller, describe_functions
from .header_schemas import HeaderSchemas
from .listing import ToolListing
from .progress import ProgressRouter
from .prompts import build_prompt, list_prompts
from .resource_changes import ResourceChanges, ResourceSubscriptions
from .resources import ResourceBook, ResourceCaller, Resources
from .sealed_state import Keys, StateSeal, derive_keys

__all__ = ["ServerOptions", "ToolServer", "build_server"]


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
    page_size: How many tools are on one page of the list; 100 unless given.
    answer_seconds: How long a question can be answered; 600 unless given.
    sends_logs: Whether clients that ask for it get what tools write to `context.logger`; False unless given.
    prompts: A catalog of functions that are served as prompts, besides the skills among the tools. Their results are
        text or parts, and each part is a message.
    resources: The contents of resources by URI: a text, bytes, a `ResourcePart`, or a function. A URI such as
        "memo://{day}" is a template for a function with the parameter `day`.
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
    if not isinstance(dispatcher, Dispatcher):
        raise TypeError(f"a server wants a dispatcher, got {type(dispatcher).__name__}; write Dispatcher(catalog)")
    names = list(ServerOptions.__annotations__)
    for name in options:
        if name not in names:
            raise TypeError(f"a server: the option {explain_unknown_choice(name, names)}")
    check_option_types(options, {name: types for name, types in _OPTION_TYPES.items() if name in options})
    if options.get("key") is not None and dispatcher.approvals.seal is not None:
        raise ValueError(
            "a server: key= lets every process take an answer, and Approvals(key=...) without a store cannot tell that "
            "another process has used it; share a store, such as Approvals(SQLiteApprovals(path), key=...), or leave "
            "key= out and run one process"
        )
    return ToolServer(dispatcher, options)


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
    The server for the tools of one dispatcher, with *options* that `build_server` has checked.

    Attributes:
        conversations: The principals and sessions of the calls.
    """

    def __init__(self, dispatcher: Dispatcher, options: ServerOptions) -> None:
        router = self._router = ProgressRouter()
        has_judges = bool(dispatcher.settings.judges.find_all(object))
        answer_seconds = options.get("answer_seconds", 600.0)
        self._dispatcher = dispatcher.extended(
            permissions=None if has_judges else Permissions("default"),
            on_progress=router,
            approvals=_shorten_requests(dispatcher.approvals, answer_seconds),
        )
        seal = StateSeal(options.get("key"), max_age_seconds=answer_seconds)
        self._listing = ToolListing(
            page_size=options.get("page_size", 100), lists_deferred=options.get("lists_deferred", True)
        )
        self.conversations = Conversations(seal, options.get("principal"))
        prompts = options.get("prompts")
        self._book = ResourceBook(options.get("resources") or {})
        self._subscriptions = ResourceSubscriptions(self._book)
        self._changes = ChangeNotifier(
            dispatcher.catalog,
            prompts=prompts,
            resources=options.get("resource_changes"),
            subscriptions=self._subscriptions,
        )
        self._options = options
        self._log = ClientLog(self._dispatcher.settings.redaction, is_on=options.get("sends_logs", False))
        caller = ToolCaller(self._dispatcher, self.conversations, seal, router, **self._caller_options())
        self._prompt_catalog = Catalog() if prompts is None else prompts
        self._prompt_caller = PromptCaller(
            *self._build_caller_parts("PromptCaller", self._prompt_catalog), **self._caller_options()
        )
        super().__init__(
            options.get("name", "toolkit"),
            version=options.get("version", ""),
            instructions=options.get("instructions"),
            lifespan=self._live,
            get_tool_input_schema=HeaderSchemas(self._dispatcher.catalog).find,
            on_subscriptions_listen=self._changes.listen,
        )
        self.add_request_handler("tools/list", PaginatedRequestParams, self._list_tools)
        self.add_request_handler("tools/call", CallToolRequestParams, caller.call)
        self.add_request_handler("prompts/list", PaginatedRequestParams, self._list_prompts)
        self.add_request_handler("prompts/get", GetPromptRequestParams, self._get_prompt)
        self.add_request_handler("completion/complete", CompleteRequestParams, self._complete)
        if self._log.is_on:
            self.add_request_handler("logging/setLevel", SetLevelRequestParams, self._log.set_level)
        if options.get("resources") is not None:
            self._serve_resources(self._book)
        self.add_notification_handler("notifications/initialized", NotificationParams, self._changes.follow)

    def _caller_options(self) -> dict[str, Any]:
        return {
            "on_load": self._changes.notify_soon,
            "answer_seconds": self._options.get("answer_seconds", 600.0),
            "log": self._log,
        }

    def _build_caller_parts(
        self, purpose: str, catalog: CatalogView
    ) -> tuple[Dispatcher, Conversations, StateSeal, ProgressRouter]:
        """Return what a caller of the functions of *catalog* needs. Only its own states of questions fit its seal."""
        keys = derive_keys(self._options.get("key"), purpose)
        seal = StateSeal(keys, max_age_seconds=self._options.get("answer_seconds", 600.0))
        return self._dispatcher.extended(catalog), self.conversations, seal, self._router

    def _serve_resources(self, book: ResourceBook) -> None:
        caller = ResourceCaller(
            book, *self._build_caller_parts("ResourceCaller", book.catalog), **self._caller_options()
        )

        async def list_fixed(context: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Any]:
            return book.list_fixed()

        async def list_templates(
            context: ServerRequestContext[Any, Any], params: PaginatedRequestParams
        ) -> dict[str, Any]:
            return book.list_templates()

        self.add_request_handler("resources/list", PaginatedRequestParams, list_fixed)
        self.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
        self.add_request_handler("resources/read", ReadResourceRequestParams, caller.read)
        if self._options.get("resource_changes") is not None:
            subscriptions = self._subscriptions
            self.add_request_handler("resources/subscribe", SubscribeRequestParams, subscriptions.subscribe)
            self.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscriptions.unsubscribe)

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

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what clients of older revisions are told, which includes that the list of tools may change."""
        options = notification_options or NotificationOptions(tools_changed=True, prompts_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    def get_capabilities(self, *arguments: Any, **keywords: Any) -> ServerCapabilities:
        """Return what the server offers. The SDK would offer subscriptions to resources that never change."""
        capabilities = super().get_capabilities(*arguments, **keywords)
        if capabilities.resources is not None:
            capabilities.resources.subscribe = self._options.get("resource_changes") is not None
        return capabilities

    async def _list_tools(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> dict[str, Any]:
        session = self._find_session(context)
        return self._listing.build_page(self._dispatcher.permitted(session), session, params.cursor)

    def _find_session(self, context: ServerRequestContext[Any, Any]) -> Session:
        return self.conversations.session_of(context, self.conversations.principal_of(context))

    async def _list_prompts(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> dict[str, Any]:
        functions = describe_functions(self._prompt_catalog)
        skills = list_prompts(self._dispatcher.permitted(self._find_session(context)))
        names = {prompt["name"] for prompt in functions}
        others = [prompt for prompt in skills["prompts"] if prompt["name"] not in names]
        return {**skills, "prompts": [*functions, *others]}

    async def _get_prompt(
        self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams
    ) -> dict[str, Any]:
        if params.name in self._prompt_catalog:
            return await self._prompt_caller.get(context, params)
        skills = self._dispatcher.permitted(self._find_session(context))
        return build_prompt(skills, params.name, params.arguments, other_names=self._prompt_catalog.names())

    async def _complete(self, context: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> dict[str, Any]:
        subject: Tool | Skill | None
        if isinstance(params.ref, PromptReference):
            subject = self._prompt_catalog.get(params.ref.name)
            if subject is None:
                tool = self._dispatcher.permitted(self._find_session(context)).get(params.ref.name)
                subject = None if tool is None else skill_of(tool)
        else:
            subject = self._book.find_template(params.ref.uri)
        return build_completion(list_choices(subject, params.argument.name), params.argument.value)
