"""
Show untrusted text to a person so that no character acts, hides or pretends to be another one.

A character that would move the cursor, reorder the line or take no room is shown as its code, `\\x1b` or `\\u202e`. A
letter that looks like an ASCII letter is shown with its code point, `p‹а U+0430›ypal`, where it could deceive: in a
word that mixes scripts, or in a word made only of such letters. Honest text in its own script is not changed. If text
is shown twice, the result is the same as after the first time.
"""  # noqa: RUF002 -- the example needs such a letter

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["make_visible"]


def make_visible(text: str, *, keep_lines: bool = True) -> str:
    """
    Return *text* in a form that is safe to print and hard to misread.

    Plain ASCII is not changed. That includes the backslash, so a `\\x1b` in the result may also be literal text.

    Args:
        keep_lines: Whether newlines and tabs are kept. If False, they are shown as `\\n` and `\\t`.
    """
    if not (_NOT_PRINTABLE_ASCII_OR_LINES if keep_lines else _NOT_PRINTABLE_ASCII).search(text):
        return text
    escaped = _escape_hidden(text, keep_lines)
    return escaped if escaped.isascii() else _mark_deceptive(escaped)


_NOT_PRINTABLE_ASCII = re.compile(r"[^ -~]")
_NOT_PRINTABLE_ASCII_OR_LINES = re.compile(r"[^ -~\n\t]")

_SHORT_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffc"  # joiners, fillers, blanks
    "\u0334-\u0338\u20d2-\u20e0\u20e2-\u20f0"  # strokes and frames over the previous letter
    "\ufe00-\ufe0f\U00016fe4\U0001d159\U000e0000-\U000e0fff]"  # variation selectors, tags
)
_MAX_MARKS = 4


def _escape_hidden(text: str, keep_lines: bool) -> str:
    """Return *text* with each character that acts or hides replaced by its code."""
    pieces: list[str] = []
    before = ""  # the category of the previous character, empty if that character cannot carry a mark
    marks = 0
    for character in text:
        if " " <= character <= "~":
            before = "L" if character.isalnum() else ""
            pieces.append(character)
            continue
        category = unicodedata.category(character)
        if category[0] == "M" and not _INVISIBLE.match(character):
            # A mark without a letter would sit on the text printed before it. Many marks would cover the lines around.
            marks = marks + 1 if before == "M" else 1
            is_shown, before = bool(before) and marks <= _MAX_MARKS, "M"
        elif character in "\ufe0e\ufe0f":
            is_shown = before == "S"  # after a symbol it only selects the colour or text style
            before = ""
        elif character in "\n\t":
            is_shown, before = keep_lines, ""
        else:
            is_shown = category[0] not in "CZ" and not _INVISIBLE.match(character)
            before = {"L": "L", "N": "L", "S": "S"}.get(category[0], "") if is_shown else ""
        pieces.append(character if is_shown else _escape_character(character))
    return "".join(pieces)


def _escape_character(character: str) -> str:
    number = ord(character)
    if number > 0xFFFF:
        return f"\\U{number:08x}"
    return _SHORT_ESCAPES.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


# Letters that look like ASCII letters even when they are alone: Cyrillic, Greek, Armenian, Cherokee, Coptic, Lisu.
_CONFUSABLES = frozenset(
    "асеорхуѕіјһӏԁԛԝѵүАВЕКМНОРСТХУЅІЈӀԌԚԜҮѴ"
    "ονϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ"  # noqa: RUF001 -- as above
    "օսոհցզՕՍՏԼ"
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏙᏚᏞᏟᏢᏦᏳᏴꭰꭱꭲꭵꮃꮇꮋꮐꮓꮪꮮꮯꮲꮶ"
    "ⲞⲟⲤⲥⲢⲣⲎⲒⲔⲘⲚⲦⲨⲬⲂ"
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # noqa: RUF001 -- as above
)
# Letters that look like ASCII letters only beside ASCII letters: Cyrillic, Greek, Armenian, phonetic Latin, others.
_CONFUSABLES_BESIDE_ASCII = frozenset(
    "вгкмнптиьзбЗЬѡґғҝңҥәҺҏαγικρτυχωηϲϱգժքտղԱՈՀԸɑɡɩɪʏʜʙʟɴʀɢɛɔſᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱꜰǀƖƽƄƅɾʋɯᶃⱭꞁဝഠଠסוןاهⵏⵔⵝᐯᑌᑭᒍᒪᗅᗞᗪᗷᕼᖇ"
)
# Signs that look like the punctuation of paths, addresses and commands, where these signs are never needed.
_CONFUSABLE_SIGNS = "\u01c3\u037e\u2010\u2011\u2024\u2044\u2215\u2216\u2236\u29f5\u29f8\u29f9\ua789\ufe68"
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_WORD = rf"(?:[^\W\d_][{_MARKS}]*)+"
_PIECES = re.compile(
    rf"(?P<done>‹(?P<letter>.)[{_MARKS}]* U\+(?P<code>[0-9A-F]{{4,6}})›)"  # noqa: RUF001 -- our quotation marks
    r"|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])"
    rf"|(?P<sign>[{_CONFUSABLE_SIGNS}\U0001d7ce-\U0001d7ff]|(?<=[!-~])[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e](?=[!-~]))"
    rf"|(?P<word>{_WORD})"
)
_LETTERS = re.compile(rf"([^\W\d_])([{_MARKS}]*)")
_WORD_BEFORE = re.compile(rf"({_WORD}),? \Z")
_WORD_AFTER = re.compile(rf",? ({_WORD})")
_SHORT_WORD = 3
_WINDOW_CHARS = 40


def _mark_deceptive(text: str) -> str:
    """Return *text*, in which no character acts or hides, with a code point beside each letter that could deceive."""
    pieces: list[str] = []
    end = 0
    while match := _PIECES.search(text, end):
        start, stop = match.span()
        pieces.append(text[end:start])
        if match["done"] and not (ord(match["letter"]) == int(match["code"], 16) and _may_be_marked(match["letter"])):
            stop = start + 1  # the text itself contains these brackets; this module did not add them
            pieces.append(text[start])
        elif match["sign"]:
            pieces.append(_with_code(match["sign"]))
        elif match["word"] and _is_deceptive(match["word"], text, start, stop):
            pieces.append(_LETTERS.sub(_mark_letter, match["word"]))
        else:
            pieces.append(match[0])
        end = stop
    return "".join([*pieces, text[end:]])


def _mark_letter(match: re.Match[str]) -> str:
    return _with_code(match[1], match[2]) if _passes_for_ascii(match[1]) else match[0]


def _with_code(character: str, marks: str = "") -> str:
    return f"‹{character}{marks} U+{ord(character):04X}›"  # noqa: RUF001 -- see above


def _may_be_marked(character: str) -> bool:
    return (
        _passes_for_ascii(character)
        or character in _CONFUSABLE_SIGNS
        or "\uff01" <= character <= "\uff5e"
        or "\U0001d7ce" <= character <= "\U0001d7ff"
    )


def _passes_for_ascii(character: str) -> bool:
    return character in _CONFUSABLES_BESIDE_ASCII or _is_confusable(character)


def _is_confusable(character: str) -> bool:
    return character in _CONFUSABLES or _is_styled(character)


def _is_styled(character: str) -> bool:
    """Return whether *character* is a styled ASCII letter: full-width, mathematical or a Roman numeral."""
    kind, _, code = unicodedata.decomposition(character).rpartition(" ")
    if not code or kind not in ("", "<font>", "<wide>", "<compat>"):
        return False
    return len(code) == 4 and chr(int(code, 16)).isascii()


def _is_deceptive(word: str, text: str, start: int, stop: int) -> bool:
    """Return whether a reader could mistake letters of *word*, which is part of *text*, for other letters."""
    if word.isascii():
        return False
    letters = _letters(word)
    if not any(map(_passes_for_ascii, letters)):
        return False
    scripts = set(map(_script, letters))
    if len(scripts) > 1:
        return scripts != {"EAST ASIAN", "FULLWIDTH"}  # full-width letters are normal in East Asian text
    if not all(map(_is_confusable, letters)):
        return False
    # Russian and Greek have short words of such letters. Beside an honest word, a reader does not misread them.
    return len(letters) > _SHORT_WORD or not any(
        _is_unambiguous(neighbour, scripts) for neighbour in _words_beside(text, start, stop)
    )


def _letters(word: str) -> list[str]:
    return [character for character in word if character.isalpha() or _is_styled(character)]


def _words_beside(text: str, start: int, stop: int) -> Iterator[str]:
    window = text[max(0, start - _WINDOW_CHARS) : start]
    before = _WORD_BEFORE.search(window)
    if before and (before.start() or start <= _WINDOW_CHARS):  # a word that the window cuts off is ignored
        yield before[1]
    after = _WORD_AFTER.match(text, stop)
    if after:
        yield after[1]


def _is_unambiguous(word: str, scripts: set[str]) -> bool:
    """Return whether *word* uses only the one script in *scripts* and cannot be mistaken for ASCII text."""
    letters = _letters(word)
    return set(map(_script, letters)) == scripts and not all(map(_is_confusable, letters))


def _script(letter: str) -> str:
    """Return the script of *letter*, the first word of its Unicode name. East Asian scripts count as one."""
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "UNKNOWN")
    first = name.split(" ", 1)[0]
    if first in _EAST_ASIAN:
        return "EAST ASIAN"
    return f"{first}, styled" if letter in _CONFUSABLES_BESIDE_ASCII and first == "LATIN" else first


_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "HALFWIDTH")
