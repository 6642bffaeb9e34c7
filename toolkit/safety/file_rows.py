"""
Which files a program reads and writes, as data: by its operands and by the values of its options.

A program that has no row is taken to read every word without a blank. For every program, the value of an option whose
name speaks of output (`OUTPUT`) is written. The rows follow the manual pages that `shell_rows_run` names; looked for
were options with a file or a folder as their value, and operands that are written, removed or unpacked into.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["FILES", "GIT", "NAMES_ONLY", "NOT_FILES", "OUTPUT", "SAYS_WRITE", "SCRIPTS", "FileRow"]


class FileRow(NamedTuple):
    """
    How a program uses files.

    Attributes:
        operands: A letter for each operand, the last one for all that follow: `r` is read, `w` is written,
            `n` is no file or only a name.
        last: The letter of the last operand, if there are two or more.
        writes: Options whose value is written, or is the folder that is written into.
        reads: Options whose value is read.
        if_any: Options without which *operands* are only read, and *last* does not hold: `sed -i`.
        trees: Whether a folder is read with all that is in it: "always", or the options that say so.
    """

    operands: str = "r"
    last: str = ""
    writes: str = ""
    reads: str = ""
    if_any: str = ""
    trees: str = ""


def _rows(table: dict[str, FileRow]) -> dict[str, FileRow]:
    return {name: row for names, row in table.items() for name in names.split()}


FILES: dict[str, FileRow] = _rows({
    # shown or run
    "cat head tail less more most bat tac nl sort cut paste join comm diff vimdiff sdiff cmp": FileRow(),
    "strings od hexdump wc": FileRow(),
    "base64 base32 md5sum sha1sum sha256sum sha512sum b2sum cksum fold fmt column rev expand iconv pr": FileRow(),
    "source . sh bash zsh dash ksh fish open xdg-open pbcopy xclip": FileRow(),
    # made, changed, removed
    "rm rmdir unlink trash del srm shred wipe tee touch sponge mkfifo mknod truncate": FileRow("w"),
    "mv rename": FileRow("w", writes="-t --target-directory"),
    "cp install scp ln rsync ditto": FileRow(
        "r",
        "w",
        writes="-t --target-directory --backup-dir --partial-dir --temp-dir --log-file",
        trees="-r -R -a --recursive --archive",
    ),
    "chmod chown chgrp chattr setfacl": FileRow("nw"),
    "gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd lz4 compress uncompress dos2unix unix2dos": FileRow("w"),
    "ed ex vim vi nvim view nano emacs micro pico kak hx joe mg": FileRow(
        "w", reads="-S -s -u -l --load --script", writes="-w -W"
    ),
    # written by the second or the last operand
    "uniq xxd": FileRow("rw"),
    "split": FileRow("rw"),
    "csplit": FileRow("rn", writes="-f --prefix"),
    "ffmpeg convert magick gs sox": FileRow("r", "w"),
    "patch": FileRow("wr", writes="-o --output -r --reject-file -d --directory -B --prefix", reads="-i --input"),
    "script": FileRow("w", writes="-I -O -B -T --log-in --log-out --log-io --log-timing"),
    # changed in place
    "sed gsed": FileRow("nw", reads="-f --file", if_any="-i --in-place"),
    "perl ruby": FileRow("w", if_any="-i"),
    "yq": FileRow("nw", if_any="-i --inplace --in-place"),
    "gawk awk mawk nawk": FileRow("nw", reads="-f --file -E --exec -i --include", if_any="inplace"),
    "prettier black isort eslint biome gofmt rustfmt clang-format": FileRow(
        "w", if_any="-w --write --fix -i --in-place"
    ),
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
    "ar": FileRow("nwr"),
    # from and to other machines
    "curl": FileRow(
        "n",
        writes="-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save "
        "--hsts --alt-svc --libcurl",
        reads="-T --upload-file -K --config -b --cookie -d --data --data-binary --data-raw --data-ascii --json -F "
        "--form --data-urlencode -E --cert --key --cacert --netrc-file --etag-compare --url-query -u -H --header --url "
        "--variable",
    ),
    "wget": FileRow(
        "n",
        writes="-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies "
        "--hsts-file --warc-file --rejected-log",
        reads="-i --input-file --post-file --body-file --load-cookies --certificate --private-key --config",
    ),
    "aria2c": FileRow("n", writes="-o --out -d --dir -l --log --save-session --save-cookies", reads="-i --input-file"),
    "docker podman nerdctl": FileRow("n", writes="--iidfile --cidfile", reads="-v --volume"),
    "kubectl oc": FileRow("n", reads="-f --filename --from-file --from-env-file"),
    "ssh sftp": FileRow("n", writes="-E"),
    "xargs parallel": FileRow("n", reads="-a --arg-file"),
    # compilers and their kin
    "gcc g++ cc c++ clang clang++ tcc ld as ar nm": FileRow(
        "r", writes="-o -MF -MJ -dumpdir --serialize-diagnostics -Map"
    ),
    "rustc go javac protoc pandoc tsc esbuild": FileRow("r", writes="-o -d --out-dir --outDir --outFile --outfile"),
    # keys
    "openssl": FileRow(
        "n",
        writes="-out -keyout -CAserial -writerand -sigfile",
        reads="-in -inkey -key -passin -passout -CAkey -CA -cert -signkey",
    ),
    "ssh-keygen": FileRow("n", writes="-f"),
    "gpg gpg2 age": FileRow("r", writes="-o --output --export-secret-keys"),
    # data
    "sqlite3": FileRow("w", reads="-init"),
    "psql": FileRow("n", writes="-o --output -L --log-file", reads="-f --file"),
    "pg_dump mysqldump": FileRow("n", writes="-f --file -r --result-file"),
    "pip pip3": FileRow(
        "n",
        writes="-t --target --prefix --root -d --dest --log --cache-dir --report",
        reads="-r --requirement -c --constraint",
    ),
    "tcpdump tshark": FileRow("n", writes="-w", reads="-r -F"),
    "strace ltrace perf": FileRow("r", writes="-o --output"),
    "make gmake": FileRow("n", reads="-f --file --makefile"),
    # a pattern or a program comes first
    "grep egrep fgrep rg ag ack jq python python3 node": FileRow("nr", reads="-f --file"),
})  # fmt: skip

# What a subcommand of git does with its operands, the subcommand itself left out.
GIT: dict[str, FileRow] = _rows({
    "clone": FileRow("nw", writes="--separate-git-dir"),
    "init": FileRow("w", writes="--separate-git-dir"),
    "worktree": FileRow("nwn"),
    "submodule": FileRow("nnw"),
    "mv": FileRow("w"),
    "rm": FileRow("w"),
    "show diff cat-file blame annotate grep hash-object diff-files diff-index": FileRow("r", writes="-o --output"),
    "archive format-patch": FileRow("n", writes="-o --output --output-directory"),
    "config": FileRow("n", writes="-f --file"),
    "bundle": FileRow("nw"),
    "apply": FileRow("r", writes="--directory"),
})  # fmt: skip

# They say a file's name, or list it, and never show what is in it.
NAMES_ONLY = frozenset({
    "echo", "printf", "ls", "test", "[", "[[", "((", "stat", "file", "find", "fd", "fdfind", "which", "type", "export",
    "ssh-add", "alias", "mkdir", "cd", "pushd", "popd", "basename", "dirname", "realpath", "readlink", "du", "df",
    "tree", "declare", "local", "readonly", "unset", "set", "shopt", "man", "command", "exec", "env", "sudo", "xargs",
    "nohup", "time", "timeout", "eval", "trap", "watch", "direnv", "kill", "nice", "stdbuf", "setsid",
    "npm", "yarn", "pnpm", "cargo", "gh", "helm", "terraform", "for", "case",
})  # fmt: skip
# The value of such an option says what is left out.
NOT_FILES = re.compile(
    r"--(?:no-?|exclude|ignore|skip|not|without|omit|filter|message|title|body|grep|author)[\w-]*|-m"
)
OUTPUT = re.compile(
    r"-o|-out|--(?:[\w-]*[-_])?(?:out|output|outfile|outdir|outputfile|dest|destination|target-dir|target-directory|"
    r"logfile|log-file|junitxml|junit-xml|save-to|export-to|write-to|dump-to)(?:[-_](?:file|dir|directory|document|"
    r"path|folder|prefix|name))?"
)

_SED = re.compile(r"(?:(?<![A-Za-z.])|(?<=[^\w\s])[gpiIMme\d]{1,8})([wWrR])[ \t]*(?=[^\s;}/,])([^\n;}]+)")
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
_MYSQL = re.compile(r"(?i)(?:^|[;\s])(tee|source|\\\.|\\T)\s+([^\s;]+)")

# What stands before a file that is written: commands of sed, vim, sqlite3, psql and mysql, and awk's `>`.
SAYS_WRITE = frozenset({
    "w", ">", "wq", "x", "up", "sav", "saveas", "write", "update", "output", "once", "backup", "save", "log", "clone",
    "trace", "o", "out", "g", "gx", "s", "tee", "\\t", "outfile", "dumpfile",
})  # fmt: skip
# Texts in a language of the program's own: the first group says how the file in the second is used.
SCRIPTS: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys(("sed", "gsed"), (_SED,)),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), (_AWK,)),
    **dict.fromkeys(("ed", "ex", "vim", "vi", "nvim", "view"), (_VIM,)),
    "sqlite3": (_SQLITE, _IN_QUOTES),
    "psql": (_PSQL, _IN_QUOTES),
    **dict.fromkeys(("mysql", "mariadb"), (_MYSQL, _OUTFILE, _IN_QUOTES)),
}
