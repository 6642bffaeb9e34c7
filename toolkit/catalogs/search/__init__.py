"""
The search for tools by words: an index over plain fields, which reads only the texts of the tools.

The modules, each of which uses only modules before it:

    words.py → synonyms.py → spelling.py → vocabulary.py → documents.py → postings.py → query.py → fusion.py → index.py

Outside this order, `embeddings.py` ranks by meaning, and `finder.py` keeps an index of the tools of one catalog.
"""

from __future__ import annotations

from .documents import Document
from .fusion import Ranker
from .index import Hit, Index

__all__ = ["Document", "Hit", "Index", "Ranker"]
