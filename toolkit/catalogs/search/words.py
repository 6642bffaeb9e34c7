"""
The conversion of text into words that can be compared.

`getHTTPPages` and "get http page" share three words. A text is split where case, digits, underscores or scripts change.
Its words are then folded (NFKC, case, accents) and stemmed. Chinese and Japanese are written without spaces, so they
are split into pairs of neighbouring characters. A stem joins the forms of one word, and a root the different words for
one action. Everything here is a pure function of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

__all__ = [
    "STOP_WORDS",
    "RunReading",
    "drop_encoded_data",
    "find_root",
    "fold_text",
    "normalise_name",
    "read_run",
    "split_runs",
    "stem",
]

MAX_RUN_CHARS = 64
"""The number of letters of a run that are read. A longer run is not a word, and must not take more time than a word."""

SLICE_CHARS = 256
"""The number of characters of a text that are normalised at once."""

MIN_ENCODED_CHARS = 16
"""The fewest letters and digits in a row that may be encoded data. Names of tools are often shorter."""

MAX_ENCODED_WORD_CHARS = 2.75
"""The usual length of a word in encoded data is at most this. In nearly every name it is more than 3."""

RunReading: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], str] | tuple[()]
"""
The words in one run of letters, as a tuple. It is empty if the run means nothing in a search.

The first item has the words as they are spelt, folded and without stop words. The second item has the stems of the same
words, which are used to compare them. The third item is the stem of the whole run if the run was split: `YouTube` is
also found as "youtube". If the run looks like a proper name, as `YouTube` does, the whole run is also the last text in
the first item.
"""


def split_runs(text: str) -> list[str]:
    """
    Return the unbroken runs of letters, digits and underscores in *text*, in order.

    Text in a script without spaces is a run of its own. What no word can be is cut.
    """
    if text.isascii():
        return _ASCII_RUN.findall(text)
    return [run[:MAX_RUN_CHARS] for run in _split_whole_runs(text)]


def split_fields(texts: Sequence[str]) -> list[list[str]]:
    """Return the runs in each of *texts*, as `split_runs` does but quicker: most texts are split together."""
    text = _FIELD_END.join(texts)
    if not text.isascii() or text.count("\0") != len(texts) - 1:
        return list(map(split_runs, texts))
    runs, fields, start = text.translate(_SPACED).split(), [], 0
    for _ in texts[1:]:
        end = runs.index("\0", start)
        fields.append(runs[start:end])
        start = end + 1
    return [*fields, runs[start:]]


def _split_whole_runs(text: str) -> list[str]:
    # The time to sort accents grows with the square of their number, so a long text is normalised in slices. If a cut
    # separates characters that belong together, `fold_text` joins them again.
    slices = [text[at : at + SLICE_CHARS] for at in range(0, len(text), SLICE_CHARS)]
    return _RUN.findall("".join([unicodedata.normalize("NFKC", part) for part in slices]))


def drop_encoded_data(text: str) -> str:
    """Return *text* without base64, hashes, bytes in hex and the like, in which only chance makes words."""
    return _LONG_TOKEN.sub(lambda token: " " if _is_encoded(token[0]) else token[0], text)


def _is_encoded(token: str) -> bool:
    return len(token) <= MAX_ENCODED_WORD_CHARS * len(_ASCII_PART.findall(token))


def normalise_name(text: str) -> str:
    """Return *text* without case, accents, spaces and punctuation. Two texts with equal results are the same name."""
    if text.isascii():
        plain = text.translate(_PLAIN)
    else:
        plain = "".join(map(fold_text, _split_whole_runs(text))).replace("_", "")
    return plain or text  # the name `_` must not become an empty text


def fold_text(text: str) -> str:
    """Return *text* in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", "".join(c for c in decomposed if not unicodedata.combining(c)))


_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""The scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff"
)
"""Accents, and the vowels of Hebrew, Arabic and the Indic scripts. `re` takes them for the end of a word."""

_RUN = re.compile(rf"[{_UNSPACED}]{{1,{MAX_RUN_CHARS}}}|(?:[^\W{_UNSPACED}]++|[{_MARKS}]++)++")
_ASCII_RUN = re.compile(f"([A-Za-z0-9_]{{1,{MAX_RUN_CHARS}}})[A-Za-z0-9_]*")
_LONG_TOKEN = re.compile(
    rf"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{{2,12}}+[\s:%,-]++){{8,}}+|[A-Za-z0-9+/=_-]{{{MIN_ENCODED_CHARS},}}"
)
_FIELD_END = " \0 "
_SPACED = "".join(char if char.isalnum() or char in "_\0" else " " for char in map(chr, range(128)))
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else None for code in range(128)}
_PROPER_NAME = re.compile("([A-Z][a-z]+){2}")
_WITHOUT_SPACES = re.compile(f"[{_UNSPACED}]")
_PART = re.compile(
    rf"[{_UNSPACED}]+"
    r"|\d+"
    r"|[A-Z]+(?![a-z])"  # `HTTP` in `HTTPServer` ends before the S that begins the next word
    rf"|[A-Z]?(?:[^\W\d_A-Z{_UNSPACED}]|[{_MARKS}])+"
)
_ASCII_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=1 << 13)
def read_run(run: str) -> RunReading:
    """Return the reading of one run from `split_runs`."""
    texts, whole = spell_run(run)
    if not texts and not whole:
        return ()
    stems = tuple(map(stem, texts))
    return (*texts, whole) if is_proper_name(run) else texts, stems, stem(whole)


def spell_run(run: str) -> tuple[tuple[str, ...], str]:
    """Return the words in one run from `split_runs` as they are spelt, and the whole run if it was split."""
    if run.isalpha() and run.isascii() and (run.islower() or run.istitle()):
        text = run.lower()
        return ((), "") if text in STOP_WORDS else ((text,), "")
    if run.isascii():
        texts = list(map(str.lower, _ASCII_PART.findall(run)))
        whole = "".join(texts) if len(texts) > 1 else ""
    else:
        # The pattern knows only the capitals A to Z, so any other capital would begin a new word after them.
        texts = list(map(fold_text, _PART.findall(run.lower() if run.isupper() else run)))
        whole = "".join(texts) if len(texts) > 1 else ""
        texts = list(chain.from_iterable(map(_split_unspaced, texts)))
    return tuple(text for text in texts if text and text not in STOP_WORDS), whole


def is_proper_name(run: str) -> bool:
    """Return whether *run* looks like a proper name of several words, as `YouTube` does."""
    return _PROPER_NAME.fullmatch(run) is not None


def _split_unspaced(text: str) -> Sequence[str]:
    """Return *text*, or the pairs of neighbouring characters if it is written without spaces."""
    if text.isascii() or not _WITHOUT_SPACES.match(text):
        return (text,)
    # The last character also stands alone. So every character begins one of the pairs, and a search for a single
    # character finds it.
    return [text[at : at + 2] for at in range(len(text))]


def stem(word: str) -> str:
    """Return *word* without the most common English endings: `files`, `filing` and `filed` have one stem."""
    if len(word) < 3 or not word.isascii():
        return word
    for ending, replacement, least in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending):
            shortened = word[: -len(ending)] + replacement
            if len(shortened) >= least and _VOWEL.search(shortened):
                word = shortened
                break
    if len(word) > 3 and (word[-1] == "e" or word[-2:] in _DOUBLED or (word[-2:] == "ll" and len(word) >= _LL_LETTERS)):
        word = word[:-1]
    return word[:-1] + "i" if word[-1] == "y" else word


_VOWEL = re.compile("[aeiouy]")
_DOUBLED = frozenset(2 * letter for letter in "bdfgmnprt")
"""The letters that are doubled before an ending: `running`, but not `calling`."""

_LL_LETTERS = 6
"""The length from which on a word with a double l at its end loses one: `cancelled`, but `fill` is not `file`."""

_ENDINGS = {
    "s": (
        ("ations", "ate", 6),
        ("ators", "ate", 3),
        ("ings", "", 3),
        ("ies", "y", 3),
        ("sses", "ss", 3),
        ("ss", "ss", 3),
        ("us", "us", 3),
        ("is", "is", 3),
        ("ers", "", 5),
        ("es", "e", 3),
        ("s", "", 2),
    ),
    "n": (("ation", "ate", 6),),
    "r": (("ator", "ate", 3), ("er", "", 5)),
    "g": (("ing", "", 3),),
    "d": (("ied", "y", 3), ("ed", "", 3)),
}
"""The endings by last letter: the ending, its replacement, and the number of letters that must remain."""


@lru_cache(maxsize=1 << 13)
def find_root(root: str) -> str:
    """
    Return the root of the family of the words with the stem *root*. Most words are alone: their root is the stem.

    A family is a verb and the nouns that are made from it: `register` and `registration`, `pay` and `payment`. A root
    is only a key; it need not be a word.
    """
    if not root.isascii():
        return root
    for _ in range(_MAX_FAMILY_ENDINGS):
        if not root.endswith(_FAMILY_ENDING_TEXTS):
            break
        root = _remove_ending(root)
    return root[:-1] + "i" if root.endswith("y", 1) else root  # as in a stem: `deployment` has the root of `deploy`


def _remove_ending(root: str) -> str:
    for ending, replacement, least in _FAMILY_ENDINGS:
        if root.endswith(ending) and len(root) - len(ending) + len(replacement) >= least:
            return root[: len(root) - len(ending)] + replacement
    return root


_MAX_FAMILY_ENDINGS = 3
"""The most endings of one word: `categorization` has three, by the table below."""

_FAMILY_ENDINGS = (
    ("synchroniz", "sync", 4),
    ("importanc", "importanc", 9),  # it is not about imports
    ("submission", "submit", 6),
    ("scription", "scrib", 7),  # subscription, subscribe
    ("spension", "spend", 7),  # suspension, suspend
    ("rmission", "rmit", 6),  # permission, permit; but a commission is not a commit
    ("smission", "smit", 6),  # transmission, transmit
    ("sumption", "sum", 6),  # consumption, consume
    ("publicat", "publish", 7),
    ("addition", "add", 3),
    ("division", "divid", 5),
    ("movement", "mov", 3),
    ("explanat", "explain", 7),
    ("tension", "tend", 6),  # extension, extend
    ("duction", "duc", 5),  # production, produce
    ("inition", "in", 5),  # definition, define
    ("ception", "ceiv", 6),  # reception, receive
    ("olution", "olv", 4),  # resolution, resolve
    ("version", "vert", 6),  # conversion, convert; but `version` is a word of its own
    ("parison", "par", 5),  # comparison, compare
    ("payment", "pai", 3),
    ("ansion", "and", 6),  # expansion, expand
    ("lusion", "lud", 6),  # inclusion, include
    ("cision", "cid", 5),  # decision, decide
    ("ificat", "ifi", 5),  # notification, notify
    ("plicat", "pli", 5),  # application, apply
    ("alysis", "alyz", 5),
    ("alytic", "alyz", 5),
    ("tenanc", "tain", 7),  # maintenance, maintain
    ("llment", "l", 5),  # enrollment, enroll
    ("biliti", "bl", 5),  # availability, available
    ("storag", "stor", 4),
    ("strat", "st", 5),  # registration, register
    ("ement", "", 4),  # management, manage
    ("ariti", "ar", 5),  # similarity, similar
    ("alys", "alyz", 5),
    ("ariz", "ari", 6),  # summarize, summary
    ("oriz", "ori", 6),  # categorize, category
    ("llat", "l", 5),  # cancellation, cancel
    ("ilur", "il", 4),  # failure, fail
    ("osur", "os", 4),  # closure, close
    ("ment", "", 4),  # shipment, ship
    ("anc", "", 5),  # assistance, assist
    ("enc", "", 5),  # reference, refer
    ("val", "v", 5),  # removal, remove
    ("wal", "w", 5),  # renewal, renew
    ("ion", "", 5),  # deletion, delete
    ("at", "", 5),  # recommendation, recommend
    ("is", "iz", 6),  # optimise, optimize
)
"""The endings of stems, the longest first: the ending, its replacement, and the number of letters that must remain."""

_FAMILY_ENDING_TEXTS = tuple(ending for ending, _, _ in _FAMILY_ENDINGS)

_STOP_WORD_LIST = """
a about after all also am an and any are as at be because been before being between both but by can cannot could
did do does doing done down during each either else ever every few for from further had has have having he her here
hers him his how i if in into is it its itself just like may me might mine more most much must my myself neither no
nor not now of off on once one only onto or other our ours out over own per please rather same shall she should so
some such than thank thanks that the their theirs them then there these they this those through thus to too under
until up upon us very via want was we were what whatever when where whether which while who whom whose why will with
within without would yes yet you your yours yourself
hello hey hi help know let looking need tell
d ll m re s t ve don doesn didn isn aren wasn weren won wouldn couldn shouldn ain
"""
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
"""English words that say how something is asked, not what is asked for."""
