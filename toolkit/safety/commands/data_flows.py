"""
The dangers of commands in combination: the data that flows from one to another.

The dangers are: downloads and unknown texts that reach an interpreter, secrets that reach the network, variables that
change the meaning of a name, and functions that never end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..._plumbing.graphs import find_reachable
from ..hosts import names_metadata_service
from ..shell.composed_texts import find_composed_texts
from ..shell.known_input import SHELLS, find_known_input, find_placeholders, is_standard_input
from ..shell.records import Assignment, Script, SimpleCommand
from .files import CommandFiles
from .inline_code import (
    DOWNLOADED,
    DOWNLOADERS,
    interpreter_dangers,
    language_of_program,
    reads_code,
    unseen_code_dangers,
)
from .input_programs import reads_commands
from .options import Args
from .printed_texts import input_text
from .table_files import FILES, NAMES_ONLY
from .targets import Danger
from .variable_values import DECLARERS, find_set_names

__all__ = ["flow_dangers", "script_dangers"]

_SENDERS = DOWNLOADERS | frozenset({
    "ssh", "sftp", "rsync", "socat", "sendmail", "mail", "mailx", "mutt", "ftp", "tftp", "rclone", "gsutil", "aws",
    "dig", "nslookup", "ping",
})  # fmt: skip
_PRINT_ENVIRONMENT = frozenset(["env", "printenv", "set", "export", "declare"])
_SECRET_NAME = re.compile(r"\$\{?\w*(SECRET|TOKEN|PASSW|API_?KEY|PRIVATE|CREDENTIAL|ACCESS_KEY)\w*", re.IGNORECASE)

# Variables that can make a harmless name mean something else.
_POWERFUL_VARIABLE = re.compile(
    r"LD_\w+|DYLD_\w+|PATH|IFS|ENV|BASH_ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC.*|BASH_(LOADABLES_PATH|CMDS|ALIASES)|HOME|SHELL"
    r"|CDPATH|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG\w*|COMMON_DIR|ALLOW_PROTOCOL"
    r"|DIR|WORK_TREE|OBJECT_DIRECTORY)|VISUAL|FCEDIT|\w*(PAGER|EDITOR|BROWSER|ASKPASS)|KUBECTL_EXTERNAL_DIFF"
    r"|LESS|LESSOPEN|LESSCLOSE|LESSKEY\w*|MANOPT|MANROFFOPT|GLOBIGNORE|EXECIGNORE|HISTFILE|HISTSIZE"
    r"|PERL5?(LIB|OPT|DB)|RUBY(OPT|LIB|SHELL)|GEM_(HOME|PATH)|NODE_OPTIONS|NODE_PATH|BUN_OPTIONS|LUA_(INIT|PATH|CPATH)\w*"
    r"|PYTHON(STARTUP|HOME|INSPECT|BREAKPOINT|EXECUTABLE|USERBASE)|R_(PROFILE|ENVIRON)(_USER)?|PHPRC|PHP_INI_SCAN_DIR"
    r"|JULIA_LOAD_PATH|TCLLIBPATH|ERL_\w*FLAGS|DOTNET_STARTUP_HOOKS|CORECLR_\w+"
    r"|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS"
    r"|TAR_OPTIONS|RSYNC_(RSH|CONNECT_PROG)|CVS_RSH|SVN_SSH|(GNU)?MAKEFLAGS|MAKEFILES|GCC_EXEC_PREFIX|COMPILER_PATH"
    r"|RUSTC|RUSTDOC|RUSTC_(WORKSPACE_)?WRAPPER|CARGO_\w*(WRAPPER|RUNNER|LINKER|RUSTC|RUSTDOC|HOME)|GOFLAGS|GOPROXY"
    r"|VIMINIT|EXINIT|VIMRUNTIME|MYVIMRC|PSQLRC|OPENSSL_(CONF|ENGINES|MODULES)|GCONV_PATH|GTK_MODULES|SSLKEYLOGFILE"
    r"|PIP_((EXTRA_)?INDEX_URL|CONFIG_FILE|FIND_LINKS|TRUSTED_HOST)|UV_\w*INDEX\w*|YARN_(RC_FILENAME|YARN_PATH)"
    r"|(NPM|npm)_(CONFIG|config)_\w+|(https?|all)_proxy|(HTTPS?|ALL)_PROXY|TERMINFO|TERMCAP|zsh_eval_context|ZDOTDIR"
    r"|INPUTRC|FPATH|XDG_CONFIG_(HOME|DIRS)"
    # from the environment sections of the manual pages
    r"|ACKRC|ANSIBLE_(CONFIG|LIBRARY|\w*PLUGINS|COLLECTIONS_PATHS?|ROLES_PATH)|APT_CONFIG|AWK(LIB)?PATH|BUILDAH_RUNTIME"
    r"|CONTAINERS_(STORAGE_)?CONF\w*|DOCKER_HOST|CONTAINER_HOST|CURL_HOME|DPKG_(ROOT|ADMINDIR|FORCE)|ERL_LIBS"
    r"|FLIT_INSTALL_PYTHON|FZF_DEFAULT_(COMMAND|OPTS\w*)|GIT_(MAN_VIEWER|SSL_NO_VERIFY|TRACE\w*|ALTERNATE_OBJECT_DIRECTORIES)"
    r"|GNUPLOT_LIB|GS_(LIB|OPTIONS)|GUILE_LOAD_(COMPILED_)?PATH|HG(MERGE|RCPATH)|JDK_JAVAC_OPTIONS|KAKOUNE_\w+"
    r"|LESS(ECHO|EDIT)|LFTP_(HOME|MODULE_PATH)|LYNX_CFG\w*|LADSPA_PATH|LIBMOUNT_FSTAB|MAIL(RC|CAPS)|MANROFFSEQ"
    r"|MAXIMA_USERDIR|MODPROBE_OPTIONS|MOST_INITFILE|NMAPDIR|NODE_(REPL_EXTERNAL_MODULE|TLS_REJECT_UNAUTHORIZED)"
    r"|PARALLEL(_(HOME|SHELL|SSH|RSYNC_OPTS|TMUX))?|RCLONE_(PASSWORD_COMMAND|CONFIG)|RIPGREP_CONFIG_PATH|RSYNC_(SHELL|PROXY)"
    r"|RUBYPATH|SOX_OPTS|SSH_SK_PROVIDER|PYTEST_PLUGINS|EMACSLOADPATH|GNUPGHOME|AWS_CONFIG_FILE|GRADLE_USER_HOME|(ANT|SBT)_OPTS"
    r"|JULIA_DEPOT_PATH|R_(HOME|LIBS(_USER|_SITE)?)|BUNDLE_GEMFILE|CMAKE_TOOLCHAIN_FILE|DOCKER_CONFIG|GOTOOLCHAIN|TEXEDIT|WIRESHARK_(CONFIG|DATA)_DIR|(UN)?ZIP_?OPTS?"
    # programs, settings and code that other tools are told of by a variable alone
    r"|GOCACHEPROG|GOAUTH|RUSTUP_TOOLCHAIN|CONFIG_SITE|CLOUDSDK_PYTHON(_ARGS)?|AWS_SHARED_CREDENTIALS_FILE|AWS_ENDPOINT_URL\w*"
    r"|TF_CLI_(CONFIG_FILE|ARGS\w*)|ANSIBLE_(\w*EXECUTABLE|SSH_\w*ARGS|INVENTORY|VAULT_PASSWORD_FILE|COW_PATH|BECOME_EXE)"
    r"|UV_PYTHON|ELIXIR_ERL_OPTIONS|JAVA_OPTS|JAVA_HOME|shell_escape|openout_any|TEXMFCNF|MAGICK_\w*PATH|ODBC(SYS)?INI"
    r"|GROFF_(COMMAND_PREFIX|BIN_PATH)|\w+_HOOK_PATH|CONDARC|GEMRC|TS_NODE_COMPILER|HELM_PLUGINS"
    r"|\w+_(PLUGIN|MODULE|DRIVER|LAYER|EXTENSION)S?_(PATH|DIR)S?"
)
# Variables that name tools and options of a build, with the values that are no danger. They may hold other variables.
_BUILD_VARIABLES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(r"CC|CXX|CPP|FC|LD|AR|AS|NM|RANLIB|STRIP|OBJCOPY|PKG_CONFIG|HOSTCC|CMAKE_\w+_LAUNCHER"),
        re.compile(
            r"\$.*|((ccache|sccache|distcc|zig)\b\s*)?(/usr/(local/)?bin/)?[\w.+-]*"
            r"((cc|c\+\+|g\+\+|cpp|clang|clang\+\+|fortran|ld|mold|ar|as|nm|ranlib|strip|objcopy|pkg-?conf(ig)?|icp?x)(-?[\d.]+)?)"
            r"(\s+-[\w=+.,-]+)*"
        ),
    ),
    (
        re.compile(r"(C|CXX|CPP|LD|F|RUST|RUSTDOC)FLAGS|CARGO_ENCODED_RUSTFLAGS|CGO_\w*FLAGS|PYTEST_ADDOPTS"),
        re.compile(r"(?s)(?!.*(plugin|wrapper|specs|linker=|-B\s*[./]|ld-path|fuse-ld=\S*/|-p\s*\w|--rootdir|-c\s)).*"),
    ),
)
_JAVA_VALUE = r"(\s*-(X\w+|D[\w.]+=[\w./:-]*|XX:[+-]?(?!On)\w+(=\w+)?))*\s*"
_HARMLESS_VALUES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\w*(EDITOR|VISUAL|PAGER)"), re.compile(r"(cat|less|more|true|:|vim?|nano|emacs|code|-)?( --?\w+)*")),
    (re.compile(r"\w*BROWSER"), re.compile(r"none|true|false|:|echo|firefox|chrom\w*|open|")),
    (re.compile(r"\w*ASKPASS"), re.compile(r"true|/bin/true|false|/bin/false|:|")),
    (re.compile("ENV"), re.compile(r"[\w-]*")),
    (re.compile(r"LESS|SOX_OPTS|(UN)?ZIP_?OPTS?"), re.compile(r"[-\w ]*")),
    (re.compile(r"GIT_TRACE\w*"), re.compile(r"[\w]*")),
    (re.compile(r"DOCKER_HOST|CONTAINER_HOST|NODE_TLS_REJECT_UNAUTHORIZED|GIT_SSL_NO_VERIFY"), re.compile(r"1|false|")),
    (
        re.compile(r"FZF_DEFAULT_OPTS"),
        re.compile(r"(\s*--(height|layout|border|reverse|color|prompt|multi|info|inline-info)([= ][\w%:,-]+)?)*\s*"),
    ),
    (
        re.compile("(GNU)?MAKEFLAGS"),
        re.compile(r"(\s*-?-?(j|k|s|B|jobs=?|silent|keep-going|no-print-directory|l)\s*[\d.]*)*"),
    ),
    (re.compile("GOFLAGS"), re.compile(r"(\s*-(mod|tags|count|race|v|buildvcs|trimpath|p|timeout)(=[\w,.-]+)?)*")),
    (re.compile("GOPROXY"), re.compile(r"(direct|off|https://proxy\.golang\.org|,)+")),
    (re.compile(r"RUSTUP_TOOLCHAIN|UV_PYTHON"), re.compile(r"[\w.-]+")),
    (re.compile(r"AWS_ENDPOINT_URL\w*"), re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?/?")),
    (re.compile("ANSIBLE_INVENTORY"), re.compile(r"(?!\.\.)[\w.-][\w./-]*,?")),
    (re.compile("JAVA_HOME"), re.compile(r"/(usr|opt|Library)/[\w./+-]+|.*/(\.sdkman|\.jenv|\.asdf|\.jdks)/[\w./+-]+")),
    (
        re.compile(r"JAVA_OPTS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS"),
        re.compile(_JAVA_VALUE),
    ),
    (
        re.compile("NODE_OPTIONS"),
        re.compile(r"(--(max-old-space-size=\d+|no-warnings|openssl-legacy-provider|\w+-vm-modules)\s*)+"),
    ),
)
_COMMON_COMMANDS = frozenset({
    "ls", "cd", "cat", "cp", "mv", "rm", "git", "sudo", "su", "ssh", "curl", "wget", "echo", "printf", "test",
    "grep", "find", "sed", "awk", "python", "python3", "pip", "npm", "node", "make", "docker", "kubectl", "sh",
    "bash", "command", "builtin", "eval", "exec", "source", "export", "kill", "ps", "head", "tail", "tee", "true",
    "false", "pwd", "mkdir", "touch", "chmod", "[",
})  # fmt: skip


def flow_dangers(command: SimpleCommand, files: CommandFiles) -> Iterator[Danger]:
    """Yield the dangers of where *command* gets its words, code or input from, and of where they go."""
    if not command.literal[0] or any(part in command.words[0] for part in ("{}", *find_placeholders(command))):
        yield Danger("ask", "runs a program whose name is only worked out when it runs")
    args = Args(command)
    name = command.name
    if name in SHELLS or name in ("eval", "source", "."):
        yield from _shell_text_dangers(args)
    else:
        yield from interpreter_dangers(args, files)
    sources = {source.name for source in (*command.fed_by, *command.substitutions)}
    if not sources.isdisjoint(DOWNLOADERS) and reads_commands(args):
        yield DOWNLOADED
    # The words of a program that works on files are seldom places to connect to.
    connects = name in _SENDERS or language_of_program(name) or (name not in FILES and name not in NAMES_ONLY)
    if connects and any(map(names_metadata_service, (*command.plain[1:], input_text(command)))):
        yield Danger("ask", "asks a metadata service, which gives away the credentials of the machine")
    if name in _SENDERS:
        yield from _sending_dangers(args, files)


def _shell_text_dangers(args: Args) -> Iterator[Danger]:
    """Yield the dangers of the text or input that a shell, `eval`, `source` or `.` runs."""
    command = args.command
    by_name = command.name in ("eval", "source", ".")
    has_text = "-c" in args.options or by_name
    operands = [word for word in args.operands if not is_standard_input(word)]
    reads = not operands if not by_name else command.name != "eval" and not operands
    reads = reads or ("-s" in args.options and not has_text)
    unknown = [word for word, is_literal in zip(command.words[1:], command.literal[1:], strict=True) if not is_literal]
    if reads or (unknown and (has_text or not command.literal[1])):
        yield from unseen_code_dangers((*command.fed_by, *command.substitutions) if reads else command.substitutions)
    if by_name and not reads:
        if command.name == "eval" and unknown:
            yield Danger("ask", "runs a text that is only worked out when it runs")
        elif command.substitutions and unknown:
            yield Danger("ask", "runs the output of another command")
    elif unknown and (has_text or command.substitutions or not all(word.startswith('"') for word in unknown)):
        yield Danger("ask", "gives a shell a text that is only worked out when it runs")
    elif reads and not _has_exact_input(command) and "--version" not in args.options:
        yield Danger("ask", "runs commands that cannot be checked")
    if "-i" in args.options and command.redirections:
        yield Danger("ask", "gives a shell to another machine")


def _sending_dangers(args: Args, files: CommandFiles) -> Iterator[Danger]:
    command = args.command
    sources = (*command.fed_by, *command.substitutions)
    tells_secrets = any(source.name in _PRINT_ENVIRONMENT and len(source.words) == 1 for source in sources)
    reads_secret = any(
        files.is_secret(word) for source in sources for word in (*source.plain[1:], *_input_files(source))
    )
    names_secret = any(_SECRET_NAME.search(word) for source in (command, *command.fed_by) for word in source.plain)
    if tells_secrets or reads_secret or (names_secret and command.fed_by):
        yield Danger("deny", "sends keys or passwords to another machine")
    whole_files = any(re.match(r"(.*=)?@(/etc/|~|\$HOME|/home/|/root/)", word) for word in args.words)
    if whole_files or any(word.startswith(("--post-file", "--body-file")) for word in args.words):
        yield Danger("ask", "sends a file to another machine")


def _has_exact_input(command: SimpleCommand) -> bool:
    known = find_known_input(command)
    return known is not None and known.is_exact


def _input_files(command: SimpleCommand) -> Iterator[str]:
    return (redirection.target for redirection in command.redirections if redirection.operator == "<")


def script_dangers(script: Script) -> Iterator[tuple[str, Danger]]:
    """Yield the dangers of a command line as a whole, each with the part that shows it."""
    for name in script.functions:
        calls = [call for call in script.commands if call.name == name and f"{name}()" in call.nesting]
        if len(calls) > 1 or any(call.fed_by for call in calls):
            yield f"{name}()", Danger("deny", "is a function that multiplies itself without an end")
        elif calls:
            yield f"{name}()", Danger("ask", "is a function that calls itself")
        elif name in _COMMON_COMMANDS:
            yield f"{name}()", Danger("ask", "gives a command another meaning")
    for command in find_composed_texts(script):
        yield command.source, Danger("ask", "gives a shell a text that is only worked out when it runs")
    yield from _inherited_input_dangers(script)
    if _has_call_cycle(script):
        yield "; ".join(script.functions), Danger("ask", "are functions that call each other without an end")
    if script.spawns_in_loop:
        yield "&", Danger("ask", "starts programs in a loop and waits for none of them")
    # `IFS= read -r line` sets IFS only for reading this line. It does not affect later commands.
    set_for_read = [
        id(setting) for command in script.commands if command.name == "read" for setting in command.assignments
    ]
    for assignment in script.assignments:
        if (
            id(assignment) not in set_for_read
            and (_POWERFUL_VARIABLE.fullmatch(assignment.name) or _has_other_build_value(assignment))
            and not _is_harmless(assignment)
        ):
            yield f"{assignment.name}=", Danger("ask", "changes which programs run, or how")
    for command in script.commands:
        for set_name in find_set_names(command):
            if set_name is None:
                yield command.source, Danger("ask", "sets a variable whose name is only worked out when it runs")
            elif _POWERFUL_VARIABLE.fullmatch(set_name) and command.name not in DECLARERS:
                yield command.source, Danger("ask", "changes which programs run, or how")


def _inherited_input_dangers(script: Script) -> Iterator[tuple[str, Danger]]:
    """Yield the dangers of commands that read the input of their function, or what `exec < file` gives to the shell."""
    moves = any(command.name == "exec" and _has_own_input(command) for command in script.commands)
    downloads = any(command.name in DOWNLOADERS for command in script.commands)
    calls = {f"{name}()" for name in script.functions}
    for command in script.commands:
        if (moves or not calls.isdisjoint(command.nesting)) and not _has_own_input(command):
            args = Args(command)
            if reads_code(args) or (downloads and reads_commands(args)):
                yield command.source, Danger("ask", "runs code that it gets from its function or its shell")


def _has_own_input(command: SimpleCommand) -> bool:
    return bool(command.fed_by) or any(redirection.is_standard_input for redirection in command.redirections)


def _is_harmless(assignment: Assignment) -> bool:
    return assignment.is_literal and any(
        name.fullmatch(assignment.name) and value.fullmatch(assignment.value) for name, value in _HARMLESS_VALUES
    )


def _has_other_build_value(assignment: Assignment) -> bool:
    return any(
        name.fullmatch(assignment.name) and not value.fullmatch(assignment.value) for name, value in _BUILD_VARIABLES
    )


def _has_call_cycle(script: Script) -> bool:
    names = set(script.functions)
    calls = {
        name: {command.name for command in script.commands if f"{name}()" in command.nesting} & names - {name}
        for name in names
    }
    return any(name in find_reachable(calls[name], calls.__getitem__) for name in names)
