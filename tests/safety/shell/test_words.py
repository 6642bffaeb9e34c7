"""A word that counts as known is, to a real bash, exactly that word."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolkit.permissions.patterns.commands import commands_allowed, commands_concerned
from toolkit.safety.commands.check import check_command
from toolkit.safety.shell.braces import expand_braces
from toolkit.safety.shell.parser import CannotParse, parse_script
from toolkit.safety.shell.words import decode_ansi

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")


def expand_by_bash(word: str) -> list[str] | None:
    """Return the words that bash makes of *word*; None if bash cannot read it."""
    run = subprocess.run(
        [str(BASH), "-c", f"set -f; printf '%s\\0' {word}"], capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"}
    )
    return None if run.returncode or run.stderr else run.stdout.decode(errors="replace").split("\0")[:-1]


def read_words(text: str) -> list[str] | None:
    """Return the words behind `echo`, if all of them are known."""
    try:
        command = parse_script(f"echo {text}").commands[0]
    except CannotParse:
        return None
    return list(command.words[1:]) if all(command.literal) else None


ESCAPES = [
    *(rf"\{letter}" for letter in "abeEfnrtv\\'\"?cxuUzq0{}.,$` "),
    *(r"\1", r"\12", r"\101", r"\1011", r"\8", r"\00", r"\400", r"\562", r"\777", r"\377"),
    *(
        r"\x7",
        r"\x72",
        r"\x722",
        r"\xg",
        r"\x{",
        r"\x{}",
        r"\x{7",
        r"\x{72}",
        r"\x{72",
        r"\x{072}",
        r"\x{172}",
        r"\x00",
    ),
    *(r"\u72", r"\u0072", r"\u00721", r"\ug", r"\u{72}", r"\u0000", r"\u00e9", r"\uD800"),
    *(r"\U72", r"\U00000072", r"\U000000721", r"\Ug", r"\U1F600", r"\U00000000", r"\U{72}"),
    *(r"\cA", r"\ca", r"\c?", r"\c@", r"\c[", r"\c\\", r"\c\'", r"\c\n", r"\c{", "\\c\u00e9", r"\cx72"),
]


@needs_bash
@pytest.mark.parametrize("around", ["{}", "r{}m", "{}m", "r{}", "{}}}m", r"\\{}", "{}{}"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_that_is_decoded_is_decoded_as_bash_does(around, escape):
    """Every escape of `$'...'`, also cut short, at the end, and before a character that might belong to it."""
    word = "$'" + around.replace("{}", escape).replace("}}", "}") + "'"
    reading = read_words(word)
    assert reading is None or reading == expand_by_bash(word)


@needs_bash
@given(st.text(alphabet=r"\xuUcn0127af{}?'é", max_size=8))
@example(r"\x{72}")
@example(r"\c\\")
@settings(max_examples=150, deadline=None)
def test_any_text_with_escapes_is_decoded_as_bash_does_or_not_at_all(text):
    """The escapes may run into each other."""
    reading = read_words(f"$'{text}'")
    assert reading is None or reading == expand_by_bash(f"$'{text}'")


@pytest.mark.parametrize("escape", [r"\x72", r"\162", r"\u72", r"\U00000072", r"\u0072"])
def test_the_ordinary_escapes_stay_readable(escape):
    """They are one character to every shell that knows `$'...'`."""
    assert read_words(f"$'{escape}m'") == ["rm"]
    assert decode_ansi(escape) == ("r", True)


@pytest.mark.parametrize(
    "line",
    [
        r"$'\x{72}m' -rf /",
        r"$'\x{72m' -rf /",
        r"$'\562m' -rf /",
        r"eval $'\x{72}m -rf /'",
        r"bash -c $'\x{72}m -rf /'",
        r"bash <<< $'\x{72}m -rf /'",
        r"trap $'\x{72}m -rf /' EXIT",
        r"env $'\x{72}m' -rf /",
    ],
)
def test_an_escape_does_not_hide_a_program(line):
    """A deny rule holds and the check asks."""
    assert commands_concerned(line, "rm:*")
    assert check_command(line) is not None


@pytest.mark.parametrize("line", [r"""a=("$'\0'")""", r"""a=("$'\x{72}'"); echo "${a[0]}" """])
def test_a_text_that_only_looks_like_escapes_breaks_no_check(line):
    """The values of an array are decoded after the line was read."""
    assert commands_concerned(line, "rm:*")
    assert check_command(line) is not None


@needs_bash
@given(st.text(alphabet="{},.a/\\'\"", min_size=1, max_size=12))
@example("{x{}y,/}")
@example("{a},b}")
@example("{a{,b}")
@example("HEAD@{1}..HEAD@{0}")
@example("{a'{',/}")
@example("{},a}")
@settings(max_examples=300, deadline=None)
def test_a_known_word_has_the_value_that_bash_gives_it(word):
    """No braces are missed, in any nesting and quoting."""
    reading = read_words(word)
    assert reading is None or reading == expand_by_bash(word)


@needs_bash
@given(st.text(alphabet="{},.ac/", min_size=1, max_size=14))
@example("{x{}y,/}")
@example("{a..{b,c}}")
@example("{a..c}{,}")
@example("{a..c..2}{,x{},y}")
@example("{{a,c},{},/}")
@example("{},a}{},c}")
@example("{,}")
@settings(max_examples=300, deadline=None)
def test_braces_expand_to_the_same_words_as_in_bash(word):
    """The checks look at each of them."""
    names = expand_braces(word)
    # Bash leaves out a word that becomes empty, and `printf` prints an empty line if there is none.
    assert names is None or list(filter(None, names)) == list(filter(None, expand_by_bash(word)))


@pytest.mark.parametrize(
    "braces", ["{01..3}", "{1..5..2}", "{5..1}", "{-1..1}", "{a..c}", "{c..a..2}", "{1..a}", "{+1..3}"]
)
@needs_bash
def test_a_range_is_counted_as_bash_does(braces):
    """It may have numbers or letters, a step, and a downward direction."""
    assert expand_braces(f"x{braces}") == expand_by_bash(f"x{braces}")


@pytest.mark.parametrize("text", ["{a..z}{a..z}", "{a,b}" * 7, "{" * 60 + "," + "}" * 60, "{a..bc}" * 60])
def test_braces_without_an_end_are_too_many(text):
    """The expansion does not take long and does not recurse too deeply."""
    assert expand_braces(text) is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("rm -rf {x{}y,/}", "deny"),
        ("rm -rf {x{y}z,/,~}", "deny"),
        ("rm -rf {{x},{y,/}}", "deny"),
        ("rm -rf {x'{',/}", "ask"),
        ('rm -rf {x","y,/}', "ask"),
        ("k='{'; rm -rf {$k,/}", "deny"),
        ("env {A{}=1,rm,-rf,/}", "ask"),
        ("cat {x{}y,.env}", "ask"),
        ("cat {{x},.env}", "ask"),
        ("git push {x{}y,--force}", "ask"),
        ("git {,}{,}{,}{,}{,}{,}{,}push --force", "ask"),
    ],
)
def test_inner_braces_do_not_hide_a_word(line, word):
    """The check finds it, or asks."""
    finding = check_command(line)
    assert finding is not None
    assert finding.word == word


@pytest.mark.parametrize(
    "line",
    [
        r"find {a{}.txt,.,-exec,touch,pwn,\;}",
        "git log {x{}y,--output=.bashrc}",
        "cat {{a},b}",
        "cat {a},b}",
    ],
)
def test_no_allow_rule_covers_a_word_with_braces(line):
    """The word may become an option."""
    name = line.split(" {")[0]
    assert not commands_allowed(line, [f"{name}:*"])


@pytest.mark.parametrize("word", ["HEAD@{1}..HEAD@{0}", "@{u}..HEAD", "{}", "{},bak", "{{x}}", "a{b}c,d", "{a", "a,b}"])
def test_braces_that_bash_does_not_expand_are_known(word):
    """They are in the names of revisions, and stand for the file in `find`."""
    assert read_words(word) == [word]
    assert commands_allowed(f"git log {word}", ["git log:*"])
