"""
Which stages of the pipeline a tool needs. This is known when the plan of the tool is made, and does not change.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from .._plumbing.records import record
from ..permissions.judgement import allow_any_call
from .plan import CallPlan, DirectCall
from .settings import Settings

__all__ = ["Part", "Stages"]

Part: TypeAlias = Literal["whole", "resumed", "tool"]
"""The whole pipeline; from the answer of a person on; or only running the tool, inside around-hooks."""

Calling: TypeAlias = DirectCall | Literal["attempts"]


@record(frozen=True, slots=True)
class Stages:
    """
    Which stages a tool needs in a dispatcher, and in which form.

    Attributes:
        part: Which part of the pipeline runs.
        options: Whether the call brings resources or a time limit with it.
        author_check: Whether the author's own check runs.
        before: Whether there are before-hooks.
        hooks: Whether the before- and after-hooks are "sync", "async" or "mixed".
        judged: Whether every call is judged.
        gated: Whether a quick check decides which calls are judged.
        around: Whether there are around-hooks.
        calling: How the function is called, see `CallPlan.direct_call`. "attempts": it needs more than its arguments.
        time_limit: Whether one attempt has a time limit.
        output: The type whose values need no encoding, "int" or "str"; or "form" if values are encoded.
        after: Whether there are after-hooks.
        masked: Whether a value has to be masked.
        recorded: Whether there is an audit log.
    """

    part: Part
    options: bool
    author_check: bool
    before: bool
    hooks: Literal["sync", "async", "mixed"]
    judged: bool
    gated: bool
    around: bool
    calling: Calling
    time_limit: bool
    output: Literal["int", "str", "form"]
    after: bool
    masked: bool
    recorded: bool

    @classmethod
    def of(cls, plan: CallPlan, settings: Settings, *, options: bool = False, part: Part = "whole") -> Stages:
        """Return the stages of *plan*'s tool. *options* says whether the call brings options."""
        chain, is_recorded, output = settings.chain, settings.audit is not None, plan.plain_output_type
        styles = {step.is_async for step in (*chain.before, *chain.after)}
        has_limit = plan.timeout_seconds is not None
        calling: Calling = plan.direct_call or "attempts"
        if options or is_recorded or (has_limit and calling in ("thread", "loop")):
            calling = "attempts"
        return cls(
            part=part,
            options=options,
            author_check=plan.validate is not None,
            before=bool(chain.before),
            hooks="mixed" if len(styles) > 1 else "async" if True in styles else "sync",
            judged=is_recorded or plan.gate is None,
            gated=plan.gate not in (None, allow_any_call),
            around=bool(chain.around) and part != "tool",
            calling=calling,
            time_limit=has_limit,
            output="int" if output is int else "str" if output is str else "form",
            after=bool(chain.after),
            masked=plan.needs_redaction,
            recorded=is_recorded,
        )
