"""
Table of the files that a program reads and writes, by its operands and by the values of its options.

A program that has no row is assumed to read every word without a blank. For every program, the value of an option whose
name means output (`OUTPUT`) is written. `table_runners` describes how the rows were compared with manual pages. The
comparison looked for options with a file or a folder as their value, and for operands that are written, removed or
unpacked into.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "FILES",
    "GIT",
    "GIT_SHOWS_CONTENT",
    "NAMES_ONLY",
    "NOT_FILES",
    "OUTPUT",
    "SAYS_WRITE",
    "SCRIPTS",
    "SUBCOMMANDS",
    "WITH_MESSAGE",
    "FileRow",
]


class FileRow(NamedTuple):
    """
    How a program uses files.

    Attributes:
        operands: A letter for each operand. The last letter holds for all operands that follow. `r` means read, `w`
            means written, and `n` means that it is not a file, or that only its name is used.
        last: The letter of the last operand, if there are two or more.
        writes: Options whose value is written, or is the folder that is written into.
        reads: Options whose value is read.
        if_any: Options such as `-i` of `sed`. Without them, *operands* are only read. *last* holds in any case.
        trees: Whether a folder is read with all its content: "always", or the options that cause it.
    """

    operands: str = "r"
    last: str = ""
    writes: str = ""
    reads: str = ""
    if_any: str = ""
    trees: str = ""


def _rows(table: dict[str, FileRow]) -> dict[str, FileRow]:
    return {name: row for names, row in table.items() for name in names.split()}


_AWK_WRITES = "-d --dump-variables -p --profile -o --pretty-print"

FILES: dict[str, FileRow] = _rows({
    # programs that show or run a file
    "less": FileRow(writes="-o -O --log-file --LOG-FILE"),
    "cat head tail more most bat tac nl sort cut paste join comm diff vimdiff sdiff cmp": FileRow(),
    "strings od hexdump wc": FileRow(),
    "base64 base32 md5sum sha1sum sha256sum sha512sum b2sum cksum fold fmt column rev expand iconv pr": FileRow(),
    "fish": FileRow(writes="-p --profile --profile-startup"),
    # programs that show the lines of a list of names if the lines do not name files
    "file": FileRow("n", reads="-f --files-from"),
    "du": FileRow("n", reads="--files0-from -X --exclude-from"),
    "find": FileRow("n", reads="-files0-from"),
    "tree": FileRow("n", reads="--hintro --houtro --gitfile --infofile", writes="-o"),
    "source . sh bash zsh dash ksh open xdg-open pbcopy xclip": FileRow(),
    # programs that make, change or remove files
    "rm rmdir unlink trash del srm shred wipe tee touch sponge mkfifo mknod truncate": FileRow("w"),
    "logsave": FileRow("wn"),
    "mv rename": FileRow("w", writes="-t --target-directory"),
    "cp install scp ln ditto": FileRow(
        "r", "w", writes="-t --target-directory --backup-dir", trees="-r -R -a --recursive --archive"
    ),
    "rsync": FileRow(
        "r",
        "w",
        writes="--backup-dir --partial-dir -T --temp-dir --log-file --write-batch --only-write-batch",
        reads="--password-file --files-from --include-from --read-batch --early-input --link-dest --copy-dest",
        trees="-r -R -a --recursive --archive",
    ),
    "chmod chown chgrp chattr setfacl": FileRow("nw"),
    "gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd lz4 compress uncompress dos2unix unix2dos": FileRow(
        "w", writes="--output-dir-flat --output-dir-mirror --trace"
    ),
    "strip ranlib tftp": FileRow("w"),
    "ed ex vim vi nvim view nano emacs micro pico kak hx joe mg": FileRow(
        "w", reads="-S -s -u -l --load --script -q", writes="-w -W -i -C --backupdir --startuptime"
    ),
    # programs that write the second or the last operand
    "uniq xxd": FileRow("rw"),
    "split": FileRow("rw"),
    "csplit": FileRow("rn", writes="-f --prefix"),
    "ffmpeg": FileRow(
        "r",
        "w",
        writes="-dump_attachment -dump_attachment:t -passlogfile -vstats_file -sdp_file -progress",
        reads="-attach -filter_script -filter_complex_script",
    ),
    "convert magick sox": FileRow("r", "w", writes="-write +write --temp"),
    "gs": FileRow("r", writes="-sOutputFile -o"),
    "latex pdflatex xelatex lualatex tex pdftex luatex": FileRow(
        writes="-output-directory --output-directory -jobname --jobname"
    ),
    "patch": FileRow("wr", writes="-o --output -r --reject-file -d --directory -B --prefix", reads="-i --input"),
    "script": FileRow("w", writes="-I -O -B -T -t --timing --log-in --log-out --log-io --log-timing"),
    # programs that change files in place
    "sed gsed": FileRow("nw", reads="-f --file", if_any="-i --in-place"),
    "perl ruby": FileRow("w", if_any="-i"),
    "yq": FileRow("nw", if_any="-i --inplace --in-place"),
    "gawk awk mawk nawk": FileRow("nw", reads="-f --file -E --exec -i --include", writes=_AWK_WRITES, if_any="inplace"),
    "prettier eslint biome gofmt clang-format": FileRow(
        "w", writes="--cache-location --cache-file -cpuprofile", if_any="-w --write --fix -i --in-place"
    ),
    "black isort rustfmt": FileRow("w"),
    # archives
    "tar gtar bsdtar": FileRow(
        "r",
        writes="-C --directory --cd --one-top-level -f --file --index-file -g --listed-incremental --volno-file",
        trees="always",
    ),
    "zip": FileRow("wr", writes="-O --out --output-file -b --temp-path --logfile-path -lf", trees="-r --recurse-paths"),
    "unzip": FileRow("rn", writes="-d"),
    "7z 7za 7zr 7zz": FileRow("nwr", writes="-o -w", trees="always"),
    "cpio": FileRow("r", writes="-D --directory -O -F --file"),
    "unrar": FileRow("nrw"),
    "dpkg": FileRow("rw", if_any="-x --extract -X --vextract -e --control -R --raw-extract -b --build"),
    "ar": FileRow("nwr"),
    # programs that exchange data with other machines
    "curl": FileRow(
        "n",
        writes="-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save "
        "--hsts --alt-svc --libcurl --ssl-sessions",
        reads="-T --upload-file -K --config -b --cookie -d --data --data-binary --data-raw --data-ascii --json -F "
        "--form --data-urlencode -w --write-out -E --cert --key --cacert --netrc-file --etag-compare --url-query -u -H "
        "--header --url --variable --capath --crlfile --proxy-cacert --proxy-cert --proxy-key --proxy-crlfile "
        "--proxy-header --pubkey",
    ),
    "wget": FileRow(
        "n",
        writes="-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies "
        "--hsts-file --warc-file --warc-tempdir --rejected-log --default-page",
        reads="-i --input-file --input-metalink --post-file --body-file --load-cookies --certificate --private-key "
        "--config --ca-certificate --ca-directory --crl-file --pinnedpubkey --warc-dedup",
    ),
    "aria2c": FileRow(
        "n",
        writes="-o --out -d --dir -l --log --save-session --save-cookies --server-stat-of --dht-file-path "
        "--dht-file-path6 -O --index-out",
        reads="-i --input-file -T --torrent-file -M --metalink-file --netrc-path --load-cookies --certificate "
        "--private-key --ca-certificate --conf-path --rpc-private-key",
    ),
    "http https httpie": FileRow(writes="-o --output --session", reads="--cert --cert-key --session-read-only"),
    "lynx": FileRow("n", writes="-cmd_log -cookie_save_file -cookie_file -error_file -session -sessionout"),
    "hping hping3": FileRow("r", reads="-E --file"),
    "ansible": FileRow("r", writes="-t --tree"),
    "hg": FileRow("r", writes="-A --accesslog -E --errorlog --pid-file --bundle --mbox", reads="-l --logfile --desc"),
    "rclone": FileRow("r", writes="--combined --differ --error --match --missing-on-dst --missing-on-src --cache-dir"),
    "journalctl": FileRow("r", writes="--cursor-file"),
    "valgrind": FileRow("r", writes="--xml-file --xtree-memory-file --xtree-leak-file"),
    "uuencode uudecode": FileRow("r", writes="-R --save-opts", reads="-r --load-opts"),
    "firejail": FileRow("r", writes="--build"),
    "xvfb-run": FileRow("r", writes="-f --auth-file -e --error-file"),
    "rlwrap": FileRow("r", writes="-H --history-filename -l --logfile"),
    "ncat": FileRow("n", writes="-o --output -x --hex-dump", reads="--ssl-key --ssl-cert --ssl-trustfile"),
    "nmap": FileRow(
        "n", writes="-oN -oX -oG -oA -oS --resume", reads="-iL --excludefile --script-args-file --stylesheet --datadir"
    ),
    "docker podman nerdctl": FileRow(
        "n",
        writes="--iidfile --cidfile --pidfile --conmon-pidfile --infra-conmon-pidfile --digestfile --pod-id-file -o "
        "--output --dir --checkpoint-dir --export --log-opt",
        reads="-v --volume -f --file --env-file --label-file -i --input --authfile --identity --secret --mount",
    ),
    "kubectl oc": FileRow(
        "n",
        writes="--cache-dir --profile-output --log-dir",
        reads="-f --filename --from-file --from-env-file -k --kustomize --kubeconfig --client-key --client-certificate",
    ),
    "gh": FileRow(
        "n", writes="-D --dir -O --debug-file", reads="-F --body-file --notes-file --input --field --env-file --recover"
    ),
    "npm": FileRow("n", writes="--logs-dir --cache", reads="--cafile --userconfig --globalconfig"),
    "pnpm": FileRow("n", writes="--patches-dir --modules-dir --virtual-store-dir --store-dir --lockfile-dir --dir -C"),
    "yarn": FileRow("n", writes="--modules-folder --cache-folder --preferred-cache-folder --link-folder"),
    "bun": FileRow(
        "r",
        writes="--cpu-prof-dir --cpu-prof-name --heap-prof-dir --heap-prof-name --redirect-warnings --coverage-dir "
        "--reporter-outfile --cache-dir --outdir --outfile --metafile --metafile-md --timings",
        reads="--env-file --cafile",
    ),
    "deno": FileRow(
        "r",
        writes="-o --output --outdir --coverage --junit-path --root --lock",
        reads="--env-file --cert",
    ),
    "uv": FileRow(
        "r",
        writes="-o --output-file --out-dir --target --prefix --cache-dir --install-dir --bin -t --directory --project",
        reads="-r --requirement --requirements --with-requirements -c --constraint --constraints --overrides",
    ),
    "poetry pdm hatch": FileRow("r", writes="-o --output -d --dest -L --lockfile --data-dir --cache-dir --export-path"),
    "biome": FileRow("r", writes="--reporter-file --log-file --log-path"),
    "prettier": FileRow("r", writes="--cache-location", reads="--ignore-path"),
    "maturin": FileRow("r", writes="-o --out --target-dir"),
    "cargo": FileRow("n", writes="--root --target-dir --artifact-dir --lockfile-path"),
    "ssh sftp": FileRow("n", writes="-E"),
    "xargs": FileRow("n", reads="-a --arg-file"),
    "parallel": FileRow(
        "n",
        writes="--joblog --jl --results --res --template --tmpl --tmpdir",
        reads="-a --arg-file --basefile --bf --transferfile --tf --trc --sshloginfile --slf",
    ),
    "mutt mail mailx": FileRow("n", reads="-a -A -i -H"),
    # compilers and similar programs
    "gcc g++ cc c++ clang clang++ tcc ld as ar nm": FileRow(
        "r",
        writes="-o -MF -MJ -aux-info -dumpdir --serialize-diagnostics -Map --dependency-file --out-implib --output-def "
        "--base-file -a --MD -index-store-path --print-symbol-counts --reproduce --why-extract --print-archive-stats",
    ),
    "rustc javac protoc tsc esbuild": FileRow(
        writes="-o -d -h -s --out-dir --outDir --outFile --outfile -Xstdout --declarationDir --tsBuildInfoFile "
        "--generateTrace --generateCpuProfile --descriptor_set_out --dependency_out --emit --metafile --mangle-cache"
    ),
    "go": FileRow(
        writes="-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -modfile -pkgdir"
    ),
    "java": FileRow(
        writes="-XX:ErrorFile -XX:HeapDumpPath -XX:LogFile -XX:SharedArchiveFile -XX:ArchiveClassesAtExit"
    ),
    "pandoc": FileRow(writes="-o --extract-media --log --data-dir"),
    "ghc ghci": FileRow(
        writes="-o -ohi -odir -hidir -hiedir -outputdir -stubdir -dumpdir -tmpdir -dep-makefile -ddump-file-prefix"
    ),
    "m4": FileRow(writes="-F --freeze-state --debugfile -o --error-output"),
    # keys
    "openssl": FileRow(
        "n",
        writes="-out -keyout -outdir -CAserial -writerand -sigfile -certout -chainout -extracertsout -cacertsout "
        "-reqout -rspout -respout -certsout -sess_out -keylogfile -msgfile -srpvfile -signer",
        reads="-in -inkey -key -keyfile -passin -passout -pass -kfile -CAkey -CA -CAfile -cert -certfile -signkey "
        "-signer -sign -verify -signature -recip -originator -content -extfile -peerkey -revoke -ss_cert -spkac "
        "-tls_key -key2 -dkey -dcert -rkey -rsigner -xkey -xcert -oid -data -queryfile -rand -sess_in -early_data "
        "-newkey -oldcert -srv_key -csr -paramfile -force_pubkey -reqin -rspin -respin -sigfile -secret -cert_chain",
    ),
    "ssh-keygen": FileRow("n", writes="-f"),
    "gpg gpg2 age": FileRow(
        writes="-o --output --status-file --logger-file --log-file --attribute-file --trustdb-name --keyring "
        "--primary-keyring",
        reads="--passphrase-file --command-file --options --recipient-file -R --recipients-file -i --identity",
    ),
    # data
    "sqlite3": FileRow("w", reads="-init"),
    "psql": FileRow("n", writes="-o --output -L --log-file", reads="-f --file"),
    "mysql mariadb mysqladmin mariadb-admin": FileRow(
        "n", writes="--tee", reads="--defaults-file --defaults-extra-file --ssl-key --ssl-cert --ssl-ca"
    ),
    "pg_dump": FileRow("n", writes="-f --file"),
    "mysqldump mariadb-dump": FileRow(
        "n", writes="-r --result-file -T --tab --log-error", reads="--defaults-file --defaults-extra-file --ssl-key"
    ),
    "redis-cli": FileRow("n", writes="--rdb --functions-rdb", reads="--eval --key --cert --cacert"),
    "pip pip3": FileRow(
        "n",
        writes="-t --target --prefix --root -d --dest --log --cache-dir --report --src -b --build",
        reads="-r --requirement -c --constraint",
    ),
    "tcpdump tshark": FileRow(
        "n", writes="-w --export-objects --temp-dir --export-tls-session-keys", reads="-r -F -V -H -K"
    ),
    "strace ltrace perf": FileRow("r", writes="-o --output"),
    "make gmake": FileRow("n", reads="-f --file --makefile"),
    # programs whose first operand is a pattern or a program
    "grep egrep fgrep rg ag ack jq python python3": FileRow("nr", reads="-f --file"),
    "node nodejs": FileRow(
        "nr",
        writes="--redirect-warnings --tls-keylog --diagnostic-dir --cpu-prof-dir --heap-prof-dir --report-directory "
        "--report-dir --trace-event-file-pattern --test-reporter-destination --report-filename --cpu-prof-name "
        "--heap-prof-name --snapshot-blob --localstorage-file --redirect-code-traces-to",
        reads="--env-file --env-file-if-exists",
    ),
    "fzf": FileRow("n", writes="--history"),
})  # fmt: skip

# How a subcommand of git uses its operands. The subcommand itself is left out.
GIT: dict[str, FileRow] = _rows({
    "clone": FileRow("nw", writes="--separate-git-dir"),
    "init": FileRow("w", writes="--separate-git-dir"),
    "worktree": FileRow("nwn"),
    "submodule": FileRow("nnw"),
    "mv": FileRow("w"),
    "rm": FileRow("w"),
    "show diff cat-file blame annotate grep hash-object diff-files diff-index": FileRow("r", writes="-o --output"),
    "log whatchanged reflog archive": FileRow("r", writes="-o --output", reads="--add-file"),
    "checkout restore": FileRow("w"),
    "stash": FileRow("nw"),
    "format-patch": FileRow(
        "n", writes="-o --output --output-directory", reads="--add-file --signature-file --description-file"
    ),
    "commit tag notes merge commit-tree fmt-merge-msg": FileRow("n", reads="-F --file -t --template"),
    "checkout-index": FileRow("n", writes="--prefix"),
    "fast-export fast-import": FileRow(
        "n", writes="--export-marks --export-pack-edges", reads="--import-marks --import-marks-if-exists"
    ),
    "repack": FileRow("n", writes="--expire-to"),
    "bugreport diagnose": FileRow("n", writes="-o --output-directory"),
    "credential-store": FileRow("n", writes="--file"),
    "daemon": FileRow("n", writes="--pid-file"),
    "merge-file": FileRow("wr"),
    "mailinfo": FileRow("w"),
    "interpret-trailers": FileRow("w", if_any="--in-place"),
    "config": FileRow("n", writes="-f --file"),
    "bundle": FileRow("nw"),
    "apply": FileRow("r", writes="--directory --build-fake-ancestor"),
})  # fmt: skip

GIT_SHOWS_CONTENT = ("-p", "-u", "--patch", "-L", "-U", "--unified", "-c", "--cc", "--dd", "--patch-with-stat")
"""The options with which `git log` shows the content of files."""
# The same for other programs: `docker cp web:/x y` writes `y`.
SUBCOMMANDS: dict[str, dict[str, FileRow]] = {
    **{name: {"cp": FileRow("rw"), "export": FileRow("nw")} for name in ("docker", "podman", "nerdctl")},
    **{name: {"cp": FileRow("rw")} for name in ("kubectl", "oc")},
    "openssl": {"rehash": FileRow("w"), "storeutl": FileRow("r")},
}

# These programs print or list the name of a file, and never show its content.
NAMES_ONLY = frozenset({
    "echo", "printf", "ls", "test", "[", "[[", "((", "stat", "file", "find", "fd", "fdfind", "which", "type", "export",
    "ssh-add", "alias", "mkdir", "cd", "pushd", "popd", "basename", "dirname", "realpath", "readlink", "du", "df",
    "tree", "declare", "local", "readonly", "unset", "set", "shopt", "man", "command", "exec", "env", "sudo", "xargs",
    "nohup", "time", "timeout", "eval", "trap", "watch", "direnv", "kill", "nice", "stdbuf", "setsid",
    "npm", "yarn", "pnpm", "cargo", "gh", "helm", "terraform", "for", "case",
})  # fmt: skip
# The value of such an option names what is left out, or is a text.
NOT_FILES = re.compile(
    r"--(?:no-?|exclude|ignore|skip|not|without|omit|filter|message|title|body|grep|author)[\w-]*|-m"
)
# For other programs, `-m` is a flag or a mode: `sort -m file`.
WITH_MESSAGE = frozenset({"git", "hg", "svn", "bzr", "jj", "gh", "python", "python3", "pytest", "alembic", "flask"})
OUTPUT = re.compile(
    r"-o|-out|--(?:[\w-]*[-_])?(?:out|output|outfile|outdir|outputfile|dest|destination|target-dir|target-directory|"
    r"logfile|log-file|junitxml|junit-xml|save-to|export-to|write-to|dump-to)(?:[-_](?:file|dir|directory|document|"
    r"path|folder|prefix|name))?"
    r"|-f(?:opt-info|dump|time-trace|optimization-record|profile-(?:generate|note|dir)|crash-diagnostics)[\w-]*"
)

_VIM = re.compile(
    r"(?:^|[|:\s,%$\d])(w|wq|x|up|sav|saveas|write|update|e|edit|r|read|so|source)!?\s+(?:>>\s*)?([^\s|]+)"
)
_SQLITE = re.compile(
    r"\.(output|once|backup|save|log|clone|trace|dump|open|read|import|restore)\b[^\n]*?([^\s'\"]+)['\"]?\s*(?:\n|$)"
)
_IN_QUOTES = re.compile(r"()[\"']([^\"'\n]+)[\"']")
_AWK = re.compile(r"(>|<)?>?\s*\"([^\"\n]+)\"")
_PSQL = re.compile(r"\\(o|out|g|gx|w|write|i|ir|include|s|copy)\s+(?:[^\n]*\s(?:to|from)\s+)?['\"]?([^\s'\"]+)")
_OUTFILE = re.compile(r"(?i)into\s+(outfile|dumpfile)\s*['\"]([^'\"]+)")
_CURL = re.compile(r"%(output)\{(?:>>)?([^}]+)\}")
_VERBOSE = re.compile(r"^-(V)\d*(\D.*)$")
_PASSED_ON = re.compile(r"^-(W[alp]),(?:[^,]*,)*?(?:-M?MD|-MF|--MD|-Map|-o|--dependency-file|-a[a-z]*)[,=]([^,\s]+)")
_JAVA_LOG = re.compile(r"^-X(log)(?:gc:|:[^:\s]*:)(?:file=)?([^:,\s]+)")
_JAVA_RECORDING = re.compile(r"^-XX:StartFlightRecording\S*?(file)name=([^,\s]+)")
_COPIED = re.compile(r"(?is)\bcopy\b.*?\b(to)\s*'([^']+)'")
_LOADED = re.compile(r"\b(load)\w*\(\s*\"([^\"]+)\"")
_FILTER = re.compile(r"\b(?:stats_|log_)?(file)=([^:,\s'\"]+)")
_MYSQL = re.compile(r"(?i)(?:^|[;\s])(tee|source|\\\.|\\T)\s+([^\s;]+)")

# Words that stand before a file that is written: commands of vim, sqlite3, psql and mysql, and awk's `>`.
SAYS_WRITE = frozenset({
    "w", ">", "wq", "x", "up", "sav", "saveas", "write", "update", "output", "once", "backup", "save", "log", "clone",
    "trace", "o", "out", "g", "gx", "s", "tee", "\\t", "outfile", "dumpfile", "v", "wa", "wl", "wp", "file", "to",
})  # fmt: skip
# Texts in the program's own language. The first group says how the file in the second group is used.
SCRIPTS: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), (_AWK,)),
    **dict.fromkeys(("ed", "ex", "vim", "vi", "nvim", "view"), (_VIM, _VERBOSE)),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran"), (_PASSED_ON,)),
    "java": (_JAVA_LOG, _JAVA_RECORDING),
    "ffmpeg": (_FILTER,),
    "curl": (_CURL,),
    "sqlite3": (_SQLITE, _IN_QUOTES),
    **dict.fromkeys(("duckdb", "clickhouse-client"), (_OUTFILE, _COPIED, _IN_QUOTES)),
    "yq": (_LOADED,),
    "psql": (_PSQL, _IN_QUOTES),
    **dict.fromkeys(("mysql", "mariadb"), (_MYSQL, _OUTFILE, _IN_QUOTES)),
}
