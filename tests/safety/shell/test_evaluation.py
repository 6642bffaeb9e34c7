"""Texts that run later than they are written are refused where they enter; ordinary numbers stay readable."""

from __future__ import annotations

import pytest

from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.safety.shell.parser import CannotParse, parse_script


@pytest.mark.parametrize(
    "line",
    [
        "a='x[$(id)]'",
        'a="x[\\$(id $b)]"; ((a))',
        "a=('y' 'x[$(id)]'); ((a[1]))",
        "export a='x[`id`]'",
        "declare -i a='x[$(id)]'",
        "for a in 'x[$(id)]'; do ((a)); done",
        "set -- 'x[$(id)]'; (($1))",
        "read a <<< 'x[$(id)]'; echo $((a))",
        "read a <<EOF\nx[\\$(id)]\nEOF\n((a))",
        "mapfile a <<< 'x[$(id)]'",
        "printf -v a %s 'x[$(id)]'",
        "printf -v a %s x[ y \\`id\\`]; echo ${!a}",
        "a=$(echo 'x[$(id)]'); ((a))",
        "a=$(cat <<'EOF'\nx[$(id)]\nEOF\n); ((a))",
        "echo 'x[$(id)]' | { read a; declare -i b=a; }",
        "a='x[$' b='(id)]'; c=$a$b; ((c))",
        "a='x['; a+='$(id)]'; [[ $a -eq 0 ]]",
        "a='x[y[z[0]]+$(id)]'; let a",
        '[ -v "x[\\$(id)]" ]',
        "[[ -v 'x[$(id)]' ]]",
        "\\[ -v 'x[$(id)]' ]",
        "time a='x[$(id)]' b",
        "PS4='$(id)' bash -x y",
        "export PS1='`id`'",
        "BASH_ENV=./y bash -c ls",
        "PROMPT_COMMAND=id",
        "BASH_ALIASES[x]=id",
        "env BASH_ENV=y bash -c ls",
        "trap \"x $(echo '; id')\" EXIT",
        "a='; id'; trap \"echo $a\" EXIT",
        "mapfile -C \"x $(echo '; id')\" a",
        "a='x; id'; script -qc \"echo $a\"",
        "while a='x[$(id)]'; ((a)); do break; done",
        "until b; a='x[$(id)]'; ((a)); do break; done",
        "if a='x[$(id)]'; echo $((a)); then :; fi",
        "f() { (($1)); }; f 'x[$(id)]'",
        "bash -c '(($1))' x 'y[$(id)]'",
        "a='$(id)'; test -v \"b[$a]\"",
        "read a <<< '$(id)'; let \"b[$a]=1\"",
        "a='$' b='(id)'; let \"c[$a$b]=1\"",
        "printf -v a 'x[\\\\x24(id)]'; ((a))",
        "a=$(echo eA== | base64 -d); ((a))",
        "cat > f <<'E'\nx[$(id)]\nE\nread a < f; ((a))",
    ],
)
def test_a_value_that_would_run_is_refused(line):
    """It is refused when it enters a variable, so no later call can use it."""
    with pytest.raises(CannotParse):
        parse_script(line)


@pytest.mark.parametrize(
    "line",
    [
        "i=0; while ((i < 5)); do ((i++)); done",
        "n=$(wc -l < f); if ((n > 5)); then echo $((n + 1)); fi",
        'for ((i = 0; i < ${#a[@]}; i++)); do echo "${a[$i]}"; done',
        'declare -A m=([a]=1 [b]=2); echo "${m[a]}" ${!m[@]}',
        "((x)); [[ $y -gt 3 ]]; let z++; echo ${!w}",
        "body='see list[0] and `code`'; echo \"$body\"",
        "git commit -m \"$(cat <<'EOF'\nUse `foo` and a[$(x)].\nEOF\n)\"",
        "cat > x.sh <<'EOF'\na[$(id)]=1\nEOF",
        "awk '{a[$1]++} END {for (k in a) print k, a[k]}' f",
        'log="items[$(wc -l < f)]"',
        'echo "[info] $(date) $((n + 1))"',
        "PS1='> '; ENV=production make",
        'tmp=$(mktemp); trap "rm -f $tmp" EXIT',
        "while IFS= read -r line; do ((n++)); done < f",
        "f() { echo $(($1 * 2)); }; f 4",
        "n=$(wc -l < f | tr -d ' '); ((n > 5))",
        'a=(1 2); for i in 0 1; do echo "${a[$i]}"; done',
    ],
)
def test_ordinary_numbers_and_texts_stay_readable(line):
    """A variable that comes from elsewhere is not held against a line."""
    assert parse_script(line).commands or parse_script(line).assignments


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("cat f | sh", True),
        ("echo $x | bash -s y", True),
        ("printf 'a\\n' | source /dev/stdin", True),
        ("echo a | tee f | sh", True),
        ("printf 'a\\n' | sh /dev/stdin x", True),
        ('sh -c "$(cat f)"', True),
        ("bash <(cat f)", True),
        ('eval "$(ssh-agent)"', True),
        ("echo ls | sh", False),
        ("ls | bash x.sh", False),
        ("cat f | bash -c 'wc -l'", False),
        ("ls | bash -o errexit x.sh", False),
        ("source .venv/bin/activate", False),
        ("make | tee log", False),
    ],
)
def test_every_deny_rule_holds_for_an_unknown_text(line, holds):
    """It could be any command. A script is judged by its name."""
    assert commands_concerned(line, "git push:*") is holds


@pytest.mark.parametrize(
    "declare", [r"\export", "'export'", "ex''port", "command export", "builtin declare -x", r"\readonly"]
)
@pytest.mark.parametrize("variable", ["PS4='$(rm x)'", "BASH_ENV=./y", "PROMPT_COMMAND='rm x'"])
def test_a_quoted_builtin_still_sets_variables(declare, variable):
    """The grammar takes `\\export` for any command, and bash does not."""
    with pytest.raises(CannotParse):
        parse_script(f"{declare} {variable}; bash -xc :")


@pytest.mark.parametrize("line", ["declare -n r=PS4; r='$(rm x)'; set -x", "typeset -xn r=a", r"\local -n r=a"])
def test_a_second_name_for_a_variable_is_refused(line):
    """Such a name could set any variable."""
    with pytest.raises(CannotParse):
        parse_script(line)


def test_a_quoted_export_is_listed_with_its_value():
    """The checks look at it like at an unquoted one."""
    assert ("LD_PRELOAD", "./x.so") in [
        (assignment.name, assignment.value) for assignment in parse_script(r"\export LD_PRELOAD=./x.so").assignments
    ]
