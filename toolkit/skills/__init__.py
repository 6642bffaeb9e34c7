"""Declarative skills: prompts in Markdown files that are called like tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:  # a library loads the agent, and a server only asks which of its tools are skills
    from .library import Skills
    from .loaded_skills import user_skills
    from .records import Argument, Skill, SkillProblem, skill_of

__all__ = ["Argument", "Skill", "SkillProblem", "Skills", "skill_of", "user_skills"]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("Argument", "Skill", "SkillProblem", "skill_of"), "records"),
        "Skills": "library",
        "user_skills": "loaded_skills",
    },
)
