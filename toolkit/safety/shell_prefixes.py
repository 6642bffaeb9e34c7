"""
Programs whose last words are another command, as data: how the words before it look.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PREFIXES", "Prefix"]


@dataclass(frozen=True, slots=True)
class Prefix:
    """
    What may stand between a program's name and the command that it runs.

    Attributes:
        values: Options with a value.
        flags: Options without one.
        skip: How many words come first: the seconds of `timeout`, the host of `ssh`.
        sets: Whether `NAME=value` may stand there too.
        joins: Whether the rest is joined and given to a shell.
        after: The subcommand that it takes: `uv run`.
    """

    values: str = ""
    flags: str = ""
    skip: int = 0
    sets: bool = False
    joins: bool = False
    after: str = ""


_TIMEOUT = Prefix(values="-k -s --kill-after --signal", flags="-v --verbose --foreground --preserve-status", skip=1)

PREFIXES: dict[str, Prefix] = {
    # with other rights
    "sudo": Prefix(
        values="-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type",
        flags="-A -b -B -E -e -H -i -K -k -l -n -N -P -S -s -V -v --preserve-env --login --shell --stdin "
        "--non-interactive --background --set-home --reset-timestamp",
        sets=True,
    ),
    "doas": Prefix(values="-u -C", flags="-n -s -L"),
    "pkexec": Prefix(values="--user", flags="--disable-internal-agent --keep-cwd"),
    "fakeroot": Prefix(values="-l -s -i -b", flags="-u -v"),
    # in other surroundings
    "env": Prefix(
        values="-u -C --unset --chdir",
        flags="- -i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal",
        sets=True,
    ),
    "chroot": Prefix(values="--userspec --groups", flags="--skip-chdir", skip=1),
    "unshare": Prefix(
        flags="-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --fork --map-root-user"
    ),
    "nsenter": Prefix(
        values="-t -S -G --target --setuid --setgid",
        flags="-a -m -u -i -n -p -U -C -T -F -r -w --all --mount --uts --ipc --net --pid",
    ),
    "systemd-run": Prefix(
        values="-p -u -H -M -E --unit --property --uid --gid --slice --description --setenv --working-directory",
        flags="-t -P -q -G -r -d -S --user --system --scope --pty --pipe --wait --collect --quiet --no-block --shell",
    ),
    "proxychains": Prefix(values="-f", flags="-q"),
    "proxychains4": Prefix(values="-f", flags="-q"),
    "torsocks": Prefix(),
    "arch": Prefix(flags="-x86_64 -arm64"),
    "busybox": Prefix(),
    "toybox": Prefix(),
    # at another pace
    "nohup": Prefix(),
    "setsid": Prefix(flags="-c -f -w --ctty --fork --wait"),
    "nice": Prefix(values="-n --adjustment"),
    "ionice": Prefix(values="-c -n --class --classdata", flags="-t --ignore"),
    "chrt": Prefix(flags="-b -f -i -o -r -a -v -R", skip=1),
    "taskset": Prefix(flags="-a -c", skip=1),
    "numactl": Prefix(flags="--interleave --membind --cpunodebind --physcpubind --localalloc -l"),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "cpulimit": Prefix(values="-l -p -e", flags="-b -f -m -q -v -z"),
    "prlimit": Prefix(),
    "caffeinate": Prefix(values="-t -w", flags="-d -i -m -s -u"),
    "stdbuf": Prefix(values="-i -o -e --input --output --error"),
    "unbuffer": Prefix(flags="-p"),
    # watched
    "time": Prefix(values="-f -o --format --output", flags="-p -a -v -q -V --portability --append --verbose --quiet"),
    "strace": Prefix(
        values="-e -o -p -s -u -E -a -I -O -P -S -X -b",
        flags="-c -C -d -f -ff -F -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z",
    ),
    "ltrace": Prefix(values="-e -o -p -s -u -a -l -n -x -A -D -F", flags="-c -C -f -i -L -r -S -t -tt -ttt -T -V -b"),
    "valgrind": Prefix(flags="-q -v --tool --leak-check --error-exitcode --track-origins --log-file --suppressions"),
    "catchsegv": Prefix(),
    "entr": Prefix(flags="-a -c -d -n -p -r -s -z"),
    # by the shell itself
    "exec": Prefix(values="-a", flags="-c -l"),
    "command": Prefix(flags="-p -v -V"),
    "builtin": Prefix(),
    "coproc": Prefix(),
    "noglob": Prefix(),
    "nocorrect": Prefix(),
    # many times, or elsewhere
    "xargs": Prefix(
        values="-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-lines --max-procs --max-chars "
        "--replace",
        flags="-0 -r -t -p -x -o -i -e -l --null --no-run-if-empty --verbose --interactive --exit --open-tty",
    ),
    "parallel": Prefix(
        values="-j -N -n -a -S -I -d -L -P --jobs --arg-file --sshlogin --colsep --delay --retries --timeout --joblog "
        "--results --delimiter --max-args",
        flags="-0 -k -q -v -t -u -X -m -r --null --keep-order --bar --eta --dry-run --will-cite --progress --verbose "
        "--ungroup --linebuffer --lb --no-run-if-empty --halt --pipe --line-buffer --tag",
        joins=True,
    ),
    "watch": Prefix(
        values="-n --interval -q",
        flags="-d -t -b -e -g -c -x -p -r -w --differences --no-title --beep --errexit --chgexit --color --exec "
        "--precise --no-wrap",
        joins=True,
    ),
    "ssh": Prefix(
        values="-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
        flags="-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -vv -vvv -X -x -Y -y",
        skip=1,
        joins=True,
    ),
    # with a project's own programs
    "uv": Prefix(
        values="--with --python -p --extra --group --env-file --project --directory",
        flags="--isolated --no-project --frozen --locked --no-sync --all-extras -q --quiet --active --no-dev",
        after="run",
    ),
    "poetry": Prefix(after="run"),
    "pipenv": Prefix(after="run"),
    "pdm": Prefix(after="run"),
    "hatch": Prefix(after="run"),
    "bundle": Prefix(after="exec"),
    "direnv": Prefix(after="exec", skip=1),
    "conda": Prefix(values="-n -p --name --prefix", flags="--no-capture-output --live-stream", after="run"),
    "aws-vault": Prefix(after="exec", skip=1),
    "op": Prefix(values="--env-file --account", flags="--no-masking", after="run"),
    "npx": Prefix(values="-p --package -c --call", flags="-y --yes --no --no-install -q --quiet"),
}
