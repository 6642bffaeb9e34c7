"""
Table of what makes a program dangerous: the machine and the shell.

A row names programs, the beginning of their operands, and one option or word that makes them dangerous. A row applies
only if all its conditions hold.
"""

from __future__ import annotations

from typing import NamedTuple

from ...verdicts import Word

__all__ = ["MACHINE", "Row"]


class Row(NamedTuple):
    """
    One kind of danger.

    Attributes:
        names: The programs that the row is about.
        why: What the command does, as the end of a sentence.
        begins: The beginning of the operands, which is the subcommand. `a b|c` means `a b` or `c`.
        options: The command must have one of these options, in full or abbreviated.
        word: A pattern that one whole word has to match.
        verdict: "ask" or "deny".
        reads: Whether *word* is also searched for in the text that the program reads from standard input.
        value: A pattern that the value of one of *options* has to match.
        unless: Options with which the command does something else.
    """

    names: str
    why: str
    begins: str = ""
    options: str = ""
    word: str = ""
    verdict: Word = "ask"
    reads: bool = False
    value: str = ""
    unless: str = ""


_KERNEL = "changes the running kernel"
_SERVICES = "changes what runs on this machine"
_CLOCK = "changes what runs by the clock"
_OPENS_UP = "lets everybody change files"
_MEANING = "gives a command another meaning"

MACHINE: tuple[Row, ...] = (
    # privilege and users
    Row("sudo doas su pkexec runuser", "runs with somebody else's rights"),
    Row("visudo vipw vigr passwd chpasswd chsh chfn useradd adduser userdel deluser", "changes users or passwords"),
    Row("usermod groupadd groupdel groupmod gpasswd", "changes users or passwords"),
    Row("chroot unshare nsenter setpriv capsh setcap", "leaves the surroundings that it was given"),
    # disks, devices, power
    Row("mkfs mke2fs newfs mkfs.ext2 mkfs.ext3 mkfs.ext4", "makes a new file system over an old one", verdict="deny"),
    Row("mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs", "makes a new file system over an old one", verdict="deny"),
    Row("wipefs blkdiscard sgdisk", "wipes a disk", verdict="deny"),
    Row("fdisk cfdisk sfdisk gdisk parted mkswap swapoff hdparm cryptsetup", "changes disks or file systems"),
    Row("lvremove vgremove pvremove lvreduce mdadm zpool zfs losetup", "changes disks or file systems"),
    Row("diskutil resize2fs tune2fs nvme", "changes disks or file systems"),
    Row("shred srm wipe scrub", "destroys a file for good"),
    Row("shutdown reboot halt poweroff telinit kexec pm-suspend", "stops the machine", verdict="deny"),
    Row("init", "stops the machine", word="[0-6]", verdict="deny"),
    Row("systemctl loginctl", "stops the machine", "reboot|poweroff|halt|kexec|suspend|hibernate", verdict="deny"),
    # services, kernel, network
    Row("systemctl", _SERVICES, "stop|disable|mask|kill|restart|start|enable|unmask|isolate|edit|link|daemon-reload"),
    Row("systemctl", _SERVICES, "set-default|revert|emergency|rescue|set-property|reset-failed|reload|try-restart"),
    Row(
        "systemctl",
        _SERVICES,
        "reload-or-restart|try-reload-or-restart|reenable|preset|preset-all|add-wants|add-requires",
    ),
    Row(
        "systemctl", _SERVICES, "clean|freeze|thaw|bind|mount-image|switch-root|soft-reboot|exit|default|daemon-reexec"
    ),
    Row("systemctl", _SERVICES, "set-environment|unset-environment|import-environment|cancel|service-watchdogs"),
    Row("loginctl", _SERVICES, "kill-session|kill-user|terminate-session|terminate-user|terminate-seat|enable-linger"),
    Row("loginctl", _SERVICES, "disable-linger|lock-session|lock-sessions|attach|flush-devices|activate"),
    Row("service", _SERVICES, word="stop|start|restart|reload"),
    Row("launchctl rc-service rc-update update-rc.d chkconfig", _SERVICES),
    Row("sysctl", _KERNEL, options="-w --write -p -f --load --system"),
    Row("sysctl", _KERNEL, word=r"[\w.]+=.*"),
    Row("insmod rmmod modprobe kmod depmod setenforce auditctl dmsetup", _KERNEL),
    Row("mount umount swapon", "changes what is mounted", word=".+"),
    Row("iptables ip6tables nft ufw firewall-cmd ipset tc pfctl", "changes the firewall"),
    Row("crontab", _CLOCK, options="-r -e"),
    Row("crontab", _CLOCK, word="(?!-).*|-"),
    Row("at batch", "runs something later, when nobody watches"),
    Row("chattr setfacl restorecon chcon ldconfig", "changes who may do what"),
    Row("apt apt-get dnf yum zypper brew snap apk", "removes software", "remove|purge|autoremove|uninstall|erase|del"),
    Row("pacman", "removes software", word="-R[a-z]*|--remove"),
    Row("dpkg", "removes software", word="-r|-P|--purge|--remove"),
    Row("rpm", "removes software", word="-e[a-z]*|--erase"),
    # processes
    Row("killall pkill", "kills processes by name, and whichever else has it"),
    Row("killall pkill", "kills every process", word=r"[.*+^$?]*", verdict="deny"),
    Row("killall5", "kills every process", verdict="deny"),
    Row("skill snice slay xkill", "kills processes that it does not name one by one"),
    Row("fuser", "kills every process that uses a file", options="-k --kill"),
    # permissions
    Row("chmod", _OPENS_UP, options="-R --recursive", word=r"0?[0-7]{0,2}[2367]|0?000|0"),
    Row("chmod", _OPENS_UP, options="-R --recursive", word=r"[augo]*[ao][augo]*[+=][rwxX]*w.*|[+=][rwxX]*w.*"),
    Row("chmod", _OPENS_UP, word=r"0?777|a[+=]rwx|\+rwx|ugo[+=]rwx|o[+=]r?w.*"),
    Row("chmod", "makes a program run with its owner's rights", word=r"[ugoa]*[+=][rwxX]*s.*|0?[2-7][0-7]{3}"),
    # the shell itself
    Row("alias", _MEANING, word=".+=.*"),
    Row("unset", "hides what is done", word="HIST(FILE|SIZE|CONTROL|IGNORE)"),
    Row("enable", "loads code into the shell", options="-f"),
    Row("hash", _MEANING, options="-p"),
    Row("history fc", "changes the history, or runs it again", options="-c -d -w -a -e -s"),
    Row("bind complete", "runs a command behind a key", options="-x -C -F"),
    Row("shopt set", "makes the shell follow other rules", word="expand_aliases|extglob|.*history.*"),
    # other machines
    Row(
        "nc ncat netcat",
        "gives a shell to another machine",
        options="-e --exec -c --sh-exec --lua-exec",
        verdict="deny",
    ),
    Row("nc ncat netcat", "listens for another machine", options="-l --listen"),
    Row("socat", "gives a shell to another machine", word=r"(?i).*(exec|system):.*", verdict="deny"),
    Row("socat telnet rsh rlogin ngrok cloudflared chisel", "opens a connection to another machine"),
    Row("ssh", "opens a tunnel to another machine", options="-R -L -D -w -W"),
)
