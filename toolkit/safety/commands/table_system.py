"""
Table of what makes a program dangerous: the machine and the shell.

A row names programs, the beginning of their operands, and one option or word that makes them dangerous. A row applies
only if all its conditions hold.
"""

from __future__ import annotations

from typing import NamedTuple

from ...verdicts import Word

__all__ = ["CHOICE", "GIT_RUNS", "SYSTEM_RISKS", "Risk"]

CHOICE = "runs a program of the command's choice"
"""The danger of every option whose value is a program or a command line."""
GIT_RUNS = "changes what git runs or where it pushes to"
"""The danger of settings of git, which may name programs as well."""


class Risk(NamedTuple):
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
_NEW_SYSTEM = "makes a new file system over an old one"
_DISKS = "changes disks or file systems"
_MACHINE = "changes the settings of this machine"
_NETWORK = "changes the network"
_REMOVES_MACHINE = (
    r"destroy|undefine|delete|stop|shutdown|reset|reboot|unregistervm|controlvm|closemedium|purge|vol-\w+|.*-delete"
)

SYSTEM_RISKS: tuple[Risk, ...] = (
    # privilege and users
    Risk("sudo sudoedit doas su pkexec runuser", "runs with another user's rights"),
    Risk("visudo vipw vigr passwd chpasswd chsh chfn useradd adduser userdel deluser", "changes users or passwords"),
    Risk("usermod groupadd groupdel groupmod gpasswd", "changes users or passwords"),
    Risk("chroot unshare nsenter setpriv capsh setcap", "leaves the surroundings that it was given"),
    # disks, devices, power
    Risk("mkfs mke2fs newfs mkfs.ext2 mkfs.ext3 mkfs.ext4", _NEW_SYSTEM, verdict="deny"),
    Risk("mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs", _NEW_SYSTEM, verdict="deny"),
    Risk("mkfs.fat mkfs.exfat mkfs.f2fs mkfs.minix mkfs.jfs mkfs.udf mkfs.nilfs2 mkdosfs", _NEW_SYSTEM, verdict="deny"),
    Risk("mkntfs mkexfatfs mkreiserfs", _NEW_SYSTEM, verdict="deny"),
    Risk("wipefs blkdiscard sgdisk sg_format", "wipes a disk", verdict="deny"),
    Risk("badblocks ddrescue dcfldd dc3dd e2fsck fsck debugfs xfs_repair bcachefs grub-install efibootmgr", _DISKS),
    Risk("btrfs", _DISKS, "subvolume delete|device remove|device delete|device add|rescue|check|balance"),
    Risk(
        "update-grub dracut update-initramfs systemd-tmpfiles systemd-sysusers dpkg-divert dpkg-statoverride", _MACHINE
    ),
    Risk("update-alternatives", _MACHINE, unless="--list --display --query --get-selections"),
    Risk("hostnamectl timedatectl localectl", _MACHINE, word="set-.*|hostname"),
    Risk("fdisk cfdisk sfdisk gdisk parted mkswap swapoff hdparm cryptsetup", _DISKS),
    Risk("lvremove vgremove pvremove lvreduce mdadm zpool zfs losetup", _DISKS),
    Risk("diskutil resize2fs tune2fs nvme", _DISKS),
    Risk("shred srm wipe scrub", "destroys a file for good"),
    Risk("shutdown reboot halt poweroff telinit kexec pm-suspend", "stops the machine", verdict="deny"),
    Risk("init", "stops the machine", word="[0-6]", verdict="deny"),
    Risk("systemctl loginctl", "stops the machine", "reboot|poweroff|halt|kexec|suspend|hibernate", verdict="deny"),
    Risk("rtcwake", "stops the machine"),
    Risk("dbus-send busctl gdbus qdbus", "tells a service of this machine what to do", word=r"call|.*\.\w+\.\w+"),
    # services, kernel, network
    Risk("systemctl", _SERVICES, "stop|disable|mask|kill|restart|start|enable|unmask|isolate|edit|link|daemon-reload"),
    Risk("systemctl", _SERVICES, "set-default|revert|emergency|rescue|set-property|reset-failed|reload|try-restart"),
    Risk(
        "systemctl",
        _SERVICES,
        "reload-or-restart|try-reload-or-restart|reenable|preset|preset-all|add-wants|add-requires",
    ),
    Risk(
        "systemctl", _SERVICES, "clean|freeze|thaw|bind|mount-image|switch-root|soft-reboot|exit|default|daemon-reexec"
    ),
    Risk("systemctl", _SERVICES, "set-environment|unset-environment|import-environment|cancel|service-watchdogs"),
    Risk("loginctl", _SERVICES, "kill-session|kill-user|terminate-session|terminate-user|terminate-seat|enable-linger"),
    Risk("loginctl", _SERVICES, "disable-linger|lock-session|lock-sessions|attach|flush-devices|activate"),
    Risk("service", _SERVICES, word="stop|start|restart|reload"),
    Risk("launchctl rc-service rc-update update-rc.d chkconfig", _SERVICES),
    Risk("sysctl", _KERNEL, options="-w --write -p -f --load --system"),
    Risk("sysctl", _KERNEL, word=r"[\w.]+=.*"),
    Risk("insmod rmmod modprobe kmod depmod setenforce auditctl dmsetup", _KERNEL),
    Risk("mount umount swapon", "changes what is mounted", word=".+"),
    Risk("ifup ifdown", _NETWORK),
    Risk(
        "nmcli ifconfig route rfkill",
        _NETWORK,
        word="up|down|add|del|delete|modify|on|off|connect|disconnect|(un)?block",
    ),
    Risk("iptables-restore ip6tables-restore iptables-legacy iptables-nft ebtables", "changes the firewall"),
    Risk("arptables conntrack ipvsadm", "changes the firewall"),
    Risk("ipmitool racadm", "stops the machine", word="off|cycle|reset|soft|racreset|hardreset|powercycle"),
    Risk("virsh VBoxManage qm pct xl multipass limactl", "removes or stops machines", word=_REMOVES_MACHINE),
    Risk("iptables ip6tables nft ufw firewall-cmd ipset tc pfctl", "changes the firewall"),
    Risk("crontab", _CLOCK, options="-r -e"),
    Risk("crontab", _CLOCK, word=r"(?s)(?!-).+|-", reads=True),
    Risk("at batch", "runs something later, unattended"),
    Risk("chattr setfacl restorecon chcon ldconfig", "changes who may do what"),
    Risk("apt apt-get dnf yum zypper brew snap apk", "removes software", "remove|purge|autoremove|uninstall|erase|del"),
    Risk("pacman", "removes software", word="-R[a-z]*|--remove"),
    Risk("dpkg", "removes software", word="-r|-P|--purge|--remove"),
    Risk("rpm", "removes software", word="-e[a-z]*|--erase"),
    # processes
    Risk("killall pkill", "kills processes by name, and whichever else has it"),
    Risk("killall pkill", "kills every process", word=r"[.*+^$?]*", verdict="deny"),
    Risk("killall5", "kills every process", verdict="deny"),
    Risk("skill snice slay xkill", "kills processes that it does not name one by one"),
    Risk("fuser", "kills every process that uses a file", options="-k --kill"),
    # permissions
    Risk("chmod", _OPENS_UP, options="-R --recursive", word=r"0?[0-7]{0,2}[2367]|0?000|0"),
    Risk("chmod", _OPENS_UP, options="-R --recursive", word=r"[augo]*[ao][augo]*[+=][rwxX]*w.*|[+=][rwxX]*w.*"),
    Risk("chmod", _OPENS_UP, word=r"0?777|a[+=]rwx|\+rwx|ugo[+=]rwx|o[+=]r?w.*"),
    Risk("chmod", "makes a program run with its owner's rights", word=r"[ugoa]*[+=][rwxX]*s.*|0?[2-7][0-7]{3}"),
    # the shell itself
    Risk("alias", _MEANING, word=".+=.*"),
    Risk("unset", "hides what is done", word="HIST(FILE|SIZE|CONTROL|IGNORE)"),
    Risk("enable", "loads code into the shell", options="-f"),
    Risk("hash", _MEANING, options="-p"),
    Risk("history fc", "changes the history, or runs it again", options="-c -d -w -a -e -s"),
    Risk("bind complete", "runs a command behind a key", options="-x -C -F"),
    Risk("shopt set", "makes the shell follow other rules", word="expand_aliases|extglob|.*history.*"),
    # other machines
    Risk(
        "nc ncat netcat",
        "gives a shell to another machine",
        options="-e --exec -c --sh-exec --lua-exec",
        verdict="deny",
    ),
    Risk("nc ncat netcat", "listens for another machine", options="-l --listen"),
    Risk("socat", "gives a shell to another machine", word=r"(?i).*(exec|system):.*", verdict="deny"),
    Risk("socat telnet rsh rlogin ngrok cloudflared chisel", "opens a connection to another machine"),
    Risk("ssh", "opens a tunnel to another machine", options="-R -L -D -w -W"),
)
