"""A module with a flow, for the tests of `toolkit worker`."""

from __future__ import annotations

FLOWS = """\
from dataclasses import dataclass

from toolkit.flows import Flow


@dataclass
class Plan:
    file: str


@dataclass
class Released:
    file: str


release, check = Flow("release"), Flow("check")


@release.step(destructive=True)
def publish(plan: Plan) -> Released:
    return Released(plan.file)


@check.step(read_only=True)
def look(plan: Plan) -> Released:
    return Released(plan.file)
"""
