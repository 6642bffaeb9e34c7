"""
Declarative skills: prompts in Markdown files that are called like tools.
"""

from __future__ import annotations

from .library import Skills
from .loaded_skills import user_skills
from .records import Argument, Skill, SkillProblem
from .skill_tools import skill_of

__all__ = ["Argument", "Skill", "SkillProblem", "Skills", "skill_of", "user_skills"]
