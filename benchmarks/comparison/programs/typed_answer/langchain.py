from dataclasses import dataclass

from langchain.agents import create_agent

from benchmarks.comparison.langchain_peer import play


@dataclass
class Trip:
    city: str
    days: int


agent = create_agent(play(("Trip", {"city": "Oslo", "days": 3})), response_format=Trip)
print(agent.invoke({"messages": [("user", "Three days in Oslo, please.")]})["structured_response"])
