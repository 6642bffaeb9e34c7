"""
Table of what makes a program dangerous: programs that run others in their own ways.

The rows of this file, of the other tables (`table_system` and so on) and of `table_files` were compared with manual
pages in this way. A script took every program name from the tables, rendered the pages of Debian 12 that exist for
them, and extracted every option with its text: 1485 pages, 37 293 options. Programs that always ask were left out. The
checks let all other programs run in some form. Every option of these was read, including flags: 1328 pages, 34 554
options, one line each, with its name, its value and the beginning of its text (the first 72 to 135 letters). In the
rest of a longer text, only those places were read that mention running, loading, writing, removing, sending, signals,
settings, rights or secrets. An option that repeats another one of the same family of pages with the same words was read
once. A second script listed the options that are the beginning of an option in a row (`_WHOLE_OF` in `options`).

These were read too: the names in the environment sections, the keys of `git-config`, the options of MariaDB, and the
help texts of programs without a page. These were not read: the warnings of `ghc`, the second half of `openvpn` (which
asks unless it only lists something), and the groups of `gcloud` below its first page. `tests/safety/corpus/manuals.txt`
lists the packages and versions, the help texts, and the programs that have neither and were entered from knowledge
alone.
"""

from __future__ import annotations

from .table_system import CHOICE, Risk

__all__ = ["OTHER_COMPRESSORS", "RUNNER_RISKS"]

_LOADS = "loads code of the command's choice"
_SETTINGS = "runs with settings of the command's choice"
_LISTENS = "listens for another machine"
_OWNERS = "makes a program run with its owner's rights"
_INSTALLS = "installs a package, which runs its scripts"
OTHER_COMPRESSORS = (
    r"(?!(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|unzstd|lz4|lzip|lzop|lzma|brotli|compress)"
    r"(?: -[\w=]+)*$).+"
)
"""What is no program that packs."""
_SSH_OPTION = (
    r"(?i)(-o)?(proxycommand|(permit)?localcommand|knownhostscommand|pkcs11provider|securitykeyprovider|xauthlocation"
    r"|include|identityagent|userknownhostsfile(?!\W*/dev/null))\s*[= ].*"
)
_NOT_SSH = (
    r"(?s)(?!(?:/usr/bin/)?ssh(?:\s+(?!.*(?i:proxycommand|localcommand|knownhostscommand|pkcs11|provider|include"
    r"|xauthlocation|identityagent))(?!.*-F).*)?$).+"
)
_LFTP = (
    r"(?is).*(!|[|>]|\b(shell|source|eval|module|mv|edit|m?rm|m?put|connect-program|on-change|history\s+-w)\b|\s-E\b"
    r"|\bmirror\b.*(-R|--reverse|--delete|-e\b|--move|--remove|--log|--script)|^[^\s;]+$).*"
)
_CONTAINER_SOCKET = r".*(docker|containerd|podman|crio|dockershim)[\w-]*\.sock"
_ABSOLUTE = "-P --absolute-names --absolute-paths"
_PARALLEL = "--limit --compress-program --decompress-program --ssh --rpl -J --profile"
_ANSIBLE_SSH = "--ssh-common-args --ssh-extra-args --scp-extra-args --sftp-extra-args"
_LINTER = "--rulesdir --parser --plugin --resolve-plugins-relative-to -f --format -c --config"
_NODE = "-r --require --import --loader --experimental-loader --openssl-config"
_GPG_SECRETS = (
    "--export-secret-keys --export-secret-subkeys --export-secret-ssh-key --delete-secret-keys --delete-secret-key "
    "--delete-secret-and-public-key --delete-keys --delete-key"
)
_UNSIGNED = "installs packages without a checked signature"
_UNCHECKED = (
    "--nogpgcheck --no-gpg-checks --no-gpgcheck --allow-unsigned-rpm --allow-untrusted --dangerous --devmode --classic"
)
_A_SHELL = r"(.*/)?(ba|z|da|k|c|tc|fi)?sh|(.*/)?(python|perl|ruby|rm|dd|curl|wget|nc)[\d.]*"
_OWNERS_RIGHTS = r"[ugoa]*[+=][rwxX]*s.*|0?[2-7][0-7]{3}"
_GDB = (
    r"(?s).*(shell|!|system|spawn|exec|script|call|python|source|pipe|compile|dump|restore|gcore).*"
    r"|(make|pi|py)\b.*|\|.*"
)
# Commands of editors and debuggers have many abbreviations. So those that do no harm are listed, and not the others.
_OTHER_GDB = (
    r"(?s)(?!(?:thread apply \w+ )?(?:(?:bt|backtrace|where|run|r|start|c|continue|n|next|s|step|fin|finish|q|quit"
    r"|detach|up|down|l|list|disas\w*|frame|f|thread|info|i|b|break|tb|tbreak|watch|process|register|target create)"
    r"(?: [\w./:*$+=-]+)*|(?:p|print|x|display|output)(?:/\w+)? [^()`]*|set (?:pagination|confirm|width|height|print"
    r"|args|style|verbose|disassembly-flavor|follow-fork-mode|detach-on-fork|breakpoint|logging)\b[\w ./:-]*)$).+"
)
_VIMS = "vim vi nvim ex view rvim rview gvim mvim vimx"
_OTHER_VIM = (
    r"(?s)(?!:*[\d%$.,']*\s*(?:s(?:ubstitute)?([/#,;@])(?!.*\\=)[^|`\n]*|g(?:lobal)?/[^`|]*/d|d|delete|sort[ uin]*"
    r"|retab|noh\w*|w|x|wq|q|qa|wa|wqa|xa|up|update|bd|e|enew|(?:\d+|/[^|\n]*)?|(?:w|wq|x|e|r|sav|saveas) [\w./~-]+"
    r"|set(?:local)?(?: (?!\w*(?:prg|expr|shell|sh|func|secure)\b)\w+[?&]?(?:[+^-]?=[\w,.:-]*)?)+|syn(?:tax)?(?: \w+)?"
    r"|filetype[\w ]*|colo\w* [\w-]+|norm(?:al)? [gGdjk=V\d]+|call cursor\([\d, ]+\))$).+"
)
_KEEPS_SQL = (
    r"(?is).*(\\!|\bsystem\s|(?:\b|-c)copy\b.*\bprogram\b|\\copy\b.*\bprogram\b|\\setenv"
    r"|\\sandbox|\\P\s|(?:^|[\n;])\s*pager\s+(?!less|more|cat\b)).*"
)
# In a command of psql, a text in backticks is run, and so is what stands behind a `|`.
_PSQL = r"(?is).*(\\(?:g|gx|o|out|w|write)\b[^\n]*\||\\\w+[^\n]*`|%`).*"
# Every command of sqlite3 may be abbreviated.
_SQLITE = (
    r"(?is)(.*[\n;'\"])?\s*\.(sh(e(ll?)?)?|sy[stem]*|loa?d?|exce?l?|ww+)\b.*"
    r"|(.*[\n;'\"])?\s*\.(on|ou|im|re|tr)\w*\b[^\n]*[\s'\"]\|.*|.*\b(load_extension|fts3_tokenizer|edit|writefile)\s*\(.*"
)
# The programs that pandoc is meant to run.
_OTHER_THAN_PANDOC = (
    r"(?!(?:(?:pdf|xe|lua)latex|latexmk|tectonic|wkhtmltopdf|weasyprint|pagedjs-cli|prince|context|groff|pdfroff|typst"
    r"|pandoc-[\w-]+|mermaid-filter)\Z).*"
)
_M4 = r"(?s).*(s[`']*y[`']*s[`']*c[`']*m[`']*d|\bindir\b|\bbuiltin\b|\bchangequote\b).*"

RUNNER_RISKS: tuple[Risk, ...] = (
    # other machines
    Risk("ssh scp sftp sshpass", CHOICE, word=_SSH_OPTION),
    Risk("ssh scp sftp", _SETTINGS, options="-F", value=r"(?!/dev/null$|none$).+"),
    Risk("scp sftp", CHOICE, options="-S -D"),
    Risk("ssh ssh-keygen", _LOADS, options="-I", word=r".*\.(so|dylib|dll)(\.[\d.]+)?"),
    Risk("ssh-keygen", _LOADS, options="-D"),
    Risk("ssh-add", _LOADS, options="-s -e"),
    Risk("ssh-keygen ssh-add", _LOADS, options="-w -S"),
    Risk("ssh-agent", CHOICE, word=r"(?!-).+"),
    Risk("rsync", CHOICE, options="--rsync-path --remote-option -M --early-input --copy-as --daemon"),
    Risk("rsync", CHOICE, options="-e --rsh", value=_NOT_SSH),
    Risk("rsync", _OWNERS, options="--chmod", value=r"(.*,)?[DF]?[ugoa]*[+=][rwxX]*s.*"),
    Risk("aria2c", CHOICE, word=r"--on-(bt-)?download-\w+(=.*)?"),
    Risk("aria2c", _SETTINGS, options="--conf-path"),
    Risk("aria2c", _LISTENS, options="--enable-rpc --rpc-listen-all"),
    Risk("lynx", CHOICE, options="-cmd_script -cfg -editor -exec"),
    Risk("lftp", CHOICE, options="-e -c -f --rcfile", value=_LFTP),
    Risk("mutt", CHOICE, options="-e -F"),
    Risk("mutt mail mailx", "sends a file to another machine", options="-a -A"),
    Risk("rclone", CHOICE, options="--password-command --metadata-mapper --sftp-ssh"),
    Risk("curl", "reaches the service that runs the containers", options="--unix-socket", value=_CONTAINER_SOCKET),
    Risk("curl", _LOADS, options="--engine", value=r"(?!list$).+"),
    Risk(
        "curl",
        "removes or changes files on another machine",
        options="-Q --quote",
        value=r"(?i)[-+*]?\s*(dele|rm|rmd|site|chmod|rename)\b.*",
    ),
    Risk("wget", CHOICE, options="--use-askpass"),
    Risk(
        "wget", CHOICE, options="-e --execute", value=r"(?i).*(use_?askpass|output_?document|post_?file|body_?file).*"
    ),
    Risk("ftp lftp tftp sftp", CHOICE, word=r"(?s).*!.*", reads=True),
    # archives and text
    Risk("tar gtar bsdtar cpio", CHOICE, options="--checkpoint-action --to-command --rsh-command --rmt-command"),
    Risk("tar gtar bsdtar", CHOICE, options="-F --info-script --new-volume-script"),
    Risk("tar gtar bsdtar", CHOICE, options="-I --use-compress-program", value=OTHER_COMPRESSORS),
    Risk("tar gtar bsdtar", "unpacks outside of its folder", options=_ABSOLUTE, word=r"-?\w*x\w*|--extract|--get"),
    Risk("tar gtar bsdtar", "unpacks outside of its folder", word=r"(?=\w*x)(?=\w*P)[xvzjJfpkmaohSPC]+"),
    Risk("zip", CHOICE, options="-TT --unzip-command"),
    Risk("split sort", CHOICE, options="--filter --compress-program"),
    Risk("install", CHOICE, options="--strip-program"),
    Risk("sdiff", CHOICE, options="--diff-program"),
    Risk("patch", CHOICE, options="-e --ed"),
    Risk("age", CHOICE, options="-j"),
    Risk("sox", CHOICE, word=r"\|.*"),
    Risk("convert magick", CHOICE, word=r"(?i)\|.*|(msl|ephemeral|mvg):.*"),
    Risk("parallel", CHOICE, options=_PARALLEL),
    Risk("parallel", CHOICE, word=r"(?s).*\{=.*(system|exec|qx|`|unlink|open|require|do\b).*"),
    Risk("parallel", "opens a connection to another machine", options="-S --sshlogin --sshloginfile --slf"),
    Risk("gawk awk", _LOADS, options="-l --load"),
    Risk("gawk", "runs a script of the debugger", options="-D --debug"),
    Risk("m4", CHOICE, word=_M4, reads=True),
    Risk("dc", CHOICE, word=r"(?s).*!.*", reads=True),
    Risk("rg", CHOICE, options="--pre --hostname-bin"),
    Risk("rg ag ack bat delta", CHOICE, options="--pager"),
    Risk("fzf", CHOICE, options="--preview"),
    Risk("fzf", CHOICE, options="--bind", value=r"(?s).*(execute|become|reload|transform|preview|unbind).*"),
    Risk("fzf", _LISTENS, options="--listen"),
    Risk("pandoc", CHOICE, options="-F --filter -L --lua-filter --pdf-engine", value=_OTHER_THAN_PANDOC),
    Risk("pandoc", CHOICE, options="-f -r --from --read -t -w --to --write", value=r".*\.lua"),
    Risk("pandoc", CHOICE, options="-d --defaults"),
    Risk("pandoc", CHOICE, options="--pdf-engine-opt", value=r".*(shell-escape|write18).*"),
    Risk(
        "latex pdflatex xelatex lualatex tex pdftex luatex",
        CHOICE,
        options="-shell-escape --shell-escape -enable-write18 --lua -lua -cnf-line --cnf-line",
    ),
    Risk(
        "latex pdflatex xelatex lualatex tex pdftex luatex",
        CHOICE,
        word=r"(?s).*(\\write18|\\input\s*\{?\s*\||\\directlua|\\openout).*",
    ),
    Risk("gs", CHOICE, word=r".*%pipe%.*|-dNOSAFER|--permit-.*"),
    Risk("gnuplot octave maxima", CHOICE, word=r"(?s).*(system|shell|popen|!).*", reads=True),
    # editors and pagers
    Risk(f"{_VIMS} ed emacs less more man", CHOICE, word=r"(?s).*!.*|--eval.*|-P.*|-H.+|--html=.*", reads=True),
    Risk("less more man view", CHOICE, options="--pager --html --lesskey-src --lesskey-content"),
    Risk(_VIMS, CHOICE, options="-c --cmd", value=_OTHER_VIM),
    Risk(_VIMS, CHOICE, word=r"\+" + _OTHER_VIM.removeprefix("(?s)")),
    Risk(_VIMS, "runs a script of the editor", options="-S -s -u -l -U --startuptime --remote-expr --remote-send"),
    Risk(
        "emacs",
        "runs a script of the editor",
        options="-l --load --script --eval -f --funcall --execute -batch --batch",
    ),
    Risk("nano", CHOICE, options="-s --speller -f --rcfile"),
    Risk("kak", CHOICE, options="-e -E -f"),
    Risk("mg", CHOICE, options="-b"),
    Risk("micro", _LOADS, options="-plugin --plugin -config-dir --config-dir"),
    Risk("man", _SETTINGS, options="-C --config-file"),
    Risk("less", _SETTINGS, options="-k --lesskey-file"),
    Risk("fish", CHOICE, options="-C --init-command"),
    # debuggers and tracers
    Risk("gdb lldb expect osascript nmap", CHOICE, word=_GDB, reads=True),
    Risk("gdb", CHOICE, options="-ex --ex -iex --iex -eval-command --eval-command", value=_OTHER_GDB),
    Risk("lldb", CHOICE, options="-o --one-line -O --one-line-before-file -k --one-line-on-crash", value=_OTHER_GDB),
    Risk(
        "gdb lldb",
        "runs a script of the debugger",
        word=r"-(x|ix|s|S|K|D)|--?(comm\w*|init-c[\w-]*|source[\w-]*|data-directory)(=.*)?",
    ),
    Risk("strace", CHOICE, options="-o --output", value=r"[|!].*"),
    Risk("tcpdump", CHOICE, options="-z --postrotate-command"),
    Risk("tshark", _LOADS, options="-X", value="lua_script.*"),
    # building
    Risk("make gmake", CHOICE, word=r"(SHELL|MAKEFLAGS|GNUMAKEFLAGS)=.*"),
    Risk("make gmake", CHOICE, word=r"(?s)\w+[:?+]*!?=.*\$[({](shell|eval|file)\s.*|\w+!=.*"),
    Risk("make gmake", CHOICE, options="--eval -E"),
    Risk(
        "gcc g++ cc c++ clang clang++ gfortran",
        _LOADS,
        word=r"-wrapper|-fplugin=.*|-fpass-plugin=.*|--?specs=.*|-load|-B.*/.*|-fuse-ld=.*/.*|--ld-path=.*",
    ),
    Risk("gcc g++ cc c++ clang clang++ gfortran", _LOADS, word=r"-Wl,.*(-plugin|error-handling-script).*"),
    Risk("ld gold lld ld.bfd ld.gold ld.lld", _LOADS, options="-plugin --plugin --error-handling-script"),
    Risk("ar nm ranlib strip", _LOADS, options="--plugin"),
    Risk("go", CHOICE, options="-toolexec -exec -vettool --toolexec --exec --vettool -overlay --overlay"),
    Risk("go", CHOICE, word=r"(?s).*-extld[= ].*"),
    Risk("go", "changes the settings of every build", "env", "-w -u"),
    Risk("rustc", CHOICE, word=r"(-C)?linker=.*|(-Z)?codegen-backend=.*"),
    Risk("ocaml", CHOICE, options="-pp -ppx"),
    Risk("erl", CHOICE, options="-rsh"),
    Risk("guile", _LISTENS, options="--listen"),
    Risk("eslint prettier", _LOADS, options=_LINTER, value=r"(/|~|\.\./).*"),
    Risk("protoc", _LOADS, options="--plugin", value=r"([\w-]+=)?(/|~|\.\./).*"),
    Risk("maxima", _LOADS, options="--batch-lisp --init-lisp --init-mac -p --preload-lisp"),
    Risk(
        "cargo",
        CHOICE,
        options="--config",
        value=r"(?i).*(wrapper|runner|linker|rustc|rustdoc|alias|credential|source\.|registr|\.toml$).*",
    ),
    Risk("gradle gradlew", _LOADS, options="-I --init-script"),
    Risk("java", _LOADS, word=r"-(javaagent|agentlib|agentpath|Xbootclasspath).*|-XX:(On\w+|VMOptionsFile|Flags)=.*"),
    Risk("javac", _LOADS, word=r"-J-(javaagent|agent).*|-Xplugin:.*"),
    Risk("mvn", CHOICE, word=r"-D(exec\.executable|maven\.ext\.class\.path)=.*|(.*:)?exec:exec"),
    Risk("node nodejs", _LOADS, options=_NODE, value=r"(?i)(data:|https?:|/|~|\.\./).*"),
    Risk("node nodejs", _LISTENS, word=r"--inspect(-brk|-wait)?=(0\.0\.0\.0|\[?::).*"),
    Risk("php", _LOADS, options="-z --zend-extension"),
    Risk("php", _LOADS, options="-c --php-ini", value=r"(/|~|\.\./).*"),
    Risk(
        "php",
        _LOADS,
        options="-d --define",
        value=r"(?i)(zend_)?extension.*|auto_(pre|ap)pend_file.*|.*sendmail_path.*",
    ),
    Risk("npm npx pnpm", CHOICE, options="--script-shell --node-gyp --globalconfig --userconfig --init-module"),
    Risk("npm", CHOICE, options="--git --viewer --editor --shell --node-options --dangerously-allow-all-scripts"),
    Risk("npm", CHOICE, "explore|edit"),
    Risk("npm", CHOICE, "pkg set", word=r"scripts\..*"),
    Risk("npm", CHOICE, "set-script"),
    Risk("go", "runs what anyone may have published", "run|install", word=r"[\w-]+(\.[\w-]+)+/.*@.*"),
    Risk("salt", CHOICE, word=r"cmd\..*|state\..*"),
    Risk("perl", CHOICE, word=r"(?s)(?!-)(\s*\|.*|.*\|\s*)"),
    Risk("npm pnpm", CHOICE, "exec|x", "-c --call --shell-mode"),
    Risk(
        "npm pnpm yarn",
        CHOICE,
        "config set|c set|set",
        word=r"(?i)(script-?shell|.*registry|prefix|git|node-?options|shell|editor|viewer|yarn-?path|ignore-scripts)(=.*)?",
    ),
    Risk("pip pip3 uv", "changes where packages come from", "config set|config edit"),
    Risk("helm", CHOICE, options="--post-renderer"),
    Risk("helm", _LOADS, "plugin install|plugin update"),
    Risk("gh", _LOADS, "extension install|extension exec|extensions install|extension upgrade|alias import"),
    Risk("gh", CHOICE, "config set", word="editor|pager|browser|http_unix_socket"),
    Risk("hg", CHOICE, options="--config --ssh --remotecmd -e --daemon-postexec"),
    Risk("hg", CHOICE, "bisect", "-c --command"),
    Risk("hg", CHOICE, "extdiff", "-p --program"),
    Risk("svn", CHOICE, options="--diff-cmd --diff3-cmd --editor-cmd --config-option"),
    Risk(
        "ansible", CHOICE, options="-m --module-name", value=r"(ansible\.builtin\.)?(shell|command|raw|script|expect)"
    ),
    Risk("ansible", CHOICE, options="-a --args", unless="-m --module-name"),
    Risk("ansible ansible-playbook", "runs with another user's rights", options="-b --become -K --ask-become-pass"),
    Risk("ansible ansible-playbook", _LOADS, options="-M --module-path"),
    Risk("ansible ansible-playbook", CHOICE, options=_ANSIBLE_SSH, value=r"(?is).*command.*"),
    Risk("terraform tofu", _LOADS, options="-plugin-dir -from-module"),
    Risk("podman", CHOICE, options="--hooks-dir --runtime --conmon --network-cmd-path --init-path"),
    Risk("podman-compose", CHOICE, options="--podman-path --podman-run-args --podman-args"),
    Risk("docker podman nerdctl", _LOADS, "plugin install|plugin enable|plugin upgrade"),
    # databases
    Risk("sqlite3 duckdb", CHOICE, word=_SQLITE, reads=True),
    Risk("psql mysql mariadb cockroach usql pgcli mycli", CHOICE, word=_KEEPS_SQL, reads=True),
    Risk("psql cockroach usql pgcli", CHOICE, word=_PSQL, reads=True),
    Risk("hive beeline spark-sql impala-shell db2", CHOICE, word=r"(?s)(.*[\n;])?\s*(!|shell\s).*", reads=True),
    Risk(
        "mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin", _LOADS, options="--plugin-dir --init-command"
    ),
    Risk(
        "redis-cli",
        _LOADS,
        word=r"(?is)module\b.*|slaveof\b.*|replicaof\b.*|--eval|function\b.*|script\b.*",
        reads=True,
    ),
    Risk("mysql mariadb", CHOICE, options="--pager"),
    # keys and packages
    Risk("openssl", _LOADS, options="-engine -provider -provider-path -config -pre -post"),
    Risk("openssl", _LOADS, "engine", word=r".*[./].*"),
    Risk("openssl", _LISTENS, "s_server"),
    Risk("gpg gpg2", CHOICE, options="--photo-viewer --exec-path --agent-program --dirmngr-program --load-extension"),
    Risk("gpg gpg2", "publishes to everybody, or changes what everybody sees", options="--send-keys"),
    Risk("gpg gpg2", "gives away or destroys secret keys", options=_GPG_SECRETS),
    Risk(
        "apt apt-get apt-cache aptitude",
        CHOICE,
        options="-o --option",
        value=r"(?i).*(invoke|hook|dpkg::|dir::|dir=|proxy-auto-detect|solver|pager).*",
    ),
    Risk("apt apt-get apt-cache aptitude", CHOICE, options="-c --config-file"),
    Risk(
        "apt apt-get aptitude", _UNSIGNED, options="--allow-unauthenticated --force-yes --allow-insecure-repositories"
    ),
    Risk("apt apt-get", "removes software", options="--allow-remove-essential"),
    Risk("dnf yum", CHOICE, options="-c --config --setopt --installroot --repofrompath"),
    Risk("dnf yum zypper apk snap pacman", _UNSIGNED, options=_UNCHECKED),
    Risk("pacman", CHOICE, options="--hookdir --config --root --sysroot --gpgdir --dbpath"),
    Risk("pacman", _INSTALLS, word=r"-U\w*|--upgrade"),
    Risk("zypper", CHOICE, options="-c --config -R --root --installroot -D --reposd-dir --plus-repo"),
    Risk("add-apt-repository apt-key", "changes where packages come from"),
    Risk("dpkg", CHOICE, options="--pre-invoke --post-invoke --status-logger --root --instdir --admindir"),
    Risk("dpkg", "removes software", word=r"--force-(all|remove-essential|remove-protected)"),
    Risk("dpkg", _INSTALLS, options="-i --install --unpack --configure"),
    Risk("apt apt-get dnf yum zypper", _INSTALLS, "install|reinstall|localinstall", word=r".*\.(deb|rpm)"),
    Risk("rpm", CHOICE, options="--pipe --load --macros --rcfile -E --eval --define -D --specfile"),
    Risk("rpm", _INSTALLS, word=r"-[iUF]\w*|--install|--upgrade|--freshen|--reinstall"),
    # programs whose purpose is to run or to script something
    Risk("rlwrap setarch linux32 linux64 sshpass logsave softlimit choom", CHOICE, word=_A_SHELL),
    Risk("run-parts byebug agetty getty ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1", CHOICE),
    Risk("openvpn", CHOICE, options="--up --down --script-security --plugin --route-up --ipchange --tls-verify"),
    Risk("certbot", CHOICE, options="--pre-hook --post-hook --deploy-hook --renew-hook --manual-auth-hook"),
    Risk("apache2 apache2ctl apachectl httpd", _SETTINGS, options="-c -C -f"),
    Risk("dvips", CHOICE, word="-R0"),
    Risk("facter", _LOADS, options="--custom-dir --external-dir"),
    Risk("gem", CHOICE, "open", "-e --editor"),
    Risk("jjs", CHOICE, options="-scripting"),
    Risk("yarn pnpm bun", CHOICE, "exec|x", word=r".*\s.*"),
    Risk("easy_install", _INSTALLS, word=r"(?i)[a-z+]+://.*"),
    Risk("xdotool ydotool", "types and clicks in place of the user"),
    Risk("gcore", "reads the memory of another program"),
    # the machine
    Risk("install", _OWNERS, options="-m --mode", value=_OWNERS_RIGHTS),
    Risk("journalctl", "removes what the machine has recorded", word=r"--vacuum-.*|--rotate"),
    Risk("hping3 hping", "floods another machine", options="--flood --faster"),
    Risk("start-stop-daemon", "changes what runs on this machine"),
    Risk("ssh-copy-id", "lets a key log in on another machine"),
    Risk("systemd-run", "runs a program outside of what holds this command"),
    Risk("ip", "leaves the surroundings that it was given", "netns exec|vrf exec|-all netns exec"),
    Risk("ip", "changes the network", options="-batch -b"),
    Risk("busybox toybox", "puts other programs in place", options="--install"),
)
