"""
The provider of the model, and the next request to it: the conversation, the system text, and the offered tools.
"""

from __future__ import annotations

from ..catalogs.views import CatalogView
from ..providers.base import Provider, Request
from ..providers.messages import ToolMessage
from ..session import Session
from .active_run import ActiveRun
from .prompts import ANSWER_PROMPT, FRAME_PROMPT

__all__ = ["build_request", "choose_provider", "provider_structures_output"]


def choose_provider(provider: Provider | str) -> Provider:
    """Return *provider*, or the provider of the model that it names: "anthropic:claude-sonnet-4-5"."""
    if not isinstance(provider, str):
        return provider
    from ..providers.creation import create_provider  # it loads all providers, and most agents are given one

    return create_provider(provider)


def build_request(active_run: ActiveRun) -> Request:
    """Return the next request to the model, with the tools that are available now."""
    catalog, answer_format = active_run.toolbox.select_offered_tools(active_run.session), active_run.answer_format
    output = None if answer_format is None else answer_format.tool
    is_structured = output is not None and provider_structures_output(active_run, catalog)
    if output is not None and not is_structured:
        catalog = active_run.toolbox.select_offered_tools(active_run.session, output)
    return Request(
        messages=active_run.conversation.framed_messages(),
        system=_build_system_prompt(active_run, has_answer_tool=output is not None and not is_structured),
        catalog=catalog,
        session=_build_offered_session(active_run, catalog),
        output=output if is_structured else None,
    )


def provider_structures_output(active_run: ActiveRun, catalog: CatalogView | None = None) -> bool:
    """Return whether the typed answer is asked for as text. *catalog* has the tools that the model is offered."""
    catalog = active_run.toolbox.select_offered_tools(active_run.session) if catalog is None else catalog
    return active_run.options.structures_output(
        has_tools=bool(catalog.offered(_build_offered_session(active_run, catalog)))
    )


def _build_system_prompt(active_run: ActiveRun, *, has_answer_tool: bool) -> str:
    options = active_run.options
    parts = [
        options.system,
        options.plan_prompt if active_run.is_planning else "",
        FRAME_PROMPT if options.frame_results else "",
        ANSWER_PROMPT if has_answer_tool else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _build_offered_session(active_run: ActiveRun, catalog: CatalogView) -> Session:
    """
    Return the session whose loaded tools of *catalog* are offered. A sub-run with a list is offered all of it.

    Some providers refuse a conversation with calls if no tool is offered. An agent without tools that goes on with
    such a conversation is offered its tool that reads results that were cut.
    """
    names = active_run.tool_names
    if names is None and not catalog.offered(active_run.session):
        has_calls = any(isinstance(message, ToolMessage) for message in active_run.conversation.messages)
        names = tuple(catalog.names()) if has_calls else None
    if names is None:
        return active_run.session
    offering = Session(id=active_run.session.id)  # the id is the key of the provider's prompt cache
    offering.load(*names, *active_run.session.loaded)
    return offering
