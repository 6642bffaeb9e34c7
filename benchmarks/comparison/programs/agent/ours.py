from benchmarks.comparison.ours import play
from toolkit import Agent, tool


@tool(read_only=True)
def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"rain in {city}"


agent = Agent(play(("weather", {"city": "Oslo"}), "Take a coat."), [weather])
print(agent.run_sync("What do I need in Oslo?").output)
