"""
What makes a program dangerous, as data: programs that run others in ways of their own.

Read for these rows were the manual pages of the programs in Debian 12, among them git 2.39, GNU tar 1.34, coreutils
9.1, findutils 4.9, sed 4.9, gawk 5.2, rsync 3.5, OpenSSH 9.2, curl 7.88, wget 1.21, make 4.3, gdb 13.1, nmap 7.93,
sqlite 3.40, psql 15, MariaDB 10.11, OpenSSL 3.0, apt 2.6, dpkg 1.21, rpm 4.18, man-db 2.11, less 590, vim 9.0, zip 3.0,
cpio 2.13, strace 6.1, tcpdump 4.99, procps 4.0 and psmisc 23.6. Looked for were options, variables and commands of a
program's own language whose text speaks of running, invoking or loading something: a command, a shell, a pager, an
editor, a helper, a plugin, a script. Programs without a page there (docker, npm, cargo, go and the clouds) were
done from their documentation.
"""

from __future__ import annotations

from .shell_rows import Row

__all__ = ["RUN"]

_CHOICE = "runs a program of the command's choice"
_LOADS = "loads code of the command's choice"
_INSTALLS = "installs a package, which runs its scripts"
_COMPRESSORS = (
    r"(?!(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|unzstd|lz4|lzip|lzop|lzma|brotli|compress)"
    r"(?: -[\w=]+)*$).+"
)
_SSH_OPTION = (
    r"(?i)(-o)?(proxycommand|(permit)?localcommand|knownhostscommand|pkcs11provider|securitykeyprovider|xauthlocation"
    r"|include|identityagent|userknownhostsfile(?!\W*/dev/null))\s*[= ].*"
)
_GDB = r"(?s).*(shell|!|system|spawn|exec|script|call|python|source|pipe|compile|dump|restore).*"
_VIM = (
    r".*(!|\bsystem(?:list)?\s*\(|\bjobstart\b|\bterm(?:inal)?\b|\b(?:lua|py|python3?|perl|ruby|tcl|mz)\s"
    r"|os\.execute|\bexe(?:cute)?\b|\bso(?:urce)?\s|\bru(?:ntime)?\s|\bmake\b|\bgrep(?:prg)?\b).*"
)
_KEEPS_SQL = (
    r"(?is).*(\\!|\bsystem\s|\bcopy\b.*\bprogram\b|\\copy\b.*\bprogram\b|\\g\s*\||\\o\s*\||\\setenv|\\sandbox|\\P\s).*"
)
_SQLITE = (
    r"(?is).*(^|[\n;'\"])\s*\.(shell|system|load|excel|www)\b.*"
    r"|.*\b(load_extension|fts3_tokenizer|edit|writefile)\s*\(.*|.*\.(once|output|import)\s+['\"]?\|.*"
)

RUN: tuple[Row, ...] = (
    # other machines
    Row("ssh scp sftp", _CHOICE, word=_SSH_OPTION),
    Row("ssh scp sftp", "runs with settings of the command's choice", options="-F", value=r"(?!/dev/null$|none$).+"),
    Row("scp sftp", _CHOICE, options="-S -D"),
    Row("ssh ssh-keygen", _LOADS, options="-I", word=r".*\.(so|dylib|dll)(\.[\d.]+)?"),
    Row("ssh-keygen", _LOADS, options="-D"),
    Row("ssh-add", _LOADS, options="-s"),
    Row("rsync", _CHOICE, options="--rsync-path"),
    Row("rsync", _CHOICE, options="-e --rsh", value=r"(?!ssh(\s|$)|/usr/bin/ssh(\s|$)).+"),
    Row("wget", _CHOICE, options="--use-askpass"),
    Row(
        "wget", _CHOICE, options="-e --execute", value=r"(?i).*(use_?askpass|output_?document|post_?file|body_?file).*"
    ),
    Row("ftp lftp tftp sftp", _CHOICE, word=r"(?s).*!.*", reads=True),
    # archives and text
    Row("tar gtar bsdtar cpio", _CHOICE, options="--checkpoint-action --to-command --rsh-command --rmt-command"),
    Row("tar gtar bsdtar", _CHOICE, options="-F --info-script --new-volume-script"),
    Row("tar gtar bsdtar", _CHOICE, options="-I --use-compress-program", value=_COMPRESSORS),
    Row("zip", _CHOICE, options="-TT --unzip-command"),
    Row("split sort", _CHOICE, options="--filter --compress-program"),
    Row("sed gsed", _CHOICE, word=r"(?s)(?!-)(.*[;\s{])?(\d+|\$|/[^/]*/)?e(\s.*)?"),
    Row("sed gsed", _CHOICE, word=r"(?s)(?!-).*[^\w\s][gipmI\d]{0,6}e[gipmI\d]{0,6}([;}\n].*)?"),
    Row("sed gsed", _CHOICE, options="-e --expression", value=r"(?s)(.*[;\s{])?(\d+|\$|/[^/]*/)?e(\s.*)?"),
    Row(
        "sed gsed", _CHOICE, options="-e --expression", value=r"(?s)s.*[^\w\s][gipmI\d]{0,6}e[gipmI\d]{0,6}([;}\n].*)?"
    ),
    Row("gawk awk", _LOADS, options="-l --load"),
    Row("gawk", "runs a script of the debugger", options="-D --debug"),
    Row("m4", _CHOICE, word=r"(?s).*syscmd.*", reads=True),
    Row("dc", _CHOICE, word=r"(?s).*!.*", reads=True),
    Row("rg", _CHOICE, options="--pre --hostname-bin"),
    Row("rg ag ack bat delta", _CHOICE, options="--pager"),
    Row("fzf", _CHOICE, options="--preview --bind"),
    Row("pandoc", _CHOICE, options="-F --filter -L --lua-filter --pdf-engine", value=r".*[/.].*"),
    Row(
        "latex pdflatex xelatex lualatex tex pdftex luatex",
        _CHOICE,
        options="-shell-escape --shell-escape -enable-write18",
    ),
    Row("gs", _CHOICE, word=r".*%pipe%.*|-dNOSAFER"),
    Row("gnuplot octave maxima", _CHOICE, word=r"(?s).*(system|shell|popen|!).*", reads=True),
    # editors and pagers
    Row(
        "vim vi nvim ex ed emacs less more man view",
        _CHOICE,
        word=r"(?s).*!.*|--eval.*|-P.*|-H.+|--html=.*",
        reads=True,
    ),
    Row("less more man view", _CHOICE, options="--pager --html --lesskey-src --lesskey-content"),
    Row("vim vi nvim ex view", _CHOICE, options="-c --cmd", value=f"(?is){_VIM}"),
    Row("vim vi nvim ex view", _CHOICE, word=rf"(?is)\+{_VIM}"),
    Row(
        "vim vi nvim ex view",
        "runs a script of the editor",
        options="-S -s -u -l -U --startuptime --remote-expr --remote-send",
    ),
    Row(
        "emacs",
        "runs a script of the editor",
        options="-l --load --script --eval -f --funcall --execute -batch --batch",
    ),
    Row("nano", _CHOICE, options="-s --speller"),
    # debuggers and tracers
    Row("gdb lldb expect osascript nmap", _CHOICE, word=_GDB),
    Row(
        "gdb lldb",
        "runs a script of the debugger",
        word=r"-(x|ix|s|S)|--?(command|init-command|source|source-quietly)(=.*)?",
    ),
    Row("strace", _CHOICE, options="-o --output", value=r"[|!].*"),
    Row("tcpdump", _CHOICE, options="-z --postrotate-command"),
    # building
    Row("make gmake", _CHOICE, word=r"(SHELL|MAKEFLAGS|GNUMAKEFLAGS)=.*"),
    Row("make gmake", _CHOICE, options="--eval -E"),
    Row(
        "gcc g++ cc c++ clang clang++ gfortran",
        _LOADS,
        word=r"-wrapper|-fplugin=.*|-fpass-plugin=.*|-specs=.*|-load|-B.*/.*",
    ),
    Row("gcc g++ cc c++ clang clang++ gfortran", _LOADS, word=r"-Wl,.*-plugin.*"),
    Row("ld gold lld ld.bfd ld.gold ld.lld", _LOADS, options="-plugin --plugin"),
    Row("go", _CHOICE, options="-toolexec -exec -vettool --toolexec --exec --vettool"),
    Row(
        "cargo",
        _CHOICE,
        options="--config",
        value=r"(?i).*(wrapper|runner|linker|rustc|rustdoc|alias|credential|source\.|registr|\.toml$).*",
    ),
    Row("gradle gradlew", _LOADS, options="-I --init-script"),
    Row("java", _LOADS, word=r"-(javaagent|agentlib|agentpath):.*|-XX:On\w+=.*"),
    Row("npm npx pnpm", _CHOICE, options="--script-shell"),
    Row("npm pnpm", _CHOICE, "exec|x", "-c --call --shell-mode"),
    Row(
        "npm pnpm yarn",
        _CHOICE,
        "config set|c set|set",
        word=r"(?i)(script-?shell|.*registry|prefix|git|node-?options|shell|editor|viewer|yarn-?path|ignore-scripts)(=.*)?",
    ),
    Row("pip pip3 uv", "changes where packages come from", "config set|config edit"),
    Row("helm", _CHOICE, options="--post-renderer"),
    Row("gh", _LOADS, "extension install|extension exec|extensions install"),
    Row("hg", _CHOICE, options="--config --ssh --remotecmd -e"),
    Row("svn", _CHOICE, options="--diff-cmd --diff3-cmd --editor-cmd --config-option"),
    Row("ansible", _CHOICE, options="-m --module-name", value="shell|command|raw|script"),
    # databases
    Row("sqlite3", _CHOICE, word=_SQLITE, reads=True),
    Row("psql mysql mariadb", _CHOICE, word=_KEEPS_SQL, reads=True),
    Row("mysql mariadb", _LOADS, options="--plugin-dir --init-command"),
    Row("mysql mariadb", _CHOICE, options="--pager"),
    # keys and packages
    Row("openssl", _LOADS, options="-engine -provider -provider-path -config"),
    Row(
        "apt apt-get apt-cache aptitude",
        _CHOICE,
        options="-o --option",
        value=r"(?i).*(invoke|hook|dpkg::|dir::|dir=|proxy-auto-detect|solver).*",
    ),
    Row("apt apt-get apt-cache aptitude", _CHOICE, options="-c --config-file"),
    Row("dpkg", _CHOICE, options="--pre-invoke --post-invoke --status-logger"),
    Row("dpkg", _INSTALLS, options="-i --install --unpack --configure"),
    Row("apt apt-get dnf yum zypper", _INSTALLS, "install|reinstall|localinstall", word=r".*\.(deb|rpm)"),
    Row("rpm", _CHOICE, options="--pipe --load --macros --rcfile -E --eval --define -D"),
    Row("rpm", _INSTALLS, word=r"-[iUF]\w*|--install|--upgrade|--freshen|--reinstall"),
    # the machine
    Row("systemd-run", "runs a program outside of what holds this command"),
    Row("ip", "leaves the surroundings that it was given", "netns exec|vrf exec|-all netns exec"),
    Row("ip", "changes the network", options="-batch -b"),
    Row("busybox toybox", "puts other programs in place", options="--install"),
)
