"""The files of the page: they make no markup of texts, load nothing from outside, and are small."""

from __future__ import annotations

import re
from importlib import resources

import pytest

FILES = sorted(resources.files("toolkit.inspector").joinpath("page").iterdir(), key=lambda file: file.name)
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in FILES}
ALL_FILES = pytest.mark.parametrize("name", TEXTS)


@ALL_FILES
def test_no_text_becomes_markup_or_code(name):
    """The page makes elements and text nodes; what reads a text as markup or as code is not used at all."""
    makers = r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|createContextual|setHTML|eval\(|Function\(|srcdoc"
    assert re.findall(makers, TEXTS[name]) == []


@ALL_FILES
def test_the_page_loads_no_file_from_outside(name):
    """The browser requests only files of the inspector. The names of formats and examples are not requests."""
    text = TEXTS[name].replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"""(?:src|href|url\(|import|fetch\()[^\n]{0,20}["'(](?:https?:)?//""", text) == []


def test_page_is_complete():
    """Every module and file that the page names is there, and nothing else."""
    named = {"index.html"}
    for text in TEXTS.values():
        named |= set(re.findall(r"""["'](?:\./|page/)([a-z_]+\.(?:js|css|svg))["']""", text))
    views = re.search(r"const VIEWS = \{(.*?)\}", TEXTS["main.js"], re.DOTALL)
    named |= {f"{view}.js" for view in re.findall(r"(\w+): ", views[1])}
    assert named == set(TEXTS)


def test_page_has_no_inline_script_or_style():
    """The content security policy allows files only."""
    html = TEXTS["index.html"]
    assert re.findall(r"<script[^>]*>[^<]|<style| style=| on[a-z]+=", html) == []
