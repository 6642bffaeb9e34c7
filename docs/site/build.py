"""
Builds the documentation site: `python -m docs.site.build FOLDER` writes it to `FOLDER/site`.

The pages are those of `docs/`, the changelog, the examples, and the reference, which is made from the source. A dead
link, an anchor that is not there, or an exported name without a docstring ends the build with an error.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .checks import find_broken_links
from .pages import collect_pages, draw_navigation, find_unlisted, list_sections
from .reference import find_undocumented, list_exports, load_package, summarize, write_messages, write_reference

__all__ = ["build"]

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent

_SIZE = re.compile(r'width="100%"(.*?viewBox="0 0 ([\d.]+) ([\d.]+)")', flags=re.DOTALL)


def build(folder: Path, root: Path = ROOT) -> list[str]:
    """Build the site below *folder*, and return what is wrong; the last build stays if the pages are not complete."""
    pages = collect_pages(root)
    package = load_package(root)
    exports = list_exports(package, "\n".join(pages.values()))
    problems = find_undocumented(exports) + find_unlisted(pages)
    if problems:
        return problems
    staged, site = folder / "pages", folder / "site"
    for old in (staged, site):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(root / "docs" / "images", staged / "images")
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(OWN / name, staged)
    pages["messages.md"] = write_messages(root / "toolkit")
    for path, text in pages.items():
        (staged / path).parent.mkdir(exist_ok=True)
        (staged / path).write_text(_draw(text, staged / "drawings"), encoding="utf-8")
    reference = write_reference(exports, staged / "reference")
    config = (OWN / "zensical.toml").read_text(encoding="utf-8").replace("ROOT", root.as_posix())
    config = config.replace("NAVIGATION", draw_navigation(pages, reference))
    (folder / "zensical.toml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    if subprocess.run(command, cwd=folder, check=False).returncode:  # noqa: S603 -- a command of our own
        return ["Zensical refuses the pages, as it says above"]
    _write_copies(pages, [path for paths in reference.values() for path in paths], site)
    known = package.modules_collection
    modules = [f"- [{name}](reference/{name}/index.md): {summarize(known[name])}" for name in exports]
    (site / "llms.txt").write_text(_list_pages(pages["index.md"], modules), encoding="utf-8")
    return find_broken_links(site)


def _draw(text: str, staged: Path) -> str:
    """Return *text* with a picture in place of each drawing in Mermaid. The environment keeps those that were made."""
    made = Path(sys.prefix) / "drawings"

    def draw(match: re.Match[str]) -> str:
        name = hashlib.sha256(match[1].encode()).hexdigest()[:16] + ".svg"
        if not (made / name).exists():
            from mermaidx import render

            made.mkdir(exist_ok=True)
            render(match[1]).save(str(made / name))
        # A picture without a size of its own has no size in a page.
        sized = _SIZE.sub(r'width="\2" height="\3"\1', (made / name).read_text(encoding="utf-8"), count=1)
        staged.mkdir(exist_ok=True)
        (staged / name).write_text(sized, encoding="utf-8")
        return f"![A drawing; the Markdown copy of this page has it as text.](drawings/{name})\n"

    return re.sub(r"^```mermaid\n(.*?)^```\n", draw, text, flags=re.MULTILINE | re.DOTALL)


def _write_copies(pages: dict[str, str], reference: list[str], site: Path) -> None:
    """Write a Markdown copy beside each page: as it was written, or made from the page if that was generated."""
    from markdownify import markdownify

    for path, text in pages.items():
        (site / path).write_text(text, encoding="utf-8")
    for path in reference:
        page = site / "reference" / path
        article = (
            page.with_suffix(".html").read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        )
        article = re.sub(r'<a class="headerlink".*?</a>', "", article.partition(">")[2], flags=re.DOTALL)
        article = re.sub(r"<td.*?</td>", lambda cell: cell[0].replace("|", r"\|"), article, flags=re.DOTALL)
        text = markdownify(article, heading_style="ATX", escape_underscores=False, escape_asterisks=False)
        text = re.sub(r"(\]\([^):]*)\.html", r"\1.md", text)
        page.write_text(re.sub(r"\n{3,}", "\n\n", text).strip() + "\n", encoding="utf-8")


def _list_pages(index: str, modules: list[str]) -> str:
    """Return `llms.txt`: the Markdown copies, each with its purpose."""
    lines = ["# toolkit", "", "> Function tools for language models: right schemas, safe calls."]
    for heading, rows in list_sections(index).items():
        lines += ["", f"## {heading}", "", *(f"- [{title}]({path}): {purpose}" for title, path, purpose in rows)]
    lines += ["", "## Everything exported", "", *modules, ""]
    lines += ["## Optional", "", "- [Error messages](messages.md)", "- [Examples](examples/index.md)"]
    return "\n".join([*lines, "- [Changelog](changelog.md)", ""])


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    problems = build(target)
    print(*problems, f"{len(problems)} problems" if problems else f"{target / 'site' / 'index.html'}", sep="\n")
    sys.exit(bool(problems))
