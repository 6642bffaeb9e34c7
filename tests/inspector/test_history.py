"""The limits of the history: many calls, large results, and values of every kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Catalog, Dispatcher, ToolCall, ToolResult
from toolkit.content import AudioPart, ImagePart, TextPart
from toolkit.hooks.events import CallEnded, CallStarted
from toolkit.inspector import History
from toolkit.inspector.call_rows import MAX_CHARS, describe_result, fits

pytestmark = pytest.mark.anyio


def make_call(history, number, text="fine"):
    """Tell *history* of a call that ended."""
    call = ToolCall("add", {"a": number}, f"c{number}")
    history.on_event(CallStarted(call))
    result = ToolResult(text, number, call_id=call.id, tool="add", attempts=1, duration_seconds=0.001)
    history.on_event(CallEnded(call, "ok", result))


def test_the_oldest_calls_are_forgotten():
    history = History(max_calls=1_000, max_bytes=100_000)
    for number in range(1, 1_501):
        make_call(history, number)
    rows, following, total = history.list_calls(lambda row: True, before=None, limit=5_000)
    assert (len(rows), rows[0]["number"], rows[-1]["number"], following, total) == (1_000, 1_500, 501, None, 1_000)
    assert history.read_call(500) is None
    assert history.read_call(501)["forgotten"] is True
    assert json.loads(history.read_call(1_500))["id"] == "c1500"
    assert history.read_call(1_501) is None
    assert history.stats.snapshot()[0].calls == 1_500


@pytest.mark.long
@pytest.mark.unmeasured
async def test_a_hundred_thousand_calls_are_kept_within_limits():
    """The oldest ones are forgotten, and the newest page comes at once."""
    inspector = build_inspector()
    history = inspector.history
    for number in range(110_000):
        make_call(history, number)
    assert sum(map(len, history._details.values())) <= 64 * 1024 * 1024
    assert len(history.events._events) == 10_000
    async with serving(inspector) as browser:
        page = await browser.get("calls", limit=5_000)
        assert (page["total"], len(page["calls"]), page["calls"][0]["number"]) == (100_000, 5_000, 110_000)
        oldest = await browser.get("calls", before=10_002)
        assert [row["number"] for row in oldest["calls"]] == [10_001]
        assert "there is no call" in (await browser.get("calls/10000", 404))["error"]


def test_details_of_old_calls_are_forgotten():
    history = History(max_bytes=10_000)
    for number in range(100):
        make_call(history, number, "x" * 500)
    assert json.loads(history.read_call(100))["result"]["text"] == "x" * 500
    assert history.read_call(1)["forgotten"] is True
    assert sum(map(len, history._details.values())) <= 10_000


@pytest.mark.long
async def test_an_output_of_50_megabytes_is_cut():
    """The text by the dispatcher, and the value by the history; a text that no limit has cut as well."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def flood() -> dict[str, str]:
        """Return a lot."""
        return {"text": "x" * 50_000_000}

    @catalog.tool(read_only=True, max_chars=100_000_000)
    def flood_text() -> str:
        """Return a long text."""
        return "\x1b[2J" * 12_500_000

    async with serving(build_inspector(catalog)) as browser:
        call = await browser.call("flood")
        assert (call["kind"], call["result"]["value"], call["cut"]) == ("ok", None, ["value"])
        call = await browser.call("flood_text")
        assert call["chars"] == 50_000_000
        assert len(call["result"]["text"]) == MAX_CHARS
        assert set(call["cut"]) == {"text", "value"}


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "\x1b[2J", "\u202eevil", "pаypal", "\x00\x07", "\ud800"]
)
async def test_hostile_text_is_not_changed(text):
    """The page shows it as text."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def say() -> str:
        """Say it."""
        return text

    async with serving(build_inspector(catalog)) as browser:
        call = await browser.call("say")
    assert call["result"]["text"].encode("utf-16", "surrogatepass") != b""
    assert text in call["result"]["text"] or text == "\ud800"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_a_value_fits_if_its_json_is_short_enough(value):
    """A value that fits has at most six times as many characters: control characters are written as six."""
    length = len(json.dumps(value))
    assert fits(value, length * 2 + 10)
    if length > 100:
        assert not fits(value, length // 8 - 10)


def test_endless_and_foreign_values_are_measured():
    endless: list = []
    endless.append(endless)
    assert not fits(endless)
    assert not fits({number: number for number in range(100_000)})
    assert not fits(2**2_000_000)
    assert fits(object())
    assert fits((1, 2))


async def test_results_that_are_not_json_are_kept():
    """A hook may put any object into a result."""

    class Odd:
        def after(self, call, result):
            result.value = {1: object(), "nan": float("nan")}
            return result

    async with serving(build_inspector(dispatcher=Dispatcher(build_catalog(), hooks=[Odd()]))) as browser:
        call = await browser.call("add", a=1)
    assert call["kind"] in ("ok", "failed")


def test_the_bytes_of_parts_are_only_counted():
    parts = [TextPart("hi"), ImagePart(b"x" * 10), AudioPart(b"y" * 20, "audio/wav")]
    described, cut = describe_result(ToolResult("fine", parts=parts))
    assert cut == []
    assert described["parts"] == [
        {"type": "text", "text": "hi"},
        {"type": "image", "media_type": "image/png", "bytes": 10},
        {"type": "audio", "media_type": "audio/wav", "bytes": 20},
    ]


def test_too_much_of_everything_is_cut():
    many = ["x" * 1000] * 1000
    result = ToolResult.failure(
        "failed", "no", details={"all": many}, repairs=many, retries=many, metadata={"all": many}
    )
    described, cut = describe_result(result)
    assert set(cut) == {"error", "repairs", "retries", "metadata"}
    assert described["repairs"] == []


def test_an_end_without_a_start_is_kept():
    """The history was added in the middle of a call."""
    history = History()
    history.on_event(CallEnded(ToolCall("add", {}, "c1"), "cancelled", None, None))
    assert json.loads(history.read_call(1))["kind"] == "cancelled"


def test_calls_with_the_same_id_are_distinguished():
    history = History()
    calls = [ToolCall(name, {}, "c1") for name in ("add", "add", "sum")]
    for call in calls:
        history.on_event(CallStarted(call))
    for call in calls:
        history.on_event(CallEnded(call, "ok", ToolResult("fine", tool=call.name)))
    rows, _, total = history.list_calls(lambda row: row.kind == "ok", before=None, limit=10)
    assert total == len(rows) == 3
    assert history._live == {}
