"""
The server: the handlers of all requests, on the low-level server of the official SDK.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import NoneType
from typing import Any, TypedDict, Unpack

from mcp.server import InitializationOptions, NotificationOptions, Server, ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    GetPromptRequestParams,
    NotificationParams,
    PaginatedRequestParams,
)

from ..._option_checks import OptionTypes, check_option_types, explain_unknown_choice
from ...dispatcher import Dispatcher
from ...permissions.policy import Permissions
from .call_shortcut import install_shortcut
from .calling import ToolCaller
from .changes import ChangeNotifier
from .conversations import Conversations
from .header_schemas import HeaderSchemas
from .listing import ToolListing
from .progress import ProgressRouter
from .prompts import build_prompt, list_prompts
from .sealed_state import Keys, StateSeal

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
    """

    name: str
    version: str
    instructions: str | None
    key: Keys | None
    principal: str | None
    lists_deferred: bool
    page_size: int
    answer_seconds: float


_OPTION_TYPES: OptionTypes = {
    "name": ((str,), "a text"),
    "version": ((str,), "a text"),
    "instructions": ((str, NoneType), "a text, or None"),
    "principal": ((str, NoneType), "the name of a user, or None"),
    "lists_deferred": ((bool,), "True or False"),
    "page_size": ((int,), "a whole number of tools"),
    "answer_seconds": ((int, float), "a number of seconds"),
}


def build_server(dispatcher: Dispatcher, **options: Unpack[ServerOptions]) -> ToolServer:
    """
    Return a server of the official SDK for the tools of *dispatcher*, for tests or for a transport of your own.

    A dispatcher without permissions gets those of mode `default`: a call that changes something asks the user of the
    client. `ServerOptions` explains the options.
    """
    if not isinstance(dispatcher, Dispatcher):
        raise TypeError(f"a server wants a dispatcher, got {type(dispatcher).__name__}; write Dispatcher(catalog)")
    names = list(ServerOptions.__annotations__)
    for name in options:
        if name not in names:
            raise TypeError(f"a server: the option {explain_unknown_choice(name, names)}")
    check_option_types(options, {name: types for name, types in _OPTION_TYPES.items() if name in options})
    return ToolServer(dispatcher, options)


class ToolServer(Server[Any]):
    """
    The server for the tools of one dispatcher, with *options* that `build_server` has checked.

    Attributes:
        shortcut: The short way for plain calls, which a transport may take as well.
    """

    def __init__(self, dispatcher: Dispatcher, options: ServerOptions) -> None:
        router = ProgressRouter()
        has_judges = bool(dispatcher.settings.judges.find_all(object))
        self._dispatcher = dispatcher.extended(
            permissions=None if has_judges else Permissions("default"), on_progress=router
        )
        answer_seconds = options.get("answer_seconds", 600.0)
        seal = StateSeal(options.get("key"), max_age_seconds=answer_seconds)
        self._listing = ToolListing(
            page_size=options.get("page_size", 100), lists_deferred=options.get("lists_deferred", True)
        )
        self._conversations = Conversations(seal, options.get("principal"))
        self._changes = ChangeNotifier(dispatcher.catalog)
        caller = ToolCaller(
            self._dispatcher,
            self._conversations,
            seal,
            router,
            on_load=self._changes.notify_soon,
            answer_seconds=answer_seconds,
        )
        super().__init__(
            options.get("name", "toolkit"),
            version=options.get("version", ""),
            instructions=options.get("instructions"),
            lifespan=self._live,
            get_tool_input_schema=HeaderSchemas(self._dispatcher.catalog).find,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=self._changes.listen,
        )
        self.add_request_handler("tools/list", PaginatedRequestParams, self._list_tools)
        self.add_request_handler("tools/call", CallToolRequestParams, caller.call)
        self.shortcut = install_shortcut(self, caller)
        self.add_notification_handler("notifications/initialized", NotificationParams, self._changes.follow)

    @contextlib.asynccontextmanager
    async def _live(self, _: Server[Any]) -> AsyncIterator[None]:
        self._changes.start()
        try:
            yield
        finally:
            self._changes.stop()

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what clients of older revisions are told, which includes that the list of tools may change."""
        options = notification_options or NotificationOptions(tools_changed=True, prompts_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    async def _list_tools(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> dict[str, Any]:
        principal = self._conversations.principal_of(context)
        session = self._conversations.session_of(context, principal)
        return self._listing.build_page(self._dispatcher.permitted(session), session, params.cursor)

    async def _list_prompts(self, context: ServerRequestContext[Any, Any], params: Any) -> Any:
        return list_prompts(self._dispatcher.catalog)

    async def _get_prompt(self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams) -> Any:
        return build_prompt(self._dispatcher.catalog, params.name, params.arguments)
