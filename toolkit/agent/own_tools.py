"""
The tools that an agent adds to those of its host: `exit_plan`, `tool_search`, `read_output`, and those about jobs.
"""

from __future__ import annotations

from functools import cache

from ..builtin.read_output_tool import READ_OUTPUT, read_output_for
from ..builtin.tool_search_tool import tool_search_for
from ..calls.kept_outputs import is_output_reader
from ..catalog import Catalog
from ..catalogs.snapshot import Table, describe_place
from ..catalogs.views import CatalogView
from ..errors import DuplicateTool
from ..spec import Tool
from .plan_mode import exit_plan_tool
from .prompts import EXIT_PLAN

__all__ = ["SEARCH_TOOL", "with_own_tools"]

SEARCH_TOOL = "tool_search"


def with_own_tools(catalog: CatalogView) -> CatalogView:
    """
    Return *catalog*, which may have no tool named `exit_plan`, with the agent's own tools added.

    `tool_search` is there only while a tool is deferred and *catalog* has no tool of that name. `read_output` is there
    only while *catalog* has no tool of that name, and no tool that reads results that were cut. `job_output` and
    `job_stop` are there while a tool may run in the background, because its result names them.
    """
    if (clashing_tool := catalog.get(EXIT_PLAN)) is not None:
        raise DuplicateTool(
            f"`{EXIT_PLAN}` is the agent's own tool, so {describe_place(clashing_tool)} cannot be called that; "
            "give it another name, or leave it out with `filtered`"
        )

    def derive(table: Table, own: Table) -> Table:
        own_tools = dict(own.tools)
        readers = [tool for tool in table.tools.values() if is_output_reader(tool)]
        if table.find(SEARCH_TOOL) is not None or not any(
            tool.facts.defer for tool in table.tools.values() if tool not in readers
        ):
            del own_tools[SEARCH_TOOL]
        if readers or table.find(READ_OUTPUT) is not None:
            del own_tools[READ_OUTPUT]
        if any(tool.facts.background for tool in table.tools.values()):
            own_tools.update({tool.name: tool for tool in _build_job_tools() if table.find(tool.name) is None})
        return Table({**table.tools, **own_tools}, table.aliases)

    own_catalog = Catalog(exit_plan_tool(), tool_search_for(catalog), read_output_for(defer=True))
    return CatalogView((catalog, own_catalog), derive)


@cache
def _build_job_tools() -> tuple[Tool, Tool]:
    # Few agents have a tool for the background.
    from ..builtin.commands.job_tools import job_output_for, job_stop_for

    return job_output_for(), job_stop_for()
