"""Patterns: `re`'s answers, without the risk that it never gives one."""

import re
import threading
from types import SimpleNamespace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolkit.values.patterns import Pattern, Undecidable, compile_pattern
from toolkit.values.patterns.automaton import LazyDfa, SearchExhausted, build_nfa, count_states, find_irregular
from toolkit.values.patterns.backtracking import CEILING, estimate_steps, longest_affordable
from toolkit.values.patterns.charsets import Chars
from toolkit.values.patterns.syntax_tree import At, Atomic, Either, Look, Repeat, Seq, Unknown, read_tree

ATOMS = [
    *["a", "b", ".", "[ab]", "[^a]", r"[^\n]", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\n", "_", r"[^\W_]"],
    *["k", "K", "s", "ſ", "i", "İ", "µ", "ﬅ", "[a-k]", "[^k]", "é", "[É-ú]", "\u212a", r"[\x1c-\x1f]", "[𐀀-𐀏]"],
]
PLACES = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
REPEATS = ["*", "+", "?", "{2}", "{0}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]
GROUPS = ["(", "(?:", "(?P<n>", "(?i:", "(?s:", "(?m:", "(?-i:", "(?i-s:"]
TEXTS = st.text(st.sampled_from("abkKsſiİéɪ1_ -\n\x1cµμﬅß\u212a𐀀"), max_size=8)


def larger(inner):
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: f"(?:{'|'.join(items)})"),
        st.builds(lambda body, repeat: f"(?:{body}){repeat}", inner, st.sampled_from(REPEATS)),
        st.builds(lambda opening, body: f"{opening}{body})", st.sampled_from(GROUPS), inner),
    )


REGEXES = st.builds(
    "{}{}".format,
    st.sampled_from(["", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?x)", "(?im)", "(?ia)"]),
    st.recursive(st.sampled_from([*ATOMS, *PLACES]), larger, max_leaves=8),
)


def parsed(source):
    """Return the tree of *source*, if `re` takes it and it can be tried on a short text."""
    try:
        re.compile(source)
    except re.error:
        assume(False)
    tree = read_tree(source)
    assume(count_states(tree) < 500)
    return tree


@pytest.mark.long
@pytest.mark.unmeasured
@settings(max_examples=10 * settings().max_examples, deadline=None)
@given(REGEXES, st.lists(TEXTS, min_size=1, max_size=4))
def test_the_linear_engine_answers_as_re_does(source, texts):
    """Whether a pattern occurs does not depend on the engine, nor on how much the engine may keep."""
    tree = parsed(source)
    linear, forgetful = LazyDfa(tree), LazyDfa(tree, max_kept_units=10)
    for text in texts:
        assume(estimate_steps(tree, len(text)) < 1e7)
        expected = re.search(source, text) is not None
        assert linear.search(text) is expected
        assert forgetful.search(text) is expected


@pytest.mark.parametrize("text", ["", "a", "é", "\n", "a\n", "a\n\n", "-a", "\na", "aé"])
@pytest.mark.parametrize(
    "source", [*PLACES, r"(?a)\b", r"(?a)\B", "(?m)a$", "(?m)^a", r"(?i)\u212a", r"[^\d\s]", "(?i)[1-9]"]
)
def test_places_match_as_in_re(source, text):
    """The edges of texts, lines and words are those of `re`, also in an empty text."""
    assert LazyDfa(read_tree(source)).search(text) is (re.search(source, text) is not None)


class Backtracking:
    """A search that goes back as `re` does, and counts the characters it compares."""

    def __init__(self, text):
        self.text = text
        self.steps = 0

    def ends(self, node, at):
        match node:
            case Chars():
                self.steps += 1
                assume(self.steps < 20_000)
                if at < len(self.text) and re.match(node.source, self.text[at], node.flags):
                    yield at + 1
            case Seq(()):
                yield at
            case Seq((first, *rest)):
                for end in self.ends(first, at):
                    yield from self.ends(Seq(tuple(rest)), end)
            case Either(items):
                for item in items:
                    yield from self.ends(item, at)
            case Repeat():
                yield from self.rounds(node, at, 0)
            case Atomic(body) | Look(body):
                for end in self.ends(body, at):
                    yield at if isinstance(node, Look) else end
                    break
            case At(place):
                if {"start": at == 0, "end": at == len(self.text)}[place]:
                    yield at

    def rounds(self, node, at, done):
        if done < node.high:
            for end in self.ends(node.body, at):
                if end > at or done < node.low:
                    yield from self.rounds(node, end, done + 1)
        if done >= node.low:
            yield at

    def search(self, node):
        return any(True for start in range(len(self.text) + 1) for _ in self.ends(node, start))


def entangled(inner):
    return st.one_of(larger(inner), st.builds("({}{})".format, st.sampled_from(["?=", "?>"]), inner))


@pytest.mark.long
@pytest.mark.unmeasured
@settings(max_examples=7 * settings().max_examples, deadline=None)
@given(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "^"]),
        st.recursive(st.sampled_from(["a", "b", "[ab]", ".", "a*", "a+b", "$", "^"]), entangled, max_leaves=7),
        st.sampled_from(["", "c", "$", "c$"]),
    ),
    st.text(st.sampled_from("ab"), max_size=9),
)
def test_the_estimate_is_an_upper_bound(source, text):
    """No search that goes back compares more often than was estimated."""
    assume("(?m:" not in source)
    # The search below tries the longest first. In an atomic group the shortest first finds something else.
    assume(not ("(?>" in source and re.search(r"[*+?}]\?", source)))
    tree = parsed(source)
    backtracking = Backtracking(text)
    assert backtracking.search(tree) is (re.search(source, text) is not None)
    assert backtracking.steps <= estimate_steps(tree, len(text))


@given(
    st.sampled_from(["", "(?i)", "(?a)", "(?ia)"]),
    st.sampled_from(["[", "[^"]),
    st.lists(st.sampled_from([r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", "k", "é", "a-f", "À-ÿ"]), min_size=1),
    st.characters(),
)
def test_a_mask_has_every_character_of_its_set(flags, opening, members, character):
    """The mask excludes no character of the set."""
    source = f"{flags}{opening}{''.join(members)}]"
    groups = zip((r"\s", r"\d", r"\w", ""), range(128, 132), strict=True)
    position = next(position for group, position in groups if re.match(group, character))
    bit = 1 << (ord(character) if character.isascii() else position)
    if re.search(source, character):
        assert read_tree(source).mask & bit


EVIL = [
    *["^(a+)+$", "(a|a)*c", "(a|ab)*c", "^(a|aa)+$", "(.*)*x", "a+$", "(a+a+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"],
    *["(a?){30}a{30}b", ".*.*.*=.*;", "a*b", "(?:a*)*b", "(?i)(A+)+$", "(a+?)+?$", r"^(\w+\s?)*$", "(.*a){11}$"],
    *["(?:[ab]*){20}c", "^(a|b|ab)*c$", r"(?m)^(\w+)*$x", "(?s)(.|a)*b", r"\b(a|\w)*\b!!", "(?:a|b)*a(?:a|b){12}c"],
    *["(?:(?:ab?)*|a)*c", "^(?:a?){50}$", "(?:a{0,9}){0,9}b", "(?i)(k|\u212a)*x"],
]


@pytest.mark.parametrize("source", EVIL)
def test_no_pattern_explodes(source):
    """Such a pattern would keep `re` busy for ages, and needs one pass."""
    pattern = compile_pattern(source)
    text = "a" * 50_000 + "!"
    assert pattern.fast_limit < 1_000
    assert pattern.search(text) is False
    assert pattern.search(text[:100] + "b=;x!! aXa" + "a" * 31 + "bc") in {True, False}


IRREGULAR = [
    ("(?=(a+)+b)a", "a lookaround"),
    ("(?!(a|a)*b)b", "a lookaround"),
    ("(?<!c)(a+)+c", "a lookaround"),
    (r"(a+)\1b$", "a backreference"),
    ("(?>(a+)+)b", "an atomic group"),
    ("(?:(a+)+)++b", "possessive"),
    ("(a)?(?(1)(a+)+|b)c", "a conditional group"),
    ("(a)?(?(1)(a+)+)c", "a conditional group"),
    ("(?a:(a+)+)c", "(?a)"),
]


@pytest.mark.parametrize(("source", "reason"), IRREGULAR)
def test_a_search_that_cannot_be_decided_names_the_reason(source, reason):
    """Only `re` could answer, and not in time."""
    pattern = compile_pattern(source)
    with pytest.raises(Undecidable, match=re.escape(reason)):
        pattern.search("a" * 50_000)
    assert pattern.search("a" * min(pattern.fast_limit, 3)) in {True, False}


def test_a_refusal_says_how_long_a_text_may_be():
    """If `re` can be afforded for shorter texts, the message tells for which."""
    pattern = compile_pattern(r"(a+)\1b$")
    with pytest.raises(Undecidable, match=f"keep the text to {pattern.fast_limit} characters"):
        pattern.search("a" * 1_000)


def test_a_pattern_too_large_for_an_automaton_is_undecidable():
    """Repeats are not written out without limit."""
    with pytest.raises(Undecidable, match="written out"):
        compile_pattern("(?:a{1000}b?){1000}c").search("a" * 50_000)


def test_the_work_on_unfamiliar_text_is_bounded():
    """This holds even if each character leads to a new state."""
    with pytest.raises(SearchExhausted):
        LazyDfa(read_tree("(?:a|b)*a(?:a|b){50}c"), max_work=1_000).search("abbabaaabbbbaaababab" * 50)


def test_possibilities_without_end_are_undecidable():
    """A pattern that keeps thousands of possibilities open is refused, not followed to the end."""
    pattern = compile_pattern("(?:a|b)*a(?:a|b){900}c")
    pattern._automaton = LazyDfa(read_tree(pattern.source), max_work=10_000)
    with pytest.raises(Undecidable, match="too many possibilities"):
        pattern.search("abbabaaabbbbaaababab" * 50)


ORDINARY = [
    (r"^[a-z]+$", "hello"),
    (r"^\d{4}-\d{2}-\d{2}$", "2024-01-31"),
    (r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "123e4567-e89b-12d3-a456-426614174000"),
    (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-slug-of-words"),
    (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", "someone@example.org"),
    (r"^[\w.+-]+@([\w-]+\.)+[a-z]{2,}$", "someone@mail.example.org"),
    (r"^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$", "www.example.org"),
    (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rd!"),
    (r"^(?!-)(?:[a-z0-9-]{1,63}(?<!-)\.)+[a-z]{2,63}$", "www.example.org"),
    (r"^https?://[^\s/$.?#].[^\s]*$", "https://example.org/a/b?c=d"),
    (r"^(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$", "192.168.10.255"),
    (r"^\s*\S+(?:\s+\S+)*\s*$", "two words"),
    (r"^(a|b)\1$", "aa"),
    (r"^(?:^a|^b)c*+$", "bcc"),
    (r"^(?:(?>[a-z])-)+$", "a-b-"),
    (r"\S", "x"),
    ("abc", "xxabcxx"),
]


@pytest.mark.parametrize(("source", "text"), ORDINARY)
def test_ordinary_patterns_are_left_to_re(source, text):
    """Usual patterns cost no more than `re`, also on long texts."""
    pattern = compile_pattern(source)
    assert pattern.fast_limit >= 5 * len(text)
    assert pattern.search(text)
    assert pattern.fast_search(text)
    assert not pattern.search("\n" * 2)


INVALID = [
    *["a**", "(", "[", "\\", "(?P<n", r"\1", "(?<=a*)b", "[z-a]", "a{2,1}", "(?i", "(?z)", "a(?i)"],
    *["a{1000000}{1000000}", "a{99999999999}", f"a{{{'9' * 5000}}}", "a" * 1_000_000, "(" * 10_000, "(?:a" * 200],
    *["(?:a" * 150 + ")*" * 150, "(?i)" + "[\u0100-\uffff]x" * 2_000],
]


@pytest.mark.parametrize("source", INVALID, ids=lambda source: source[:20])
def test_an_invalid_pattern_is_a_value_error(source):
    """The message is short."""
    with pytest.raises(ValueError, match="is not a regular expression: ") as caught:
        compile_pattern(source)
    assert len(str(caught.value)) < 1_200


def test_a_warning_that_is_an_error_becomes_a_value_error():
    """Only ValueError leaves the function, as in this suite, where warnings are errors."""
    with pytest.raises(ValueError, match="nested set"):
        compile_pattern("[[a]")


def test_a_huge_repeat_compiles():
    """A repeat of repeats is a number, not a million states."""
    assert compile_pattern("(?:a{1000000}){1000000}").search("a" * 100) is False


class Parsed(list):
    """What a parser of another Python might return."""

    state = SimpleNamespace(flags=0)


CONSTRUCTS = [
    ("NEW_THING", None),
    ("AT", SimpleNamespace(name="AT_NEW_PLACE")),
    ("IN", [(SimpleNamespace(name="NEW_MEMBER"), 1)]),
    ("IN", [(SimpleNamespace(name="CATEGORY"), SimpleNamespace(name="CATEGORY_NEW"))]),
]


@pytest.mark.parametrize(("name", "value"), CONSTRUCTS)
def test_an_unknown_construct_is_never_tried(name, value):
    """A newer Python may parse a pattern in a way that our engine does not know. Then every text is refused."""
    tree = read_tree("?", parse=lambda _: Parsed([(SimpleNamespace(name=name), value)]))
    assert tree == Unknown()
    assert longest_affordable(tree, 0) == -1
    with pytest.raises(Undecidable, match="unknown"):
        Pattern(tree, re.compile("a")).search("")


def test_a_pattern_is_refused_without_a_parser():
    """Python's parser may move to another module."""
    assert read_tree("a", parse=None) == Unknown()
    assert estimate_steps(Unknown(), 0) == CEILING


def test_a_failure_of_the_parser_tree_never_matches():
    """Newer versions of Python parse `(?!)` as such a failure."""
    tree = read_tree("?", parse=lambda _: Parsed([(SimpleNamespace(name="FAILURE"), ())]))
    assert tree == Either(())
    assert LazyDfa(tree).search("a") is False
    assert estimate_steps(tree, 10) < 100


def test_an_irregular_tree_has_no_automaton():
    """Asking for one is a mistake of the caller's."""
    tree = read_tree("(?=a)")
    assert find_irregular(tree) == "a lookaround"
    with pytest.raises(TypeError, match="lookaround"):
        build_nfa(tree)


def test_threads_share_a_pattern():
    """A pattern that forgets all the time still answers right in every thread."""
    linear = LazyDfa(read_tree("(?:a|b)*a(?:a|b){6}c"), max_kept_units=50)
    answers = []

    def work():
        answers.extend(linear.search("abbabaaabb" * 10 + tail) for tail in ("c", "") * 5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [re.search("a(?:a|b){6}c", "abbabaaabb" * 10 + tail) is not None for tail in ("c", "")]
    assert sorted(answers) == sorted(expected * 20)


def test_a_pattern_shows_its_source():
    """A pattern in a message can be pasted back."""
    pattern = compile_pattern("^a$")
    assert repr(pattern) == "compile_pattern('^a$')"
    assert compile_pattern("^a$") is pattern
