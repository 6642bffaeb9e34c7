"""
Record the demo as pictures: `python -m benchmarks.record_demo` writes `docs/images/`.

The demo runs in a real pseudo-terminal of 88 columns and 28 lines. Each picture is
the screen at one moment, with its colours.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import xml.etree.ElementTree as ET
from itertools import groupby
from operator import itemgetter
from pathlib import Path

__all__ = ["COLUMNS", "LINES", "MOMENTS", "draw_svg", "read_svg", "record", "screen_at"]

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DEMO = ROOT / "examples" / "15_agent_at_work.py"
COLUMNS, LINES = 88, 28
MOMENTS = {
    "demo.svg": "+    return sum(prices) * (1 - discount)",
    "demo-end.svg": None,
}
"""The pictures: the screen right after the line with these words, or at the end."""

_CHARACTER_WIDTH = 12.2
_PIECES = re.compile(r"\x1b\[(?P<numbers>[0-9;?]*)(?P<verb>[A-Za-z])|(?P<character>.)", re.DOTALL)


def record(command: list[str]) -> str:
    """Run *command* in a pseudo-terminal and return what it wrote."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (LINES, COLUMNS))
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    for name in ("PROVIDER", "MODEL", "NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    if process.wait() != 0:
        raise RuntimeError(f"the demo failed:\n{written.decode(errors='replace')}")
    return written.decode()


def screen_at(written: str, words: str | None) -> list[str]:
    """Return the lines on the screen, with their colours, when the line with *words* is written, or at the end."""
    lines: list[list[tuple[str, str]]] = [[]]  # cells of a colour and a character
    row = column = 0
    colour = ""
    for piece in _PIECES.finditer(written):
        verb, character, numbers = piece["verb"], piece["character"], piece["numbers"]
        if verb == "m":
            colour = "" if numbers in ("", "0") else colour + piece[0]
        elif verb == "A":
            row = max(0, row - int(numbers or 1))
        elif verb == "K":
            lines[row] = [] if numbers == "2" else lines[row][:column]
        elif character == "\r":
            column = 0
        elif character == "\n":
            if words is not None and words in "".join(character for _, character in lines[row]):
                break
            row, column = row + 1, 0
            lines += [[]] * (row + 1 - len(lines))
        elif character:
            cells = lines[row] + [("", " ")] * (column - len(lines[row]))
            lines[row] = [*cells[:column], (colour, character), *cells[column + 1 :]]
            column += 1
    drawn = [_join_cells(line) for line in lines]
    while drawn and not drawn[-1]:
        drawn.pop()
    return drawn[-LINES:]


def draw_svg(lines: list[str], title: str) -> str:
    """Return a picture of a terminal that shows *lines*."""
    from rich.console import Console
    from rich.text import Text

    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for line in lines:
            console.print(Text.from_ansi(line), no_wrap=True, crop=True)
        svg = console.export_svg(title=title, code_format=_FORMAT, unique_id="demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def read_svg(svg: str) -> list[str]:
    """Return the lines of text that a picture shows; times and temporary folders, which differ, are written as `#`."""
    rows: dict[float, str] = {}
    for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if text.get("clip-path"):  # the title has none
            y, column = float(text.get("y", "0")), round(float(text.get("x", "0")) / _CHARACTER_WIDTH)
            # Spaces alone are not in the picture, so each piece is put at its place.
            rows[y] = rows.get(y, "").ljust(column) + "".join(text.itertext()).replace("\xa0", " ")
    lines = [line.rstrip() for _, line in sorted(rows.items())]
    return [re.sub(r"\d+(\.\d+)? m?s\b|/tmp/\w+", "#", line) for line in lines]


def _join_cells(cells: list[tuple[str, str]]) -> str:
    parts = []
    for colour, group in groupby(cells, key=itemgetter(0)):
        text = "".join(character for _, character in group)
        parts.append(f"{colour}{text}\x1b[0m" if colour else text)
    return "".join(parts).rstrip()


# As rich's own, with fonts that are there: a picture in a page loads none from elsewhere.
_FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
}}
.{unique_id}-title {{
    font-family: system-ui, "DejaVu Sans", sans-serif;
    font-size: 18px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    written = record([sys.executable, str(DEMO)])
    for name, words in MOMENTS.items():
        (IMAGES / name).write_text(draw_svg(screen_at(written, words), "make demo"), encoding="utf-8")
        print(f"written: docs/images/{name}")


if __name__ == "__main__":
    main()
