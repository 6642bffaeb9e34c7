"""
What is dangerous about a single command, as data.

A row names a program, how its operands begin, and one option or word that makes
it dangerous; every condition a row states has to hold. What takes more than a
row (which folder is removed, which file is written) is a small function below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from ..verdicts import Word
from .shell_args import Args
from .shell_targets import Danger, is_secret, removal, writing

__all__ = ["ROWS", "Row", "dangers"]


class Row(NamedTuple):
    """
    One kind of danger.

    Attributes:
        names: The programs it is about.
        why: What the command does, as the end of a sentence.
        begins: What the operands begin with: the subcommand.
        options: Any of these has to be there.
        word: A pattern that one whole word has to match.
        verdict: "ask" or "deny".
    """

    names: str
    why: str
    begins: str = ""
    options: str = ""
    word: str = ""
    verdict: Word = "ask"


_GIT_LOSES = "throws away work that is not committed"
_GIT_REWRITES = "rewrites or deletes what others may have"
_SQL = r"(?is).*\b(drop\s+(database|table|schema|user|role|index|view)|truncate\s+\w|delete\s+from\s+[\w.\"`]+\s*(;|$)|alter\s+user|grant\s+all).*"
_PUBLISHES = "publishes to everybody"
_CLOUD = "deletes or changes what runs in a cloud"
_PLUMBING = "changes disks or file systems"

ROWS: tuple[Row, ...] = (
    # privilege
    Row("sudo doas su pkexec runuser", "runs with somebody else's rights"),
    Row("visudo vipw vigr passwd chpasswd chsh chfn useradd adduser userdel deluser usermod groupadd groupdel groupmod gpasswd", "changes users or passwords"),
    Row("chroot unshare nsenter setpriv capsh setcap", "leaves the surroundings that it was given"),
    # disks, devices, power
    Row("mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs mke2fs newfs", "makes a new file system over an old one", verdict="deny"),
    Row("wipefs blkdiscard sgdisk", "wipes a disk", verdict="deny"),
    Row("fdisk cfdisk sfdisk gdisk parted mkswap swapoff hdparm cryptsetup lvremove vgremove pvremove lvreduce mdadm zpool zfs losetup diskutil resize2fs tune2fs nvme", _PLUMBING),
    Row("shred srm wipe scrub", "destroys a file for good"),
    Row("shutdown reboot halt poweroff telinit kexec pm-suspend", "stops the machine", verdict="deny"),
    Row("init", "stops the machine", word="[0-6]", verdict="deny"),
    Row("systemctl loginctl", "stops the machine", word="reboot|poweroff|halt|kexec|suspend|hibernate|emergency|rescue", verdict="deny"),
    # kernel, services, network
    Row("systemctl", "changes what runs on this machine", word="stop|disable|mask|kill|restart|start|enable|unmask|isolate|edit|link|daemon-reload|set-default|revert"),
    Row("service", "changes what runs on this machine", word="stop|start|restart|reload"),
    Row("launchctl rc-service rc-update update-rc.d chkconfig", "changes what runs on this machine"),
    Row("sysctl", "changes the running kernel", options="-w --write -p --load --system"),
    Row("sysctl", "changes the running kernel", word=r"[\w.]+=.*"),
    Row("insmod rmmod modprobe kmod depmod setenforce auditctl dmsetup", "changes the running kernel"),
    Row("mount umount swapon", "changes what is mounted", word=".+"),
    Row("iptables ip6tables nft ufw firewall-cmd ipset tc pfctl", "changes the firewall"),
    Row("crontab", "changes what runs by the clock", options="-r -e"),
    Row("crontab", "changes what runs by the clock", word="(?!-).*|-"),
    Row("at batch", "runs something later, when nobody watches"),
    Row("chattr setfacl restorecon chcon ldconfig", "changes who may do what"),
    Row("apt apt-get dnf yum zypper pacman apk brew snap dpkg rpm", "removes software", word="remove|purge|autoremove|uninstall|erase|del|-R[a-z]*|-e|-r|-P"),
    # processes
    Row("killall pkill", "kills processes by name, and whichever else has it"),
    Row("kill", "kills every process, or the first one", word="-1|0|1", verdict="ask"),
    # git
    Row("git", _GIT_REWRITES, "push", "-f --force --force-with-lease --force-if-includes --mirror --delete -d --prune"),
    Row("git", _GIT_REWRITES, "push", word=r"\+.+|:.+"),
    Row("git", _GIT_LOSES, "reset", "--hard --merge --keep"),
    Row("git", _GIT_LOSES, "clean", "-f --force"),
    Row("git", _GIT_LOSES, "checkout", "-f --force"),
    Row("git", _GIT_LOSES, "checkout", word=r"\.|\./|\*|:/|--"),
    Row("git", _GIT_LOSES, "switch", "-f --force --discard-changes"),
    Row("git", _GIT_LOSES, "restore", word=r"\.|\./|\*|:/"),
    Row("git", _GIT_LOSES, "stash", word="clear|drop"),
    Row("git", _GIT_LOSES, "worktree remove", "-f --force"),
    Row("git", _GIT_REWRITES, "branch", "-D"),
    Row("git", _GIT_REWRITES, "branch", "-f --force -M"),
    Row("git", _GIT_REWRITES, "tag", "-d --delete -f --force"),
    Row("git", _GIT_REWRITES, "reflog", word="expire|delete"),
    Row("git", _GIT_REWRITES, "gc", "--prune --aggressive"),
    Row("git", _GIT_REWRITES, "prune"),
    Row("git", _GIT_REWRITES, "update-ref"),
    Row("git", _GIT_REWRITES, "symbolic-ref", word=".+"),
    Row("git", _GIT_REWRITES, "filter-branch"),
    Row("git", _GIT_REWRITES, "filter-repo"),
    Row("git", _GIT_REWRITES, "replace"),
    Row("bfg git-filter-repo", _GIT_REWRITES),
    Row("git", "skips the checks of the repository", options="--no-verify"),
    Row("git", "changes what git runs or where it pushes to", word=r"(?i)((core\.(hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy)|alias\..+|credential\..*|diff\..*|merge\..*\.driver|filter\..*|gpg\..*|sequence\.editor|url\..*|include.*\.path|protocol\..*|uploadpack\..*|remote\..*)(=.*)?)"),
    Row("git", "changes what git runs or where it pushes to", "config", "--global --system --unset-all --remove-section -e --edit --replace-all"),
    Row("git", "changes where git pushes to", "remote", word="set-url|remove|rm|add|rename"),
    Row("git", "runs a program of the command's choice", options="--upload-pack --receive-pack --exec --extcmd -x -O --open-files-in-pager"),
    Row("git", "runs a program of the command's choice", word="ext::.*"),
    # permissions
    Row("chmod", "lets everybody change files", options="-R --recursive", word=r"0?[0-7]{0,2}[2367]|[augo]*o[augo]*[+=][rwxX]*w.*|a?[+=][rwxX]*w[rwxX]*|0?000|0"),
    Row("chmod", "lets everybody change files", word=r"0?777|a[+=]rwx|\+rwx|ugo[+=]rwx|o[+=]r?w.*"),
    Row("chmod", "makes a program run with its owner's rights", word=r"[ugoa]*[+=][rwxX]*s.*|0?[2-7][0-7]{3}"),
    # databases
    Row("psql mysql mariadb sqlite3 sqlcmd sqlplus clickhouse-client duckdb cockroach bq mysqladmin snowsql", "destroys data", word=_SQL),
    Row("dropdb dropuser pg_dropcluster", "destroys data"),
    Row("mysqladmin", "destroys data", word="drop|shutdown"),
    Row("redis-cli", "destroys data", word="(?i)(flushall|flushdb|shutdown|config|eval)"),
    Row("mongo mongosh", "destroys data", word=r"(?is).*(dropDatabase|\.drop\(|deleteMany|remove\().*"),
    # containers
    Row("docker podman nerdctl", "reaches out of its container", options="--privileged --cap-add --device --security-opt"),
    Row("docker podman nerdctl", "reaches out of its container", word=r"--(pid|net|network|ipc|uts|userns)=host|.*docker\.sock.*|(-v|--volume=)?/:.*|(-v|--volume=)?(/etc|/root|/home|/var|/usr|/proc|/sys|/dev|~|\$HOME)/?:.*|.*(source|src)=/,.*"),
    Row("docker podman nerdctl", "removes containers, images or data", word="prune|rm|rmi|kill"),
    Row("docker docker-compose podman", "removes data", "compose down", "-v --volumes --rmi"),
    Row("docker-compose", "removes data", "down", "-v --volumes --rmi"),
    Row("docker podman", _PUBLISHES, "push"),
    # clouds
    Row("terraform tofu terragrunt pulumi", _CLOUD, word="destroy|apply|up|import|taint|force-unlock|state|-auto-approve|--yes"),
    Row("kubectl oc", _CLOUD, word="delete|drain|cordon|replace|patch|scale|edit|taint"),
    Row("helm", _CLOUD, word="uninstall|delete|rollback"),
    Row("aws", _CLOUD, word=r"(rm|rb|mv|sync|delete-.*|terminate-.*|stop-.*|create-.*|put-.*|attach-.*|detach-.*|update-.*|modify-.*|deregister-.*|revoke-.*|authorize-.*|run-instances|invoke|get-secret-value|get-login-password|export-credentials)"),
    Row("gcloud gsutil az doctl flyctl fly heroku vercel netlify firebase eksctl linode-cli hcloud ibmcloud oci", _CLOUD, word=r"(.*:)?(delete|destroy|rm|rb|remove|purge|deploy|add-iam-policy-binding|set-iam-policy|print-access-token|reset|stop)"),
    # publishing
    Row("npm yarn pnpm", _PUBLISHES, word="publish|unpublish|deprecate|owner|adduser|login|token"),
    Row("twine flit poetry uv hatch pdm maturin", _PUBLISHES, word="upload|publish"),
    Row("cargo", _PUBLISHES, word="publish|yank|login|owner"),
    Row("gem", _PUBLISHES, word="push|yank"),
    Row("mvn gradle gradlew", _PUBLISHES, word="deploy|publish|release:perform|uploadArchives"),
    Row("dotnet nuget", _PUBLISHES, word="push"),
    Row("gh glab hub", _PUBLISHES, word="delete|archive|transfer|merge|release|secret|ssh-key|gpg-key|api|token|rename"),
    # packages from somewhere
    Row("pip pip3 pipx uv python python3 conda poetry", "installs what anybody may have put there", word=r"(?i)(git|hg|svn|bzr)?\+?(https?|ftp|git|file)://.*|git\+.*|(-i|--(extra-)?index-url|--find-links|--trusted-host)(=.*)?"),
    Row("npm pnpm yarn bun npx", "installs what anybody may have put there", word=r"(?i)(git\+)?(https?|ssh|git)://.*|--registry(=.*)?"),
    Row("gem cargo go apt apt-get dnf yum rpm dpkg brew code", "installs what anybody may have put there", word=r"(?i)(-i)?(https?|ftp|git)://.*"),
    # the shell itself
    Row("alias", "gives a command another meaning", word=".+=.*"),
    Row("enable", "loads code into the shell", options="-f"),
    Row("hash", "gives a command another meaning", options="-p"),
    Row("history fc", "changes the history, or runs it again", options="-c -d -w -a -e -s"),
    Row("bind complete", "runs a command behind a key", options="-x -C -F"),
    Row("shopt set", "makes the shell follow other rules", word="expand_aliases|extglob|.*history.*"),
    Row("ulimit", "lifts a limit", word="unlimited"),
    # remote ends, and programs that run others in ways of their own
    Row("nc ncat netcat", "gives a shell to another machine", options="-e --exec -c --sh-exec", verdict="deny"),
    Row("nc ncat netcat", "listens for another machine", options="-l --listen"),
    Row("socat", "gives a shell to another machine", word=r"(?i).*(exec|system):.*", verdict="deny"),
    Row("socat telnet rsh rlogin ngrok cloudflared chisel", "opens a connection to another machine"),
    Row("ssh scp sftp rsync", "runs a program of the command's choice", word=r"(?i)(-o)?(proxycommand|localcommand|permitlocalcommand|knownhostscommand)[= ].*|--rsync-path.*|-[a-z]*e|--rsh.*|-S"),
    Row("ssh", "opens a tunnel to another machine", options="-R -L -D -w"),
    Row("tar gtar bsdtar", "runs a program of the command's choice", word=r"--(checkpoint-action|to-command|use-compress-program|rsh-command|info-script|new-volume-script).*|-I.*|-F.+"),
    Row("vim vi nvim ex ed emacs less more man view", "runs a program of the command's choice", word=r"(?s)(\+|-c)?:?.*!.*|--eval.*|-P.*|--pager.*"),
    Row("zip", "runs a program of the command's choice", options="-TT --unzip-command"),
    Row("split sort", "runs a program of the command's choice", word="--(filter|compress-program).*"),
    Row("sed gsed", "runs a program of the command's choice", word=r"(?s)(.*;\s*)?(\d+|\$|/[^/]*/)?\s*e(\s.*)?|s(.).*\3.*\3.*\3[gip0-9]*e[gip]*"),
    Row("gdb lldb expect osascript nmap tclsh jjs jrunscript", "runs a program of the command's choice", word=r"(?s).*(shell|!|system|spawn|exec|script|call).*"),
    Row("make gmake", "runs a program of the command's choice", word=r"(SHELL|MAKEFLAGS)=.*|--eval.*"),
)  # fmt: skip


def dangers(args: Args) -> Iterator[Danger]:
    """Everything that is dangerous about a command by itself."""
    name = args.command.name
    for row in _by_name().get(name, ()):
        if _holds(row, args):
            yield Danger(row.verdict, row.why)
    if name in _FUNCTIONS:
        yield from filter(None, _FUNCTIONS[name](args))
    for redirection in args.command.redirections:
        if redirection.writes and (found := writing(redirection.target)):
            yield found
    if name not in _ONLY_NAMES_FILES and any(map(is_secret, _files(args))):
        yield Danger("ask", "reads or changes a file with keys or passwords")


@cache
def _by_name() -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in ROWS:
        for name in row.names.split():
            rows.setdefault(name, []).append(row)
    return rows


def _holds(row: Row, args: Args) -> bool:
    if row.begins and not args.begins(*row.begins.split()):
        return False
    if row.options and args.options.isdisjoint(row.options.split()):
        return False
    return not row.word or any(re.fullmatch(row.word, word) for word in args.words)


def _removes(args: Args) -> Iterator[Danger | None]:
    """`rm` and its kin."""
    recursive = not args.options.isdisjoint(("-r", "-R", "--recursive", "-rf", "--no-preserve-root"))
    if "--no-preserve-root" in args.options:
        yield Danger("deny", "removes the whole file system")
    for target in args.operands:
        yield removal(target, recursive=recursive)
    if recursive and "xargs" in args.command.via:
        yield Danger("ask", "removes what nobody knows: the names come from another command")
    feeding = [*args.command.fed_by, *(each for each in [args.command.outer] if each)]
    for each in feeding:
        if each.name == "find" and "{}" in args.operands + ("{}",) * ("xargs" in args.command.via):
            yield from _found_files(Args(each), recursive=recursive)


def _finds(args: Args) -> Iterator[Danger | None]:
    if "-delete" in args.words:
        yield from _found_files(args, recursive=True)
    if not args.options.isdisjoint(("-fprint", "-fprintf", "-fls", "-fprint0")):
        yield Danger("ask", "writes files of the command's choice")


def _found_files(args: Args, *, recursive: bool) -> Iterator[Danger | None]:
    """What `find` would give to a command that removes it."""
    roots = []
    for word in args.words:
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word)
    names = [args.words[at + 1] for at, word in enumerate(args.words[:-1]) if word in _FIND_FILTERS]
    narrow = any(name.strip("*./") for name in names)
    for root in roots or ["."]:
        found = removal(root)
        # `find . -name '*.pyc'` is narrow enough; `find / -name '*.log'` is not.
        if found is not None and (not narrow or root.rstrip("/") not in (".", "")  or root == "/"):
            yield Danger("ask", f"{found.why}, or files in it" if recursive else "removes files in many folders")


_FIND_FILTERS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"})


def _moves(args: Args) -> Iterator[Danger | None]:
    *sources, target = args.operands or ("",)
    if target == "/dev/null":
        yield Danger("deny", "moves files to where nothing comes back from")
    for source in sources:
        yield removal(source)
    yield writing(target)


def _copies(args: Args) -> Iterator[Danger | None]:
    target = args.value("-t", "--target-directory") or (args.operands[-1] if args.operands else "")
    yield writing(target)


def _mirrors(args: Args) -> Iterator[Danger | None]:
    yield from _copies(args)
    if any(option.startswith("--delete") for option in args.options) and args.operands:
        yield removal(args.operands[-1])
    if "--remove-source-files" in args.options:
        yield from map(removal, args.operands[:-1])


def _writes(args: Args) -> Iterator[Danger | None]:
    yield from map(writing, args.operands)


def _empties(args: Args) -> Iterator[Danger | None]:
    for target in args.operands:
        yield writing(target) or removal(target, recursive=False)


def _edits_in_place(args: Args) -> Iterator[Danger | None]:
    if any(option.startswith(("-i", "--in-place")) for option in args.options):
        yield from map(writing, args.operands)


def _dumps(args: Args) -> Iterator[Danger | None]:
    for word in args.words:
        if word.startswith("of="):
            yield writing(word[3:])


def _downloads(args: Args) -> Iterator[Danger | None]:
    for target in (args.value("-o", "--output"), args.value("-O", "--output-document"), args.value("-P", "--output-dir")):
        yield writing(target) if target else None


def _owns(args: Args) -> Iterator[Danger | None]:
    """`chmod`, `chown` and `chgrp` of what is not the project's."""
    recursive = not args.options.isdisjoint(("-R", "--recursive"))
    for target in args.operands[1:]:
        found = writing(target) or (removal(target) if recursive or target == "/" else None)
        if found is not None and not target.startswith((".", "*")):
            yield Danger("ask", "changes who may read and change what matters")


_FUNCTIONS: dict[str, Callable[[Args], Iterator[Danger | None]]] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "trash", "del"), _removes),
    "find": _finds,
    "mv": _moves,
    **dict.fromkeys(("cp", "install", "ln", "scp"), _copies),
    "rsync": _mirrors,
    **dict.fromkeys(("tee", "touch", "sponge", "mkfifo", "mknod"), _writes),
    "truncate": _empties,
    **dict.fromkeys(("sed", "gsed", "perl", "ruby", "awk", "gawk"), _edits_in_place),
    "dd": _dumps,
    **dict.fromkeys(("curl", "wget"), _downloads),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _owns),
}

# They say a file's name, or list it, and never show or change what is in it.
_ONLY_NAMES_FILES = frozenset(
    "echo printf ls git test [ [[ stat file find fd rg grep egrep fgrep ag ack which type export touch chmod ssh-add alias "
    "docker kubectl".split()
)


def _files(args: Args) -> Iterator[str]:
    """Every word that may name a file: operands, values of options, `@file` and `k=@file`."""
    for word in args.words:
        yield word.rpartition("@")[2] if "@" in word else word
        if "=" in word:
            yield word.partition("=")[2].lstrip("@")
    for redirection in args.command.redirections:
        if redirection.operator == "<":
            yield redirection.target
