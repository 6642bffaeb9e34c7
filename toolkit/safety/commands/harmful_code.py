"""
What code in other languages may do, by the names in it.

A bash grammar cannot parse Python. So code that may start programs, remove files, reach the network or work out what it
calls leads to a question. The names are those of functions, and of modules that do such things for the code.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator

from .targets import Danger

__all__ = ["ALIKE", "code_dangers"]

_HARMFUL_CODE = re.compile(
    r"os\s*\.\s*(system|popen|exec\w*|spawn\w*|remove\w*|unlink|rmdir|kill\w*|fork\w*|dup2|chmod|chown|rename|replace)"
    r"|subprocess|socket|shutil|\bpty\b|ctypes|pickle|marshal|import_module|importlib\.(util|machinery|reload)"
    r"|__(?!version|file|name|main|doc|all|path|init|future)\w+__|\beval\b|\bexec\b|getattr|setattr|from\s+os\s+import"
    r"|child_process|\bexec(File|Sync)?\(|spawn|\bfs\b|require\(\W*(net|http|dgram|tls|vm)|fetch\(|process\.(env|kill)"
    r"|(?<!platform\.)\bsystem\s*[(=)*]|(?<![\"'])\bsystem\s*[\"']|popen|fsockopen|passthru|shell_exec|proc_open|unlink|rmtree|rmdir|FileUtils|File\.delete"
    r"|Sys\.command|System\.Process|Process\.(run|start)|Runtime\.get|run-(process|program|shell)|sh!|\bfork\b"
    r"|System\.(cmd|shell)\b|\bos[:.]cmd|open_process|callCommand|\bos/(execute|shell|spawn)|\(shell\s|execute(Shell|Command)|Port\.open|open_port|File\.rm|sys\.process|ProcessBuilder|\.execute\(|\bProcess\("
    r"|\bsyscall\b|\bexec[vl]\w*|posix_spawn|\bsystem2|Deno\.(run|Command|remove|write|kill)"
    r"|java\.shell|TCPSocket|urllib|urlopen|requests\.|httpx|http\.client|ftplib|smtplib|paramiko|do shell script",
    re.IGNORECASE,
)
_PYTHON = (
    r"\bvars\s*\(|\bglobals\s*\(|attrgetter|methodcaller|sys\s*\.\s*modules|(?<![.\w])compile\s*\("
    r"|\b(?:os|sys|posix)\s+as\b|[=(\[]\s*os\s*(?=[)\],;}\n]|$)|\b(?:runpy|posix|pydoc|webbrowser|multiprocessing)\b"
    r"|\b(?:timeit|pdb|bdb|cProfile|profile|trace|code)\b.*\b(?:run\w*|timeit|interact)\s*\(|\bimp\b|zipimport"
    r"|load_extension|resolve_name|\bTcl\s*\(|\.tk\s*\.|\bmatch\s+os\b|logging\.config\.listen|ensurepip"
    r"|\bpip\s*\.\s*(?:main|_internal)|joblib|(?:torch|yaml|shelve)\s*\.\s*(?:(?:unsafe_|full_)?load|open|hub)\b"
    # modules that start programs, reach other machines or load code, and what clients of services destroy
    r"|(?:^|[;:\n])\s*(?:import|from)\s+(?:[\w\s.]{1,80},\s*){0,20}(?:invoke|sh|plumbum|fabric|delegator|pexpect|popen2|nox|libtmux|docker|kubernetes"
    r"|boto3|botocore|git|pygit2|dulwich|aiohttp|asyncssh|telnetlib|imaplib|poplib|nntplib|xmlrpc|pycurl|treq|grpc|cffi|dill"
    r"|cloudpickle|jsonpickle|winreg|keyring)\b|\.\s*(?:kill|terminate|suspend)\s*\(|\bread_\w+\s*\(\s*['\"](?:https?|s3|gs|ftp)://"
    r"|\b(?:open(?:_unix)?_connection|start(?:_unix)?_server|flush(?:all|db)|drop_(?:database|collection)|delete_(?:many|bucket|objects)"
    r"|HTTPServer|http\.server)\b"
)
# Names that the code puts together, and modules and functions that run other code or load it.
_HARMFUL_NAMES: dict[str, re.Pattern[str]] = {
    "python": re.compile(_PYTHON, re.DOTALL),
    # A line that begins with `!` is for a shell.
    "ipython": re.compile(rf"(?:^|[\n;=])\s*[!%]|get_ipython|{_PYTHON}", re.DOTALL),
    "mongosh": re.compile(r"\brequire\b|\brun\w*\s*\(|\bload\s*\("),
    "perl": re.compile(
        r"\b(?:use|require)\s+(?:LWP|HTTP::|Net::|WWW::|Mojo|Expect|FFI|Win32|Proc|Storable|Capture::Tiny)"
        r"|\b(?:remove_tree|rmtree)\b|\bsystem\b|&[{$]|\breadpipe\b|\b(?:IPC|Inline|Shell)\b|\bIO::(?:File|Pipe)\b|\bopen[23]\b|\bkill\b"
        r"|(?:push|unshift|splice)\b[^;]*\bARGV\b|[@$*]\{?ARGV\b[^;=]*=(?![=~])"
        # `s/a/b/ee` runs the text that the replacement has become.
        r"|(?<![\w$@%&])s(?:([^\w\s])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1|\s*[{(\[<][^;]{0,200}[})\]>])"
        r"[gimsxnpadlur]*e[gimsxnpadlur]*e[gimsxnpadlure]*(?!\w)",
        re.DOTALL,
    ),
    # A text may be the name of the function to call: `"system"("x")`, `$f("x")`, `array_map("sys" . "tem", $x)`.
    "php": re.compile(
        r"\bsystem\b|[\])\"']\s*\(|\$\w+\s*\(|[\"']\s*\.\s*[\"']|call_user_func|create_function|pcntl_|\bReflection|\bFFI\b"
        r"|array_map\s*\(\s*[\"'$]|(?:array_filter|array_walk|u[ak]?sort)\s*\([^;]*,\s*[\"'$]|\bassert\s*\(\s*[\"'$]"
        r"|\b(?:include|require)(?:_once)?\b(?!\s*\(?\s*[\"'][\w.][\w./-]*[\"'])|\b(?:mail|ini_set|dl)\s*\(|\bnew\s+\$",
        re.IGNORECASE,
    ),
    "ruby": re.compile(
        r"\bNet::\w+|open-uri|URI\.open|\b(?:HTTParty|Faraday|RestClient|Mechanize|WEBrick|DRb|TCPServer|Gem\.install)\b"
        r"|require\W+(?:net/|socket|httparty|faraday|rest-client|mechanize|drb|bundler/inline|aws-sdk|webrick|ssh)"
        r"|\bDir\.delete|\bYAML\.(?:unsafe_)?load\b|\bPathname\b.{0,100}\.(?:delete|unlink|rmtree)"
        r"|\bsystem\b|\b(?:__|public_)?send\b|\bmethod\s*\(|\bOpen3\b|\b\w+_eval\b|\bbinding\b|\bsh\s*[('\"]"
    ),
    "node": re.compile(
        r"require\s*\(\s*['\"](?:node:)?(?:execa|shelljs|cross-spawn|zx\b|axios|node-fetch|got|undici|ws|superagent|request|simple-git"
        r"|rimraf|del|fs-extra|dns|http2|dgram|puppeteer|playwright|ssh2|aws-sdk|@aws-sdk|mongodb|redis|ioredis|pg|mysql2?"
        r"|ts-node)\b|\b(?:XMLHttpRequest|EventSource|WebSocket|sendBeacon|runIn\w*Context)\b|"
        r"\bFunction\s*\(|\bimport\s*\(|\brequire\s*\(\s*(?:[^'\"\s]|'[^']*'\s*[^')\s]|\"[^\"]*\"\s*[^\")\s])"
        r"|process\s*\.\s*(?:binding|dlopen|mainModule)|require\(\W*(?:module|worker_threads|cluster|repl|inspector)\b"
        r"|\[\s*['\"]\w*['\"]\s*\+|\bconstructor\b|getBuiltinModule|\bReflect\b|(?:^|[\s(;=,.])\$\s*`"
        r"|(?:[=(,:\[&|?>]|\breturn)\s*['\"]?require\b(?!\s*(?:\(|\.\s*(?:resolve|main)\b))|\brequire\s*/\*"
    ),
    "lua": re.compile(
        r"\[\s*['\"]\w*['\"]\s*\.\.|\b(?:dofile|loadfile|loadstring|loadlib|execute)\b|\bload\s*[('\"]"
        r"|(?:=|\bpairs\s*\()\s*(?:os|io|_G|_ENV)\b(?!\s*\.)"
    ),
    "tclsh": re.compile(
        r"\b(?:open|source|load|uplevel|subst|socket|interp)\b|file\s+delete|(?:^|[;\[\n{])\s*[\w:]*[\\\[$\"]"
    ),
    "julia": re.compile(r"\b(?:Cmd|ccall|run|rm|include_string)\b"),
    "R": re.compile(
        r"\bpipe\s*\(|match\.fun|do\.call|\bget0?\s*\(|dyn\.load|\.(?:Call|Internal|External)\b|processx|\bsystem"
    ),
    "ghc": re.compile(r":\s*!"),
    "octave": re.compile(r"\b(?:unix|dos|shell_cmd|evalc?|feval|str2func)\b"),
    "scala": re.compile(r"\.!+|\bProcess\b"),
    "clojure": re.compile(r"\(sh\s|/sh\b|\bsh/"),
    "zig": re.compile(r"addSystemCommand|ChildProcess|\bprocess\b"),
    "go": re.compile(r"go:generate|\bplugin\b|\bunsafe\b"),
    "rust": re.compile(r"\bCommand::|\bremove_(?:dir|file)|\bextern\b"),
}
ALIKE = {
    **dict.fromkeys(("pypy", "jython", "micropython", "graalpy", "hy", "bpython", "ptpython"), "python"),
    **dict.fromkeys(("django-admin", "flask"), "python"), **dict.fromkeys(("irb", "pry", "rails"), "ruby"),
    **dict.fromkeys(("nodejs", "bun", "deno"), "node"), **dict.fromkeys(("ghci", "runghc", "runhaskell"), "ghc"),
    "sage": "ipython", "luajit": "lua", "wish": "tclsh", "Rscript": "R", "mongo": "mongosh", "iex": "elixir",
    "octave-cli": "octave", "bb": "clojure", "clj": "clojure",
}  # fmt: skip
# In perl and ruby, `open` runs a name with a `|` before or behind it. So do other functions that take a file.
_OPENS_PIPE = re.compile(r"\bopen\b.*\||\bopen\b\s*\(?[^,;]+,\s*[$@]|\bIO\s*\.\s*\w+\s*\(?\s*['\"]\s*\|", re.DOTALL)
_RUNS_IN_QUOTES = frozenset({"perl", "ruby", "php", "julia", "raku", "crystal"})
_QUOTES = re.compile(r"`|%x\W|\bqx\b")
# Calls of node that only read files, and the name that is given to their module.
_READS_FILES = re.compile(
    r"\bfs\s*=\s*require\(\s*['\"](?:node:)?fs['\"]\s*\)|(?:\bfs|\brequire\(\s*['\"](?:node:)?fs['\"]\s*\))\s*\.\s*"
    r"(?:promises\s*\.\s*)?(?:read\w+|exists|l?stat|access|realpath)(?:Sync)?\s*\("
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{1,6})\}?|([0-7]{2,3}))")


def code_dangers(language_name: str, code: str) -> Iterator[Danger]:
    """Yield the dangers of *code* in the language *language_name*."""
    language_name = ALIKE.get(language_name, language_name)
    # Python reads letters of other forms as plain ones, and a name may go on behind a backslash.
    code = unicodedata.normalize("NFKC", code).replace("\\\n", "")
    code += "\n" + _ESCAPE.sub(_unescape, code) if _ESCAPE.search(code) else ""
    code = _READS_FILES.sub("", code) if language_name == "node" else code
    names = _HARMFUL_NAMES.get(language_name)
    opens_pipe = language_name in ("perl", "ruby") and _OPENS_PIPE.search(code) is not None
    if names is not None and names.search(code):
        yield Danger("ask", "runs code that loads other code, or that works out what it calls")
    elif opens_pipe or _HARMFUL_CODE.search(code) or (language_name in _RUNS_IN_QUOTES and _QUOTES.search(code)):
        yield Danger("ask", "runs code that starts programs, removes files or reaches the network")


def _unescape(match: re.Match[str]) -> str:
    number = int(match[3], 8) if match[3] else int(match[1] or match[2], 16)
    return chr(number) if number <= sys.maxunicode else ""
