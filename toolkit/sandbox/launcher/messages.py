"""
The messages between the launcher and the process that starts it. All of them are JSON objects.

    starter → launcher   `LaunchRequest`, on the command line: what to run, and how to confine it
    starter → launcher   `RecheckAnswer`, on a socket: what has to be hidden now, when the sandbox is ready
    launcher → starter   `LaunchOutcome`, on the status pipe: how the command ended, or why it was not run

The starter imports this file. The launcher runs without the package, and needs the file only for type checks.
"""

from __future__ import annotations

from typing import Literal, Required, TypeAlias, TypedDict

__all__ = ["HiddenFiles", "LandlockRuleset", "LaunchOutcome", "LaunchRequest", "RecheckAnswer", "StopReason"]

StopReason: TypeAlias = Literal["requested", "too_many_processes", "uncovered"]
"""
Why the launcher ended a command.

"requested" is a signal to the launcher, or the end of the starter. "uncovered" means that a protected file could be
seen.
"""


class LandlockRuleset(TypedDict):
    """
    The rules for Landlock. The first three names are those of the kernel's `struct landlock_ruleset_attr`.

    Attributes:
        handled_access_fs: The rights on files that are refused unless a rule grants them.
        handled_access_net: The same for network ports.
        scoped: What is confined to the command's own processes: abstract unix sockets and signals.
        struct_bytes: How many bytes of the structure this version of the kernel reads.
        single_file_rights: The rights that the kernel accepts in a rule for a single file.
        rules: Paths with the rights that are granted on each, and on everything below it.
    """

    handled_access_fs: int
    handled_access_net: int
    scoped: int
    struct_bytes: int
    single_file_rights: int
    rules: list[tuple[str, int]]


class HiddenFiles(TypedDict, total=False):
    """
    What has to be hidden from a command, by the latest search of the workspace.

    Attributes:
        protected_mounts: One entry for each path that is hidden. Its last word is the path. For bubblewrap, an entry
            holds the options that mount over the path, and the folders of the workspace are among the entries. If the
            key is missing, nothing has to be hidden, and the command begins at once.
        landlock: The rules that leave out the hidden files.
    """

    protected_mounts: list[list[str]]
    landlock: LandlockRuleset


class RecheckAnswer(HiddenFiles, total=False):
    """
    What has to be hidden now.

    Attributes:
        failure: Why the search failed. The command is then not run.
    """

    failure: str


class LaunchRequest(HiddenFiles, total=False):
    """
    What the launcher has to run, and how to confine it. Only `argv` is required.

    Attributes:
        argv: The command. With bubblewrap, the path of `bwrap` comes before it.
        cwd: The folder in which the command starts. With bubblewrap, an option says this.
        starter_pid: The process that starts the launcher. If it has ended, no command is run.
        status_fd: The descriptor to which the launcher writes the outcome.
        third_fd: The descriptor that the command gets as its descriptor 3.
        grace_seconds: The time that processes have to end after SIGTERM.
        max_ready_seconds: The time that a sandbox has to become ready.
        limits: Resource limits by their name without `RLIMIT_`. `NPROC` comes on top of what the user already runs.
        max_processes: The most processes, if the launcher has to count them: the system does not enforce `NPROC` for
            root.
        cgroup: The path of the control group that counts the processes. None means that there is no group. If the key
            is missing, the launcher makes a group for `max_processes`.
        recheck_address: The abstract socket on which the starter sends a `RecheckAnswer`.
        workspace_folders: The folders that a command in bubblewrap gets. Protected names are watched below them.
        drop_privileges: Whether the launcher takes all capabilities from the command. Bubblewrap does it by itself.
        seccomp_filter: The filter of system calls that the launcher applies, in Base64.
        private_folder_rules: Landlock rules for the private folder of the command.
        bubblewrap_options: The options of bubblewrap before the mounts. If the key is missing, bubblewrap is not used.
        bubblewrap_last_options: The options of bubblewrap after the mounts.
        bubblewrap_filter: The filter of system calls that bubblewrap applies, in Base64.
        account_lines: Lines that are added to copies of files, by path: the command's user for `/etc/passwd`.
        guarded_devices: Devices whose modes the command must not change.
    """

    argv: Required[list[str]]
    cwd: str
    starter_pid: int
    status_fd: int | None
    third_fd: int | None
    grace_seconds: float
    max_ready_seconds: float
    limits: dict[str, int]
    max_processes: int | None
    cgroup: str | None
    recheck_address: str
    workspace_folders: list[str]
    drop_privileges: bool
    seccomp_filter: str
    private_folder_rules: list[tuple[str, int]]
    bubblewrap_options: list[str]
    bubblewrap_last_options: list[str]
    bubblewrap_filter: str
    account_lines: dict[str, str]
    guarded_devices: list[str]


class LaunchOutcome(TypedDict, total=False):
    """
    How a command ended, or why it was not run.

    Attributes:
        exit_code: The exit code as a shell counts it: 128 plus the number of the signal if the command was killed.
        processes_left: How many processes the command left running. They were ended. If the command was not run, the
            key is missing.
        stop_reason: Why the launcher ended the command. If the command ended by itself, the key is missing.
        uncovered_path: A protected file that the command could have seen.
        failure: Why the command was not run.
    """

    exit_code: Required[int]
    processes_left: int
    stop_reason: StopReason
    uncovered_path: str
    failure: str
