from benchmarks.comparison.ours import play
from toolkit import Agent, tool

attempts: list[str] = []


@tool(read_only=True, timeout_seconds=2)
def stock(item: str) -> int:
    """Look up how many are left."""
    attempts.append(item)
    if len(attempts) == 1:
        raise ConnectionError("the connection was lost")
    return 3


agent = Agent(play(("stock", {"item": "tea"}), "Three."), [stock])
print(agent.run_sync("How much tea is left?").output, len(attempts))
