"""
The inputs of an agent in the forms that it works with: its tools as a dispatcher, a prompt as a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..catalog import Catalog
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..permissions import Permissions
from ..providers.messages import UserMessage
from .call_watcher import EventListener
from .events import Event
from .toolbox import Toolbox

__all__ = ["build_dispatcher", "build_prompt", "combine_listeners"]


def build_dispatcher(tools: Any) -> Dispatcher:
    """Return the dispatcher for *tools*: a dispatcher, a catalog or a list of functions."""
    if isinstance(tools, Dispatcher):
        return tools
    if isinstance(tools, CatalogView):
        return Dispatcher(tools, permissions=Permissions("default"))
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise TypeError(f"tools are a Dispatcher, a catalog or a list of functions, got {type(tools).__name__}")
    return Dispatcher(Catalog(*tools), permissions=Permissions("default"))


def build_prompt(prompt: str | UserMessage, toolbox: Toolbox) -> UserMessage:
    """Return *prompt* as a message; in a text, lines that name a skill are replaced by the skill's text."""
    message = UserMessage.of(toolbox.expand_skills(prompt)) if isinstance(prompt, str) else prompt
    if not isinstance(message, UserMessage):
        raise TypeError(f"a prompt is a text or a UserMessage, got {type(prompt).__name__}")
    if not message.text.strip() and all(hasattr(part, "text") for part in message.parts):
        raise ValueError("the prompt is empty; say what is to be done")
    return message


def combine_listeners(*listeners: EventListener | None) -> EventListener | None:
    """Return one listener that passes each event to all *listeners*, in order; None if there are none."""
    own_listeners = [listener for listener in listeners if listener is not None]
    if len(own_listeners) < 2:
        return own_listeners[0] if own_listeners else None

    def notify_all(event: Event) -> None:
        for listener in own_listeners:
            listener(event)

    return notify_all
