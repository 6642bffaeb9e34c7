"""
The inputs of an agent in the forms that it works with: its tools as a dispatcher, a prompt as a message, a session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..catalog import Catalog
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..permissions import Permissions
from ..providers.messages import UserMessage
from ..session import Session
from .events import Event, EventListener
from .saved.runs import Run
from .toolbox import Toolbox

__all__ = ["build_dispatcher", "build_prompt", "choose_session", "combine_listeners"]


def build_dispatcher(tools: Any) -> Dispatcher:
    """Return the dispatcher for *tools*: a dispatcher, a catalog or a list of functions."""
    if isinstance(tools, Dispatcher):
        return tools
    if isinstance(tools, CatalogView):
        return Dispatcher(tools, permissions=Permissions("default"))
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise TypeError(f"tools are a Dispatcher, a catalog or a list of functions, got {type(tools).__name__}")
    return Dispatcher(Catalog(*tools), permissions=Permissions("default"))


def build_prompt(prompt: str | UserMessage | None, toolbox: Toolbox) -> UserMessage:
    """Return *prompt* as a message; in a text, lines that name a skill are replaced by the skill's text."""
    message = UserMessage.of(toolbox.expand_skills(prompt)) if isinstance(prompt, str) else prompt
    if not isinstance(message, UserMessage):
        raise TypeError(f"a prompt is a text or a UserMessage, got {type(prompt).__name__}")
    if not message.text.strip() and all(hasattr(part, "text") for part in message.parts):
        raise ValueError("the prompt is empty; say what is to be done")
    return message


def choose_session(own_session: Session | None, run: Run[Any] | None) -> Session:
    """
    Return *own_session*, that of *run*, or a new one if there is neither.

    The session of *run* is used if the agent has no session of its own, or if the two have different ids. In the second
    case it gets the principal of *own_session*, or `ValueError` is raised if it has another one.
    """
    if run is None:
        return own_session or Session()
    if own_session is None or own_session.id == run.session.id:
        return own_session or run.session
    if run.session.principal not in (None, own_session.principal):
        raise ValueError("the run has another principal than this agent's session")
    run.session.principal = own_session.principal
    return run.session


def combine_listeners(*listeners: EventListener | None) -> EventListener | None:
    """Return one listener that passes each event to all *listeners*, in order; None if there are none."""
    own_listeners = [listener for listener in listeners if listener is not None]
    if len(own_listeners) < 2:
        return own_listeners[0] if own_listeners else None

    def notify_all(event: Event) -> None:
        for listener in own_listeners:
            listener(event)

    return notify_all
