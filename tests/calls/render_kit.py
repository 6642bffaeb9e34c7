"""Plans of tools that promise a type, and their results as they are written down."""

import dataclasses
import json
from typing import Any

from toolkit import Catalog
from toolkit.calls.plan import CallPlan
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolResult
from toolkit.spec import Tool

NAN = float("nan")


def plan_for(returns: Any = ..., *, check_output: bool = True, **facts) -> CallPlan:
    """Return the plan of a tool that promises to return *returns*."""

    def function():
        """Do it."""

    if returns is not ...:
        function.__annotations__["return"] = returns
    dispatcher = Dispatcher(Catalog(), check_output=check_output)
    return CallPlan(Tool.described(function, **facts), dispatcher.settings, Catalog().table)


PLAIN = plan_for()


def sent(result: ToolResult) -> dict[str, Any]:
    """Return *result* as it is written down: strict JSON, and UTF-8."""
    return json.loads(json.dumps(result.to_json(), allow_nan=False, ensure_ascii=False).encode())


@dataclasses.dataclass
class Sum:
    sum: int
