"""The second reading follows bash's own rules, and a line that both readings do not share is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.fuzz_commands import real_lines
from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.safety.shell.outline import read_outline
from toolkit.safety.shell.parser import CannotParse, parse_script

HIDING = [
    "a=1 {fd}>/dev/null rm x",
    "nice -n 1 env {fd}>/dev/null rm x",
    "time a=1 rm x",
    "time -p -- a=1 b+=2 rm x",
    "coproc a=1 rm x",
    "time >y a=1 {fd}<z rm x",
    "a=()#; rm x",
    "b=(1 2)#x; rm x",
    "env a-b=1 rm x",
    "env 1=2 =3 rm x",
    "a[;b;]=1 rm x",
    "a[ 1 ]=2 rm x",
    "time a[0]=1 rm x",
    "a=1 b=(2)# c; rm x",
    ">&-rm x",
    "echo y |time -p a=1 rm x",
]


@pytest.mark.parametrize("line", HIDING)
def test_a_command_behind_odd_signs_does_not_hide_from_a_deny_rule(line):
    """It is listed, or the line cannot be read; a deny rule holds either way."""
    assert commands_concerned(line, "rm:*")


@pytest.mark.parametrize(
    ("line", "words", "variables"),
    [
        ("time NODE_ENV=production npm publish", ("npm", "publish"), {"NODE_ENV": "production"}),
        ("time -p A=1 B='c d' make -j4", ("make", "-j4"), {"A": "1", "B": "c d"}),
        ("coproc A=1 make", ("make",), {"A": "1"}),
        ("env A=b make", ("make",), {"A": "b"}),
        ("a=1 {fd}>/dev/null make", ("make",), {"a": "1"}),
    ],
)
def test_a_variable_behind_a_word_of_the_shell_is_not_a_command(line, words, variables):
    """The command is listed by its own name, with the variables set for it."""
    command = parse_script(line).commands[-1]
    assert command.words == words
    assert {assignment.name: assignment.value for assignment in command.assignments} == variables


def test_a_descriptor_with_a_name_is_not_a_word():
    """`{lock}` before a redirection names a variable, and `exec` gets no words."""
    assert parse_script("exec {lock}>/tmp/lock").commands[0].words == ("exec",)


def spans(line: str) -> list[list[str]]:
    """Return the words of each command, by the second reading alone."""
    commands, _, _ = read_outline(line)
    return sorted([line[begins:end] for begins, end in words] for words in commands)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 'b c' | d \"e $(f g)\" && h", [["a", "'b c'"], ["d", '"e $(f g)"'], ["f", "g"], ["h"]]),
        ("x=1 >y a 2>&1 <&- b", [["a", "b"]]),
        ("if a; then b; elif c; then d; else e; fi >x", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for x in 1 $(a); do b; done; for ((;;)) { c; }", [["a"], ["b"], ["c"]]),
        ("case x in (a|b) c;; $(d)) e;& *) f; esac", [["c"], ["d"], ["e"], ["f"]]),
        ("f() { a; }; function g { b; }; function h() (c)", [["a"], ["b"], ["c"]]),
        ("cat <<EOF | a\n$(b) `c`\nEOF\nd", [["a"], ["b"], ["cat"], ["d"]]),
        ("cat <<-'EOF'\n\t$(b)\n\tEOF\nd", [["cat"], ["d"]]),
        ("[[ a == b && ( -n $(c) || x =~ ^(a|b)$ ) ]]", [["[[ a == b && ( -n $(c) || x =~ ^(a|b)$ ) ]]"], ["c"]]),
        ("[ -f x ] && a", [["[ -f x ]"], ["a"]]),
        ("((i++)) || a $((1 + $(b)))", [["((i++))"], ["a", "$((1 + $(b)))"], ["b"]]),
        ("x=(1 $(a) [2]=b) b <(c) # d", [["a"], ["b", "<(c)"], ["c"]]),
        ("time -p -- a=1 b; coproc c; ! d", [["coproc", "c"], ["d"], ["time", "-p", "--", "b"]]),
        (
            'a $\'b\\\'c\' $"d" e\\ f ${x:-$(g)} "${y}"',
            [["a", "$'b\\'c'", '$"d"', "e\\ f", "${x:-$(g)}", '"${y}"'], ["g"]],
        ),
        ("while a\ndo b\ndone < <(c)\n\n{ d; } 2>x", [["a"], ["b"], ["c"], ["d"]]),
        ("a | time b=1 c", [["a"], ["time", "b=1", "c"]]),
    ],
)
def test_words_and_commands_are_distinguished_as_bash_does(line, expected):
    """Only the rules for words and for reserved words count."""
    assert spans(line) == sorted(expected)


@pytest.mark.parametrize(
    "line",
    ["a[b c]=1", "a[$(b)]=1", "echo $[1]", "*(a)", "if a", "a=(b", "((1); b)", "i\\\nf a; then b; fi", "time time a"]
    + [
        "coproc a { b; }",
        "a ${ b; }",
        "${a:-'b'}",
        "cat <<EOF",
        "a;; b",
        "f() b",
        "<\\\n<EOF a",
        "'a",
        '"a',
        "`a",
        "a\\",
    ]
    + ["a=(;)", "a=([b c]=d)", "[[ a =~ (b c) ]]", "[[ a", "case a in b c) d;; esac", "for 1 in a; do b; done", "fi"],
)
def test_a_rare_or_broken_construct_is_refused(line):
    """The outline might read it in another way than bash."""
    with pytest.raises(CannotParse):
        read_outline(line)


@given(st.text(alphabet="abz=+()[]{}<>|&;$`'\"\\#! \t\n01-~*?@:,.", max_size=40))
def test_any_text_is_outlined_or_refused(text):
    """No text has another effect."""
    try:
        commands, _, _ = read_outline(text)
    except (CannotParse, RecursionError):
        return
    assert all(0 <= begins < end <= len(text) for words in commands for begins, end in words)


@pytest.mark.long
def test_both_readings_agree_on_real_lines():
    """No line of the corpora is refused for their difference."""
    reasons = []
    for line in real_lines():
        try:
            parse_script(line)
        except CannotParse as error:
            reasons.append(str(error))
    assert not [reason for reason in reasons if "another way" in reason]
