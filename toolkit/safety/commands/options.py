"""Options and operands of a command, split as most programs split them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..._plumbing.forks import unlock_properties_in_children
from ..shell.records import SimpleCommand

__all__ = ["Args"]

# Options before a subcommand that take the next word. Without them, `git -C x push` has the subcommand `x`.
_OPTIONS_WITH_VALUE = {
    "git": "-C -c --git-dir --work-tree --namespace --exec-path --config-env",
    "kubectl": "-n --namespace --context --cluster --kubeconfig -s --server --user --as",
    "helm": "-n --namespace --kube-context --kubeconfig",
    "docker": "-H --host -c --context -l --log-level --config",
    "podman": "-c --connection --log-level --url",
    "docker-compose": "-f --file -p --project-name --profile --env-file",
    "aws": "--profile --region --output --endpoint-url --query",
    "gcloud": "--project --zone --region --account --configuration",
    "az": "--subscription -o --output",
    "npm": "--prefix -w --workspace --registry",
    "pnpm": "-C --dir --filter -F",
    "yarn": "--cwd",
    "gh": "-R --repo",
    "systemctl": "-H --host -M --machine",
    "redis-cli": "-h -p -s -a -n -u --user --pass",
    "pip": "--python --log --proxy",
    "terraform": "",
    "ssh": "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
    "scp": "-c -D -F -i -J -l -o -P -S -X",
    "sftp": "-B -b -c -D -F -i -J -l -o -P -R -S -s -X",
}  # fmt: skip
# Options that are the beginning of longer ones, but are not abbreviations of them.
_WHOLE = frozenset({
    "--checkpoint", "--index", "--exec", "--delete", "--output", "--file", "--config", "--system", "--global", "--edit",
    "--volume", "--device", "--install", "--prune", "--input", "--script", "--eval", "--filter", "--write", "--no",
    "--user", "--form", "--data", "--cookie", "--trace", "--rm", "--all", "--init", "--template", "--run",
})  # fmt: skip
# The same for one program: its manual lists an option that is the beginning of an option in one of its rows.
_NEVER_ABBREVIATED: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in {
        "age gpg gpg2": "--recipient --passphrase --export --import --sign",
        "ansible ansible-playbook": "--become --connection --vault-pass",
        "cargo": "--target",
        "certbot": "--apache --manual --nginx",
        "cp ln install rsync": "--backup --strip --partial --include",
        "curl": "--proxy --ssl --head --netrc --crlf --proto",
        "dnf zypper": "--repo",
        "docker podman nerdctl": "--label --ip --env --pod --volumes --pid --net --network --runtime --conmon --infra",
        "dpkg": "--status --remove --triggers",
        "du": "--exclude",
        "eslint": "--cache",
        "ex vi view vim": "--remote",
        "fzf tree": "--info",
        "gh": "--body --debug --notes --env --raw --app",
        "git": "--unset --head --header --cc --to --expire --sign --cruft --git",
        "hg": "--remote --clean --log --to",
        "journalctl": "--cursor",
        "kubectl oc": "--from --for --profile --client",
        "m4": "--debug",
        "maxima": "--batch --lisp",
        "mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin ncat": "--ssl",
        "nano": "--backup",
        "nmap": "--script-args --exclude",
        "node nodejs bun": "--cpu-prof --heap-prof --test --reporter --env --compile",
        "npm": "--ca",
        "parallel": "--transfer --compress --group --ssh --sshlogin",
        "pip pip3": "--pre",
        "tar gtar bsdtar": "--list",
        "tsc": "--declaration",
        "valgrind": "--xml --xtree-leak --xtree-memory",
        "wget": "--reject",
    }.items()
    for name in names.split()
}
# Short options whose value may be joined to them: the letters of `-oLogLevel=ERROR` are not options.
_LETTERS_WITH_VALUE = {
    "ssh": "BbcDEeFIiJLlmOopQRSWw",
    "scp": "cDFiJloPSX",
    "sftp": "BbcDFiJloPRSsX",
    "rsync": "BefMT",
    "mysql": "DehPpSu",
    "mariadb": "DehPpSu",
    "perl": "DEFIMemx",
    "ruby": "CEFIKTWerx",
}
_NO_OPTIONS: frozenset[str] = frozenset()
_MIN_ABBREVIATION_CHARS = 3
_MAX_CLUSTER_CHARS = 40
_MAX_SUBCOMMAND_WORDS = 3


@unlock_properties_in_children
@dataclass(frozen=True)
class Args:
    """
    The options and operands of one command.

    Attributes:
        command: The command that they belong to.
    """

    command: SimpleCommand

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words except the name, with quotes removed."""
        return self.command.plain[1:]

    @cached_property
    def options(self) -> frozenset[str]:
        """Every option that there may be: `-fdx` is `-fdx`, `-f`, `-d` and `-x`; `--force=yes` is `--force`."""
        options: set[str] = set()
        glued = _LETTERS_WITH_VALUE.get(self.command.name)
        for word in self.words:
            if word == "--":
                break
            if word.startswith("--"):
                options.add(word.partition("=")[0])
            elif word.startswith("-"):
                options.add(word.partition("=")[0])
                options.update(f"-{letter}" for letter in (_flags(word, glued) if glued else word[1:]))
        return frozenset(options)

    def has(self, *names: str) -> bool:
        """
        Return whether the command has one of the options *names*.

        The option may be written in full, or abbreviated as git and GNU programs permit.
        """
        if not self.options.isdisjoint(names):
            return True
        return any(_is_short_for(option, names) for option in self._long_options)

    @cached_property
    def _long_options(self) -> tuple[str, ...]:
        never_abbreviated = _NEVER_ABBREVIATED.get(self.command.name, _NO_OPTIONS)
        return tuple(
            option
            for option in self.options
            if option.startswith("--") and option not in _WHOLE and option not in never_abbreviated
        )

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The words that are not options, and every word behind `--`."""
        return self.operands_of(self.words)

    def operands_of(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the operands among *words*, for example among the words behind a subcommand."""
        at = 0
        operands: list[str] = []
        takes = _OPTIONS_WITH_VALUE.get(self.command.name, "").split()
        while at < len(words):
            if words[at] == "--":
                return (*operands, *words[at + 1 :])
            if not words[at].startswith("-") or words[at] == "-":
                operands.append(words[at])
            elif not operands and words[at] in takes:
                at += 1
            at += 1
        return tuple(operands)

    def begins_with(self, *subcommands: str) -> bool:
        """
        Return whether the operands begin with *subcommands*.

        If an unknown option stands before the operands, *subcommands* may stand anywhere among them.
        """
        return subcommands in self.subcommands

    @cached_property
    def subcommands(self) -> frozenset[tuple[str, ...]]:
        """Everything that the operands may begin with: `docker volume rm x` begins with one, two and three words."""
        starts = range(len(self.operands)) if self._is_unsure else (0,)
        return frozenset(self.operands[at : at + size] for at in starts for size in range(1, _MAX_SUBCOMMAND_WORDS + 1))

    def value(self, *names: str) -> str | None:
        """Return the first value of one of the options *names*, in any spelling, or None."""
        return next(iter(self.values(*names)), None)

    def values(self, *names: str) -> list[str]:
        """
        Return the words that may be values of the options *names*.

        All these spellings count: `-o x`, `-ox`, `-fsSo x`, `--out=x`, `--out x`.
        """
        if not names:
            return []
        return [
            value
            for option, value in self.option_values
            if option in names or (option in self._long_options and _is_short_for(option, names))
        ]

    @cached_property
    def option_values(self) -> tuple[tuple[str, str], ...]:
        """Every option with each text that may be its value: the rest of the word, or the next word."""
        pairs: list[tuple[str, str]] = []
        for at, word in enumerate(self.words):
            if not word.startswith("-") or word in ("-", "--"):
                continue
            following = self.words[at + 1] if at + 1 < len(self.words) else None
            option, equals, value = word.partition("=")
            if equals:
                pairs.append((option, value))
            elif following is not None:
                pairs.append((word, following))
            if word.startswith("--"):
                continue
            for index, letter in enumerate(word[1:_MAX_CLUSTER_CHARS], start=2):
                if rest := word[index:]:
                    pairs.append((f"-{letter}", rest))
                elif following is not None and len(word) > 2:
                    pairs.append((f"-{letter}", following))
                if not letter.isalnum():
                    break
        return tuple(pairs)

    @cached_property
    def _is_unsure(self) -> bool:
        takes = _OPTIONS_WITH_VALUE.get(self.command.name, "").split()
        before = []
        for word in self.words:
            if not word.startswith("-"):
                break
            before.append(word)
        return any(word not in takes and "=" not in word for word in before)


def _flags(word: str, glued: str) -> str:
    """Return the letters of a cluster, up to the first letter that takes the rest of the word as its value."""
    for at, letter in enumerate(word[1:], start=2):
        if letter in glued:
            return word[1:at]
    return word[1:]


def _is_short_for(option: str, names: Iterable[str]) -> bool:
    return len(option) >= _MIN_ABBREVIATION_CHARS and any(name.startswith(option) for name in names)
