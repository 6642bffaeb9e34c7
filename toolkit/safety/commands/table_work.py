"""Table of what makes a program dangerous: repositories, data, containers, clouds, packages."""

from __future__ import annotations

from .table_system import CHOICE, GIT_RUNS, Risk

__all__ = ["WORK_RISKS"]

_LOSES = "throws away work that is not committed"
_REWRITES = "rewrites or deletes what others may have"
# Keys of git 2.39's configuration. Git runs their value, or the value says where such values or programs are.
_GIT_KEYS = (
    r"(?i:core\.(hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy|alternaterefscommand|attributesfile|worktree)"
    r"|alias\..+|credential\..*|diff\..*|merge\..*\.driver|filter\..*|gpg\..*|sequence\.editor|url\..*|include.*\.path"
    r"|protocol\..*|remote\..*|(upload|receive)pack\..*|pager\..*|(difftool|mergetool|browser|web|man|guitool|instaweb)\..*"
    r"|interactive\.difffilter|init\.templatedir|trailer\..*\.(command|cmd)|tar\..*\.command|imap\.tunnel"
    r"|submodule\..*\.(update|url)|http\.(.*\.)?(sslverify|cookiefile|savecookies|sslca\w+|curloptresolve)|sendemail\..*(cmd|server)|help\.browser|http\..*proxy|safe\..*|extensions\..*"
    r"|gc\..*hook|maintenance\..*|clean\.requireforce|branch\..*\.(push)?remote|lfs\..*)"
)
_DATA = "destroys data"
_SQL = (
    r"(?is).*\b(drop\s+(database|table|schema|user|role|index|view)|truncate\s+\w"
    r"|delete\s+from\s+[\w.\"`]+\s*(;|$)|alter\s+user|grant\s+all).*"
)
_TELLS = "gives away secrets"
_CONTAINERS = "docker podman nerdctl"
_REMOVES = "removes containers or data"
_ESCAPES = "reaches out of its container"
_CLOUD = "deletes or changes what runs in a cloud"
_PUBLISHES = "publishes to everybody, or changes what everybody sees"
_RUNS_UNKNOWN = "runs what anyone may have published"
_ANYBODY = "installs what anyone may have published"
_ADDRESS = r"(?i:(git|hg|svn|bzr)\+.*|(https?|ftp|git|ssh|file)://.*|(github|gitlab|bitbucket|gist|tarball):.*)"

WORK_RISKS: tuple[Risk, ...] = (
    # git
    Risk("git", _REWRITES, "push", "-f --force --force-with-lease --force-if-includes --mirror --delete -d --prune"),
    Risk("git", _REWRITES, "push", word=r"\+.+|:.+"),
    Risk("git", _LOSES, "reset", "--hard --merge --keep"),
    Risk("git", _LOSES, "clean", "-f --force"),
    Risk("git", _LOSES, "checkout", "-f --force"),
    Risk("git", _LOSES, "checkout", word=r"\.|\./|\*|:/"),
    Risk("git", _LOSES, "restore", word=r"\.|\./|\*|:/", unless="-S --staged"),
    Risk("git", _LOSES, "restore", "-W --worktree", word=r"\.|\./|\*|:/"),
    Risk("git", _LOSES, "switch", "-f --force --discard-changes"),
    Risk("git", _LOSES, "stash clear|stash drop"),
    Risk("git", _LOSES, "worktree remove", "-f --force"),
    Risk("git", _REWRITES, "branch", "-D -f --force"),
    Risk("git", _REWRITES, "tag", "-d --delete -f --force"),
    Risk("git", _REWRITES, "reflog expire|reflog delete|prune|update-ref|filter-branch|filter-repo|replace"),
    Risk("git", _REWRITES, "gc", "--prune"),
    Risk("git", _REWRITES, "symbolic-ref", "-d --delete"),
    Risk("bfg git-filter-repo", _REWRITES),
    Risk("git", "skips the checks of the repository", options="--no-verify"),
    Risk("git", "skips the checks of the repository", "commit", word=r"-[apsvqeiz]*n[A-Za-z]*"),
    Risk("git", GIT_RUNS, "config", word=_GIT_KEYS, unless="--get --get-all --get-regexp --get-urlmatch -l --list"),
    Risk("git", GIT_RUNS, word=rf"(--config=|--config-env=|-c)?{_GIT_KEYS}=.*"),
    Risk("git", GIT_RUNS, "config", "--global --system --unset-all --remove-section -e --edit --replace-all"),
    Risk("git", GIT_RUNS, "remote set-url|remote remove|remote rm|remote add|remote rename"),
    Risk("git", CHOICE, options="--upload-pack --receive-pack --extcmd --template --sendmail-cmd --to-cmd --cc-cmd"),
    Risk("git", CHOICE, options="--header-cmd --access-hook --browser --ext-diff --open-files-in-pager"),
    Risk("git", CHOICE, word=r"--exec-path=.+|ext::.*|-O.+"),
    Risk("git", CHOICE, "grep", "-O"),
    Risk("git", CHOICE, "filter-branch"),
    Risk("git", CHOICE, "difftool|mergetool", "-x"),
    Risk("git", CHOICE, "push|fetch|pull|clone|archive|ls-remote|fetch-pack|send-pack", "--exec"),
    Risk("git", CHOICE, "clone", "-u"),
    Risk("git", CHOICE, "instaweb", "-b"),
    Risk("git", CHOICE, "send-email", "--smtp-server", value=r"[/~.].*"),
    Risk("git", CHOICE, "merge-index|hook run|web--browse|daemon|shell|credential"),
    Risk("git", CHOICE, "remote-ext|remote-fd|for-each-repo|credential-store|credential-cache|http-fetch"),
    Risk("git", _PUBLISHES, "send-email|imap-send"),
    Risk("git", "changes what runs by the clock", "maintenance start|maintenance register"),
    # other repositories
    Risk("hg", _LOSES, "update|up|checkout|co", "-C --clean"),
    Risk("hg", _LOSES, "revert", "-a --all --no-backup -C"),
    Risk("hg", _LOSES, "purge|clean|strip|rollback|debugstrip", unless="-p --print"),
    Risk("hg", _REWRITES, "push", "-f --force"),
    Risk("hg", _REWRITES, "histedit|prune"),
    Risk("svn", _LOSES, "revert", "-R --recursive --depth"),
    Risk("svn", _LOSES, "cleanup", "--remove-unversioned --remove-ignored"),
    Risk("svn", _LOSES, "delete|del|remove|rm"),
    Risk("p4 bzr", _LOSES, "revert|obliterate"),
    # databases
    Risk("psql mysql mariadb sqlite3 sqlcmd sqlplus clickhouse-client", _DATA, word=_SQL, reads=True),
    Risk("duckdb cockroach bq snowsql", _DATA, word=_SQL, reads=True),
    Risk("dropdb dropuser pg_dropcluster", _DATA),
    Risk(
        "mysqladmin mariadb-admin",
        _DATA,
        word=r"d(?!eb)\w*|shut\w*|sh|k\w*|(old-)?p(?!ing|roc)\w+|f[\w-]*|re[lf]\w*|st(art|op)[\w-]*",
    ),
    Risk("redis-cli", _DATA, "del|DEL|unlink|UNLINK"),
    Risk("pg_restore", _DATA, options="-c --clean"),
    Risk("cqlsh", _DATA, word=_SQL, reads=True),
    Risk("django-admin", _DATA, "flush|reset_db"),
    Risk("flask", _DATA, "db downgrade|db drop"),
    Risk("prisma", _DATA, "migrate reset|db execute"),
    Risk("prisma", _DATA, "db push", "--accept-data-loss --force-reset"),
    Risk("dotnet", _DATA, "ef database drop"),
    Risk("flyway", _DATA, "clean"),
    Risk("atlas", _DATA, "schema clean"),
    Risk("hasura", _DATA, "metadata clear"),
    Risk("conda mamba micromamba", "removes software", "env remove"),
    Risk("conda mamba micromamba", "removes software", "remove|uninstall", "--all"),
    Risk("rails rake", _DATA, word=r"db:(drop|reset|purge|truncate|schema:load|structure:load)\S*"),
    Risk("php", _DATA, word=r"migrate:(fresh|reset|refresh)|db:wipe"),
    Risk("borg restic", _DATA, "delete|prune|forget|recreate"),
    Risk("mysqldump mariadb-dump", _DATA, options="--delete-master-logs"),
    Risk("rclone", _DATA, "delete|purge|deletefile|rmdirs|cleanup|dedupe|sync|move|moveto|bisync"),
    Risk("rclone", "gives away secrets", "config show|config dump|config redacted"),
    Risk("redis-cli", _DATA, word="(?is)(flushall|flushdb|shutdown|config|eval).*", reads=True),
    Risk("mongo mongosh", _DATA, word=r"(?is).*(dropDatabase|\.drop\(|deleteMany|remove\().*", reads=True),
    # containers
    Risk(_CONTAINERS, _ESCAPES, options="--privileged --cap-add --device --security-opt"),
    Risk(_CONTAINERS, _ESCAPES, word=r".*docker\.sock.*"),
    Risk(_CONTAINERS, _ESCAPES, options="--pid --net --network --ipc --uts --userns --cgroupns", value="host"),
    Risk(
        _CONTAINERS,
        _ESCAPES,
        word=r"(-v|--volume=)?/:.*|.*(source|src)=/((etc|root|home|var|usr|proc|sys|dev)/?)?(,.*)?",
    ),
    Risk(_CONTAINERS, _ESCAPES, word=r"(-v|--volume=)?(/(etc|root|home|var|usr|proc|sys|dev)|~|\$HOME)/?:.*"),
    Risk(_CONTAINERS, _REMOVES, "rm|rmi|kill|system prune|volume rm|volume prune"),
    Risk(_CONTAINERS, _REMOVES, "image rm|image prune|container rm|container prune"),
    Risk(_CONTAINERS, _REMOVES, "network rm|network prune|builder prune|swarm leave"),
    Risk(_CONTAINERS, _REMOVES, "container kill|context rm|plugin rm|config rm|secret rm"),
    Risk(_CONTAINERS, _REMOVES, "stack rm|service rm|node rm|buildx prune|buildx rm"),
    Risk("podman", _REMOVES, "pod rm|pod prune|pod kill|machine rm|system reset|kube down"),
    Risk("docker podman", "removes data", "compose down", "-v --volumes --rmi"),
    Risk("docker-compose podman-compose", "removes data", "down", "-v --volumes --rmi"),
    Risk("docker podman", _PUBLISHES, "push|image push"),
    # clouds
    Risk("vagrant lxc incus", _REMOVES, "destroy|delete|box remove|storage delete|image delete"),
    Risk("serverless sls", _CLOUD, "remove|rollback"),
    Risk("mc b2 s3cmd rancher pass gopass", _CLOUD, "rm|rb|del|delete|remove|delete-bucket|purge"),
    Risk("railway ecs-cli", _CLOUD, "down|delete"),
    Risk("op", _CLOUD, "item delete|vault delete|document delete|user delete|group delete"),
    Risk("vault", _CLOUD, "delete|secrets disable|auth disable|token revoke|lease revoke|kv delete|kv destroy"),
    Risk("nuget", _PUBLISHES, "delete|push"),
    Risk("dotnet", _PUBLISHES, "nuget delete|nuget push"),
    Risk("oras cosign", _PUBLISHES, "push|sign|attach|attest"),
    Risk("terraform tofu terragrunt pulumi", _CLOUD, "destroy|apply|up|import|taint|force-unlock|workspace delete"),
    Risk("terraform tofu terragrunt pulumi", _CLOUD, "state rm|state mv|state push|stack rm|run-all|refresh|untaint"),
    Risk("terraform tofu", _CLOUD, "state replace-provider|login"),
    Risk("kubectl oc", _CLOUD, "delete|drain|cordon|replace|patch|scale|edit|taint|rollout undo|adm"),
    Risk("kubectl oc", _CLOUD, "apply", "--prune --force"),
    Risk(
        "kubectl oc",
        _CLOUD,
        "config delete-context|config delete-cluster|config delete-user|config unset|auth reconcile",
    ),
    Risk("kubectl oc", _CLOUD, "certificate approve|certificate deny|create clusterrolebinding|create rolebinding"),
    Risk("kubectl oc", _ESCAPES, options="--privileged"),
    Risk("kubectl oc", _ESCAPES, word=r"(?is).*(hostPID|hostNetwork|hostIPC|hostPath|privileged\W+true).*"),
    Risk("kubectl oc", _ESCAPES, "debug", word="nodes?/.*"),
    Risk("kubectl oc", _RUNS_UNKNOWN, "apply|create|replace", word=rf"(-[fk]|--(filename|kustomize)=)?{_ADDRESS}"),
    Risk("kubectl oc", _TELLS, "get", "-o --output --template", r"secrets?(/.*|,.*)?", value=r"(?!wide|name).+"),
    Risk("helm", _CLOUD, "uninstall|delete|rollback"),
    Risk("aws", _CLOUD, word=r"rm|rb|mv|sync|run-instances|invoke|get-secret-value|get-login-password"),
    Risk("aws", _CLOUD, word=r"(delete|terminate|stop|create|put|attach|detach|update|modify|deregister|revoke)-.*"),
    Risk("aws", _CLOUD, word=r"authorize-.*|export-credentials|assume-role.*|reset-.*|disable-.*|reboot-.*|cancel-.*"),
    Risk(
        "aws", _CLOUD, word=r"(remove|purge|restore|replace|release|disassociate|associate|register|enable|add|set)-.*"
    ),
    Risk("aws", _CLOUD, word=r"send-command|start-(?!query-execution|query).*|execute-.*|presign"),
    Risk(
        "aws", _TELLS, word=r"get-session-token|get-federation-token|decrypt|get-authorization-token|--with-decryption"
    ),
    Risk("aws", CHOICE, "configure set", word=r"(?i).*(credential_process|endpoint|aws_).*"),
    Risk("az", _TELLS, word=r"get-access-token|list-keys|show-connection-string"),
    Risk("az", _TELLS, "keyvault secret show|keyvault secret download"),
    Risk("az", _CLOUD, "vm run-command|webapp ssh|aks command"),
    Risk("gcloud gsutil az doctl flyctl fly heroku vercel", _CLOUD, word=r"(.*:)?(delete|destroy|rm|rb|remove|purge)"),
    Risk(
        "netlify firebase eksctl linode-cli hcloud ibmcloud oci", _CLOUD, word=r"(.*:)?(delete|destroy|rm|remove|purge)"
    ),
    Risk("gcloud gsutil az doctl flyctl fly heroku vercel netlify firebase", _CLOUD, word="deploy|reset|stop"),
    Risk("gcloud", _CLOUD, word="(add|set|remove)-iam-policy.*|print-(access|identity)-token"),
    # publishing
    Risk("npm pnpm yarn bun", _PUBLISHES, "publish|unpublish|deprecate|owner|adduser|login|token|npm publish"),
    Risk(
        "npm", _PUBLISHES, "dist-tag add|dist-tag rm|access set|access grant|access revoke|hook add|hook rm|profile set"
    ),
    Risk("npm", _PUBLISHES, "team create|team destroy|team add|team rm|org set|org rm|undeprecate|trust"),
    Risk("twine flit poetry uv hatch pdm maturin", _PUBLISHES, "upload|publish"),
    Risk("cargo", _PUBLISHES, "yank|login|owner"),
    Risk("cargo", _PUBLISHES, "publish", unless="-n --dry-run"),
    Risk("gem", _PUBLISHES, "push|yank"),
    Risk("mvn gradle gradlew", _PUBLISHES, word="deploy|publish|release:perform|uploadArchives"),
    Risk("dotnet nuget", _PUBLISHES, "push|nuget push"),
    Risk("gh", _PUBLISHES, "repo delete|repo archive|repo rename|repo edit|repo create|release create|release delete"),
    Risk("gh", _PUBLISHES, "release edit|release upload|pr merge|issue delete|run delete|auth token|workflow run"),
    Risk("gh", _PUBLISHES, "secret set|secret delete|secret remove|ssh-key add|ssh-key delete|gpg-key add|alias set"),
    Risk("gh", _PUBLISHES, "gist create|gist edit|gist delete|label delete|variable set|variable delete|cache delete"),
    Risk(
        "gh", _PUBLISHES, "codespace delete|codespace create|codespace ssh|codespace cp|project delete|issue transfer"
    ),
    Risk("gh", _PUBLISHES, "workflow disable|workflow enable|repo deploy-key|repo sync|repo unarchive"),
    Risk("gh", _PUBLISHES, "auth login|auth logout|auth refresh|auth setup-git"),
    Risk("gh", _PUBLISHES, "api", "-X --method -f -F --field --raw-field --input"),
    Risk("glab hub", _PUBLISHES, word="delete|archive|transfer|merge|release|token"),
    # packages from an unusual source
    Risk("pip pip3 pipx", _ANYBODY, "install|download|wheel|run|inject", word=_ADDRESS),
    Risk(
        "pip pip3 pipx",
        _ANYBODY,
        "install|download|wheel|run|inject",
        "-i --index-url --extra-index-url --find-links -f --trusted-host",
    ),
    Risk("pipx", _ANYBODY, options="--pip-args", value=r"(?s).*(index-url|find-links|trusted-host).*"),
    Risk("uv", _ANYBODY, "pip install|add|tool install|tool run|run", word=_ADDRESS),
    Risk(
        "uv",
        _ANYBODY,
        "pip install|add|tool install|run",
        "--index-url --extra-index-url --index --default-index --find-links",
    ),
    Risk("conda poetry pdm", _ANYBODY, "install|add", word=_ADDRESS),
    Risk("npm pnpm yarn bun", _ANYBODY, "install|i|add|exec|x|dlx|ci", word=rf"{_ADDRESS}|--registry.*"),
    Risk("npx bunx", _ANYBODY, word=rf"{_ADDRESS}|--registry.*|--package={_ADDRESS}"),
    Risk("npm", _ANYBODY, "exec|x", word=rf"--package={_ADDRESS}"),
    Risk("uvx cpanm cpan luarocks nix nix-env nix-shell nix-build", _ANYBODY, word=rf"(--\w+=)?{_ADDRESS}"),
    Risk("brew", _ANYBODY, "tap", word=r"[\w.-]+/[\w.-]+"),
    Risk("helm", _ANYBODY, "install|upgrade|template|repo add", word=rf"{_ADDRESS}|oci://.*"),
    Risk(_CONTAINERS, _ANYBODY, "build|image build|buildx build", word=rf"{_ADDRESS}|github\.com/.*"),
    Risk("deno bun go", _ANYBODY, "run|install|compile|eval|x|test|serve", word=_ADDRESS),
    Risk("gem cargo go code", _ANYBODY, "install|get|add", word=rf"(--[\w-]+=)?{_ADDRESS}"),
    Risk("code codium", _ANYBODY, options="--install-extension"),
    Risk("apt apt-get dnf yum rpm dpkg brew", _ANYBODY, word=rf"(-\w+)?{_ADDRESS}"),
)
