"""
Read the layers of settings: the files, the environment, and what a command or a program gives.

Each reader returns the parts that a layer gives, and adds every mistake to a list of problems, with its file and line
and the remedy. Which parts count is decided later, in `merge`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..errors import find_nearest
from ..permissions.rules import Rule, RuleError, read_rule
from .hook_tables import read_hook_tables
from .keys import KEYS, TABLES, SettingKey, check_price
from .mcp_servers import McpServer, find_server_mistakes
from .project_files import SETTINGS_FILE, ProjectFiles
from .records import Layer, SettingPart
from .toml_files import TomlFile
from .trust import PROJECT_FOLDER, Trust

__all__ = ["FileLayer", "parse_setting", "read_environment", "read_overrides", "read_session_rules"]

_PREFIX = "TOOLKIT_"
_OTHER_VARIABLES = frozenset({"TOOLKIT_COMMAND", "TOOLKIT_MCP_KEY", "TOOLKIT_MCP_TOKEN"})
"""Variables that are no settings: the first marks a command of the tool `bash`, the others hold secrets of `serve`."""

_PATH_KEYS = ("skills.folders",)


class FileLayer:
    """
    The settings file of the user or of a project, and the parts that it gives.

    *source* is the folder of the user's files, or the files of the project. Relative paths start there. Mistakes are
    added to *problems*.
    """

    def __init__(self, source: Path | ProjectFiles, trust: Trust, problems: list[str]) -> None:
        self._project = source.folder if isinstance(source, ProjectFiles) else None
        self._layer: Literal["user", "project"] = "user" if self._project is None else "project"
        self._base = source.folder if isinstance(source, ProjectFiles) else source
        self._trust = trust
        self._problems = problems
        folder = self._base if self._project is None else self._base / PROJECT_FOLDER
        read = source.read_settings if isinstance(source, ProjectFiles) else None
        self.file = TomlFile(folder / SETTINGS_FILE, problems, read=read)
        self.parts = list(self._read_settings())

    def _read_settings(self) -> Iterator[SettingPart]:
        for name, value in self.file.data.items():
            if name in KEYS:
                yield from self._read_key(KEYS[name], value, (name,))
            elif name not in TABLES:
                self._report((name,), _explain_unknown_key(name))
            elif not isinstance(value, dict):
                self._report((name,), f"has to be a table; write [{name}] above its settings")
            else:
                for inner, inner_value in value.items():
                    key = KEYS.get(f"{name}.{inner}")
                    if key is None:
                        self._report((name, inner), _explain_unknown_key(inner, name))
                    else:
                        yield from self._read_key(key, inner_value, (name, inner))

    def _read_key(self, key: SettingKey, value: Any, path: tuple[str, ...]) -> Iterator[SettingPart]:
        if self._layer == "project" and key.project == "never":
            self._report(path, f"a project's skills are in {PROJECT_FOLDER}/skills; put them there, and remove this")
        elif key.name == "mcp_servers":
            yield from self._read_servers(value, path)
        elif key.name == "prices":
            yield from self._read_prices(value, path)
        elif key.name == "hooks":
            yield from read_hook_tables(value, self.file, self._project, self._trust, self._problems)
        else:
            yield from self._read_plain(key, value, path)

    def _read_plain(self, key: SettingKey, value: Any, path: tuple[str, ...]) -> Iterator[SettingPart]:
        for inner_path, checked in _check_values(key, value, lambda index, why: self._report((*path, *index), why)):
            place = self.file.place_of(*path, *inner_path)
            final_value = _resolve_path(key, checked, self._base)
            yield SettingPart(key=key.name, value=final_value, layer=self._layer, place=place)

    def _read_prices(self, value: Any, path: tuple[str, ...]) -> Iterator[SettingPart]:
        if not isinstance(value, dict):
            self._report(path, 'has to be a table; write [prices."MODEL"] above the prices of a model')
            return
        for model, table in value.items():
            try:
                price = check_price(table)
            except ValueError as error:
                self._report((*path, model), str(error))
            else:
                place = self.file.place_of(*path, model)
                yield SettingPart(key="prices", value=price, layer=self._layer, place=place, name=model)

    def _read_servers(self, value: Any, path: tuple[str, ...]) -> Iterator[SettingPart]:
        if not isinstance(value, dict):
            self._report(path, "has to be a table; write [mcp_servers.NAME] above each server")
            return
        for name, table in value.items():
            mistakes = find_server_mistakes(name, table)
            for key, mistake in mistakes:
                self._report((*path, name, *([key] if key else [])), mistake, (*path, name))
            if not mistakes:
                place = self.file.place_of(*path, name)
                server = McpServer.of(name, self._resolve_folder(table))
                yield SettingPart(key="mcp_servers", value=server, layer=self._layer, place=place, name=name)

    def _resolve_folder(self, table: dict[str, Any]) -> dict[str, Any]:
        """Return the *table* of a server with the whole path of the folder that it runs in."""
        if "cwd" not in table:
            return table
        return {**table, "cwd": os.path.normpath(self._base / os.path.expanduser(table["cwd"]))}

    def _report(self, path: tuple[str | int, ...], why: str, shown_path: tuple[str, ...] | None = None) -> None:
        names = path if shown_path is None else shown_path
        self._problems.append(f"{self.file.place_of(*path)}: {_format_path(names)}: {why}")


def read_environment(environ: Mapping[str, str], base: Path, problems: list[str]) -> list[SettingPart]:
    """
    Return what the variables `TOOLKIT_...` give; an empty variable gives nothing.

    A variable that is nearly the name of a setting is a mistake. Any other unknown one does not count, because other
    programs may use the same prefix.
    """
    keys = {key.variable: key for key in KEYS.values() if key.variable is not None}
    parts: list[SettingPart] = []
    for variable in sorted(name for name in environ if name.startswith(_PREFIX) and environ[name].strip()):
        if variable in keys:
            value = parse_setting(keys[variable], environ[variable], variable, problems)
            parts += _read_given(keys[variable], value, "environment", variable, base, problems)
            continue
        # The common prefix would make all names look alike.
        near = find_nearest(variable.removeprefix(_PREFIX), [name.removeprefix(_PREFIX) for name in keys], max_items=1)
        if near and variable not in _OTHER_VARIABLES:
            problems.append(f"{variable}: is not known; did you mean `{_PREFIX}{near[0]}`?")
        elif variable not in _OTHER_VARIABLES:
            why = "there is no such setting; `toolkit settings` shows the names"
            parts.append(SettingPart(key=variable, value="...", layer="environment", place=variable, why_ignored=why))
    return parts


def read_overrides(
    overrides: Mapping[str, Any], layer: Layer, base: Path, problems: list[str], *, place: str = ""
) -> list[SettingPart]:
    """Return what a command or a program gives, by the names of the settings; *place* is the option that gives it."""
    parts: list[SettingPart] = []
    for name, value in overrides.items():
        key = KEYS.get(name)
        if key is None or key.kind == "tables":
            why = _explain_unknown_key(name) if key is None else "can only be written in a file"
            problems.append(f"{place or layer}: {name}: {why}")
        else:
            parts += _read_given(key, value, layer, place, base, problems)
    return parts


def read_session_rules(rules: Sequence[Rule | str], layer: Layer, problems: list[str]) -> list[SettingPart]:
    """Return the rules that a command or a program gives: objects, or texts such as "allow read"."""
    parts = []
    for index, rule in enumerate([rules] if isinstance(rules, (str, Rule)) else rules):
        try:
            read = rule if isinstance(rule, Rule) else read_rule(rule)
        except RuleError as error:
            problems.append(f"{layer}: rules[{index}]: {error}")
        else:
            parts.append(SettingPart(key=f"rules.{read.word}", value=read.text, layer=layer, place=read.source))
    return parts


def parse_setting(key: SettingKey, text: str, place: str, problems: list[str]) -> Any:
    """
    Return the value that *text* stands for in a variable or an option.

    A text stands for itself. Any other value is written as in TOML: `30`, `["npm test"]`; `none` needs no quotes.
    """
    if key.kind == "text" or text.strip() == "none":
        return text if key.kind == "text" else "none"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        example = '["..."]' if key.kind == "list" or isinstance(key.default, tuple) else "30"
        problems.append(f"{place}: {text!r:.60} cannot be read; write it as in TOML: {example}")
        return _UNREADABLE


_UNREADABLE = object()


def _read_given(
    key: SettingKey, value: Any, layer: Layer, place: str, base: Path, problems: list[str]
) -> Iterator[SettingPart]:
    if value is _UNREADABLE:
        return
    label = place or f"{layer}: {key.name}"
    for _, checked in _check_values(
        key, value, lambda index, why: problems.append(f"{_format_path((label, *index))}: {why}")
    ):
        yield SettingPart(key=key.name, value=_resolve_path(key, checked, base), layer=layer, place=place)


def _resolve_path(key: SettingKey, value: Any, base: Path) -> Any:
    """Return *value*, with the folder *base* before it if the key is about paths."""
    return os.path.normpath(base / os.path.expanduser(value)) if key.name in _PATH_KEYS else value


def _check_values(
    key: SettingKey, value: Any, report: Callable[[tuple[int, ...], str], None]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the checked value, or each checked entry of a list with its index; report what cannot be right."""
    if key.kind == "list" and not isinstance(value, (list, tuple)):
        report((), 'has to be a list: ["...", "..."]')
        return
    check = key.check or (lambda item: item)
    for path, item in [((index,), item) for index, item in enumerate(value)] if key.kind == "list" else [((), value)]:
        try:
            yield path, check(item)
        except ValueError as error:
            report(path, str(error))


def _explain_unknown_key(name: str, table: str = "") -> str:
    """Return that a key of *table*, or one outside of all tables, is not known, with the one that is probably meant."""
    siblings = [key.removeprefix(f"{table}.") for key in KEYS if key.startswith(f"{table}.")]
    by_last_name = {key.rpartition(".")[2]: key for key in reversed(KEYS)}
    near = find_nearest(name, siblings, max_items=1) or find_nearest(name, KEYS, max_items=1)
    near = near or [by_last_name[last_name] for last_name in find_nearest(name, by_last_name, max_items=1)]
    near = near or find_nearest(name, TABLES, max_items=1)
    choices = siblings or dict.fromkeys(key.partition(".")[0] for key in KEYS)
    return f"is not known; {f'did you mean `{near[0]}`?' if near else 'write one of ' + ', '.join(choices)}"


def _format_path(path: Sequence[str | int]) -> str:
    text = ""
    for name in path:
        text += f"[{name}]" if isinstance(name, int) else f".{name}" if text else name
    return text
