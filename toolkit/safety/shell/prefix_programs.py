"""
Table of the programs whose last words are another command, and of the words that may stand before it.

For the programs of coreutils, findutils and util-linux, the table has all options that `--help` lists (coreutils 9.1,
findutils 4.9, util-linux 2.38), and those that later releases added. `--help` and `--version` run nothing and are left
out. An option whose value has to be attached counts as a flag, because it takes no further word. Abbreviations (`--sig`
for `--signal`) are derived from the table.

For every other program, the table has the options in use. If a command has an option that is not listed, every word
behind the program's name may be the beginning of the inner command.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ARCHITECTURES", "PREFIXES", "Prefix"]


@dataclass(frozen=True, slots=True)
class Prefix:
    """
    The words that may stand between a program's name and the command that it runs.

    Attributes:
        values: Options with a value.
        flags: Options without a value.
        attached: Options of one letter whose value, if there is one, ends the word: `-i` and `-i{}`.
        texts: Options whose value is a command line.
        skip: The number of words that come before the command: the seconds of `timeout`, the host of `ssh`.
        sets: Whether `NAME=value` may also stand before the command.
        guess: Whether words that are not options may stand before the command, so that any word may begin it.
        joins: Whether the remaining words are joined and given to a shell.
        after: The subcommands that take a command: `uv run`.
    """

    values: str = ""
    flags: str = ""
    attached: str = ""
    texts: str = ""
    skip: int = 0
    sets: bool = False
    guess: bool = False
    joins: bool = False
    after: str = ""


_TIMEOUT = Prefix(values="-k -s --kill-after --signal", flags="-v --verbose --foreground --preserve-status", skip=1)

_SETARCH = Prefix(
    flags="-B -F -I -L -R -S -T -X -Z -3 -v --32bit --fdpic-funcptrs --short-inode --addr-compat-layout "
    "--addr-no-randomize --whole-seconds --sticky-timeouts --read-implies-exec --mmap-page-zero --3gb --4gb "
    "--uname-2.6 --verbose --list",
    guess=True,
)
_GUESS = Prefix(guess=True)
ARCHITECTURES = "linux32 linux64 i386 i486 i586 i686 x86_64 athlon ppc64 armv7l aarch64 s390x"
_LAUNCHERS = (
    "gosu su-exec setuidgid chpst softlimit setlock authbind cgexec firejail bwrap eatmydata faketime tini dumb-init "
    "dbus-run-session dbus-launch xvfb-run chronic ifne torify tsocks flatpak-spawn daemonize start-stop-daemon "
    "envdir envuidgid pgrphack openvt systemd-inhibit systemd-cat run0 proot fakechroot nsjail minijail0 zrun "
    "timelimit retry watchexec srun mpirun mpiexec lxc-attach systemd-nspawn env-cmd dtach abduco ttyd gotty heaptrack "
    "kcov py-spy lckdo run-one run-this-one keep-one-running schroot honcho shx xterm uxterm urxvt rxvt konsole "
    "alacritty kitty foot wezterm gnome-terminal lxterminal xfce4-terminal terminator tilix"
)

PREFIXES: dict[str, Prefix] = {
    # programs that run a command with other rights
    "sudo": Prefix(
        values="-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type",
        flags="-A -b -B -E -e -H -i -K -k -l -n -N -P -S -s -V -v --preserve-env --login --shell --stdin "
        "--non-interactive --background --set-home --reset-timestamp",
        sets=True,
    ),
    "doas": Prefix(values="-u -C", flags="-n -s -L"),
    "pkexec": Prefix(values="--user", flags="--disable-internal-agent --keep-cwd"),
    "fakeroot": Prefix(values="-l -s -i -b", flags="-u -v"),
    # programs that run a command in another environment
    "env": Prefix(
        values="-u -C -a --unset --chdir --argv0",
        flags="- -i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal "
        "--list-signal-handling",
        texts="-S --split-string",
        sets=True,
    ),
    "chroot": Prefix(values="--userspec --groups", flags="--skip-chdir", skip=1),
    "unshare": Prefix(
        values="-R -w -S -G --map-user --map-group --map-users --map-groups --propagation --setgroups --root --wd "
        "--setuid --setgid --monotonic --boottime --load-interp",
        flags="-f -r -c --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user "
        "--map-current-user --map-auto --kill-child --mount-proc --mount-binfmt --keep-caps",
        attached="-m -u -i -n -p -U -C -T -l",
    ),
    "nsenter": Prefix(
        values="-t -S -G -W -N --target --setuid --setgid --wdns --net-socket",
        flags="-a -F -Z -c -e --all --mount --uts --ipc --net --pid --cgroup --user --time --root --wd --no-fork "
        "--preserve-credentials --keep-caps --follow-context --join-cgroup --env --user-parent",
        attached="-m -u -i -n -p -C -U -T -r -w",
    ),
    "setpriv": Prefix(
        values="--ambient-caps --inh-caps --bounding-set --ruid --euid --rgid --egid --reuid --regid --groups "
        "--securebits --pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access --landlock-rule "
        "--seccomp-filter",
        flags="-d --dump --nnp --no-new-privs --clear-groups --keep-groups --init-groups --reset-env",
    ),
    "choom": Prefix(values="-n -p --adjust --pid"),
    "runcon": Prefix(values="-t -u -r -l --type --user --role --range", flags="-c --compute", guess=True),
    "setarch": _SETARCH,
    **dict.fromkeys(ARCHITECTURES.split(), _SETARCH),
    **dict.fromkeys(_LAUNCHERS.split(), _GUESS),
    "distrobox": Prefix(after="enter", guess=True),
    "toolbox": Prefix(after="run", guess=True),
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
    # programs that change when, how fast or how long a command runs
    "nohup": Prefix(),
    "setsid": Prefix(flags="-c -f -w --ctty --fork --wait"),
    "nice": Prefix(values="-n --adjustment"),
    "ionice": Prefix(values="-c -n -p -P -u --class --classdata --pid --pgid --uid", flags="-t --ignore"),
    "chrt": Prefix(
        values="-T -P -D --sched-runtime --sched-period --sched-deadline",
        flags="-b -d -f -i -o -r -e -R -a -m -p -v --batch --deadline --fifo --idle --other --rr --ext "
        "--reset-on-fork --all-tasks --max --pid --verbose",
        skip=1,
        guess=True,
    ),
    "uclampset": Prefix(values="-m -M -p --pid", flags="-a -s -R -v --all-tasks --system --reset-on-fork --verbose"),
    "taskset": Prefix(flags="-a -p -c --all-tasks --pid --cpu-list", skip=1),
    "numactl": Prefix(flags="--interleave --membind --cpunodebind --physcpubind --localalloc -l"),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "cpulimit": Prefix(values="-l -p -e", flags="-b -f -m -q -v -z"),
    "prlimit": Prefix(
        values="-p -o --pid --output",
        flags="--noheadings --raw --verbose --core --data --nice --fsize --sigpending --memlock --rss --nofile "
        "--msgqueue --rtprio --stack --cpu --nproc --as --locks --rttime",
        attached="-c -d -e -f -i -l -m -n -q -r -s -t -u -v -x -y",
    ),
    "caffeinate": Prefix(values="-t -w", flags="-d -i -m -s -u"),
    "stdbuf": Prefix(values="-i -o -e --input --output --error"),
    "unbuffer": Prefix(flags="-p"),
    # programs that watch or record a command
    "time": Prefix(values="-f -o --format --output", flags="-p -a -v -q -V --portability --append --verbose --quiet"),
    "strace": Prefix(
        values="-e -o -p -s -u -E -a -I -O -P -S -X -b",
        flags="-c -C -d -f -ff -F -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z",
    ),
    "ltrace": Prefix(values="-e -o -p -s -u -a -l -n -x -A -D -F", flags="-c -C -f -i -L -r -S -t -tt -ttt -T -V -b"),
    "valgrind": Prefix(flags="-q -v --tool --leak-check --error-exitcode --track-origins --log-file --suppressions"),
    "catchsegv": Prefix(),
    "rlwrap": Prefix(
        values="-b -C -D -e -f -g -H -l -M -O -P -q -s -S -t -w -z --break-chars --command-name --history-no-dupes "
        "--extra-char-after-completion --file --forget-matching --history-filename --logfile --multi-line-ext "
        "--only-cook --pre-given --quote-characters --histsize --substitute-prompt --set-term-name "
        "--wait-before-prompt --filter",
        flags="-c -E -i -I -n -N -o -r -R -U -v -W --complete-filenames --always-echo --case-insensitive "
        "--pass-sigint-as-sigterm --no-warnings --no-children --one-shot --remember --renice --mirror-arguments "
        "--polling --always-readline --ansi-colour-aware --multi-line --prompt-colour",
        attached="-a -A -m -p",
    ),
    "sshpass": Prefix(values="-f -d -p -P", flags="-e -v -h -V"),
    "logsave": Prefix(flags="-a -s -v", skip=1),
    "ssh-agent": Prefix(values="-a -E -O -P -t", flags="-c -D -d -k -s -x"),
    "perf": Prefix(after="stat record trace", guess=True),
    "rr": Prefix(after="record", guess=True),
    "heaptrack": _GUESS,
    "entr": Prefix(flags="-a -c -d -n -p -r -s -x -z"),
    # builtins and keywords of the shell
    "exec": Prefix(values="-a", flags="-c -l"),
    "command": Prefix(flags="-p -v -V"),
    "builtin": Prefix(),
    "coproc": Prefix(),
    "noglob": Prefix(),
    "repeat": Prefix(skip=1),
    "-": Prefix(),
    "nocorrect": Prefix(),
    # programs that run a command many times, or on another machine
    "xargs": Prefix(
        values="-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var",
        flags="-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits "
        "--eof --replace --max-lines",
        attached="-i -e -l",
    ),
    "parallel": Prefix(
        values="-j -N -n -a -S -I -d -L -P --jobs --arg-file --sshlogin --colsep --delay --retries --timeout --joblog "
        "--results --delimiter --max-args",
        flags="-0 -k -q -v -t -u -X -m -r --null --keep-order --bar --eta --dry-run --will-cite --progress --verbose "
        "--ungroup --linebuffer --lb --no-run-if-empty --halt --pipe --line-buffer --tag",
        joins=True,
    ),
    "sem": Prefix(guess=True, joins=True),
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
    "mosh": Prefix(values="-p --port --ssh --server --predict", flags="-4 -6 -a -n -o --no-init --local", skip=1),
    "et": Prefix(values="-p -u -l", texts="-c --command", skip=1),
    "pdsh": Prefix(values="-w -x -l -f -t -u -R -g -X", flags="-b -S -N -d -v", joins=True),
    # programs that run a command with a project's own programs
    "uv": Prefix(
        values="--with --python -p --extra --group --env-file --project --directory",
        flags="--isolated --no-project --frozen --locked --no-sync --all-extras -q --quiet --active --no-dev",
        after="run",
    ),
    "poetry": Prefix(after="run"),
    "pipenv": Prefix(after="run"),
    "pdm": Prefix(after="run"),
    "hatch": Prefix(after="run"),
    "bundle": Prefix(after="exec exe"),
    "direnv": Prefix(after="exec", skip=1),
    **dict.fromkeys(
        ("conda", "mamba", "micromamba"),
        Prefix(values="-n -p --name --prefix", flags="--no-capture-output --live-stream", after="run"),
    ),
    "aws-vault": Prefix(after="exec", skip=1),
    "op": Prefix(values="--env-file --account", flags="--no-masking", after="run"),
    "npx": Prefix(
        values="-p --package -w --workspace", flags="-y --yes --no --no-install -q --quiet", texts="-c --call"
    ),
    "npm": Prefix(values="-p --package -w --workspace", flags="-y --yes --no", texts="-c --call", after="exec exe x"),
    "pnpm": Prefix(flags="-r --recursive -s --silent", texts="-c", after="exec dlx"),
    "yarn": Prefix(values="-p --package", flags="-q --quiet", after="exec dlx"),
    "bunx": Prefix(values="-p --package", flags="--bun --silent --verbose --no-install"),
    "bun": Prefix(after="x"),
    "uvx": Prefix(values="--from --with --python -p --index", flags="-q --quiet --isolated --refresh"),
    "pipx": Prefix(values="--spec --python --index-url --pip-args", flags="-v --verbose --no-cache", after="run"),
    **dict.fromkeys(("rye", "devbox", "dotenvx", "railway"), Prefix(after="run")),
    **dict.fromkeys(("opam", "stack", "cabal", "lerna", "ddev"), Prefix(after="exec")),
    **dict.fromkeys(
        ("apptainer", "singularity", "multipass", "limactl", "incus", "machinectl"),
        Prefix(after="exec run shell", guess=True),
    ),
    "rustup": Prefix(after="run", skip=1),
    "nodemon": Prefix(texts="-x --exec", guess=True),
    "sbatch": Prefix(texts="--wrap", guess=True),
    "asciinema": Prefix(texts="-c --command", after="rec", guess=True),
    "pixi": Prefix(values="-e --environment --manifest-path", after="run exec"),
    "tox": Prefix(values="-e", after="exec"),
    "pyenv": Prefix(after="exec"),
    "rbenv": Prefix(after="exec"),
    "asdf": Prefix(after="exec"),
    "volta": Prefix(values="--node --npm --yarn --pnpm", after="run"),
    "mise": Prefix(values="-C --cd", texts="-c --command", after="exec x", guess=True),
    "nvm": Prefix(after="exec run", guess=True),
    "dotenv": Prefix(values="-f --file -e -v", guess=True),
    "cross-env": Prefix(sets=True),
    "foreman": Prefix(values="-e --env -f --procfile", after="run"),
    "doppler": Prefix(values="-p --project -c --config", texts="--command", after="run"),
    "infisical": Prefix(values="--env --path --projectId", texts="--command", after="run"),
    "chamber": Prefix(after="exec", guess=True),
    "nix": Prefix(after="develop shell run", guess=True),
    "guix": Prefix(after="shell environment", guess=True),
}
