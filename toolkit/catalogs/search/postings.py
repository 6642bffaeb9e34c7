"""
Where each word occurs in the texts of the tools, and the weight that it has in each tool.

When a tool is added, only this is noted: the places of each of its words, and the weight that a word has at each of
these places. A place is one field of one tool, written as one number. A full garbage collection visits every object
that can hold others, and would take as long as the index. So what is noted are texts, numbers and bytes.

The rest is computed when a query needs it: the tools that have a stem and its weight in each, the tools that have a
word in exactly one form, and the order of the words of a tool. It is kept until a tool with that word changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from struct import pack
from typing import Final, NamedTuple

from .documents import FIELDS, GROUP, Document, list_texts, sum_to_worth, weigh_word
from .vocabulary import Vocabulary, WordForms
from .words import MAX_RUN_CHARS, is_proper_name, read_run, spell_run, split_fields, split_runs, stem

__all__ = ["Postings", "Use"]

_FIELD_BITS = 3
"""A place is the number of a tool, and then so many bits for the number of a field."""

_FIELD_MASK = (1 << _FIELD_BITS) - 1

_PLACE_FORMAT: Final = "Q"
"""How `struct` writes a place. The number of a tool is not used again, so the numbers may get large."""

_JOINED = "_"
"""What the key of a joined word begins with: `_getpages`, the whole of `get_pages`. No other word has it."""


class Use(NamedTuple):
    """
    The tools that have a stem. A use is never changed, so it stays valid for a search that runs during a change.

    Attributes:
        worth: The weight of the stem in each tool, 0 to 1, the greatest first. At equal weights, an imported tool comes
            after one that was not imported, and then the order of the names decides.
        tools: The names of these tools.
    """

    worth: dict[str, float]
    tools: frozenset[str]


class Postings:
    """
    The words of the tools of an index.

    Attributes:
        vocabulary: The words of all tools as they are spelt.
        texts: The texts of the fields of each tool, by its name.
        foreign: The names of the imported tools.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(lambda word: len(self.tools_with_word(word)))
        self.texts: dict[str, tuple[str, ...]] = {}
        self.foreign: set[str] = set()
        self._places = _PlacesByWord(self.vocabulary)
        self._weights: dict[int, int] = {}
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next_number = 0
        self._reader = _Reader(self._places)
        self._uses: dict[str, Use] = {}
        self._tools: dict[str, frozenset[str]] = {}
        self._phrases: dict[str, str] = {}

    def __contains__(self, word_stem: str) -> bool:
        """Return whether any tool has this stem."""
        return word_stem in self._uses or word_stem in self.vocabulary.forms or word_stem in self._places.joined

    def add(self, documents: Iterable[Document]) -> None:
        """Add *documents*, whose names are new."""
        self._reader = reader = _Reader(self._places)
        for document in documents:
            name, number = document.name, self._next_number
            self.texts[name] = texts = list_texts(document)
            for place, runs in enumerate(split_fields(texts), number << _FIELD_BITS):
                if runs:
                    if self._uses or self._tools:
                        self._forget_computed(_list_words(runs))
                    word_count = reader.note(runs, place)
                    self._weights[place] = weigh_word(FIELDS[place & _FIELD_MASK], word_count)
            self._numbers[name], self._names[number] = number, name
            self._next_number = number + 1
            if document.is_imported:
                self.foreign.add(name)
        reader.clear()

    def remove(self, name: str) -> None:
        """Remove the tool with this name."""
        number = self._numbers.pop(name)
        for place, runs in enumerate(split_fields(self.texts.pop(name)), number << _FIELD_BITS):
            self._weights.pop(place, None)
            words = list(_list_words(runs))
            self._forget_computed(words)
            for word in words:
                self._places.drop(word, place)
        del self._names[number]
        self._phrases.pop(name, None)
        self.foreign.discard(name)
        self._reader.clear()  # it may have the places of a word that was dropped

    def _forget_computed(self, words: Iterable[str]) -> None:
        for word in words:
            self._tools.pop(word, None)
            self._uses.pop(stem(word.removeprefix(_JOINED)), None)

    def group_of(self, name: str) -> str:
        """Return the group of the tool with this name."""
        return self.texts[name][FIELDS.index(GROUP)]

    def find(self, word_stem: str) -> Use:
        """Return the tools that have *word_stem*, and its weight in each."""
        use = self._uses.get(word_stem)
        if use is None:
            use = self._compute_use(word_stem)
            if use.tools:  # queries have any number of words that no tool has
                self._uses[word_stem] = use
        return use

    def _compute_use(self, word_stem: str) -> Use:
        sums: defaultdict[int, int] = defaultdict(int)
        weights, names = self._weights, self._names
        joined_words = map(_JOINED.__add__, self._places.joined.words_with_stem(word_stem))
        for word in (*self.vocabulary.forms.words_with_stem(word_stem), *joined_words):
            for place in self._places.read(word):
                sums[place >> _FIELD_BITS] += weights[place]
        worth = {names[number]: sum_to_worth(total) for number, total in sums.items()}
        ordered = sorted(worth)
        ordered.sort(key=self.foreign.__contains__)
        ordered.sort(key=worth.__getitem__, reverse=True)
        return Use({name: worth[name] for name in ordered}, frozenset(worth))

    def count_places(self, word_stem: str) -> int:
        """Return at how many places the words with this stem are. That of a tool may be at several."""
        return sum(len(self._places.read(word)) for word in self.vocabulary.forms.words_with_stem(word_stem))

    def tools_with_word(self, word: str) -> frozenset[str]:
        """Return the names of the tools that have *word* in exactly this form."""
        tools = self._tools.get(word)
        if tools is None:
            numbers = {place >> _FIELD_BITS for place in self._places.read(word)}
            tools = frozenset(map(self._names.__getitem__, numbers))
            if tools:  # as above
                self._tools[word] = tools
        return tools

    def phrases_of(self, name: str) -> str:
        """Return the stems of the name, the hint and the description in their order, with a space around each."""
        phrases = self._phrases.get(name)
        if phrases is None:
            texts = (text for field, text in zip(FIELDS, self.texts[name], strict=True) if field.is_phrase and text)
            phrases = self._phrases[name] = f" {' | '.join(' '.join(read_stems(text)) for text in texts)} "
        return phrases


def read_stems(text: str) -> Iterator[str]:
    """Return the stems of the words in *text*, in their order."""
    return chain.from_iterable(reading[1] for reading in map(read_run, split_runs(text)) if reading)


class _PlacesByWord(dict[str, bytearray]):
    """
    The places of each word, as the bytes of numbers that ascend. A word that is looked up for the first time is added
    to the vocabulary.

    Attributes:
        joined: The joined words, which are not in the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self.joined = WordForms()

    def __missing__(self, word: str) -> bytearray:
        if word.startswith(_JOINED):
            self.joined.add(word[1:])
        else:
            self._vocabulary.add(word)
        places = self[word] = bytearray()
        return places

    def read(self, word: str) -> memoryview[int]:
        """Return the places of *word*."""
        return memoryview(self.get(word, b"")).cast(_PLACE_FORMAT)

    def drop(self, word: str, place: int) -> None:
        """Remove one of the places of *word*, and *word* itself if it was the last one."""
        with self.read(word) as places:
            start = bisect_left(places, place) * places.itemsize
            end = start + places.itemsize
        del self[word][start:end]
        if not self[word]:
            del self[word]
            if word.startswith(_JOINED):
                self.joined.remove(word[1:])
            else:
                self._vocabulary.remove(word)


class _Reader(dict[str, bytearray]):
    """For each run that is one word, the places of the word. A run is read when it is first looked up."""

    def __init__(self, places: _PlacesByWord) -> None:
        super().__init__()
        self._places = places
        self._no_places = bytearray()
        self._place = b""
        self._split_words = 0

    def note(self, runs: list[str], place: int) -> int:
        """Note that the words of *runs* are at *place*, and return the number of words."""
        self._place, self._split_words = pack(_PLACE_FORMAT, place), 0
        # This loop takes most of the time of building an index, so it makes no difference between kinds of runs.
        for places in map(self.__getitem__, runs):
            places.extend(self._place)
        others = len(self._no_places) // len(self._place)
        self._no_places.clear()
        return len(runs) - others + self._split_words

    def __missing__(self, run: str) -> bytearray:
        words, joined = _read_words(run)
        if joined or len(words) > 1:  # nearly every such run is in one place only, so it is not kept
            for word in (*words, *joined):
                self._places[word].extend(self._place)
            self._split_words += len(words)
            return self._no_places
        places = self[run] = self._places[words[0]] if words else self._no_places
        return places


def _list_words(runs: Iterable[str]) -> Iterator[str]:
    """Yield the words and joined words in *runs*."""
    return (word for run in runs for words in _read_words(run) for word in words)


def _read_words(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words in *run* as they are spelt, and the joined word. A proper name is joined as it is spelt."""
    words, whole = spell_run(run[:MAX_RUN_CHARS])
    if not whole:
        return words, ()
    return words, (whole if is_proper_name(run) else f"{_JOINED}{whole}",)
