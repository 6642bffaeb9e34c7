"""
Table of what makes a program dangerous: options and subcommands that reach repositories, machines and clusters.

They come from the manual pages (see `table_runners`). They discard work, leave a choice to the other side, open a port,
give away secrets, or change what is installed or runs.
"""

from __future__ import annotations

from .table_system import Row

__all__ = ["REACH"]

_CHOICE = "runs a program of the command's choice"
_LOADS = "loads code of the command's choice"
_SETTINGS = "runs with settings of the command's choice"
_LOSES = "throws away work that is not committed"
_GIT_RUNS = "changes what git runs or where it pushes to"
_REWRITES = "rewrites or deletes what others may have"
_PUBLISHES = "publishes to everybody, or changes what everybody sees"
_THEIR_NAMES = "lets the other machine choose what is written"
_LISTENS = "listens for another machine"
_TUNNEL = "opens a tunnel to another machine"
_TELLS = "gives away secrets"
_CLOUD = "deletes or changes what runs in a cloud"
_ESCAPES = "reaches out of its container"
_STOPS = "removes or stops containers"
_SERVICES = "changes what runs on this machine"
_CHANGES_NETWORK = "changes the network"
_REMOVES = "removes software"
_SOURCES = "changes where packages come from"
_PACKAGES = "changes which software is installed"
_CONTAINERS = "docker podman nerdctl"
_CONTAINER_SOCKET = r".*(docker|containerd|podman|crio|dockershim)[\w-]*\.sock"
_FORWARDS = r"(?i)(-o)?\s*(remoteforward|localforward|dynamicforward|tunnel)\s*[= ](?!\s*(no|none)$).*"
_SSH_SENDS = r"(?i)(-o)?\s*(sendenv|remotecommand)\s*[= ](?!\s*(none|lang|lc_[a-z*]+)$).*"
_WGETRC = (
    r"(?i)\s*(use[-_]?askpass|output[-_]?document|post[-_]?file|body[-_]?file|log[-_]?file|dir[-_]?prefix|input"
    r"([-_]?metalink)?|(load|save)[-_]?cookies|hsts[-_]?file|warc[-_]?\w*|rejected[-_]?log|default[-_]?page"
    r"|private[-_]?key|certificate|retr[-_]?symlinks)\s*=.*"
)
_FROM_GIT = r"(--(upload-pack|config|template|exec)|-[cu])(=.*)?|(-c)?\w+\.\w+=.*"
_KUBECONFIG = r"(?!.*(\.kube/|kubeconfig|KUBECONFIG))(/|~|\.\./).+"
_IP_OBJECTS = "link l addr address a route r rule ru neigh neighbour n netns tunnel tuntap maddress xfrm vrf nexthop"
_IP_CHANGES = "add a del d delete set change replace append prepend flush f"
_IP = "|".join(f"{thing} {verb}" for thing in _IP_OBJECTS.split() for verb in _IP_CHANGES.split())
_GH_PROJECT = (
    "project create|project close|project copy|project edit|project link|project unlink|project item-add"
    "|project item-delete|project item-edit"
)
_DPKG = (
    "--set-selections --clear-selections --add-architecture --remove-architecture --triggers-only --update-avail "
    "--merge-avail --clear-avail --record-avail --no-debsig"
)
_SHOWS_ONLY = "--genkey --version --help --show-ciphers --show-tls --show-digests --show-curves --show-engines"
_DATES = "-d --date -r --reference -f --file -I --iso-8601"
_ELSEWHERE = r"(?i)(?!(https?://)?(localhost\b|127\.|\[?::1)).+"

REACH: tuple[Row, ...] = (
    # git
    Row("git", "changes files outside of the repository", "apply|am", "--unsafe-paths"),
    Row("git", _LOSES, "checkout-index", "-f --force"),
    Row("git", _LOSES, "read-tree", "--reset"),
    Row("git", _LOSES, "submodule deinit", "-f --force"),
    Row("git", _LOSES, "rm", "-f --force", r"\.|\./|\*|:/", unless="--cached -n --dry-run"),
    Row("git", _REWRITES, "http-push|send-pack", "-f --force --mirror -d -D --delete"),
    Row("git", _REWRITES, "repack", "--cruft-expiration --unpack-unreachable"),
    Row("git", _REWRITES, "fetch|pull|remote update", "-P --prune-tags"),
    Row("git", _CHOICE, "instaweb"),
    Row("git", "writes files that something else names", "fast-import", "--allow-unsafe-features"),
    Row("git", _CHOICE, word=r"--[\w-]+=ext::.*"),
    Row("git", _GIT_RUNS, "config", "--rename-section"),
    Row("git", _GIT_RUNS, "config rename-section|config remove-section|config edit"),
    Row("git", _SETTINGS, options="--git-dir", value=r"(?!(.*/)?[\w.-]*\.git/?$)(?!\$).+"),
    Row("git", "changes what runs by the clock", "maintenance stop|maintenance unregister"),
    # other repositories
    Row("hg", _LISTENS, "serve"),
    Row("hg", _CHOICE, "transplant", "--filter"),
    Row("hg", _CHOICE, options="--tool", value=r".*/.*"),
    Row("hg", _PUBLISHES, "email|phabsend|phabupdate"),
    Row("hg", _REWRITES, "censor"),
    Row("hg", _LOSES, "shelve", "-d --delete --cleanup"),
    Row("hg", _LOSES, "qpop|qpush|qgoto", "-f --force"),
    Row("hg", _LOSES, options="--force-delete-local-changes --purge"),
    # other machines
    Row("curl", _SETTINGS, options="-K --config", value=r"(?!/dev/null$).+"),
    Row("curl", "reaches a service of this machine", options="--abstract-unix-socket"),
    Row("curl", "reads files in place of addresses", options="--proto-default", value=r"(?i)file"),
    Row("curl", "works out what it does from variables", word=r"--expand-.*"),
    Row("wget", _SETTINGS, options="--config", value=r"(?!/dev/null$).+"),
    Row("wget", _CHOICE, options="-e --execute", value=_WGETRC),
    Row("wget", _THEIR_NAMES, options="--retr-symlinks"),
    Row("ssh scp sftp", _TUNNEL, word=_FORWARDS),
    Row("ssh scp sftp", "hands a command or variables to another machine", word=_SSH_SENDS),
    Row("scp", _THEIR_NAMES, options="-T"),
    Row("sftp", "runs a script", options="-b", value=r"(?!-$).+"),
    Row("sftp", _CHOICE, options="-s", value=r".*/.*"),
    Row("ssh-keygen", "changes the keys of this machine", options="-A"),
    Row("ssh-add", "takes keys out of the agent", options="-D"),
    Row("rsync", _THEIR_NAMES, options="--trust-sender --insecure-links --write-devices"),
    Row("lynx", _CHOICE, options="-locexec"),
    Row("lynx", _CHOICE, word=r"(?i)lynx(exec|prog|cgi):.*"),
    Row(
        "nc ncat netcat",
        "reaches the service that runs the containers",
        options="-U --unixsock",
        word=_CONTAINER_SOCKET,
    ),
    Row("nmap", _LOADS, options="--datadir --script-updatedb"),
    Row("nmap", _SETTINGS, options="--resume"),
    Row("http https httpie", "installs a package, which runs its scripts", "plugins install|cli plugins install"),
    Row("http https httpie", "installs a package, which runs its scripts", "plugins upgrade|cli plugins upgrade"),
    Row("ftp", _CHOICE, word=r"\|.*"),
    Row("mail mailx", _CHOICE, options="-S -X -Y --exec -:"),
    Row("mail mailx", _CHOICE, word=r"(?s)(.*\n)?~[!|:<r].*", reads=True),
    Row("rclone", _LISTENS, "serve|rcd"),
    Row("rclone", _LISTENS, options="--rc --rc-addr"),
    Row("rclone", _SETTINGS, options="--config", value=r"(?!/dev/null$).+"),
    Row("rclone", _CHOICE, word=r"--[\w-]+-command(=.*)?"),
    Row("rclone", _PUBLISHES, "link"),
    Row("rclone", "changes where files are sent to", "config create|config update|config delete|config password"),
    Row("rclone", _SERVICES, "mount|selfupdate"),
    Row("telnetd ftpd inetd tcpsvd udpsvd sshd dropbear vsftpd tftpd", _LISTENS),
    Row("udhcpc udhcpc6", _CHOICE, options="-s"),
    # containers
    Row(_CONTAINERS, _PUBLISHES, options="--push"),
    Row(_CONTAINERS, _PUBLISHES, "manifest push|compose push|image scp|trust sign|trust revoke|trust signer"),
    Row("docker-compose podman-compose", _PUBLISHES, "push"),
    Row("docker podman", _STOPS, "compose rm|compose kill"),
    Row("docker-compose podman-compose", _STOPS, "rm|kill"),
    Row(_CONTAINERS, _ESCAPES, options="--device-cgroup-rule --volumes-from --cgroup-parent"),
    Row(_CONTAINERS, _ESCAPES, word=r"(--opt=|-o)?(.*,)?device=/.*"),
    Row(
        "docker-compose podman-compose",
        _ESCAPES,
        word=r"(-v|--volume=)?(/((etc|root|home|var|usr|proc|sys|dev)/?)?|~|\$HOME):.*",
    ),
    Row("docker", _SETTINGS, options="--config", value=r"[./~$].*"),
    Row(_CONTAINERS, "changes which machine runs the containers", "context use|context create|context import"),
    Row(_CONTAINERS, _CLOUD, "swarm init|swarm join|swarm update|swarm ca|swarm unlock|node update|node promote"),
    Row(_CONTAINERS, _CLOUD, "node demote|service create|service update|service scale|service rollback|stack deploy"),
    Row(_CONTAINERS, _LOADS, "plugin create|plugin set|plugin disable"),
    Row("podman", _CHOICE, "container runlabel|machine ssh"),
    Row("podman", "leaves the surroundings that it was given", "unshare"),
    Row("podman", _LISTENS, "system service"),
    Row("podman", _STOPS, "stop|pause|restart|kill|pod stop|pod pause|pod restart", "-a --all"),
    Row("podman", _STOPS, options="--replace --destroy"),
    Row("podman", "changes which images are trusted", "image trust set"),
    Row("podman", _SETTINGS, options="--module --cgroup-conf --runtime-flag --network-config-dir --cpp-flag"),
    Row("podman", _TELLS, options="--env-host"),
    Row("podman", _SERVICES, "system connection add|system connection remove|system connection default|auto-update"),
    Row("podman", _SERVICES, "machine init|machine set|machine start|machine stop|system migrate|system renumber"),
    # clusters and clouds
    Row("kubectl oc", _CHOICE, "config set-credentials|config set|config set-cluster|config rename-context"),
    Row("kubectl oc", _TELLS, "config view", "--raw --flatten"),
    Row("kubectl oc", _TELLS, "create token"),
    Row("kubectl oc helm", _SETTINGS, options="--kubeconfig", value=_KUBECONFIG),
    Row("kubectl oc", _LISTENS, "proxy|port-forward", "--address --accept-hosts --disable-filter -w --www"),
    Row("kubectl oc", "runs with somebody else's rights", options="--as --as-group --as-uid"),
    Row(
        "kubectl oc",
        "sends its token to another machine",
        options="-s --server",
        value=_ELSEWHERE,
    ),
    Row("kubectl oc", _CHOICE, options="--enable-exec --enable-alpha-plugins --helm-command"),
    Row("kubectl", _LOADS, "krew install|krew upgrade"),
    Row("kubectl oc", _CLOUD, "debug", "--replace"),
    Row("kubectl oc", _CLOUD, "create", "--raw"),
    Row(
        "kubectl oc", _CLOUD, "set|uncordon|rollout restart|rollout pause|rollout resume|create role|create clusterrole"
    ),
    Row("gcloud", "reads its options from a file", options="--flags-file"),
    Row("gcloud", "runs with somebody else's rights", options="--impersonate-service-account"),
    Row(
        "ansible ansible-playbook", _CHOICE, options="--vault-password-file --vault-pass-file --vault-id --playbook-dir"
    ),
    Row("ansible ansible-playbook", _CHOICE, options="--become-password-file --become-pass-file"),
    Row("ansible ansible-playbook", _CHOICE, options="--connection-password-file --conn-pass-file"),
    Row("helm", "sends its token to another machine", options="--kube-apiserver"),
    Row("helm", "runs with somebody else's rights", options="--kube-as-user --kube-as-group"),
    Row("helm", _PUBLISHES, "push"),
    Row("aws", "sends its keys to another machine", options="--endpoint-url", value=_ELSEWHERE),
    Row("gsutil", _CLOUD, "rsync", "-d"),
    Row("gsutil", _CLOUD, word="rsync", options="-d"),
    Row("gsutil", _PUBLISHES, word=r"all(Authenticated)?Users(:.*)?|public-read(-write)?"),
    Row("fly flyctl", _CHOICE, "ssh console|ssh sftp|console|machine exec|machine run"),
    Row("fly flyctl", _CLOUD, "secrets set|secrets unset|secrets import|scale|machine kill|machine update"),
    Row("heroku", _CLOUD, word=r"(pg|ps|config|addons|domains|features|access|webhooks):(?!info|index|$)\w+"),
    Row("heroku", _CHOICE, "run|run:detached|ps:exec"),
    Row("vercel", _PUBLISHES, options="--prod"),
    Row("bq", _CLOUD, "rm|cp|mk|load|update|insert|cancel"),
    Row("bq", _CLOUD, word=r"(?is).*\b(delete\s+from|update\s.*\sset|merge\s+into|insert\s+into)\b.*", reads=True),
    # things that other people see
    Row("gh", _TELLS, "auth status", "-t --show-token"),
    Row("gh", _REWRITES, "pr close", "-d --delete-branch"),
    Row("gh", _REWRITES, "pr checkout", "-f --force"),
    Row("gh", _PUBLISHES, "pr review", "-a --approve"),
    Row("gh", _PUBLISHES, f"repo fork|run cancel|run rerun|gpg-key delete|issue lock|issue develop|{_GH_PROJECT}"),
    Row("gh", _PUBLISHES, "codespace stop|codespace rebuild|codespace edit|codespace ports|agent-task create"),
    Row("gh", _CHOICE, "repo clone|gist clone|repo fork", word=_FROM_GIT),
    # the machine
    Row("ip", _CHANGES_NETWORK, _IP),
    Row("openvpn", _CHANGES_NETWORK, unless=_SHOWS_ONLY),
    Row("apache2 apache2ctl apachectl httpd", _SERVICES, options="-k -X"),
    Row("apache2 apache2ctl apachectl httpd", _SERVICES, word="start|stop|restart|graceful|graceful-stop"),
    Row("uclampset", "changes the running kernel", options="-s --system"),
    Row("date", "changes the clock of the machine", options="-s --set"),
    Row("date", "changes the clock of the machine", word=r"\d{8}(\d\d){0,2}(\.\d\d)?", unless=_DATES),
    Row("hwclock", "changes the clock of the machine", options="-w -s -a --systohc --hctosys --set --systz --adjust"),
    Row("hwclock", "changes the clock of the machine", options="--setepoch --param-set --update-drift"),
    Row("journalctl", "removes what the machine has recorded", options="--setup-keys --flush --relinquish-var"),
    Row("journalctl", "changes what the machine records", options="--update-catalog --smart-relinquish-var"),
    # packages
    Row("zypper dnf yum brew apt apt-get aptitude", _REMOVES, "rm|autopurge|auto-remove"),
    Row("aptitude", _REMOVES, "remove|purge"),
    Row("apt apt-get aptitude", _REMOVES, "install", word=r"[a-z0-9][a-z0-9.+-]+-"),
    Row("apt apt-get aptitude", _REMOVES, options="--purge --auto-remove --autoremove --purge-unused"),
    Row("apt apt-get aptitude", _PACKAGES, options="--allow-downgrades --allow-change-held-packages"),
    Row("apt-get apt", "runs what it has just downloaded", "source", "-b --compile --build"),
    Row("apt", _SOURCES, "edit-sources"),
    Row("zypper", _SOURCES, "addrepo|ar|removerepo|rr|modifyrepo|mr|renamerepo|nr|addservice|as"),
    Row("zypper", "installs packages that nobody has signed", options="--gpg-auto-import-keys"),
    Row("dnf yum", _REMOVES, options="--allowerasing"),
    Row("dnf yum", _PACKAGES, "history undo|history rollback|history redo|swap|distro-sync"),
    Row("dnf yum", _SOURCES, "config-manager|copr enable|copr remove"),
    Row("brew", _SERVICES, "services start|services stop|services restart|services run"),
    Row("apk", _SOURCES, options="-X --repository --repositories-file --keys-dir", value=r".*[:/].*"),
    Row("conda", _SOURCES, "config", "--add --append --prepend --set", r".*(channel|proxy|ssl_verify|url).*|.*://.*"),
    Row("dpkg", _PACKAGES, options=_DPKG),
    Row("rpm", "changes whose packages are trusted", options="--import"),
    Row("rpm", _PACKAGES, options="--initdb --rebuilddb --setperms --setugids --setcaps --restore"),
    Row("pacman", _PACKAGES, options="--overwrite --dbonly", word=r".*"),
    Row("pacman", _PACKAGES, word=r"-D\w*|--database"),
    Row("snap", _SERVICES, "start|stop|restart|enable|disable|connect|disconnect|set|unset|revert|reboot|alias"),
    Row("snap", _SERVICES, "unalias|prefer|switch|forget|restore|try"),
    Row("snap", _TELLS, "recovery", "--show-keys"),
)
