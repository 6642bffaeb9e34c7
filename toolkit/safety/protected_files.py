"""
The table of protected files: secrets, and files that make other programs run code.

A pattern is one or more names joined by `/`. It matches whole names, at any depth. Upper and lower case and the Unicode
spelling make no difference. `*` and `?` match within one name. `/**` at the end stands for the folder and everything
beneath it. A leading `/` stands for the root of the disk.

This module does not look at the disk. So it does not notice a hard link to a protected file under another name.
"""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .name_globs import is_glob, may_overlap, regex_of

__all__ = ["BUILT_IN", "Level", "Protected", "ProtectedFiles", "fold_names"]

_MAX_CACHED_GLOBS = 1_000
_MAX_PATTERN_CHARS = 2_000
Level = Literal["neither read nor written", "not written"]


@dataclass(frozen=True, slots=True)
class Protected:
    """
    One pattern of files that tools may not touch.

    Attributes:
        pattern: The pattern for the files, as the module's docstring describes it.
        what: A description of the files for people, such as "a private key".
        level: Whether tools may at least read the files.
        but: Names that the pattern matches but does not protect, such as "*.pub".
    """

    pattern: str
    what: str
    level: Level = "neither read nor written"
    but: tuple[str, ...] = ()


class ProtectedFiles:
    """
    A table of patterns that can be matched against paths.

    Raises `ValueError` for a pattern that could not match the files it describes.
    """

    def __init__(self, table: Iterable[Protected]) -> None:
        self._patterns = [_compile_pattern(rule) for rule in table]
        self._wildcard_patterns = [shape for shape in self._patterns if shape.clue is not None]
        self._patterns_by_first_name: dict[str, list[_CompiledPattern]] = {}
        for shape in self._patterns:
            if shape.clue is None:
                self._patterns_by_first_name.setdefault(str(shape.names[0]), []).append(shape)
        # One search for these texts rules out most paths, so that their names are not matched against any pattern.
        self._clue_regex = _compile_search({shape.clue or "" for shape in self._wildcard_patterns})
        self._first_names = "\n".join(self._patterns_by_first_name)
        self._patterns_by_glob: dict[tuple[str, bool], list[_CompiledPattern]] = {}

    def find_rule(
        self, path: str, access: Literal["read", "write"], *, with_content: bool | None = None
    ) -> Protected | None:
        """
        Return the rule that protects *path* from being read or written, or None if no rule does.

        *with_content* tells whether a folder is accessed with all its content. The default is True for a write and
        False for a read.

        If it is True, a folder that is part of a pattern is protected too, because replacing `.git` also replaces
        `.git/hooks`. The path is matched as it is written. Links are not followed.
        """
        names = fold_names(path)
        is_write, is_absolute = access == "write", _ABSOLUTE.match(path) is not None
        with_content = is_write if with_content is None else with_content
        if not names and is_write and with_content and is_absolute:
            # The root of the disk holds every file that is protected by its whole path.
            return next((shape.rule for shape in self._patterns if shape.is_anchored), None)
        text = "/".join(names)
        has_clue = self._clue_regex.search(text) is not None
        if not has_clue and ":" not in text and self._patterns_by_first_name.keys().isdisjoint(names):
            return None  # The path of almost every file ends here.
        for start, name in enumerate(names):
            shapes = [shape for reading in _spellings(name) for shape in self._patterns_by_first_name.get(reading, ())]
            if has_clue and self._clue_regex.search(name):
                shapes += [shape for shape in self._wildcard_patterns if (shape.clue or "") in name]
            for shape in shapes:
                if shape.is_anchored and (start or not is_absolute):
                    continue
                if shape.matches(names, start, is_write=is_write, with_content=with_content):
                    return shape.rule
        return None

    def find_possible_rule(
        self, glob: str, access: Literal["read", "write"], *, dots: bool = False
    ) -> Protected | None:
        """
        Return a rule that protects a file which *glob* may stand for, or None if no rule does.

        Args:
            glob: A path with `*`, `?` or `[...]` in any of its names.
            dots: Whether `*` may stand for a leading dot.
        """
        names = fold_names(glob)
        is_write, is_absolute = access == "write", _ABSOLUTE.match(glob) is not None
        for start, name in enumerate(names):
            for shape in self._patterns_for_glob(name, dots=dots):
                if shape.is_anchored and (start or not is_absolute):
                    continue
                if shape.may_match(names, start, is_write=is_write, dots=dots):
                    return shape.rule
        return None

    def _patterns_for_glob(self, name: str, *, dots: bool) -> list[_CompiledPattern]:
        """Return every pattern whose first name *name* may stand for, if *name* also says something about it."""
        if (name, dots) in self._patterns_by_glob:
            return self._patterns_by_glob[name, dots]
        if not is_glob(name):
            shapes = [
                *self._patterns_by_first_name.get(name, ()),
                *(shape for shape in self._wildcard_patterns if _name_matches(name, shape.names[0])),
            ]
        else:
            # One search covers all first names, because most globs match none of them.
            texts = re.findall(f"(?m)^{regex_of(name)}$", self._first_names)
            shapes = [
                shape
                for shape in (
                    *(shape for text in texts for shape in self._patterns_by_first_name[text]),
                    *self._wildcard_patterns,
                )
                # With dots, `*` stands for every secret in the folder, even though it says nothing about their names.
                if may_overlap(name, shape.first, dots=dots, must_be_specific=not (dots and name.strip("*?") == ""))
            ]
        if len(self._patterns_by_glob) < _MAX_CACHED_GLOBS:
            self._patterns_by_glob[name, dots] = shapes
        return shapes


def fold_names(path: str) -> tuple[str, ...]:
    """
    Return the names in *path*, folded so that two spellings of one file are equal on any file system.

    Case, compatibility letters, invisible characters, `\\` instead of `/`, and the dots and blanks that Windows drops
    at the end of a name make no difference.
    """
    # Only a `..` that every system understands removes a name. A name that folding turns into `..` does not.
    text = posixpath.normpath(path) if ".." in path else path
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", text)
        text = "".join(
            character for character in text if unicodedata.category(character) != "Cf" and character not in _SELECTORS
        )
        # Convert to capitals and back: some letters, such as the dotless i, are equal to others only in capitals.
        text = unicodedata.normalize("NFKC", text.upper().casefold())
    names = text.replace("\\", "/").split("/")
    return tuple([name.rstrip(". ") or name for name in names if name not in {"", ".", ".."}])


_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
_SELECTORS = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x34F]))


def _spellings(name: str) -> tuple[str, ...]:
    """Return a name and the name that NTFS reads it as: `.env::$DATA` is `.env`."""
    if ":" not in name:
        return (name,)
    return (name, name.partition(":")[0].rstrip(". "))


class _CompiledPattern:
    """
    A pattern in parts: plain names as text, and names with stars as regular expressions.

    If the first name has stars, `clue` is the longest text between them.
    """

    __slots__ = ("but", "clue", "first", "is_anchored", "is_tree", "names", "rule", "texts")

    def __init__(self, rule: Protected) -> None:
        if len(rule.pattern) > _MAX_PATTERN_CHARS:
            raise ValueError(f"the pattern {rule.pattern[:40]!r} has more than {_MAX_PATTERN_CHARS:,} characters")
        text = rule.pattern.replace("\\", "/")
        self.is_tree = text.endswith(("/**", "/"))
        text = text.removesuffix("**").rstrip("/") if self.is_tree else text
        self.is_anchored = _ABSOLUTE.match(text) is not None
        text = text.removeprefix("**/")
        names = fold_names(text)
        if all(re.fullmatch(r"[*?]*\*[*?]*", name) for name in names):
            raise ValueError(f"the pattern {rule.pattern!r} protects everything or nothing; name a file or a folder")
        if text.startswith("~/"):
            raise ValueError(
                f"the pattern {rule.pattern!r} begins with `~`, which is not expanded; write the whole path"
            )
        if "**" in text or ".." in text.split("/"):
            raise ValueError(f"the pattern {rule.pattern!r} cannot be matched; `**` stands at an end, and `..` nowhere")
        self.rule = rule
        self.names = tuple(map(_compile_name, names))
        self.first, self.texts = names[0], names
        texts = re.split(r"[*?]", names[0])
        self.clue = max(texts, key=len) if len(texts) > 1 else None
        self.but = tuple(_compile_name("/".join(fold_names(exception))) for exception in rule.but)

    def matches(self, names: tuple[str, ...], start: int, *, is_write: bool, with_content: bool) -> bool:
        if not is_write and self.rule.level == "not written":
            return False
        end = start + len(self.names)
        if not all(map(_name_matches, names[start:end], self.names)):
            return False
        if end > len(names):
            return with_content  # the path is a folder that holds the protected file
        if end < len(names):
            return self.is_tree
        return not all(any(_name_matches(reading, but) for but in self.but) for reading in _spellings(names[-1]))

    def may_match(self, names: tuple[str, ...], start: int, *, is_write: bool, dots: bool) -> bool:
        """Check whether names that are globs may match the pattern. The caller has already compared the first name."""
        if not is_write and self.rule.level == "not written":
            return False
        end = start + len(self.texts)
        if not all(
            may_overlap(name, text, dots=dots)
            for name, text in zip(names[start + 1 : end], self.texts[1:], strict=False)
        ):
            return False
        if end > len(names):
            return is_write
        return self.is_tree if end < len(names) else not any(_name_matches(names[-1], but) for but in self.but)


def _compile_search(texts: set[str]) -> re.Pattern[str]:
    """
    Return an expression that finds any of *texts*.

    Texts that begin with the same letter stand together. So the search compares each letter of a path with eight first
    letters instead of fifty texts, which takes less than half the time.
    """
    groups = itertools.groupby(sorted(texts), key=lambda text: text[:1])
    return re.compile(
        "|".join(
            f"{re.escape(letter)}(?:{'|'.join(re.escape(text[1:]) for text in group)})" for letter, group in groups
        )
    )


_compile_pattern = lru_cache(maxsize=1024)(_CompiledPattern)


def _compile_name(name: str) -> str | re.Pattern[str]:
    if "*" not in name and "?" not in name:
        return name
    # `fnmatch` writes atomic groups, so no number of stars makes a search slow. `[` has no special meaning here.
    return re.compile(fnmatch.translate(name.replace("[", "[[]")))


def _name_matches(name: str, pattern: str | re.Pattern[str]) -> bool:
    readings = _spellings(name)
    if isinstance(pattern, str):
        return pattern in readings
    return any(map(pattern.fullmatch, readings))


def _build_rules(level: Level, table: dict[str, str], exceptions: dict[str, str]) -> Iterator[Protected]:
    for description, patterns in table.items():
        for pattern in patterns.split():
            yield Protected(pattern, description, level, tuple(exceptions.get(description, "").split()))


# Patterns are separated by blanks. A blank inside a name is written as `?`.
_SECRETS = {
    "an environment file with secrets": ".env .env.* .env~ .env-* .env_* ?*.env .envrc",
    "a private key": """
        *.pem *.key *.ppk *.p8 *.p12 *.pfx *.jks *.keystore
        id_rsa id_rsa.* id_dsa id_dsa.* id_ecdsa id_ecdsa.* id_ecdsa_sk id_ecdsa_sk.*
        id_ed25519 id_ed25519.* id_ed25519_sk id_ed25519_sk.* id_xmss id_xmss.*
        ssh_host_*_key""",
    "keys and settings of SSH": ".ssh/**",
    "keys of GnuPG": ".gnupg/** secring.gpg",
    "credentials for a cloud": """
        .aws/credentials .aws/config .aws/sso/** .aws/cli/cache/** .azure/** .config/gcloud/** .oci/** .boto .s3cfg
        application_default_credentials.json service-account*.json service_account*.json client_secret*.json
        .config/rclone/** .rclone.conf .config/doctl/** .config/hcloud/** .config/netlify/** .config/stripe/**
        .config/ngrok/** .config/.wrangler/** .local/share/com.vercel.cli/** .fly/config.yml .railway/config.json
        .snowflake/** .dbt/profiles.yml .passwd-s3fs .terraform.d/credentials.tfrc.json .terraformrc *.tfstate
        *.tfstate.* *.tfvars *.tfvars.json .kube/config kubeconfig kubeconfig.* *.kubeconfig .databrickscfg
        .vault-token""",
    "credentials for packages": """
        .npmrc .pypirc .gem/credentials .cargo/credentials .cargo/credentials.toml .m2/settings.xml
        .m2/settings-security.xml .gradle/gradle.properties .composer/auth.json .config/composer/auth.json
        .config/pypoetry/auth.toml .docker/config.json .dockercfg .config/containers/auth.json""",
    "logins": """
        .netrc _netrc .pgpass pgpass.conf .my.cnf .mylogin.cnf .git-credentials .config/git/credentials
        .config/gh/hosts.yml .config/hub .config/github-copilot/** .config/op/** .claude/.credentials.json
        .codex/auth.json .gemini/oauth_creds.json .kaggle/kaggle.json .cache/huggingface/token .huggingface/token
        .circleci/cli.yml .smbcredentials .vnc/passwd *.keytab .htpasswd /etc/wpa_supplicant/**
        /etc/NetworkManager/system-connections/** /etc/ssl/private/**""",
    "a store of passwords": """
        *.kdbx *.kdb .password-store/** *.agilekeychain/** *.opvault/** *.keychain *.keychain-db Keychains/**
        keyrings/** Login?Data key4.db logins.json cookies.sqlite .mozilla/** .thunderbird/** .config/google-chrome/**
        .config/chromium/** .config/BraveSoftware/** Application?Support/Google/Chrome/** .config/sops/age/**
        wallet.dat .config/solana/id.json""",
    "a file of secrets": """
        secrets.toml secrets.yaml secrets.yml secrets.json credentials.json /run/secrets/**
        /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /proc/*/environ
        /proc/*/mem /proc/kcore /dev/mem""",
    "a history of commands, secrets among them": """
        .*_history .zhistory .histfile fish_history ConsoleHost_history.txt""",
    "toolkit's approvals, which hold the true arguments of calls": "*.approvals.sqlite *.approvals.sqlite-*",
}
_RUN_CODE = {
    "a file that makes git run code": """
        .git/config .git/config.worktree .git/commondir .git/hooks/** .git/info/attributes .git/modules/**
        .git/worktrees/** .git/rebase-merge/git-rebase-todo .git/sequencer/todo .gitconfig
        .config/git/config .config/git/attributes .config/git/hooks/**
        .githooks/** .husky/** .pre-commit-config.yaml .pre-commit-config.yml .hg/hgrc .hgrc .jj/repo/config.toml
        lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml .lefthook.toml
        .lefthook.json lefthook-local.yml lefthook-local.yaml lefthook-local.toml lefthook-local.json
        .lefthook-local.yml .lefthook-local.yaml""",
    "a repository without a working folder, whose settings make git run code": """
        ?*.git/config ?*.git/config.worktree ?*.git/commondir ?*.git/hooks/** ?*.git/info/attributes
        ?*.git/modules/** ?*.git/worktrees/**""",
    "a start-up file of a shell": """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin
        .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc .config/fish/** .config/zsh/** .config/nushell/**
        .config/environment.d/** .pam_environment .xprofile .xinitrc .xsession .xsessionrc .oh-my-zsh/**
        profile.ps1 *_profile.ps1 /etc/profile /etc/profile.d/** /etc/bash.bashrc /etc/zsh/** /etc/environment""",
    "a start-up file of a program": """
        sitecustomize.py usercustomize.py *.pth .pythonrc .pythonrc.py .pythonstartup .pdbrc .gdbinit .lldbinit
        .ipython/** .jupyter/** .irbrc .pryrc .Rprofile .curlrc .wgetrc .tmux.conf .screenrc .cargo/config
        .cargo/config.toml pip.conf .psqlrc .sqliterc .ripgreprc .bundle/config .gradle/init.gradle .gradle/init.d/**
        .yarnrc .yarnrc.yml .yarn/releases/** .yarn/plugins/** .pnpmfile.cjs
        mise.toml .mise.toml mise.*.toml .mise.*.toml mise/config.toml mise/config.*.toml mise/conf.d/**
        .mise/config.toml .mise/config.*.toml .rtx.toml
        /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/**""",
    "a workflow of a build server": """
        .github/workflows/** .github/actions/** .gitea/workflows/** .forgejo/workflows/** .gitlab-ci.yml
        .gitlab-ci.yaml .gitlab/ci/** .circleci/** Jenkinsfile azure-pipelines.yml azure-pipelines.yaml
        .azure-pipelines/** .travis.yml .drone.yml .woodpecker.yml .woodpecker/** .buildkite/** .teamcity/**
        .semaphore/** .tekton/** .ci/** bitbucket-pipelines.yml appveyor.yml .appveyor.yml .cirrus.yml
        cloudbuild.yaml cloudbuild.yml buildspec.yml buildspec.yaml codemagic.yaml""",
    "a file that makes an editor run code": """
        .vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/extensions.json .vscode/mcp.json
        *.code-workspace .config/Code/User/** .idea/** .fleet/** .zed/** *.sublime-project .devcontainer/**
        .devcontainer.json .vimrc .gvimrc .exrc .nvimrc .nvim.lua .lvimrc _vimrc .vim/** .config/nvim/** .emacs
        .emacs.d/** .dir-locals.el .dir-locals-2.el""",
    "settings, hooks or servers of an agent": """
        .mcp.json .claude.json .claude/settings.json .claude/settings.local.json .claude/hooks/** .claude/commands/**
        .claude/agents/** .claude/skills/** .claude/plugins/** .claude/output-styles/** .codex/** .gemini/** .qwen/**
        .cursor/mcp.json .cursor/hooks.json .cursor/hooks/** .cursor/rules/** .cursor/commands/** .cursor/agents/**
        .cursor/skills/** .cursor/environment.json .cursorrules .windsurf/** .windsurfrules .codeium/**
        .aider.conf.yml .aider.model.settings.yml .continue/** .continuerc.json .roo/** .roomodes .roorules .cline/**
        .clinerules/** .kilocode/** .kilocodemodes .kiro/** .amazonq/** .aws/amazonq/** .trae/** .junie/** .augment/**
        .factory/** .agents/** .openhands/** .opencode/** opencode.json opencode.jsonc .config/opencode/**
        .goose/** .goosehints .config/goose/** crush.json .crush.json .config/crush/** .github/agents/**
        .github/prompts/** .github/hooks/** .github/instructions/** .github/copilot-instructions.md""",
    "what runs at a set time or at the start": """
        crontab crontabs/** /etc/crontab /etc/cron.d/** /etc/cron.hourly/** /etc/cron.daily/** /etc/cron.weekly/**
        /etc/cron.monthly/** /var/spool/cron/** /var/spool/at/** systemd/user/** systemd/system/** /etc/init.d/**
        /etc/rc.local LaunchAgents/** LaunchDaemons/** .config/autostart/** Programs/Startup/**""",
    "who may log in, and as whom": """
        authorized_keys authorized_keys2 .rhosts .shosts /etc/passwd /etc/group /etc/sudoers /etc/sudoers.d/**
        /etc/pam.d/** /etc/ssh/** /etc/hosts /etc/hosts.allow""",
    "toolkit's own rules, hooks, skills, servers or audit log": """
        .toolkit/** .config/toolkit/** *.audit.jsonl *.audit.jsonl.*""",
}
_EXCEPTIONS = {
    "an environment file with secrets": """
        .env.example .env.sample .env.template .env.dist .env-example .env-sample .env-template
        .env_example .env_sample .env_template example.env sample.env template.env""",
    "a private key": "*.pub",
    "credentials for a cloud": "example.tfvars sample.tfvars example.tfvars.json kubeconfig.md kubeconfig.example",
}

BUILT_IN: tuple[Protected, ...] = (
    *_build_rules("neither read nor written", _SECRETS, _EXCEPTIONS),
    *_build_rules("not written", _RUN_CODE, _EXCEPTIONS),
)
