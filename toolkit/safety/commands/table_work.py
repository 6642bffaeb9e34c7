"""Table of what makes a program dangerous: repositories, data, containers, clouds, packages."""

from __future__ import annotations

from .table_system import Row

__all__ = ["WORK"]

_LOSES = "throws away work that is not committed"
_REWRITES = "rewrites or deletes what others may have"
_GIT_RUNS = "changes what git runs or where it pushes to"
# Keys of git 2.39's configuration. Git runs their value, or the value says where such values or programs are.
_GIT_KEYS = (
    r"(?i:core\.(hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy|alternaterefscommand|attributesfile|worktree)"
    r"|alias\..+|credential\..*|diff\..*|merge\..*\.driver|filter\..*|gpg\..*|sequence\.editor|url\..*|include.*\.path"
    r"|protocol\..*|remote\..*|(upload|receive)pack\..*|pager\..*|(difftool|mergetool|browser|web|man|guitool|instaweb)\..*"
    r"|interactive\.difffilter|init\.templatedir|trailer\..*\.(command|cmd)|tar\..*\.command|imap\.tunnel"
    r"|submodule\..*\.(update|url)|http\.(.*\.)?(sslverify|cookiefile|savecookies|sslca\w+|curloptresolve)|sendemail\..*(cmd|server)|help\.browser|http\..*proxy|safe\..*|extensions\..*"
    r"|gc\..*hook|maintenance\..*|clean\.requireforce|branch\..*\.(push)?remote|lfs\..*)"
)
_CHOICE = "runs a program of the command's choice"
_DATA = "destroys data"
_SQL = (
    r"(?is).*\b(drop\s+(database|table|schema|user|role|index|view)|truncate\s+\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(;|$)|alter\s+user|grant\s+all).*"
)
_TELLS = "gives away secrets"
_ESCAPES = "reaches out of its container"
_CLOUD = "deletes or changes what runs in a cloud"
_PUBLISHES = "publishes to everybody, or changes what everybody sees"
_ANYBODY = "installs what anybody may have put there"
_ADDRESS = r"(?i:(git|hg|svn|bzr)\+.*|(https?|ftp|git|ssh|file)://.*)"

WORK: tuple[Row, ...] = (
    # git
    Row("git", _REWRITES, "push", "-f --force --force-with-lease --force-if-includes --mirror --delete -d --prune"),
    Row("git", _REWRITES, "push", word=r"\+.+|:.+"),
    Row("git", _LOSES, "reset", "--hard --merge --keep"),
    Row("git", _LOSES, "clean", "-f --force"),
    Row("git", _LOSES, "checkout", "-f --force"),
    Row("git", _LOSES, "checkout", word=r"\.|\./|\*|:/"),
    Row("git", _LOSES, "restore", word=r"\.|\./|\*|:/", unless="-S --staged"),
    Row("git", _LOSES, "restore", "-W --worktree", word=r"\.|\./|\*|:/"),
    Row("git", _LOSES, "switch", "-f --force --discard-changes"),
    Row("git", _LOSES, "stash clear|stash drop"),
    Row("git", _LOSES, "worktree remove", "-f --force"),
    Row("git", _REWRITES, "branch", "-D -f --force"),
    Row("git", _REWRITES, "tag", "-d --delete -f --force"),
    Row("git", _REWRITES, "reflog expire|reflog delete|prune|update-ref|filter-branch|filter-repo|replace"),
    Row("git", _REWRITES, "gc", "--prune"),
    Row("git", _REWRITES, "symbolic-ref", "-d --delete"),
    Row("bfg git-filter-repo", _REWRITES),
    Row("git", "skips the checks of the repository", options="--no-verify"),
    Row("git", "skips the checks of the repository", "commit", word=r"-[apsvqeiz]*n[A-Za-z]*"),
    Row("git", _GIT_RUNS, "config", word=_GIT_KEYS, unless="--get --get-all --get-regexp --get-urlmatch -l --list"),
    Row("git", _GIT_RUNS, word=rf"(--config=|--config-env=|-c)?{_GIT_KEYS}=.*"),
    Row("git", _GIT_RUNS, "config", "--global --system --unset-all --remove-section -e --edit --replace-all"),
    Row("git", _GIT_RUNS, "remote set-url|remote remove|remote rm|remote add|remote rename"),
    Row("git", _CHOICE, options="--upload-pack --receive-pack --extcmd --template --sendmail-cmd --to-cmd --cc-cmd"),
    Row("git", _CHOICE, options="--header-cmd --access-hook --browser --ext-diff --open-files-in-pager"),
    Row("git", _CHOICE, word=r"--exec-path=.+|ext::.*|-O.+"),
    Row("git", _CHOICE, "grep", "-O"),
    Row("git", _CHOICE, "difftool|mergetool", "-x"),
    Row("git", _CHOICE, "push|fetch|pull|clone|archive|ls-remote|fetch-pack|send-pack", "--exec"),
    Row("git", _CHOICE, "clone", "-u"),
    Row("git", _CHOICE, "instaweb", "-b"),
    Row("git", _CHOICE, "send-email", "--smtp-server", value=r"[/~.].*"),
    Row("git", _CHOICE, "merge-index|hook run|web--browse|daemon|shell|credential"),
    Row("git", _CHOICE, "remote-ext|remote-fd|for-each-repo|credential-store|credential-cache|http-fetch"),
    Row("git", _PUBLISHES, "send-email|imap-send"),
    Row("git", "changes what runs by the clock", "maintenance start|maintenance register"),
    # other repositories
    Row("hg", _LOSES, "update|up|checkout|co", "-C --clean"),
    Row("hg", _LOSES, "revert", "-a --all --no-backup -C"),
    Row("hg", _LOSES, "purge|clean|strip|rollback|debugstrip", unless="-p --print"),
    Row("hg", _REWRITES, "push", "-f --force"),
    Row("hg", _REWRITES, "histedit|prune"),
    Row("svn", _LOSES, "revert", "-R --recursive --depth"),
    Row("svn", _LOSES, "cleanup", "--remove-unversioned --remove-ignored"),
    # databases
    Row("psql mysql mariadb sqlite3 sqlcmd sqlplus clickhouse-client", _DATA, word=_SQL, reads=True),
    Row("duckdb cockroach bq snowsql", _DATA, word=_SQL, reads=True),
    Row("dropdb dropuser pg_dropcluster", _DATA),
    Row(
        "mysqladmin mariadb-admin",
        _DATA,
        word=r"drop|shutdown|kill|(old-)?password|flush-.*|reload|refresh|st(art|op)-.*",
    ),
    Row("mysqldump mariadb-dump", _DATA, options="--delete-master-logs"),
    Row("rclone", _DATA, "delete|purge|deletefile|rmdirs|cleanup|dedupe|sync|move|moveto|bisync"),
    Row("rclone", "gives away secrets", "config show|config dump|config redacted"),
    Row("redis-cli", _DATA, word="(?is)(flushall|flushdb|shutdown|config|eval).*", reads=True),
    Row("mongo mongosh", _DATA, word=r"(?is).*(dropDatabase|\.drop\(|deleteMany|remove\().*", reads=True),
    # containers
    Row("docker podman nerdctl", _ESCAPES, options="--privileged --cap-add --device --security-opt"),
    Row("docker podman nerdctl", _ESCAPES, word=r".*docker\.sock.*"),
    Row(
        "docker podman nerdctl", _ESCAPES, options="--pid --net --network --ipc --uts --userns --cgroupns", value="host"
    ),
    Row(
        "docker podman nerdctl",
        _ESCAPES,
        word=r"(-v|--volume=)?/:.*|.*(source|src)=/((etc|root|home|var|usr|proc|sys|dev)/?)?(,.*)?",
    ),
    Row(
        "docker podman nerdctl", _ESCAPES, word=r"(-v|--volume=)?(/(etc|root|home|var|usr|proc|sys|dev)|~|\$HOME)/?:.*"
    ),
    Row("docker podman nerdctl", "removes containers or data", "rm|rmi|kill|system prune|volume rm|volume prune"),
    Row("docker podman nerdctl", "removes containers or data", "image rm|image prune|container rm|container prune"),
    Row("docker podman nerdctl", "removes containers or data", "network rm|network prune|builder prune|swarm leave"),
    Row(
        "docker podman nerdctl", "removes containers or data", "container kill|context rm|plugin rm|config rm|secret rm"
    ),
    Row("docker podman nerdctl", "removes containers or data", "stack rm|service rm|node rm|buildx prune|buildx rm"),
    Row("podman", "removes containers or data", "pod rm|pod prune|pod kill|machine rm|system reset|kube down"),
    Row("docker podman", "removes data", "compose down", "-v --volumes --rmi"),
    Row("docker-compose podman-compose", "removes data", "down", "-v --volumes --rmi"),
    Row("docker podman", _PUBLISHES, "push|image push"),
    # clouds
    Row("terraform tofu terragrunt pulumi", _CLOUD, "destroy|apply|up|import|taint|force-unlock|workspace delete"),
    Row("terraform tofu terragrunt pulumi", _CLOUD, "state rm|state mv|state push|stack rm|run-all|refresh|untaint"),
    Row("terraform tofu", _CLOUD, "state replace-provider|login"),
    Row("kubectl oc", _CLOUD, "delete|drain|cordon|replace|patch|scale|edit|taint|rollout undo|adm"),
    Row("kubectl oc", _CLOUD, "apply", "--prune --force"),
    Row(
        "kubectl oc",
        _CLOUD,
        "config delete-context|config delete-cluster|config delete-user|config unset|auth reconcile",
    ),
    Row("kubectl oc", _CLOUD, "certificate approve|certificate deny|create clusterrolebinding|create rolebinding"),
    Row("kubectl oc", _ESCAPES, options="--privileged"),
    Row("kubectl oc", _ESCAPES, word=r"(?is).*(hostPID|hostNetwork|hostIPC|hostPath|privileged\W+true).*"),
    Row("kubectl oc", _ESCAPES, "debug", word="nodes?/.*"),
    Row(
        "kubectl oc",
        "runs what anybody may have put there",
        "apply|create|replace",
        word=rf"(-[fk]|--(filename|kustomize)=)?{_ADDRESS}",
    ),
    Row("kubectl oc", _TELLS, "get", "-o --output --template", r"secrets?(/.*|,.*)?", value=r"(?!wide|name).+"),
    Row("helm", _CLOUD, "uninstall|delete|rollback"),
    Row("aws", _CLOUD, word=r"rm|rb|mv|sync|run-instances|invoke|get-secret-value|get-login-password"),
    Row("aws", _CLOUD, word=r"(delete|terminate|stop|create|put|attach|detach|update|modify|deregister|revoke)-.*"),
    Row("aws", _CLOUD, word=r"authorize-.*|export-credentials|assume-role.*|reset-.*|disable-.*|reboot-.*|cancel-.*"),
    Row(
        "aws", _CLOUD, word=r"(remove|purge|restore|replace|release|disassociate|associate|register|enable|add|set)-.*"
    ),
    Row("aws", _CLOUD, word=r"send-command|start-(?!query-execution|query).*|execute-.*|presign"),
    Row(
        "aws", _TELLS, word=r"get-session-token|get-federation-token|decrypt|get-authorization-token|--with-decryption"
    ),
    Row("aws", _CHOICE, "configure set", word=r"(?i).*(credential_process|endpoint|aws_).*"),
    Row("az", _TELLS, word=r"get-access-token|list-keys|show-connection-string"),
    Row("az", _TELLS, "keyvault secret show|keyvault secret download"),
    Row("az", _CLOUD, "vm run-command|webapp ssh|aks command"),
    Row("gcloud gsutil az doctl flyctl fly heroku vercel", _CLOUD, word=r"(.*:)?(delete|destroy|rm|rb|remove|purge)"),
    Row(
        "netlify firebase eksctl linode-cli hcloud ibmcloud oci", _CLOUD, word=r"(.*:)?(delete|destroy|rm|remove|purge)"
    ),
    Row("gcloud gsutil az doctl flyctl fly heroku vercel netlify firebase", _CLOUD, word="deploy|reset|stop"),
    Row("gcloud", _CLOUD, word="(add|set|remove)-iam-policy.*|print-(access|identity)-token"),
    # publishing
    Row("npm pnpm yarn bun", _PUBLISHES, "publish|unpublish|deprecate|owner|adduser|login|token|npm publish"),
    Row(
        "npm", _PUBLISHES, "dist-tag add|dist-tag rm|access set|access grant|access revoke|hook add|hook rm|profile set"
    ),
    Row("npm", _PUBLISHES, "team create|team destroy|team add|team rm|org set|org rm|undeprecate|trust"),
    Row("twine flit poetry uv hatch pdm maturin", _PUBLISHES, "upload|publish"),
    Row("cargo", _PUBLISHES, "yank|login|owner"),
    Row("cargo", _PUBLISHES, "publish", unless="-n --dry-run"),
    Row("gem", _PUBLISHES, "push|yank"),
    Row("mvn gradle gradlew", _PUBLISHES, word="deploy|publish|release:perform|uploadArchives"),
    Row("dotnet nuget", _PUBLISHES, "push|nuget push"),
    Row("gh", _PUBLISHES, "repo delete|repo archive|repo rename|repo edit|repo create|release create|release delete"),
    Row("gh", _PUBLISHES, "release edit|release upload|pr merge|issue delete|run delete|auth token|workflow run"),
    Row("gh", _PUBLISHES, "secret set|secret delete|secret remove|ssh-key add|ssh-key delete|gpg-key add|alias set"),
    Row("gh", _PUBLISHES, "gist create|gist edit|gist delete|label delete|variable set|variable delete|cache delete"),
    Row("gh", _PUBLISHES, "codespace delete|codespace create|codespace ssh|codespace cp|project delete|issue transfer"),
    Row("gh", _PUBLISHES, "workflow disable|workflow enable|repo deploy-key|repo sync|repo unarchive"),
    Row("gh", _PUBLISHES, "auth login|auth logout|auth refresh|auth setup-git"),
    Row("gh", _PUBLISHES, "api", "-X --method -f -F --field --raw-field --input"),
    Row("glab hub", _PUBLISHES, word="delete|archive|transfer|merge|release|token"),
    # packages from an unusual source
    Row("pip pip3 pipx", _ANYBODY, "install|download|wheel|run|inject", word=_ADDRESS),
    Row(
        "pip pip3 pipx",
        _ANYBODY,
        "install|download|wheel|run|inject",
        "-i --index-url --extra-index-url --find-links -f --trusted-host",
    ),
    Row("pipx", _ANYBODY, options="--pip-args", value=r"(?s).*(index-url|find-links|trusted-host).*"),
    Row("uv", _ANYBODY, "pip install|add|tool install|tool run|run", word=_ADDRESS),
    Row(
        "uv",
        _ANYBODY,
        "pip install|add|tool install|run",
        "--index-url --extra-index-url --index --default-index --find-links",
    ),
    Row("conda poetry pdm", _ANYBODY, "install|add", word=_ADDRESS),
    Row("npm pnpm yarn bun", _ANYBODY, "install|i|add|exec|x|dlx|ci", word=rf"{_ADDRESS}|--registry.*"),
    Row("npx bunx", _ANYBODY, word=rf"{_ADDRESS}|--registry.*"),
    Row("deno bun go", _ANYBODY, "run|install|compile|eval|x|test|serve", word=_ADDRESS),
    Row("gem cargo go code", _ANYBODY, "install|get|add", word=rf"(--[\w-]+=)?{_ADDRESS}"),
    Row("code codium", _ANYBODY, options="--install-extension"),
    Row("apt apt-get dnf yum rpm dpkg brew", _ANYBODY, word=rf"(-\w+)?{_ADDRESS}"),
)
