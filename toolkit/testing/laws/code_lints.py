"""
Find facts that a tool's code contradicts. Only the calls in the function's own source code are looked at.

The lint does not see what the called functions do in turn. It does report a call that is never reached.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ..._plumbing.wording import in_backticks
from ...facts import Facts
from ...functions.callables import unwrap_function
from ...spec import Tool
from .violations import Fault

__all__ = ["code_lints"]

Effect = Literal["writes", "appends", "deletes", "runs", "reaches"]

_CALL_EFFECTS: Mapping[str, Effect] = {
    **dict.fromkeys(("os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree"), "deletes"),
    **dict.fromkeys(
        (
            "os.rename", "os.replace", "os.mkdir", "os.makedirs", "os.link", "os.symlink", "os.truncate", "os.chmod",
            "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move",
        ),
        "writes",
    ),
    **dict.fromkeys(
        (
            "os.system", "os.popen", "os.execv", "os.execvp", "os.kill", "subprocess.run", "subprocess.call",
            "subprocess.Popen", "subprocess.check_call", "subprocess.check_output", "subprocess.getoutput",
            "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
        ),
        "runs",
    ),
    **dict.fromkeys(
        (
            "urllib.request.urlopen", "urllib.request.urlretrieve", "socket.create_connection", "smtplib.SMTP",
            "smtplib.SMTP_SSL", "ftplib.FTP", "http.client.HTTPConnection", "http.client.HTTPSConnection",
            *(
                f"{package}.{verb}"
                for package in ("httpx", "requests")
                for verb in ("get", "post", "put", "patch", "delete", "head", "request")
            ),
            "httpx.Client", "httpx.AsyncClient", "requests.Session", "aiohttp.ClientSession",
        ),
        "reaches",
    ),
}  # fmt: skip
_METHOD_EFFECTS: Mapping[str, Effect] = {
    **dict.fromkeys(("unlink", "rmdir", "rmtree"), "deletes"),
    **dict.fromkeys(("write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to"), "writes"),
}
_EFFECT_TEXTS = {
    "writes": "writes to the disk",
    "appends": "appends to a file",
    "deletes": "deletes",
    "runs": "runs a command",
    "reaches": "reaches the network",
}


def code_lints(tool: Tool) -> Iterator[Fault]:
    """Yield one fault for each fact that the function's own code contradicts."""
    reported_facts: set[str] = set()
    for effect, call, line in _iter_effect_calls(unwrap_function(tool.function)):
        contradiction = _find_contradiction(effect, tool.facts)
        if contradiction is None or contradiction[0] in reported_facts:
            continue
        fact, remedy = contradiction
        reported_facts.add(fact)
        message = f"{in_backticks(call)} {_EFFECT_TEXTS[effect]}, but the tool {fact}"
        yield Fault("facts-against-code", message, remedy, f"line {line}")


def _find_contradiction(effect: Effect, facts: Facts) -> tuple[str, str] | None:
    """Return the fact that contradicts *effect* and a suggested rewrite; None if no fact does."""
    if facts.read_only and effect in ("writes", "appends", "deletes", "runs"):
        fact = "destructive=True" if effect == "deletes" else "read_only=False"
        return "says `read_only=True`", f"@tool({fact}), or do without that call"
    if effect == "deletes" and not facts.destructive:
        return "does not say that it is destructive", "@tool(destructive=True)"
    if effect == "reaches" and not facts.open_world:
        return "does not say `open_world=True`", "@tool(open_world=True)"
    if effect == "appends" and facts.idempotent:
        return "says `idempotent=True`", "@tool(idempotent=False), or write the whole file"
    return None


def _iter_effect_calls(function: Any) -> Iterator[tuple[Effect, str, int]]:
    """Yield the effect, the text and the line of each call in *function* that acts outside of it, if it has source."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    names = {**getattr(function, "__globals__", {}), **dict(_iter_imports(tree))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            effect = _find_effect(node, names)
            if effect is not None:
                yield effect, ast.unparse(node.func), first + node.lineno - 1


def _find_effect(node: ast.Call, names: Mapping[str, Any]) -> Effect | None:
    name = _resolve_name(node.func, names)
    if name in ("open", "io.open") or (isinstance(node.func, ast.Attribute) and node.func.attr == "open"):
        return _find_open_effect(node, is_method=name not in ("open", "io.open"))
    if name in _CALL_EFFECTS:
        return _CALL_EFFECTS[name]
    # These are names of methods of a path, as in `pathlib.Path(p).unlink()`. A function of a module that has the
    # same name, such as `email.unlink`, may do something else.
    if isinstance(node.func, ast.Attribute):
        base = names.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
        is_module = inspect.ismodule(base) or isinstance(base, _ImportedName)
        return None if is_module else _METHOD_EFFECTS.get(node.func.attr)
    return None


def _find_open_effect(node: ast.Call, *, is_method: bool) -> Effect | None:
    mode_nodes = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    position = 0 if is_method else 1
    mode_nodes += node.args[position : position + 1]
    mode = mode_nodes[0].value if mode_nodes and isinstance(mode_nodes[0], ast.Constant) else "r"
    if not isinstance(mode, str) or not set(mode) <= set("rwaxbt+U"):
        return None
    return "appends" if "a" in mode else "writes" if set(mode) & set("wx+") else None


def _resolve_name(node: ast.expr, names: Mapping[str, Any]) -> str:
    """Return the full dotted name of a called function, under any name that it was imported as."""
    if isinstance(node, ast.Name):
        value = names.get(node.id)
        if isinstance(value, _ImportedName):
            return str(value)
        if inspect.ismodule(value):
            return value.__name__
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        return f"{_PUBLIC_MODULES.get(module, module)}.{name}" if value is not None and module and name else node.id
    if isinstance(node, ast.Attribute):
        return f"{_resolve_name(node.value, names)}.{node.attr}"
    return ""


_PUBLIC_MODULES = {"posix": "os", "nt": "os", "_io": "io", "httpx._api": "httpx", "httpx._client": "httpx",
           "requests.api": "requests", "requests.sessions": "requests", "aiohttp.client": "aiohttp",
           "asyncio.subprocess": "asyncio"}  # fmt: skip


class _ImportedName(str):
    """The full name of a module or object that a function imports in its body. The import itself is not done here."""

    __slots__ = ()


def _iter_imports(tree: ast.AST) -> Iterator[tuple[str, _ImportedName]]:
    """Yield each import in *tree* as a pair: the local name, and the full name of the imported module or object."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                full = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or full, _ImportedName(full)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, _ImportedName(f"{node.module}.{alias.name}")
