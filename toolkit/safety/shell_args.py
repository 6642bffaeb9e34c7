"""
A command's words as options and operands, the way most programs read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .shell_records import SimpleCommand

__all__ = ["Args"]

# Options that take the next word, before a subcommand: without them `git -C x push` has the subcommand `x`.
_VALUES = {
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
}  # fmt: skip


@dataclass(frozen=True)
class Args:
    """
    Options and operands of one command.

    Attributes:
        command: The command they belong to.
    """

    command: SimpleCommand

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words but the name, quotes removed."""
        return self.command.plain[1:]

    @cached_property
    def options(self) -> frozenset[str]:
        """Every option there may be: `-fdx` is `-fdx`, `-f`, `-d` and `-x`; `--force=yes` is `--force`."""
        found: set[str] = set()
        for word in self.words:
            if word == "--":
                break
            if word.startswith("--"):
                found.add(word.partition("=")[0])
            elif word.startswith("-"):
                found.add(word.partition("=")[0])
                found.update(f"-{letter}" for letter in word[1:])
        return frozenset(found)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The words that are no options, and everything behind `--`."""
        words, at = self.words, 0
        found: list[str] = []
        takes = _VALUES.get(self.command.name, "").split()
        while at < len(words):
            if words[at] == "--":
                return (*found, *words[at + 1 :])
            if not words[at].startswith("-") or words[at] == "-":
                found.append(words[at])
            elif not found and words[at] in takes:
                at += 1
            at += 1
        return tuple(found)

    def begins(self, *subcommands: str) -> bool:
        """Whether the operands begin so; after an option nobody knows, whether they hold it anywhere."""
        size = len(subcommands)
        starts = range(len(self.operands) - size + 1) if self._is_unsure else (0,)
        return any(self.operands[at : at + size] == subcommands for at in starts)

    def value(self, *names: str) -> str | None:
        """What stands behind an option, in either spelling."""
        for at, word in enumerate(self.words):
            if word in names and at + 1 < len(self.words):
                return self.words[at + 1]
            for name in names:
                if word.startswith(f"{name}="):
                    return word[len(name) + 1 :]
                if len(name) == 2 and word.startswith(name) and not word.startswith("--") and len(word) > 2:
                    return word[2:]
        return None

    @cached_property
    def _is_unsure(self) -> bool:
        takes = _VALUES.get(self.command.name, "").split()
        before = []
        for word in self.words:
            if not word.startswith("-"):
                break
            before.append(word)
        return any(word not in takes and "=" not in word for word in before)
