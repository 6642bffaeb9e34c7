"""Facts about HTML elements: which ones break the line, which ones close others, and which ones are not visible."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from .html_tokens import HtmlStartTag

__all__ = [
    "BLOCKS",
    "CLOSES",
    "DROPPED",
    "HEADINGS",
    "VOID",
    "absolute_url",
    "code_language",
    "collapse_spaces",
    "is_hidden",
    "remove_invisible",
]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DROPPED = _names(
    "script style template nav svg math iframe noembed noframes object embed canvas audio video "
    "button select textarea input datalist dialog"
)
VOID = _names("area base br col embed hr img input link meta param source track wbr")
BLOCKS = _names(
    "address article aside blockquote body caption center details dd div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup html legend li main menu ol p pre section summary table tbody tfoot thead tr ul"
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
# The open elements that a start tag closes, and the elements beyond which it closes none.
CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (_names("li"), _names("ul ol menu")),
    "dt": (_names("dt dd"), _names("dl")),
    "dd": (_names("dt dd"), _names("dl")),
    "tr": (_names("tr td th"), _names("table")),
    "td": (_names("td th"), _names("tr table")),
    "th": (_names("td th"), _names("tr table")),
    **dict.fromkeys(("tbody", "tfoot"), (_names("thead tbody tr td th"), _names("table"))),
    **dict.fromkeys(BLOCKS - _names("li dt dd tr td th tbody tfoot body html"), (_names("p"), _names("td th button"))),
    "a": (_names("a"), _names("td th table")),
}
_HIDDEN = re.compile(
    r"(?<![a-z-])(?:display:none|visibility:(?:hidden|collapse)|(?:opacity|font-size|max-height|max-width):0(?![.1-9])"
    r"|text-indent:-[0-9]{3,}|(?:left|top):-[0-9]{4,})"
)
# Control characters, and characters that carry invisible text.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2060-\u2064\ufeff\U000e0000-\U000e0fff]")
_SPACES = re.compile(r"\s+")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source)-([A-Za-z0-9+#-]{1,20})(?:\s|$)")
_MAX_LINK_CHARACTERS = 2000


def is_hidden(tag: HtmlStartTag) -> bool:
    """Return whether the tag itself says that its element is not visible, or that it is navigation."""
    attributes = tag.attributes
    if "hidden" in attributes or attributes.get("role", "").lower() == "navigation":
        return True
    style = attributes.get("style")
    return bool(style) and bool(_HIDDEN.search(_SPACES.sub("", str(style)).lower()))


def code_language(tag: HtmlStartTag) -> str:
    """Return the language that the class of a code block states, or an empty string."""
    match = _LANGUAGE.search(tag.attributes.get("class", "")[:500])
    return match[1] if match else ""


def absolute_url(base: str, href: str) -> str:
    """Return the absolute URL of a link, or an empty string if the link is not useful to a reader."""
    href = _SPACES.sub("", _INVISIBLE.sub("", href)) if len(href) <= _MAX_LINK_CHARACTERS else ""
    if not href or href.startswith("#"):
        return ""
    try:
        url = urljoin(base, href)
    except ValueError:
        return ""
    is_known = url.lower().startswith(("http://", "https://", "mailto:")) and len(url) <= _MAX_LINK_CHARACTERS
    return url.replace("(", "%28").replace(")", "%29") if is_known else ""


def remove_invisible(text: str) -> str:
    """Return *text* without invisible characters."""
    return _INVISIBLE.sub("", text)


def collapse_spaces(text: str) -> str:
    """Return *text* with every run of white space as one blank."""
    return _SPACES.sub(" ", text)
