"""
A tool asks its user while it runs: the question is checked and masked, and written to the audit log, as all others are.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
from pathlib import Path
from typing import Annotated, Any
from weakref import ref

import pytest

from toolkit.approvals import Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context, Secret
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.policies.audit import AuditError, AuditLog
from toolkit.questions import DECLINED, Question

pytestmark = pytest.mark.anyio

KEY_RULE = re.compile(r"sk-live-\d+")
TEXT = {"type": "string"}


class Asker:
    """Gives *answers* one after the other, the last one again and again, and keeps the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Decision:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(request)
        return answer if isinstance(answer, Decision) else Decision.approve(answers={"k": answer})


def build(asker: Any, message: str = "Which {token}?", schema: Any = TEXT, **options: Any) -> tuple[Dispatcher, list]:
    """Return a dispatcher with the tool `ask`, which asks one question, and the list of its answers."""
    catalog, answers = Catalog(), []

    @catalog.tool(read_only=True)
    async def ask(context: Context, token: Annotated[str, Secret] = "-") -> str:  # noqa: S107 -- no password
        """Ask."""
        assert context.ask_at_once is not None
        question = Question(key="k", message=message.format(token=token), schema=schema)
        answers.append(await context.ask_at_once(question))
        return "done"

    return Dispatcher(catalog, approvals=Approvals(ask=asker), **options), answers


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the audit log at *path* that are about a question."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["event"] in ("asked", "answered")]


async def test_a_question_shows_no_secret():
    """
    A value that a `Secret` parameter or a rule of `redact=` hides is masked in the question, and the tool gets
    it.
    """
    asker = Asker("sk-live-42")
    dispatcher, answers = build(asker, "Use {token} or sk-live-77?", redact=[KEY_RULE])
    await dispatcher.call("ask", {"token": "hunter2hunter2"})
    assert asker.requests[0].questions[0].message == "Use [redacted] or [redacted]?"
    assert "hunter2" not in str(asker.requests[0].to_json())
    assert answers == ["sk-live-42"]


async def test_a_refused_answer_is_masked_in_the_next_question():
    """The person learns that the answer does not fit, and the answer is not shown again."""
    asker = Asker("sk-live-42", 7)
    dispatcher, answers = build(asker, "Which?", {"type": "integer"}, redact=[KEY_RULE])
    await dispatcher.call("ask", {})
    assert "the last answer does not fit: expected an integer" in asker.requests[1].reason
    assert "sk-live" not in asker.requests[1].reason
    assert answers == [7]


async def test_the_audit_log_has_the_question_and_its_answer(tmp_path):
    """Both lines name the same request, and hold no secret."""
    path = tmp_path / "audit.jsonl"
    asker = Asker("sk-live-42")
    dispatcher, _ = build(asker, "Use {token}?", redact=[KEY_RULE], audit=AuditLog(path))
    await dispatcher.call("ask", {"token": "hunter2hunter2"}, principal="ada")
    question, answered = read_lines(path)
    assert (question["event"], answered["event"]) == ("asked", "answered")
    assert question["request"] == answered["request"] == asker.requests[0].id
    assert question["questions"] == [{"key": "k", "message": "Use [redacted]?", "schema": TEXT}]
    assert question["principal"] == "ada"
    assert answered["answers"][0]["answer"] == "[redacted]"
    assert (answered["approved"], question["tool"]) == (True, "ask")


async def test_a_denial_is_in_the_audit_log(tmp_path):
    """The tool sees `DECLINED`, and the log says that the person denied."""
    path = tmp_path / "audit.jsonl"
    dispatcher, answers = build(Asker(Decision.deny("no", by="ada")), audit=AuditLog(path))
    await dispatcher.call("ask", {})
    answered = read_lines(path)[1]
    assert (answered["approved"], answered["by"], answered["reason"]) == (False, "ada", "no")
    assert answers == [DECLINED]


async def test_answers_that_never_fit_end_as_declined(tmp_path):
    """There are three tries, one line for the question, and one with the answer that counts."""
    path = tmp_path / "audit.jsonl"
    asker = Asker("seven")
    dispatcher, answers = build(asker, "Which?", {"type": "integer"}, audit=AuditLog(path))
    await dispatcher.call("ask", {})
    assert (answers, len(asker.requests)) == ([DECLINED], 3)
    assert len({request.id for request in asker.requests}) == 1
    question, answered = read_lines(path)
    assert "declined" in answered["answers"][0]
    assert question["event"] == "asked"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strin"}, "not a valid schema"),
        ({"type": 5}, "not a valid schema"),
        ({"$ref": "http://x/y"}, "http://x/y"),
        ({"$ref": "#"}, "leads back to itself"),
        ({"pattern": "("}, "pattern"),
        ({"default": float("nan")}, "not JSON"),
    ],
)
async def test_a_schema_that_cannot_be_used_is_refused_before_a_person_is_asked(schema, words):
    """The error names the question and the tool."""
    asker = Asker("x")
    dispatcher, answers = build(asker, "Which?", schema)
    result = await dispatcher.call("ask", {})
    assert "the question 'k' of `ask`" in result.text
    assert words in result.text
    assert (asker.requests, answers) == ([], [])


async def test_a_schema_that_changes_during_a_question_does_not_affect_it():
    """The question has its own copy, so the answer is checked against the schema that the person saw."""
    schema: dict[str, Any] = {"type": "integer"}

    def answer(request: ApprovalRequest) -> Decision:
        schema["type"] = "strin"
        return Decision.approve(answers={"k": 3})

    dispatcher, answers = build(answer, "Which?", schema)
    await dispatcher.call("ask", {})
    assert answers == [3]


class FullDisk(AuditLog):
    """An audit log that cannot write the lines of *event*."""

    def __init__(self, path: Path, event: str) -> None:
        super().__init__(path)
        self.event = event

    def write(self, event: str, **fields: Any) -> None:
        if event == self.event:
            raise AuditError("no space is left")
        super().write(event, **fields)


@pytest.mark.parametrize(("event", "count"), [("asked", 0), ("answered", 1)])
async def test_a_question_that_cannot_be_recorded_is_declined(event, count, tmp_path, caplog):
    """No person is asked without a line, and an answer without a line does not count; the tool goes on."""
    asker = Asker("x")
    dispatcher, answers = build(asker, audit=FullDisk(tmp_path / "audit.jsonl", event))
    with caplog.at_level(logging.ERROR, "toolkit"):
        result = await dispatcher.call("ask", {})
    assert (result.kind, answers, len(asker.requests)) == ("ok", [DECLINED], count)
    assert "no space is left" in caplog.text


async def test_a_question_after_the_call_is_declined(caplog):
    """A task that outlives its call asks no person."""
    catalog, contexts, asker = Catalog(), [], Asker("x")

    @catalog.tool(read_only=True)
    async def leave(context: Context) -> str:
        """Leave."""
        contexts.append(context)
        return "done"

    await Dispatcher(catalog, approvals=Approvals(ask=asker)).call("leave", {})
    gc.collect()
    with caplog.at_level(logging.WARNING, "toolkit"):
        answer = await contexts[0].ask_at_once(Question(key="k", message="Which?", schema=TEXT))
    assert (answer, asker.requests) == (DECLINED, [])
    assert "after its call had ended" in caplog.text


async def test_a_call_that_asked_is_freed_without_the_garbage_collector():
    """The question holds the call only while it is asked."""
    catalog, references = Catalog(), []

    @catalog.tool(read_only=True)
    async def ask(context: Context) -> str:
        """Ask."""
        await context.ask_at_once(Question(key="k", message="Which?", schema=TEXT))
        references.append(context.ask_at_once.args[1])
        return "done"

    dispatcher = Dispatcher(catalog, approvals=Approvals(ask=Asker("x")))
    gc.collect()
    gc.disable()
    try:
        await dispatcher.call("ask", {})
        await asyncio.sleep(0)
        assert isinstance(references[0], ref)
        assert references[0]() is None
    finally:
        gc.enable()
