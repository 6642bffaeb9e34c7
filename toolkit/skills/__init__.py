"""
Declarative skills: prompts in Markdown files that are called like tools.
"""

from __future__ import annotations

from .library import Skills
from .making import skill_of
from .problems import SkillProblem
from .records import Argument, Skill
from .shelf import user_skills

__all__ = ["Argument", "Skill", "SkillProblem", "Skills", "skill_of", "user_skills"]
