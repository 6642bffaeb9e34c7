"""The code of the first pages in a notebook, where an event loop runs in the thread that calls."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.markdown import run

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "docs/start.md",
    "docs/guide-scripts-and-agents.md",
]
pytestmark = pytest.mark.usefixtures("own_defaults")

_PARTS = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.anyio
@pytest.mark.parametrize("page", PAGES)
async def test_the_snippets_work_where_a_loop_runs(page):
    """README snippets work in a notebook."""
    assert asyncio.get_running_loop().is_running()
    assert run(ROOT / page) > 0


@pytest.mark.anyio
async def test_the_first_example_works_where_a_loop_runs(capsys):
    """It prints the output of the page, in the thread of the loop."""
    cells, output = _read_readme()
    exec(compile(cells[0], "README.md", "exec"), {"__name__": "notebook"})
    assert capsys.readouterr().out == output


def _read_readme() -> tuple[list[str], str]:
    """Return the Python of the page, and what its first block prints."""
    parts = _PARTS.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    return [code for kind, code in parts if kind == "python"], next(text for kind, text in parts if kind == "text")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # what these packages warn of is not ours to mend
def test_the_readme_works_in_a_real_kernel():
    """Cell by cell, in the kernel that Jupyter starts; the first cell prints what the page shows."""
    pytest.importorskip("ipykernel", reason="a real notebook needs ipykernel, which is in no dependency group")
    manager = pytest.importorskip("jupyter_client.manager", reason="a real notebook needs jupyter_client")
    cells, output = _read_readme()
    awaiting = 'assert (await dispatcher.call("refund", right)).kind == "waiting"'  # the async method works there too
    kernel, client = manager.start_new_kernel(kernel_name="python3", cwd=str(ROOT))
    try:
        assert _execute(client, "import asyncio; print(asyncio.get_running_loop().is_running())") == "True\n"
        assert _execute(client, cells[0]) == output
        assert [_execute(client, cell) for cell in [*cells[1:], awaiting]] == [""] * len(cells)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def _execute(client, code: str) -> str:
    """Return what a cell prints; it must not fail."""
    printed = []

    def collect(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=collect, timeout=120)["content"]
    assert reply["status"] == "ok", reply
    return "".join(printed)
