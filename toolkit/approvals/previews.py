"""
What a person is shown before they agree to a call.

A tool's `preview=` says in its own words, or with `file_change` as a diff, what
is about to happen. It only reads, has a time limit, and fails closed: no
preview, no request. What is shown is made visible, and cut if it is too long;
a cut preview says so in its first line.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..decisions import Precondition
from ..errors import ToolkitError
from ..facts import told_of
from ..results import ToolCall
from ..spec import Tool
from ..values.rendering import as_json, described
from ..values.visible import visible
from .file_diffs import difference, measured, present, unchanged
from .read_only_guard import read_only

__all__ = ["Preview", "PreviewFailed", "combined", "file_change", "preview_of", "unchanged"]

_CUT = "preview cut: "
_NO_GRANT = "it cannot be granted for the session"
_MOST_CHARACTERS_OF_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """
    What a call is about to do, and what has to stay as it is until it does.

    Attributes:
        text: What a person reads.
        preconditions: The files it was made from, as they were.
        is_cut: Whether something is left out of the text.
    """

    text: str
    preconditions: tuple[Precondition, ...] = ()
    is_cut: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"the text of a preview has to be text, got {type(self.text).__name__}")


class PreviewFailed(ToolkitError):  # noqa: N818 -- named by what happened
    """Nobody can be shown what a call is about to do, so nobody is asked, and it does not run."""


def file_change(
    path: str | os.PathLike[str],
    new: str | bytes | None,
    *,
    root: str | os.PathLike[str] | None = None,
    shown_as: str | None = None,
) -> Preview:
    """
    The difference between a file as it is and *new*, which needs the file to stay as it is until then.

    Args:
        new: What the file is going to hold; text is taken as UTF-8, None means that it is removed.
        root: The folder that a relative path starts from; the working folder unless given.
        shown_as: What to call the file; its path as given unless stated.
    """
    named = os.path.join(os.getcwd() if root is None else root, path)
    name = visible(os.fspath(path) if shown_as is None else shown_as, keep_lines=False)
    try:
        real = os.path.realpath(named)
        file = present(real)
    except (OSError, ValueError) as error:
        raise PreviewFailed(f"{name} cannot be compared: {visible(str(error), keep_lines=False)}") from error
    content = new.encode(errors="surrogatepass") if isinstance(new, str) else new
    digest = None if file is None else file.sha256
    notes = [f"{name} leads to {visible(real, keep_lines=False)}\n"] if real != os.path.abspath(named) else []
    if file is not None:
        notes += [f"{name} {fact}\n" for fact in file.facts]
    if file is not None and file.content is None:
        notes.append(f"{name} is too large to be compared: {file.measure} before, {measured(content)} after\n")
    else:
        notes.append(difference(None if file is None else file.content, content, name))
    return Preview(text="".join(notes), preconditions=(Precondition(path=real, sha256=digest),))


def combined(*previews: Preview) -> Preview:
    """One preview of several changes, in their order."""
    is_cut = any(preview.is_cut for preview in previews)
    texts = [preview.text for preview in previews if preview.text]
    if is_cut:
        texts.insert(0, f"{_CUT}a part of it is not whole; {_NO_GRANT}")
    conditions = dict.fromkeys(condition for preview in previews for condition in preview.preconditions)
    return Preview(text="\n\n".join(texts), preconditions=tuple(conditions), is_cut=is_cut)


async def preview_of(
    tool: Tool,
    decoded: Mapping[str, Any],
    *,
    call: ToolCall | None = None,
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
    seconds: float = 5.0,
    max_chars: int = 20_000,
    redact: Callable[[str], str] = lambda text: text,
) -> Preview:
    """
    What *tool* says it is about to do with *decoded* arguments; an empty text if it has nothing to say.

    Its `preview=` gets a copy of the arguments, and the *call* if it has a parameter of that name, and returns
    text, JSON, a `Preview` or None. Raises
    `PreviewFailed` if it raises, takes longer than *seconds* or tries to write.

    Args:
        in_thread: Runs a blocking function elsewhere, context variables carried over, and gives what it
            returns. One that takes too long is left alone; it stays read-only.
        max_chars: What is longer is cut.
        redact: Masks secrets in a text; before it is cut or made visible, after which none would be found.
    """
    function = tool.facts.preview
    if function is None:
        return Preview(text="")
    tried: list[str] = []
    try:
        with read_only() as tried:
            # A task inherits the guard; whoever comes after it here does not.
            asked = told_of(function, copy.copy(call))
            task = asyncio.create_task(_answer(asked, copy.deepcopy(dict(decoded)), in_thread))
    except Exception as error:
        raise _failed(tool, redact(described(error))) from error
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
        task.add_done_callback(_look_at)
    if not done:
        raise _failed(tool, f"it took longer than {seconds:g} s")
    if task.cancelled():
        raise _failed(tool, "it was cancelled")
    found, raised = task.result()
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    if tried:
        raise _failed(tool, f"a preview may only read, and this one tried to {redact(tried[0])}") from raised
    if raised is not None:
        why = str(raised) if isinstance(raised, ToolkitError) else described(raised)
        raise _failed(tool, redact(why)) from raised
    return _shown(replace(found, text=redact(found.text)), max_chars)


async def _answer(
    function: Callable[..., Any], arguments: dict[str, Any], in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
) -> tuple[Preview, BaseException | None]:
    """What *function* says as a preview, or what it raised: a task would throw an exit into the event loop."""
    context = contextvars.copy_context()  # with the guard in it, wherever the thread comes from
    try:
        found: Any = (
            function(arguments)
            if inspect.iscoroutinefunction(function)
            else await in_thread(lambda: context.run(function, arguments))
        )
        if inspect.isawaitable(found):
            found = await found
        return _read(found), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- a stranger's code; see above
        return Preview(text=""), error


def _read(found: Any) -> Preview:
    if isinstance(found, Preview):
        return found
    if found is None or isinstance(found, str):
        return Preview(text=found or "")
    return Preview(text=json.dumps(as_json(found), ensure_ascii=False, indent=2))


def _shown(preview: Preview, max_chars: int) -> Preview:
    """*preview* made visible, and cut to *max_chars*; the line that says so comes on top of them."""
    # Cut before, because making a character visible costs more than counting it.
    text = visible(preview.text[:max_chars])
    whole = len(text) + max(0, len(preview.text) - max_chars)
    if whole > max_chars:
        line = f"{_CUT}{min(len(text), max_chars):,} of {whole:,} characters shown; {_NO_GRANT}"
        return replace(preview, text=f"{line}\n{text[:max_chars]}", is_cut=True)
    if preview.is_cut and not text.startswith(_CUT):
        text = f"{_CUT}its author left something out; {_NO_GRANT}\n{text}"
    return replace(preview, text=text)


def _failed(tool: Tool, why: str) -> PreviewFailed:
    shown = visible(why[:_MOST_CHARACTERS_OF_ERROR], keep_lines=False)
    return PreviewFailed(f"the preview of `{tool.name}` failed, so nobody can be asked: {shown}")


def _look_at(ended: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more, so nobody has to be warned of how it ended."""
    if not ended.cancelled():
        ended.exception()
