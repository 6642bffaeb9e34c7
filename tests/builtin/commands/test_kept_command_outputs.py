"""What `bash` and `job_output` leave out of a long output can be read with `read_output`."""

from __future__ import annotations

import re

import pytest

from toolkit import Catalog, Dispatcher, Permissions, Session
from toolkit.builtin import read_output_for
from toolkit.builtin.commands.bash_tool import bash_for
from toolkit.builtin.commands.job_tools import job_output_for
from toolkit.workspace import Workspace

pytestmark = pytest.mark.anyio

LINE = re.compile(r'\n\[the whole text has (\d+) chars; read_output\(handle="(output_\w+)", offset=(\d+)\) reads .*\]$')
PLACE = re.compile(
    r"\n\(characters [\d,]+ to [\d,]+ of [\d,]+ of `\w+`; (?:more: continue with offset=(\d+)|this is the end)\)$"
)


@pytest.fixture
def workspace(tmp_path):
    """An empty one."""
    return Workspace(tmp_path)


def make_dispatcher(workspace, *, reader=True, **options) -> Dispatcher:
    catalog = Catalog(bash_for(workspace, sandbox="none", **options), job_output_for(workspace))
    if reader:
        catalog.add(read_output_for())
    return Dispatcher(catalog, permissions=Permissions("bypass"))


async def read_whole(dispatcher, session, handle, offset=0) -> str:
    pages = []
    while offset is not None:
        page = (await dispatcher.call("read_output", {"handle": handle, "offset": offset}, session=session)).text
        (more,) = PLACE.search(page).groups()
        pages.append(PLACE.sub("", page))
        offset = None if more is None else int(more)
    return "".join(pages)


def print_lines(count: int, word: str = "line") -> tuple[str, str]:
    """Return a command that prints *count* lines, and what it prints."""
    return f"seq -f '%.0f: {word}' 1 {count}", "".join(f"{number}: {word}\n" for number in range(1, count + 1))


@pytest.mark.long
async def test_every_byte_of_a_long_output_can_be_read(workspace, session):
    """A command that prints two megabytes is shown with both ends, and its pages together are all that it printed."""
    command, printed = print_lines(30_000, "some text that makes the line long enough, with ä and 字 in it, no more")
    assert len(printed.encode()) > 2_000_000
    dispatcher = make_dispatcher(workspace)
    result = await dispatcher.call("bash", {"command": command}, session=session)
    chars, handle, offset = LINE.search(result.text).groups()
    head, gap, tail = re.split(r"\n(\[\.\.\. [\d,]+ bytes left out \.\.\.\])\n", LINE.sub("", result.text))
    assert (printed.startswith(head), printed.rstrip("\n").endswith(tail), bool(gap)) == (True, True, True)
    assert (len(result.text) < 31_000, int(chars), int(offset)) == (True, len(printed) - 1, len(head))
    assert result.metadata == {"output_handle": handle}
    assert await read_whole(dispatcher, session, handle) == printed.rstrip("\n")
    match = await dispatcher.call("read_output", {"handle": handle, "pattern": "^15000:"}, session=session)
    assert match.text.partition(": ")[2].startswith("15000: some text")


async def test_both_streams_and_a_failure_are_kept(workspace, session):
    """The kept text has all of stdout, all of stderr and the exit code, as a short result would show them."""
    command, printed = print_lines(200)
    dispatcher = make_dispatcher(workspace, max_output_bytes=300)
    result = await dispatcher.call("bash", {"command": f"{command}; {command} >&2; exit 3"}, session=session)
    _, handle, offset = LINE.search(result.text).groups()
    assert (result.kind, result.error.details, result.text.count("bytes left out")) == ("failed", {"exit_code": 3}, 2)
    whole = f"{printed}stderr: {printed}exit code: 3"
    assert await read_whole(dispatcher, session, handle) == whole
    assert await read_whole(dispatcher, session, handle, int(offset)) == whole[int(offset) :]


async def test_a_short_output_is_a_plain_text(workspace, session):
    """If nothing is left out, the result names no handle."""
    result = await make_dispatcher(workspace).call("bash", {"command": "seq 3"}, session=session)
    assert (result.text, result.value, result.truncated, result.metadata) == ("1\n2\n3", "1\n2\n3", False, None)


@pytest.mark.parametrize("options", [{"reader": False}, {"max_kept_bytes": 0}], ids=["no reader", "nothing kept"])
async def test_only_the_ends_are_shown_if_the_whole_output_cannot_be_read(workspace, session, options):
    result = await make_dispatcher(workspace, max_output_bytes=20, **options).call(
        "bash", {"command": "seq 100"}, session=session
    )
    assert result.text == "1\n2\n3\n4\n5\n\n[... 272 bytes left out ...]\n98\n99\n100"
    assert result.metadata is None


async def test_the_text_says_how_much_of_a_large_output_is_not_kept(workspace, session):
    """The beginning and the end of an output over the limit are kept."""
    command, printed = print_lines(1000)
    dispatcher = make_dispatcher(workspace, max_output_bytes=300, max_kept_bytes=2000)
    result = await dispatcher.call("bash", {"command": command}, session=session)
    whole = await read_whole(dispatcher, session, LINE.search(result.text)[2])
    left_out = f"\n[... {len(printed) - 2000 - 150:,} bytes left out, which were too many to keep ...]\n"
    assert whole == (printed[:2000] + left_out + printed[-150:]).rstrip("\n")


async def test_a_job_keeps_the_output_that_is_not_shown(workspace, session):
    """`job_output` shows the end of what a job printed since it was last asked, and names the handle for all of it."""
    command, printed = print_lines(30_000)
    dispatcher = make_dispatcher(workspace)
    await dispatcher.call("bash", {"command": f"{command}; echo done >&2", "background": True}, session=session)
    arguments = {"job": "job_1", "wait_seconds": 60}
    result = await dispatcher.call("job_output", arguments, session=session)
    handle = result.metadata["output_handle"]
    assert result.text.startswith("[... ")
    assert f'read_output(handle="{handle}"' in result.text
    assert await read_whole(dispatcher, session, handle) == f"{printed}done\njob_1: exit code: 0"
    assert (await dispatcher.call("job_output", arguments, session=session)).text == (
        "(no new output)\njob_1: exit code: 0"
    )


async def test_the_output_belongs_to_its_principal_and_session(workspace, session):
    """Another session, and another principal of the same one, cannot read the output of a command."""
    dispatcher = make_dispatcher(workspace, max_output_bytes=300)
    call = {"command": print_lines(200)[0]}
    result = await dispatcher.call("bash", call, session=session, principal="ada")
    handle = {"handle": result.metadata["output_handle"]}
    kinds = [
        (await dispatcher.call("read_output", handle, session=other, principal=principal)).kind
        for other, principal in [(session, "ada"), (session, "bob"), (session, None), (Session(), "ada")]
    ]
    assert kinds == ["ok", "failed", "failed", "failed"]
