"""A catalog as an MCP server, with the permissions, approvals and limits of its dispatcher."""

from __future__ import annotations

from ..sdk import check_sdk_installed

check_sdk_installed()
