"""
Table of what makes a program dangerous: options of tools for text, archives, code and processes.

The options come from the manual pages (see `table_runners`). They run another program, load code or settings, write a
file that the line does not name, or open a port.
"""

from __future__ import annotations

from .table_system import Row

__all__ = ["TOOLS"]

_CHOICE = "runs a program of the command's choice"
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
_FROM_ANYBODY = "installs what anybody may have put there"
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

TOOLS: tuple[Row, ...] = (
    # pagers and searching
    Row("less", _CHOICE, word=_LESS),
    Row("man", _CHOICE, options="-M --manpath"),
    Row("man", _CHOICE, options="-r --prompt", value=r"(?s).*[`$\"\\].*"),
    Row("ack", _SETTINGS, options="--ackrc"),
    Row("fzf", _CHOICE, options="--with-shell --info-command"),
    Row("rename", _CHOICE, word=_CODE_IN_PERL),
    # archives
    Row("tar gtar", "removes what stands where it unpacks", options="--recursive-unlink"),
    Row("unzip", _OUTSIDE, options="-:"),
    Row("cpio", _OUTSIDE, options="--absolute-filenames", word=r"-\w*i\w*|--extract"),
    Row("7z 7za 7zr 7zz", _OUTSIDE, word=r"-spf2?"),
    Row("7z 7za 7zr 7zz", "sends a file to another machine", word=r"-seml.*"),
    Row("sqlite3", _UNNAMED, word=r"-A\w*x\w*"),
    # pictures, sound, paper
    Row("ffmpeg", _LOADS, word=r"(?s).*\b(ladspa|frei0r|frei0r_src|lv2)=.*"),
    Row("ffmpeg", _LISTENS, word=r"(?s).*\ba?zmq\b.*"),
    Row("ffmpeg", _UNNAMED, word=r"-dump_attachment\S*"),
    Row("sox", _LOADS, word="ladspa"),
    Row("convert magick", _LOADS, options="-process"),
    Row("convert magick", _LISTENS, options="-distribute-cache"),
    Row("dvips ftp", _CHOICE, options="-o", value=_PIPE),
    Row("gs", _CHOICE, options="-o -sOutputFile", value=_PIPE),
    Row("gs", _CHOICE, word="-dDELAYSAFER"),
    Row("luatex lualatex", _LOADS, options="--fmt -fmt", value=_DISTANT),
    Row("pandoc", _LOADS, options="--data-dir"),
    Row("psql", _CHOICE, options="-o --output", value=_PIPE),
    # data
    Row("yq", _UNNAMED, options="--split-exp"),
    Row("yq", _UNNAMED, options="-s", value=r"\.\w[\w.]*|.*\$index.*"),
    Row("duckdb", _LOADS, word=r"(?is).*(\binstall\s+\w|\bload\s+\w|\.(shell|system|open|read)\b).*", reads=True),
    Row("duckdb", _SETTINGS, options="-init --init", value=r"(?!/dev/null$).+"),
    Row("snowsql", _CHOICE, word=r"(?is).*!(system|source|load|edit|spool)\b.*", reads=True),
    Row("sqlcmd", _CHOICE, word=r"(?is).*(!!|:\s*(r|out|error|ed)\b|xp_cmdshell).*", reads=True),
    Row("sqlplus", _CHOICE, word=r"(?is)@.+|.*(\bhost\b|^\s*!|\bspool\b).*", reads=True),
    # editors
    Row("vim vi nvim ex view gvim mvim vimx", _LISTENS, options="--listen"),
    Row("vim vi ex view gvim mvim vimx", _LISTENS, word=r"-nb.*"),
    Row("emacs", _LOADS, options="--init-directory -u --user"),
    Row("kak", _CHOICE, options="-p"),
    Row("mg", _SETTINGS, options="-u"),
    Row("hx", _SETTINGS, options="-c --config", value=_DISTANT),
    Row("code codium", _LOADS, options="--extensions-dir --extensionDevelopmentPath", value=_DISTANT),
    # debuggers and tracers
    Row("lldb", _LOADS, options="--local-lldbinit"),
    Row("strace rr firejail daemonize flatpak-spawn", _LOADS, options="-E -v --env", value=_CARRIED_VARIABLE),
    Row("expect", _CHOICE, options="-c", value=r"(?s).*(\bopen\b|log_file|\bfile\s+delete|\bsource\b|\bsocket\b|\|).*"),
    Row("perf", _CHOICE, options="--exec-path"),
    Row("perf", _CHOICE, "script", "-s --script"),
    Row("perf", "changes the running kernel", "probe|ftrace|daemon"),
    Row("rr", _CHOICE, "replay", "-d --debugger -x --gdb-x"),
    Row("valgrind", "sends data to another machine", options="--log-socket --xml-socket --debuginfo-server"),
    # programs that start another one
    Row("rlwrap", _CHOICE, options="-z --filter"),
    Row("cpulimit", "kills processes that it does not name one by one", options="-k --kill"),
    Row("flatpak-spawn", "leaves the surroundings that it was given", options="--host"),
    Row("dbus-run-session", _CHOICE, options="--dbus-daemon --config-file"),
    Row("fakeroot", _LOADS, options="--lib --faked"),
    Row("fakeroot", _LOADS, options="-l", value=r".*\.(so|dylib)(\.[\d.]+)?"),
    Row("faketime", _CHOICE, options="--date-prog"),
    Row("parallel", _CHOICE, options="--sql --sql-worker --sql-master --sql-and-worker --retry-failed --rsync-opts"),
    Row("parallel", _CHOICE, options="--group-by --shard --bin", value=r"(?s).*(system|exec|qx|`|open|unlink|eval).*"),
    Row("tmux", _CHOICE, "source-file|source|run-shell|run|if-shell|pipe-pane|pipep|set-hook|bind-key|bind"),
    Row("tmux", "types and clicks in place of the user", "send-keys|send|set-buffer|paste-buffer"),
    Row("screen", "types and clicks in place of the user", word="stuff|paste|exec|eval"),
    Row("tmux", _SETTINGS, options="-f", value=r"(?!/dev/null$)[^#{}]*[./].*"),
    Row("screen", _SETTINGS, options="-c"),
    # compilers
    Row(_COMPILERS, _LOADS, word=_COMPILER_WORDS),
    Row(_LINKERS, _LOADS, options="--load-pass-plugin"),
    Row(_LINKERS, _LOADS, options="-mllvm --mllvm", value=r".*load.*"),
    Row(f"{_COMPILERS} {_LINKERS} as ar nm ranlib strip java javac rustc ghc", _ARGUMENTS, word=r"@.+"),
    Row("ar", "runs a script", word="-M"),
    Row("make gmake", _CHOICE, word=r"(?s)\w+[:?+]?=.*[;|&`\n].*"),
    Row("rustc cargo", _LOADS, word=_RUSTC_WORDS),
    Row("go", _LOADS, word=r"(?s).*-extldflags.*(plugin|wrapper|specs|-B|-fuse-ld|error-handling).*"),
    Row("go", "sends data to another machine", "telemetry on"),
    Row("ghc ghci", _CHOICE, word=r"-pgm\w+(=.*)?|-fplugin=.*|--frontend|-ghci-script"),
    Row("javac", _LOADS, options="-processorpath --processor-path --processor-module-path", value=_DISTANT),
    Row("javac", _LOADS, word=r"-J-XX:(On\w+|VMOptionsFile|Flags)=.*"),
    Row("java", _LISTENS, word=r"-Dcom\.sun\.management\.jmxremote.*port.*"),
    Row("java javac", _LOADS, options="--patch-module --upgrade-module-path"),
    Row("gradle gradlew", _PUBLISHES, options="--scan"),
    Row("gradle gradlew", _LOADS, word=_JAVA_HOME_PROPERTY),
    Row(
        "gradle gradlew",
        _LOADS,
        options="-g --gradle-user-home -b --build-file -c --settings-file --include-build",
        value=_DISTANT,
    ),
    Row("mvn", _SETTINGS, options="-s --settings -gs --global-settings -t --toolchains -gt", value=_DISTANT),
    Row("mvn", _CHOICE, word=r".*exec-maven-plugin.*"),
    Row(
        "mvn",
        "runs what anybody may have put there",
        word=r"(?!org\.(apache\.maven|codehaus\.mojo))[\w.-]+:[\w.-]+:[\w.:-]+",
    ),
    # languages
    Row("R Rscript", _CHOICE, options="-d --debugger"),
    Row("elixir", _CHOICE, options="--erl --vm-args --boot --rpc-eval --pipe-to"),
    Row("erl", _CHOICE, options="-args_file -epmd_module -remsh -loader"),
    Row("erl", _CHOICE, options="-run -s", word="os|file|filelib|erlang|rpc|httpc|open_port|inet|ftp|ssh"),
    Row("maxima", _LOADS, options="-X --lisp-options --userdir --init"),
    Row(
        "node nodejs", _LOADS, options="--test-reporter --test-global-setup --experimental-config-file", value=_DISTANT
    ),
    Row("node nodejs", _LOADS, options="--experimental-network-imports"),
    Row("node nodejs", _LISTENS, word=r"--inspect-port=(0\.0\.0\.0|\[?::).*"),
    Row("julia", _LOADS, options="-L --load -J --sysimage --machine-file", value=_DISTANT),
    Row("pwsh powershell", _CHOICE, word=_POWERSHELL, reads=True),
    Row("swift", "leaves the surroundings that it was given", options="--disable-sandbox"),
    Row("dotnet", _INSTALLS, "tool install|tool update|new install|workload install"),
    Row("php", _LISTENS, options="-S --server -b --bindpath", value=_NETWORK),
    Row("pip pip3 pipx", _CHOICE, options="--python", value=r"(/(?!usr/(local/)?bin/)|~|\.\./).*"),
    Row("pipx", "changes a start-up file of a shell", "ensurepath"),
    Row("tox", _CHOICE, options="-x --override"),
    Row("tox", _FROM_ANYBODY, options="-i --index-url"),
    Row("bundle", _FROM_ANYBODY, "add|inject", "--git --source --github"),
    Row("bundle", _INSTALLS, "plugin install"),
    Row("facter", _LOADS, options="-c --config -p --puppet"),
    # packages of a language
    Row("uv", _SETTINGS, options="--config-file", value=_DISTANT),
    Row("pip pip3 uv", "changes the packages of the system", options="--break-system-packages"),
    Row(
        "uv",
        _FROM_ANYBODY,
        options="--index --default-index --index-url -i --extra-index-url -f --find-links",
        word=_WEB,
    ),
    Row("uv", _FROM_ANYBODY, options="--mirror --pypy-mirror --python-downloads-json-url"),
    Row("uv", "gives away secrets", "auth token"),
    Row("uv poetry pdm hatch bun deno", "replaces a program of the machine", "self update|self upgrade|upgrade"),
    Row("poetry pdm", _INSTALLS, "self add|plugin add|self install"),
    Row("poetry", _SOURCES, "source add"),
    Row(
        "poetry pdm", _SOURCES, "config", word=r"(repositories|http-basic|pypi-token|certificates|pypi|repository)\..*"
    ),
    Row("hatch", _SOURCES, "config set", word=r"publish\..*|.*\b(index|shell)\b.*"),
    Row("pdm", "runs what anybody may have put there", "init|new", word=_WEB),
    Row("yarn", _SETTINGS, options="--use-yarnrc", value=_DISTANT),
    Row("yarn", _CHOICE, "policies set-version|set version", word=rf"{_WEB}|{_DISTANT}"),
    Row(
        "pnpm",
        _CHOICE,
        word=r"(?i)--config\.(script-?shell|.*registry|node-?options|shell|global-?pnpmfile|pnpmfile)=.*",
    ),
    Row("pnpm", _LOADS, options="--pnpmfile --global-pnpmfile", value=_DISTANT),
    Row("bun", _LOADS, options="-r --preload --require --import -c --config", value=_DISTANT),
    Row("bun", _LOADS, options="--compile-executable-path"),
    Row("bun", _INSTALLS, "pm trust"),
    Row("deno", _LOADS, options="--preload --require -c --config --import-map", value=rf"{_WEB}|{_DISTANT}"),
    Row("deno", _CHOICE, "task", "--eval"),
    Row("deno", _PUBLISHES, "publish|deploy"),
    Row("deno bun node nodejs", _LISTENS, options="--inspect --inspect-brk --inspect-wait", value=_ANY_ADDRESS),
    Row("prettier", _LOADS, options="--plugin --config", value=_DISTANT),
    Row("biome", _SETTINGS, options="--config-path", value=_DISTANT),
    Row("maturin", _CHOICE, options="-i --interpreter --pip-path", value=_DISTANT),
    Row("maturin", _LOADS, options="--config"),
    Row("perl", _CHOICE, word=r"(?s)-[mM].*(;|`|\b(system|exec|qx|unlink|open|eval|do)\b).*"),
    # keys
    Row("gpg gpg2", _SETTINGS, options="--homedir --options"),
    Row("gpg gpg2", _UNNAMED, options="--use-embedded-filename"),
    Row("gpg gpg2", "changes whose keys are trusted", options=_GPG_TRUST),
    Row("openssl", _LOADS, options="-keygen_engine -ssl_client_engine -module"),
    Row("openssl", _LISTENS, "ocsp|cmp", "-port"),
    Row("certbot", _CHOICE, options=_CERTBOT_PROGRAMS),
    Row(
        "certbot", "changes what runs on this machine", "delete|revoke|unregister|rollback|install|enhance|reconfigure"
    ),
)
