"""Show an agent at work in a terminal."""

from __future__ import annotations

from .agent_display import AgentDisplay

__all__ = ["AgentDisplay"]
