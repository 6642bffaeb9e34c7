"""
Clean the text of a docstring: margins, reStructuredText markup, interpreter sessions, wrapped lines.

Every repetition in a pattern is possessive or bounded, so that the time is linear in the length of the text.
"""

from __future__ import annotations

from .._lazy_names import lazy_pattern

__all__ = ["BULLET", "clean", "collapse_gaps", "dedent", "indent_of", "join_lines"]

BULLET = lazy_pattern(r"(?:[-*+•]|\d{1,3}[.)])\s")
_LAYOUT = lazy_pattern(r"\n(?:\n| *+(?:[-*+•|]|\d{1,3}[.)])\s)|```")
_WRAP = lazy_pattern(r"(?<! ) *+\n *+")
_LINE_INDENT = lazy_pattern(r"\n( *+)[^ \n]")
_GAP = lazy_pattern(r"\n\n\n++")
_ROLE = lazy_pattern(r"(?<![\w:`]):[A-Za-z]{1,20}(?::[A-Za-z]{1,20})?:`~?")
# The patterns begin with a line feed, which is found much faster than the start of a line with `^`.
# A session ends at a blank line or at a line with less indentation. A fence around it is removed too.
_SESSION = lazy_pattern(r"\n *+```.*+\n *+>>>.*+(?:\n(?! *+```).*+)*+(?:\n.*+)?|\n( *+)>>>.*+(?:\n\1.++)*+")
_ADMONITION = lazy_pattern(r"(\n *+)\.\. ++(note|tip|important|caution|warning):: *+(?=(.?))")
_CODE = lazy_pattern(r"\n *+\.\. ++code(?:-block)?::.*+")
_DIRECTIVE = lazy_pattern(r"\n( *+)\.\. ++(?!code(?:-block)?::)(?:[\w-]++::|_|\[).*+(?:\n++\1 .*+)*+")


def clean(text: str) -> str:
    """Return *text* at the left margin, without roles, interpreter sessions and directives other than admonitions."""
    if "\r" in text or "\t" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs()
    if ":`" in text:
        text = _ROLE.sub("`", text)
    text = dedent(text)
    if ">>>" in text:
        text = collapse_gaps(_SESSION.sub("\n", "\n" + text))
    if ".. " in text:
        text = _ADMONITION.sub(lambda match: f"{match[1]}{match[2].capitalize()}:{match[3] and ' '}", "\n" + text)
        text = collapse_gaps(_CODE.sub("", _DIRECTIVE.sub("\n", text)))
    return text


def collapse_gaps(text: str) -> str:
    """Leave at most one blank line between two lines, and none at the ends."""
    return _GAP.sub("\n\n", text.strip("\n"))


def dedent(text: str) -> str:
    """Do the same as `inspect.cleandoc`, in two thirds of its time, and remove blanks at the ends of lines."""
    pad = min(_LINE_INDENT.findall(text), default="")  # among strings of blanks, the smallest is the shortest
    text = text.replace("\n" + pad, "\n")
    if " \n" in text:
        text = "\n".join([line.rstrip() for line in text.split("\n")])
    return text.rstrip().lstrip(" ").strip("\n")


def join_lines(text: str) -> str:
    """
    Join wrapped lines, keeping paragraphs, list items, tables and code blocks apart.

    The first line gives no margin, and the line below it gives none if it begins a block of code.
    """
    if _LAYOUT.search(text) is None:
        return _WRAP.sub(" ", text).strip()
    parts: list[str] = []
    lines = text.split("\n")
    margin, list_margin = _find_margin(lines), -1
    glue, code, fenced, row = "", False, False, False
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            glue = "\n\n" if parts else ""
            continue
        indent = indent_of(line) if number else margin
        deeper, bullet, after_row = indent > margin, BULLET.match(bare), row
        fence, row = bare.startswith("```"), bare.startswith(("| ", "|-"))
        if glue == "\n\n":
            code = deeper
            list_margin = list_margin if bullet or indent > list_margin else -1
        elif parts and (code or fence or fenced or bullet or row or after_row):
            glue = "\n"
        if code or fenced:
            bare = line[margin:] if deeper else bare
        elif bullet:
            list_margin = indent if list_margin < 0 else list_margin
            bare = " " * (indent - list_margin) + bare
        parts += (glue, bare)
        glue = "\n" if fence else " "
        fenced ^= fence
    return "".join(parts)


def _find_margin(lines: list[str]) -> int:
    """Return the margin of *lines*, of which the first has lost its own."""
    indents = [indent_of(line) for line in lines[1:] if line]
    if not indents or not lines[0].endswith("::"):
        return indents[0] if indents else 0
    return min(indents) if min(indents) < indents[0] else max(0, indents[0] - 4)


def indent_of(line: str) -> int:
    """Return the number of blanks before the text of *line*."""
    return len(line) - len(line.lstrip())
