"""
Settings in layers: the user, the project, the environment, and the command or the program.

    settings = load_settings(".")
    agent = build_agent(settings, catalog)

`toolkit.builders` has `build_agent` and the other functions that make objects which follow the settings.
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .instruction_files import InstructionFile, Instructions, read_instructions
    from .loading import load_settings
    from .mcp_servers import McpServer
    from .project_files import TrustError
    from .records import MergedSettings, SettingPart, SettingsError
    from .trust import Trust

__all__ = [
    "InstructionFile",
    "Instructions",
    "McpServer",
    "MergedSettings",
    "SettingPart",
    "SettingsError",
    "Trust",
    "TrustError",
    "load_settings",
    "read_instructions",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("InstructionFile", "Instructions", "read_instructions"), "instruction_files"),
        **dict.fromkeys(("MergedSettings", "SettingPart", "SettingsError"), "records"),
        "McpServer": "mcp_servers",
        "Trust": "trust",
        "TrustError": "project_files",
        "load_settings": "loading",
    },
)
