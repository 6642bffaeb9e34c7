"""Other MCP servers as tools: connections, the tools they offer, and the view `Servers` over all of them."""
