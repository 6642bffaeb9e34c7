from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


server.run(show_banner=False)
