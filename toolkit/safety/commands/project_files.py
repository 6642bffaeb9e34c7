"""
Files of a project that programs run without being told: `pytest` runs `conftest.py`.

A line that writes such a file and then starts its program runs what it has written. A text that the line shows is
judged by its language. A file that the line only edits or copies counts as the project's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from .harmful_code import code_dangers
from .targets import Danger

__all__ = ["MAKES", "ODD_RECIPE", "find_project_file_dangers", "recipes_of"]

_UNREAD = Danger("ask", "runs what a file says that it has just written, and that cannot be checked")
_PYTHON = (
    "pytest py.test python python3 pip pip3 uv nox tox invoke inv fab doit scons waf flask uvicorn gunicorn coverage "
    "ipython jupyter sphinx-build mkdocs alembic behave robot locust streamlit celery django-admin scrapy trial airflow"
)
_NODE = (
    "node nodejs npm npx yarn pnpm bun bunx deno jest vitest vite webpack rollup mocha eslint next tsx ts-node gulp "
    "grunt karma turbo nx lerna react-scripts ng nuxt astro gatsby expo ava tap c8 nyc playwright cypress zx stylelint "
    "commitlint lint-staged"
)
MAKES = ("make", "gmake", "bmake", "remake", "gnumake", "nmake")
"""The programs that read makefiles."""
# The names of the files, the programs that run them, and the language. Without a language, words that mean a command
# are searched for.
_PROJECT_FILES: tuple[tuple[str, str, str], ...] = (
    (r".*\.py|SConstruct|SConscript|wscript", _PYTHON, "python"),
    (r".*\.[cm]?[jt]sx?", _NODE, "node"),
    (r"package\.json", _NODE, "json"),
    (
        r".*\.(?:rb|gemspec)|Rakefile|Gemfile|Vagrantfile|Fastfile|Podfile",
        "ruby rake bundle gem rspec vagrant rails irb fastlane pod",
        "ruby",
    ),
    (r".*\.(?:pl|pm|t)|Makefile\.PL", "perl prove", "perl"),
    (r".*\.php", "php composer phpunit", "php"),
    (r".*\.go", "go", "go"),
    (r".*\.rs", "cargo rustc", "rust"),
    (r".*\.lua", "lua luajit busted", "lua"),
    (r".*\.jl", "julia", "julia"),
    (r".*\.exs?", "mix iex elixir", "elixir"),
    (r".*\.(?:sbt|sc|scala)", "sbt scala scala-cli mill amm", "scala"),
    (r".*\.(?:clj[sc]?|edn)", "lein clj clojure bb boot", "clojure"),
    (r".*\.swift", "swift", "swift"),
    (r".*\.zig", "zig", "zig"),
    (r".*\.gradle(?:\.kts)?", "gradle gradlew", "groovy"),
    (r".*\.mk", " ".join(MAKES), "make"),
    (r".*\.(?:bats|sh)", "bats", "shell"),
    (r"CMakeLists\.txt|.*\.cmake", "cmake ctest", ""),
    (r"meson\.build", "meson", ""),
    (r"build\.ninja", "ninja samu", ""),
    (r"Taskfile\.ya?ml", "task go-task", ""),
    (r"pom\.xml|build\.xml", "mvn mvnw ant", ""),
    (
        r"tox\.ini|setup\.cfg|pyproject\.toml|pytest\.ini|mypy\.ini|\.?pylintrc|\.coveragerc",
        "tox pip pip3 uv poetry pdm hatch pytest mypy pylint coverage poe",
        "",
    ),
    (r"pixi\.toml|\.?mise\.toml", "pixi mise", ""),
    (r".*\.tf", "terraform tofu", ""),
    (r".*\.ya?ml", "ansible-playbook pre-commit", ""),
    (r"composer\.json", "composer", ""),
    (r"Procfile", "foreman honcho", "unread"),
    (r".*\.nix", "nix nix-shell nix-build", "unread"),
    (r"\.sqliterc|\.duckdbrc", "sqlite3 duckdb", "unread"),
    (r"\.psqlrc", "psql", "unread"),
    (r"\.erlang", "erl", "unread"),
    (r"Tiltfile|Snakefile|.*\.smk", "tilt snakemake", "unread"),
)
_MEANS_COMMAND = re.compile(
    r"\b(?:commands?|cmds?|run_command|exec\w*|local-exec|shell|system|rule|backend-path|addopts|entry|scripts|tasks"
    r"|plugins|init-hook)\b(?!\])|\btasks\]",
    re.IGNORECASE,
)
ODD_RECIPE = re.compile(
    r"\$[({](?:shell|eval|call|file)|!=|\binclude\b|\bdefine\b|SHELL|ONESHELL|RECIPEPREFIX|\\\n|^#!", re.MULTILINE
)
"""A makefile that can run more than its recipes show."""


def find_project_file_dangers(program: str, file: str, text: str | None) -> Iterator[Danger | str]:
    """
    Yield the dangers, or the shell's text to check, if *program* runs a *file* that the line wrote.

    Args:
        text: The content. None stands for a content that the line makes and does not show.
    """
    for names, language in _rows_of(program):
        if names.fullmatch(file):
            yield from (_UNREAD,) if text is None else _find_text_dangers(language, text)
            return


@cache
def _rows_of(program: str) -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(names), language) for names, programs, language in _PROJECT_FILES if program in programs.split()
    ]


def _find_text_dangers(language: str, text: str) -> Iterator[Danger | str]:
    if language == "shell":
        yield text
    elif language == "json":
        yield from _find_script_texts(text)
    elif language == "make":
        yield _UNREAD if ODD_RECIPE.search(text) else recipes_of(text)
    elif language == "unread" or (not language and _MEANS_COMMAND.search(text)):
        yield _UNREAD
    elif language:
        yield from code_dangers(language, text)


def _find_script_texts(text: str) -> Iterator[Danger | str]:
    """Yield the scripts of `package.json`."""
    try:
        scripts = json.loads(text).get("scripts", {})
        yield "\n".join(map(str, scripts.values()))
    except (ValueError, AttributeError, RecursionError):
        yield _UNREAD


def recipes_of(text: str) -> str:
    """Return the lines that make gives to a shell: those behind blanks, and the texts behind `target: ;`."""
    lines = (re.match(r"(?:[ \t]+|[^\n#=]*?:[^\n;=]*;)[-@+ \t]*(.*)", line) for line in text.split("\n"))
    return "\n".join(match[1] for match in lines if match)
