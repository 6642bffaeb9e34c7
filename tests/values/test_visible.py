"""
What acts, hides or pretends is shown for what it is; honest text stays.
"""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.values.visible import make_visible

# Letters that meet here are likelier to surprise than any two of a million.
TRICKY = "aеоpу ж‹› U+0430\\x1bnu,.．\u0301\ufe0f\u200d\u202e❤ＡＢａ𝐩ᎠικοШ\n\t\r"
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(TRICKY)))


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\rb", r"a\rb"),
        ("a\bb", r"a\x08b"),
        ("\x7f", r"\x7f"),
        ("\x9b31m", r"\x9b31m"),
        ("\x00", r"\x00"),
        ("safe\u202egpj.exe", r"safe\u202egpj.exe"),
        ("\u2066a\u2069", r"\u2066a\u2069"),
        ("pass\u200bword", r"pass\u200bword"),
        ("pass\u2060word", r"pass\u2060word"),
        ("\ufeffid", r"\ufeffid"),
        ("soft\u00adhyphen", r"soft\xadhyphen"),
        ("\U000e0041", r"\U000e0041"),
        ("a\ufe0f", r"a\ufe0f"),
        ("a\U000e0100", r"a\U000e0100"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("a\u00a0b", r"a\xa0b"),
        ("a\u3000b", r"a\u3000b"),
        ("a\u2028b", r"a\u2028b"),
        ("a\u2029b", r"a\u2029b"),
        ("\ud800", r"\ud800"),
        ("\ue000", r"\ue000"),
        ("\U0010ffff", r"\U0010ffff"),
        ("\u3164", r"\u3164"),
        ("\u2800", r"\u2800"),
        ("a\u0338b", r"a\u0338b"),
    ],
)
def test_invisible_and_control_characters_are_shown_as_codes(text, visible):
    """They are controls, bidi controls, zero-width characters, tags, odd spaces, and halves of surrogate pairs."""
    assert make_visible(text) == visible


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("pаypal", "p‹а U+0430›ypal"),
        ("gοοgle", "g‹ο U+03BF›‹ο U+03BF›gle"),
        ("сору", "‹с U+0441›‹о U+043E›‹р U+0440›‹у U+0443›"),
        ("С:", "‹С U+0421›:"),
        ("Аpple", "‹А U+0410›pple"),
        ("ａpi", "‹ａ U+FF41›pi"),
        ("ｌｓ", "‹ｌ U+FF4C›‹ｓ U+FF53›"),
        ("𝐫m", "‹𝐫 U+1D42B›m"),
        ("𝟏", "‹𝟏 U+1D7CF›"),
        ("\u212aey", "‹\u212a U+212A›ey"),
        ("ⅹargs", "‹ⅹ U+2179›args"),
        ("ᏀIT", "‹Ꮐ U+13C0›IT"),
        ("ɡit", "‹ɡ U+0261›it"),
        ("pа\u0301y", "p‹а\u0301 U+0430›y"),
        ("жοж", "ж‹ο U+03BF›ж"),
        ("a\u037e b", "a‹\u037e U+037E› b"),
        ("etc∕passwd", "etc‹∕ U+2215›passwd"),
        ("a．b", "a‹． U+FF0E›b"),
        ("rm ‐rf", "rm ‹‐ U+2010›rf"),
        ("‹\u0430 U+0061›", "‹‹\u0430 U+0430› U+0061›"),
    ],
)
def test_letters_that_resemble_ascii_are_shown_with_their_code_point(text, visible):
    """The word has mixed scripts or only such letters, or is part of a path or a command."""
    assert make_visible(text) == visible


@pytest.mark.parametrize(
    "text",
    [
        "Привет, как у вас дела? Он и она с нами, а я о том же.",
        "Όταν ο Νίκος και η Ελένη",
        "日本語テキストのＴシャツ、カタカナ。",
        "한국어 中文，标点。",
        "Árvíztűrő tükörfúrógép, naïve café, cafe\u0301, Straße, ığüş",
        "नमस्ते العربية עברית",
        "α = 0.5, 5 μm, 12 Ω, x² + ½, 1º, “quoted” – dashed — €",
        "❤\ufe0f 👍🏽 ✓ ☂",
        "тест_file имя.txt",
        "line\n\tindented\n",
    ],
)
def test_honest_text_is_not_changed(text):
    """Letters of one script are not deceptive."""
    assert make_visible(text) == text


def test_short_words_are_honest_only_in_company():
    """The Russian for "with" beside another Russian word is no `c`; alone, or beside English, it could be."""
    assert make_visible("с домом, дом у") == "с домом, дом у"
    assert make_visible("с make") == "‹с U+0441› make"
    assert make_visible("сору домом") != "сору домом"
    assert make_visible(f"p{'ж' * 50} с").endswith("‹с U+0441›")


def test_marks_cannot_cover_the_lines_around():
    """A mark with nothing to sit on, and the fifth on one letter, are shown as codes."""
    assert make_visible("\u0301a") == "\\u0301a"
    assert make_visible("|\u0301") == "|\\u0301"
    assert make_visible("e" + "\u0301" * 6) == "e" + "\u0301" * 4 + "\\u0301" * 2


def test_one_line_stays_one_line():
    """Without keep_lines, a newline is escaped as well."""
    assert make_visible("a\n\tb", keep_lines=False) == r"a\n\tb"


@given(TEXTS, st.booleans())
def test_the_shown_text_has_no_invisible_or_control_character(text, keep_lines):
    """It also has no odd space."""
    for character in make_visible(text, keep_lines=keep_lines):
        is_kept = keep_lines and character in "\n\t"
        assert is_kept or character == " " or unicodedata.category(character)[0] not in "CZ"


@given(TEXTS, st.booleans())
def test_making_text_visible_twice_changes_nothing(text, keep_lines):
    once = make_visible(text, keep_lines=keep_lines)
    assert make_visible(once, keep_lines=keep_lines) == once


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " "))
def test_plain_ascii_is_unchanged(text):
    assert make_visible(text, keep_lines=False) == text


@given(st.text(string.ascii_letters + "аеорсухі", min_size=1))
def test_no_lookalike_hides_in_a_word(word):
    """Every such letter among ASCII letters has its code point."""
    visible = make_visible(word)
    assert visible.isascii() or "U+04" in visible
    for twin in "аеорсухі":
        assert visible.count(twin) == visible.count(f"‹{twin} U+")
