"""An MCP server with OAuth: it says where clients log in, and a scope grants tools. `uvicorn.run(app)` serves it."""

import asyncio

import httpx

from toolkit import Catalog, Dispatcher
from toolkit.mcp import Auth, http_app


def list_orders(customer: str) -> list[str]:
    """List the orders of a customer."""
    return [f"tea for {customer}"]


site, scopes = "https://shop.example/mcp", {"orders:read": "list_orders"}
auth = Auth.jwt(issuer="https://login.example", audience=site, scopes=scopes)
app = http_app(Dispatcher(Catalog(list_orders)), auth=auth)


async def main() -> None:
    """Show what a client without a token is told."""
    transport = httpx.ASGITransport(app)
    async with app.running(), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        print((await client.post("/mcp", json={})).headers["www-authenticate"])
        print((await client.get("/.well-known/oauth-protected-resource/mcp")).text)


asyncio.run(main())
