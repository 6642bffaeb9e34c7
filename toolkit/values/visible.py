"""
Foreign text as a person may be shown it: nothing acts, hides or pretends.

What would move the cursor, reorder the line or take no room is shown as its
code, `\\x1b` or `\\u202e`. A letter that passes for an ASCII one is shown with
its code point, `p‹а U+0430›ypal`, wherever it could deceive: in a word that mixes
scripts, or in one made of such letters alone. Honest text in its own script is
left as it is. Shown twice, text looks the same as shown once.
"""  # noqa: RUF002 -- the example shows what is meant

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["visible"]


def visible(text: str, *, keep_lines: bool = True) -> str:
    """
    *text* in a form that is safe to print and hard to misread.

    Plain ASCII stays as it is, a backslash too: `\\x1b` may stand for itself.

    Args:
        keep_lines: Whether newlines and tabs stay; without it they are shown as `\\n` and `\\t`.
    """
    if not (_ODD_BUT_LINES if keep_lines else _ODD).search(text):
        return text
    escaped = _escaped(text, keep_lines)
    return escaped if escaped.isascii() else _marked(escaped)


_ODD = re.compile(r"[^ -~]")
_ODD_BUT_LINES = re.compile(r"[^ -~\n\t]")

_SHORT = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffc"  # joiners, fillers, blanks
    "\u0334-\u0338\u20d2-\u20e0\u20e2-\u20f0"  # strokes and frames over the letter before
    "\ufe00-\ufe0f\U00016fe4\U0001d159\U000e0000-\U000e0fff]"  # variation selectors, tags
)
_MOST_MARKS = 4


def _escaped(text: str, keep_lines: bool) -> str:
    """*text* with everything that acts or hides written as its code."""
    shown: list[str] = []
    before = ""  # the category of what stands before, empty if nothing that could carry a mark does
    marks = 0
    for character in text:
        if " " <= character <= "~":
            before = "L" if character.isalnum() else ""
            shown.append(character)
            continue
        category = unicodedata.category(character)
        if category[0] == "M" and not _INVISIBLE.match(character):
            # A mark on nothing would sit on whatever was printed before; a heap of them covers the lines around.
            marks = marks + 1 if before == "M" else 1
            is_shown, before = bool(before) and marks <= _MOST_MARKS, "M"
        elif character in "\ufe0e\ufe0f":
            is_shown = before == "S"  # after a symbol it only says: in colour, or not
            before = ""
        elif character in "\n\t":
            is_shown, before = keep_lines, ""
        else:
            is_shown = category[0] not in "CZ" and not _INVISIBLE.match(character)
            before = {"L": "L", "N": "L", "S": "S"}.get(category[0], "") if is_shown else ""
        shown.append(character if is_shown else _code(character))
    return "".join(shown)


def _code(character: str) -> str:
    number = ord(character)
    if number > 0xFFFF:
        return f"\\U{number:08x}"
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


# Letters that are ASCII ones to the eye, even alone: Cyrillic, Greek, Armenian, Cherokee, Coptic, Lisu.
_TWINS = frozenset(
    "асеорхуѕіјһӏԁԛԝѵүАВЕКМНОРСТХУЅІЈӀԌԚԜҮѴ"
    "ονϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ"  # noqa: RUF001 -- as above
    "օսոհցզՕՍՏԼ"
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏙᏚᏞᏟᏢᏦᏳᏴꭰꭱꭲꭵꮃꮇꮋꮐꮓꮪꮮꮯꮲꮶ"
    "ⲞⲟⲤⲥⲢⲣⲎⲒⲔⲘⲚⲦⲨⲬⲂ"
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # noqa: RUF001 -- as above
)
# Letters that pass for ASCII ones only in their company: Cyrillic, Greek, Armenian, Latin from phonetics, others.
_COUSINS = frozenset(
    "вгкмнптиьзбЗЬѡґғҝңҥәҺҏαγικρτυχωηϲϱգժքտղԱՈՀԸɑɡɩɪʏʜʙʟɴʀɢɛɔſᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱꜰǀƖƽƄƅɾʋɯᶃⱭꞁဝഠଠסוןاهⵏⵔⵝᐯᑌᑭᒍᒪᗅᗞᗪᗷᕼᖇ"
)
# Signs that pass for the punctuation of paths, addresses and commands; nobody needs them in those.
_FALSE_SIGNS = "\u01c3\u037e\u2010\u2011\u2024\u2044\u2215\u2216\u2236\u29f5\u29f8\u29f9\ua789\ufe68"
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_WORD = rf"(?:[^\W\d_][{_MARKS}]*)+"
_PIECES = re.compile(
    rf"(?P<done>‹(?P<letter>.)[{_MARKS}]* U\+(?P<code>[0-9A-F]{{4,6}})›)"  # noqa: RUF001 -- our own quotation marks
    r"|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])"
    rf"|(?P<sign>[{_FALSE_SIGNS}\U0001d7ce-\U0001d7ff]|(?<=[!-~])[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e](?=[!-~]))"
    rf"|(?P<word>{_WORD})"
)
_LETTERS = re.compile(rf"([^\W\d_])([{_MARKS}]*)")
_WORD_BEFORE = re.compile(rf"({_WORD}),? \Z")
_WORD_AFTER = re.compile(rf",? ({_WORD})")
_SHORT_WORD = 3
_FARTHEST = 40


def _marked(text: str) -> str:
    """*text*, in which nothing acts or hides, with a code point beside each letter that could deceive."""
    shown: list[str] = []
    end = 0
    while match := _PIECES.search(text, end):
        start, stop = match.span()
        shown.append(text[end:start])
        if match["done"] and not (ord(match["letter"]) == int(match["code"], 16) and _may_be_marked(match["letter"])):
            stop = start + 1  # somebody else's brackets
            shown.append(text[start])
        elif match["sign"]:
            shown.append(_with_code(match["sign"]))
        elif match["word"] and _is_deceptive(match["word"], text, start, stop):
            shown.append(_LETTERS.sub(_letter_shown, match["word"]))
        else:
            shown.append(match[0])
        end = stop
    return "".join([*shown, text[end:]])


def _letter_shown(match: re.Match[str]) -> str:
    return _with_code(match[1], match[2]) if _passes_for_ascii(match[1]) else match[0]


def _with_code(character: str, marks: str = "") -> str:
    return f"‹{character}{marks} U+{ord(character):04X}›"  # noqa: RUF001 -- see above


def _may_be_marked(character: str) -> bool:
    return (
        _passes_for_ascii(character)
        or character in _FALSE_SIGNS
        or "\uff01" <= character <= "\uff5e"
        or "\U0001d7ce" <= character <= "\U0001d7ff"
    )


def _passes_for_ascii(character: str) -> bool:
    return character in _COUSINS or _is_twin(character)


def _is_twin(character: str) -> bool:
    return character in _TWINS or _is_styled(character)


def _is_styled(character: str) -> bool:
    """Whether *character* is an ASCII letter in another dress: full-width, mathematical, a Roman numeral."""
    kind, _, code = unicodedata.decomposition(character).rpartition(" ")
    if not code or kind not in ("", "<font>", "<wide>", "<compat>"):
        return False
    return len(code) == 4 and chr(int(code, 16)).isascii()


def _is_deceptive(word: str, text: str, start: int, stop: int) -> bool:
    """Whether letters of *word*, which stands in *text*, could be taken for others."""
    if word.isascii():
        return False
    letters = _letters(word)
    if not any(map(_passes_for_ascii, letters)):
        return False
    scripts = set(map(_script, letters))
    if len(scripts) > 1:
        return scripts != {"EAST ASIAN", "FULLWIDTH"}  # where full-width letters are at home
    if not all(map(_is_twin, letters)):
        return False
    # Russian and Greek have short words of such letters; beside an honest one they are taken for nothing else.
    return len(letters) > _SHORT_WORD or not any(_is_honest(each, scripts) for each in _words_beside(text, start, stop))


def _letters(word: str) -> list[str]:
    return [character for character in word if character.isalpha() or _is_styled(character)]


def _words_beside(text: str, start: int, stop: int) -> Iterator[str]:
    window = text[max(0, start - _FARTHEST) : start]
    before = _WORD_BEFORE.search(window)
    if before and (before.start() or start <= _FARTHEST):  # a word that the window cuts is not known
        yield before[1]
    after = _WORD_AFTER.match(text, stop)
    if after:
        yield after[1]


def _is_honest(word: str, scripts: set[str]) -> bool:
    """Whether *word* is written in the one script of *scripts*, and cannot be taken for another."""
    letters = _letters(word)
    return set(map(_script, letters)) == scripts and not all(map(_is_twin, letters))


def _script(letter: str) -> str:
    """The script of *letter*, as its name begins; a letter in another dress has one of its own."""
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "UNKNOWN")
    first = name.split(" ", 1)[0]
    if first in _EAST_ASIAN:
        return "EAST ASIAN"
    return f"{first}, styled" if letter in _COUSINS and first == "LATIN" else first


_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "HALFWIDTH")
