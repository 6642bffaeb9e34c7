"""Make a tool of a plain function, which stays a plain function."""

import json

from toolkit import BadArgs, ToolError, default_catalog, tool


@tool(read_only=True, aliases=["cat"])
def read_lines(path: str, *, limit: int = 2000) -> str:
    """
    Read a text file from the project.

    Args:
        path: File path relative to the project root.
        limit: Stop after this many lines.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return "".join(line for line, _ in zip(file, range(limit), strict=False))
    except (OSError, ValueError) as error:
        raise ToolError(f"{path} cannot be read: {error}") from error


print("Called as ever:", len(read_lines(__file__, limit=3).splitlines()), "lines")

found = default_catalog["cat"]
print(f"{found.name}: {found.description}")
print(json.dumps(found.schema, indent=2))

print("Arguments from a model:", found.check('{"path": "README.md"}'))
try:
    found.check({"path": "README.md", "limt": "ten"})
except BadArgs as error:
    for problem in error.problems:
        print("Refused:", problem)
