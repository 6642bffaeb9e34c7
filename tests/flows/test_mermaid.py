"""The drawing of a flow shows its steps, its ends, its lists and its ways back."""

from __future__ import annotations

from tests.flows.kit import Built, Part, Plan, Rejected, Released, Task
from toolkit.flows import Flow


def test_the_drawing_shows_the_whole_graph():
    """Each line is a node or an edge."""
    flow = Flow[Released | Rejected]("release")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part] | Rejected: ...

    @flow.step(name="build-it", check=lambda before, after: None, undo=print, attempts=3)
    def build(part: Part) -> Built: ...

    @flow.step(destructive=True, back_to="build-it")
    def publish(built: list[Built]) -> Released: ...

    assert (
        flow.mermaid()
        == """\
flowchart TD
    start_1([start])
    step_split["split<br/><i>reads only</i>"]
    step_build_it["build-it<br/><i>checked, can be undone, 3 attempts</i>"]
    step_publish["publish<br/><i>destructive</i>"]
    end_1(["Rejected"])
    end_2(["Released"])
    start_1 -- "Task" --> step_split
    step_split == "each of list#91;Part#93;" ==> step_build_it
    step_split -- "Rejected" --> end_1
    step_build_it -- "joined to list#91;Built#93;" --> step_publish
    step_publish -- "Released" --> end_2
    step_publish -. back_to .-> step_build_it
"""
    )


def test_a_plain_flow_has_plain_nodes():
    """There are no notes where there is nothing to say, and each start has a node."""
    flow = Flow("plain")

    @flow.step(start=True)
    def one(task: Task) -> Plan: ...

    @flow.step(start=True)
    def two(plan: Plan) -> list[Part]: ...

    lines = flow.mermaid().splitlines()
    assert '    step_one["one"]' in lines
    assert '    start_2 -- "Plan" --> step_two' in lines
    assert '    end_1(["list#91;Part#93;"])' in lines
