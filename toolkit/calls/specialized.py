"""
Makes a version of a function in which the choices that are known beforehand are already made.

The pipeline is one function with every stage in it. Each stage asks whether it is configured: `if on.after: ...`. For
one tool of one dispatcher all these answers are known, so the questions and the stages that are not configured can be
left out. What is left is compiled with the lines of the original file, so that tracebacks and debuggers show that file.
If the source cannot be read, the original function is used; it does the same, more slowly.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

__all__ = ["specialize"]

F = TypeVar("F", bound=Callable[..., Any])


def specialize(function: F, parameter: str, choices: tuple[tuple[str, Any], ...]) -> F:
    """
    Return *function* without the branches that its *choices* rule out.

    *choices* are the attributes of the argument *parameter* with their values, which are constants. The new function
    has to be called with an argument that has the same attributes.
    """
    specialized: F | None = _specialize(function, parameter, choices)
    return function if specialized is None else specialized


@functools.lru_cache(maxsize=256)
def _specialize(function: Any, parameter: str, choices: tuple[tuple[str, Any], ...]) -> Any:
    definition = _find_definition(function)
    if definition is None:
        return None
    module = ast.Module([_Chooser(parameter, dict(choices)).visit(definition)], type_ignores=[])
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    code = compile(
        ast.fix_missing_locations(module), function.__code__.co_filename, "exec", flags=flags, dont_inherit=True
    )
    names: dict[str, Any] = {}
    # The new function has the globals of the original one, so that both always see the same objects.
    exec(code, function.__globals__, names)  # noqa: S102 -- the source is that of the library itself
    return names[function.__name__]


def _find_definition(function: FunctionType) -> ast.stmt | None:
    """Return the definition of *function*, a function of a module, or None if its source cannot be read."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        return None
    matches = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == function.__name__]
    for node in matches:
        node.decorator_list = []
    is_current = len(matches) == 1 and matches[0].lineno == function.__code__.co_firstlineno
    return matches[0] if is_current else None


class _Chooser(ast.NodeTransformer):
    """Replaces the choices by constants, and leaves out what they rule out."""

    def __init__(self, parameter: str, choices: Mapping[str, Any]) -> None:
        self._parameter = parameter
        self._choices = choices

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self._parameter and node.attr in self._choices:
            return ast.copy_location(ast.Constant(self._choices[node.attr]), node)
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        left, right = node.left, node.comparators[0]
        if len(node.ops) > 1 or not isinstance(left, ast.Constant):
            return node
        match node.ops[0], right:
            case ast.Eq(), ast.Constant():
                return ast.copy_location(ast.Constant(left.value == right.value), node)
            case ast.NotEq(), ast.Constant():
                return ast.copy_location(ast.Constant(left.value != right.value), node)
            case ast.In(), ast.Tuple(elts=items) if all(isinstance(item, ast.Constant) for item in items):
                return ast.copy_location(ast.Constant(left.value in [ast.literal_eval(item) for item in items]), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.copy_location(ast.Constant(not node.operand.value), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Leave out the operands of `and` that are true and those of `or` that are false, and all after a decision."""
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        operands: list[ast.expr] = []
        for operand in node.values:
            if not isinstance(operand, ast.Constant):
                operands.append(operand)
            elif bool(operand.value) is decides:
                operands.append(operand)
                break
        if not operands:
            return ast.copy_location(ast.Constant(not decides), node)
        if len(operands) == 1 or isinstance(operands[0], ast.Constant):
            return operands[0]
        node.values = operands
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> Any:
        """Return the statements of the branch that is chosen, in place of the `if`."""
        node.test = self.visit(node.test)
        if isinstance(node.test, ast.Constant):
            chosen = node.body if node.test.value else node.orelse
            statements: list[ast.stmt] = []
            for statement in chosen:
                visited = self.visit(statement)
                statements.extend(visited if isinstance(visited, list) else [visited])
            return statements or ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node
