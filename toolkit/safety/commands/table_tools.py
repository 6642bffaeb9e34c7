"""
Table of what makes a program dangerous: options of tools for text, archives, code and processes.

The options come from the manual pages (see `table_runners`). They run another program, load code or settings, write a
file that the line does not name, or open a port.
"""

from __future__ import annotations

from .table_system import CHOICE, Risk

__all__ = ["TOOL_RISKS"]

_LOADS = "loads code of the command's choice"
_SETTINGS = "runs with settings of the command's choice"
_ARGUMENTS = "reads its options from a file"
_OUTSIDE = "unpacks outside of its folder"
_UNNAMED = "writes files that something else names"
_LISTENS = "listens for another machine"
_DISTANT = r"(/|~|\.\./).*"
_NETWORK = r"(?!localhost\b|127\.|\[?::1).+"
_ANY_ADDRESS = r"(0\.0\.0\.0|\[?::(?!1)).*"
_WEB = r".*https?://(?!localhost\b|127\.).*"
_FROM_ANYBODY = "installs what anyone may have published"
_INSTALLS = "installs a package, which runs its scripts"
_PUBLISHES = "publishes to everybody, or changes what everybody sees"
_SOURCES = "changes where packages come from"
_POWERSHELL = (
    r"(?is).*\b(remove-item|clear-content|invoke-expression|iex|start-process|saps|invoke-webrequest|iwr|invoke-restmethod"
    r"|irm|set-executionpolicy|stop-(process|computer|service)|restart-computer|format-volume|add-type|new-service"
    r"|-recurse|rm|del|rd|ri)\b.*|-(enc|encodedcommand|ec?)"
)
_PIPE = r"\s*[|!].*"
_LESS = r"(?s)\+(?!\+?(\d+[gGpP%]?|[FGg]|[/?&][^\r\n]*)$).+"
_CODE_IN_PERL = r"(?s)(?!-).*(\bsystem\b|\bexec\b|\bqx\b|`|\bunlink\b|\bopen\b|\brequire\b|\bdo\b|\beval\b|\bfork\b).*"
_COMPILERS = "gcc g++ cc c++ clang clang++ gfortran"
_LINKERS = "ld gold lld ld.bfd ld.gold ld.lld"
_COMPILER_WORDS = (
    r"--?plugin(=.*)?|--error-handling-script.*|--load-pass-plugin.*|-fmodule-mapper=.*|--config(=.*)?"
    r"|--config-(user|system)-dir=.*|--gcc-(toolchain|install-dir)=.*/.*|-ccc-.*|--prefix=.*/.*"
)
_RUSTC_WORDS = (
    r"(-C|--codegen=)?(linker|linker-plugin-lto)=.*|(-C|--codegen=)?(pre-)?link-args?=.*(plugin|-fuse-ld|-B|wrapper).*"
    r"|(-C|--codegen=)?llvm-args=.*load.*|(-Z)?(codegen-backend|llvm-plugins)=.*"
    r"|(--extern=)?\w+=(/|~|\.\./).*\.(so|dylib|dll)"
)
_CARRIED_VARIABLE = (
    r"(LD_\w+|BASH_ENV|ENV|PATH|IFS|PYTHON\w*|PERL5?\w*|RUBY\w*|NODE_\w+|GIT_\w+|PAGER|EDITOR|VISUAL|SHELL)=.*"
)
_JAVA_HOME_PROPERTY = r"-D(org\.gradle\.(jvmargs|java\.home)|.*(javaagent|agentpath|agentlib)).*"
_GPG_TRUST = (
    "--import-ownertrust --tofu-policy --trusted-key --sign-key --lsign-key --quick-sign-key --quick-lsign-key "
    "--always-trust"
)
_CERTBOT_PROGRAMS = "--apache-ctl --apache-bin --apache-enmod --apache-dismod --nginx-ctl --manual-cleanup-hook"

TOOL_RISKS: tuple[Risk, ...] = (
    # pagers and searching
    Risk("less", CHOICE, word=_LESS),
    Risk("man", CHOICE, options="-M --manpath"),
    Risk("man", CHOICE, options="-r --prompt", value=r"(?s).*[`$\"\\].*"),
    Risk("ack", _SETTINGS, options="--ackrc"),
    Risk("fzf", CHOICE, options="--with-shell --info-command"),
    Risk("rename", CHOICE, word=_CODE_IN_PERL),
    # archives
    Risk("tar gtar", "removes what stands where it unpacks", options="--recursive-unlink"),
    Risk("unzip", _OUTSIDE, options="-:"),
    Risk("cpio", _OUTSIDE, options="--absolute-filenames", word=r"-\w*i\w*|--extract"),
    Risk("7z 7za 7zr 7zz", _OUTSIDE, word=r"-spf2?"),
    Risk("7z 7za 7zr 7zz", "sends a file to another machine", word=r"-seml.*"),
    Risk("sqlite3", _UNNAMED, word=r"-A\w*x\w*"),
    # pictures, sound, paper
    Risk("ffmpeg", _LOADS, word=r"(?s).*\b(ladspa|frei0r|frei0r_src|lv2)=.*"),
    Risk("ffmpeg", _LISTENS, word=r"(?s).*\ba?zmq\b.*"),
    Risk("ffmpeg", _UNNAMED, word=r"-dump_attachment\S*"),
    Risk("sox", _LOADS, word="ladspa"),
    Risk("convert magick", _LOADS, options="-process"),
    Risk("convert magick", _LISTENS, options="-distribute-cache"),
    Risk("dvips ftp", CHOICE, options="-o", value=_PIPE),
    Risk("gs", CHOICE, options="-o -sOutputFile", value=_PIPE),
    Risk("gs", CHOICE, word="-dDELAYSAFER"),
    Risk("luatex lualatex", _LOADS, options="--fmt -fmt", value=_DISTANT),
    Risk("pandoc", _LOADS, options="--data-dir"),
    Risk("psql", CHOICE, options="-o --output", value=_PIPE),
    # data
    Risk("yq", _UNNAMED, options="--split-exp"),
    Risk("yq", _UNNAMED, options="-s", value=r"\.\w[\w.]*|.*\$index.*"),
    Risk("duckdb", _LOADS, word=r"(?is).*(\binstall\s+\w|\bload\s+\w|\.(shell|system|open|read)\b).*", reads=True),
    Risk("duckdb", _SETTINGS, options="-init --init", value=r"(?!/dev/null$).+"),
    Risk("snowsql", CHOICE, word=r"(?is).*!(system|source|load|edit|spool)\b.*", reads=True),
    Risk("sqlcmd", CHOICE, word=r"(?is).*(!!|:\s*(r|out|error|ed)\b|xp_cmdshell).*", reads=True),
    Risk("sqlplus", CHOICE, word=r"(?is)@.+|.*(\bhost\b|^\s*!|\bspool\b).*", reads=True),
    # editors
    Risk("vim vi nvim ex view gvim mvim vimx", _LISTENS, options="--listen"),
    Risk("vim vi ex view gvim mvim vimx", _LISTENS, word=r"-nb.*"),
    Risk("emacs", _LOADS, options="--init-directory -u --user"),
    Risk("kak", CHOICE, options="-p"),
    Risk("mg", _SETTINGS, options="-u"),
    Risk("hx", _SETTINGS, options="-c --config", value=_DISTANT),
    Risk("code codium", _LOADS, options="--extensions-dir --extensionDevelopmentPath", value=_DISTANT),
    # debuggers and tracers
    Risk("lldb", _LOADS, options="--local-lldbinit"),
    Risk("strace rr firejail daemonize flatpak-spawn", _LOADS, options="-E -v --env", value=_CARRIED_VARIABLE),
    Risk("expect", CHOICE, options="-c", value=r"(?s).*(\bopen\b|log_file|\bfile\s+delete|\bsource\b|\bsocket\b|\|).*"),
    Risk("perf", CHOICE, options="--exec-path"),
    Risk("perf", CHOICE, "script", "-s --script"),
    Risk("perf", "changes the running kernel", "probe|ftrace|daemon"),
    Risk("rr", CHOICE, "replay", "-d --debugger -x --gdb-x"),
    Risk("valgrind", "sends data to another machine", options="--log-socket --xml-socket --debuginfo-server"),
    # programs that start another one
    Risk("rlwrap", CHOICE, options="-z --filter"),
    Risk("cpulimit", "kills processes that it does not name one by one", options="-k --kill"),
    Risk("flatpak-spawn", "leaves the surroundings that it was given", options="--host"),
    Risk("dbus-run-session", CHOICE, options="--dbus-daemon --config-file"),
    Risk("fakeroot", _LOADS, options="--lib --faked"),
    Risk("fakeroot", _LOADS, options="-l", value=r".*\.(so|dylib)(\.[\d.]+)?"),
    Risk("faketime", CHOICE, options="--date-prog"),
    Risk("parallel", CHOICE, options="--sql --sql-worker --sql-master --sql-and-worker --retry-failed --rsync-opts"),
    Risk("parallel", CHOICE, options="--group-by --shard --bin", value=r"(?s).*(system|exec|qx|`|open|unlink|eval).*"),
    Risk("tmux", CHOICE, "source-file|source|run-shell|run|if-shell|pipe-pane|pipep|set-hook|bind-key|bind"),
    Risk("tmux", "types and clicks in place of the user", "send-keys|send|set-buffer|paste-buffer"),
    Risk("screen", "types and clicks in place of the user", word="stuff|paste|exec|eval"),
    Risk("tmux", _SETTINGS, options="-f", value=r"(?!/dev/null$)[^#{}]*[./].*"),
    Risk("screen", _SETTINGS, options="-c"),
    Risk("jj", CHOICE, options="--config --config-toml --config-file"),
    Risk("ugrep ug", CHOICE, options="--filter --pager"),
    Risk("sshfs", CHOICE, word=r"(-o)?(.*,)?ssh_command=.*"),
    Risk("restic", CHOICE, options="--password-command", word=r".*"),
    Risk("restic", CHOICE, word=r"(-o|--option=)?\w+\.(command|args|program)=.*"),
    Risk("borg", CHOICE, options="--rsh"),
    Risk("yt-dlp youtube-dl gallery-dl", CHOICE, options="--exec --exec-before-download --downloader --netrc-cmd"),
    Risk("neomutt", CHOICE, options="-e -F"),
    Risk("ranger lf vifm weechat broot", CHOICE, options="--cmd -command -c -r"),
    Risk("diff3", CHOICE, options="--diff-program"),
    Risk("logrotate scriptlive pty dnsmasq", CHOICE),
    # compilers
    Risk(_COMPILERS, _LOADS, word=_COMPILER_WORDS),
    Risk(_LINKERS, _LOADS, options="--load-pass-plugin"),
    Risk(_LINKERS, _LOADS, options="-mllvm --mllvm", value=r".*load.*"),
    Risk(f"{_COMPILERS} {_LINKERS} as ar nm ranlib strip java javac rustc ghc", _ARGUMENTS, word=r"@.+"),
    Risk("ar", "runs a script", word="-M"),
    Risk("make gmake", CHOICE, word=r"(?s)\w+[:?+]?=.*[;|&`\n].*"),
    Risk("rustc cargo", _LOADS, word=_RUSTC_WORDS),
    Risk("go", _LOADS, word=r"(?s).*-extldflags.*(plugin|wrapper|specs|-B|-fuse-ld|error-handling).*"),
    Risk("go", "sends data to another machine", "telemetry on"),
    Risk("ghc ghci", CHOICE, word=r"-pgm\w+(=.*)?|-fplugin=.*|--frontend|-ghci-script"),
    Risk("javac", _LOADS, options="-processorpath --processor-path --processor-module-path", value=_DISTANT),
    Risk("javac", _LOADS, word=r"-J-XX:(On\w+|VMOptionsFile|Flags)=.*"),
    Risk("java", _LISTENS, word=r"-Dcom\.sun\.management\.jmxremote.*port.*"),
    Risk("java javac", _LOADS, options="--patch-module --upgrade-module-path"),
    Risk("gradle gradlew", _PUBLISHES, options="--scan"),
    Risk("gradle gradlew", _LOADS, word=_JAVA_HOME_PROPERTY),
    Risk(
        "gradle gradlew",
        _LOADS,
        options="-g --gradle-user-home -b --build-file -c --settings-file --include-build",
        value=_DISTANT,
    ),
    Risk("mvn", _SETTINGS, options="-s --settings -gs --global-settings -t --toolchains -gt", value=_DISTANT),
    Risk("mvn", CHOICE, word=r".*exec-maven-plugin.*"),
    Risk(
        "mvn",
        "runs what anyone may have published",
        word=r"(?!org\.(apache\.maven|codehaus\.mojo))[\w.-]+:[\w.-]+:[\w.:-]+",
    ),
    # languages
    Risk("R Rscript", CHOICE, options="-d --debugger"),
    Risk("elixir", CHOICE, options="--erl --vm-args --boot --rpc-eval --pipe-to"),
    Risk("erl", CHOICE, options="-args_file -epmd_module -remsh -loader"),
    Risk("erl", CHOICE, options="-run -s", word="os|file|filelib|erlang|rpc|httpc|open_port|inet|ftp|ssh"),
    Risk("maxima", _LOADS, options="-X --lisp-options --userdir --init"),
    Risk(
        "node nodejs", _LOADS, options="--test-reporter --test-global-setup --experimental-config-file", value=_DISTANT
    ),
    Risk("node nodejs", _LOADS, options="--experimental-network-imports"),
    Risk("node nodejs", _LISTENS, word=r"--inspect-port=(0\.0\.0\.0|\[?::).*"),
    Risk("julia", _LOADS, options="-L --load -J --sysimage --machine-file", value=_DISTANT),
    Risk("pwsh powershell", CHOICE, word=_POWERSHELL, reads=True),
    Risk("swift", "leaves the surroundings that it was given", options="--disable-sandbox"),
    Risk("dotnet", _INSTALLS, "tool install|tool update|new install|workload install"),
    Risk("python python3", _LISTENS, options="--bind", value=_ANY_ADDRESS),
    Risk("php", _LISTENS, options="-S --server -b --bindpath", value=_NETWORK),
    Risk("pip pip3 pipx", CHOICE, options="--python", value=r"(/(?!usr/(local/)?bin/)|~|\.\./).*"),
    Risk("pipx", "changes a start-up file of a shell", "ensurepath"),
    Risk("tox", CHOICE, options="-x --override"),
    Risk("tox", _FROM_ANYBODY, options="-i --index-url"),
    Risk("bundle", _FROM_ANYBODY, "add|inject", "--git --source --github"),
    Risk("bundle", _INSTALLS, "plugin install"),
    Risk("facter", _LOADS, options="-c --config -p --puppet"),
    # packages of a language
    Risk("uv", _SETTINGS, options="--config-file", value=_DISTANT),
    Risk("pip pip3 uv", "changes the packages of the system", options="--break-system-packages"),
    Risk(
        "uv",
        _FROM_ANYBODY,
        options="--index --default-index --index-url -i --extra-index-url -f --find-links",
        word=_WEB,
    ),
    Risk("uv", _FROM_ANYBODY, options="--mirror --pypy-mirror --python-downloads-json-url"),
    Risk("uv", "gives away secrets", "auth token"),
    Risk("uv poetry pdm hatch bun deno", "replaces a program of the machine", "self update|self upgrade|upgrade"),
    Risk("poetry pdm", _INSTALLS, "self add|plugin add|self install"),
    Risk("poetry", _SOURCES, "source add"),
    Risk(
        "poetry pdm", _SOURCES, "config", word=r"(repositories|http-basic|pypi-token|certificates|pypi|repository)\..*"
    ),
    Risk("hatch", _SOURCES, "config set", word=r"publish\..*|.*\b(index|shell)\b.*"),
    Risk("pdm", "runs what anyone may have published", "init|new", word=_WEB),
    Risk("yarn", _SETTINGS, options="--use-yarnrc", value=_DISTANT),
    Risk("yarn", CHOICE, "policies set-version|set version", word=rf"{_WEB}|{_DISTANT}"),
    Risk(
        "pnpm",
        CHOICE,
        word=r"(?i)--config\.(script-?shell|.*registry|node-?options|shell|global-?pnpmfile|pnpmfile)=.*",
    ),
    Risk("pnpm", _LOADS, options="--pnpmfile --global-pnpmfile", value=_DISTANT),
    Risk("bun", _LOADS, options="-r --preload --require --import -c --config", value=_DISTANT),
    Risk("bun", _LOADS, options="--compile-executable-path"),
    Risk("bun", _INSTALLS, "pm trust"),
    Risk("deno", _LOADS, options="--preload --require -c --config --import-map", value=rf"{_WEB}|{_DISTANT}"),
    Risk("deno", CHOICE, "task", "--eval"),
    Risk("deno", _PUBLISHES, "publish|deploy"),
    Risk("deno bun node nodejs", _LISTENS, options="--inspect --inspect-brk --inspect-wait", value=_ANY_ADDRESS),
    Risk("prettier", _LOADS, options="--plugin --config", value=_DISTANT),
    Risk("biome", _SETTINGS, options="--config-path", value=_DISTANT),
    Risk("maturin", CHOICE, options="-i --interpreter --pip-path", value=_DISTANT),
    Risk("maturin", _LOADS, options="--config"),
    Risk("perl", CHOICE, word=r"(?s)-[mM].*(;|`|\b(system|exec|qx|unlink|open|eval|do)\b).*"),
    # keys
    Risk("gpg gpg2", _SETTINGS, options="--homedir --options"),
    Risk("gpg gpg2", _UNNAMED, options="--use-embedded-filename"),
    Risk("gpg gpg2", "changes whose keys are trusted", options=_GPG_TRUST),
    Risk("openssl", _LOADS, options="-keygen_engine -ssl_client_engine -module"),
    Risk("openssl", _LISTENS, "ocsp|cmp", "-port"),
    Risk("certbot", CHOICE, options=_CERTBOT_PROGRAMS),
    Risk(
        "certbot", "changes what runs on this machine", "delete|revoke|unregister|rollback|install|enhance|reconfigure"
    ),
)
