"""
Table of what makes a program dangerous: options and subcommands that reach repositories, machines and clusters.

They come from the manual pages (see `table_runners`). They discard work, leave a choice to the other side, open a port,
give away secrets, or change what is installed or runs.
"""

from __future__ import annotations

from .table_system import CHOICE, GIT_RUNS, Risk

__all__ = ["REACH_RISKS"]

_LOADS = "loads code of the command's choice"
_SETTINGS = "runs with settings of the command's choice"
_LOSES = "throws away work that is not committed"
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
_IP = "|".join(f"{thing} {verb}" for thing in _IP_OBJECTS.split() for verb in _IP_CHANGES.split()) + "|link s|l s"
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

REACH_RISKS: tuple[Risk, ...] = (
    # git
    Risk("git", "changes files outside of the repository", "apply|am", "--unsafe-paths"),
    Risk("git", _LOSES, "checkout-index", "-f --force"),
    Risk("git", _LOSES, "read-tree", "--reset"),
    Risk("git", _LOSES, "submodule deinit", "-f --force"),
    Risk("git", _LOSES, "rm", "-f --force", r"\.|\./|\*|:/", unless="--cached -n --dry-run"),
    Risk("git", _REWRITES, "http-push|send-pack", "-f --force --mirror -d -D --delete"),
    Risk("git", _REWRITES, "repack", "--cruft-expiration --unpack-unreachable"),
    Risk("git", _REWRITES, "fetch|pull|remote update", "-P --prune-tags"),
    Risk("git", CHOICE, "instaweb"),
    Risk("git", "writes files that something else names", "fast-import", "--allow-unsafe-features"),
    Risk("git", CHOICE, word=r"--[\w-]+=ext::.*"),
    Risk("git", GIT_RUNS, "config", "--rename-section"),
    Risk("git", GIT_RUNS, "config rename-section|config remove-section|config edit"),
    Risk("git", _SETTINGS, options="--git-dir", value=r"(?!(.*/)?[\w.-]*\.git/?$)(?!\$).+"),
    Risk("git", "changes what runs by the clock", "maintenance stop|maintenance unregister"),
    # other repositories
    Risk("hg", _LISTENS, "serve"),
    Risk("hg", CHOICE, "transplant", "--filter"),
    Risk("hg", CHOICE, options="--tool", value=r".*/.*"),
    Risk("hg", _PUBLISHES, "email|phabsend|phabupdate"),
    Risk("hg", _REWRITES, "censor"),
    Risk("hg", _LOSES, "shelve", "-d --delete --cleanup"),
    Risk("hg", _LOSES, "qpop|qpush|qgoto", "-f --force"),
    Risk("hg", _LOSES, options="--force-delete-local-changes --purge"),
    # other machines
    Risk("curl", _SETTINGS, options="-K --config", value=r"(?!/dev/null$).+"),
    Risk("curl", "reaches a service of this machine", options="--abstract-unix-socket"),
    Risk("curl", "reads files in place of addresses", options="--proto-default", value=r"(?i)file"),
    Risk("curl", "works out what it does from variables", word=r"--expand-.*"),
    Risk("wget", _SETTINGS, options="--config", value=r"(?!/dev/null$).+"),
    Risk("wget", CHOICE, options="-e --execute", value=_WGETRC),
    Risk("wget", _THEIR_NAMES, options="--retr-symlinks"),
    Risk("ssh scp sftp", _TUNNEL, word=_FORWARDS),
    Risk("ssh scp sftp", "hands a command or variables to another machine", word=_SSH_SENDS),
    Risk("scp", _THEIR_NAMES, options="-T"),
    Risk("sftp", "runs a script", options="-b", value=r"(?!-$).+"),
    Risk("sftp", CHOICE, options="-s", value=r".*/.*"),
    Risk("ssh-keygen", "changes the keys of this machine", options="-A"),
    Risk("ssh-add", "takes keys out of the agent", options="-D"),
    Risk("rsync", _THEIR_NAMES, options="--trust-sender --insecure-links --write-devices"),
    Risk("lynx", CHOICE, options="-locexec"),
    Risk("lynx", CHOICE, word=r"(?i)lynx(exec|prog|cgi):.*"),
    Risk(
        "nc ncat netcat",
        "reaches the service that runs the containers",
        options="-U --unixsock",
        word=_CONTAINER_SOCKET,
    ),
    Risk("nmap", _LOADS, options="--datadir --script-updatedb"),
    Risk("nmap", _SETTINGS, options="--resume"),
    Risk("http https httpie", "installs a package, which runs its scripts", "plugins install|cli plugins install"),
    Risk("http https httpie", "installs a package, which runs its scripts", "plugins upgrade|cli plugins upgrade"),
    Risk("ftp", CHOICE, word=r"\|.*"),
    Risk("mail mailx", CHOICE, options="-S -X -Y --exec -:"),
    Risk("mail mailx", CHOICE, word=r"(?s)(.*\n)?~[!|:<r].*", reads=True),
    Risk("rclone", _LISTENS, "serve|rcd"),
    Risk("rclone", _LISTENS, options="--rc --rc-addr"),
    Risk("rclone", _SETTINGS, options="--config", value=r"(?!/dev/null$).+"),
    Risk("rclone", CHOICE, word=r"--[\w-]+-command(=.*)?"),
    Risk("rclone", _PUBLISHES, "link"),
    Risk("rclone", "changes where files are sent to", "config create|config update|config delete|config password"),
    Risk("rclone", _SERVICES, "mount|selfupdate"),
    Risk("telnetd ftpd inetd tcpsvd udpsvd sshd dropbear vsftpd tftpd", _LISTENS),
    Risk("udhcpc udhcpc6", CHOICE, options="-s"),
    # containers
    Risk(_CONTAINERS, _PUBLISHES, options="--push"),
    Risk(_CONTAINERS, _PUBLISHES, "manifest push|compose push|image scp|trust sign|trust revoke|trust signer"),
    Risk("docker-compose podman-compose", _PUBLISHES, "push"),
    Risk("docker podman", _STOPS, "compose rm|compose kill"),
    Risk("docker-compose podman-compose", _STOPS, "rm|kill"),
    Risk(_CONTAINERS, _ESCAPES, options="--device-cgroup-rule --volumes-from --cgroup-parent"),
    Risk(_CONTAINERS, _ESCAPES, word=r"(--opt=|-o)?(.*,)?device=/.*"),
    Risk(
        "docker-compose podman-compose",
        _ESCAPES,
        word=r"(-v|--volume=)?(/((etc|root|home|var|usr|proc|sys|dev)/?)?|~|\$HOME):.*",
    ),
    Risk("docker", _SETTINGS, options="--config", value=r"[./~$].*"),
    Risk(_CONTAINERS, "changes which machine runs the containers", "context use|context create|context import"),
    Risk(_CONTAINERS, _CLOUD, "swarm init|swarm join|swarm update|swarm ca|swarm unlock|node update|node promote"),
    Risk(_CONTAINERS, _CLOUD, "node demote|service create|service update|service scale|service rollback|stack deploy"),
    Risk(_CONTAINERS, _LOADS, "plugin create|plugin set|plugin disable"),
    Risk("podman", CHOICE, "container runlabel|machine ssh"),
    Risk("podman", "leaves the surroundings that it was given", "unshare"),
    Risk("podman", _LISTENS, "system service"),
    Risk("podman", _STOPS, "stop|pause|restart|kill|pod stop|pod pause|pod restart", "-a --all"),
    Risk("podman", _STOPS, options="--replace --destroy"),
    Risk("podman", "changes which images are trusted", "image trust set"),
    Risk("podman", _SETTINGS, options="--module --cgroup-conf --runtime-flag --network-config-dir --cpp-flag"),
    Risk("podman", _TELLS, options="--env-host"),
    Risk("podman", _SERVICES, "system connection add|system connection remove|system connection default|auto-update"),
    Risk("podman", _SERVICES, "machine init|machine set|machine start|machine stop|system migrate|system renumber"),
    # clusters and clouds
    Risk("kubectl oc", CHOICE, "config set-credentials|config set|config set-cluster|config rename-context"),
    Risk("kubectl oc", _TELLS, "config view", "--raw --flatten"),
    Risk("kubectl oc", _TELLS, "create token"),
    Risk("kubectl oc helm", _SETTINGS, options="--kubeconfig", value=_KUBECONFIG),
    Risk("kubectl oc", _LISTENS, "proxy|port-forward", "--address --accept-hosts --disable-filter -w --www"),
    Risk("kubectl oc", "runs with another user's rights", options="--as --as-group --as-uid"),
    Risk("kubectl oc", "sends its token to another machine", options="-s --server", value=_ELSEWHERE),
    Risk("kubectl oc", CHOICE, options="--enable-exec --enable-alpha-plugins --helm-command"),
    Risk("kubectl", _LOADS, "krew install|krew upgrade"),
    Risk("kubectl oc", _CLOUD, "debug", "--replace"),
    Risk("kubectl oc", _CLOUD, "create", "--raw"),
    Risk(
        "kubectl oc", _CLOUD, "set|uncordon|rollout restart|rollout pause|rollout resume|create role|create clusterrole"
    ),
    Risk("gcloud", "reads its options from a file", options="--flags-file"),
    Risk("gcloud", "runs with another user's rights", options="--impersonate-service-account"),
    Risk(
        "ansible ansible-playbook", CHOICE, options="--vault-password-file --vault-pass-file --vault-id --playbook-dir"
    ),
    Risk("ansible ansible-playbook", CHOICE, options="--become-password-file --become-pass-file"),
    Risk("ansible ansible-playbook", CHOICE, options="--connection-password-file --conn-pass-file"),
    Risk("helm", "sends its token to another machine", options="--kube-apiserver"),
    Risk("helm", "runs with another user's rights", options="--kube-as-user --kube-as-group"),
    Risk("helm", _PUBLISHES, "push"),
    Risk("aws", "sends its keys to another machine", options="--endpoint-url", value=_ELSEWHERE),
    Risk("gsutil", _CLOUD, "rsync", "-d"),
    Risk("gsutil", _CLOUD, word="rsync", options="-d"),
    Risk("gsutil", _PUBLISHES, word=r"all(Authenticated)?Users(:.*)?|public-read(-write)?"),
    Risk("fly flyctl", CHOICE, "ssh console|ssh sftp|console|machine exec|machine run"),
    Risk("fly flyctl", _CLOUD, "secrets set|secrets unset|secrets import|scale|machine kill|machine update"),
    Risk("heroku", _CLOUD, word=r"(pg|ps|config|addons|domains|features|access|webhooks):(?!info|index|$)\w+"),
    Risk("heroku", CHOICE, "run|run:detached|ps:exec"),
    Risk("vercel", _PUBLISHES, options="--prod"),
    Risk("bq", _CLOUD, "rm|cp|mk|load|update|insert|cancel"),
    Risk("bq", _CLOUD, word=r"(?is).*\b(delete\s+from|update\s.*\sset|merge\s+into|insert\s+into)\b.*", reads=True),
    # things that other people see
    Risk("gh", _TELLS, "auth status", "-t --show-token"),
    Risk("gh", _REWRITES, "pr close", "-d --delete-branch"),
    Risk("gh", _REWRITES, "pr checkout", "-f --force"),
    Risk("gh", _PUBLISHES, "pr review", "-a --approve"),
    Risk("gh", _PUBLISHES, f"repo fork|run cancel|run rerun|gpg-key delete|issue lock|issue develop|{_GH_PROJECT}"),
    Risk("gh", _PUBLISHES, "codespace stop|codespace rebuild|codespace edit|codespace ports|agent-task create"),
    Risk("gh", CHOICE, "repo clone|gist clone|repo fork", word=_FROM_GIT),
    # the machine
    Risk("ip", _CHANGES_NETWORK, _IP),
    Risk("openvpn", _CHANGES_NETWORK, unless=_SHOWS_ONLY),
    Risk("apache2 apache2ctl apachectl httpd", _SERVICES, options="-k -X"),
    Risk("apache2 apache2ctl apachectl httpd", _SERVICES, word="start|stop|restart|graceful|graceful-stop"),
    Risk("uclampset", "changes the running kernel", options="-s --system"),
    Risk("date", "changes the clock of the machine", options="-s --set"),
    Risk("date", "changes the clock of the machine", word=r"\d{8}(\d\d){0,2}(\.\d\d)?", unless=_DATES),
    Risk("hwclock", "changes the clock of the machine", options="-w -s -a --systohc --hctosys --set --systz --adjust"),
    Risk("hwclock", "changes the clock of the machine", options="--setepoch --param-set --update-drift"),
    Risk("journalctl", "removes what the machine has recorded", options="--setup-keys --flush --relinquish-var"),
    Risk("journalctl", "changes what the machine records", options="--update-catalog --smart-relinquish-var"),
    # packages
    Risk("zypper dnf yum brew apt apt-get aptitude", _REMOVES, "rm|autopurge|auto-remove"),
    Risk("aptitude", _REMOVES, "remove|purge"),
    Risk("apt apt-get aptitude", _REMOVES, "install", word=r"[a-z0-9][a-z0-9.+-]+-"),
    Risk("apt apt-get aptitude", _REMOVES, options="--purge --auto-remove --autoremove --purge-unused"),
    Risk("apt apt-get aptitude", _PACKAGES, options="--allow-downgrades --allow-change-held-packages"),
    Risk("apt-get apt", "runs what it has just downloaded", "source", "-b --compile --build"),
    Risk("apt", _SOURCES, "edit-sources"),
    Risk("zypper", _SOURCES, "addrepo|ar|removerepo|rr|modifyrepo|mr|renamerepo|nr|addservice|as"),
    Risk("zypper", "installs packages without a checked signature", options="--gpg-auto-import-keys"),
    Risk("dnf yum", _REMOVES, options="--allowerasing"),
    Risk("dnf yum", _PACKAGES, "history undo|history rollback|history redo|swap|distro-sync"),
    Risk("dnf yum", _SOURCES, "config-manager|copr enable|copr remove"),
    Risk("brew", _SERVICES, "services start|services stop|services restart|services run"),
    Risk("apk", _SOURCES, options="-X --repository --repositories-file --keys-dir", value=r".*[:/].*"),
    Risk("conda", _SOURCES, "config", "--add --append --prepend --set", r".*(channel|proxy|ssl_verify|url).*|.*://.*"),
    Risk("dpkg", _PACKAGES, options=_DPKG),
    Risk("rpm", "changes whose packages are trusted", options="--import"),
    Risk("rpm", _PACKAGES, options="--initdb --rebuilddb --setperms --setugids --setcaps --restore"),
    Risk("pacman", _PACKAGES, options="--overwrite --dbonly", word=r".*"),
    Risk("pacman", _PACKAGES, word=r"-D\w*|--database"),
    Risk("snap", _SERVICES, "start|stop|restart|enable|disable|connect|disconnect|set|unset|revert|reboot|alias"),
    Risk("snap", _SERVICES, "unalias|prefer|switch|forget|restore|try"),
    Risk("snap", _TELLS, "recovery", "--show-keys"),
    # secrets that a program keeps, and those of other programs
    Risk("pass gopass", _TELLS, "show|otp|grep"),
    Risk("op", _TELLS, "read|inject|item get|document get|connect token"),
    Risk("vault", _TELLS, "read|kv get|print token|unwrap|token lookup"),
    Risk("chamber", _TELLS, "read|export|env|history"),
    Risk("doppler infisical", _TELLS, "secrets|export"),
    Risk("ansible-vault", _TELLS, "view|decrypt|edit"),
    Risk("bw rbw", _TELLS, "get|list|export"),
    Risk("aws", _TELLS, "configure get|eks get-token|iam create-access-key|configure export-credentials"),
    Risk("gcloud", _TELLS, "secrets versions access|config config-helper|iam service-accounts keys"),
    Risk("az", _TELLS, word="keys|show-keys|list-credentials|get-credentials"),
    Risk("glab", _TELLS, "auth status", "-t --show-token"),
    Risk("heroku", _TELLS, "auth:token|config|config:get"),
    Risk("fly flyctl", _TELLS, "auth token|tokens create"),
    Risk("vercel", _TELLS, "env pull"),
    Risk("netlify", _TELLS, word="env:(list|get|clone)"),
    Risk("railway", _TELLS, "variables"),
    Risk("npm pnpm yarn", _TELLS, "config get", word=r"(?i).*(_auth|token|password|key).*"),
    Risk("oc", _TELLS, "whoami", "-t --show-token"),
    Risk("pulumi", _TELLS, options="--show-secrets"),
    Risk("terraform tofu", _TELLS, "state pull"),
    Risk("terraform tofu", _TELLS, "output|show", "-json -raw"),
    Risk("rails", _TELLS, word="(credentials|secrets):(show|edit)"),
    Risk("age", _TELLS, options="-d --decrypt"),
    Risk("getent", _TELLS, "shadow|gshadow"),
    Risk("secret-tool", _TELLS, "lookup|search"),
    Risk("keyring", _TELLS, "get"),
    Risk("kwallet-query", _TELLS, options="-r --read-password"),
    Risk("security", _TELLS, "find-generic-password|find-internet-password|dump-keychain|export"),
)
