"""A home with settings of a user, and a project with its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolkit.settings import MergedSettings, Trust, load_settings

__all__ = ["SettingsPlace", "as_toml"]


@dataclass(frozen=True)
class SettingsPlace:
    """The folders of a user and of a project."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def user(self) -> Path:
        return self.root / "config"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def trust(self) -> Trust:
        return Trust(self.user / "trust.json")

    def write(self, name: str, text: str) -> Path:
        """Write a file: `user/toolkit.toml`, or `project/.toolkit/toolkit.toml`."""
        whose, _, rest = name.partition("/")
        path = (self.user if whose == "user" else self.project) / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def settings(self, text: str, *, of: str = "project") -> Path:
        """Write the settings of the user or of the project."""
        return self.write("user/toolkit.toml" if of == "user" else "project/.toolkit/toolkit.toml", text)

    def load(self, **options: Any) -> MergedSettings:
        return load_settings(
            self.project, **{"user": self.user, "trust": self.trust, "environ": self.environ, **options}
        )


def as_toml(data: dict[str, Any]) -> str:
    """Write settings by their full names as TOML."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in data.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
