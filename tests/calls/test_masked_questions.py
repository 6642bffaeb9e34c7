"""
Errors about answers show no secret, and a question whose choices would be masked is refused.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from toolkit.approvals import ApprovalError, Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.policies.audit import AuditLog
from toolkit.questions import Question

pytestmark = pytest.mark.anyio

RULE = re.compile(r"sk-live-\d+")
SECRET = "sk-live-12345678"  # noqa: S105 -- made up


def build(schema: dict[str, Any], **options: Any) -> Dispatcher:
    """Return a dispatcher with two tools that ask for a key with *schema*."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def login(context: Context) -> str:
        """Log in."""
        return str(await context.ask("key", "Which key?", schema))

    @catalog.tool(read_only=True)
    async def login_at_once(context: Context) -> str:
        """Log in."""
        assert context.ask_at_once is not None
        return str(await context.ask_at_once(Question(key="key", message="Which key?", schema=schema)))

    return Dispatcher(catalog, redact=[RULE], **options)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"key": SECRET}, 'expected an integer, got "[redacted]"'),
        ({"key": "x" * 30 + SECRET * 9}, "expected an integer"),
        ({"key": {SECRET: {SECRET: SECRET}}}, "expected an integer"),
        ({SECRET: 1, "key": 1}, "it does not ask '[redacted]'"),
    ],
)
async def test_a_refused_answer_is_not_quoted(answers, words, tmp_path):
    """The error and the line in the audit log do not hold the answer."""
    dispatcher = build({"type": "integer"}, audit=AuditLog(tmp_path / "audit.jsonl"))
    request = (await dispatcher.call("login", {})).request
    with pytest.raises(ApprovalError, match=re.escape(words)) as caught:
        await dispatcher.resume(request.id, Decision.approve(answers=answers, by=SECRET))
    log = (tmp_path / "audit.jsonl").read_text()
    assert '"refused"' in log
    assert "sk-live" not in str(caught.value) + log


async def test_an_answer_that_is_refused_only_in_clear_is_not_shown():
    """If the masked answer would fit, the error says only that the answer is refused."""
    dispatcher = build({"type": "string", "maxLength": 12})
    request = (await dispatcher.call("login", {})).request
    with pytest.raises(ApprovalError, match="may not be shown"):
        await dispatcher.resume(request.id, Decision.approve(answers={"key": SECRET}))


async def test_the_next_question_does_not_quote_the_answer():
    """An asker that is asked again reads what was wrong, without the secret."""
    reasons: list[str] = []

    def ask(request: ApprovalRequest) -> Decision:
        reasons.append(request.reason)
        return Decision.approve(answers={"key": SECRET if len(reasons) == 1 else 7})

    result = await build({"type": "integer"}, approvals=Approvals(ask=ask)).call("login", {})
    assert result.text == "7"
    assert "expected an integer" in reasons[1]
    assert "sk-live" not in reasons[1]


@pytest.mark.parametrize("tool", ["login", "login_at_once"])
@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"enum": ["a", SECRET]}, "enum"),
        ({"oneOf": [{"const": "a"}, {"const": SECRET, "title": "b"}]}, "oneOf/1/const"),
        ({"type": "string", "default": SECRET}, "default"),
        ({"type": "array", "items": {"enum": [SECRET]}}, "items/enum"),
        ({"type": "object", "properties": {SECRET: {"type": "string"}}}, "properties"),
    ],
)
async def test_a_question_with_choices_that_would_be_masked_is_refused(tool, schema, place):
    """No person is asked, and the error names the question, the place and the remedy, not the secret."""
    requests: list[ApprovalRequest] = []
    result = await build(schema, approvals=Approvals(ask=requests.append)).call(tool, {})
    assert result.kind != "waiting"
    assert f"the question 'key' of `{tool}`: a secret is masked in the schema at {place}, " in result.text
    assert "offer choices without secrets" in result.text
    assert "sk-live" not in result.text
    assert requests == []


async def test_text_that_a_user_only_reads_may_be_masked():
    """A secret in a title or a description does not stop the question."""
    schema = {"oneOf": [{"const": 1, "title": SECRET}, {"const": 2}], "description": SECRET}
    request = (await build(schema).call("login", {})).request
    assert "sk-live" not in str(request.to_json())
