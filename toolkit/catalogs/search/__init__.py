"""
Finding tools by words: an index over plain fields, which knows nothing of tools but their texts.

    words.py → spelling.py → vocabulary.py → documents.py → asking.py → fusion.py → index.py
"""

from __future__ import annotations

from .documents import Document
from .fusion import Ranker
from .index import Hit, Index

__all__ = ["Document", "Hit", "Index", "Ranker"]
