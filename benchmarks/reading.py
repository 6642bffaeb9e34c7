"""
How easily the code reads, in figures, beside six libraries that read well: `python -m benchmarks.reading`.

Each package is measured from its source files, as installed. A package that is not installed is left out and named.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .reading_words import NOT_PARTICIPLES, PARTICIPLES, PLACEHOLDERS, PRONOUNS, VERBS

__all__ = ["LIMITS", "MODELS", "OWN", "Source", "main", "measure", "measure_words"]

OWN = ("toolkit", "tests")
MODELS = ("httpx", "starlette", "stamina", "pluggy", "cattrs", "pydantic_ai.toolsets")

LIMITS = {
    "participle names of functions, %": 4.0,
    "placeholder names of variables, %": 1.0,
    "pronoun words in 1,000": 0.5,
    "docstrings that open with a verb, %": 80.0,
    "class names used twice, %": 2.0,
}
"""What this project keeps: at most, but for the verbs, which are at least."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Source:
    """The source files of a package."""

    root: Path
    trees: dict[Path, ast.Module] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> Source:
        """Read every file under *root*."""
        files = sorted(path for path in root.rglob("*.py") if "_vendor" not in path.parts)
        return cls(root, {path: ast.parse(path.read_text(encoding="utf-8")) for path in files})

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of every file."""
        return [node for tree in self.trees.values() for node in ast.walk(tree)]

    @cached_property
    def functions(self) -> list[FunctionNode]:
        """Every function and method but those that Python names."""
        functions = [node for node in self.nodes if isinstance(node, FunctionNode)]
        return [function for function in functions if not re.fullmatch("__.*__", function.name)]


def measure(source: Source) -> dict[str, float]:
    """Return every measure of *source* by its name."""
    return {**measure_shape(source), **measure_words(source)}


def measure_shape(source: Source) -> dict[str, float]:
    """Return how *source* is divided into folders, files and functions."""
    lengths = sorted((function.end_lineno or 0) - function.lineno + 1 for function in source.functions) or [0]
    depths = [len(path.relative_to(source.root).parts) for path in source.trees]
    return {
        "files": len(source.trees),
        "files at the root": depths.count(1),
        "depth of folders": max(depths),
        "lines of a function, median": statistics.median(lengths),
        "lines of a function, 90th percentile": lengths[int(0.9 * (len(lengths) - 1))],
        "lines of a function, longest": lengths[-1],
        "modules in the largest import circle": largest_circle(source),
    }


def measure_words(source: Source) -> dict[str, float]:
    """Return the measures that have limits: how *source* names and describes things."""
    return {
        "participle names of functions, %": percent(map(is_participle_name, (f.name for f in source.functions))),
        "placeholder names of variables, %": percent(name in PLACEHOLDERS for name in variable_names(source)),
        "pronoun words in 1,000": 10 * percent(word in PRONOUNS for word in prose_words(source)),
        "docstrings that open with a verb, %": percent(map(opens_with_verb, docstrings(source))),
        "class names used twice, %": percent(count > 1 for count in class_name_counts(source)),
    }


def percent(facts: Iterator[bool] | map[bool]) -> float:
    """Return how many of *facts* hold, in percent; 0 if there are none."""
    values = list(facts)
    return 100 * sum(values) / len(values) if values else 0.0


def is_participle_name(name: str) -> bool:
    """Return whether the name of a function begins with a past participle: `told`, `_judged_now`."""
    first = name.strip("_").split("_")[0].lower()
    return first in PARTICIPLES or (first.endswith("ed") and len(first) > 3 and first not in NOT_PARTICIPLES)


def variable_names(source: Source) -> Iterator[str]:
    """Yield the name of each variable and parameter, once for each function or module that has it."""
    for node in source.nodes:
        if isinstance(node, FunctionNode):
            arguments = node.args
            yield from (
                argument.arg
                for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                if argument.arg not in {"self", "cls"}
            )
        if isinstance(node, (FunctionNode, ast.Module)):
            yield from {
                inner.id
                for inner in own_nodes(node)
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
            }


def own_nodes(scope: FunctionNode | ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a function or module, without those of the functions inside it."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode):
            waiting += ast.iter_child_nodes(node)


def docstrings(source: Source) -> Iterator[str]:
    """Yield the docstring of every function that has one, without those that should not be in the imperative."""
    for function in source.functions:
        text = ast.get_docstring(function)
        # A test is a claim, and so is its docstring: "The first answer wins."
        is_test = function.name.startswith("test_")
        if text and not is_test and not is_noun(function):
            yield text


def is_noun(function: FunctionNode) -> bool:
    """Return whether *function* is used as a value, a property or a fixture, so that its docstring may be a noun."""
    return any(re.search(r"property|\bfixture\b", ast.unparse(decorator)) for decorator in function.decorator_list)


def opens_with_verb(docstring: str) -> bool:
    """Return whether the first word is a verb in the imperative, or in the third person as some libraries write."""
    words = re.findall(r"[A-Za-z][A-Za-z-]*", docstring.split("\n", maxsplit=1)[0])
    first = words[0].lower() if words else ""
    stems = {first, first.removesuffix("s"), first.removesuffix("es"), re.sub("ies$", "y", first)}
    return docstring[:1].isalpha() and bool(stems & VERBS)


def prose_words(source: Source) -> Iterator[str]:
    """Yield every word of docstrings and comments."""
    for node in source.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from re.findall("[a-z]+", node.value.value.lower())
    for path in source.trees:
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        for token in tokens:
            if token.type == tokenize.COMMENT:
                yield from re.findall("[a-z]+", token.string.lower())


def class_name_counts(source: Source) -> list[int]:
    """
    Return, for each class at the top of a file, in how many files a class of that name is.

    The classes of a file of tests are left out: nothing imports them, so a reader only meets them in that file.
    """
    names = [
        (node.name.strip("_"), path)
        for path, tree in source.trees.items()
        if not is_file_of_tests(path, source.root)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    counts = Counter(name for name, _ in set(names))
    return [counts[name] for name, _ in names]


def is_file_of_tests(path: Path, root: Path) -> bool:
    """Return whether *path* is `test_*.py`, or a program that only a type checker reads, in `tests/typing`."""
    place = Path(root.name) / path.relative_to(root)
    return place.name.startswith("test_") or place.is_relative_to("tests/typing")


def largest_circle(source: Source) -> int:
    """Return how many modules import each other, directly or not, wherever in a file the imports are."""
    imports = {path: set(imported_files(path, tree, source)) for path, tree in source.trees.items()}
    reachable: dict[Path, set[Path]] = {}
    for path in imports:
        reached, waiting = set(), [path]
        while waiting:
            for target in imports[waiting.pop()] - reached:
                reached.add(target)
                waiting.append(target)
        reachable[path] = reached
    circles = [sum(path in reachable[target] for target in reachable[path]) for path in imports]
    return max(circles, default=0)


def imported_files(path: Path, tree: ast.Module, source: Source) -> Iterator[Path]:
    """Yield the files of the package that *path* imports."""
    package = source.root.name
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            folder = path.parents[node.level - 1]
        elif (node.module or "").split(".")[0] == package:
            folder = source.root.parent
        else:
            continue
        place = folder.joinpath(*(node.module or "").split("."))
        for alias in node.names:
            for candidate in (
                place / f"{alias.name}.py",
                place / alias.name / "__init__.py",
                place.with_suffix(".py"),
                place / "__init__.py",
            ):
                if candidate in source.trees and candidate != path:
                    yield candidate
                    break


def find_root(name: str) -> Path | None:
    """Return the folder of an installed package; None if it is not installed."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def main() -> int:
    """Print the table and the limits that this project breaks; return 1 if it breaks one of them."""
    own = {name: Path(__file__).parents[1] / name for name in OWN}
    roots = {**own, **{name: find_root(name) for name in MODELS}}
    figures = {name: measure(Source.read(root)) for name, root in roots.items() if root is not None}
    missing = [name for name, root in roots.items() if root is None]
    print(f"| | {' | '.join(figures)} |\n|---|{'--:|' * len(figures)}")
    for measured in figures["toolkit"]:
        cells = [f"{figures[name][measured]:.3g}" for name in figures]
        print(f"| {measured} | {' | '.join(cells)} |")
    if missing:
        print(f"not installed, and not measured: {', '.join(missing)}")
    broken = [
        (folder, name) for folder in OWN for name in LIMITS if is_beyond(name, figures[folder][name], LIMITS[name])
    ]
    for folder, name in broken:
        print(f"{folder}/ is beyond the limit of {LIMITS[name]}: {name}")
    return int(bool(broken))


def is_beyond(name: str, figure: float, limit: float) -> bool:
    """Return whether *figure* breaks its limit."""
    return figure < limit if "verb" in name else figure > limit


if __name__ == "__main__":
    sys.exit(main())
