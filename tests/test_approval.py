"""Whether somebody has to agree, and what they are shown."""

import dataclasses
from typing import Annotated, Literal

import pytest

from toolkit import Tool
from toolkit.approval import asked_of
from toolkit.context import Secret
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]


@dataclasses.dataclass
class Target:
    path: str


def remove(target: Target, key: Annotated[str, Secret] | None = None, mode: Literal["soft", "hard"] = "soft") -> None:
    """Remove it."""


CALL = ToolCall("remove", {}, "c1")


async def asked(asked=None, *, repairs=(), call=CALL, **facts):
    """What somebody is asked about a call of `remove` with these facts."""
    tool = Tool.described(remove, **facts)
    decoded = tool.check({"target": {"path": "/a"}, "key": "hunter2"})
    return await asked_of(tool, call, decoded, asked, repairs)


async def says_yes(arguments):
    return True


def fails(arguments):
    raise RuntimeError("no idea")


async def fails_async(arguments):
    raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("approval", "reason"),
    [
        ("never", None),
        (lambda arguments: False, None),
        ("always", "`remove` needs approval every time"),
        (lambda arguments: arguments["target"].path == "/a", "`remove` needs approval for these arguments"),
        (says_yes, "`remove` needs approval for these arguments"),
        (fails, "`remove` could not tell whether it needs approval (RuntimeError)"),
        (fails_async, "`remove` could not tell whether it needs approval (RuntimeError)"),
    ],
    ids=["never", "no", "always", "yes", "async", "fails", "fails async"],
)
async def test_the_author_says_when_to_ask(approval, reason):
    """By a word, or a function of the decoded arguments; who cannot tell, asks."""
    request = await asked(approval=approval)
    assert (request.reason if request else None) == reason


@pytest.mark.parametrize(("reason", "shown"), [("is it?", "is it?"), ("", "a hook asked for it")])
async def test_a_hook_that_asks_is_heard(reason, shown):
    """Also one that gives no reason."""
    request = await asked(reason)
    assert request is not None
    assert request.reason == shown


async def test_a_request_says_what_would_run():
    """In JSON form, defaults filled in, secrets masked; and for whom."""
    call = ToolCall("remove", {}, "c1", Session(id="s1"), "me")
    request = await asked("why", call=call, repairs=["mended"])
    assert request is not None
    assert request.arguments == {"target": {"path": "/a"}, "key": "[redacted]", "mode": "soft"}
    assert (request.tool, request.call_id, request.session, request.principal) == ("remove", "c1", "s1", "me")
    assert request.repairs == ("mended",)
    assert request.id != (await asked("why")).id


async def test_a_default_without_json_form_is_shown_in_words():
    """Nobody sent it, but it would be used."""

    def function(a: int = 1) -> None:
        """Do it."""

    request = await asked_of(Tool.of(function), ToolCall("function"), {"a": object}, "why", ())
    assert request is not None
    assert request.arguments == {"a": "<class 'object'>"}


async def preview_async(arguments):
    return {"removes": arguments["target"]}


@pytest.mark.parametrize(
    ("preview", "shown"),
    [
        (lambda arguments: f"removes {arguments['target'].path}", "removes /a"),
        (preview_async, '{"removes":{"path":"/a"}}'),
        (fails, "no preview: RuntimeError: no idea"),
        (fails_async, "no preview: RuntimeError: no idea"),
    ],
    ids=["text", "async", "fails", "fails async"],
)
async def test_a_preview_shows_what_is_about_to_happen(preview, shown):
    """Or why there is none: it is shown, not needed."""
    request = await asked("why", preview=preview)
    assert request is not None
    assert request.preview == shown


async def test_what_was_shown_is_what_runs():
    """A function that changes its arguments changes nobody's."""

    def change(arguments):
        arguments["mode"] = "hard"
        arguments.clear()

    tool = Tool.described(remove, approval=change, preview=change)
    decoded = tool.check({"target": {"path": "/a"}})
    await asked_of(tool, ToolCall("remove"), decoded, "why", ())
    await asked_of(tool, ToolCall("remove"), decoded, None, ())
    assert decoded["mode"] == "soft"
