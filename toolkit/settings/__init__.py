"""
Settings in layers: the user, the project, the environment, and the command or the program.

    settings = load_settings(".")
    agent = build_agent(settings, catalog)
"""

from __future__ import annotations

from .builders import build_agent, build_dispatcher, build_permissions, build_provider
from .instruction_files import InstructionFile, Instructions, read_instructions
from .loading import load_settings
from .mcp_servers import McpServer
from .records import MergedSettings, SettingPart, SettingsError

__all__ = [
    "InstructionFile",
    "Instructions",
    "McpServer",
    "MergedSettings",
    "SettingPart",
    "SettingsError",
    "build_agent",
    "build_dispatcher",
    "build_permissions",
    "build_provider",
    "load_settings",
    "read_instructions",
]
