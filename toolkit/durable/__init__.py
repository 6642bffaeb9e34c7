"""
Runs that survive the end of their process, in a database.

    durable = DurableAgent(agent, "sqlite:///runs.sqlite")
    run = await durable.run("Fix the failing test.", id="fix-417")
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .errors import DurableError, RunTakenOver

if TYPE_CHECKING:
    from .durable_agent import DurableAgent
    from .engine import Engine, RunJob, RunLimits
    from .host import DurableHost
    from .journal.records import EventRow, RunRow
    from .run_kinds import Activation, ActivationEnd

__all__ = [
    "Activation",
    "ActivationEnd",
    "DurableAgent",
    "DurableError",
    "DurableHost",
    "Engine",
    "EventRow",
    "RunJob",
    "RunLimits",
    "RunRow",
    "RunTakenOver",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("Activation", "ActivationEnd"), "run_kinds"),
        **dict.fromkeys(("Engine", "RunJob", "RunLimits"), "engine"),
        **dict.fromkeys(("EventRow", "RunRow"), "journal.records"),
        "DurableAgent": "durable_agent",
        "DurableHost": "host",
    },
)
