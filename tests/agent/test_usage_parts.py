"""`run.usage` says what the tokens of a run were for."""

from __future__ import annotations

import pytest

from toolkit.agent import Run, sub_run
from toolkit.context import Context
from toolkit.providers.base import Reply, Usage
from toolkit.providers.messages import AssistantMessage

from .kit import Shed, call

pytestmark = pytest.mark.anyio


def reply(*calls, tokens=1000, text=""):
    usage = Usage(input_tokens=tokens, output_tokens=10)
    return Reply(message=AssistantMessage(text=text, calls=calls), stop="calls" if calls else "answer", usage=usage)


def sum_parts(usage):
    return usage.definition_tokens + sum(usage.result_tokens.values()) + usage.rest_tokens


@pytest.mark.parametrize("streams", [True, False])
async def test_the_parts_of_a_run_add_up(streams):
    """Over all its turns; with and without a listener."""
    shed = Shed()
    script = [reply(call("look", "c1", what="oak " * 500)), reply(call("look", "c2", what="elm")), reply(text="Done.")]
    run = await shed.agent(script, **({"on_event": lambda event: None} if streams else {})).run("go")
    usage = run.usage
    assert (run.status, usage.input_tokens, usage.unreported_tokens) == ("done", 3000, 0)
    assert sum_parts(usage) == 3000
    assert list(usage.result_tokens) == ["look"]
    assert usage.definition_tokens > 0
    assert usage.result_tokens["look"] > 500  # the long result was sent twice
    assert Run.loads(run.dumps()).usage.to_json() == usage.to_json() == run.spent.usage.to_json()


async def test_a_provider_that_reports_no_usage_gets_an_estimate():
    """It is marked as an estimate, and does not count in a budget."""
    run = await Shed().agent([[call("look", what="oak " * 500)], "Done."]).run("go")
    assert (run.usage.input_tokens, run.usage.total_tokens) == (0, 0)
    assert sum_parts(run.usage) == run.usage.unreported_tokens > 500
    assert run.usage.result_tokens["look"] >= 500


async def test_a_continued_run_adds_to_the_parts_of_its_usage():
    """The run may have been saved in between."""
    shed = Shed()
    first = await shed.agent([reply(text="One.")]).run("go")
    second = await shed.agent([reply(call("look", what="oak " * 99)), reply(text="Two.")]).run(
        "on", run=Run.loads(first.dumps())
    )
    assert second.usage.input_tokens == sum_parts(second.usage) == 3000
    assert second.usage.definition_tokens > first.usage.definition_tokens
    assert second.spent.usage.input_tokens == sum_parts(second.spent.usage) == 2000


async def test_sub_runs_are_included_by_the_names_of_their_tools():
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def helper(context: Context) -> str:
        """Let a helper look."""
        return await sub_run("Look.", context=context, tools=["look"])

    script = [
        reply(call("helper", "c1")),
        reply(call("look", "c2", what="oak " * 500)),
        reply(text="An oak. " * 200),
        reply(text="Done."),
    ]
    run = await shed.agent(script).run("go")
    assert run.usage.input_tokens == sum_parts(run.usage) == 4000
    assert sorted(run.usage.result_tokens) == ["helper", "look"]
