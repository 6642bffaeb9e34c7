"""
Regular expressions that cannot stall the process.

`re` backtracks, and holds the interpreter while it does. Here every pattern
gets an upper bound of what `re` could cost on a text of a given length; within
it `re` answers, beyond it an automaton whose time is linear in the text. Both
give the same answer. Where neither can tell, `Undecidable` is raised.

    tree.py → cost.py → nfa.py → linear.py → pattern.py
"""

from .pattern import Pattern, Undecidable, compile_pattern

__all__ = ["Pattern", "Undecidable", "compile_pattern"]
