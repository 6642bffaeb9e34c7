"""What the MCP server and the inspector share as web servers: the checks on a request, and how uvicorn runs them."""
