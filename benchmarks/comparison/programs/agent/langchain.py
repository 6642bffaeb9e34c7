from langchain.agents import create_agent

from benchmarks.comparison.langchain_peer import play


def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"rain in {city}"


agent = create_agent(play(("weather", {"city": "Oslo"}), "Take a coat."), [weather])
state = agent.invoke({"messages": [("user", "What do I need in Oslo?")]})
print(state["messages"][-1].content)
