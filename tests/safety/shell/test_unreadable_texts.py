"""A text that cannot be read as bash reads it is refused, and any other is read."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.shell.heredocs import read_heredoc_text
from toolkit.safety.shell.nodes import NodeContext
from toolkit.safety.shell.parser import CannotParse, MissingShellParser, parse_script
from toolkit.safety.shell.tree import StatementReader
from toolkit.safety.shell.words import read_word


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "text",
    [
        "echo 'x",
        'echo "x',
        "echo $(x",
        "echo `x",
        "echo (x)",
        "if x; then",
        "& x",
        "x ;; y",
        "then",
        "}",
        "x() y",
        "{rm,-rf,/}",
        "{}",
        "echo x\\",
        "cat <<EOF\nx",
        "cat <<E'O'F\nEOF",
        "a\0b",
        "a\rb",
        "a\x1bb",
        "a\u202eb",
        "a\u200bb",
        "a\ud800b",
        "x" * 20_001,
        "a;" * 600,
        "a|" * 600 + "a",
        "cat <<a;" * 60,
        "`a`" * 150,
        "(" * 200 + "a" + ")" * 200,
        "a && " * 200 + "a",
        "sudo " * 30 + "a",
        "eval " * 30 + "a",
        ("eval " * 11 + "x" * 500 + ";") * 20,
        "&(" * 1500,
        "(a) > x y",
        "cat <<EOF > x y\nz\nEOF",
        "${" * 9000,
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_a_broken_or_oversized_text_is_refused(text):
    with pytest.raises(CannotParse):
        parse_script(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("foo\\\n#x; rm y", id="a comment after a joined line is none"),
        pytest.param("echo a \\ b", id="an escaped space is a word"),
        pytest.param("cat << EOF\n EOF\nEOF\nrm y", id="an indented end ends nothing"),
        pytest.param("cat <<EOF\nEO\\\nF\nrm y\nEOF", id="a joined end ends"),
        pytest.param("cat <<EOF\nx\\\nEOF\nEOF\nrm y", id="an end behind a joined line ends nothing"),
        pytest.param("cat <<EOF |\nx\nEOF\nrm y", id="a line that goes on below the here-document"),
        pytest.param("cat <<EOF\n`rm y`\nEOF", id="backticks in a here-document"),
        pytest.param("cat <<A <<B\nA\nB", id="two here-documents"),
        pytest.param("echo \"${x:-'}\" ; rm y #'}\"", id="quotes inside an expansion"),
        pytest.param("echo ${x#`rm y`}", id="backticks inside an expansion"),
        pytest.param("echo ${x:='a'}", id="single quotes inside an expansion"),
        pytest.param("echo ${x@P}", id="a prompt expansion"),
        pytest.param("echo $((ls); rm y)", id="arithmetic or a subshell"),
        pytest.param('echo $(( "x" ))', id="quotes inside arithmetic"),
        pytest.param("time { rm y; }", id="a reserved word before a group"),
        pytest.param("coproc x { rm y; }", id="a coprocess with a group"),
        pytest.param("!'' rm", id="an exclamation mark in a word"),
        pytest.param("[x ]", id="a bracket in a word"),
        pytest.param("[ -n a=&rm ]", id="a sign inside a test"),
        pytest.param("[ a\nrm ]", id="a newline inside a test"),
        pytest.param("[[ a<(rm y) == b ]]", id="a process substitution inside a test"),
        pytest.param("[[ -v 'a[$(rm y)]' ]]", id="a test that evaluates"),
        pytest.param("[[ a =~ (x y|z) ]]", id="a pattern with a space"),
        pytest.param("declare 'a[$(rm y)]=1'", id="a declaration that evaluates"),
        pytest.param("printf -v 'a[`rm y`]' x", id="a builtin that evaluates"),
        pytest.param("a >& '$(rm y)'", id="a target that bash expands twice"),
        pytest.param("a >&$ b", id="a dollar alone before a word"),
        pytest.param("a -2>&1 b", id="a word that looks like a descriptor"),
        pytest.param("y='a'\\\nb rm", id="an assignment that goes on"),
        pytest.param("x\\\n= rm", id="an assignment in two lines"),
        pytest.param("@x=1", id="an assignment to no name"),
        pytest.param("<<<a<(b) rm y", id="a here-string that goes on"),
        pytest.param("a | b[1]=2 > c rm y", id="words behind an assignment's redirection"),
        pytest.param("(a) > b rm y", id="words behind a compound's redirection"),
        pytest.param("echo $`rm y`", id="a dollar before a backtick"),
        pytest.param("echo `a\\\\\\\nb`", id="a joined line inside backticks"),
        pytest.param("a\n{b", id="a brace at the start"),
        pytest.param("exec 3<>/dev/tcp/x/1", id="reading and writing at once"),
    ],
)  # fmt: skip
def test_a_text_that_the_grammar_reads_differently_from_bash_is_refused(text):
    """Each such text hides a command from a reader that trusts the grammar."""
    with pytest.raises(CannotParse):
        parse_script(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a b", {}),
        ("a;b", {}),
        ("a`b`", {}),
        ("a$(b)", {}),
        ('"a${b}"', {}),
        ('"a', {}),
        ("'a", {}),
        ("$'a\\'", {}),
        ("a\\", {}),
        ("'$(a)'", {1: 5}),
        ("x" * 50 + "|", {}),
    ],
)
def test_a_word_that_does_not_fit_its_quotes_is_refused(text, spans):
    """The grammar said where it ends and what it holds; the characters say otherwise."""
    with pytest.raises(CannotParse, match="understood|backslash"):
        read_word(text, spans)


def odd(kind: str, text: str = "a", **parts: object) -> SimpleNamespace:
    """Return a node as another version of the grammar might give it."""
    standard = {"is_named": True, "children": [], "child_count": 0, "start_byte": 0, "end_byte": len(text)}
    return SimpleNamespace(type=kind, child_by_field_name=lambda _: None, **standard | parts)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", odd("novelty")),
        ("a", odd("ERROR")),
        ("a", odd("for_statement")),
        ("a", odd("function_definition")),
        ("a", odd("command")),
        ("#\n", odd("comment", "#\n")),
        ("`a", odd("word", "`a")),
        ("a b", odd("program", "a b", children=[odd("word")])),
    ],
    ids=lambda node: getattr(node, "type", None),
)
def test_a_tree_of_an_unknown_kind_is_refused(text, node):
    """It is never skipped."""
    with pytest.raises(CannotParse):
        StatementReader(text, lambda *_: None).visit(node, NodeContext())


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("<<EOF", (2, 5), None),
        ("<<E*F\nE*F", (2, 5), (6, 9)),
        ("<<EOF\nx", (2, 5), (6, 7)),
        ("<<EOF\nx\n", (2, 5), (6, 7)),
    ],
)
def test_a_here_document_that_does_not_end_is_refused(text, start, end):
    """The place of its last line decides which commands run."""
    places = [("heredoc_start", start), ("heredoc_end", end)]
    children = [odd(kind, start_byte=at[0], end_byte=at[1]) for kind, at in places if at]
    with pytest.raises(CannotParse, match="here-document"):
        read_heredoc_text(odd("heredoc_redirect", text, children=children), text)


@pytest.mark.parametrize("place", [{"start_byte": 1}, {"end_byte": 1}])
def test_a_tree_that_leaves_something_out_is_refused(place):
    """Every character belongs to a command, or is space."""
    with pytest.raises(CannotParse, match="with a command"):
        StatementReader("aa", lambda *_: None).read(odd("program", "aa", **place), ())


def test_the_error_says_why_a_text_cannot_be_parsed():
    with pytest.raises(CannotParse, match="U\\+0000, which cannot be seen"):
        parse_script("a\0")
    assert "run pip install '.[shell]' in a checkout of toolkit" in str(MissingShellParser())
    with pytest.raises(CannotParse, match="longer than 20000 characters"):
        parse_script("x" * 30_000)
    with pytest.raises(CannotParse, match="ends is not understood"):
        parse_script("cat << EOF\n EOF\nEOF\nrm x")


@given(st.text(alphabet="ab $(){}[]<>|&;'\"`\\\n#=*?!~-/E", max_size=60))
def test_any_text_is_read_or_refused(text):
    """No other error is raised, and every command has a name."""
    try:
        script = parse_script(text)
    except CannotParse:
        return
    assert all(len(command.words) == len(command.literal) == len(command.plain) > 0 for command in script.commands)
    assert set(script.top) <= set(script.commands)


def test_many_threads_can_parse_at_once():
    texts = [f"echo {number} $(a | b) > x" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert [script.commands[-1].words[1] for script in pool.map(parse_script, texts)] == [
            str(n) for n in range(200)
        ]


def test_deep_callers_are_refused_not_broken():
    """A text is refused if there is no stack left to read it."""

    def deep(levels: int) -> object:
        return deep(levels - 1) if levels else parse_script("(" * 100 + "a" + ")" * 100)

    used, frame = 0, sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    with pytest.raises(CannotParse, match="nested too deeply"):
        deep(sys.getrecursionlimit() - used - 60)


@pytest.mark.parametrize("text", ["V{\U0008870aT", "{\U0010ffff", "a{é,\U0001f600}", "${\U000e0100}", "$'\U00012345'"])
def test_letters_from_everywhere_are_read(text):
    """The grammar's tables end at 255, and looking further has ended processes. Each time the answer is the same."""
    answers = set()
    for _ in range(50):
        try:
            answers.add(tuple(command.plain for command in parse_script(text).commands))
        except CannotParse as error:
            answers.add(str(error))
    assert len(answers) == 1


def test_words_keep_their_letters():
    """The grammar gets substitutes for them, and the judgement gets the letters."""
    (command,) = parse_script("echo 'größe' ≤5").commands
    assert command.plain == ("echo", "größe", "≤5")


@pytest.mark.parametrize(
    "text",
    [
        "cat <<é\nà\ncat <<'EOF'\né\nrm -rf ~\nEOF",
        "cat <<'%%'\né\ncat <<'EOF'\n%%\nrm -rf ~\nEOF",
        "cat <<-  'a é'\nx\na é",
    ],
)
def test_an_end_that_could_be_mistaken_is_not_read(text):
    """A here-document that ends elsewhere for the grammar than for the shell would hide a command."""
    with pytest.raises(CannotParse, match="cannot be told"):
        parse_script(text)


def test_a_here_document_may_hold_any_text():
    """Only its last line has to be plain."""
    assert [command.name for command in parse_script("cat <<EOF\ngrüße 100% ≤\nEOF\nls").commands] == ["cat", "ls"]


def test_a_line_that_was_just_read_is_not_read_again():
    """The rules and the checks of one call share one reading."""
    assert parse_script("git status --short") is parse_script("git status --short")


@given(st.text("ab1._/,:=@%+#^!]}-~*?[{\\'\"$é\xa0", min_size=1))
def test_a_word_without_special_signs_is_read_the_short_way_with_the_same_outcome(text):
    """An expansion that is noted for a place far away keeps the reader from the short way."""

    def read(spans: dict[int, int]) -> object:
        try:
            return read_word(text, spans, tilde_after="=:")
        except CannotParse as problem:
            return str(problem)

    assert read({}) == read({len(text) + 1: len(text) + 2})
