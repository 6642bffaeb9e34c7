from agents import Agent, Runner, function_tool

from benchmarks.comparison.openai_agents_peer import play


@function_tool
def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"rain in {city}"


agent = Agent(name="guide", model=play(("weather", {"city": "Oslo"}), "Take a coat."), tools=[weather])
print(Runner.run_sync(agent, "What do I need in Oslo?").final_output)
