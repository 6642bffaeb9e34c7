"""
Run command lines by real bash, with a stand-in for the dangerous programs, and tell which of them started it.

Bash runs in the strongest sandbox of the machine, in a folder of its own, with a PATH that holds the stand-in and a
few programs that start others. Many lines share one bash, each in a subshell; a line that is suspected is run again
alone, by `bash -c` in a new folder, and only that counts.
"""

from __future__ import annotations

import functools
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from toolkit.sandbox import LevelName, Limits, best_sandbox
from toolkit.workspace import Workspace

from .command_lines import STAND_IN

__all__ = ["CONTROL", "Bash", "LostControl"]

# What may be found on PATH: nothing that ends or removes anything by itself. A line can still write over the stand-in, so
# every batch ends with the control.
_PROGRAMS = (
    "bash sh cat env nice nohup setsid timeout stdbuf ionice chrt taskset xargs find prlimit setpriv flock choom script "
    "setarch linux64 i386 x86_64 unshare runcon nsenter uclampset chroot tee ls true false echo printf pwd test head "
    "sort wc grep sed awk cp ln install dd chmod tr sleep tar touch perl"
)
# The batch is over once every process that the lines started is gone: each of them holds descriptor 77. The stand-in
# tells the number of its line, unless the line has taken it away with the environment.
#
# A line that loops without an end is killed by the watch, once one of its processes and those that it has waited for
# have used enough processor time. `ulimit` counts whole seconds, and each process alone; it ends what has left the
# session. The watch is no job of this bash, or `$!` would be set for the lines. It ends with the standard input.
_DRIVER = r"""
__watch() {
    local file text session fields
    read -r text < "/proc/$$/stat" || return
    fields=(${text##*) })
    session=${fields[3]}
    while read -r -t 0.1; [ $? -gt 128 ]; do
        for file in /proc/[0-9]*; do
            (( ${file#/proc/} > $$ && ${file#/proc/} != BASHPID )) && read -r text < "$file/stat" || continue
            fields=(${text##*) })
            (( fields[3] == session && fields[11] + fields[12] + fields[13] + fields[14] > @most_ticks@ )) &&
                kill -9 "${file#/proc/}"
        done
    done
}
exec 77>&3 3>&- 78>progress >/dev/null 2>&1
( __watch <&0 77>&- 78>&- & )
unset -f __watch
enable -n kill enable suspend logout
mapfile -d '' -t __lines < lines
FUNCNEST=40
__alone=$1 __folder=$PWD
shift
export LINE_NUMBER=0
for (( ; LINE_NUMBER < ${#__lines[@]}; LINE_NUMBER++ )); do
    echo >&78
    if (( LINE_NUMBER % @room_lines@ == 0 )); then
        HOME=$__folder/room$((LINE_NUMBER / @room_lines@))
        cd "$HOME"
    fi
    if [ "$__alone" = alone ]; then
        ( ulimit -t 1; exec 78>&-; exec bash -c "${__lines[LINE_NUMBER]}" ) </dev/null
    else
        ( ulimit -t 1; exec 78>&-; eval "${__lines[LINE_NUMBER]}" ) </dev/null
    fi
done
exec 77>&-
read -r
"""
_MOST_TICKS = 30
# Lines leave files behind, which the next ones find; after so many there is a new folder.
_ROOM_LINES = 400
_STAND_IN = "#!/bin/sh\necho \"${{LINE_NUMBER:-unknown}}\" >> '{mark}'\n"
# A program that no table knows, and that runs others.
_LAUNCHER = """\
#!/bin/sh
case $1 in
    --run) exec sh -c "$2" ;;
    --run=*) exec sh -c "${1#--run=}" ;;
    --variable) exec $x ;;
    --) shift ;;
esac
exec "$@"
"""
_WAIT_SECONDS = 6
# A line with `&` may win or lose a race.
_TRIES = 3
# Asked to end, the sandbox ends all that was started in it.
_END_SECONDS = 5


_LIMITS = Limits(processes=200, file_bytes=4 << 20, memory_bytes=1 << 30)


@functools.cache
def _strongest_level() -> LevelName:
    """Return the strongest sandbox that works on this machine, which is tried once."""
    with tempfile.TemporaryDirectory() as folder:
        return best_sandbox(Workspace(folder), limits=_LIMITS).name


# This line has to start the stand-in, or no other line could be seen to do so.
CONTROL = f"{STAND_IN} # control"


class LostControl(RuntimeError):
    """The error for a place where a known dangerous line does not start the stand-in."""


class Bash:
    """A place where lines are run; leave it with `close`."""

    def __init__(self, stand_in: str = _STAND_IN) -> None:
        shell = shutil.which("bash")
        if shell is None:
            raise RuntimeError("there is no bash on PATH; install it to compare the reader with it")
        self._shell = shell
        self._folder = Path(tempfile.mkdtemp(prefix="lines-")).resolve()
        self._mark = self._folder / "mark"
        self.hung: list[str] = []
        self.spoiled: list[str] = []  # lines that broke the stand-in
        programs = self._folder / "programs"
        programs.mkdir()
        for name in _PROGRAMS.split():
            if (path := shutil.which(name)) is not None:
                (programs / name).symlink_to(
                    os.path.realpath(path) if name not in ("sh", "linux64", "i386", "x86_64") else path
                )
        launcher = programs / "lift"
        launcher.write_text(_LAUNCHER)
        launcher.chmod(0o755)
        self._template = stand_in
        self._stand_in = stand_in.format(mark=self._mark)
        driver = _DRIVER.replace("@most_ticks@", str(_MOST_TICKS)).replace("@room_lines@", str(_ROOM_LINES))
        (self._folder / "driver").write_text(driver)
        workspace = Workspace(self._folder)
        self.sandbox = best_sandbox(workspace, limits=_LIMITS, level=_strongest_level(), probe=False)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def start_stand_in(self, lines: Sequence[str]) -> list[str]:
        """Return those of *lines* that start the stand-in, also when `bash -c` runs them alone."""
        suspects = self._marked([*lines, CONTROL])
        if CONTROL not in suspects:
            # One of the lines has broken the stand-in, so the others are run again without it.
            if len(lines) < 2:
                self.spoiled += lines
                return []
            middle = len(lines) // 2
            return self.start_stand_in(lines[:middle]) + self.start_stand_in(lines[middle:])
        # Each alone and in a new folder: a line may have run a file that another line has left behind.
        suspects = [line for line in suspects if line != CONTROL and self.run_alone(line)]
        return [line for line in suspects if self._starts_elsewhere(line)]

    def _starts_elsewhere(self, line: str) -> bool:
        """Return whether *line* starts the stand-in where no process of another line may go on."""
        place = Bash(self._template)
        try:
            return any(place.run_alone(line) for _ in range(_TRIES))
        finally:
            place.close()

    def require_control(self) -> None:
        """Raise `LostControl` unless the control line starts the stand-in, alone and among others."""
        if not self.run_alone(CONTROL) or CONTROL not in self._marked([":", CONTROL]):
            raise LostControl(f"`{CONTROL}` did not start the stand-in, so no finding can be trusted; see the sandbox")

    def run_alone(self, line: str) -> bool:
        """Return whether `bash -c` starts the stand-in for *line*."""
        return bool(self._marked([line], alone=True))

    def _marked(self, lines: Sequence[str], *, alone: bool = False) -> list[str]:
        """Run *lines*, and return those that the stand-in names; a line that hangs is noted and left out."""
        marked: list[str] = []
        rest = list(lines)
        while rest:
            done = self._run(rest, alone=alone)
            numbers = set(self._mark.read_text().split()) if self._mark.exists() else set()
            if "unknown" in numbers and len(rest) > 1:
                middle = len(rest) // 2
                return marked + self._marked(rest[:middle], alone=alone) + self._marked(rest[middle:], alone=alone)
            marked += [line for at, line in enumerate(rest) if str(at) in numbers or "unknown" in numbers]
            if done is None:
                break
            self.hung.append(rest[max(done - 1, 0)])
            rest = rest[max(done, 1) :]
        return marked

    def _run(self, lines: Sequence[str], *, alone: bool) -> int | None:
        """Run *lines*; return how many were begun if they did not come to an end, else None."""
        for room in self._folder.glob("room*"):
            shutil.rmtree(room, ignore_errors=True)
        for number in range(-(-len(lines) // _ROOM_LINES)):
            (self._folder / f"room{number}").mkdir()
        self._mark.unlink(missing_ok=True)
        program = self._folder / "programs" / STAND_IN
        program.unlink(missing_ok=True)
        program.write_text(self._stand_in)
        program.chmod(0o755)
        (self._folder / "lines").write_bytes(b"".join(line.encode() + b"\0" for line in lines))
        argv = [self._shell, "--norc", "--noprofile", str(self._folder / "driver"), "alone" if alone else "together"]
        ours, theirs = os.pipe()
        env = {"PATH": str(self._folder / "programs"), "LC_ALL": "C.UTF-8", "HOME": str(self._folder)}
        command, env = self.sandbox.command(argv, cwd=str(self._folder), env=env, third_fd=theirs)
        process = subprocess.Popen(  # noqa: S603 -- the argument list is ours
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs],
            start_new_session=True,
            cwd=self._folder,
        )
        os.close(theirs)
        try:
            return None if self._is_over(process, ours) else self._begun()
        finally:
            os.close(ours)
            assert process.stdin is not None
            process.stdin.close()
            for ask in (None, process.terminate, process.kill):
                if ask is not None:
                    ask()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_SECONDS)
                    break
            process.wait()

    def _is_over(self, process: subprocess.Popen[bytes], pipe: int) -> bool:
        """Wait for the last process that holds the pipe, as long as lines are begun."""
        begun = -1
        while begun != (begun := self._begun()):
            if select.select([pipe], [], [], _WAIT_SECONDS)[0]:
                return True
        return False

    def _begun(self) -> int:
        with suppress(OSError):
            return (self._folder / "progress").stat().st_size
        return 0
