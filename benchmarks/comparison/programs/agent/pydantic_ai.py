from pydantic_ai import Agent

from benchmarks.comparison.pydantic_ai_peer import play


def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"rain in {city}"


agent = Agent(play(("weather", {"city": "Oslo"}), "Take a coat."), tools=[weather])
print(agent.run_sync("What do I need in Oslo?").output)
