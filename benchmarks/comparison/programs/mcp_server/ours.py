from toolkit import Dispatcher, tool
from toolkit.mcp import serve


@tool(read_only=True)
def echo(text: str) -> str:
    """Return the text."""
    return text


serve(Dispatcher(echo))
