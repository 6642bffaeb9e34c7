"""
Which files are protected, from what, and that no other spelling gets around it.
"""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.name_globs import regex_of
from toolkit.safety.protected_files import BUILT_IN, Protected, ProtectedFiles, fold_names
from toolkit.values.patterns.backtracking import estimate_steps
from toolkit.values.patterns.syntax_tree import read_tree

SECRETS = """
    .env .env.local .env.production .env.example.local .env~ .env-prod prod.env .envrc app/.env
    server.pem tls/server.key id_rsa id_rsa.bak id_ed25519 id_ecdsa_sk deploy.ppk app.p12 release.jks AuthKey.p8
    ssh_host_ed25519_key .ssh .ssh/config .ssh/id_rsa.pub home/me/.ssh/known_hosts .gnupg/private-keys-v1.d/x.key
    .aws/credentials .aws/config .azure/msal_token_cache.json .config/gcloud/credentials.db .kube/config
    application_default_credentials.json service-account-prod.json client_secret_12.json terraform.tfstate
    terraform.tfstate.backup .vault-token
    .npmrc .pypirc .docker/config.json .cargo/credentials.toml .netrc _netrc .pgpass .git-credentials
    .config/gh/hosts.yml .my.cnf
    passwords.kdbx login.keychain-db Library/Keychains/x .password-store/mail.gpg keyrings/login.keyring logins.json
    secrets.toml secrets.yaml secrets.yml config/secrets.json credentials.json /etc/shadow /run/secrets/db
    .bash_history .zsh_history .python_history .psql_history .node_repl_history fish_history
    app.approvals.sqlite app.approvals.sqlite-wal
    prod.tfvars terraform.tfvars.json kubeconfig kubeconfig.prod prod.kubeconfig /proc/1/environ
"""
RUN_CODE = """
    .git/config .git/hooks/pre-commit .git/hooks .git/info/attributes .git/modules/lib/config sub/.git/config
    .gitconfig .config/git/config .husky/pre-commit .githooks/post-merge .pre-commit-config.yaml .hg/hgrc
    .bashrc .bash_profile .zshrc .zshenv .profile .inputrc .config/fish/config.fish /etc/profile.d/x.sh
    sitecustomize.py venv/lib/x.pth .pdbrc .gdbinit .cargo/config.toml .curlrc /etc/ld.so.preload
    .github/workflows/ci.yml .github/workflows/deep/er.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile
    azure-pipelines.yml .travis.yml bitbucket-pipelines.yml .buildkite/pipeline.yml
    .vscode/tasks.json .vscode/settings.json .vscode/launch.json .idea/workspace.xml my.code-workspace .exrc .vimrc
    .vim/plugin/x.vim .dir-locals.el .devcontainer/devcontainer.json
    .mcp.json .claude/settings.json .cursor/mcp.json
    crontab /etc/cron.d/job /var/spool/cron/root .config/systemd/user/x.service LaunchAgents/x.plist
    authorized_keys /etc/passwd /etc/sudoers.d/me
    .toolkit .toolkit/rules.toml .toolkit/skills/x/SKILL.md .config/toolkit/trust.json
    calls.audit.jsonl calls.audit.jsonl.1
    .yarnrc.yml mise.toml .mise.toml mise.local.toml .config/mise/config.toml lefthook.yaml .lefthook.yaml
    .claude/commands/x.md .claude/agents/x.md .claude/skills/x/SKILL.md .cursor/rules/x.mdc .windsurf/rules/x.md
    .aider.conf.yml .continue/config.yaml .roo/rules/x.md .kiro/hooks/x.json opencode.json .config/opencode/x.json
    .amazonq/rules/x.md .codex/config.toml .codex/hooks.json .gemini/commands/x.toml
    .git/rebase-merge/git-rebase-todo .git/sequencer/todo sub/.psqlrc .sqliterc .ripgreprc .bundle/config pip.conf
    .config/pip/pip.conf x.git/config x.git/hooks/post-receive srv/x.git/info/attributes
"""
HARMLESS = """
    README.md src/main.py .env.example .env.sample .env.template example.env id_rsa.pub server.pub env .environment
    environment.py keys.py key pem secrets.py secrets.md src/secrets/readme.md tests/conftest.py .gitignore .gitattributes
    .gitmodules .github/CODEOWNERS .github/ISSUE_TEMPLATE.md .vscode/snippets.json git/config hooks/pre-commit
    etc/passwd src/etc/shadow toolkit/safety/checks.py bashrc.md Makefile pyproject.toml history.txt my.envoy
    AGENTS.md CLAUDE.md .tool-versions .python-version package.json example.tfvars kubeconfig.md lefthook.md x.git/HEAD
    x.git/description mise.md
    workflows/ci.yml .ssher/notes .env.d/notes .envs/notes docs/.env/notes.md
"""

find_built_in_rule = ProtectedFiles(BUILT_IN).find_rule


@pytest.mark.parametrize("path", SECRETS.split())
def test_a_secret_is_not_read_and_not_written(path):
    """A program that reads the secret could send it on."""
    assert find_built_in_rule(path, "read")
    assert find_built_in_rule(path, "write")


@pytest.mark.parametrize("path", RUN_CODE.split())
def test_a_file_that_makes_programs_run_code_is_read_and_not_written(path):
    assert find_built_in_rule(path, "read") is None
    assert find_built_in_rule(path, "write")


@pytest.mark.parametrize("path", HARMLESS.split())
def test_a_harmless_file_with_a_similar_name_is_not_protected(path):
    assert find_built_in_rule(path, "read") is None
    assert find_built_in_rule(path, "write") is None


@pytest.mark.parametrize(
    "path", [".git", "a/.git/", ".github", ".vscode", ".aws", ".docker", "/etc", "/", "\\", "x/.kube/."]
)
def test_a_folder_that_holds_protected_files_is_not_written(path):
    """A new folder in its place would replace the file."""
    assert find_built_in_rule(path, "write")
    assert find_built_in_rule(path, "read") is None


@pytest.mark.parametrize("path", ["", ".", "..", "a/.."])
def test_a_path_without_names_is_not_protected(path):
    """Its meaning depends on its start, and another check judges that."""
    assert find_built_in_rule(path, "write") is None


def test_the_root_of_the_disk_is_free_without_a_pattern_for_it():
    """Only patterns that begin with a slash are known to lie there."""
    assert ProtectedFiles([Protected("x", "a thing")]).find_rule("/", "write") is None


SPELLINGS = [
    ".ENV",
    ".Env",
    ".env.",
    ".env ",
    ".env. . ",
    ".env/",
    "./.env",
    "a//.env",
    "a/b/../.env",
    "a\\.env",
    "..\\.env",
    ".env::$DATA",
    ".env:stream",
    ".env ::$DATA",
    ".e\u200dnv",
    ".env\ufe0f",
    "\ufeff.env",
    "\uff0e\uff45\uff4e\uff56",
    "a\uff0f.env",
    ".\u212fnv",
    ".\U0001d41env",
]


@pytest.mark.parametrize("path", SPELLINGS, ids=ascii)
def test_another_spelling_of_a_name_is_the_name(path):
    """Some file system, or some program, takes it for the same."""
    assert find_built_in_rule(path, "read").pattern in {".env", ".env.*"}


@pytest.mark.parametrize(
    "path", [".SSH/x", ".\u017fsh/x", ".g\u0131t/config", "\u212aeychains/x", ".git\u200c/hooks/x"], ids=ascii
)
def test_letters_that_meet_in_another_case_are_the_same(path):
    """The long s, the dotless i and the Kelvin sign are letters of the alphabet to some disks."""
    assert find_built_in_rule(path, "write")


@pytest.mark.parametrize("path", [".ssh/\u2025/x", ".ssh/a\\..\\..\\x", ".ssh/.. /x"], ids=ascii)
def test_a_name_that_only_resembles_two_dots_does_not_leave_the_folder(path):
    """On some systems it is an ordinary name."""
    assert find_built_in_rule(path, "read")


def test_two_dots_leave_the_folder():
    assert find_built_in_rule(".ssh/../notes.txt", "read") is None


def test_exceptions_are_spelt_as_freely_as_patterns():
    """Case makes no difference to them either."""
    files = ProtectedFiles([Protected("*.KEY", "a key", but=("Public.KEY",))])
    assert files.find_rule("PUBLIC.key", "read") is None
    assert files.find_rule("other.key", "read")


def test_an_exception_does_not_hold_for_a_stream_of_the_file():
    """`id_rsa:x.pub` is a part of `id_rsa`."""
    assert find_built_in_rule("id_rsa:x.pub", "read")


@pytest.mark.one_case_in(4)
@pytest.mark.parametrize("rule", BUILT_IN, ids=lambda rule: rule.pattern)
def test_every_built_in_pattern_matches_its_files(rule):
    """It matches at any depth and in capitals, unless it begins at the root of the disk."""
    path = rule.pattern.replace("/**", "/x").replace("*", "x").replace("?", " ")
    files = ProtectedFiles([rule])
    assert files.find_rule(path, "write") is rule
    assert (files.find_rule(path, "read") is rule) is (rule.level == "neither read nor written")
    assert files.find_rule(path.upper(), "write") is rule
    assert (files.find_rule(f"/deep/er/{path}", "write") is rule) is not path.startswith("/")


def test_every_built_in_pattern_is_in_the_list_once():
    """Otherwise it could not be lifted by its text."""
    patterns = [rule.pattern for rule in BUILT_IN]
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize(
    ("pattern", "caught", "free"),
    [
        ("prod.yaml", ["prod.yaml", "a/PROD.yaml"], ["prod.yaml.txt", "prod.yaml/x", "a-prod.yaml"]),
        ("conf/*.yaml", ["conf/a.yaml", "x/conf/b.yaml"], ["conf/a/b.yaml", "conf.yaml"]),
        ("conf/", ["conf", "conf/a", "x/conf/a/b"], ["config/a"]),
        ("**/vault/**", ["vault", "x/vault/y/z"], ["vaults/x"]),
        ("/srv/db.sqlite", ["/srv/db.sqlite", "/srv"], ["/mnt/srv/db.sqlite", "srv/db.sqlite2"]),
        ("/srv/db*", ["/srv/db", "/srv/db.sqlite-wal"], ["/srv/x/db"]),
        ("C:/data/**", ["C:\\data\\x", "c:/DATA"], ["/x/c:/data/y"]),
        ("a?c", ["abc", "a.c"], ["ac", "abbc"]),
        ("??", ["ab"], ["a", "abc"]),
        ("x[1]{a,b}", ["x[1]{a,b}"], ["x1a"]),
        ("x/*/z", ["x/y/z", "x/y"], ["x/y/y/z", "y/z"]),
    ],
)
def test_patterns_match_whole_names(pattern, caught, free):
    """Stars stay within a name; two at the end stand for all beneath; nothing else is special."""
    files = ProtectedFiles([Protected(pattern, "a thing")])
    assert [path for path in caught if not files.find_rule(path, "write")] == []
    assert [path for path in free if files.find_rule(path, "write")] == []


@pytest.mark.parametrize("pattern", ["", "/", "**", "*", "*/**", "?*", ".", "a/**/b", "a/../b", "**b", "~/x"])
def test_a_pattern_without_a_clear_meaning_is_refused(pattern):
    """A check that cannot fail is worse than none."""
    with pytest.raises(ValueError, match="pattern"):
        ProtectedFiles([Protected(pattern, "a thing")])


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\\0"), min_size=1, max_size=12)


@given(names)
def test_a_name_of_any_letters_can_be_protected(name):
    """A name is protected in composed, decomposed and capital letters."""
    if (
        not fold_names(name)
        or {"*", "?"} & set("".join(fold_names(name)))
        or "/" in unicodedata.normalize("NFKC", name)
    ):
        return
    files = ProtectedFiles([Protected(f"folder/{name}", "a thing")])
    forms = {
        name,
        unicodedata.normalize("NFC", name),
        unicodedata.normalize("NFD", name),
        unicodedata.normalize("NFKC", name),
    }
    assert all(files.find_rule(f"/a/FOLDER/{form}", "read") for form in forms)


@given(st.text())
def test_any_text_can_be_judged(path):
    """No text of a model breaks the check. A path that may not be read may not be written."""
    reading, writing = (find_built_in_rule(path, access) for access in ("read", "write"))
    assert reading is None or writing is not None
    assert find_built_in_rule(path, "read") == reading


@given(st.text(st.sampled_from("ab./\\: \u0131\u017f\u200d\uff0f")))
def test_folding_twice_changes_nothing(path):
    assert fold_names("/".join(fold_names(path))) == fold_names(path)


STARS = st.lists(st.sampled_from(["*", "?", "a", "b", "*?", "*a", "[ab]"]), min_size=1, max_size=60).map("".join)


@given(STARS, st.text("ab", max_size=200))
def test_no_number_of_stars_makes_a_comparison_slow(stars, name):
    """
    A pattern comes from a project that the user need not trust, and a glob from a model.

    At most three steps for each letter of the name and each of the expression; without its atomic groups, four stars
    and a name of 200 letters would take ten thousand million.
    """
    pattern = re.sub(r"\*+", "*", f"x{stars}*z")
    table = ProtectedFiles([Protected(pattern, "x"), Protected(f"*{name}.secret", "x")])
    for regex in (table._patterns[0].names[0].pattern, regex_of(f"{stars}*z")):
        steps = estimate_steps(read_tree(f"^(?:{regex})$"), len(name))
        assert steps <= 3 * len(regex) * (len(name) + 1)
    assert table.find_rule(f"/x{name}y", "read") is None


@pytest.mark.parametrize("count", [5, 30, 100])
def test_many_stars_are_compared_at_once(count):
    """Tried one after the other, the places of five stars in such a name take more than a minute."""
    table = ProtectedFiles([*BUILT_IN, Protected("*a" * count + "b", "x")])
    assert table.find_rule("/x/ab" + "a" * 200, "write") is None
    assert table.find_rule("/x/" + "a" * 200 + "ab", "write") is not None
    assert table.find_possible_rule("*?" * count + "/x", "read") is None


@pytest.mark.parametrize(("name", "is_protected"), [("a[b]c", True), ("a[b]", True), ("ab", False), ("abc", False)])
def test_a_bracket_in_a_pattern_is_a_letter(name, is_protected):
    table = ProtectedFiles([Protected("a[b]*", "x")])
    assert (table.find_rule(name, "read") is not None) is is_protected


def test_a_pattern_has_a_limit():
    with pytest.raises(ValueError, match="has more than 2,000 characters"):
        ProtectedFiles([Protected("*a" * 1001, "x")])
